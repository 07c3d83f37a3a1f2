"""A boolean mask as numbers that are added to scores."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, torch.dtype]


def _changes_no_visible_score(added: Tensor, mask: Tensor, _dtype: torch.dtype) -> bool:
    return bool((added[mask] == 0).all())


task = Task(
    name="float-mask",
    statement=(
        "Some code takes a mask of numbers, and *adds* it to the scores before the softmax. Write "
        "`float_mask(mask, dtype)`. `mask` is boolean, of any shape, True = visible. Return a "
        "tensor of its shape and of the type `dtype`, the scores' own: 0 where a key may be seen, "
        "so that its score stays as it is, and -inf where not, so that it weighs exactly 0. A row "
        "that sees nothing is -inf throughout."
    ),
    starter="import math\nimport torch\n\ndef float_mask(mask, dtype):\n    ...",
    laws=(Law("Some visible score would not stay as it is.", _changes_no_visible_score),),
)


@task.case("two queries and three keys")
def _() -> Inputs:
    return torch.tensor([[True, False, True], [False, True, True]]), torch.float32


@task.case("a query that sees all, and one that sees nothing")
def _() -> Inputs:
    return torch.tensor([[True, True, True], [False, False, False]]), torch.float32


@task.case("axes for examples and heads")
def _() -> Inputs:
    return normal(2, 3, 5, 7) > 0, torch.float32


@task.case("one row, for examples of one axis")
def _() -> Inputs:
    return torch.tensor([True, True, False, True, False]), torch.float32


@task.case("a mask that is a view of another tensor")
def _() -> Inputs:
    return torch.ones(5, 5, dtype=torch.bool).triu().T[2:], torch.float32


@task.case("half precision")
def _() -> Inputs:
    return torch.ones(3, 5, dtype=torch.bool).tril(2), torch.float16


@task.case("scores of torch.bfloat16")
def _() -> Inputs:
    return torch.ones(3, 5, dtype=torch.bool).tril(2), torch.bfloat16


@task.case("double precision")
def _() -> Inputs:
    return torch.ones(3, 5, dtype=torch.bool).tril(2), torch.float64


task.case("6 examples, 9 heads, 131 keys")(lambda: (normal(6, 9, 3, 131) > 0, torch.float32))


@task.right("zeros change nothing, and -inf is put wherever the mask is False.")
def zeros_filled(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -math.inf)


@task.right("`torch.where` takes one number where the mask is True and the other elsewhere.")
def one_or_the_other(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.where(mask, 0.0, -math.inf).to(dtype)


@task.right("the logarithm of 1 is 0, and that of 0 is -inf.")
def by_logarithms(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return mask.to(dtype).log()


@task.right("False and True are the places 0 and 1 of a list of two numbers.")
def looked_up(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.tensor([-math.inf, 0.0], dtype=dtype)[mask.long()]


@task.right("it writes -inf into a new tensor, and the caller's mask stays as it is.")
def written_into_zeros(mask: Tensor, dtype: torch.dtype) -> Tensor:
    added = mask.new_zeros(mask.shape, dtype=dtype)
    added[~mask] = float("-inf")
    return added


@task.test
def test_what_is_seen_is_0_and_what_is_not_is_minus_infinity(float_mask: Function) -> None:
    added = float_mask(torch.tensor([[True, False], [True, True]]), torch.float32)
    assert added.tolist() == [[0, -math.inf], [0, 0]]


@task.test
def test_added_to_scores_it_leaves_the_visible_ones_alone(float_mask: Function) -> None:
    added = float_mask(torch.tensor([True, True, False]), torch.float32)
    scores = torch.tensor([-3e4, -3e4, 1000]) + added
    assert scores.softmax(-1).tolist() == [0.5, 0.5, 0]


@task.test
def test_who_sees_nothing_gets_minus_infinity_throughout(float_mask: Function) -> None:
    assert float_mask(torch.tensor([[False, False]]), torch.float32).tolist() == [[-math.inf] * 2]


@task.test
def test_it_has_the_type_of_the_scores(float_mask: Function) -> None:
    for dtype in (torch.float16, torch.float64):
        assert float_mask(torch.tensor([True, False]), dtype).dtype == dtype
