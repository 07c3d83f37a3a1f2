"""What a layer refuses, with which message, and that a refused call changes nothing."""

import math
import re

import pytest
import torch
from torch import nn

from attnbook import (
    AdditiveAttention,
    Attention,
    DotProductAttention,
    MLPAttention,
    MultiHeadAttention,
)
from attnbook.masking import interop
from tests.cases import (
    LAYERS,
    PER_EXAMPLE,
    FirstPartAttention,
    are_unchanged,
    copy_with_versions,
    make,
    random_qkv,
)

# Each case changes one argument of a good call.
GOOD = {
    "queries": torch.ones(2, 3, 5),
    "keys": torch.ones(2, 7, 5),
    "values": torch.ones(2, 7, 11),
    "valid_lens": PER_EXAMPLE,
}
SEE = 'see: recipes, "convert a mask"$'
SHAPES, PAD = r'.*; see: recipes, "shapes"$', r'.*; see: recipes, "pad a batch"$'
ones = torch.ones


def make_bias(number, keys):
    """A bias with this number at some keys of one query, of which the first four are visible."""
    bias = torch.zeros(3, 7)
    bias[1, keys] = number
    return bias


BAD_SHAPES = [
    ("queries", ones(3, 5), r"got \(3, 5\); .* pass queries\[None\], .*output\[0\]; see: .*\"unb"),
    ("keys", ones(7, 5), r"keys must have shape .*, got \(7, 5\); .* pass keys\[None\]"),
    ("queries", ones(1, 1, 2, 3, 5), r"queries must have shape .*, got \(1, 1, 2, 3, 5\)$"),
    ("keys", ones(1, 7, 5), rf"keys must have the batch .* queries, \(2,\), got \(1,{SHAPES}"),
    ("values", ones(1, 7, 11), rf"values must have the batch .*, \(2,\), got \(1,{SHAPES}"),
    ("keys", ones(2, 1, 7, 5), r"keys must have the batch and heads .*\(2, 1\)"),
    ("values", ones(2, 1, 7, 11), r"values must have the batch and heads .*\(2, 1"),
    ("keys", ones(2, 7, 4), rf"keys must have \w+=5 numbers .*, got 4 in shape{SHAPES}"),
    ("values", ones(2, 6, 11), rf"values must have one row .*num_keys=7, got 6{SHAPES}"),
    ("valid_lens", ones(1), r"valid_lens must have shape \(batch=2,\) .*got \(1,\)"),
    ("valid_lens", ones(2, 1), r"valid_lens must have shape .*, got \(2, 1\)"),
    ("mask", ones(7, 3).bool(), rf"mask must have shape .*, got \(7, 3\); {SEE}"),
    ("mask", ones(2, 7).bool(), rf"mask must have .*, got \(2, 7\): write mask\[:, None.*; {SEE}"),
    ("bias", ones(2, 7), r'bias must have .*, got \(2, 7\): write bias\[:, None.* "bias"$'),
    ("mask", ones(5, 3, 7).bool(), r"mask must have shape .*, got \(5, 3, 7\)"),
    ("mask", ones(1, 2, 2, 3, 7).bool(), r"mask must have shape .*, got \(1, 2, 2, 3, 7\)"),
    ("bias", ones(7, 3), r"bias must have shape .*, got \(7, 3\)"),
    ("bias", ones(5, 3, 7), r"bias must have .* got .*\(5, 3, 7\)"),
    ("bias", ones(7), r"bias must have shape .*, got \(7,\)"),
]
BAD_NUMBERS = [
    ("valid_lens", torch.tensor([4, -1]), rf"in \[0, num_keys=7\], got -1 at .*\(1,{PAD}"),
    ("valid_lens", torch.tensor([8, 2]), rf"in \[0, num_keys=7\], got 8 at .*\(0,{PAD}"),
    ("valid_lens", torch.tensor([4, 2.5]), r"be whole numbers, got 2.5 at .*\(1,\)"),
    ("valid_lens", torch.tensor([math.nan, 1]), r"in \[0, num_keys=7\], got nan"),
    ("bias", make_bias(math.nan, 3), r"bias must be finite or -inf, .* got .* nan at index .*"),
    ("bias", make_bias(math.inf, 3), r"bias must be finite or -inf, .* got .* inf at index .*"),
    ("bias", make_bias(-math.inf, slice(4)), r"bias .* got .* -inf at .* recipes, \"bias\""),
]
BAD_TYPES = [
    (
        "keys",
        ones(2, 7, 5).double(),
        r"keys must have the dtype of queries, torch.float32, .*64: use keys\.to\(torch.float32\)$",
    ),
    (
        "values",
        ones(2, 7, 11).half(),
        r'values must have the dtype of keys, torch.* recipes, "half precision"$',
    ),
    ("queries", ones(2, 3, 5).long(), r"queries must hold floating.*torch.int64"),
    ("keys", ones(2, 7, 5).bool(), r"keys must hold floating.*got torch.bool"),
    ("keys", ones(2, 7, 5).to_sparse(), r"keys must be a dense .*, got torch\.sparse_coo"),
    (
        "keys",
        torch.nested.nested_tensor([ones(7, 5)] * 2, layout=torch.jagged),
        "keys must be a dense tensor, padded to one length, got a nested tensor",
    ),
    ("valid_lens", [4, 2], rf"valid_lens must be a tensor of whole .*, got list{PAD}"),
    ("valid_lens", ones(2).bool(), f"valid_lens must hold whole .*, got torch.bool: .*=; {SEE}"),
    ("causal", 1, r"causal must be True or False, got 1"),
    ("causal", ones(3, 7).bool(), r"causal .*, got Tensor of shape \(3, 7\) and dtype torch.bool"),
    ("bias", ones(3, 7).double(), r"bias must have the dtype of scores, torch.float32, got .*64"),
    ("bias", ones(3, 7).bool(), r"bias must hold floating-point .*torch.bool; booleans are a mask"),
    ("bias", [[1.0]], "bias must be a tensor, got list"),
    (
        "mask",
        [[True]],
        rf"mask must be a tensor of booleans, got list: pass torch.tensor\(mask\); {SEE}",
    ),
    ("mask", ones(3, 7), f"mask must hold booleans, .*, got torch.float32: .*bias=.*; {SEE}"),
    ("mask", ones(3, 7).int(), f"mask must hold booleans, .* got torch.int32: .*== 1.*; {SEE}"),
]
BAD_CALLS = [
    *(({name: value}, ValueError, rule) for name, value, rule in BAD_SHAPES + BAD_NUMBERS),
    *(({name: value}, TypeError, rule) for name, value, rule in BAD_TYPES),
    (
        {"queries": ones(2, 8, 5), "causal": True},
        ValueError,
        r'causal must have a key for each query, but .*=8 and num_keys=7; see: recipes, "causal"$',
    ),
]


@pytest.mark.parametrize("name", [*LAYERS, "dot without weights"])
@pytest.mark.parametrize(("change", "error", "message"), BAD_CALLS)
def test_a_refused_call_names_the_rule_and_changes_nothing(name, change, error, message):
    layer = make(name, dropout=0.5)
    layer(**GOOD)
    weights = getattr(layer, "attention_weights", None)
    arguments = GOOD | change
    tensors = [x for x in (*arguments.values(), *layer.parameters()) if is_dense(x)]
    before, random_state = copy_with_versions(tensors), torch.get_rng_state()
    with pytest.raises(error, match=message):
        layer(**arguments)
    assert are_unchanged(tensors, before)
    assert getattr(layer, "attention_weights", None) is weights
    assert torch.equal(torch.get_rng_state(), random_state)


def is_dense(x):
    """Whether `torch.equal` can compare it with itself, which NaN is not equal to."""
    if not isinstance(x, torch.Tensor) or x.layout != torch.strided:
        return False
    return not x.isnan().any()


@pytest.mark.parametrize("name", ["additive", "multi-head"])
def test_another_dtype_than_that_of_the_weights_is_refused(name):
    rule = r"queries must have the dtype of the layer's weights, torch\.float32, got torch\.float64"
    with pytest.raises(TypeError, match=rule):
        make(name)(*random_qkv(1))


def test_additive_attention_refuses_vectors_of_another_size():
    layer = AdditiveAttention(key_size=3, query_size=2, num_hiddens=8)
    with pytest.raises(ValueError, match="queries must have query_size=2 numbers in the last axis"):
        layer(ones(1, 5, 3), ones(1, 7, 3), ones(1, 7, 11))
    with pytest.raises(ValueError, match="keys must have key_size=3 numbers in the last axis"):
        layer(ones(1, 5, 2), ones(1, 7, 2), ones(1, 7, 11))


@pytest.mark.parametrize("name", ["dot", "additive", "dot without weights"])
def test_a_mask_of_three_axes_that_may_be_examples_or_heads_is_refused(name):
    inputs = random_qkv(3, (2,), torch.float32)
    rule = (
        r"mask must have an axis of heads .* got three axes in \(2, 3, 7\): write mask\[:, None\]"
    )
    with pytest.raises(ValueError, match=rule):
        make(name)(*inputs, mask=ones(2, 3, 7).bool())


@pytest.mark.parametrize("name", [*LAYERS, "a subclass"])
def test_a_dropout_outside_0_to_1_is_refused_and_one_within_is_stored(name):
    for wrong in (-0.1, 1.0001, math.nan):
        with pytest.raises(ValueError, match=rf"dropout must lie in \[0, 1\], got {wrong}"):
            make(name, dropout=wrong)
    for right in (0, 1, 0.5):
        layer = make(name, dropout=right)
        assert getattr(layer, "attention", layer).dropout.p == right


SIZES = {
    AdditiveAttention: ["key_size", "query_size", "num_hiddens"],
    MLPAttention: ["key_size", "query_size", "units"],
    MultiHeadAttention: ["key_size", "query_size", "value_size", "num_hiddens", "num_heads"],
}


@pytest.mark.parametrize(
    ("layer", "name"), [(layer, name) for layer, names in SIZES.items() for name in names]
)
class TestSizes:
    def test_a_size_below_1_is_refused(self, layer, name):
        with pytest.raises(ValueError, match=rf"{name} must be at least 1, got 0"):
            layer(**dict.fromkeys(SIZES[layer], 5) | {name: 0})

    def test_a_missing_size_is_refused(self, layer, name):
        del (sizes := dict.fromkeys(SIZES[layer], 5))[name]
        order = ", ".join(SIZES[layer])
        with pytest.raises(TypeError, match=rf"{layer.__name__} takes \({order}, dropout"):
            layer(**sizes)


@pytest.mark.parametrize(
    ("layer", "arguments", "order"),
    [
        (AdditiveAttention, (8, 0.1), "num_hiddens, dropout"),
        (AdditiveAttention, (), "num_hiddens, dropout"),
        (MultiHeadAttention, (24, 4, 0.5, False), "num_hiddens, num_heads, dropout"),
        (MultiHeadAttention, (), "num_hiddens, num_heads, dropout"),
    ],
)
def test_the_argument_order_of_later_d2l_is_refused_with_our_order(layer, arguments, order):
    ours = ", ".join(SIZES[layer])
    with pytest.raises(TypeError, match=rf"\({ours}, dropout.*: the order \({order}\) of later"):
        layer(*arguments)


OF_TORCH = 'see: recipes, "replace nn.MultiheadAttention"$'
WITH_SIZES = {layer: dict.fromkeys(names, 5) for layer, names in SIZES.items()}
NO_SIZES = {Attention: {}, DotProductAttention: {}, FirstPartAttention: {}}
CONSTRUCTORS = {
    "embed_dim": rf"pass key_size, .* num_hiddens to MultiHeadAttention; {OF_TORCH}",
    "kdim": f"pass key_size; {OF_TORCH}",
    "vdim": f"pass value_size .*; {OF_TORCH}",
    "batch_first": f"leave it out, .* batch .*; {OF_TORCH}",
    "add_bias_kv": f"leave it out, append a learned vector .*; {OF_TORCH}",
    "add_zero_attn": f"leave it out, append a vector of zeros .*; {OF_TORCH}",
    "device": rf".* call layer\.to\(device\); {OF_TORCH}",
    "dtype": rf".* call layer\.to\(dtype\); {OF_TORCH}",
    "kernel": r"its arguments are .*dropout, .*keep_weights(, \w+)*$",
}


@pytest.mark.parametrize("layer", WITH_SIZES | NO_SIZES)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_constructor_refuses_an_argument_that_it_does_not_take_with_what_to_do(layer, name):
    sizes = (WITH_SIZES | NO_SIZES)[layer]
    with pytest.raises(TypeError, match=f"^{layer.__name__} takes no {name}: {CONSTRUCTORS[name]}"):
        layer(**sizes, **{name: None})


def test_the_order_of_nn_multiheadattention_is_refused_with_ours():
    rule = rf"takes \(key_size, .*; value_size is missing: .*\(embed_dim, num_heads\).*; {OF_TORCH}"
    with pytest.raises(TypeError, match=rule):
        MultiHeadAttention(8, 2)
    with pytest.raises(TypeError, match=r"^DotProductAttention takes \(dropout\) by .*, got 2; .*"):
        DotProductAttention(8, 2)
    with pytest.raises(TypeError, match=f"no num_heads: use MultiHeadAttention, .*; {OF_TORCH}"):
        DotProductAttention(num_heads=2)


X = random_qkv(5)[0]
MISSING = (
    r"takes \(queries, keys, values, valid_lens\); {} is missing: call layer\(x, x, x\) for .*"
)
CALLS = {
    **{name: rf"pass \w+={name}; {OF_TORCH}" for name in ("query", "key", "value")},
    "key_padding_mask": rf"pass mask=from_key_padding_mask\(\w+\) .*; {SEE}",
    "attn_mask": rf"pass mask=from_attn_mask.*hidden.*visible.*; {SEE}",
    "attention_mask": rf"pass mask=from_attention_mask\(\w+\) .*; {SEE}",
    "is_causal": f"pass causal=is_causal, .*; {OF_TORCH}",
    "need_weights": r'leave it out: .*layer\.attention_weights .* "weights per head"$',
    "average_attn_weights": r'.*\.attention_weights\.mean\(dim=1\); .* "weights per head"$',
    "dropout_p": f"pass dropout to the constructor; .*; {OF_TORCH}",
    "length": r"its arguments are queries, keys, values, valid_lens, causal, mask, .*bias$",
}
WRONG_CALLS = [
    ((X,), {}, MISSING.format("keys")),
    ((X, X), {}, MISSING.format("values")),
    ((X, X, X, None, False), {}, r"takes \(.*, valid_lens\) by position, got 5; .* by name$"),
    *(((X, X, X), {name: None}, f"takes no {name}: {rule}") for name, rule in CALLS.items()),
]


@pytest.mark.parametrize("name", [*LAYERS, "dot without weights", "a subclass"])
@pytest.mark.parametrize(("given", "others", "rule"), WRONG_CALLS)
def test_a_call_refuses_arguments_that_it_does_not_take_with_what_to_do(name, given, others, rule):
    layer = make(name, dropout=0.5)
    layer(*random_qkv(7, dtype=torch.float32))
    weights, random_state = getattr(layer, "attention_weights", None), torch.get_rng_state()
    with pytest.raises(TypeError, match=f"^{type(layer).__name__} {rule}") as refused:
        layer(*given, **others)
    assert refused.value.__suppress_context__
    assert getattr(layer, "attention_weights", None) is weights
    assert torch.equal(torch.get_rng_state(), random_state)


HIDDEN = torch.tensor([[0, 0, 0], [0, 1, 1]]).bool()
FUTURE = ones(3, 3).triu(1).bool()


def to_float(mask):
    """The same mask as numbers that are added to the scores."""
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(mask, -math.inf)


@pytest.mark.parametrize(
    ("name", "value", "torch_needs"),
    [
        ("key_padding_mask", HIDDEN, {}),
        ("key_padding_mask", to_float(HIDDEN), {}),
        ("attn_mask", FUTURE, {}),
        ("attn_mask", to_float(FUTURE), {}),
        ("is_causal", True, {"attn_mask": FUTURE}),
    ],
)
def test_what_a_refusal_advises_gives_what_torchs_layer_gives(name, value, torch_needs):
    theirs = nn.MultiheadAttention(5, 5, batch_first=True, dtype=torch.float64)
    ours = MultiHeadAttention.from_torch(theirs)
    with pytest.raises(TypeError) as refused:
        ours(X, X, X, **{name: value})
    advised = re.search(r"pass (\w+=(?:\w+\([^)]*\)|\w+))", str(refused.value))[1]
    arguments = eval(f"dict({advised})", vars(interop) | {name: value})  # noqa: S307 - our own
    expected, weights = theirs(X, X, X, **{name: value}, **torch_needs)
    assert torch.allclose(ours(X, X, X, **arguments), expected, rtol=0, atol=1e-12)
    assert torch.allclose(ours.attention_weights.mean(dim=1), weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("adds", ["add_bias_kv", "add_zero_attn"])
def test_keys_that_torchs_layer_adds_can_be_appended(adds):
    theirs = nn.MultiheadAttention(5, 1, bias=False, batch_first=True, dtype=torch.float64)
    ours = MultiHeadAttention.from_torch(theirs)
    key = value = torch.zeros(5, dtype=torch.float64)
    if adds == "add_bias_kv":  # torch appends them after the projection
        theirs.bias_k, theirs.bias_v = X[:1, :1].clone(), X[1:, :1].clone()
        key, value = (
            torch.linalg.solve(layer.weight, it.flatten())
            for layer, it in ((ours.W_k, theirs.bias_k), (ours.W_v, theirs.bias_v))
        )
    theirs.add_zero_attn = adds == "add_zero_attn"
    keys, values = (torch.cat([X, it.detach().expand(2, 1, 5)], dim=1) for it in (key, value))
    visible = torch.cat([~HIDDEN, ones(2, 1).bool()], dim=1)[:, None]
    expected, weights = theirs(X, X, X, key_padding_mask=HIDDEN)
    assert torch.allclose(ours(X, keys, values, mask=visible), expected, rtol=0, atol=1e-12)
    assert torch.allclose(ours.attention_weights[:, 0], weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    "convert",
    [
        torch.Tensor.tolist,
        torch.Tensor.numpy,
        torch.Tensor.long,
        lambda x: x.int().tolist(),
        lambda x: x.long().numpy(),
        lambda x: x.double().numpy(),
    ],
)
def test_lists_arrays_and_whole_numbers_are_accepted_once_converted_as_advised(name, convert):
    layer = make(name)
    good = [torch.arange(it.numel()).reshape(it.shape) % 3 / 1 for it in random_qkv(1)]
    given = dict(zip(("queries", "keys", "values"), map(convert, good), strict=True))
    steps = 0
    while advice := advised_conversion(layer, given):
        argument, code = advice
        given[argument] = eval(code, {"torch": torch}, given)  # noqa: S307 - our own message
        steps += 1
    assert steps >= 3
    assert torch.allclose(layer(**given).float(), layer(*good), atol=1e-6)


def advised_conversion(layer, given):
    """The argument that a call refuses, and the code that the message advises; or None."""
    try:
        layer(**given)
    except TypeError as error:
        return re.match(r"(\w+) must .*: (?:pass|use) ([^;]+)", str(error)).groups()
    return None


class MaskedAttention(DotProductAttention):
    """Its `forward` takes an argument of torch's name."""

    def forward(self, queries, keys, values, attn_mask=None):
        return super().forward(queries, keys, values, mask=attn_mask)


class PassingAttention(DotProductAttention):
    """Its `forward` takes anything, and passes it on."""

    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs)


def test_a_subclass_decides_which_arguments_its_calls_take():
    output = MaskedAttention()(X, X, X, attn_mask=~FUTURE)
    assert torch.equal(output, DotProductAttention()(X, X, X, causal=True))
    for layer, name in ((MaskedAttention(), "attn_mask"), (PassingAttention(), "mask")):
        with pytest.raises(TypeError, match=r"^mask must be a tensor of booleans, got list"):
            layer(X, X, X, **{name: [1]})
    rule = "MaskedAttention takes no mask: its arguments are queries, keys, values, attn_mask$"
    with pytest.raises(TypeError, match=rule):
        MaskedAttention()(X, X, X, mask=FUTURE)


def test_a_hook_may_change_the_arguments_and_the_errors_are_those_of_the_changed_call():
    layer = DotProductAttention()
    layer.register_forward_pre_hook(
        lambda _, args, kwargs: (args, {"mask": kwargs["attn_mask"]}), with_kwargs=True
    )
    output = layer(X, X, X, attn_mask=~FUTURE)
    assert torch.equal(output, DotProductAttention()(X, X, X, causal=True))
    with pytest.raises(TypeError, match=r"^mask must be a tensor of booleans, got list"):
        layer(X, X, X, attn_mask=[1])


@pytest.mark.parametrize("compiled_by", ["torch.compile", "layer.compile"])
def test_a_compiled_layer_explains_arguments_too(compiled_by):
    layer = called = DotProductAttention()
    if compiled_by == "torch.compile":
        called = torch.compile(layer, backend="eager")
    else:
        layer.compile(backend="eager")
    called(X, X, X)
    with pytest.raises(TypeError, match=r"^DotProductAttention takes no attn_mask: pass mask="):
        called(X, X, X, attn_mask=None)
