"""What a heads figure shows in a browser, against its Python half, and where it is touched."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.packing import steps_of
from attnbook.figures.heads.reading import counted
from tests.figures.shared.trained import Room

STEPS = steps_of("copying")
CLOSE = 1e-5
READ = """figure => {
    const [weights, added] = figure.querySelectorAll('tbody');
    const numbers = row => [...row.cells].slice(1).map(cell => cell.dataset.value)
        .filter(value => value !== '').map(Number);
    const told = name => [...figure.querySelectorAll('.heads-line .' + name)].map(
        part => part.textContent);
    return {
        rows: [...weights.rows].map(numbers),
        added: added && added.closest('table').hidden ? null : numbers(added.rows[0]),
        symbols: told('symbol').join(''),
        guesses: told('guess').map(guess => guess[0]).join(''),
        marks: told('guess').map(guess => guess[1] ?? ''),
        percent: told('chance').map(Number),
        chosen: [...figure.querySelectorAll('.heads-line button')].findIndex(
            button => button.ariaPressed === 'true'),
        count: figure.querySelector('.readout').textContent,
        gone: [...figure.querySelectorAll('[type=checkbox]')].map(box => box.checked),
    };
}"""


def disagreements(figure: Locator, python: HeadsFigure, tolerance: float = CLOSE) -> list[str]:
    """What of the page is not what this Python half says."""
    seen, truth, text = figure.evaluate(READ), python.reading, python.text
    layer, head = python.focus
    weights = truth.weights[layer, head]
    rows = [weights[q, : q + 1].tolist() for q in range(len(text))]
    rows.append(python.shown["scores"][layer][head][python.query])
    added = python.shown["added"][python.query]
    close = [tolerance] * len(text) + [1e-3]  # Python stores few digits of the scores
    same = {
        "symbols": seen["symbols"] == text,
        "guesses": seen["guesses"] == truth.guesses,
        "percent": all(
            abs(shown - 100 * chance) <= 0.5 + 1e-3
            for shown, chance in zip(
                seen["percent"], truth.probabilities.amax(-1).tolist(), strict=True
            )
        ),
        "weights": all(
            len(found) == len(row) and max(abs(a - b) for a, b in zip(found, row, strict=True)) < c
            for found, row, c in zip(seen["rows"], rows, close, strict=True)
        ),
        "added": seen["added"] == pytest.approx(added, rel=1e-4, abs=1e-9),
        "marks": [mark or "·" for mark in seen["marks"]]
        == python.static_text.splitlines()[4].split()[1:],
        "count": seen["count"]
        == counted(text, truth.guesses, python.shown["whole"], python.removed),
        "query": seen["chosen"] == python.query,
        "gone": sum(seen["gone"]) == len(python.removed),
    }
    return [name for name, holds in same.items() if not holds]


def field(figure: Locator) -> Locator:
    return figure.get_by_role("textbox", name="symbols, from a to p")


def slider(figure: Locator, name: str) -> Locator:
    return figure.get_by_role("slider", name=name, exact=True)


def take_away(figure: Locator, layer: int, head: int) -> Locator:
    return figure.get_by_role("checkbox", name=f"take away layer {layer}, head {head}")


def said(figure: Locator) -> Locator:
    return figure.locator(".heads-field [role=status]")


def _move(figure: Locator) -> dict[str, Any]:
    slider(figure, "snapshot").press("Home")
    take_away(figure, 1, 0).check()
    return {"step": STEPS[0], "removed": [[1, 0]]}


ROOM = Room(
    make=HeadsFigure,
    field=field,
    said=said,
    disagreements=disagreements,
    read=READ,
    rough=1e-4,
    typed="ponmponmponm",
    characters=".heads-line button",
    move=_move,
    unreadable="xyz",
    ink=".symbol",
    changed={"text": "gbdkafgbda", "removed": [(0, 1)]},
    first_load=21_000,
)
