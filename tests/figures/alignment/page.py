"""What the alignment figure shows in a browser, against the model."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals, doubles
from tests.figures.alignment.cases import expected_facts, expected_sentence, visible
from tests.figures.shared.page import CLOSE, reading

READ = reading("""
    date: Number(figure.querySelector('select').value),
    step: Number(figure.querySelector('input[type=range]').value),
    mark: Number(figure.querySelector('.heat-focus').style.getPropertyValue('--at')),
    chosen: where('.output-row button', (e) => e.getAttribute('aria-current') === 'step'),
    output: texts('.output-row button bdi'),
    wrong: where('.output-row button', (e) => e.classList.contains('differs')),
    expected: texts('.output-row > :not(.row-names) .other').join(''),
    text: texts('.column bdi'),
    bars: all('.bar').map((e) => Number(e.style.scale.split(' ').at(-1))),
    peak: where('.column bdi', (e) => e.classList.contains('peak')),
    peakName: texts('.peak-name').filter(Boolean),
    gold: where('.bracket', (e) => e.classList.contains('gold')),
    ends: ['first', 'last'].flatMap((end) =>
        where('.bracket', (e) => e.classList.contains(end))),
    goldName: texts('.bracket').join(''),
    pointed: where('.column', (e) => e.classList.contains('lit')),
    sentence: figure.querySelector('.readout > span').textContent,
    rows: texts('tbody tr th'),
    numbers: bodies().flat(),
    shades: Object.fromEntries(all('.shade-path').filter((path) => path.getAttribute('d'))
        .map((path) => [path.dataset.shade, path.getAttribute('d')])),
    outlined: figure.querySelector('.gold-spans path').getAttribute('d'),
    note: figure.querySelector('.note').textContent.slice(0, 26),
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
        "shades": shades([each["weights"] for each in every]),
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
        "bars": pytest.approx(weights, abs=6e-5),
        "peak": [facts["peak"]],
        "peakName": [f"{weights[facts['peak']]:.3f}"],
        "gold": list(range(*span)) if span else [],
        "ends": [span[0], span[1] - 1] if span else [],
        "goldName": facts["field"] if span else "",
        "pointed": [],
        "sentence": expected_sentence(facts, step),
        "rows": [
            *(f"{i}: {character}" for i, character in enumerate(text)),
            f"inside the {facts['field']}" if span else "no bracket",
            "total",
        ],
        "numbers": [pytest.approx(row, rel=CLOSE, abs=CLOSE) for row in numbers],
    }


def shades(rows: list[list[float]]) -> dict[str, str]:
    """Where the cells of each shade, in 1/100, are drawn."""
    found: dict[str, str] = {}
    for y, row in enumerate(rows):
        for x, weight in enumerate(row):
            if (shade := int(100 * weight + 0.5)) > 0:
                found[str(shade)] = f"{found.get(str(shade), '')}M{x} {y}h1v1h-1z"
    return found


def outline(start: int, end: int, first: int, last: int) -> str:
    return f"M{start} {first}h{end - start}v{last - first}h-{end - start}z"


def disagreements(figure: Locator, case: str, state: dict[str, Any]) -> list[str]:
    """The parts of a figure that differ from the model for the values of its controls."""
    seen = figure.evaluate(READ)
    date, step = seen["date"], seen["step"]
    true = expected(case, state["translations"], date)[step]
    for key in seen["pointed"]:
        scores = state["translations"][date]["scores"][step]
        score, weight = (as_shown(row[key]) for row in (scores, doubles(scores).softmax(-1)))
        named = f"“{true['text'][key]}” at position {key}"
        sentence = f"At step {step}, {named} has the score {score} and the weight {weight}."
        true |= {"pointed": [key], "sentence": sentence}
    return differences(seen, true)


def as_shown(number: float) -> str:
    """A number as the page shows it: with a short exponent."""
    return re.sub(r"(e[+-])0", r"\1", decimals(float(number)))


def differences(seen: dict[str, Any], true: dict[str, Any]) -> list[str]:
    assert seen.keys() == true.keys()
    return [name for name in true if seen[name] != true[name]]
