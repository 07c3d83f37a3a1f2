"""The position and the colour of each number of a trace, against PyTorch."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import pytest
import torch

from attnbook.figures import ShapeFigure
from attnbook.figures.shape.figure import describe_shape
from tests.figures.shape.cases import CASES, state_of, trace_case
from tests.figures.shared.node import ask_module

GAP, LEVELS = 0.8, 16
PROGRAM = """
const pages = states.map(({ steps, numbers }) => steps.map((step) => {
    const layout = figure.layoutOf(step.shape);
    const list = numbers[step.numbers] ?? [];
    const positions = list.map((_, i) => figure.cellPosition(layout, i));
    const byLevel = [...figure.indicesByLevel(list, step.kind, step.scale)];
    const levels = [];
    byLevel.forEach(([level, indices]) => indices.forEach((i) => { levels[i] = level; }));
    return {
        sized: figure.sized(step), columns: layout.columns, rows: layout.rows, positions, levels,
        once: byLevel.reduce((sum, [, indices]) => sum + indices.length, 0),
        back: positions.map(([x, y]) => figure.indexAt(layout, x + 0.5, y + 0.5)),
        names: list.map((_, i) => figure.indexedName(step, i)),
        colors: levels.map(figure.colorOf),
        outside: [[-0.1, 0], [0, -0.1], [layout.columns + 0.1, 0], [0, layout.rows + 0.1]].map(
            ([x, y]) => figure.indexAt(layout, x, y)),
        between: layout.sideBySide > 1 ? figure.indexAt(layout, layout.across + 0.4, 0) : null,
    };
}));
const sources = cuts.map(([source, name, part]) => figure.cutSource(source, { name, part }));
return { steps: pages, sources };
"""
# A line, a part, whether it is one; and how the line is cut.
CUTS = {
    ("y = a(b(x))", "b(x)", True): ["y = a(", "b(x)", ")"],
    ("y = f(x) + f(x)", "f(x)", True): ["y = f(x) + f(x)", "", ""],
    ("y = x", "y", False): ["y = x", "", ""],
    ("y = g( x )", "g(x)", True): ["y = g( x )", "", ""],
}
each_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def answers():
    """What the shipped file makes of each case."""
    states = [state_of(name) for name in CASES]
    return ask_module(ShapeFigure, PROGRAM, states=states, cuts=list(CUTS))


def round_numbers(value: Any) -> Any:
    """Numbers without the last digits, which depend on the order of operations."""
    if isinstance(value, list):
        return [round_numbers(each) for each in value]
    return round(value, 9) if isinstance(value, float) else value


def position_of(index: tuple[int, ...], shape: tuple[int, ...]) -> list[float]:
    """Position of a number: last axis across, the one before down, a third side by side."""
    *rest, row, column = (0, 0, *index)
    *sizes, down, across = (1, 1, *shape)
    drawing = rest.pop() if len(shape) > 3 else 0
    if len(shape) > 3:
        sizes.pop()
    block = 0
    for at, size in zip(rest, sizes, strict=True):
        block = block * size + at
    return [drawing * (across + GAP) + column, block * (down + GAP) + row]


@cache
def numbers_for_scale(name: str) -> list[set[float]]:
    """The numbers of each step that can make it share a scale."""
    return [
        {float(f"{n:.9g}") for n in it.numbers.flatten().tolist() if math.isfinite(n) and n}
        if it.numbers is not None and it.numbers.is_floating_point()
        else set()
        for it in trace_case(name).steps
    ]


@cache
def scale_of(name: str, index: int) -> float:
    """The largest number that a chain of shared numbers leads to."""
    lists = numbers_for_scale(name)
    linked, before = {index}, set()
    while linked != before:
        before = set(linked)
        linked |= {
            j
            for i, j in itertools.product(before, range(len(lists)))
            if lists[i] and lists[j] and (lists[i] <= lists[j] or lists[j] <= lists[i])
        }
    return max((abs(n) for i in linked for n in lists[i]), default=1.0)


def level(number: float | bool, dtype: torch.dtype, scale: float) -> int | str:
    """The colour of a number, by its share of the scale."""
    if dtype == torch.bool:
        return str(number)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'-' * (number < 0)}Infinity"
    return int(math.copysign(math.ceil(LEVELS * abs(float(f"{number:.9g}")) / scale), number))


def disagreements(name: str, pages: list[dict]) -> list[str]:
    """Where the page differs from the trace: the step and what differs."""
    found = []
    traced = trace_case(name)
    assert len(pages) == len(traced.steps)
    for index, (page, step) in enumerate(zip(pages, traced.steps, strict=True)):
        numbers = step.numbers
        if numbers is None or numbers.is_complex():
            same = page["sized"] == describe_shape(list(step.shape), list(step.symbols))
            # A negative width would be no viewBox.
            drawable = page["columns"] >= 0 and page["rows"] >= 0
            found += [f"{step.name}: cells"] * (bool(page["positions"]) or not (same and drawable))
            continue
        indices = list(itertools.product(*map(range, step.shape)))
        spots = [position_of(index, step.shape) for index in indices]
        listed = numbers.flatten().tolist()
        ours = {
            "sized": describe_shape(list(step.shape), list(step.symbols)),
            "positions": spots,
            "columns": max((x + 1 for x, _ in spots), default=0),
            "rows": max((y + 1 for _, y in spots), default=0),
            "back": list(range(len(listed))),
            "once": len(listed),
            "names": [
                f"{step.name}[{', '.join(map(str, i))}]" if i else step.name for i in indices
            ],
            "outside": [None] * 4,
            "between": None,
        }
        if numbers.dtype != torch.int64:
            scale = scale_of(name, index)
            ours["levels"] = [level(number, numbers.dtype, scale) for number in listed]
        found += [
            f"step {index}, {step.name}: {k}"
            for k, v in ours.items()
            if round_numbers(page[k]) != round_numbers(v)
        ]
    return found


@each_case
def test_every_number_has_its_position_and_colour_at_every_step(answers, name):
    assert disagreements(name, answers["steps"][list(CASES).index(name)]) == []


def test_more_is_stronger_and_signs_differ(answers):
    first = answers["steps"][0][0]
    paints = dict(zip(first["levels"], first["colors"], strict=True))
    assert all("--positive" in paints[n] for n in paints if n > 0)
    assert all("--negative" in paints[n] for n in paints if n < 0)
    shares = [int(paints[n].split("%")[0].split()[-1]) for n in sorted(n for n in paints if n > 0)]
    assert shares == sorted(set(shares))
    assert len(shares) > 5


def test_a_part_is_marked_if_it_occurs_once(answers):
    assert answers["sources"] == list(CUTS.values())
