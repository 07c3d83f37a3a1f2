"""Queries without keys, and what hidden keys and values still do."""

from __future__ import annotations

import math

import torch

from attnbook.conventions.caller import RefusedError, random_inputs
from attnbook.conventions.subject import (
    LARGEST,
    UNDECIDED,
    Finding,
    Subject,
    rounded,
    show,
    undecided,
)
from attnbook.messages import Messages

TEXT = Messages(__file__)


def empty_row(subject: Subject) -> Finding:
    """Hide all keys, and compare the output with 0 and with the mean of the values."""
    queries, keys, values = random_inputs(subject.caller, 4, 4, 1, 1)
    try:
        hidden = subject.hide([False] * 4)
    except RefusedError as refused:
        return undecided(refused)
    try:
        with torch.no_grad():
            output = subject.caller(queries, keys, values, **hidden)[0, 0, -1].double()
            unmasked = subject.caller(queries, keys, values)[0, 0, -1].double()
    except RefusedError as refused:
        return Finding("refused", str(refused))
    mean = values[0, 0].double().mean(0)
    evidence = TEXT("empty", output=show(output[:2].tolist()), mean=show(mean[:2].tolist()))
    near = 0.02 if subject.caller.dtype == torch.bfloat16 else 5e-3  # -1e4 + score is rounded
    for answer, expected in {
        "zero": torch.zeros_like(output),
        "nan": torch.full_like(output, math.nan),
        "mean_of_values": mean,
        "as_if_visible": unmasked,
    }.items():
        if torch.allclose(output, expected, atol=near, equal_nan=True):
            return Finding(answer, evidence)
    return Finding("other", evidence)


def empty_row_gradient(subject: Subject) -> Finding:
    """Hide all keys, and differentiate the sum of the output."""
    tensors = [it.requires_grad_() for it in random_inputs(subject.caller, 4, 4, 1, 1)]
    try:
        output = subject.caller(*tensors, **subject.hide([False] * 4))
    except RefusedError as refused:
        return undecided(refused)
    if not output.requires_grad:
        return undecided(TEXT("no_gradient"))
    found = torch.autograd.grad(output.sum(), tensors, allow_unused=True)
    broken = sum(int(grad.isnan().sum()) for grad in found if grad is not None)
    count = sum(tensor.numel() for tensor in tensors)
    return Finding("nan" if broken else "finite", TEXT("gradient", broken=broken, count=count))


def hidden_value(subject: Subject) -> Finding:
    """Put NaN, then infinity, into the value of a hidden key."""
    return _poison(subject, 2)


def hidden_key(subject: Subject) -> Finding:
    """Put NaN, then infinity, into a hidden key."""
    return _poison(subject, 1)


def _poison(subject: Subject, place: int) -> Finding:
    tensors = [*random_inputs(subject.caller, 4, 4, 1, 1)]
    try:
        hidden = subject.hide([True, True, True, False])
        outputs = []
        for number in (math.nan, math.inf):
            poisoned = [it.clone() for it in tensors]
            poisoned[place][..., -1, :] = number
            with torch.no_grad():
                outputs.append(subject.caller(*poisoned, **hidden)[0, 0, -1])
    except RefusedError as refused:
        return undecided(refused)
    spreads = [not bool(output.isfinite().all()) for output in outputs]
    answers = {
        (False, False): "stays_out",
        (True, True): "spreads",
        (True, False): "nan_spreads",
        (False, True): "inf_spreads",
    }
    evidence = TEXT(
        "poisoned", nan=show(outputs[0][:2].tolist()), inf=show(outputs[1][:2].tolist())
    )
    return Finding(answers[spreads[0], spreads[1]], evidence)


def hidden_weight(subject: Subject) -> Finding:
    """Lower all visible scores until a hidden key, of score 0, has a larger weight than they."""
    try:
        hidden = subject.hide([True, True, True, False])
    except RefusedError as refused:
        return undecided(refused)
    if subject.answer("scale") in ("other", UNDECIDED):
        return undecided(TEXT("scale_needed"))

    def share(visible: float, of_hidden: float = 0.0) -> float:
        weights = subject.weigh((visible, visible, visible, of_hidden), **hidden)
        return float(weights[-1, -1])

    low, high = 1.0, LARGEST[subject.caller.dtype]
    ordinary = share(-low)
    if ordinary > 1e-6:
        return Finding("not_zero", TEXT("share", score=show([-low]), share=show([ordinary])))
    lowest = share(-high)
    if not lowest > 0.25:
        evidence = TEXT("share", score=show([-high]), share=show([lowest]))
        return Finding("exactly_zero", evidence)
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if share(-middle) > 0.25 else (middle, high)
    evidence = TEXT("share_from", score=show([-high]))
    raised = share(0.0, 2 * high)
    if raised > 0.25:
        evidence += TEXT("share_raised", score=show([2 * high]), share=show([raised]))
    return Finding("finite_added" if raised > 0.25 else "finite_fill", evidence, rounded(-high))
