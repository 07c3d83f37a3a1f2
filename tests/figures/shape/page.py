"""What the shape figure shows in a browser, against the trace."""

from __future__ import annotations

import math
from typing import Any

from playwright.sync_api import Locator

from attnbook.figures.shape.figure import describe_shape
from attnbook.tracing import Trace

READ = """figure => {
    const text = (root, selector) => [...root.querySelectorAll(selector)].map(e => e.textContent);
    const current = figure.querySelector('.source-line[aria-current]');
    return {
        step: Number(figure.querySelector('input[type=range]').value),
        line: current ? Number(current.querySelector('.line-number').textContent) : null,
        source: current ? current.querySelector('code').textContent : null,
        title: current ? current.parentElement.querySelector('b').textContent : null,
        names: text(figure, '.tensor-name'),
        note: figure.querySelector('.step-note').textContent,
        cells: [...figure.querySelectorAll('.tensor')].map(tensor => Object.fromEntries(
            [...tensor.querySelectorAll('.level')].map(
                e => [e.dataset.level, e.getAttribute('d').split('z').length - 1]))),
        printed: text(figure, '.tensor-cells span'),
        steps: [...figure.querySelectorAll('.step-table tbody tr')].map(row => text(row, 'th, td')),
        focus: [...figure.querySelectorAll('.step-table tbody tr')].findIndex(
            row => row.hasAttribute('aria-current')),
        numbers: [...figure.querySelectorAll('.number-table tbody td:not(:first-child)')].map(
            cell => cell.dataset.value),
        rows: text(figure, '.number-table tbody tr > :first-child'),
        caption: text(figure, '.number-table caption'),
    };
}"""

CENTRE = """(cells, [x, y]) => {
    const frame = cells.querySelector('svg').getBoundingClientRect();
    const box = cells.querySelector('svg').viewBox.baseVal;
    return [frame.x + frame.width * x / box.width, frame.y + frame.height * y / box.height];
}"""


def step_slider(figure: Locator) -> Locator:
    """The slider over the steps."""
    return figure.get_by_role("slider", name="step", exact=True)


def expected(traced: Trace, state: dict[str, Any], index: int) -> dict[str, Any]:
    """What `READ` must find at a step, without the numbers."""
    steps = traced.steps
    step = steps[index]
    before = state["steps"][index]["before"]
    shown = [*([steps[before]] if before >= 0 else []), step]
    names = [f"{it.name} {describe_shape([*it.shape], [*it.symbols])}" for it in shown]
    lines = {line.number: line.source for line in traced.sections[step.section][1]}
    return {
        "step": index,
        "line": step.line,
        "source": lines[step.line],
        "title": step.title,
        "names": names,
        "caption": names[-1:],
        "note": state["steps"][index]["note"],
        "focus": index,
        "steps": [
            [str(n), it.title, str(it.line), it.name, describe_shape([*it.shape], [*it.symbols])]
            for n, it in enumerate(steps)
        ],
    }


def disagreements(figure: Locator, traced: Trace, state: dict[str, Any], index: int) -> list[str]:
    """What a figure shows that differs from a step of the trace."""
    figure.locator(".number-table[aria-busy=true]").wait_for(state="detached")
    seen = figure.evaluate(READ)
    true = expected(traced, state, index)
    wrong = [name for name in true if seen[name] != true[name]]
    numbers = traced.steps[index].numbers
    if numbers is None or numbers.is_complex():
        return wrong + ["numbers"] * bool(seen["numbers"] or seen["cells"][-1])
    exact = numbers.flatten().tolist()
    shown = [int(n) if n.lstrip("-").isdigit() else float(n) for n in seen["numbers"]]
    close = len(shown) == len(exact) and all(map(_is_close, shown, exact))
    counted = sum(seen["cells"][-1].values()) == len(exact)
    leading = numbers.shape[:-1]
    rows = len(seen["rows"]) == (math.prod(leading) if numbers.numel() else 0)
    return wrong + ["numbers"] * (not close) + ["cells"] * (not counted) + ["rows"] * (not rows)


def _is_close(shown: float, exact: float) -> bool:
    if math.isnan(exact):
        return math.isnan(shown)
    return shown == exact or float(f"{exact:.9g}") == shown
