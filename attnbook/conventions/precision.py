"""Heads that share keys, half precision, and dropout."""

from __future__ import annotations

import math
from typing import Any

import torch

from attnbook.conventions.caller import RefusedError
from attnbook.conventions.subject import (
    NO_ARGUMENT,
    SCORE,
    UNDECIDED,
    Finding,
    Subject,
    show,
    undecided,
)
from attnbook.messages import Messages

TEXT = Messages(__file__)


def grouped_heads(subject: Subject) -> Finding:
    """Give four heads of queries, and two of keys whose values are 0 and 1."""
    caller = subject.caller
    if not caller.has_heads:
        return undecided(TEXT("no_heads"))
    size = caller.sizes[0]
    queries = torch.zeros(1, 4, 4, size, dtype=caller.dtype, device=caller.device)
    keys = queries[:, :2]
    values = torch.arange(2.0, dtype=caller.dtype, device=caller.device)[None, :, None, None]
    options = {"grouped": True} if "grouped" in caller.names else {}
    try:
        with torch.no_grad():
            output = caller(queries, keys, values.expand_as(keys), **options)
    except RefusedError as refused:
        return Finding("refused", str(refused))
    found = output[0, :, -1, 0].double().tolist()
    answers = {(0, 0, 1, 1): "interleaved", (0, 1, 0, 1): "tiled"}
    return Finding(answers.get(tuple(found), "other"), TEXT("groups", heads=show(found)))


def half_scores(subject: Subject) -> Finding:
    """Make two scores that bfloat16 rounds to the same number, of values that cancel."""
    if subject.answer("scale") in ("other", UNDECIDED) or subject.answer("soft_cap") == "clamped":
        return undecided(TEXT("scale_needed"))
    half = _in_half(subject)
    size = half.caller.sizes[0]
    cap = subject.findings["soft_cap"].value
    # A power of two: bfloat16 makes it of the next number, too, which is a 256th larger.
    product = 2.0 ** math.floor(math.log2((cap / 2 if cap else 256) / subject.scale(size, 2)))
    queries, keys, values = (torch.zeros(1, 1, 2, size, dtype=torch.float64) for _ in range(3))
    queries[..., :2] = torch.tensor([16.0, 2.0])
    keys[..., 0] = product / 16
    values[0, 0, 0], values[0, 0, 1] = 1, -1
    outputs = []
    try:
        for more in (0, product / 512):
            keys[0, 0, 1, 1] = more
            tensors = [it.to(half.caller.device, torch.bfloat16) for it in (queries, keys, values)]
            with torch.no_grad():
                outputs.append(float(half.caller(*tensors)[0, 0, -1, 0]))
    except RefusedError as refused:
        return Finding("refused", str(refused))
    evidence = TEXT(
        "half_scores",
        equal=f"{product:g} and {product:g}",
        raised=f"{product:g} and {product * 257 / 256:g}",
        first=show(outputs[:1]),
        second=show(outputs[1:]),
    )
    return Finding("rounded" if outputs[0] == outputs[1] else "in_float32", evidence)


def half_weights(subject: Subject) -> Finding:
    """Make values that cancel exactly if the weights were rounded to bfloat16.

    Weights r0 and r1 are read. With values r1 and -r0 the output is exactly 0 if these are the
    weights. Some functions round before they divide by the sum: the same with the exponentials.
    """
    half = _in_half(subject)
    size = half.caller.sizes[0]
    left: dict[str, list[float]] = {"": [], "exponentials": []}
    try:
        for score in (0.3, 0.7, 1.1, 1.9, 2.3):
            queries, keys = (torch.zeros(1, 1, 2, size, dtype=torch.float64) for _ in range(2))
            queries[..., 0] = 1
            keys[..., 0, 0] = score / subject.scale(size)
            weights = half.read_weights(queries, keys)[0, 0, -1]
            lower = (-keys[0, 0, 0, 0].bfloat16().double() * subject.scale(size)).exp().bfloat16()
            for kind, (first, second) in {
                "": (weights[1], -weights[0]),
                "exponentials": (-lower, torch.ones(())),
            }.items():
                values = torch.zeros(1, 1, 2, size, dtype=torch.float64)
                values[0, 0, 0], values[0, 0, 1] = first, second
                tensors = [
                    it.to(half.caller.device, torch.bfloat16) for it in (queries, keys, values)
                ]
                with torch.no_grad():
                    output = half.caller(*tensors)
                left[kind].append(float(output[0, 0, -1, 0].abs()))
    except RefusedError as refused:
        return Finding("refused", str(refused))
    least = min(left.values(), key=sum)
    evidence = TEXT("half_weights", rest=show([max(least)]))
    return Finding("rounded" if max(least) == 0 else "in_float32", evidence)


def _in_half(subject: Subject) -> Subject:
    return Subject(subject.caller.to(torch.bfloat16), subject.findings)


def dropout(subject: Subject) -> Finding:
    """Drop half, with values that are all 1: a dropped weight changes all features alike."""
    caller = subject.caller
    options: dict[str, Any] = {}
    if "dropout" in caller.names:
        options["dropout"] = 0.5
    else:
        try:
            caller = caller.in_training()
        except RefusedError as refused:
            return Finding(NO_ARGUMENT, str(refused))
    size = caller.sizes[0]
    queries, keys = (torch.zeros(1, 1, 16, size, dtype=caller.dtype, device=caller.device),) * 2
    queries = queries + 1
    keys = keys + SCORE / size / subject.scale(size)
    dropped = Subject(caller, subject.findings)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            output = caller(queries, keys, torch.ones_like(keys), **options)[0, 0].double().cpu()
            usual = subject.caller(queries, keys, torch.ones_like(keys)).double().mean()
            torch.manual_seed(0)
            weights = dropped.read_weights(queries, keys, max(size, 16), **options)[0, 0]
    except RefusedError as refused:
        return Finding("refused", str(refused))
    mean = float(output.mean())
    evidence = TEXT("dropped", first=show(output[0, :4].tolist()), mean=show([mean]))
    features_differ = float(output.std(-1).max()) > 0.01
    rows_differ = float(output.std(0).max()) > 0.01
    if features_differ:
        answer = "on_output"
    elif rows_differ:
        answer = "on_weights" if mean > 0.75 * float(usual) else "on_weights_not_scaled"
    else:
        answer = "on_scores" if float(weights.std()) > 0.01 else "ignored"
        if answer == "ignored" and not options:
            return undecided(evidence)  # a layer may have dropout that this call does not use
    return Finding(answer, evidence)
