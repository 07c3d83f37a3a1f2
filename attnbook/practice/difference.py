"""How two outcomes differ, in words for who wrote one of them."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from attnbook.practice.guard import by_default
from attnbook.practice.outcome import BACKWARD, Outcome, is_numbers
from attnbook.practice.task import Case, Task

# How far numbers may be apart, as a share and in all; for whole numbers and masks not at all.
CLOSE = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 2e-3),
    torch.bfloat16: (4e-2, 1e-2),
}


@by_default()
def difference(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    """Say how an outcome differs from another one in a sentence; nothing if it does not."""
    if case.refused:
        return _not_refused(found)
    if found.kind == BACKWARD and found.changed != expected.changed:
        return _changes(found, expected)  # that is why nothing flows back
    if found.problem or expected.problem:
        return "" if found.kind == expected.kind else found.problem or "It gives an answer."
    return (
        _count(found, expected)
        or _form(task, found, expected)
        or _broken_law(task, case, found)
        or _numbers(task, found, expected)
        or _changes(found, expected)
        or _flow(task, case, found, expected)
    )


def same(task: Task, case: Case, found: Outcome, other: Outcome) -> bool:
    """Whether two implementations, wrong ones for instance, did the same."""
    if found.problem or other.problem:
        refused = case.refused and found.refusal and other.refusal
        return refused or found.kind == other.kind
    # Neither laws nor what is asked: only whether all that came of them is equal.
    plain, answers = replace(task, laws=()), replace(case, refused=False)
    if not all(output.isfinite().all() for output in (*found.outputs, *other.outputs)):
        # What flows back where an output is NaN depends on how it came about.
        found, other = replace(found, gradients=()), replace(other, gradients=())
    return not difference(plain, answers, found, other)


def says_nothing(outcome: Outcome) -> bool:
    """Whether all that came back is NaN, as many faults end."""
    return bool(outcome.outputs) and all(
        output.numel() > 0 and bool(output.isnan().all()) for output in outcome.outputs
    )


def _not_refused(found: Outcome) -> str:
    if found.refusal:
        return ""
    if found.problem:
        return f"{found.problem} A ValueError or a TypeError was expected."
    return "It gives an answer, where the input is wrong: raise a ValueError that says what is."


def _count(found: Outcome, expected: Outcome) -> str:
    many = len(found.outputs), len(expected.outputs)
    if many[0] == many[1]:
        return ""
    tensors = "1 tensor" if many[0] == 1 else f"{many[0]} tensors"
    return f"It returns {tensors}, expected was {many[1]}."


def _form(task: Task, found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(task.outputs, found.outputs, expected.outputs, strict=True):
        if mine.shape != right.shape:
            shapes = tuple(mine.shape), tuple(right.shape)
            return f"The shape of {name} is {shapes[0]}, expected was {shapes[1]}."
        if mine.dtype != right.dtype:
            return f"The type of {name} is {mine.dtype}, expected was {right.dtype}."
    return ""


def _broken_law(task: Task, case: Case, found: Outcome) -> str:
    if any(output.isnan().any() for output in found.outputs):
        return ""  # that says more
    for law in task.laws:
        if not law.holds(*found.outputs, *case.make()):
            return law.words
    return ""


def _numbers(task: Task, found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(task.outputs, found.outputs, expected.outputs, strict=True):
        wrong = _apart(mine.detach(), right.detach())
        if wrong.any():
            return f"In {name} {_told_numbers(mine.detach(), right.detach(), wrong)}"
    return ""


def _apart(mine: Tensor, right: Tensor) -> Tensor:
    if mine.dtype not in CLOSE:
        return mine != right
    share, least = CLOSE[mine.dtype]
    return ~torch.isclose(mine, right, rtol=share, atol=least, equal_nan=True)


def _told_numbers(mine: Tensor, right: Tensor, wrong: Tensor) -> str:
    """Tell how many differ, and how the first one does, but not what is right."""
    count = int(wrong.sum())
    index = tuple(wrong.nonzero()[0].tolist())
    one, other = mine[index].item(), right[index].item()
    what = "places" if mine.dtype == torch.bool else "numbers"
    share = f"{count} of {mine.numel()} {what} are wrong; the first, at {index}, is"
    if not index:
        share = "the number is wrong: it is"
    if mine.dtype == torch.bool:
        return f"{share} {one}."
    if math.isnan(one):
        return f"{share} NaN."
    return f"{share} {one:.4g}, and should be {'smaller' if one > other else 'larger'}."


def _changes(found: Outcome, expected: Outcome) -> str:
    changed = [name for name in found.changed if name not in expected.changed]
    if changed:
        return f"It changes the caller's `{'`, `'.join(changed)}`: write into a new tensor."
    return "" if found.changed == expected.changed else "It changes nothing of the caller's."


def _flow(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    leaves = [
        (name, argument)
        for name, argument in zip(task.arguments, case.make(), strict=False)
        if is_numbers(argument)
    ]
    for (name, argument), mine, right in zip(
        leaves, found.gradients, expected.gradients, strict=False
    ):
        nothing = torch.zeros_like(argument)
        mine_flows, right_flows = (nothing if it is None else it for it in (mine, right))
        if not _apart(mine_flows, right_flows).any():
            continue
        if mine is None:
            return f"No gradient flows back to `{name}`; was it detached, or made a number?"
        what = "is NaN" if mine.isnan().any() else "is not"
        return f"What it returns is right, and the gradient of `{name}` {what}."
    return ""
