import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import AdditiveAttention, Attention, DotProductAttention, MLPAttention
from tests import oracle
from tests.cases import (
    PER_EXAMPLE,
    PER_QUERY,
    FirstPartAttention,
    both,
    every_kind_of_lengths,
    every_layer,
    every_mask,
    kept_or_not,
    lengths_per_query,
    lens,
    make,
    output_size,
    random_qkv,
    seeds,
    snapshot,
    unchanged,
)

pytestmark = pytest.mark.usefixtures("every_path")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 5e-3}


def slow(layer, *inputs, **mask):
    if isinstance(layer, DotProductAttention):
        return oracle.dot_product_attention(*inputs, **mask)
    return oracle.additive_attention(layer.state_dict(), *inputs, **mask)


@pytest.mark.parametrize(
    "layer",
    [DotProductAttention(0.5), AdditiveAttention(2, 2, 8, 0.1), MLPAttention(2, 2, 8, 0.1)],
    ids=lambda layer: type(layer).__name__,
)
def test_the_toy_example_gives_2_3_4_5_and_10_11_12_13(layer, device):
    queries, keys = torch.ones(2, 1, 2), torch.ones(2, 10, 2)
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    layer = layer.eval().to(device)
    output = layer(*(x.to(device) for x in (queries, keys, values)), torch.tensor([2, 6]))
    expected = torch.tensor([[[2.0, 3, 4, 5]], [[10, 11, 12, 13]]])
    assert torch.allclose(output.cpu(), expected, atol=1e-5)
    uniform = torch.zeros(2, 1, 10)
    uniform[0, :, :2], uniform[1, :, :6] = 1 / 2, 1 / 6
    assert torch.allclose(layer.attention_weights.cpu(), uniform)


def test_dot_product_attention_by_hand():
    # d = 4: scores 2·log 2 · (0, 1, 2) / √4 = log 1, log 2, log 4, weights 1/7, 2/7, 4/7.
    queries = torch.tensor([[[2 * math.log(2), 0, 0, 0]]])
    keys = torch.tensor([[[0.0, 1, 1, 1], [1, 2, 2, 2], [2, 3, 3, 3]]])
    values = torch.tensor([[[7.0], [14], [21]]])
    layer = DotProductAttention()
    assert layer(queries, keys, values).item() == pytest.approx(1 + 4 + 12, abs=1e-5)


def test_additive_attention_by_hand():
    # W_q = 1, W_k = 2, w_v = 37/35 · log 3: q = log 2 and k = log 3 / 2 meet as log 6,
    # whose tanh is 35/37, so that key scores log 3; a key of -log 2 / 2 scores 0.
    layer = AdditiveAttention(1, 1, 1).double()
    weights = {"W_q": 1.0, "W_k": 2.0, "w_v": 37 / 35 * math.log(3)}
    layer.load_state_dict({f"{k}.weight": torch.tensor([[w]]) for k, w in weights.items()})
    queries = torch.tensor([[[math.log(2)]]]).double()
    keys = torch.tensor([[[math.log(3) / 2], [-math.log(2) / 2]]]).double()
    output = layer(queries, keys, torch.tensor([[[4.0], [8]]]).double())
    assert output.item() == pytest.approx(3 / 4 * 4 + 1 / 4 * 8)  # weights 3/4 and 1/4


@kept_or_not
@pytest.mark.parametrize("heads", [(), (5,)])
@every_mask
def test_a_layer_agrees_with_the_oracle(name, heads, mask, dtype, device):
    layer = make(name, dtype=dtype)
    inputs = [tensor.to(dtype) for tensor in random_qkv(1, heads)]
    expected = slow(layer, *inputs, **mask)
    output = layer.to(device)(*(tensor.to(device) for tensor in inputs), **mask)
    assert output.dtype == dtype
    assert output.device.type == device.type
    assert torch.allclose(output.double().cpu(), expected, rtol=0, atol=TOLERANCE[dtype])


def test_the_scores_of_additive_attention_are_those_of_its_formula():
    # A constant on every score would not show in the weights.
    layer = make("additive", dtype=torch.float64)
    queries, keys, _ = random_qkv(1)
    projected = layer.W_q(queries), layer.W_k(keys)
    expected = oracle.additive_score(*projected, layer.w_v.weight[0])
    assert torch.allclose(layer.score(queries, keys), expected, atol=1e-12)


def test_additive_attention_joins_different_sizes_as_the_oracle_does():
    layer = AdditiveAttention(key_size=3, query_size=2, num_hiddens=13)
    inputs = torch.randn(2, 5, 2), torch.randn(2, 7, 3), torch.randn(2, 7, 11)
    expected = oracle.additive_attention(layer.state_dict(), *inputs)
    assert torch.allclose(layer(*inputs).double(), expected, atol=1e-5)


@given(seeds, lengths_per_query)
@both
def test_no_valid_output_leaves_the_range_of_the_values(name, seed, numbers):
    queries, keys, values = random_qkv(seed)
    output = make(name, dtype=torch.float64)(queries, keys, values, lens(numbers))
    low, high = values.amin(-2, keepdim=True), values.amax(-2, keepdim=True)
    empty = (lens(numbers) == 0)[..., None]
    assert (((output >= low - 1e-12) & (output <= high + 1e-12)) | empty).all()
    assert (output[empty.expand_as(output)] == 0).all()


@kept_or_not
@pytest.mark.parametrize("heads", [(), (2,)])
@every_mask
def test_gradcheck_passes(name, heads, mask):
    layer = make(name, dtype=torch.float64)
    parameters = dict(layer.named_parameters())
    queries, keys, values = random_qkv(5, heads)
    # Each number is moved by itself, and two columns of values are pooled as eleven are.
    inputs = [x.requires_grad_() for x in (queries, keys, values[..., :2].contiguous())]

    def attend(queries, keys, values, *weights):
        named = dict(zip(parameters, weights, strict=True))
        return torch.func.functional_call(layer, named, (queries, keys, values), mask)

    weights = [parameter.detach().clone().requires_grad_() for parameter in parameters.values()]
    assert torch.autograd.gradcheck(attend, (*inputs, *weights))


@given(seeds, st.permutations(range(7)))
@every_layer
def test_permuting_key_value_pairs_changes_nothing(name, seed, order):
    queries, keys, values = random_qkv(seed)
    layer = make(name, dtype=torch.float64)
    permuted = layer(queries, keys[:, order], values[:, order])
    assert torch.allclose(permuted, layer(queries, keys, values), atol=1e-12)


@given(seeds, lengths_per_query)
@every_layer
def test_examples_are_independent(name, seed, numbers):
    inputs = (*random_qkv(seed), lens(numbers))
    layer = make(name, dtype=torch.float64)
    together = layer(*inputs)
    for one in (slice(0, 1), slice(1, 2)):
        alone = layer(*(tensor[one] for tensor in inputs))
        assert torch.allclose(alone, together[one], atol=1e-13)


@given(seeds, lengths_per_query, st.booleans(), st.booleans())
@both
def test_heads_folded_into_the_batch_give_the_same_output(name, seed, numbers, per_query, causal):
    inputs = random_qkv(seed, heads=(5,))
    valid_lens = lens(numbers) if per_query else torch.tensor(numbers[:2])
    layer = make(name, dtype=torch.float64)
    output = layer(*inputs, valid_lens, causal=causal)
    repeated = valid_lens.repeat_interleave(5, dim=0)
    folded = layer(*(x.flatten(0, 1) for x in inputs), repeated, causal=causal)
    assert torch.allclose(folded.reshape(2, 5, 3, 11), output, atol=1e-13)


@given(seeds, lengths_per_query)
@every_layer
def test_its_inputs_are_left_as_they_came(name, seed, numbers):
    tensors = (*random_qkv(seed), lens(numbers))
    before = snapshot(tensors)
    make(name, dropout=0.5, dtype=torch.float64)(*tensors)
    assert unchanged(tensors, before)


@every_layer
@every_kind_of_lengths
@pytest.mark.parametrize(("batch", "queries", "keys"), [(0, 3, 7), (2, 0, 7), (2, 3, 0), (2, 3, 1)])
def test_empty_axes_and_a_single_key_are_welcome(name, valid_lens, batch, queries, keys):
    layer = make(name)
    if valid_lens is not None:
        valid_lens = valid_lens[:batch, ...].clamp(max=keys)
        valid_lens = valid_lens[:, :queries] if valid_lens.dim() == 2 else valid_lens
    values = torch.randn(batch, keys, 11)
    output = layer(torch.randn(batch, queries, 5), torch.randn(batch, keys, 5), values, valid_lens)
    assert output.shape == (batch, queries, output_size(name))
    if keys == 0:
        assert (output == 0).all()
    if keys == 1 and valid_lens is None and name != "multi-head":
        assert torch.allclose(output, values.expand_as(output))


@both
def test_attention_weights_are_those_of_the_last_call(name, qkv):
    layer = make(name)
    layer(*qkv)
    layer(*qkv, PER_QUERY)
    scores = layer.score(*qkv[:2])
    expected = oracle.masked_softmax(scores, PER_QUERY)
    assert torch.allclose(layer.attention_weights.double(), expected, atol=1e-6)


@every_layer
def test_attention_weights_are_detached(name, qkv):
    layer = make(name)
    output = layer(qkv[0].requires_grad_(), *qkv[1:])
    assert output.requires_grad
    assert not layer.attention_weights.requires_grad


@every_layer
def test_attention_weights_are_those_before_dropout(name, qkv):
    layer = make(name, dropout=1.0)
    assert (layer(*qkv) == 0).all()  # training: everything is dropped
    assert torch.allclose(layer.attention_weights.sum(-1), torch.ones(()))


@both
def test_dropout_scales_what_it_keeps(name, qkv):
    layer = make(name, dropout=0.5)
    identity = torch.eye(7).expand(2, 7, 7)
    dropped = layer(*qkv[:2], identity)  # pooling the identity shows the weights used
    kept = dropped != 0
    assert 0 < kept.sum() < kept.numel()
    assert torch.allclose(dropped[kept], 2 * layer.attention_weights[kept])


@every_layer
def test_in_eval_mode_dropout_changes_nothing(name, qkv):
    assert torch.equal(make(name, dropout=0.9).eval()(*qkv), make(name).eval()(*qkv))


@every_layer
def test_keeping_no_weights_gives_the_same_output(name, qkv):
    output = make(name, keep_weights=False)(*qkv, PER_EXAMPLE)
    assert torch.allclose(output, make(name)(*qkv, PER_EXAMPLE), atol=1e-6)


def assert_weights_are_refused(layer):
    assert not hasattr(layer, "attention_weights")
    with pytest.raises(AttributeError) as caught:
        _ = layer.attention_weights
    assert str(caught.value) == (
        f"attention_weights are not there: this {type(layer).__name__} has kept none; "
        "call it with keep_weights=True first"
    )


@every_layer
def test_attention_weights_before_the_first_call_are_refused(name):
    assert_weights_are_refused(make(name))


@every_layer
def test_attention_weights_that_are_not_kept_are_refused(name, qkv):
    layer = make(name, keep_weights=False)
    layer(*qkv)
    assert_weights_are_refused(layer)


@every_layer
def test_weights_of_an_earlier_call_are_never_shown_for_a_later_one(name, qkv):
    layer = make(name)
    layer(*qkv)
    layer.keep_weights = False
    layer(*qkv)
    assert_weights_are_refused(layer)


def test_another_missing_attribute_is_missed_as_in_any_module():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = make("dot").nonsense


def test_hooks_on_the_last_projection_of_the_additive_score_are_called(qkv):
    layer, seen = make("additive"), []
    layer.w_v.register_forward_hook(lambda *_: seen.append(True))
    layer(*qkv)
    assert seen == [True]


def test_a_score_that_is_singular_at_zero_keeps_finite_gradients():
    class CosineAttention(Attention):
        def score(self, queries, keys):
            directions = keys / keys.norm(dim=-1, keepdim=True)
            return queries @ directions.transpose(-2, -1)

    queries = torch.randn(2, 3, 5, requires_grad=True)
    keys = torch.randn(2, 7, 5)
    CosineAttention()(queries, keys, torch.randn(2, 7, 2), PER_EXAMPLE).sum().backward()
    assert queries.grad.isfinite().all()


def test_attention_weights_are_not_part_of_the_state(qkv):
    layer = make("additive")
    layer(*qkv)
    assert set(layer.state_dict()) == {"W_k.weight", "W_q.weight", "w_v.weight"}


def test_a_score_function_makes_a_layer(qkv):
    queries, keys, values = qkv
    scores = oracle.dot_score(queries[..., :1], keys[..., :1])
    expected = oracle.pool(oracle.masked_softmax(scores, PER_EXAMPLE), values)
    output = FirstPartAttention()(queries, keys, values, PER_EXAMPLE)
    assert torch.allclose(output.double(), expected, atol=1e-5)


def test_a_layer_without_a_score_function_says_so(qkv):
    class Unfinished(Attention):
        pass

    with pytest.raises(NotImplementedError, match=r"Unfinished must define score\(queries, keys\)"):
        Unfinished()(*qkv)


@pytest.mark.parametrize(
    ("wrong", "error", "rule"),
    [
        (
            torch.ones(2, 7, 3),
            ValueError,
            r"scores must have shape .* = \(2, 3, 7\), got \(2, 7, 3\)",
        ),
        (
            torch.ones(1, 3, 7),
            ValueError,
            r"scores must have shape .* = \(2, 3, 7\), got \(1, 3, 7\)",
        ),
        (
            torch.ones(2, 3, 1),
            ValueError,
            r"scores must have shape .* = \(2, 3, 7\), got \(2, 3, 1\)",
        ),
        (torch.ones(3, 7), ValueError, r"scores must have shape .*, got \(3, 7\)"),
        (torch.ones(2, 3, 7).long(), TypeError, r"scores must hold floating-point numbers, got"),
        (None, TypeError, r"scores must be a tensor, got NoneType"),
    ],
)
def test_a_score_function_that_returns_something_else_is_refused(wrong, error, rule, qkv):
    class Wrong(Attention):
        def score(self, queries, keys):  # noqa: ARG002 - it is what a score function gets
            return wrong

    with pytest.raises(error, match=rule):
        Wrong()(*qkv)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU")
@every_layer
def test_a_gpu_is_not_waited_for(name, qkv):
    layer = make(name).cuda()
    inputs = [tensor.cuda() for tensor in qkv]
    valid_lens = PER_EXAMPLE.cuda()
    layer(*inputs, valid_lens)
    torch.cuda.set_sync_debug_mode("error")
    try:
        layer(*inputs, valid_lens)
    finally:
        torch.cuda.set_sync_debug_mode("default")
