import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import masked_softmax
from attnbook.selftest import oracle
from tests.cases import PER_EXAMPLE, PER_QUERY, are_unchanged, copy_with_versions, seeds

TOLERANCE = {torch.float64: 1e-14, torch.float32: 1e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
QUERIES, KEYS = 3, 7

every_kind_of_lengths = pytest.mark.parametrize(
    "valid_lens", [None, PER_EXAMPLE, PER_QUERY], ids=["all keys", "per example", "per query"]
)


def random_scores(seed):
    generator = torch.Generator().manual_seed(seed)
    return 10 * torch.randn(2, QUERIES, KEYS, generator=generator, dtype=torch.float64)


def log(*numbers):
    return torch.tensor([[[math.log(number) for number in numbers]]], dtype=torch.float64)


# By hand


def test_scores_log_1_log_2_log_5_give_1_2_and_5_eighths():
    weights = masked_softmax(log(1, 2, 5))
    assert weights.flatten().tolist() == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-15)


# Against the oracle


@st.composite
def calls(draw):
    """Scores of any size, and lengths, order and a mask that may hold together."""
    batch, queries, more = (draw(st.integers(1, 4)) for _ in range(3))
    shape = batch, *draw(st.sampled_from([(), (3,)])), queries, queries + more - 1
    generator = torch.Generator().manual_seed(draw(seeds))
    lens = torch.randint(shape[-1] + 1, (batch, queries), generator=generator)
    small = tuple(draw(st.sampled_from([1, size])) for size in shape[:-1])
    forms = [shape, shape[-2:], (*small, shape[-1])]
    mask = torch.rand(draw(st.sampled_from(forms)), generator=generator) < 0.5
    options = {
        "valid_lens": draw(st.sampled_from([None, lens, lens[:, 0]])),
        "causal": draw(st.booleans()),
        "mask": draw(st.sampled_from([None, mask])),
    }
    return 10 * torch.randn(shape, generator=generator), options


@given(calls())
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_it_agrees_with_the_oracle_and_does_not_change_its_inputs(dtype, call):
    scores, options = call[0].to(dtype), call[1]
    given = [x for x in (scores, options["valid_lens"], options["mask"]) if x is not None]
    before = copy_with_versions(given)
    weights = masked_softmax(scores, **options)
    expected = oracle.masked_softmax(scores, **options)
    assert weights.dtype == dtype
    assert torch.allclose(weights.double(), expected, rtol=0, atol=TOLERANCE[dtype])
    assert not weights[expected == 0].any() or dtype != torch.float64
    assert are_unchanged(given, before)


EXTREMES = ["min", "max", -1e4, 1e4, -6e4, 0.0]


def extreme(which, dtype):
    return getattr(torch.finfo(dtype), which) if isinstance(which, str) else which


@pytest.mark.parametrize("visible", EXTREMES)
@pytest.mark.parametrize("padding", [*EXTREMES, math.inf, math.nan])
def test_padding_gets_exactly_zero_whatever_the_scores(visible, padding, dtype):
    scores = torch.full((2, QUERIES, KEYS), extreme(padding, dtype), dtype=dtype)
    scores[:, :, :4] = extreme(visible, dtype)
    weights = masked_softmax(scores, PER_EXAMPLE)
    assert (weights[0, :, :4] == 0.25).all()
    assert not weights[0, :, 4:].any()
    assert not weights[1].any()


def test_a_visible_infinity_is_used_as_it_is():
    inf = math.inf
    scores = torch.tensor([[0.0, -inf, 0.0], [0.0, inf, 0.0], [-inf, -inf, 0.0]])[None]
    weights = masked_softmax(scores, torch.tensor([2]))[0]
    assert weights[0].tolist() == [1, 0, 0]
    assert weights[1:, :2].isnan().all()
    assert not weights[1:, 2].any()


# Gradients


def test_an_infinite_gradient_at_padding_does_not_flow_back():
    scores = torch.zeros(1, 1, 3, requires_grad=True)
    masked_softmax(scores, torch.tensor([2])).backward(torch.tensor([[[1.0, 0.0, math.inf]]]))
    # Two equal weights of ½: ½·(1 - ½) and ½·(0 - ½).
    assert scores.grad.tolist() == [[[0.25, -0.25, 0.0]]]


@every_kind_of_lengths
def test_gradcheck_and_gradgradcheck_pass(valid_lens):
    scores = random_scores(1).div(10).requires_grad_()
    assert torch.autograd.gradcheck(masked_softmax, (scores, valid_lens))
    assert torch.autograd.gradgradcheck(masked_softmax, (scores, valid_lens))


# Empty axes
