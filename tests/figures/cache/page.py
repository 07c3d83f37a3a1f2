"""What a cache figure shows in a browser, against its Python half, and its controls."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures import CacheFigure
from attnbook.figures.cache.bugs import Settings
from attnbook.figures.cache.figure import RANGES
from attnbook.figures.cache.measuring import make_pairs
from attnbook.figures.cache.reading import encode
from attnbook.figures.cache.writing import write
from attnbook.figures.tokens.packing import decoder_of
from tests.figures.shared.page import slider
from tests.figures.shared.trained import Room, open_more_controls
from tests.figures.tokens.page import misdrawn, token_reading

TEXT = "gbdkafcdkafc"
FIRST, SECOND = make_pairs(1)[0].texts
READ = token_reading(
    """
    slots: texts('.token-row:not(.queries) bdi'),
    positions: texts('.token-row:not(.queries) .chance').map((text) => text.trim()),
    written: texts('.queries bdi'),
    above: texts('.queries .above'),
    answer: figure.querySelector('.answer').textContent,
    numbers: bodies()[0],
    outputs: bodies()[1],
    bug: figure.querySelector('.bug-row select').value,
    firstUser: figure.querySelector('.first-user')?.textContent ?? '',
"""
)


def exact(python: CacheFigure, step: int) -> tuple[list[float], list[float]]:
    """Scores and weights of the head in focus at a step, with all digits."""
    model = decoder_of(python.name)
    first = encode(model, python.first) if python.first else None
    settings = Settings(*(getattr(python, name) for name in RANGES))
    prompt = encode(model, python.text)
    _, steps = write(model, prompt, python.count, settings, python.bug, first)
    layer, head = python.focus
    found = steps[step]
    return found.scores[layer, 0, head].tolist(), found.weights[layer, 0, head].tolist()


def disagreements(figure: Locator, python: CacheFigure, tolerance: float = 1e-9) -> list[str]:
    """The parts of the page that differ from its Python half."""
    return differences(figure.evaluate(READ), python, tolerance)


def differences(found: dict[str, Any], python: CacheFigure, tolerance: float) -> list[str]:
    steps = python.shown["steps"]
    step = min(python.step, len(steps) - 1)
    now = steps[step]
    scores, weights = exact(python, step)
    expected = [each["expected"] for each in steps]
    written = [each["token"] for each in steps]
    differ = sum(one != other for one, other in zip(written, expected, strict=True))
    marks = {"real": None, "padding": "–", "free": "·"}
    numbers = zip(scores, weights, strict=True)
    other = f"Tokens that differ from recomputing: {differ} of {len(steps)}."
    answer = other if differ else ("All", "The token")
    same = {
        "slots": found["slots"] == [marks[kind] or token for kind, _, _, token, _ in now["slots"]],
        "positions": found["positions"]
        == [str(position) if kind == "real" else "" for kind, position, *_ in now["slots"]],
        "written": found["written"] == written,
        "above": found["above"] == (expected if differ else [""] * len(expected)),
        "answer": found["answer"].startswith(answer)
        and python.shown["without_bug"] in found["answer"],
        "numbers": [row[:2] for row in found["numbers"][: len(weights)]]
        == [pytest.approx([*row], rel=tolerance, abs=tolerance) for row in numbers],
        "outputs": found["outputs"]
        == [
            pytest.approx([*row], rel=1e-3, abs=1e-3)
            for row in zip(now["own"]["output"], now["again"]["output"], strict=True)
        ],
        "lines": not misdrawn(found["lines"], found["leftOut"], weights),
        "chosen": found["chosen"] == [step],
        "bug": found["bug"] == python.bug,
        "first": python.shown["first_answer"] in found["firstUser"],
    }
    return [name for name, equal in same.items() if not equal]


def field(figure: Locator) -> Locator:
    return figure.get_by_role("textbox")


def setting(figure: Locator, name: str) -> Locator:
    """The slider of a setting, unfolded."""
    open_more_controls(figure)
    return slider(figure, name)


def menu(figure: Locator) -> Locator:
    return figure.locator(".bug-row select")


def _change(figure: Locator) -> dict[str, Any]:
    menu(figure).select_option("past_ignored")
    setting(figure, "padding").press("ArrowRight")
    return {"bug": "past_ignored", "padding": 1}


ROOM = Room(
    make=CacheFigure,
    field=field,
    message=lambda figure: figure.locator(".token-status [role=status]"),
    disagreements=disagreements,
    read=READ,
    rough=5e-3,
    typed="ponmponmponm",
    characters=".token-row:not(.queries) .real",
    move=_change,
    refused={
        "": "Type at least one token.",
        "abz": "The model does not know “z”. It knows: a b c d e f g h i j k l m n o p.",
        "abcdefghijklmnopa": "Type at most 16 tokens, not 17.",
    },
    still=f"{TEXT}.",
    ink=".token:not([aria-pressed=true]) bdi",
    changed={"text": "milkmilkmilk", "bug": "positions_restart"},
    cases={
        "first": {},
        "bug": {"bug": "causal_from_the_first_key", "step": 3},
        "window": {"settings": {"window": 5, "sinks": 1, "chunk": 4}, "step": 7, "focus": (0, 1)},
        "drafts": {"bug": "rejected_drafts_stay", "settings": {"drafts": 2, "padding": 2}},
        "users": {"name": "story", "text": SECOND, "first": FIRST},
    },
)
