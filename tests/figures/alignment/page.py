"""What the alignment figure shows in a browser, against the model."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator

from tests.figures.alignment.cases import expected_facts, visible
from tests.figures.shared.page import CLOSE
from tests.figures.tokens.page import misdrawn, token_reading

READ = token_reading("""
    date: Number(figure.querySelector('select').value),
    step: Number(figure.querySelector('input[type=range]').value),
    mark: Number(figure.querySelector('.heat-focus').style.getPropertyValue('--at')),
    output: texts('.queries button bdi'),
    wrong: where('.queries button', (e) => e.classList.contains('differs')),
    expected: texts('.queries .above').join(''),
    text: texts(`${keys} bdi`),
    gold: where(`${keys} > .token`, (e) => {
        const box = figure.querySelector('.token-bracket path[d]')?.getBoundingClientRect();
        const token = e.getBoundingClientRect();
        return box && box.left < token.left + 3 && token.right - 3 < box.right;
    }),
    goldName: texts('.token-bracket text').join(''),
    rows: texts('tbody tr th'),
    numbers: bodies().flat(),
    map: shaded(),
    outlined: figure.querySelector('.gold-spans path').getAttribute('d'),
    note: figure.querySelector('.note').textContent.match(/Written from right to left/)?.[0] ?? '',
""")
STEPS = {"year": (0, 4), "month": (5, 7), "day": (8, 10)}


def date_choice(figure: Locator) -> Locator:
    """The choice of a text."""
    return figure.get_by_role("combobox", name="date", exact=True)


def expected(case: str, translations: list[dict[str, Any]], date: int) -> list[dict[str, Any]]:
    """The expected result of `READ` at each step of a text."""
    scores = translations[date]["scores"]
    every = [expected_facts(case, date, step, row) for step, row in enumerate(scores)]
    output = "".join(every[0]["output"])
    wanted = every[0]["expected"] if every[0]["expected"] != output else ""
    text = [visible(character) for character in every[0]["text"]]
    whole = {
        "date": date,
        "output": [*output],
        "wrong": [t for t, c in enumerate(output) if wanted and wanted[t : t + 1] != c],
        "expected": wanted,
        "text": text,
        "map": sum(int(100 * weight + 0.5) for each in every for weight in each["weights"]),
        "outlined": "".join(
            outline(*span, STEPS[field][0], min(len(output), STEPS[field][1]))
            for field, span in translations[date]["spans"].items()
            if STEPS[field][0] < len(output)
        ),
        "note": "Written from right to left" if translations[date]["locale"] == "he" else "",
    }
    return [whole | of_step(text, step, scores[step], facts) for step, facts in enumerate(every)]


def of_step(
    text: list[str], step: int, scores: list[float], facts: dict[str, Any]
) -> dict[str, Any]:
    span, weights = facts["span"], facts["weights"]
    numbers = [[score, weight] for score, weight in zip(scores, weights, strict=True)]
    numbers += [[facts["inside"]] if span else [], [1]]
    return {
        "step": step,
        "mark": step,
        "chosen": [step],
        "lines": weights,
        "gold": list(range(*span)) if span else [],
        "goldName": facts["field"] if span else "",
        "pointed": [],
        "rows": [
            *(f"{i}: {character}" for i, character in enumerate(text)),
            f"inside the {facts['field']}" if span else "no bracket",
            "total",
        ],
        "numbers": [pytest.approx(row, rel=CLOSE, abs=CLOSE) for row in numbers],
    }


def outline(start: int, end: int, first: int, last: int) -> str:
    return f"M{start} {first}h{end - start}v{last - first}h-{end - start}z"


def differences(seen: dict[str, Any], true: dict[str, Any]) -> list[str]:
    true = true | {name: seen[name] for name in ("leftOut", "sentence")}
    assert seen.keys() == true.keys()
    wrong = [name for name in true if name != "lines" and seen[name] != true[name]]
    return wrong + ["lines"] * misdrawn(seen["lines"], seen["leftOut"], true["lines"])
