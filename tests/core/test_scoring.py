import math

import pytest
import torch

from attnbook import additive_score, bilinear_score, dot_score, gaussian_score, scaled_dot_score
from attnbook.selftest import oracle

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 8e-2, torch.float16: 1e-2}


def weight_for(name, size, rng=None, key_size=None):
    """What a score takes in addition to queries and keys."""
    if name == "bilinear":
        return (torch.randn(size, key_size or size, generator=rng),)
    return (torch.randn(size, generator=rng),) if name == "additive" else ()


SCORES = {
    "dot": (dot_score, oracle.dot_score),
    "scaled dot": (scaled_dot_score, oracle.scaled_dot_score),
    "bilinear": (bilinear_score, oracle.bilinear_score),
    "additive": (additive_score, oracle.additive_score),
    "gaussian": (gaussian_score, oracle.gaussian_score),
}
every_score = pytest.mark.parametrize("name", SCORES)


def row(*numbers):
    return torch.tensor([[list(numbers)]], dtype=torch.float64)


def test_additive_of_log_2_and_log_3_is_35_of_37():
    # tanh(log x) = (x² - 1) / (x² + 1), and log 2 + log 3 = log 6: 35 / 37.
    score = additive_score(row(math.log(2)), row(math.log(3)), torch.ones(1).double())
    assert score.item() == pytest.approx(35 / 37, abs=1e-15)


def test_gaussian_of_points_3_and_4_apart_is_minus_12_and_a_half():
    assert gaussian_score(row(1, 1), row(4, 5)).item() == -12.5  # -(3² + 4²) / 2


@every_score
@pytest.mark.parametrize("heads", [(), (5,)])
def test_it_agrees_with_the_oracle(name, heads, dtype, rng):
    score, slow = SCORES[name]
    size = 5 if name == "bilinear" else 11
    queries = torch.randn(2, *heads, 3, size, generator=rng).to(dtype)
    keys = torch.randn(2, *heads, 7, 11, generator=rng).to(dtype)
    weight = tuple(w.to(dtype) for w in weight_for(name, size, rng, 11))
    scores = score(queries, keys, *weight)
    assert scores.dtype == dtype
    expected = slow(queries, keys, *weight)
    scale = max(1.0, expected.abs().max().item())
    assert torch.allclose(scores.double(), expected, rtol=0, atol=scale * TOLERANCE[dtype])


def test_scaled_dot_in_half_precision_does_not_overflow():
    # 64 · 40 · 40 = 102400 is more than float16 holds; divided by √64 it is 12800.
    same = torch.full((1, 1, 64), 40.0, dtype=torch.float16)
    assert scaled_dot_score(same, same).item() == 12800


def test_a_learned_width_gets_its_gradient():
    width = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    gaussian_score(row(1, 1), row(4, 5), width).sum().backward()
    assert width.grad.item() == pytest.approx(3.125)  # 25 / width³


@every_score
@pytest.mark.parametrize("heads", [(), (2,)])
def test_its_gradient_is_right(name, heads, rng):
    score, _ = SCORES[name]

    def random(*shape):
        return torch.randn(shape, generator=rng, dtype=torch.float64, requires_grad=True)

    inputs = [random(2, *heads, 3, 5), random(2, *heads, 2, 5)]
    inputs += [random(*w.shape) for w in weight_for(name, 5)]
    assert torch.autograd.gradcheck(score, inputs)


# Refusals

GOOD = torch.ones(2, 3, 5)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *(("additive", shape) for shape in [(), (3,), (5, 5)]),
        *(("bilinear", shape) for shape in [(5,), (11, 5), (2, 5, 11)]),
    ],
)
def test_a_weight_of_another_shape_is_refused(name, shape):
    keys = torch.ones(2, 7, 5 if name == "additive" else 11)
    with pytest.raises(ValueError, match="weight must have shape") as caught:
        SCORES[name][0](GOOD, keys, torch.ones(shape))
    expected = "(num_hiddens,) = (5,)" if name == "additive" else "(query_size, key_size) = (5, 11)"
    assert str(caught.value) == f"weight must have shape {expected}, got {shape}"


@pytest.mark.parametrize(
    ("width", "error", "message"),
    [
        *((w, ValueError, f"be positive and finite, got {w}") for w in [0, math.nan, math.inf]),
        *((w, TypeError, "be a number or a tensor, got") for w in ["1", None, True, [1.0]]),
        *((torch.ones(s), ValueError, "be one number, got") for s in [(1,), (5,), (2, 1, 1, 1)]),
    ],
)
def test_a_width_that_is_no_positive_number_is_refused(width, error, message):
    with pytest.raises(error, match="width must " + message):
        gaussian_score(GOOD, torch.ones(2, 7, 5), width)
