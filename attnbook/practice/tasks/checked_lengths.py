"""Lengths that cannot be true are refused."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.example_inputs import lengths
from attnbook.practice.task import Function, Task

Shape = tuple[int, int, int]


task = Task(
    name="checked-lengths",
    statement=(
        "Write `checked_lengths(valid_lens, shape)`. `valid_lens` is a tensor, and `shape` is the "
        "shape of some scores, (batch, num_queries, num_keys). Return `valid_lens` unchanged if it "
        "is valid: it has shape (batch,) or (batch, num_queries), and holds whole numbers from "
        "0 to `num_keys`, both included. Whole numbers of a float type, like 2.0, are accepted. "
        "Raise a ValueError or a TypeError for all else: another shape, lengths below 0 or above "
        "`num_keys`, fractions, NaN, and a mask of True and False."
    ),
    starter="def checked_lengths(valid_lens, shape):\n    ...",
)


_SHAPE = (2, 3, 5)


def _good(name: str, valid_lens: Tensor, shape: Shape = _SHAPE) -> None:
    task.case(name, gradients=False)(lambda: (valid_lens.clone(), shape))


def _wrong(name: str, valid_lens: Tensor, shape: Shape = _SHAPE) -> None:
    task.case(name, refused=True)(lambda: (valid_lens.clone(), shape))


_good("a length for each example", lengths(1, 2))
_good("a length for each query", lengths([1, 2, 3], [3, 1, 2]))
_good("more keys to be seen than there are queries", lengths(4, 2))
_good("a length of 0", lengths(0, 4))
_good("a length of all keys", lengths(4, 5))
_good("whole numbers of a float type", torch.tensor([2.0, 4.0]))
_good("whole numbers of 32 bits", lengths([1, 4, 3], [2, 5, 0]).int())
_good("as many queries as examples and keys", lengths([3, 0, 1], [2, 3, 1], [0, 2, 2]), (3, 3, 3))
_wrong("a length above the number of keys", lengths(7, 1))
_wrong("a length one above the number of keys", lengths([1, 2, 3], [4, 5, 6]))
_wrong("more queries than keys, and a length between", lengths(3, 1), (2, 5, 2))
_wrong("a length below 0", lengths(1, -3))
_wrong("a fraction", torch.tensor([2.5, 1.0]))
_wrong("a length that is NaN", torch.tensor([1.0, torch.nan]))
_wrong("a length that is infinite", torch.tensor([torch.inf, 1.0]))
_wrong("a mask of True and False", torch.tensor([[True, True, False], [True, False, False]]))
_wrong("lengths of shape (num_queries, batch)", lengths([1, 2], [4, 3], [2, 5]))
_wrong("a length for each key", lengths([1, 2, 3, 4, 5], [2, 2, 2, 2, 2]))
_wrong("a length for each query, and no batch", lengths(1, 2, 3))
_wrong("a length for each key of each query", torch.ones(2, 3, 5, dtype=torch.long))
_wrong("one length for all", torch.tensor(3))


def check_kind(valid_lens: Tensor) -> None:
    if valid_lens.dtype == torch.bool:
        raise TypeError("valid_lens must hold whole numbers, got True and False")


def check_shape(valid_lens: Tensor, shape: Shape) -> None:
    if tuple(valid_lens.shape) not in (shape[:1], shape[:2]):
        raise ValueError(f"valid_lens must fit scores of {shape}, got {tuple(valid_lens.shape)}")


def check_range(valid_lens: Tensor, least: int, most: int) -> None:
    if not ((valid_lens >= least) & (valid_lens <= most)).all():
        raise ValueError(f"valid_lens must lie in [{least}, {most}], got {valid_lens}")


def _check_whole(valid_lens: Tensor) -> None:
    if (valid_lens != valid_lens.round()).any():  # NaN is no number's equal, not even its own
        raise ValueError(f"valid_lens must be whole numbers, got {valid_lens}")


def checked(valid_lens: Tensor, shape: Shape, least: int = 0, most: int | None = None) -> Tensor:
    """Follow all rules, for bugs that get the limits wrong."""
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    _check_whole(valid_lens)
    check_range(valid_lens, least, shape[-1] if most is None else most)
    return valid_lens


_good("9 examples of 130 queries, 3,000 keys", lengths(*range(0, 2700, 300)), (9, 130, 3000))
_wrong(
    "9 examples, the last longer than 3,000 keys",
    lengths(*range(0, 2400, 300), 3001),
    (9, 130, 3000),
)
task.case("lengths in a column, one for each example", refused=True)(
    lambda: (torch.tensor([[1], [2]]), (2, 3, 4))
)


@task.solution("it checks one rule after the other; NaN is not equal to its rounded value.")
def rule_by_rule(valid_lens: Tensor, shape: Shape) -> Tensor:
    return checked(valid_lens, shape)


@task.solution("`range` contains whole numbers only, written as 2 or as 2.0.")
def number_by_number(valid_lens: Tensor, shape: Shape) -> Tensor:
    batch, num_queries, num_keys = shape
    if valid_lens.dtype == torch.bool or valid_lens.shape not in ((batch,), (batch, num_queries)):
        raise ValueError("valid_lens must be numbers of shape (batch,) or (batch, num_queries)")
    for length in valid_lens.flatten().tolist():
        if length not in range(num_keys + 1):
            raise ValueError(f"valid_lens must be whole numbers up to {num_keys}, got {length}")
    return valid_lens


@task.solution("only valid lengths stay the same when they are clamped to the limits and rounded.")
def put_right_and_compared(valid_lens: Tensor, shape: Shape) -> Tensor:
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    if not torch.equal(valid_lens, valid_lens.clamp(0, shape[-1]).round()):
        raise ValueError(f"valid_lens must be whole numbers in [0, {shape[-1]}], got {valid_lens}")
    return valid_lens


@task.solution("it lists all possible lengths, and looks for each given one among them.")
def looked_up(valid_lens: Tensor, shape: Shape) -> Tensor:
    if valid_lens.dtype == torch.bool:
        raise TypeError("valid_lens must be lengths, got a mask")
    if valid_lens.dim() not in (1, 2) or list(valid_lens.shape) != list(shape[: valid_lens.dim()]):
        raise ValueError("lengths must have shape (batch,) or (batch, num_queries)")
    possible = torch.arange(shape[-1] + 1, dtype=valid_lens.dtype)
    if not torch.isin(valid_lens, possible).all():
        raise ValueError(f"lengths must be among {possible.tolist()}, got {valid_lens.tolist()}")
    return valid_lens


def _refuses(function: Function, valid_lens: Tensor, shape: Shape) -> bool:
    try:
        function(valid_lens, shape)
    except (ValueError, TypeError):
        return True
    return False


@task.test
def test_possible_lengths_are_returned(function: Function) -> None:
    for valid_lens in (torch.tensor([0, 5]), torch.tensor([2.0, 4.0]), torch.tensor([[3], [1]])):
        assert torch.equal(function(valid_lens, (2, 1, 5)), valid_lens)


@task.test
def test_impossible_lengths_are_refused(function: Function) -> None:
    for wrong in (6, -1, 2.5, torch.nan, torch.inf, True):
        assert _refuses(function, torch.tensor([wrong, wrong]), (2, 3, 5)), wrong


@task.test
def test_lengths_of_another_shape_are_refused(function: Function) -> None:
    assert _refuses(function, torch.ones(3, 2), (2, 3, 5))
    assert _refuses(function, torch.ones(3), (2, 3, 5))


@task.bug(
    symptom="A length of 7 for 4 keys is accepted, and nobody notices that 3 keys are missing.",
    origin="Dive into Deep Learning's masked softmax",
    fix="refuse lengths above `num_keys`, the last number of `shape`.",
)
def too_long_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths above the number of keys are accepted."""
    return checked(valid_lens, shape, most=1000)


@task.bug(
    symptom="A length of -3 is accepted, and its example has no visible key.",
    origin="Dive into Deep Learning's masked softmax",
    fix="refuse lengths below 0.",
)
def negative_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths below 0 are accepted."""
    return checked(valid_lens, shape, least=-1000)


@task.bug(
    symptom="A length of 2.5 is accepted, and makes 3 keys visible.",
    origin="Dive into Deep Learning's masked softmax",
    fix="compare with what `round` gives: a whole number stays as it is.",
)
def fractions_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """numbers that are not whole are accepted."""
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    check_range(valid_lens, 0, shape[-1])
    return valid_lens


@task.bug(
    symptom="A length that a division made NaN is accepted, and its example has no visible key.",
    fix="raise if `not (valid_lens >= 0).all()`: with NaN, both `>=` and `<` are false.",
)
def nan_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a length of NaN is accepted: it is neither below 0 nor above the number of keys."""
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    if (valid_lens < 0).any() or (valid_lens > shape[-1]).any() or (valid_lens % 1 > 0).any():
        raise ValueError("valid_lens must be whole numbers in [0, num_keys]")
    return valid_lens


@task.bug(
    symptom="A mask passed as lengths is accepted; each query attends to one key or none.",
    fix="refuse `torch.bool`: to torch, True is 1 and False is 0.",
)
def masks_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a mask of True and False is accepted, as if it were lengths of 1 and 0."""
    checked(valid_lens + 0, shape)
    return valid_lens


@task.bug(
    symptom="For 2 examples of 3 queries, shape (3, 2) is accepted, and the wrong keys are hidden.",
    origin="Dive into Deep Learning's masked softmax",
    fix="compare the whole shape: a transposed tensor has the same number of elements.",
)
def transposed_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a shape of (3, 2) is accepted for (2, 3), because lengths are only counted."""
    batch, num_queries, _ = shape
    if valid_lens.numel() not in (batch, batch * num_queries):
        raise ValueError("valid_lens must hold one length for each example, or for each query")
    checked(valid_lens.flatten(), (valid_lens.numel(), *shape[1:]))
    return valid_lens


@task.bug(
    symptom="A batch with an empty example stops the training.",
    fix="accept 0: an example may have no visible key.",
)
def zero_refused(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a length of 0 is refused."""
    return checked(valid_lens, shape, least=1)


@task.bug(
    symptom="A batch without any padding is refused.",
    fix="accept `num_keys` itself: a length is a count, not a position.",
)
def all_keys_refused(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a length of all keys is refused, as if it were a position."""
    return checked(valid_lens, shape, most=shape[-1] - 1)


@task.bug(
    symptom="Lengths computed by a division, like 2.0, are refused.",
    fix="check the numbers, not the type: 2.0 is a whole number.",
)
def floats_refused(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths of a float type are refused, even if they are whole numbers."""
    if valid_lens.is_floating_point():
        raise TypeError("valid_lens must be of an integer type")
    return checked(valid_lens, shape)


@task.bug(
    symptom="It works in self-attention, and fails where one sequence attends to another.",
    fix="lengths count keys: compare with the last number of `shape`.",
)
def queries_for_the_limit(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths are compared with the number of queries, where they count keys."""
    return checked(valid_lens, shape, most=shape[1])


@task.bug(
    symptom="Wrong lengths raise no error: other lengths are returned in their place.",
    fix="raise an error: an impossible length shows a bug in the code that computed it.",
)
def put_between_the_limits(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths outside the limits are silently clamped, not refused."""
    return checked(valid_lens.clamp(0, shape[-1]), shape)


@task.bug(
    symptom="Wrong lengths are refused on one machine, but not on another, which runs `python -O`.",
    fix="raise a ValueError: `assert` is for tests, and can be switched off.",
)
def asserted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths are checked by `assert`, whose error is an AssertionError."""
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    assert ((valid_lens >= 0) & (valid_lens <= shape[-1]) & (valid_lens % 1 == 0)).all()
    return valid_lens
