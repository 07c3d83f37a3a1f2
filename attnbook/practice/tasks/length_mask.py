"""Which keys are visible, from lengths."""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths
from attnbook.practice.task import Function, Law, Task


def _rows_match_the_lengths(mask: Tensor, valid_lens: Tensor, _num_keys: int) -> bool:
    return torch.equal(mask.sum(dim=-1).reshape(-1), valid_lens.reshape(-1))


task = Task(
    name="length-mask",
    statement=(
        "Write `length_mask(valid_lens, num_keys)`. `valid_lens` says how many keys, from the "
        "first, may be seen: whole numbers from 0 to `num_keys`, for each example, (batch,), or "
        "for each query, (batch, num_queries). Give a mask of `torch.bool`, where True means "
        "visible: of shape (batch, 1, num_keys) for lengths (batch,), and of shape (batch, "
        "num_queries, num_keys) for lengths (batch, num_queries). A length of 0 hides all keys."
    ),
    starter="def length_mask(valid_lens, num_keys):\n    ...",
    laws=(
        Law("Some row does not have as many visible keys as its length.", _rows_match_the_lengths),
    ),
)


task.case("a length for each example")(lambda: (lengths(4, 2), 5))
task.case("more examples than keys")(lambda: (lengths(1, 2, 1, 2, 1), 3))
task.case("as many examples as queries")(lambda: (lengths([1, 4, 3], [2, 2, 4], [3, 1, 2]), 5))
task.case("a length for each query")(lambda: (lengths([1, 4, 2], [3, 2, 4]), 5))
task.case("a length of all keys")(lambda: (lengths(5, 2), 5))
task.case("a length of 0")(lambda: (lengths([2, 0], [0, 1], [3, 1]), 7))
task.case("one key")(lambda: (lengths(1, 0, 1), 1))
task.case("lengths that are a view of another tensor")(
    lambda: (lengths([1, 4], [2, 3], [3, 1]).T, 5)
)
task.case("300 keys")(lambda: (lengths(257, 299), 300))
task.case("one example, with a length for each query")(lambda: (lengths([1, 2, 3]), 4))
task.case("9 examples and 3,000 keys")(
    lambda: (lengths(2999, 2049, 2047, 1, 3000, 0, 2051, 65, 129), 3000)
)


def per_query(valid_lens: Tensor) -> Tensor:
    """Lengths with an axis for queries, and one for keys."""
    return (valid_lens if valid_lens.dim() == 2 else valid_lens[:, None])[..., None]


@task.solution("it is the book's own.")
def the_package(valid_lens: Tensor, num_keys: int) -> Tensor:
    num_queries = valid_lens.shape[1] if valid_lens.dim() == 2 else 1
    return attnbook.length_mask(valid_lens, (len(valid_lens), num_queries, num_keys))


@task.solution("positions count from 0, so a key is visible if its position is below the length.")
def by_comparing(valid_lens: Tensor, num_keys: int) -> Tensor:
    return torch.arange(num_keys) < per_query(valid_lens)


@task.solution("it writes True into the first keys of each row, as many as its length.")
def row_by_row(valid_lens: Tensor, num_keys: int) -> Tensor:
    rows = valid_lens.reshape(len(valid_lens), -1)
    mask = torch.zeros(*rows.shape, num_keys, dtype=torch.bool)
    for example, numbers in enumerate(rows.tolist()):
        for query, length in enumerate(numbers):
            mask[example, query, :length] = True
    return mask


@task.solution("a 1 marks each row's end; a key is visible while the cumulative sum is still 0.")
def by_counting_ends(valid_lens: Tensor, num_keys: int) -> Tensor:
    ends = one_hot(per_query(valid_lens)[..., 0], num_keys + 1)
    return ends.cumsum(dim=-1)[..., :-1] == 0


@task.test
def test_the_first_keys_are_visible(function: Function) -> None:
    mask = function(torch.tensor([1, 3]), 4)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[[True, False, False, False]], [[True, True, True, False]]]


@task.test
def test_each_query_has_its_own_length(function: Function) -> None:
    mask = function(torch.tensor([[1, 2], [3, 1]]), 3)
    assert mask.int().tolist() == [[[1, 0, 0], [1, 1, 0]], [[1, 1, 1], [1, 0, 0]]]


@task.test
def test_a_length_of_0_hides_all_keys(function: Function) -> None:
    assert not function(torch.tensor([0, 2]), 3)[0].any()


def in_steps(read: Function = per_query, compare: Function = torch.lt) -> Function:
    """Correct code, of which a bug changes one step."""

    def written(valid_lens: Tensor, num_keys: int) -> Tensor:
        mask: Tensor = compare(torch.arange(num_keys), read(valid_lens))
        return mask

    return written


task.bug(
    "the last keys visible",
    "the last keys are visible, as if padding were on the left.",
    symptom="Short sentences are ignored in part, and their padding is read.",
    fix="show the first keys: here sentences are padded at their end.",
)(in_steps(compare=lambda positions, lens: positions >= len(positions) - lens))

task.bug(
    "lengths transposed",
    "lengths are read as (num_queries, batch).",
    symptom="Some queries have the length of a query in another example.",
    origin="Dive into Deep Learning's masked softmax, which takes either shape",
    fix="read lengths as (batch, num_queries): the first axis is the batch.",
)(in_steps(read=lambda lens: per_query(lens.T if lens.dim() == 2 else lens)))

task.bug(
    "the longest length for all",
    "the longest length of the batch is used for every example.",
    symptom="Only the longest example is right; shorter ones still read padding.",
    fix="compare with each length by itself, not with `valid_lens.max()`.",
)(in_steps(read=lambda lens: lens.max().expand_as(per_query(lens))))

task.bug(
    "zero hides nothing",
    "a length of 0 is treated as no length at all, and shows all keys.",
    symptom="An empty example is treated as a full one.",
    fix="treat 0 like any other length: it hides all keys.",
)(in_steps(compare=lambda positions, lens: (positions < lens) | (lens == 0)))

task.bug(
    "ones and zeros",
    "the mask is made of numbers, 1 for visible and 0 for hidden.",
    symptom="Added to scores, the mask hides nothing: visible scores only rise by 1.",
    origin="float masks of 0 and 1 handed where they are added",
    fix="leave the comparison as it is: its result is a mask of True and False.",
)(in_steps(compare=lambda positions, lens: (positions < lens).float()))

task.bug(
    "numbers to be added",
    "the mask is made of numbers to be added to scores, 0 for visible and -inf for hidden.",
    symptom="As a boolean mask, it shows exactly the hidden keys: -inf is True, and 0 is False.",
    fix="return True and False, and leave filling with -inf to the softmax.",
)(in_steps(compare=lambda *both: torch.where(torch.lt(*both), 0.0, -math.inf)))

task.inherit(
    lambda mask: lambda valid_lens, num_keys: mask(by_comparing(valid_lens, num_keys)),
    mistakes.masking,
    without=("mask transposed",),
)
