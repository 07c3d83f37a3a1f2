import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import additive_score, bilinear_score, dot_score, gaussian_score, scaled_dot_score
from tests import oracle

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 8e-2, torch.float16: 1e-2}


def weight_for(name, size, rng=None):
    """What a score takes beside queries and keys."""
    if name == "bilinear":
        return (torch.randn(size, size, generator=rng),)
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


def test_dot_of_1_2_and_3_4_is_11():
    assert dot_score(row(1, 2), row(3, 4)).item() == 11  # 1·3 + 2·4


def test_scaled_dot_of_four_twos_and_four_threes_is_12():
    assert scaled_dot_score(row(2, 2, 2, 2), row(3, 3, 3, 3)).item() == 12  # 4·2·3 / √4


def test_bilinear_picks_the_entry_between_two_unit_vectors():
    weight = torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.float64)
    # The second row of W met by a key of two parts: 4·1 + 5·0 + 6·2.
    assert bilinear_score(row(0, 1), row(1, 0, 2), weight).item() == 16


def test_additive_of_log_2_and_log_3_is_35_of_37():
    # tanh(log x) = (x² - 1) / (x² + 1), and log 2 + log 3 = log 6: 35 / 37.
    score = additive_score(row(math.log(2)), row(math.log(3)), torch.ones(1).double())
    assert score.item() == pytest.approx(35 / 37, abs=1e-15)


def test_additive_weighs_each_hidden_unit():
    # tanh 0 = 0 leaves only the second unit: 5 · 35/37.
    queries, keys = row(1, math.log(2)), row(-1, math.log(3))
    score = additive_score(queries, keys, torch.tensor([9.0, 5.0]).double())
    assert score.item() == pytest.approx(5 * 35 / 37, abs=1e-14)


def test_gaussian_of_points_3_and_4_apart_is_minus_12_and_a_half():
    assert gaussian_score(row(1, 1), row(4, 5)).item() == -12.5  # -(3² + 4²) / 2


def test_twice_the_width_is_a_quarter_of_the_score():
    assert gaussian_score(row(1, 1), row(4, 5), 2.0).item() == -3.125  # -12.5 / 2²


@every_score
@pytest.mark.parametrize("heads", [(), (5,)])
def test_it_agrees_with_the_oracle(name, heads, device, dtype, rng):
    score, slow = SCORES[name]
    queries = torch.randn(2, *heads, 3, 11, generator=rng).to(dtype)
    keys = torch.randn(2, *heads, 7, 11, generator=rng).to(dtype)
    weight = tuple(w.to(dtype) for w in weight_for(name, 11, rng))
    scores = score(*(tensor.to(device) for tensor in (queries, keys, *weight)))
    assert scores.dtype == dtype
    assert scores.device.type == device.type
    expected = slow(queries, keys, *weight)
    scale = max(1.0, expected.abs().max().item())
    assert torch.allclose(scores.double().cpu(), expected, rtol=0, atol=scale * TOLERANCE[dtype])


def test_bilinear_joins_two_sizes_as_the_oracle_does(rng):
    queries, keys = torch.randn(2, 3, 5, generator=rng), torch.randn(2, 7, 11, generator=rng)
    weight = torch.randn(5, 11, generator=rng)
    expected = oracle.bilinear_score(queries, keys, weight)
    assert torch.allclose(bilinear_score(queries, keys, weight).double(), expected, atol=1e-5)


@pytest.mark.parametrize("width", [0.3, 2, torch.tensor(1.7)])
def test_gaussian_of_any_width_agrees_with_the_oracle(width, qkv):
    queries, keys, _ = qkv
    expected = oracle.gaussian_score(queries, keys, float(width))
    assert torch.allclose(gaussian_score(queries, keys, width).double(), expected, rtol=1e-5)


@every_score
def test_the_score_of_a_pair_does_not_depend_on_the_other_pairs(name, qkv, rng):
    score, _ = SCORES[name]
    queries, keys, _ = (tensor.double() for tensor in qkv)
    weight = tuple(w.double() for w in weight_for(name, 5, rng))
    alone = score(queries[1:, 2:], keys[1:, 4:5], *weight)
    together = score(queries, keys, *weight)[1, 2, 4]
    assert alone.item() == pytest.approx(together.item(), abs=1e-13)


@given(st.floats(-100, 100))
def test_dot_is_linear_in_the_query(factor):
    queries, keys = row(1.5, -2, 3), row(0.5, 4, -1)
    expected = factor * dot_score(queries, keys).item()
    assert dot_score(factor * queries, keys).item() == pytest.approx(expected, abs=1e-11)


@given(st.floats(-100, 100))
def test_gaussian_is_unchanged_when_everything_moves(shift):
    queries, keys = row(1.5, -2, 3), row(0.5, 4, -1)
    moved = gaussian_score(queries + shift, keys + shift).item()
    assert moved == pytest.approx(gaussian_score(queries, keys).item(), abs=1e-9)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_additive_never_exceeds_the_sum_of_its_weights(query, key):
    weight = torch.tensor([2.0, -3.0]).double()
    assert abs(additive_score(row(query, query), row(key, key), weight).item()) <= 5


def test_additive_looks_at_the_query_and_the_key_together(rng):
    # Without tanh the query's part would be the same for every key.
    keys = torch.randn(1, 7, 5, generator=rng)
    weight = torch.ones(5)
    first = additive_score(torch.zeros(1, 1, 5), keys, weight)
    second = additive_score(torch.ones(1, 1, 5), keys, weight)
    difference = second - first
    assert difference.max() - difference.min() > 0.1


def test_bilinear_with_the_identity_is_dot(qkv):
    queries, keys, _ = qkv
    same = bilinear_score(queries, keys, torch.eye(5))
    assert torch.allclose(same, dot_score(queries, keys), atol=1e-6)


def test_scaled_dot_in_half_precision_does_not_overflow_on_the_way():
    # 64 · 40 · 40 = 102400 is more than float16 holds; divided by √64 it is 12800.
    same = torch.full((1, 1, 64), 40.0, dtype=torch.float16)
    assert scaled_dot_score(same, same).item() == 12800


def test_a_learned_width_gets_its_gradient():
    width = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    gaussian_score(row(1, 1), row(4, 5), width).sum().backward()
    assert width.grad.item() == pytest.approx(3.125)  # 25 / width³


@every_score
@pytest.mark.parametrize(
    ("queries", "keys"), [((0, 3), (0, 7)), ((2, 0), (2, 7)), ((2, 3), (2, 0)), ((2, 3), (2, 1))]
)
def test_empty_axes_give_empty_scores(name, queries, keys):
    score, _ = SCORES[name]
    scores = score(torch.ones(*queries, 5), torch.ones(*keys, 5), *weight_for(name, 5))
    assert scores.shape == (*queries, keys[1])
    assert scores.isfinite().all()


@every_score
@pytest.mark.parametrize("heads", [(), (2,)])
def test_its_gradient_is_right(name, heads, rng):
    score, _ = SCORES[name]

    def random(*shape):
        return torch.randn(shape, generator=rng, dtype=torch.float64, requires_grad=True)

    inputs = [random(2, *heads, 3, 5), random(2, *heads, 2, 5)]
    inputs += [random(*w.shape) for w in weight_for(name, 5)]
    assert torch.autograd.gradcheck(score, inputs)


@every_score
@pytest.mark.parametrize("change", ["queries", "keys"])
class TestRefusals:
    """Each kind of bad input, once as queries and once as keys."""

    def refuse(self, name, change, wrong, other, error):
        score, _ = SCORES[name]
        queries, keys = (wrong, other) if change == "queries" else (other, wrong)
        with pytest.raises(error) as caught:
            score(queries, keys, *weight_for(name, 5))
        return str(caught.value)

    @pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 7, 2, 5)])
    def test_another_rank(self, name, change, shape):
        said = self.refuse(name, change, torch.ones(shape), torch.ones(2, 3, 5), ValueError)
        assert said.startswith(f"{change} must have shape (batch, [heads,] num_")
        assert said.endswith(f"got {shape}")

    @pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64], ids=str)
    def test_another_kind_of_number(self, name, change, dtype):
        wrong = torch.ones(2, 3, 5, dtype=dtype)
        said = self.refuse(name, change, wrong, torch.ones(2, 3, 5), TypeError)
        assert said == f"{change} must hold floating-point numbers, got {dtype}"

    @pytest.mark.parametrize("wrong", [None, 1.0, [[[1.0]]]])
    def test_no_tensor(self, name, change, wrong):
        said = self.refuse(name, change, wrong, torch.ones(2, 3, 5), TypeError)
        assert said == f"{change} must be a tensor, got {type(wrong).__name__}"

    def test_mixed_dtypes(self, name, change):
        wrong = torch.ones(2, 3, 5, dtype=torch.float64)
        said = self.refuse(name, change, wrong, torch.ones(2, 3, 5), TypeError)
        assert said.startswith("keys must have the dtype of queries, torch.float")

    @pytest.mark.parametrize(
        ("wrong", "other"),
        [
            ((1, 3, 5), (2, 3, 5)),
            ((3, 3, 5), (2, 3, 5)),
            ((2, 1, 3, 5), (2, 7, 3, 5)),
            ((1, 7, 3, 5), (2, 7, 3, 5)),
            ((2, 3, 5), (2, 7, 3, 5)),
        ],
    )
    def test_another_batch_or_number_of_heads(self, name, change, wrong, other):
        said = self.refuse(name, change, torch.ones(wrong), torch.ones(other), ValueError)
        assert said.startswith("keys must have the batch and heads of queries, (")
        assert str(wrong[:-2]) in said
        assert str(other[:-2]) in said


@pytest.mark.parametrize("score", [dot_score, scaled_dot_score, gaussian_score])
def test_keys_of_another_size_are_refused(score):
    rule = r"keys must have query_size=5 numbers in the last axis, got 1 in shape \(2, 7, 1\)"
    with pytest.raises(ValueError, match=rule):
        score(torch.ones(2, 3, 5), torch.ones(2, 7, 1))


def test_additive_refuses_queries_and_keys_that_were_not_projected_alike():
    rule = r"keys must have num_hiddens=5 numbers in the last axis, got 1 in shape"
    with pytest.raises(ValueError, match=rule):
        additive_score(torch.ones(2, 3, 5), torch.ones(2, 7, 1), torch.ones(5))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 5), (1, 5)])
def test_additive_refuses_a_weight_of_another_shape(shape):
    with pytest.raises(ValueError, match="weight must have shape") as caught:
        additive_score(torch.ones(2, 3, 5), torch.ones(2, 7, 5), torch.ones(shape))
    assert str(caught.value) == f"weight must have shape (num_hiddens,) = (5,), got {shape}"


@pytest.mark.parametrize("shape", [(), (5,), (11, 5), (5, 1), (2, 5, 11)])
def test_bilinear_refuses_a_weight_of_another_shape(shape):
    with pytest.raises(ValueError, match="weight must have shape") as caught:
        bilinear_score(torch.ones(2, 3, 5), torch.ones(2, 7, 11), torch.ones(shape))
    rule = "weight must have shape (query_size, key_size) = (5, 11)"
    assert str(caught.value) == f"{rule}, got {shape}"


@pytest.mark.parametrize("name", ["additive", "bilinear"])
def test_a_weight_of_another_dtype_is_refused(name):
    weight = weight_for(name, 5)[0].double()
    with pytest.raises(
        TypeError, match=r"weight must have the dtype of queries, torch\.float32, got"
    ):
        SCORES[name][0](torch.ones(2, 3, 5), torch.ones(2, 7, 5), weight)


@pytest.mark.parametrize("name", ["additive", "bilinear"])
def test_a_weight_that_is_no_tensor_is_refused(name):
    with pytest.raises(TypeError, match="weight must be a tensor, got list"):
        SCORES[name][0](torch.ones(2, 3, 5), torch.ones(2, 7, 5), [1.0] * 5)


@pytest.mark.parametrize("width", [0, -1.0, 0.0, math.nan, math.inf])
def test_a_width_that_is_not_positive_is_refused(width):
    with pytest.raises(ValueError, match=f"width must be positive and finite, got {width}"):
        gaussian_score(torch.ones(2, 3, 5), torch.ones(2, 7, 5), width)


@pytest.mark.parametrize("width", ["1", None, True, [1.0]])
def test_a_width_that_is_no_number_is_refused(width):
    with pytest.raises(TypeError, match="width must be a number or a tensor, got"):
        gaussian_score(torch.ones(2, 3, 5), torch.ones(2, 7, 5), width)


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 1, 1, 1)])
def test_a_width_of_many_numbers_is_refused(shape):
    with pytest.raises(ValueError, match="width must be one number, got shape"):
        gaussian_score(torch.ones(2, 3, 5), torch.ones(2, 7, 5), torch.ones(shape))


def test_mixed_dtypes_are_refused_on_a_device_without_autocast():
    queries = torch.ones(2, 3, 5, device="meta")
    with pytest.raises(TypeError, match="keys must have the dtype of queries"):
        dot_score(queries, queries.double())
