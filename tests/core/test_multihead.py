"""Many heads: what the contract asks of every layer is tested with the others, by name."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attnbook import (
    DotProductAttention,
    MultiHeadAttention,
    causal_mask,
    length_mask,
    merge_heads,
    split_heads,
)
from tests import oracle
from tests.cases import (
    NUM_HEADS,
    NUM_HIDDENS,
    PER_EXAMPLE,
    WITHOUT_WEIGHTS,
    every_mask,
    make,
    random_qkv,
    seeds,
    snapshot,
    unchanged,
)

pytestmark = pytest.mark.usefixtures("every_path")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 1e-2}
with_and_without_bias = pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])


def build(dtype=torch.float64, bias=True, **options):
    """A layer for vectors of size 5, 5 and 11, whose biases are not zero."""
    layer = make("multi-head with bias" if bias else "multi-head", dtype=dtype, **options)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.endswith("bias"):
                parameter.normal_()
    return layer


@with_and_without_bias
@pytest.mark.parametrize("causal", [False, True])
def test_a_memory_without_keys_gives_zeros(bias, causal):
    layer = build(bias=bias)
    num_queries = 0 if causal else 3
    queries = torch.randn(2, num_queries, layer.W_q.in_features).double()
    keys = queries.new_zeros(2, 0, layer.W_k.in_features)
    values = queries.new_zeros(2, 0, layer.W_v.in_features)
    output = layer(queries, keys, values, causal=causal)
    assert output.shape == (2, num_queries, layer.W_o.out_features)
    assert not output.any()


# The formula


def test_two_heads_of_one_number_by_hand():
    # Every projection leaves vectors as they are. The first head scores its one number: log 1
    # and log 3, weights 1/4 and 3/4. The second: log 3 and log 1, weights 3/4 and 1/4.
    layer = MultiHeadAttention(2, 2, 2, 2, 2).double()
    for projection in (layer.W_q, layer.W_k, layer.W_v, layer.W_o):
        nn.init.eye_(projection.weight)
    queries = torch.ones(1, 1, 2).double()
    keys = torch.tensor([[[0, math.log(3)], [math.log(3), 0]]]).double()
    output = layer(queries, keys, torch.tensor([[[4.0, 40], [8, 80]]]).double())
    assert output.flatten().tolist() == pytest.approx([4 / 4 + 3 * 8 / 4, 3 * 40 / 4 + 80 / 4])
    weights = layer.attention_weights.flatten().tolist()
    assert weights == pytest.approx([1 / 4, 3 / 4, 3 / 4, 1 / 4])


@with_and_without_bias
@pytest.mark.parametrize("keep_weights", [True, False])
@every_mask
def test_it_agrees_with_a_loop_over_heads(bias, keep_weights, mask, dtype, device):
    layer = build(dtype, bias, keep_weights=keep_weights)
    inputs = [tensor.to(dtype) for tensor in random_qkv(1)]
    expected, weights = oracle.multi_head_attention(layer.state_dict(), NUM_HEADS, inputs, **mask)
    output = layer.to(device)(*(tensor.to(device) for tensor in inputs), **mask)
    assert output.dtype == dtype
    assert torch.allclose(output.double().cpu(), expected, rtol=0, atol=2 * TOLERANCE[dtype])
    if keep_weights:
        found = layer.attention_weights.double().cpu()
        assert torch.allclose(found, weights, rtol=0, atol=TOLERANCE[dtype])
        assert ((found == 0) == (weights == 0)).all()


sizes = st.sampled_from([1, 2, 3, 5])


@st.composite
def calls(draw):
    """A layer, inputs and lengths of any sizes, with no more queries than keys."""
    batch, queries, more, heads, head_size = (draw(sizes) for _ in range(5))
    key_size, query_size, value_size = (draw(sizes) for _ in range(3))
    keys = queries + more - 1
    generator = torch.Generator().manual_seed(draw(seeds))
    inputs = [
        torch.randn(batch, *shape, generator=generator, dtype=torch.float64)
        for shape in ((queries, query_size), (keys, key_size), (keys, value_size))
    ]
    layer = MultiHeadAttention(
        key_size, query_size, value_size, heads * head_size, heads, bias=draw(st.booleans())
    )
    shape = draw(st.sampled_from([(batch,), (batch, queries)]))
    count = math.prod(shape)
    numbers = draw(st.lists(st.integers(0, keys), min_size=count, max_size=count))
    lengths = draw(st.sampled_from([None, torch.tensor(numbers).reshape(shape)]))
    return layer.double(), inputs, lengths


@given(calls(), st.booleans(), st.booleans())
def test_any_sizes_agree_with_a_loop_over_heads(call, causal, keep_weights):
    layer, inputs, lengths = call
    layer.keep_weights = keep_weights
    expected, _ = oracle.multi_head_attention(
        layer.state_dict(), layer.num_heads, inputs, lengths, causal=causal
    )
    assert torch.allclose(layer(*inputs, lengths, causal=causal), expected, atol=1e-12)


@every_mask
def test_heads_folded_into_the_batch_give_the_same(mask):
    layer, inputs = build(), random_qkv(2)
    projected = zip((layer.W_q, layer.W_k, layer.W_v), inputs, strict=True)
    folded = [split_heads(linear(x), NUM_HEADS).flatten(0, 1) for linear, x in projected]
    options = dict(mask)
    if "valid_lens" in mask:
        options["valid_lens"] = mask["valid_lens"].repeat_interleave(NUM_HEADS, dim=0)
    heads = DotProductAttention()(*folded, **options)
    output = layer.W_o(merge_heads(heads.unflatten(0, (2, NUM_HEADS))))
    lengths = mask.get("valid_lens", torch.tensor([7, 7]))
    empty = (lengths.reshape(2, -1) == 0).expand(2, 3)[..., None]
    assert torch.allclose(layer(*inputs, **mask), output.masked_fill(empty, 0.0), atol=1e-12)


def test_one_head_is_the_layer_that_it_holds():
    layer = MultiHeadAttention(5, 5, 11, 7, 1).double()
    queries, keys, values = random_qkv(3)
    heads = DotProductAttention()(layer.W_q(queries), layer.W_k(keys), layer.W_v(values))
    assert torch.allclose(layer(queries, keys, values), layer.W_o(heads), atol=1e-12)


def test_heads_differ():
    layer = build()
    layer(*random_qkv(4))
    weights = layer.attention_weights
    assert weights.shape == (2, NUM_HEADS, 3, 7)
    for one in range(NUM_HEADS):
        for other in range(one):
            assert not torch.allclose(weights[:, one], weights[:, other], atol=1e-3)


# torch's layer


def torchs(bias=True, dtype=torch.float64, **options):
    torch.manual_seed(17)
    module = nn.MultiheadAttention(
        NUM_HIDDENS, NUM_HEADS, bias=bias, batch_first=True, **options
    ).to(dtype)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.normal_()
    return module


SIZES = {"one size": {}, "three sizes": {"kdim": 5, "vdim": 11}}
every_sizes = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)


def inputs_of(module, dtype=torch.float64, queries=3):
    generator = torch.Generator().manual_seed(19)
    sizes = (queries, module.embed_dim), (7, module.kdim), (7, module.vdim)
    made = [torch.randn(2, *size, generator=generator, dtype=torch.float64) for size in sizes]
    return [tensor.to(dtype) for tensor in made]


NO_EMPTY_ROW = {
    "all keys": {},
    "per example": {"valid_lens": torch.tensor([4, 1])},
    "per query": {"valid_lens": torch.tensor([[1, 2, 7], [3, 6, 7]])},
    "causal": {"causal": True},
    "causal, per example": {"valid_lens": torch.tensor([4, 1]), "causal": True},
}
every_full_mask = pytest.mark.parametrize("mask", NO_EMPTY_ROW.values(), ids=NO_EMPTY_ROW)


def torchs_masks(valid_lens=None, *, causal=False):
    """The same rule in torch's words, where True hides: 3-D and per head where it must be."""
    hidden = {}
    if valid_lens is not None and valid_lens.dim() == 1:
        hidden["key_padding_mask"] = ~length_mask(valid_lens, (2, 3, 7)).squeeze(1)
    elif valid_lens is not None:
        hidden["attn_mask"] = ~length_mask(valid_lens, (2, 3, 7)).repeat_interleave(
            NUM_HEADS, dim=0
        )
    if causal:
        hidden["attn_mask"] = ~causal_mask((2, 3, 7))[0]
    return hidden


def assert_same(ours, theirs, inputs, mask, tolerance):
    """Outputs, weights of each head, and gradients."""
    results = []
    for layer in (ours, theirs):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        if layer is ours:
            output = ours(*leaves, **mask)
            weights = ours.attention_weights
        else:
            output, weights = theirs(*leaves, **torchs_masks(**mask), average_attn_weights=False)
        output.square().sum().backward()
        results.append([output, weights, *(leaf.grad for leaf in leaves)])
    for left, right in zip(*results, strict=True):
        scale = max(1.0, right.abs().amax().item())
        assert torch.allclose(left.double(), right.double(), rtol=0, atol=tolerance * scale)


@with_and_without_bias
@every_sizes
@every_full_mask
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_it_computes_what_torchs_layer_does(bias, sizes, mask, dtype):
    theirs = torchs(bias, dtype, **sizes)
    ours = MultiHeadAttention.from_torch(theirs)
    assert_same(ours, theirs, inputs_of(theirs, dtype), mask, TOLERANCE[dtype])


@with_and_without_bias
@pytest.mark.parametrize("sizes", [(NUM_HIDDENS, NUM_HIDDENS), (5, 11)])
@every_full_mask
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_torchs_layer_computes_what_it_does(bias, sizes, mask, dtype):
    torch.manual_seed(23)
    ours = MultiHeadAttention(sizes[0], NUM_HIDDENS, sizes[1], NUM_HIDDENS, NUM_HEADS, bias=bias)
    for name, parameter in ours.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter)
    theirs = ours.to(dtype).to_torch()
    assert theirs.batch_first
    assert_same(ours, theirs, inputs_of(theirs, dtype), mask, TOLERANCE[dtype])


@with_and_without_bias
@every_sizes
def test_there_and_back_not_a_bit_changes(bias, sizes):
    theirs = torchs(bias, dropout=0.25, **sizes)
    back = MultiHeadAttention.from_torch(theirs).to_torch()
    state = theirs.state_dict()
    assert back.state_dict().keys() == state.keys()
    for name, parameter in back.state_dict().items():
        assert torch.equal(parameter, state[name])
    assert (back.dropout, back.num_heads) == (0.25, NUM_HEADS)
    assert (back.embed_dim, back.kdim, back.vdim) == (theirs.embed_dim, theirs.kdim, theirs.vdim)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_the_state_of_training_and_the_type_are_carried_over(training):
    theirs = torchs(dtype=torch.bfloat16, dropout=0.25).train(training)
    ours = MultiHeadAttention.from_torch(theirs)
    back = ours.to_torch()
    for layer in (ours, ours.attention.dropout, back):
        assert layer.training is training
    assert {p.dtype for p in (*ours.parameters(), *back.parameters())} == {torch.bfloat16}
    assert ours.attention.dropout.p == 0.25


# Where sizes agree, torch keeps three projections in one matrix; their biases always.
TORCHS_NAMES = {
    "W_q.weight": ("in_proj_weight", "q_proj_weight"),
    "W_k.weight": ("in_proj_weight", "k_proj_weight"),
    "W_v.weight": ("in_proj_weight", "v_proj_weight"),
    "W_o.weight": ("out_proj.weight",),
    **dict.fromkeys(("W_q.bias", "W_k.bias", "W_v.bias"), ("in_proj_bias",)),
    "W_o.bias": ("out_proj.bias",),
}


@with_and_without_bias
@every_sizes
@pytest.mark.parametrize("recording", [True, False])
def test_what_is_frozen_stays_frozen_there_and_back(bias, sizes, recording):
    theirs = torchs(bias, **sizes)
    for frozen, parameter in theirs.named_parameters():
        theirs.requires_grad_()
        parameter.requires_grad_(False)
        with torch.set_grad_enabled(recording):
            ours = MultiHeadAttention.from_torch(theirs)
            back = ours.to_torch()
        found = {name for name, mine in ours.named_parameters() if not mine.requires_grad}
        own = {name for name, _ in ours.named_parameters()}
        assert found == {name for name in own if frozen in TORCHS_NAMES[name]} != set()
        assert [name for name, it in back.named_parameters() if not it.requires_grad] == [frozen]


def test_a_matrix_that_torch_joins_learns_where_a_part_of_it_does():
    ours = MultiHeadAttention.from_torch(torchs())
    for layer in (ours.W_q, ours.W_k):
        layer.requires_grad_(False)
        assert ours.to_torch().in_proj_weight.requires_grad
    ours.W_v.requires_grad_(False)
    assert not ours.to_torch().in_proj_weight.requires_grad


def test_what_is_copied_is_not_shared():
    theirs = torchs()
    ours = MultiHeadAttention.from_torch(theirs)
    before = copy.deepcopy(theirs.state_dict())
    back = ours.to_torch()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.zero_()
    for layer in (theirs, back):
        assert all(torch.equal(layer.state_dict()[name], before[name]) for name in before)


def test_a_layer_of_torch_whose_sequences_come_first_gives_the_same():
    theirs = torchs()
    turned = nn.MultiheadAttention(NUM_HIDDENS, NUM_HEADS).double()
    turned.load_state_dict(theirs.state_dict())
    inputs = inputs_of(theirs)
    output = MultiHeadAttention.from_torch(turned)(*inputs)
    expected, _ = turned(*(tensor.transpose(0, 1) for tensor in inputs))
    assert torch.allclose(output, expected.transpose(0, 1), atol=1e-12)


@pytest.mark.parametrize("wrong", [None, nn.Linear(5, 5), nn.MultiheadAttention, "layer"])
def test_what_is_not_torchs_layer_is_refused(wrong):
    with pytest.raises(TypeError, match=r"module must be an nn\.MultiheadAttention, got"):
        MultiHeadAttention.from_torch(wrong)


@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_a_layer_that_adds_keys_is_refused(option):
    with pytest.raises(ValueError, match="module must add no keys, got add_bias_kv or add_zero"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(6, 2, **{option: True}))


def test_a_query_of_another_size_than_the_output_has_no_twin_in_torch():
    with pytest.raises(
        ValueError, match="query_size must be num_hiddens=24 in torch's layer, got 5"
    ):
        build().to_torch()


# Empty rows and padding


@pytest.mark.parametrize("keep_weights", [True, False])
@pytest.mark.parametrize("causal", [True, False], ids=["causal", ""])
def test_an_empty_row_is_zero_even_with_a_bias(keep_weights, causal, dtype):
    layer = build(dtype, keep_weights=keep_weights)
    leaves = [tensor.to(dtype).requires_grad_() for tensor in random_qkv(5)]
    valid_lens = torch.tensor([[3, 0, 7], [0, 0, 0]])
    with torch.autograd.set_detect_anomaly(True):  # raises at any NaN on the way
        output = layer(*leaves, valid_lens, causal=causal)
        output.sum().backward()
    assert (output[0, 1] == 0).all()
    assert (output[1] == 0).all()
    assert (output[0, [0, 2]] != 0).any(-1).all()
    assert all(leaf.grad.isfinite().all() for leaf in (*leaves, *layer.parameters()))
    assert all((leaf.grad[1] == 0).all() for leaf in leaves)
    if keep_weights:
        assert (layer.attention_weights[1] == 0).all()


@pytest.mark.parametrize("name", ["multi-head", "multi-head" + WITHOUT_WEIGHTS])
@pytest.mark.parametrize("which", [1, 2], ids=["keys", "values"])
@pytest.mark.parametrize("huge", [1e30, torch.finfo(torch.float32).max])
def test_what_order_and_lengths_hide_together_may_be_huge(name, which, huge):
    # The first query may see every key, but stands too early: no query sees the last two.
    inputs = [tensor.float() for tensor in random_qkv(6)]
    valid_lens = torch.tensor([[7, 1, 1], [7, 5, 2]])
    layer = make(name)
    results = []
    for number in (1.0, huge):
        leaves = [tensor.clone() for tensor in inputs]
        leaves[which][:, 5:] = number * inputs[which][:, 5:].sign()
        leaves = [tensor.requires_grad_() for tensor in leaves]
        layer.zero_grad()
        output = layer(*leaves, valid_lens, causal=True)
        output.square().sum().backward()
        gradients = [leaf.grad for leaf in (*leaves, *layer.parameters())]
        results.append([output.detach(), *gradients])
        assert (leaves[which].grad[:, 5:] == 0).all()
    for left, right in zip(*results, strict=True):
        assert right.isfinite().all()
        assert torch.allclose(left, right, atol=1e-5)


@pytest.mark.parametrize("name", ["multi-head", "multi-head" + WITHOUT_WEIGHTS])
def test_no_gradient_reaches_padding(name):
    leaves = [tensor.requires_grad_() for tensor in random_qkv(3)]
    make(name, dtype=torch.float64)(*leaves, PER_EXAMPLE).square().sum().backward()
    for leaf in leaves[1:]:
        assert (leaf.grad[0, 4:] == 0).all()
        assert (leaf.grad[0, :4] != 0).any(-1).all()
        assert (leaf.grad[1] == 0).all()


@with_and_without_bias
@every_mask
def test_gradcheck_passes(bias, mask):
    layer = MultiHeadAttention(2, 3, 2, 4, 2, bias=bias).double()
    parameters = dict(layer.named_parameters())
    shapes = (2, 3, 3), (2, 7, 2), (2, 7, 2)
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]

    def attend(queries, keys, values, *weights):
        named = dict(zip(parameters, weights, strict=True))
        return torch.func.functional_call(layer, named, (queries, keys, values), mask)

    weights = [parameter.detach().clone().requires_grad_() for parameter in parameters.values()]
    assert torch.autograd.gradcheck(attend, (*inputs, *weights), fast_mode=True)


# The layer as a module


@with_and_without_bias
def test_its_state_holds_four_projections(bias, qkv):
    layer = build(torch.float32, bias)
    layer(*qkv)
    kinds = ["weight", "bias"] if bias else ["weight"]
    names = {f"W_{letter}.{kind}" for letter in "qkvo" for kind in kinds}
    assert set(layer.state_dict()) == names


def test_weights_are_kept_from_the_call_after_it_is_asked_for(qkv):
    layer = build(torch.float32, keep_weights=False)
    layer(*qkv)
    assert layer.keep_weights is False
    assert not hasattr(layer, "attention_weights")
    layer.keep_weights = True
    assert not hasattr(layer, "attention_weights")
    layer(*qkv)
    assert layer.attention_weights.shape == (2, NUM_HEADS, 3, 7)
    assert layer.attention.keep_weights is True


def test_another_missing_attribute_is_missed_as_in_any_module():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = build().nonsense


def test_a_copy_keeps_the_weights_of_the_last_call(qkv):
    layer = build(torch.float32, dropout=0.5).train()
    layer(*qkv).sum().backward()
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301 - our own
        assert torch.equal(copied.attention_weights, layer.attention_weights)
        assert copied.attention_weights is not layer.attention_weights


def test_dropout_drops_weights_of_the_heads_and_only_in_training():
    layer = build(dropout=0.5, bias=False)
    inputs = random_qkv(7)
    first, second = layer(*inputs), layer(*inputs)
    assert not torch.equal(first, second)
    assert torch.equal(layer.eval()(*inputs), layer(*inputs))
    layer.attention.dropout.p = 1.0
    assert (layer.train()(*inputs) == 0).all()


def test_parameters_given_by_a_function_are_used():
    layer, inputs = build(bias=False), random_qkv(8)
    zeros = {name: torch.zeros_like(value) for name, value in layer.named_parameters()}
    assert (torch.func.functional_call(layer, zeros, inputs) == 0).all()


def test_gradients_of_each_example_can_be_mapped_over():
    layer, inputs = build(keep_weights=False), random_qkv(9)
    parameters = {name: value.detach() for name, value in layer.named_parameters()}

    def loss(named, *one):
        batch_of_one = tuple(tensor[None] for tensor in one)
        output = torch.func.functional_call(layer, named, batch_of_one, {"causal": True})
        return output.square().sum()

    axes = None, 0, 0, 0
    found = torch.vmap(torch.func.grad(loss), in_dims=axes)(parameters, *inputs)
    layer(*inputs, causal=True).square().sum().backward()
    for name, value in layer.named_parameters():
        assert torch.allclose(found[name].sum(0), value.grad, atol=1e-10)


def test_its_inputs_are_left_as_they_came_in_a_causal_call():
    tensors = (*random_qkv(10), PER_EXAMPLE.clone())
    before = snapshot(tensors)
    build(dropout=0.5)(*tensors, causal=True)
    assert unchanged(tensors, before)


# Refusals

SIZE_NAMES = ["key_size", "query_size", "value_size", "num_hiddens", "num_heads"]
every_size_name = pytest.mark.parametrize("name", SIZE_NAMES)


@every_size_name
@pytest.mark.parametrize("wrong", [0, -1])
def test_a_size_below_1_is_refused(name, wrong):
    with pytest.raises(ValueError, match=rf"{name} must be at least 1, got {wrong}"):
        MultiHeadAttention(**{**dict.fromkeys(SIZE_NAMES, 5), name: wrong})


@every_size_name
@pytest.mark.parametrize("wrong", [2.0, True, "5", [5]])
def test_a_size_that_is_no_whole_number_is_refused(name, wrong):
    with pytest.raises(TypeError, match=rf"{name} must be a whole number, got"):
        MultiHeadAttention(**{**dict.fromkeys(SIZE_NAMES, 5), name: wrong})


@every_size_name
def test_a_missing_size_is_refused(name):
    del (sizes := dict.fromkeys(SIZE_NAMES, 5))[name]
    order = ", ".join(SIZE_NAMES)
    with pytest.raises(TypeError, match=rf"MultiHeadAttention takes \({order}, dropout, bias\)"):
        MultiHeadAttention(**sizes)


@pytest.mark.parametrize("arguments", [(), (24,), (24, 4), (24, 4, 0.5), (24, 4, 0.5, False)])
def test_the_order_of_later_d2l_is_refused_by_naming_ours(arguments):
    rule = r"takes \(key_size, .*; the order \(num_hiddens, num_heads, dropout\) of later"
    with pytest.raises(TypeError, match=rule):
        MultiHeadAttention(*arguments)


def test_the_keywords_of_later_d2l_are_refused_by_naming_ours():
    with pytest.raises(TypeError, match=r"takes \(key_size, query_size, value_size"):
        MultiHeadAttention(num_hiddens=24, num_heads=4, dropout=0.5)


@pytest.mark.parametrize("num_heads", [5, 48])
def test_heads_that_do_not_divide_the_width_are_refused(num_heads):
    rule = rf"num_hiddens must be a multiple of num_heads={num_heads}, .*, got 24"
    with pytest.raises(ValueError, match=rule):
        MultiHeadAttention(5, 5, 11, 24, num_heads)


@pytest.mark.parametrize(
    ("wrong", "error"), [(-0.1, ValueError), (2, ValueError), (True, TypeError)]
)
def test_a_dropout_that_is_no_share_is_refused(wrong, error):
    with pytest.raises(error, match=r"dropout must .* \[0, 1\], got"):
        MultiHeadAttention(5, 5, 11, 24, 4, wrong)


@pytest.mark.parametrize("wrong", [0.5, 1, None, "no"])
def test_a_bias_that_is_neither_true_nor_false_is_refused(wrong):
    with pytest.raises(TypeError, match="bias must be True or False, got"):
        MultiHeadAttention(5, 5, 11, 24, 4, 0.5, wrong)


ones = torch.ones


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"queries": ones(2, 1, 3, 5), "keys": ones(2, 1, 7, 5), "values": ones(2, 1, 7, 11)},
            ValueError,
            r"queries must have shape \(batch, num_queries, query_size\), got \(2, 1, 3, 5\)",
        ),
        (
            {"queries": ones(2, 3, 4)},
            ValueError,
            r"queries must have query_size=5 numbers .*, got 4",
        ),
        ({"keys": ones(2, 7, 4)}, ValueError, r"keys must have key_size=5 numbers .*, got 4"),
        (
            {"values": ones(2, 7, 5)},
            ValueError,
            r"values must have value_size=11 numbers .*, got 5",
        ),
        (
            {
                name: ones(2, n, size).double()
                for name, n, size in (
                    ("queries", 3, 5),
                    ("keys", 7, 5),
                    ("values", 7, 11),
                )
            },
            TypeError,
            r"queries must have the dtype of the layer's weights, .*32, got torch\.float64",
        ),
    ],
    ids=["4-D", "queries", "keys", "values", "dtype"],
)
def test_a_refused_call_says_why_and_changes_nothing(change, error, message, qkv):
    layer = build(torch.float32, dropout=0.5)
    arguments = dict(zip(("queries", "keys", "values"), qkv, strict=True))
    layer(**arguments)
    weights, random_state = layer.attention_weights, torch.get_rng_state()
    with pytest.raises(error, match=message):
        layer(**{**arguments, **change})
    assert layer.attention_weights is weights
    assert torch.equal(torch.get_rng_state(), random_state)


@pytest.mark.parametrize("wrong", [{"causal": 1}, {"valid_lens": ones(2).bool()}])
def test_a_refused_call_projects_nothing(wrong, qkv):
    layer, called = build(torch.float32), []
    layer.W_q.register_forward_hook(lambda *_: called.append(True))
    with pytest.raises(TypeError):
        layer(*qkv, **wrong)
    assert called == []
