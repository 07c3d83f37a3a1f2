"""A boolean mask as numbers that are added to scores."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.example_inputs import normal
from attnbook.practice.task import Function, Law, Task


def _changes_no_visible_score(added: Tensor, mask: Tensor, _dtype: torch.dtype) -> bool:
    return bool((added[mask] == 0).all())


task = Task(
    name="float-mask",
    statement=(
        "Some code takes a mask of numbers, and *adds* it to the scores before the softmax. Write "
        "`float_mask(mask, dtype)`. `mask` is boolean, of any shape, True = visible. Return a "
        "tensor of the same shape and of type `dtype`, the scores' type: 0 where a key is visible, "
        "so that its score stays as it is, and -inf where not, so that it weighs exactly 0. A "
        "fully masked row is all -inf."
    ),
    starter="import math\nimport torch\n\ndef float_mask(mask, dtype):\n    ...",
    laws=(Law("The mask would change the score of some visible key.", _changes_no_visible_score),),
)


task.case("two queries and three keys")(
    lambda: (torch.tensor([[True, False, True], [False, True, True]]), torch.float32)
)
task.case("a query that sees all, and one that sees nothing")(
    lambda: (torch.tensor([[True, True, True], [False, False, False]]), torch.float32)
)
task.case("axes for examples and heads")(lambda: (normal(2, 3, 5, 7) > 0, torch.float32))
task.case("one row, for examples of one axis")(
    lambda: (torch.tensor([True, True, False, True, False]), torch.float32)
)
task.case("a mask that is a view of another tensor")(
    lambda: (torch.ones(5, 5, dtype=torch.bool).triu().T[2:], torch.float32)
)
task.case("half precision")(lambda: (torch.ones(3, 5, dtype=torch.bool).tril(2), torch.float16))
task.case("scores of torch.bfloat16")(
    lambda: (torch.ones(3, 5, dtype=torch.bool).tril(2), torch.bfloat16)
)
task.case("double precision")(lambda: (torch.ones(3, 5, dtype=torch.bool).tril(2), torch.float64))
task.case("6 examples, 9 heads, 131 keys")(lambda: (normal(6, 9, 3, 131) > 0, torch.float32))


@task.solution("zeros change nothing, and -inf is put wherever the mask is False.")
def zeros_filled(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -math.inf)


@task.solution("`torch.where` takes one number where the mask is True and the other elsewhere.")
def one_or_the_other(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.where(mask, 0.0, -math.inf).to(dtype)


@task.solution("the logarithm of 1 is 0, and that of 0 is -inf.")
def by_logarithms(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return mask.to(dtype).log()


@task.solution("False and True are the indices 0 and 1 of a list of two numbers.")
def looked_up(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.tensor([-math.inf, 0.0], dtype=dtype)[mask.long()]


@task.solution("it writes -inf into a new tensor, and the caller's mask stays as it is.")
def written_into_zeros(mask: Tensor, dtype: torch.dtype) -> Tensor:
    added = mask.new_zeros(mask.shape, dtype=dtype)
    added[~mask] = float("-inf")
    return added


@task.test
def test_visible_keys_are_0_and_hidden_ones_minus_infinity(float_mask: Function) -> None:
    added = float_mask(torch.tensor([[True, False], [True, True]]), torch.float32)
    assert added.tolist() == [[0, -math.inf], [0, 0]]


@task.test
def test_added_to_scores_it_does_not_change_the_visible_ones(float_mask: Function) -> None:
    added = float_mask(torch.tensor([True, True, False]), torch.float32)
    scores = torch.tensor([-3e4, -3e4, 1000]) + added
    assert scores.softmax(-1).tolist() == [0.5, 0.5, 0]


@task.test
def test_a_fully_masked_row_is_all_minus_infinity(float_mask: Function) -> None:
    assert float_mask(torch.tensor([[False, False]]), torch.float32).tolist() == [[-math.inf] * 2]


@task.test
def test_it_has_the_type_of_the_scores(float_mask: Function) -> None:
    for dtype in (torch.float16, torch.float64):
        assert float_mask(torch.tensor([True, False]), dtype).dtype == dtype


def _filled(mask: Tensor, dtype: torch.dtype, number: float) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, number)


@task.bug(
    symptom="The mask hides nothing: scores change a little, and padding still has its weight.",
    origin="float masks of 0 and 1 handed where they are added",
    fix="begin with zeros, and put -inf where the mask is False.",
)
def ones_and_zeros(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """the mask becomes 1 and 0, which are added to scores, and hide nothing."""
    return mask.to(dtype)


@task.bug(
    symptom="Padding gets *more* weight than without any mask.",
    origin="libraries whose masks are 1 where something is hidden",
    fix="put -inf, not 1, where a key is hidden.",
)
def ones_where_hidden(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get 1, which raises their scores, and the others 0."""
    return (~mask).to(dtype)


@task.bug(
    symptom="The model attends to padding only, or to the answers that the mask should hide.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    fix="fill where the mask is False: `masked_fill(~mask, …)`.",
)
def visible_keys_filled(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """the mask's True and False are exchanged, and -inf is where a key is visible."""
    return _filled(~mask, dtype, -math.inf)


@task.bug(
    symptom="Everything is NaN from the first step on.",
    origin="a common mistake, after `(1 - mask) * -10000`",
    fix="use `masked_fill` or `torch.where`: 0 times infinity is NaN.",
)
def infinity_times_zero(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """the inverted mask is multiplied by -inf, and 0 times -inf is NaN, where 0 was meant."""
    return (~mask).to(dtype) * -math.inf


@task.bug(
    symptom="Rows with a hidden key are NaN.",
    fix="write `-math.inf`: what is hidden must be below every score.",
)
def infinity_without_its_sign(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get inf, which is above every score, instead of -inf, which is below."""
    return _filled(mask, dtype, math.inf)


@task.bug(
    symptom="Sometimes, where scores are large, padding gets a weight.",
    origin="BERT's own code: `(1 - mask) * -10000`",
    fix="fill with -inf, which no score can make up for.",
)
def minus_ten_thousand(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get -10000, but their scores may be higher than others by more than that."""
    return (~mask).to(dtype) * -10_000


@task.bug(
    symptom="In half precision: value cannot be converted to type c10::Half without overflow.",
    origin="NVIDIA/apex#1105; The Annotated Transformer",
    fix="fill with -inf, which every type can hold.",
)
def minus_a_billion(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get -1e9, which is finite, and which half precision cannot represent."""
    return _filled(mask, dtype, -1e9)


@task.bug(
    symptom="A query without a visible key attends to all keys equally.",
    origin="code that fills with `torch.finfo(dtype).min`, to avoid NaN",
    fix="fill with -inf, and clear fully masked rows after the softmax.",
)
def the_lowest_finite_number(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get the lowest finite number; if all keys are hidden, they share the weight."""
    return _filled(mask, dtype, torch.finfo(dtype).min)


@task.bug(
    symptom="All weights are right, but each visible score is larger by 1.",
    origin="a common mistake: the first half of torch's old `generate_square_subsequent_mask`",
    fix="begin with zeros, not with the mask's own ones.",
)
def ones_left_where_visible(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """the mask becomes 1 and 0, and only the 0 is replaced by -inf: visible keys keep their 1."""
    return mask.to(dtype).masked_fill(~mask, -math.inf)


@task.bug(
    symptom="A query without a visible key gets an average of padding.",
    origin="code that opens such rows, to avoid NaN",
    fix="leave such a row as it is, and clear it after the softmax.",
)
def empty_rows_opened(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """a fully masked row is filled with 0, and attends to everything."""
    return _filled(mask | ~mask.any(-1, keepdim=True), dtype, -math.inf)


@task.bug(
    symptom="Training in half precision fails, or runs in single precision and uses more memory.",
    fix="create it with the requested dtype: `torch.zeros(mask.shape, dtype=dtype)`.",
)
def always_single_precision(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """`dtype` is never used, and the numbers are in single precision."""
    return _filled(mask, torch.float32, -math.inf)
