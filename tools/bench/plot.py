"""Draw what was measured: ratios with their quartiles, and how time and memory grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.colors import KEYS, LIGHT
from tools import ROOT

Result = dict[str, Any]
PICTURE = ROOT / "_build" / "bench.png"
COLORS = dict(zip(("default", "neutral", "gpu"), KEYS, strict=False))
LINES = {"textbook": LIGHT["quiet"], "ours": KEYS[0], "compiled": KEYS[1]}


def bars(rows: Mapping[str, Result]) -> Iterator[tuple[str, str, list[float]]]:
    """Each measured ratio: its label, its allocator, its quartiles."""
    for name, row in rows.items():
        for allocator in [part for part in row["measured"] if part in COLORS]:
            for mode, programs in row["measured"][allocator].items():
                for program, result in programs.items():
                    if program != "textbook" and "times as fast" in result:
                        yield f"{name}, {mode}: {program}", allocator, result["times as fast"]


def draw_ratios(axes: Axes, rows: Mapping[str, Result]) -> None:
    """One line for each program, one mark for each allocator."""
    ratios = list(bars(rows))
    heights = {label: i for i, label in enumerate(dict.fromkeys(label for label, *_ in ratios))}
    for allocator, color in COLORS.items():
        points = [(heights[label], ratio) for label, which, ratio in ratios if which == allocator]
        if points:
            y, quartiles = zip(*points, strict=True)
            low, middle, high = zip(*quartiles, strict=True)
            below = [b - a for a, b in zip(low, middle, strict=True)]
            above = [b - a for a, b in zip(middle, high, strict=True)]
            axes.errorbar(middle, y, xerr=[below, above], fmt="o", color=color, label=allocator)
    axes.axvline(1, color=LIGHT["line"], linewidth=1)
    axes.set(xscale="log", xlabel="times as fast as the textbook, with quartiles")
    ticks = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks(list(heights.values()), list(heights))
    axes.invert_yaxis()
    axes.grid(axis="x", which="both", alpha=0.3)
    if ratios:
        axes.legend(title="allocator")


def draw_growth(axes: Axes, row: Result, mode: str, what: str) -> None:
    """Time or memory against the number of keys, for as many queries."""
    for program, color in LINES.items():
        points = [
            (point["keys"], point[what])
            for point in row["measured"]["points"]
            if (point["axis"], point["mode"], point["program"]) == ("queries = keys", mode, program)
        ]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", color=color, label=program)
    layer = row["measured"]["points"][0]["layer"]
    axes.set(xscale="log", yscale="log", xlabel="queries = keys", ylabel=what)
    axes.set_title(f"{layer}, {mode}")
    axes.grid(which="both", alpha=0.3)
    axes.legend()


def plot(rows: Mapping[str, Result], path: Path = PICTURE) -> None:
    """Draw all rows into one picture."""
    growing = [row for name, row in rows.items() if name.startswith("growth-")]
    panels = [(row, mode, what) for row in growing for mode in ("inference", "training")
              for what in ("seconds", "bytes")]  # fmt: skip
    labels = len({label for label, *_ in bars(rows)})
    height = max(4.0, 0.22 * labels)
    with mpl.rc_context({"font.size": 8}):
        figure = Figure(figsize=(14, height + 3.5 * len(growing)), layout="constrained")
        shares = [height, *[3.5] * len(growing)]
        parts = figure.subfigures(1 + len(growing), 1, height_ratios=shares, squeeze=False)
        draw_ratios(parts[0, 0].subplots(), rows)
        for i, part in enumerate(parts[1:, 0]):
            for axes, panel in zip(part.subplots(1, 4), panels[4 * i :], strict=False):
                draw_growth(axes, *panel)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=110)
