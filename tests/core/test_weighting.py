import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import masked_softmax
from tests import oracle

TOLERANCE = {torch.float64: 1e-14, torch.float32: 1e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
SIZES = (2, 3, 7)

every_kind_of_lengths = pytest.mark.parametrize(
    "valid_lens",
    [None, torch.tensor([4, 0]), torch.tensor([[0, 1, 2], [3, 6, 7]])],
    ids=["all keys", "per example", "per query"],
)

seeds = st.integers(0, 2**16)
# Each query's length, from none to all seven keys.
lengths_per_query = st.lists(st.integers(0, 7), min_size=6, max_size=6)


def lens(numbers):
    return torch.tensor(numbers).reshape(2, 3)


def random_scores(seed, *sizes):
    generator = torch.Generator().manual_seed(seed)
    return 10 * torch.randn(sizes or SIZES, generator=generator, dtype=torch.float64)


def log(*numbers):
    return torch.tensor([[[math.log(number) for number in numbers]]], dtype=torch.float64)


def test_scores_log_1_log_2_log_5_give_1_2_and_5_eighths():
    weights = masked_softmax(log(1, 2, 5))
    assert weights.flatten().tolist() == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-15)


def test_with_length_2_the_same_scores_give_1_and_2_thirds():
    weights = masked_softmax(log(1, 2, 5), torch.tensor([2]))
    assert weights.flatten().tolist() == pytest.approx([1 / 3, 2 / 3, 0], abs=1e-15)
    assert weights[0, 0, 2] == 0


def test_two_equal_scores_share_the_weight():
    assert masked_softmax(torch.zeros(1, 1, 3), torch.tensor([2])).tolist() == [[[0.5, 0.5, 0]]]


def test_a_length_of_zero_gives_weights_of_zero():
    assert masked_softmax(log(1, 2, 5), torch.tensor([0])).tolist() == [[[0, 0, 0]]]


def test_each_query_has_its_own_length():
    scores = log(1, 2, 5).expand(1, 3, 3)
    weights = masked_softmax(scores, torch.tensor([[1, 3, 0]]))
    expected = torch.tensor([[1, 0, 0], [1 / 8, 2 / 8, 5 / 8], [0, 0, 0]], dtype=torch.float64)
    assert torch.allclose(weights[0], expected, atol=1e-15)


def test_lengths_of_examples_follow_the_batch_and_not_the_heads():
    weights = masked_softmax(torch.zeros(2, 2, 1, 4), torch.tensor([1, 2]))
    assert weights[0].tolist() == [[[1, 0, 0, 0]]] * 2
    assert weights[1].tolist() == [[[0.5, 0.5, 0, 0]]] * 2


@pytest.mark.parametrize("heads", [(), (5,)])
@every_kind_of_lengths
def test_it_agrees_with_the_oracle(heads, valid_lens, device, dtype, rng):
    scores = 5 * torch.randn(2, *heads, 3, 7, generator=rng)
    scores = scores.to(dtype)
    on_device = None if valid_lens is None else valid_lens.to(device)
    weights = masked_softmax(scores.to(device), on_device)
    assert weights.dtype == dtype
    assert weights.device.type == device.type
    expected = oracle.masked_softmax(scores, valid_lens)
    assert torch.allclose(weights.double().cpu(), expected, rtol=0, atol=TOLERANCE[dtype])
    assert (weights.cpu()[expected == 0] == 0).all()


def test_lengths_on_the_cpu_serve_scores_on_any_device(device):
    weights = masked_softmax(torch.zeros(2, 1, 4, device=device), torch.tensor([1, 2]))
    assert weights.cpu().tolist() == [[[1, 0, 0, 0]], [[0.5, 0.5, 0, 0]]]


EXTREMES = ["min", "max", -1e4, 1e4, -6e4, 0.0]


def extreme(which, dtype):
    return getattr(torch.finfo(dtype), which) if isinstance(which, str) else which


@pytest.mark.parametrize("visible", EXTREMES)
@pytest.mark.parametrize("padding", [*EXTREMES, math.inf, -math.inf, math.nan])
def test_padding_gets_exactly_zero_whatever_the_scores(visible, padding, dtype, device):
    scores = torch.full((2, 3, 7), extreme(padding, dtype), dtype=dtype, device=device)
    scores[:, :, :4] = extreme(visible, dtype)
    weights = masked_softmax(scores, torch.tensor([4, 0], device=device))
    assert (weights[0, :, :4] == 0.25).all()
    assert (weights[0, :, 4:] == 0).all()
    assert (weights[1] == 0).all()


def test_the_whole_range_of_scores_in_one_row_is_no_overflow(dtype):
    largest = torch.finfo(dtype).max
    scores = torch.tensor([[[-largest, largest, 0.0, largest]]], dtype=dtype)
    assert masked_softmax(scores, torch.tensor([3])).tolist() == [[[0, 1, 0, 0]]]


@pytest.mark.parametrize("which", ["min", "max"])
def test_gradients_stay_finite_for_empty_rows_and_extreme_scores(which, dtype):
    scores = torch.full((2, 3, 7), extreme(which, dtype), dtype=dtype).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        weights = masked_softmax(scores, torch.tensor([[0, 1, 3], [7, 0, 6]]))
        (weights * torch.arange(7)).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[0, 0] == 0).all()


def test_an_infinite_gradient_at_padding_does_not_flow_back():
    scores = torch.zeros(1, 1, 3, requires_grad=True)
    masked_softmax(scores, torch.tensor([2])).backward(torch.tensor([[[1.0, 0.0, math.inf]]]))
    # Two equal weights of ½: ½·(1 - ½) and ½·(0 - ½).
    assert scores.grad.tolist() == [[[0.25, -0.25, 0.0]]]


def test_its_gradient_is_the_jacobian_of_the_softmax():
    scores = log(1, 2, 5)
    jacobian = torch.autograd.functional.jacobian(masked_softmax, scores).reshape(3, 3)
    w = torch.tensor([1 / 8, 2 / 8, 5 / 8], dtype=torch.float64)
    assert torch.allclose(jacobian, torch.diag(w) - torch.outer(w, w), atol=1e-15)


def test_padding_has_neither_a_row_nor_a_column_in_the_jacobian():
    def weigh(scores):
        return masked_softmax(scores, torch.tensor([2]))

    jacobian = torch.autograd.functional.jacobian(weigh, log(1, 2, 5)).reshape(3, 3)
    # w = 1/3, 2/3: 1/3 - 1/9 = 2/9 on the diagonal, -2/9 beside it.
    expected = torch.tensor([[2, -2, 0], [-2, 2, 0], [0, 0, 0]], dtype=torch.float64) / 9
    assert torch.allclose(jacobian, expected, atol=1e-15)


@every_kind_of_lengths
def test_gradcheck_and_gradgradcheck_pass(valid_lens):
    scores = random_scores(1).div(10).requires_grad_()
    assert torch.autograd.gradcheck(masked_softmax, (scores, valid_lens))
    assert torch.autograd.gradgradcheck(masked_softmax, (scores, valid_lens))


@given(seeds, lengths_per_query)
def test_rows_sum_to_one_or_to_zero(seed, numbers):
    weights = masked_softmax(random_scores(seed), lens(numbers))
    expected = (lens(numbers) > 0).double()
    assert torch.allclose(weights.sum(-1), expected, atol=1e-14)
    assert ((weights >= 0) & (weights <= 1)).all()


@given(seeds, lengths_per_query, st.floats(allow_nan=True, allow_infinity=True))
def test_padding_never_changes_the_weights(seed, numbers, junk):
    scores, valid_lens = random_scores(seed), lens(numbers)
    padding = torch.arange(7) >= valid_lens[..., None]
    clean = masked_softmax(scores.masked_fill(padding, 0.0), valid_lens)
    assert torch.equal(masked_softmax(scores.masked_fill(padding, junk), valid_lens), clean)


@pytest.mark.usefixtures("every_path")
def test_a_visible_infinity_is_taken_at_its_word():
    inf = math.inf
    scores = torch.tensor([[0.0, -inf, 0.0], [0.0, inf, 0.0], [-inf, -inf, 0.0]])[None]
    weights = masked_softmax(scores, torch.tensor([2]))[0]
    assert weights[0].tolist() == [1, 0, 0]
    assert weights[1:, :2].isnan().all()
    assert (weights[1:, 2] == 0).all()


@given(seeds, lengths_per_query, st.floats(-1e3, 1e3))
def test_adding_a_constant_to_a_row_changes_nothing(seed, numbers, constant):
    scores = random_scores(seed)
    weights = masked_softmax(scores, lens(numbers))
    moved = scores.clone()
    moved[1, 2] += constant
    assert torch.allclose(masked_softmax(moved, lens(numbers)), weights, atol=1e-11)


@given(seeds, st.permutations(range(7)))
def test_permuting_keys_permutes_the_weights(seed, order):
    scores = random_scores(seed)
    assert torch.allclose(
        masked_softmax(scores[..., order]), masked_softmax(scores)[..., order], atol=1e-15
    )


@given(seeds, st.lists(st.integers(0, 7), min_size=2, max_size=2))
def test_examples_are_independent(seed, numbers):
    scores, valid_lens = random_scores(seed), torch.tensor(numbers)
    together = masked_softmax(scores, valid_lens)
    for example in (0, 1):
        one = slice(example, example + 1)
        assert torch.equal(masked_softmax(scores[one], valid_lens[one]), together[one])


@given(seeds, lengths_per_query)
def test_a_length_for_every_query_is_a_length_for_the_example(seed, numbers):
    scores, valid_lens = random_scores(seed), torch.tensor(numbers[:2])
    repeated = valid_lens[:, None].expand(2, 3)
    assert torch.equal(masked_softmax(scores, repeated), masked_softmax(scores, valid_lens))


@given(seeds, lengths_per_query, st.booleans())
def test_heads_folded_into_the_batch_get_the_same_weights(seed, numbers, per_query):
    scores = random_scores(seed, 2, 5, 3, 7)
    valid_lens = lens(numbers) if per_query else torch.tensor(numbers[:2])
    folded = masked_softmax(scores.flatten(0, 1), valid_lens.repeat_interleave(5, dim=0))
    assert torch.equal(folded.reshape(2, 5, 3, 7), masked_softmax(scores, valid_lens))


@given(seeds, lengths_per_query)
def test_its_inputs_are_left_as_they_came(seed, numbers):
    scores, valid_lens = random_scores(seed), lens(numbers)
    before = scores.clone(), valid_lens.clone()
    masked_softmax(scores, valid_lens)
    assert torch.equal(scores, before[0])
    assert torch.equal(valid_lens, before[1])
    assert scores._version == valid_lens._version == 0


def test_no_lengths_mean_all_keys(rng):
    scores = torch.randn(2, 3, 7, generator=rng)
    everything = torch.tensor([7, 7])
    assert torch.equal(masked_softmax(scores), masked_softmax(scores, everything))


@pytest.mark.parametrize("shape", [(0, 3, 7), (2, 0, 7), (2, 3, 0), (0, 5, 3, 7), (2, 5, 3, 0)])
@pytest.mark.parametrize("kind", ["none", "example", "query"])
def test_empty_axes_give_empty_weights(shape, kind):
    sizes = {"none": None, "example": shape[:1], "query": (shape[0], shape[-2])}[kind]
    valid_lens = None if sizes is None else torch.zeros(sizes, dtype=torch.long)
    assert masked_softmax(torch.zeros(shape), valid_lens).shape == shape


def test_one_key_gets_all_the_weight():
    assert masked_softmax(torch.tensor([[[-99.0]]]), torch.tensor([1])).item() == 1


@pytest.mark.parametrize("shape", [(), (7,), (3, 7), (2, 5, 3, 7, 1)])
def test_scores_of_another_rank_are_refused(shape):
    with pytest.raises(ValueError, match="scores must have shape") as caught:
        masked_softmax(torch.zeros(shape))
    expected = f"scores must have shape (batch, [heads,] num_queries, num_keys), got {shape}"
    assert str(caught.value) == expected


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64], ids=str)
def test_scores_that_are_no_floats_are_refused(dtype):
    with pytest.raises(TypeError, match=f"scores must hold floating-point numbers, got {dtype}"):
        masked_softmax(torch.zeros(2, 3, 7, dtype=dtype))


def test_scores_that_are_no_tensor_are_refused():
    with pytest.raises(TypeError, match="scores must be a tensor, got list"):
        masked_softmax([[[0.0]]])


@pytest.mark.parametrize("wrong", [torch.tensor([8, 1]), torch.tensor([True, False]), [2, 3]])
def test_refused_lengths_leave_the_scores_alone(wrong):
    scores = torch.zeros(2, 3, 7)
    with pytest.raises((TypeError, ValueError), match="valid_lens must"):
        masked_softmax(scores, wrong)
    assert scores._version == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU")
def test_a_gpu_is_not_waited_for():
    scores = torch.zeros(2, 3, 7, device="cuda")
    valid_lens = torch.tensor([4, 0], device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        weights = masked_softmax(scores, valid_lens)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(weights.cpu(), masked_softmax(scores.cpu(), valid_lens.cpu()))
