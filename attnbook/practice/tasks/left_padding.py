"""Mask and positions of sequences that are padded on the left."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.inputs import lengths
from attnbook.practice.task import Function, Law, Task

Two = tuple[Tensor, Tensor]


def _none_is_negative(_mask: Tensor, positions: Tensor, *_: object) -> bool:
    return bool((positions >= 0).all())


task = Task(
    name="left-padding",
    statement=(
        "Sequences of different lengths are padded on the *left*, so that each ends at the last "
        "key. Write `left_padding(valid_lens, num_keys)`; `valid_lens`, (batch,), says how many "
        "keys are real. Return `(mask, positions)`. `mask` is boolean, (batch, 1, num_keys), "
        "True = visible: the real keys. `positions`, (batch, num_keys), of `torch.int64`, counts "
        "the real keys 0, 1, 2, … from the first real one; at padding it is 0. A length may be 0: "
        "then all is padding."
    ),
    starter="def left_padding(valid_lens, num_keys):\n    ...",
    outputs=("the mask", "the positions"),
    laws=(Law("Some position is negative, where the lowest is 0.", _none_is_negative),),
)


@task.case("sequences of different lengths")
def _() -> tuple[Tensor, int]:
    return lengths(5, 3), 7


@task.case("a sequence without padding")
def _() -> tuple[Tensor, int]:
    return lengths(2, 5, 4), 5


@task.case("as many sequences as keys")
def _() -> tuple[Tensor, int]:
    return lengths(1, 3, 2), 3


@task.case("a sequence that is all padding")
def _() -> tuple[Tensor, int]:
    return lengths(0, 2), 5


@task.case("one key")
def _() -> tuple[Tensor, int]:
    return lengths(1, 0), 1


@task.case("lengths of 32 bits")
def _() -> tuple[Tensor, int]:
    return lengths(2, 4).int(), 5


task.case("9 sequences, 131 keys")(lambda: (lengths(131, 1, 0, 65, 129, 130, 66, 64, 8), 131))


@task.right("the padding has lengths, too: what the book's mask shows of it is hidden here.")
def the_packages_mask_of_the_padding(valid_lens: Tensor, num_keys: int) -> Two:
    num_padding = num_keys - valid_lens
    mask = ~attnbook.length_mask(num_padding, (len(valid_lens), 1, num_keys))
    positions = (torch.arange(num_keys) - num_padding[:, None]).clamp(min=0)
    return mask, positions


@task.right("it counts the real keys up to each one, and begins with 0.")
def counted_from_the_mask(valid_lens: Tensor, num_keys: int) -> Two:
    mask = torch.arange(num_keys) >= num_keys - valid_lens[:, None]
    return mask[:, None], (mask.cumsum(dim=1) - 1).masked_fill(~mask, 0)


@task.right("it writes each row's real part and leaves the rest False and 0.")
def row_by_row(valid_lens: Tensor, num_keys: int) -> Two:
    mask = torch.zeros(len(valid_lens), 1, num_keys, dtype=torch.bool)
    positions = torch.zeros(len(valid_lens), num_keys, dtype=torch.int64)
    for example, length in enumerate(valid_lens.tolist()):
        mask[example, 0, num_keys - length :] = True
        positions[example, num_keys - length :] = torch.arange(length)
    return mask, positions


@task.right("padded on the right and turned round it is padded on the left.")
def right_padding_turned_round(valid_lens: Tensor, num_keys: int) -> Two:
    from_the_end = torch.arange(num_keys).expand(len(valid_lens), -1)
    real = from_the_end < valid_lens.unsqueeze(1)
    positions = torch.where(real, valid_lens.unsqueeze(1) - 1 - from_the_end, 0)
    return real.flip(1).unsqueeze(1), positions.flip(1)


@task.test
def test_two_real_keys_of_five_are_the_last_two(left_padding: Function) -> None:
    mask, positions = left_padding(torch.tensor([2]), 5)
    assert mask.tolist() == [[[False, False, False, True, True]]]
    assert positions.tolist() == [[0, 0, 0, 0, 1]]


@task.test
def test_three_real_keys_are_at_0_1_and_2_behind_any_padding(left_padding: Function) -> None:
    for num_keys in (3, 5, 8):
        _, positions = left_padding(torch.tensor([3]), num_keys)
        assert positions[0, -3:].tolist() == [0, 1, 2]


@task.test
def test_each_mask_shows_as_many_keys_as_its_length_says(left_padding: Function) -> None:
    mask, _ = left_padding(torch.tensor([0, 1, 3]), 4)
    assert mask.sum(-1).flatten().tolist() == [0, 1, 3]


@task.test
def test_padding_is_at_position_0(left_padding: Function) -> None:
    _, positions = left_padding(torch.tensor([1, 0]), 3)
    assert positions.tolist() == [[0, 0, 0], [0, 0, 0]]
