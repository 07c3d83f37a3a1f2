"""Compare all parts of the package, in rounds, and time a few calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from attnbook.layers import AdditiveAttention, DotProductAttention
from attnbook.selftest.comparisons import PARTS, TOLERANCE, Draw
from attnbook.selftest.environment import available_devices, describe_device, describe_environment
from attnbook.selftest.paths import take_path
from attnbook.timing import race

Receipt = dict[str, Any]
MOST_FAULTS = 5  # of each part are described


def run(
    device: str | torch.device = "cpu",
    seconds: float = 60.0,
    parts: Iterable[str] = PARTS,
    *,
    with_ratios: bool = True,
) -> Receipt:
    """Compare parts of the package with formulas, and return a receipt that JSON can hold.

    Args:
        device: "cpu", "cuda" or "mps".
        seconds: after which no other round begins; the first is always complete.
        parts: names in `PARTS`.
        with_ratios: whether to time fast paths against formulas.

    Raises:
        ValueError: torch cannot use the device here, or `seconds` is not positive.
    """
    device, start = _check_device(device), time.monotonic()
    if not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds}")
    found: dict[str, Receipt] = {name: _empty() for name in parts}
    rounds = 0
    while rounds == 0 or time.monotonic() - start < seconds:
        for name, row in found.items():
            for dtype in _dtypes(device):
                _compare(row, name, Draw(rounds, device, dtype))
        rounds += 1
    return {
        **describe_environment(),
        "device": describe_device(device),
        "rounds": rounds,
        "comparisons": sum(row["comparisons"] for row in found.values()),
        "faults": sum(row["faults"] for row in found.values()),
        "parts": found,
        "times as fast as the formula": _ratios(device) if with_ratios else {},
        "seconds": round(time.monotonic() - start, 1),
    }


def _check_device(device: str | torch.device) -> torch.device:
    known = available_devices()
    for each in known:
        if each.type == torch.device(device).type:
            return each
    names = ", ".join(each.type for each in known)
    raise ValueError(f"device must be one that torch can use here ({names}), got {device}")


def _dtypes(device: torch.device) -> list[torch.dtype]:
    return [dtype for dtype in TOLERANCE if dtype != torch.float64 or device.type != "mps"]


def _empty() -> Receipt:
    return {"comparisons": 0, "faults": 0, "largest errors": {}, "described": []}


def _compare(row: Receipt, name: str, draw: Draw) -> None:
    """Enter the comparisons of one draw; an exception is a fault, and ends only these."""
    dtype = str(draw.dtype).removeprefix("torch.")
    try:
        for each in PARTS[name](draw):
            error = each.error()
            row["comparisons"] += 1
            # Slopes are compared with differences, which are less exact.
            kind = f"{dtype}, slopes" if each.case.endswith("slope") else dtype
            row["largest errors"][kind] = max(row["largest errors"].get(kind, 0.0), error)
            if error > each.tolerance:
                text = f"error {error:.1e} above {each.tolerance:.1e}"
                _add_fault(row, f"{each.case}, {dtype}, seed {draw.seed}: {text}")
    except Exception as error:
        _add_fault(row, f"{dtype}, seed {draw.seed}: {type(error).__name__}: {str(error)[:200]}")


def _add_fault(row: Receipt, text: str) -> None:
    row["faults"] += 1
    if len(row["described"]) < MOST_FAULTS:
        row["described"].append(text)


def _ratios(device: torch.device) -> dict[str, float]:
    """How many times as fast as the formula some large calls are."""
    if device.type == "mps":
        return {}  # nothing here can time it
    x = torch.randn(2, 512, 64).to(device)
    short = x[:, :128].contiguous()
    calls: dict[str, Callable[[], object]] = {
        "dot product, causal": partial(DotProductAttention(), x, x, x, causal=True),
        "additive": partial(AdditiveAttention(64, 64, 32).to(device), short, short, short),
    }
    return {name: _ratio(call) for name, call in calls.items()}


def _ratio(call: Callable[[], object]) -> float:
    def plain() -> object:
        with take_path("plain"), torch.no_grad():
            return call()

    def fast() -> object:
        with torch.no_grad():
            return call()

    found = race({"plain": plain, "fast": fast}, rounds=5, least=0.02)
    return round(found.times_as_fast("fast").median, 2)


def describe(receipt: Receipt) -> str:
    """A receipt as text: what it was made with, and a line for each part."""
    numbers = ("parts", "times as fast as the formula", "comparisons", "faults")
    facts = [f"{name}: {it}" for name, it in receipt.items() if name not in numbers]
    parts, faults = receipt["parts"], receipt["faults"]
    kinds = [*dict.fromkeys(kind for row in parts.values() for kind in row["largest errors"])]
    rows = [("largest error of", *kinds)]
    for name, row in parts.items():
        errors = row["largest errors"]
        rows.append((name, *(f"{errors[kind]:.0e}" if kind in errors else "" for kind in kinds)))
    ratios = receipt["times as fast as the formula"].items()
    lines = [
        f"attnbook selftest: {receipt['comparisons']:,} comparisons with formulas in float64, "
        + (f"{faults} FAULTS" if faults else "no fault"),
        *facts,
        *(f"{name}: {ratio} times as fast as the formula" for name, ratio in ratios),
        "",
        *(_describe_row(row, rows[0]) for row in rows),
        *(f"FAULT in {name}: {text}" for name, row in parts.items() for text in row["described"]),
    ]
    return "\n".join(lines)


def _describe_row(row: Sequence[str], titles: Sequence[str]) -> str:
    errors = [f"{cell:>{len(title) + 2}}" for cell, title in zip(row[1:], titles[1:], strict=True)]
    return f"{row[0]:<34}{''.join(errors)}".rstrip()
