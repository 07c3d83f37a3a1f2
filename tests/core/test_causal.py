"""Causality: whatever the future holds, and however large it is, nothing before it moves."""

import math
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attnbook import AdditiveAttention, DotProductAttention, causal_mask, masked_softmax
from attnbook.fused import blocks, choice, dot
from tests import oracle
from tests.cases import LAYERS, PER_EXAMPLE, WITHOUT_WEIGHTS, make, seeds

pytestmark = [pytest.mark.usefixtures("every_path")]

KEYS = 7
NAMES = [*LAYERS, "older name", "a subclass", "multi-head with bias"]
every_way = pytest.mark.parametrize(
    "name", [*NAMES, *(name + WITHOUT_WEIGHTS for name in (*LAYERS, "multi-head with bias"))]
)
# As many queries as keys, and fewer: these stand at the last positions.
every_number_of_queries = pytest.mark.parametrize("queries", [KEYS, 3, 1])
LENGTHS = {
    "all keys": None,
    "per example": PER_EXAMPLE,
    "per query": torch.tensor([[0, 1, 2, 7, 4, 5, 7], [3, 6, 7, 0, 7, 7, 6]]),
}
every_length = pytest.mark.parametrize("lengths", LENGTHS)
# Rounding may depend on what shares a block, or a kernel's call, with it.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


def inputs_for(num_queries, dtype=torch.float64):
    generator = torch.Generator().manual_seed(7)
    shapes = (num_queries, 5), (KEYS, 5), (KEYS, 11)
    return [torch.randn(2, *shape, generator=generator, dtype=dtype) for shape in shapes]


def lengths_for(lengths, num_queries):
    valid_lens = LENGTHS[lengths]
    if valid_lens is None or valid_lens.dim() == 1:
        return valid_lens
    return valid_lens[:, -num_queries:]


def with_other_future(inputs, past, future):
    """Copies in which everything after the first `past` queries is another."""
    queries, keys, values = (tensor.clone() for tensor in inputs)
    seen = KEYS - queries.shape[-2] + past
    for tensor, start in ((queries, past), (keys, seen), (values, seen)):
        tensor[..., start:, :] = future * torch.randn_like(tensor[..., start:, :]).sign()
    return queries, keys, values


def look(attend, layer, inputs, past, valid_lens):
    """What the first `past` queries can notice: outputs, weights and gradients."""
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    layer.zero_grad()
    torch.manual_seed(11)  # dropout drops the same
    output = attend(*leaves, valid_lens, causal=True)[..., :past, :]
    output.square().sum().backward()
    found = [output.detach(), *(leaf.grad for leaf in (*leaves, *layer.parameters()))]
    if getattr(layer, "keep_weights", False):
        found.append(layer.attention_weights[..., :past, :])
    return found


def assert_the_future_is_not_seen(
    layer, inputs, valid_lens=None, *, future=1e30, tolerance=None, attend=None
):
    """Fail if one number before a position moves, or notices what stands after it."""
    attend = layer if attend is None else attend
    tolerance = TOLERANCE[inputs[0].dtype] if tolerance is None else tolerance
    num_queries = inputs[0].shape[-2]
    for past in sorted({1, num_queries // 2, num_queries - 1}):
        other = with_other_future(inputs, past, future)
        before, after = (look(attend, layer, some, past, valid_lens) for some in (inputs, other))
        seen = KEYS - num_queries + past
        for gradient, start in zip(after[1:4], (past, seen, seen), strict=True):
            assert (gradient[..., start:, :] == 0).all()
        for left, right in zip(before, after, strict=True):
            assert torch.allclose(left, right, rtol=tolerance, atol=tolerance)


@every_way
@pytest.mark.parametrize("queries", [KEYS, 3])
@every_length
@pytest.mark.parametrize(
    ("training", "dropout"),
    [(True, 0.0), (True, 0.5), (False, 0.5)],
    ids=["train", "train with dropout", "eval"],
)
def test_the_future_moves_nothing_before_it(name, queries, lengths, training, dropout):
    layer = make(name, dropout=dropout, dtype=torch.float64).train(training)
    valid_lens = lengths_for(lengths, queries)
    for future in (1.0, 1e30):
        assert_the_future_is_not_seen(layer, inputs_for(queries), valid_lens, future=future)


@every_way
@every_length
def test_in_float32_too(name, lengths):
    # Of 1e30 only one side may be so large: the product of two is infinite.
    layer = make(name)
    inputs = inputs_for(KEYS, torch.float32)
    valid_lens = lengths_for(lengths, KEYS)
    assert_the_future_is_not_seen(layer, inputs, valid_lens, future=1e15)
    for which in (1, 2):
        other = list(inputs)
        other[which] = with_other_future(inputs, 4, 1e30)[which]
        before, after = (look(layer, layer, some, 4, valid_lens) for some in (inputs, other))
        for left, right in zip(before, after, strict=True):
            assert torch.allclose(left, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["dot", "additive", "multi-head", "a subclass"])
def test_with_kept_weights_and_a_future_of_its_size_not_a_bit_moves(name, every_path):
    if every_path != "plain":
        pytest.skip("a block may choose exponentials for the sake of the future")
    layer = make(name, dtype=torch.float64)
    assert_the_future_is_not_seen(layer, inputs_for(KEYS), future=3.0, tolerance=0.0)


@pytest.mark.parametrize("name", ["dot", "dot" + WITHOUT_WEIGHTS])
@every_length
def test_the_largest_numbers_in_the_future_move_nothing(name, lengths, dtype):
    layer = make(name)
    inputs = inputs_for(KEYS, dtype)
    valid_lens = lengths_for(lengths, KEYS)
    largest = torch.finfo(dtype).max
    # A key's product with a query that sees it must not be infinite.
    for which, future in ((1, largest / 64), (2, largest)):
        other = list(inputs)
        other[which] = with_other_future(inputs, 4, future)[which]
        before, after = (look(layer, layer, some, 4, valid_lens) for some in (inputs, other))
        for left, right in zip(before, after, strict=True):
            assert right.isfinite().all()
            assert torch.allclose(left.float(), right.float(), atol=5e-2, rtol=5e-2)


def test_as_many_paths_of_the_dot_product_are_taken_as_are_tested(monkeypatch, every_path):
    taken = set()

    def watched(path):
        real = getattr(dot, path)

        def seen(*arguments, **options):
            taken.add((path, options.get("causal", False)))
            return real(*arguments, **options)

        return seen

    for path in ("_causal", "_sliced", "_masked"):
        monkeypatch.setattr(dot, path, watched(path))
    monkeypatch.setattr(choice, "PRODUCTS_WIDENED", 0)
    layer = make("dot", keep_weights=False)
    for queries in (KEYS, 3):
        for lengths in LENGTHS:
            layer(*inputs_for(queries), lengths_for(lengths, queries), causal=True)
    expected = {("_causal", False), ("_masked", False)}
    assert taken == expected | ({("_sliced", True)} if every_path != "plain" else set())


# Compiled and exported


@pytest.fixture
def _fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


COMPILED = [*LAYERS, *(name + WITHOUT_WEIGHTS for name in LAYERS)]


def future_for(name, huge):
    """Torch's own kernel, where nobody looks at the numbers: its gradients bear no huge score."""
    return 1e3 if name.endswith(WITHOUT_WEIGHTS) and not name.startswith("additive") else huge


@pytest.mark.slow
@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize(
    ("queries", "lengths", "training"), [(KEYS, "all keys", False), (3, "per query", True)]
)
def test_compiled_the_future_moves_nothing_before_it(name, queries, lengths, training):
    layer = make(name, dtype=torch.float64).train(training)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    valid_lens = lengths_for(lengths, queries)
    inputs, future = inputs_for(queries), future_for(name, 1e30)
    assert_the_future_is_not_seen(layer, inputs, valid_lens, future=future, attend=compiled)


@pytest.mark.slow
@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("name", [name for name in COMPILED if name.endswith(WITHOUT_WEIGHTS)])
@pytest.mark.parametrize(("queries", "lengths"), [(KEYS, "all keys"), (3, "per query")])
def test_compiled_a_huge_future_moves_no_output(name, queries, lengths):
    layer = make(name, dtype=torch.float64).eval()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    inputs, valid_lens = inputs_for(queries), lengths_for(lengths, queries)
    for past in range(1, queries):
        other = with_other_future(inputs, past, 1e30)
        before, after = (
            compiled(*some, valid_lens, causal=True)[..., :past, :] for some in (inputs, other)
        )
        assert torch.allclose(before, after, atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="the default compiler needs g++")
@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("name", COMPILED)
def test_by_the_default_compiler_the_future_moves_nothing_before_it(name):
    layer = make(name)
    compiled = torch.compile(layer, fullgraph=True)
    inputs = inputs_for(KEYS, torch.float32)
    future = future_for(name, 1e15)
    assert_the_future_is_not_seen(layer, inputs, future=future, attend=compiled)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize(("queries", "lengths"), [(KEYS, "all keys"), (3, "per query")])
def test_exported_the_future_moves_nothing_before_it(name, queries, lengths):
    layer = make(name, dtype=torch.float64).eval()
    inputs, valid_lens = inputs_for(queries), lengths_for(lengths, queries)
    program = torch.export.export(layer, (*inputs, valid_lens), {"causal": True}).module()
    for past in range(1, queries):
        other = with_other_future(inputs, past, 1e30)
        before, after = (
            program(*some, valid_lens, causal=True)[..., :past, :] for some in (inputs, other)
        )
        assert torch.allclose(before, after, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_an_exported_causal_layer_takes_other_batches_and_positions(name):
    layer = make(name).eval()
    batch, positions = (
        torch.export.Dim("batch", min=2, max=64),
        torch.export.Dim("n", min=2, max=64),
    )
    shapes = (*({0: batch, 1: positions},) * 3, {0: batch}, None)
    program = torch.export.export(
        layer,
        (*inputs_for(KEYS, torch.float32), PER_EXAMPLE),
        {"causal": True},
        dynamic_shapes=shapes,
    ).module()
    inputs = torch.randn(13, 17, 5), torch.randn(13, 17, 5), torch.randn(13, 17, 11)
    lengths = torch.arange(13)
    expected = layer(*inputs, lengths, causal=True)
    assert torch.allclose(program(*inputs, lengths, causal=True), expected, atol=1e-6)


# A check that cannot fail would prove nothing.


class CausalInTrainingOnly(nn.Module):
    """`is_causal=self.training`, as in PyTorch's own tutorial."""

    def forward(self, queries, keys, values, _=None, *, causal):  # noqa: ARG002 - looks elsewhere
        return scaled_dot_product_attention(queries, keys, values, is_causal=self.training)


class OneTooFar(nn.Module):
    """Sees the next position."""

    def forward(self, queries, keys, values, valid_lens=None, *, causal):  # noqa: ARG002
        visible = torch.ones(KEYS, KEYS, dtype=torch.bool).tril(1)
        return scaled_dot_product_attention(queries, keys, values, attn_mask=visible)


def test_a_layer_that_is_causal_in_training_only_leaks_in_eval_mode():
    layer = CausalInTrainingOnly()
    assert_the_future_is_not_seen(layer.train(), inputs_for(KEYS), future=1.0)
    with pytest.raises(AssertionError):
        assert_the_future_is_not_seen(layer.eval(), inputs_for(KEYS), future=1.0)


def test_a_layer_that_sees_one_position_too_far_leaks():
    with pytest.raises(AssertionError):
        assert_the_future_is_not_seen(OneTooFar(), inputs_for(KEYS), future=1.0)


@pytest.mark.parametrize("name", NAMES)
def test_without_causal_the_check_fails(name):
    layer = make(name, dtype=torch.float64)

    def attend(*arguments, causal):  # noqa: ARG001
        return layer(*arguments)

    with pytest.raises(AssertionError):
        assert_the_future_is_not_seen(layer, inputs_for(KEYS), future=1.0, attend=attend)


# Who sees what


def test_the_last_of_2_queries_sees_3_keys_and_the_other_2():
    assert causal_mask((1, 2, 3)).tolist() == [[[True, True, False], [True, True, True]]]


def test_as_many_queries_as_keys_make_a_triangle():
    assert torch.equal(causal_mask((5, 3, 3))[0], torch.ones(3, 3, dtype=torch.bool).tril())


def test_one_query_sees_every_key():
    assert causal_mask((2, 1, 7)).all()


def test_equal_scores_share_what_is_visible():
    weights = masked_softmax(torch.zeros(1, 3, 3), causal=True)
    thirds = torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert torch.allclose(weights[0], thirds)


def test_with_length_2_the_third_query_sees_what_the_second_does():
    weights = masked_softmax(torch.zeros(1, 3, 3), torch.tensor([2]), causal=True)
    assert weights[0].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]


@pytest.mark.parametrize("shape", [(5, 3, 7), (5, 2, 3, 7)])
def test_a_causal_mask_is_no_larger_than_it_must_be(shape, device):
    mask = causal_mask(shape, device)
    assert mask.shape == (1,) * (len(shape) - 2) + (3, 7)
    assert mask.device.type == device.type
    assert mask.dtype == torch.bool


@pytest.mark.parametrize("shape", [(1, 3, 2), (1, 5, 1, 0)])
def test_more_queries_than_keys_are_refused(shape):
    rule = rf"causal must have a key .* num_queries={shape[-2]} and num_keys={shape[-1]}"
    with pytest.raises(ValueError, match=rule):
        causal_mask(shape)


@pytest.mark.parametrize("shape", [(3, 7), (2, 1, 1, 3, 7)])
def test_a_shape_without_3_or_4_axes_is_refused(shape):
    with pytest.raises(ValueError, match=rf"shape must be .*, got {len(shape)} axes in"):
        causal_mask(shape)


@pytest.mark.parametrize("wrong", [1, 0, None, "yes", torch.tensor(True)])
def test_masked_softmax_refuses_what_is_neither_true_nor_false(wrong):
    with pytest.raises(TypeError, match="causal must be True or False, got"):
        masked_softmax(torch.zeros(1, 3, 3), causal=wrong)


# The oracle

sizes = st.sampled_from([1, 2, 3, 5])


@st.composite
def causal_calls(draw):
    """Inputs of any shape with no more queries than keys, and lengths of either rank."""
    batch, queries, more, size, value_size = (draw(sizes) for _ in range(5))
    keys = queries + more - 1
    heads = draw(st.sampled_from([(), (2,)]))
    dtype = draw(st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
    generator = torch.Generator().manual_seed(draw(seeds))
    inputs = [
        torch.randn(batch, *heads, *shape, generator=generator, dtype=torch.float64).to(dtype)
        for shape in ((queries, size), (keys, size), (keys, value_size))
    ]
    shape = draw(st.sampled_from([None, (batch,), (batch, queries)]))
    if shape is None:
        return inputs, None
    count = math.prod(shape)
    lengths = draw(st.lists(st.integers(0, keys), min_size=count, max_size=count))
    return inputs, torch.tensor(lengths).reshape(shape)


ALLOWED = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 5e-2}


@given(causal_calls(), st.booleans())
def test_the_dot_product_agrees_with_the_oracle(call, keep_weights):
    inputs, valid_lens = call
    layer = DotProductAttention(keep_weights=keep_weights)
    expected = oracle.dot_product_attention(*inputs, valid_lens, causal=True)
    output = layer(*inputs, valid_lens, causal=True)
    assert torch.allclose(output.double(), expected, atol=ALLOWED[output.dtype])


@given(causal_calls(), st.booleans())
def test_the_additive_layer_agrees_with_the_oracle(call, keep_weights):
    inputs, valid_lens = call
    size, dtype = inputs[0].shape[-1], inputs[0].dtype
    layer = AdditiveAttention(size, size, 3, keep_weights=keep_weights).to(dtype)
    expected = oracle.additive_attention(layer.state_dict(), *inputs, valid_lens, causal=True)
    output = layer(*inputs, valid_lens, causal=True)
    projected = layer.attend(
        inputs[0], layer.project_keys(inputs[1]), inputs[2], valid_lens, causal=True
    )
    assert torch.allclose(output.double(), expected, atol=ALLOWED[output.dtype])
    assert torch.equal(projected, output)


@given(causal_calls())
def test_masked_softmax_agrees_with_the_oracle(call):
    (queries, keys, _), valid_lens = call
    scores = 10 * (queries @ keys.transpose(-2, -1))
    expected = oracle.masked_softmax(scores, valid_lens, causal=True)
    weights = masked_softmax(scores, valid_lens, causal=True)
    assert torch.allclose(weights.double(), expected, atol=ALLOWED[scores.dtype])
    assert (weights[expected == 0] == 0).all() or scores.dtype != torch.float64


@pytest.mark.parametrize("name", ["dot", "additive"])
@every_length
@every_number_of_queries
def test_gradients_without_weights_are_those_with_weights(name, lengths, queries):
    found = []
    for keep_weights in (True, False):
        layer = make(name, dtype=torch.float64, keep_weights=keep_weights)
        leaves = [tensor.requires_grad_() for tensor in inputs_for(queries)]
        layer(*leaves, lengths_for(lengths, queries), causal=True).square().sum().backward()
        found.append([leaf.grad for leaf in (*leaves, *layer.parameters())])
    for left, right in zip(*found, strict=True):
        assert torch.allclose(left, right, atol=1e-12)


def test_blocks_skip_the_keys_that_none_of_their_queries_sees(every_path):
    visible = causal_mask((1, KEYS, KEYS))
    queries = torch.randn(1, KEYS, 5)
    found = blocks.blocks(queries, queries, blocks.seen_by(visible, queries, queries))
    seen = [place.seen for place, _ in found]
    expected = [2, 4, 6, 7] if every_path == "fast" else [KEYS]
    assert seen == expected
