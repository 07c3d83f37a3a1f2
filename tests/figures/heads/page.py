"""What a heads figure shows in a browser, against its Python half, and its controls."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.reading import describe_count, predictable
from attnbook.figures.tokens.packing import steps_of
from attnbook.models.transformer.decoder import Reading
from tests.figures.shared.page import slider
from tests.figures.shared.trained import Room, open_more_controls
from tests.figures.tokens.page import QUERIES, misdrawn, token_reading

STEPS = steps_of("copying")
CLOSE = 1e-5
# At once: a click would be heard in a later task.
UNFOLD = """const fold = figure.querySelector('.all-weights');
    if (!fold.open) { fold.open = true; fold.dispatchEvent(new Event('toggle')); }"""
READ = token_reading(
    """
    numbers: bodies()[0].slice(0, -1),
    added: all('table')[1].hidden ? null : bodies()[1][0],
    map: shaded('.all-weights'),
    tokens: texts('.token bdi').join(''),
    guesses: texts('.token .guess').map((guess) => guess[0]).join(''),
    marks: texts('.token .guess').map((guess) => guess[1] ?? ''),
    percent: texts('.token .chance').map(Number),
    count: figure.querySelector('.answer').textContent,
    gone: all('[type=checkbox]:checked').length,
""",
    QUERIES,
).replace("=> {", f"=> {{ {UNFOLD}", 1)
TEXT = "gbdkafcdkafcdkafcd"
LONG = "abcdefgh" * 4


def disagreements(figure: Locator, python: HeadsFigure, tolerance: float = CLOSE) -> list[str]:
    """The parts of the page that differ from its Python half."""
    found = figure.evaluate(READ)
    return differences(found, python.reading, python.shown, python.query, tolerance)


def differences(
    found: dict[str, Any],
    truth: Reading,
    stored: dict[str, Any],
    query: int,
    tolerance: float = CLOSE,
) -> list[str]:
    text, (layer, head) = truth.text, stored["focus"]
    weights = truth.weights[layer, head]
    rows = [weights[q, : q + 1].tolist() for q in range(len(text))]
    scores, added = stored["scores"][layer][head][query], stored["added"][query]
    can = predictable(text)
    same = {
        "tokens": found["tokens"] == text,
        "guesses": found["guesses"] == truth.guesses,
        "percent": all(
            abs(percent - 100 * chance) <= 0.5 + 1e-3
            for percent, chance in zip(
                found["percent"], truth.probabilities.amax(-1).tolist(), strict=True
            )
        ),
        "map": abs(found["map"] - sum(round(100 * each) for row in rows for each in row)) <= 2,
        "lines": not misdrawn(found["lines"], found["leftOut"], rows[query]),
        "numbers": found["numbers"][: query + 1]
        == [  # scores are stored with few digits
            [pytest.approx(score, abs=1e-3), pytest.approx(weight, abs=tolerance)]
            for score, weight in zip(scores, rows[query], strict=True)
        ],
        "added": found["added"] == pytest.approx(added, rel=1e-4, abs=1e-9),
        "marks": found["marks"] == [*map(mark_of, truth.guesses, text[1:], can[1:]), ""],
        "count": found["count"]
        == describe_count(text, truth.guesses, stored["whole"], stored["removed"]),
        "query": found["chosen"] == [query],
        "gone": found["gone"] == len(stored["removed"]),
    }
    return [name for name, equal in same.items() if not equal]


def mark_of(guess: str, after: str, predictable: bool) -> str:
    """The mark of a guess for the next token."""
    return ("✓" if guess == after else "✗") if predictable else ""


def field(figure: Locator) -> Locator:
    return figure.get_by_role("textbox", name="tokens, from a to p")


def query(figure: Locator, position: int) -> Locator:
    return figure.get_by_role("group", name="tokens").get_by_role("button").nth(position)


def remove_box(figure: Locator, layer: int, head: int) -> Locator:
    return figure.get_by_role("checkbox", name=f"remove layer {layer}, head {head}")


def snapshot(figure: Locator) -> Locator:
    """The slider of the snapshots, unfolded."""
    open_more_controls(figure)
    return slider(figure, "snapshot")


def get_status(figure: Locator) -> Locator:
    return figure.locator(".token-status [role=status]")


def _change(figure: Locator) -> dict[str, Any]:
    snapshot(figure).press("Home")
    remove_box(figure, 1, 0).check()
    return {"step": STEPS[0], "removed": [[1, 0]]}


ROOM = Room(
    make=HeadsFigure,
    field=field,
    message=get_status,
    disagreements=disagreements,
    read=READ,
    rough=1e-4,
    typed="ponmponmponm",
    characters=".token",
    move=_change,
    refused={
        "": "Type at least one token, from a to p.",
        "abz": "The model knows only the tokens a to p, not “z”.",
        LONG + "a": "The figure shows at most 32 tokens, but there are 33.",
    },
    still=f"{TEXT}.",
    ink=".token:not([aria-pressed=true]) bdi",
    changed={"text": "gbdkafgbda", "removed": [(0, 1)]},
    cases={
        "first": {},
        "broken": {"removed": [(0, 1)], "focus": (0, 1)},
        "untrained": {"step": STEPS[0], "removed": [(1, 0), (1, 1)]},
        "long": {"text": LONG, "focus": (0, 0)},
        "one token": {"text": "p"},
        "one layer": {"name": "copying-one-layer", "text": "abcabcabc", "focus": (0, 1)},
    },
)
