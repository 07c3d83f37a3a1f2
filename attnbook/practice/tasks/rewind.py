"""Take back the last tokens of each text in a cache, as after a rejected draft."""

import torch
from torch import Tensor

from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.reference_steps import slot_numbers
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, Tensor, Tensor]
Rows = list[list[int]]


def _nothing_becomes_real(now: Tensor, _positions: Tensor, valid: Tensor, _counts: Tensor) -> bool:
    return not (now & ~valid).any()


task = Task(
    name="rewind",
    statement=(
        "A small model drafts tokens, and a large one rejects the last few of each text. Write "
        "`rewind(positions, valid, counts)`. `positions` and `valid` have shape (batch, "
        "num_slots): where each stored token is in its text, and True for a real token, False for "
        "a slot that holds padding or nothing, whose position means nothing. `counts`, (batch,), "
        "is how many of its last tokens each text rejects: from 0 to all of its real ones. Return "
        "the new `valid`, a new boolean tensor: also False for the `counts[i]` real tokens of text "
        "i with the highest positions. Slots are in any order. The positions of a text's real "
        "tokens all differ, and there may be gaps between them."
    ),
    starter="def rewind(positions, valid, counts):\n    ...",
    outputs=("the new `valid`",),
    laws=(Law("Some slot that held no real token is True now.", _nothing_becomes_real),),
)


def _inputs(positions: Rows, empty: Rows, *counts: int) -> Inputs:
    """Make tensors; `empty` lists the slots of each text that hold no real token."""
    valid = torch.ones(len(positions), len(positions[0]), dtype=torch.bool)
    for text, slots in enumerate(empty):
        valid[text, slots] = False
    return torch.tensor(positions), valid, lengths(*counts)


def _shuffled(num_slots: int, *counts: int) -> Inputs:
    """Slots in random order, of which two in each text are empty and seem to be in the middle."""
    order = normal(len(counts), num_slots).argsort(dim=1)
    first = 4 * torch.arange(len(counts))[:, None]
    valid = order < num_slots - 2
    return torch.where(valid, first + order, num_slots // 2), valid, lengths(*counts)


task.case("slots in order")(
    lambda: _inputs([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7], [0, 1, 2, 3, 4]], [[]] * 3, 2, 1, 4)
)
task.case("slots in any order")(lambda: _shuffled(7, 2, 4, 1))
task.case("left-padded texts")(
    lambda: _inputs([[0, 0, 0, 1, 2, 3], [0, 0, 0, 0, 0, 1]], [[0, 1], [0, 1, 2, 3]], 3, 1)
)
task.case("slots that are not filled yet")(
    lambda: _inputs([[0, 1, 2, 3, 0, 0, 0], [0, 1, 2, 3, 4, 0, 0]], [[4, 5, 6], [5, 6]], 1, 3)
)
task.case("a text that rejects nothing, and one that rejects all")(lambda: _shuffled(7, 0, 5, 2))
task.case("nothing is rejected")(lambda: _shuffled(5, 0, 0))
task.case("a ring of slots")(lambda: _inputs([[8, 9, 5, 6, 7], [12, 8, 9, 10, 11]], [[], []], 3, 2))
task.case("empty slots with any numbers")(
    lambda: _inputs([[9, 2, 0, 3, 1], [-7, 9, 3, 2, 1]], [[0], [0, 1]], 2, 1)
)
task.case("gaps between positions")(
    lambda: _inputs([[0, 1, 7, 8, 9], [6, 12, 0, 15, 1]], [[], []], 4, 3)
)
task.case("one text")(lambda: _shuffled(7, 3))
task.case("a text with empty slots only")(
    lambda: _inputs([[0, 0, 0], [4, 5, 6]], [[0, 1, 2], []], 0, 2)
)
task.case("one slot for each text")(lambda: _inputs([[0], [3]], [[], []], 1, 0))


@task.case("numbers of 32 bits")
def _() -> Inputs:
    positions, valid, counts = _shuffled(5, 1, 3)
    return positions.int(), valid, counts.int()


task.case("3 texts, 131 slots")(lambda: _shuffled(131, 70, 129, 5))


@task.solution("a token stays if at least `counts` real tokens of its text come after it.")
def later_tokens_counted(positions: Tensor, valid: Tensor, counts: Tensor) -> Tensor:
    is_later = positions[:, None] > positions[:, :, None]  # (batch, slots, slots)
    num_later = (is_later & valid[:, None]).sum(dim=-1)
    return valid & (num_later >= counts[:, None])


@task.solution("empty slots are sorted behind all others; then the first `counts` ranks go.")
def ranked(positions: Tensor, valid: Tensor, counts: Tensor) -> Tensor:
    lowest = positions.masked_fill(~valid, torch.iinfo(positions.dtype).min)
    ranks = lowest.argsort(dim=1, descending=True).argsort(dim=1)
    return (ranks >= counts.unsqueeze(1)) & valid


@task.solution("text after text, it sorts the real slots by position, and keeps the first ones.")
def text_by_text(positions: Tensor, valid: Tensor, counts: Tensor) -> Tensor:
    remaining = torch.zeros_like(valid)
    for text, count in enumerate(counts.tolist()):
        slots = valid[text].nonzero().flatten()
        in_order = slots[positions[text, slots].argsort()]
        remaining[text, in_order[: len(slots) - count]] = True
    return remaining


@task.solution("the last token of each text is removed, as often as its count says.")
def one_token_at_a_time(positions: Tensor, valid: Tensor, counts: Tensor) -> Tensor:
    remaining, texts = valid.clone(), torch.arange(len(valid))
    for done in range(int(counts.max())):
        last = positions.masked_fill(~remaining, torch.iinfo(positions.dtype).min).argmax(dim=1)
        remaining[texts, last] &= counts <= done
    return remaining


@task.test
def test_each_text_loses_its_own_last_tokens(rewind: Function) -> None:
    positions = torch.tensor([[9, 4, 0, 2, 3], [5, 9, 8, 7, 6], [0, 1, 2, 3, 9]])
    valid = torch.tensor([[False, True, True, True, True], [True] * 5, [True] * 4 + [False]])
    remaining = rewind(positions, valid.clone(), torch.tensor([2, 1, 3]))
    assert remaining.int().tolist() == [[0, 0, 1, 1, 0], [1, 0, 1, 1, 1], [1, 0, 0, 0, 0]]


@task.test
def test_a_text_may_reject_nothing_or_all(rewind: Function) -> None:
    positions = torch.tensor([[0, 1, 2], [1, 9, 0]])
    valid = torch.tensor([[True, True, True], [True, False, True]])
    remaining = rewind(positions, valid, torch.tensor([0, 2]))
    assert remaining.int().tolist() == [[1, 1, 1], [0, 0, 0]]
    assert valid.int().tolist() == [[1, 1, 1], [1, 0, 1]]  # unchanged


@task.test
def test_tokens_are_counted_and_not_positions(rewind: Function) -> None:
    remaining = rewind(
        torch.tensor([[0, 1, 8]]), torch.ones(1, 3, dtype=torch.bool), torch.tensor([2])
    )
    assert remaining.int().tolist() == [[1, 0, 0]]


def in_steps(
    count: Function = lambda counts, _valid: counts,
    ranked_by: Function = lambda positions, _valid: positions,
    counted: Function = lambda valid: valid,
    rejects: Function = lambda num_later, counts: num_later < counts,
) -> Function:
    """Correct code, of which a bug changes one step; it counts the tokens after each one."""

    def written(positions: Tensor, valid: Tensor, counts: Tensor) -> Tensor:
        order = ranked_by(positions, valid)
        later = (order[:, None] > order[:, :, None]) & counted(valid)[:, None]
        remaining: Tensor = valid & ~rejects(later.sum(dim=-1), count(counts, valid)[:, None])
        return remaining

    return written


_right = in_steps()

task.bug(
    "nothing is rewound",
    "`valid` is returned as it came: rejected tokens stay visible.",
    symptom="With a draft model, the text holds words that the large model has rejected.",
    origin="mlx-lm#1109",
    fix="clear `valid` at the last tokens of each text.",
)(in_steps(count=lambda counts, _valid: torch.zeros_like(counts)))

task.bug(
    "the smallest count for all",
    "all texts are rewound by the smallest count, and others keep rejected tokens.",
    symptom="One text is right; in a batch, words are repeated as soon as counts differ.",
    origin="mlx-vlm#1155, where one offset is moved for the whole batch",
    fix="rewind each text by its own count.",
)(in_steps(count=lambda counts, _valid: counts.min().expand_as(counts)))

task.bug(
    "the largest count for all",
    "all texts are rewound by the largest count, and others lose accepted tokens.",
    symptom="One text is right; in a batch, words are missing as soon as counts differ.",
    fix="rewind each text by its own count, not by the largest.",
)(in_steps(count=lambda counts, _valid: counts.max().expand_as(counts)))

task.bug(
    "the first text's count for all",
    "all texts are rewound by the count of the first one.",
    symptom="The first text of a batch is right, and the others are not.",
    fix="keep the axis of texts: `counts[:, None]` belongs next to (batch, num_slots).",
)(in_steps(count=lambda counts, _valid: counts[:1].expand_as(counts)))

task.bug(
    "the last slots",
    "the last slots are cleared, instead of those with the highest positions.",
    symptom="It is right until slots are padded on the right, or used again.",
    fix="compare positions: where a token is stored says nothing about its position.",
)(in_steps(ranked_by=slot_numbers, counted=torch.ones_like))

task.bug(
    "the last real slots",
    "the last slots that hold real tokens are cleared, in whatever order they are stored.",
    symptom="It is right until a slot is used again, as in a ring.",
    fix="compare positions: the last token may be in any slot.",
)(in_steps(ranked_by=slot_numbers))

task.bug(
    "empty slots are counted",
    "slots with padding or nothing are counted by their numbers, as if these were positions.",
    symptom="Some rejected tokens stay, in those texts that have empty slots.",
    fix="count real tokens only: at an empty slot the position means nothing.",
)(in_steps(counted=torch.ones_like))

task.bug(
    "the count is subtracted from the highest position",
    "all positions above the highest one less the count are cleared, as if there were no gaps.",
    symptom="It is right until positions have gaps; then too few tokens are taken back.",
    fix="count tokens: those with the highest positions, however far these are apart.",
)(
    lambda positions, valid, counts: (
        valid
        & (
            positions
            <= positions.masked_fill(~valid, -1).amax(dim=1, keepdim=True) - counts[:, None]
        )
    )
)

task.bug(
    "the number of tokens taken for a position",
    "the new length is taken for a position, as if each text began at 0 and had no gaps.",
    symptom="It is right until a window removes the first tokens; then too many are cleared.",
    origin="several projects, which take the number of stored keys for a position",
    fix="count tokens: those with the highest positions, wherever the text begins.",
)(lambda positions, valid, counts: valid & (positions < (valid.sum(dim=1) - counts)[:, None]))

task.bug(
    "one token too many",
    "one token too many is cleared in each text: the last that was accepted.",
    symptom="A word is missing after each rejected draft.",
    origin="mlxcel#994, where two too many are taken back",
    fix="a token stays if as many tokens come after it as are rejected.",
)(in_steps(count=lambda counts, _valid: counts + 1))

task.bug(
    "one token too few",
    "one token too few is cleared in each text: the first that was rejected stays.",
    symptom="After each rejected draft, one wrong word stays.",
    fix="as many tokens as the count says must go, the first rejected one included.",
)(in_steps(count=lambda counts, _valid: counts - 1))

task.bug(
    "a count of 0 clears everything",
    "a text with a count of 0 loses all its tokens, as by the slice `[-0:]`.",
    symptom="When all of a draft is accepted, the model forgets the whole text.",
    origin="a common mistake: `[-0:]` is the whole list",
    fix="a slice from the end needs care: `[len - count :]` is empty for a count of 0.",
)(in_steps(rejects=lambda num_later, counts: (num_later < counts) | (counts == 0)))

task.bug(
    "the first tokens",
    "the first tokens of each text are cleared, instead of the last.",
    symptom="The model forgets how the text began, and the rejected words stay.",
    fix="the highest positions are rejected, not the lowest.",
)(in_steps(ranked_by=lambda positions, _valid: -positions))

task.bug(
    "counts taken for what stays",
    "as many tokens stay as should be rejected.",
    symptom="The more of a draft is accepted, the more of the text is lost.",
    fix="`counts` is the number of tokens that go: the others stay.",
)(in_steps(count=lambda counts, valid: valid.sum(dim=1) - counts))

task.bug(
    "the rejected tokens returned",
    "what is True is what was rejected, and not what stays.",
    symptom="The model sees the rejected words, and nothing else.",
    fix="a token that stays is True: invert the condition.",
)(lambda positions, valid, counts: valid & ~_right(positions, valid, counts))


@task.bug(
    symptom="Trying a second draft on the same cache fails: tokens are missing already.",
    fix="work on a copy, `valid.clone()`, or combine `valid` with a condition by `&`.",
)
def written_into_valid(positions: Tensor, valid: Tensor, counts: Tensor) -> Tensor:
    """the given `valid` is changed in place, and the caller has lost the old one."""
    valid &= _right(positions, valid, counts)
    return valid
