"""What a translator figure shows in a browser, against its Python half, and where it is touched."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures import TranslatorFigure
from attnbook.figures.translator.reading import verdict
from tests.figures.shared.trained import Room

CLOSE = 1e-9  # both in double precision; the contract asks for 1e-5
MONTH = [3, 4, 5, 6]
READ = """figure => {
    const texts = selector => [...figure.querySelectorAll(selector)].map(e => e.textContent);
    const value = cell => Number(cell.dataset.value);
    const rows = [...figure.querySelectorAll('tbody tr')];
    const before = figure.querySelector('.before-row');
    return {
        text: texts('.column bdi'),
        output: texts('.output-row bdi').join(''),
        before: before.classList.contains('same') ? '' : texts('.before-row bdi').join(''),
        verdict: figure.querySelector('.verdict').textContent,
        looked: figure.querySelector('.readout').textContent,
        chosen: [...figure.querySelectorAll('.output-row button')].findIndex(
            e => e.getAttribute('aria-current') === 'step'),
        hidden: [...figure.querySelectorAll('.column')].flatMap(
            (e, i) => e.ariaPressed === 'true' ? [i] : []),
        bars: [...figure.querySelectorAll('.bar')].map(
            e => Number(e.style.scale.split(' ').at(-1))),
        scores: rows.slice(0, -1).map(row => value(row.cells[1])),
        weights: rows.slice(0, -1).map(row => value(row.cells[2])),
        map: [...figure.querySelectorAll('.shade-path')].reduce((sum, path) => sum +
            Number(path.dataset.shade) * (path.getAttribute('d').split('z').length - 1), 0),
        mark: Number(figure.querySelector('.heat-mark').style.getPropertyValue('--at')),
    };
}"""


def disagreements(figure: Locator, python: TranslatorFigure, tolerance: float = CLOSE) -> list[str]:
    """What of the page is not what this Python half says."""
    seen, truth = figure.evaluate(READ), python.reading
    whole, step = python.shown["whole"], python.step
    close = {"rel": tolerance, "abs": tolerance}
    weights = truth.weights[step].tolist()
    rounded = [int(100 * weight + 0.5) for row in truth.weights.tolist() for weight in row]
    peak = weights.index(max(weights)) if any(weights) else -1
    expected = {
        "text": ["␣" if c.isspace() else c for c in truth.text],
        "output": truth.output,
        "before": whole if whole != truth.output else "",
        "verdict": verdict(truth.text, python.hidden, truth.output, whole),
        "chosen": step,
        "hidden": python.hidden,
        "bars": pytest.approx(weights, abs=6e-5 + tolerance),
        "scores": pytest.approx(truth.scores[step].tolist(), **close),
        "weights": pytest.approx(weights, **close),
        "map": pytest.approx(sum(rounded), abs=1e4 * tolerance),
        "mark": step,
    }
    wrong = [name for name, value in expected.items() if seen[name] != value]
    looked = f"“{expected['text'][peak]}” at {peak}: " if peak >= 0 else "its context is 0."
    return wrong + ["looked"] * (looked not in seen["looked"])


def field(figure: Locator) -> Locator:
    return figure.get_by_role("textbox", name="your date")


def slider(figure: Locator, name: str) -> Locator:
    return figure.get_by_role("slider", name=name, exact=True)


def box(figure: Locator) -> Locator:
    return figure.get_by_role("checkbox")


def said(figure: Locator) -> Locator:
    return figure.locator(".translator-field [role=status]")


def _move(figure: Locator) -> dict[str, Any]:
    figure.locator(".column").nth(3).click()
    return {"hidden": [3]}


ROOM = Room(
    make=TranslatorFigure,
    field=field,
    said=said,
    disagreements=disagreements,
    read=READ,
    rough=1e-3,
    typed="10 mai 2001",
    characters=".column",
    move=_move,
    unreadable="?",
    ink=".verdict",
    changed={"hidden": MONTH},
    first_load=19_000,
)
