"""What the shape figure shows in a browser, against the trace."""

from __future__ import annotations

import math
from typing import Any

from playwright.sync_api import Locator

from attnbook.figures.shape.figure import sized
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


def expected(x_ray: Trace, state: dict[str, Any], place: int) -> dict[str, Any]:
    """What `READ` must find at a step, without the numbers."""
    steps = x_ray.steps
    step = steps[place]
    before = state["steps"][place]["before"]
    shown = [*([steps[before]] if before >= 0 else []), step]
    names = [f"{it.name} {sized([*it.shape], [*it.symbols])}" for it in shown]
    lines = {line.number: line.source for line in x_ray.sections[step.section][1]}
    return {
        "step": place,
        "line": step.line,
        "source": lines[step.line],
        "title": step.title,
        "names": names,
        "caption": names[-1:],
        "note": state["steps"][place]["note"],
        "focus": place,
        "steps": [
            [str(n), it.title, str(it.line), it.name, sized([*it.shape], [*it.symbols])]
            for n, it in enumerate(steps)
        ],
    }


def disagreements(figure: Locator, x_ray: Trace, state: dict[str, Any]) -> list[str]:
    """What a figure shows that is not the trace's for where its slider stands."""
    figure.locator(".number-table[aria-busy=true]").wait_for(state="detached")
    seen = figure.evaluate(READ)
    true = expected(x_ray, state, seen["step"])
    wrong = [name for name in true if seen[name] != true[name]]
    numbers = x_ray.steps[seen["step"]].numbers
    if numbers is None or numbers.is_complex():
        return wrong + ["numbers"] * bool(seen["numbers"] or seen["cells"][-1])
    listed = numbers.flatten().tolist()
    told = [int(n) if n.lstrip("-").isdigit() else float(n) for n in seen["numbers"]]
    close = len(told) == len(listed) and all(map(_same, told, listed))
    counted = sum(seen["cells"][-1].values()) == len(listed)
    leading = numbers.shape[:-1]
    rows = len(seen["rows"]) == (math.prod(leading) if numbers.numel() else 0)
    return wrong + ["numbers"] * (not close) + ["cells"] * (not counted) + ["rows"] * (not rows)


def _same(told: float, true: float) -> bool:
    if math.isnan(true):
        return math.isnan(told)
    return told == true or float(f"{true:.9g}") == told
