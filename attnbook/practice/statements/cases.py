"""What the cases of a task try, in sentences that its statement ends with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attnbook.messages import Messages

TEXT = Messages(__file__)
HUGE = 1e6  # sentences mention numbers from here on
WITH_GRADIENTS = (torch.float32, torch.float64)


def describe_cases(names: list[str], cases: list[Any]) -> list[str]:
    """Describe what is tried beyond ordinary numbers, and that inputs must not change.

    Args:
        names: of the cases' arguments.
        cases: each a `Case`, whose module imports this one.
    """
    inputs = [(case, dict(zip(names, case.make(), strict=False))) for case in cases]
    values = [value for _, arguments in inputs for value in arguments.values()]
    tensors = [value for value in values if isinstance(value, Tensor)]
    types, features = _listed(_types(tensors)), _listed(_features(inputs, tensors))
    how = [TEXT("in_types", types=types)] if types else []
    how += [TEXT("with_features", features=features)] if features else []
    has_inputs = any(isinstance(value, Tensor | list) for value in values)
    return [
        *([TEXT("tested", how=", ".join(how))] if how else []),
        *([TEXT("unchanged")] if has_inputs else []),
    ]


def _listed(words: list[str]) -> str:
    return TEXT("and").join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _features(inputs: list[tuple[Any, dict[str, Any]]], tensors: list[Tensor]) -> list[str]:
    numbers = [it.double() for it in tensors if it.is_floating_point() and it.numel()]
    largest = max((it[it.isfinite()].abs().max().item() for it in numbers), default=0)
    lengths = [arguments.get("valid_lens") for _, arguments in inputs]
    tried = {
        "gradients": any(
            getattr(value, "dtype", None) in WITH_GRADIENTS
            for case, arguments in inputs
            for value in arguments.values()
            if case.gradients and not case.refused
        ),
        "lengths": any(isinstance(it, Tensor) and bool((it == 0).any()) for it in lengths),
        "huge": largest >= HUGE,
        "not_finite": not all(bool(it.isfinite().all()) for it in numbers),
        "views": not all(tensor.is_contiguous() for tensor in tensors),
        "refused": any(case.refused for case, _ in inputs),
    }
    # `1e30` instead of `1e+30`.
    huge = TEXT("huge", number=f"{largest:.0e}".replace("+", ""))
    texts = {**TEXT.group("features"), "huge": huge}
    return [texts[name] for name, is_tried in tried.items() if is_tried]


def _types(tensors: list[Tensor]) -> list[str]:
    """The types of numbers, the narrowest first; whole ones only if some are not of 64 bits."""
    types = {tensor.dtype for tensor in tensors} - {torch.bool}
    whole = {each for each in types if not each.is_floating_point}
    shown = types if whole - {torch.int64} else types - whole
    return [str(it).removeprefix("torch.") for it in sorted(shown, key=lambda it: it.itemsize)]
