"""Mask and positions of sequences that are padded on the left."""

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths
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
        "True = visible: the real keys. `positions`, (batch, num_keys), always of `torch.int64`, "
        "counts the real keys 0, 1, 2, … from the first real one; at padding it is 0. A length may "
        "be 0: then all is padding."
    ),
    starter="def left_padding(valid_lens, num_keys):\n    ...",
    outputs=("the mask", "the positions"),
    laws=(Law("Some position is negative; the lowest allowed one is 0.", _none_is_negative),),
)


task.case("sequences of different lengths")(lambda: (lengths(5, 3), 7))
task.case("a sequence without padding")(lambda: (lengths(2, 5, 4), 5))
task.case("as many sequences as keys")(lambda: (lengths(1, 3, 2), 3))
task.case("a sequence that is all padding")(lambda: (lengths(0, 2), 5))
task.case("one key")(lambda: (lengths(1, 0), 1))
task.case("lengths of 32 bits")(lambda: (lengths(2, 4).int(), 5))
task.case("9 sequences, 131 keys")(lambda: (lengths(131, 1, 0, 65, 129, 130, 66, 64, 8), 131))


@task.solution("the book's length mask is made for the lengths of the padding, and then inverted.")
def the_packages_mask_of_the_padding(valid_lens: Tensor, num_keys: int) -> Two:
    num_padding = num_keys - valid_lens
    mask = ~attnbook.length_mask(num_padding, (len(valid_lens), 1, num_keys))
    positions = (torch.arange(num_keys) - num_padding[:, None]).clamp(min=0)
    return mask, positions


@task.solution("it counts the real keys up to each one, and subtracts 1.")
def counted_from_the_mask(valid_lens: Tensor, num_keys: int) -> Two:
    mask = torch.arange(num_keys) >= num_keys - valid_lens[:, None]
    return mask[:, None], (mask.cumsum(dim=1) - 1).masked_fill(~mask, 0)


@task.solution("it writes each row's real part and leaves the rest False and 0.")
def row_by_row(valid_lens: Tensor, num_keys: int) -> Two:
    mask = torch.zeros(len(valid_lens), 1, num_keys, dtype=torch.bool)
    positions = torch.zeros(len(valid_lens), num_keys, dtype=torch.int64)
    for example, length in enumerate(valid_lens.tolist()):
        mask[example, 0, num_keys - length :] = True
        positions[example, num_keys - length :] = torch.arange(length)
    return mask, positions


@task.solution("mask and positions are made for right padding, in reverse, and then flipped.")
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
def test_each_mask_shows_as_many_keys_as_its_length(left_padding: Function) -> None:
    mask, _ = left_padding(torch.tensor([0, 1, 3]), 4)
    assert mask.sum(-1).flatten().tolist() == [0, 1, 3]


def _real(valid_lens: Tensor, num_keys: int) -> Tensor:
    return torch.arange(num_keys) >= num_keys - valid_lens[:, None]


def in_steps(
    real: Function = _real,
    mask: Function = lambda visible: visible,
    count: Function = lambda real: (real.cumsum(1) - 1).masked_fill(~real, 0),
) -> Function:
    """Correct code, of which a bug changes one step."""

    def written(valid_lens: Tensor, num_keys: int) -> Two:
        keys = real(valid_lens, num_keys)
        return mask(keys[:, None]), count(keys)

    return written


task.bug(
    "the first keys are visible",
    "the first keys are visible, as with padding on the right.",
    symptom="The model continues from padding, and writes nonsense for all but the longest text.",
    fix="show the last `valid_lens` keys, those from `num_keys - valid_lens` on.",
)(in_steps(real=lambda lens, num_keys: torch.arange(num_keys) < lens[:, None]))

task.bug(
    "padding counts as positions",
    "positions count from the first key on, padding included.",
    symptom="A text alone and the same text in a batch give different outputs.",
    origin="transformers#29419",
    fix="subtract the number of padded keys, so that the first real one is at 0.",
)(in_steps(count=lambda real: torch.arange(real.shape[1]).repeat(len(real), 1)))

task.bug(
    "real keys keep their place",
    "padding is at 0, but each real key is at its index in the row: the first is not at 0.",
    symptom="A text gives different outputs alone and in a batch, though padding has position 0.",
    origin="transformers#29419",
    fix="subtract the number of padded keys before padding is set to 0.",
)(in_steps(count=lambda real: torch.arange(real.shape[1]) * real))

task.bug(
    "positions begin at 1",
    "positions are cumulative sums of the mask, and the first real key has position 1.",
    symptom="Every text is shifted by one position; the longest does not fit any more.",
    fix="subtract 1 from the cumulative sums: the first real key is at 0.",
)(in_steps(count=lambda real: real.cumsum(1) * real))

task.bug(
    "negative positions at padding",
    "1 is subtracted from the cumulative sums of the mask, and padding is left at -1.",
    symptom="The embedding of positions raises an IndexError.",
    fix="set the positions of padding to 0 after the subtraction.",
)(in_steps(count=lambda real: real.cumsum(1) - 1))

task.bug(
    "one key of padding is visible",
    "one key too many counts as real: the last key of the padding.",
    symptom="A text's output changes a little as soon as a batch pads it.",
    fix="the first real key is the one at `num_keys - valid_lens`.",
)(in_steps(real=lambda lens, num_keys: _real(lens + 1, num_keys)))

task.bug(
    "the first real key is hidden",
    "one key too few counts as real, and the first of each text is hidden.",
    symptom="The first word of each text seems to be ignored.",
    fix="compare with `>=`: the key at `num_keys - valid_lens` is real.",
)(in_steps(real=lambda lens, num_keys: _real(lens - 1, num_keys)))

task.bug(
    "lengths taken for padding",
    "the lengths are used as the number of padded keys.",
    symptom="Short texts show their padding, and long ones lose their beginning.",
    fix="`num_keys - valid_lens` keys are padding, not `valid_lens`.",
)(in_steps(real=lambda lens, num_keys: _real(num_keys - lens, num_keys)))

task.bug(
    "positions count from the end",
    "positions count back from the last key.",
    symptom="The order of the words is reversed: the last one of each text is at position 0.",
    fix="count from the first real key on, not from the last key back.",
)(in_steps(count=lambda real: torch.arange(real.shape[1]).flip(0) * real))

task.inherit(in_steps, mistakes.masking, without=mistakes.OF_ROWS)
