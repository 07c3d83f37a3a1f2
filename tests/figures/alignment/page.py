"""What the alignment figure shows in a browser, against the model."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator

from tests.figures.alignment.cases import expected_facts, expected_sentence, shown

CLOSE = 1e-12  # the contract asks for 1e-6

READ = """figure => {
    const texts = (selector) => [...figure.querySelectorAll(selector)].map(e => e.textContent);
    const where = (selector, test) =>
        [...figure.querySelectorAll(selector)].flatMap((e, i) => (test(e) ? [i] : []));
    const has = (name) => (e) => e.classList.contains(name);
    const heat = figure.querySelector('.heat-cells svg');
    return {
        date: Number(figure.querySelector('select').value),
        step: Number(figure.querySelector('input[type=range]').value),
        output: texts('.output-row button'),
        chosen: where('.output-row button', e => e.getAttribute('aria-current') === 'step'),
        wrong: where('.output-row button', has('wrong')),
        expected: texts('.expected-row:not([hidden]) bdi').join(''),
        text: texts('.column bdi'),
        bars: [...figure.querySelectorAll('.bar')].map(
            e => Number(e.style.scale.split(' ').at(-1))),
        peak: where('.column', has('peak')),
        peakName: texts('.peak-name'),
        gold: where('.column', has('gold')),
        ends: [...where('.column', has('first')), ...where('.column', has('last'))],
        goldName: texts('.gold-name').join(''),
        sentence: figure.querySelector('.readout').textContent,
        rows: texts('tbody tr th'),
        numbers: [...figure.querySelectorAll('tbody tr')].map(row =>
            [...row.querySelectorAll('td')].map(
                cell => cell.textContent && Number(cell.dataset.value))),
        mark: Number(figure.querySelector('.heat-mark').style.getPropertyValue('--at')),
        heat: [...heat.querySelectorAll('.shade-path')].reduce((sum, path) =>
            sum + Number(path.dataset.shade) * (path.getAttribute('d').split('z').length - 1), 0),
        outlined: [...heat.querySelectorAll('.gold-box')].map(e => e.dataset.field).join(' '),
    };
}"""


def step_slider(figure: Locator) -> Locator:
    """The slider below the output."""
    return figure.get_by_role("slider", name="step", exact=True)


def date_choice(figure: Locator) -> Locator:
    """The choice of a text."""
    return figure.get_by_role("combobox", name="date", exact=True)


def expected(case: str, state: dict[str, Any], date: int, step: int) -> dict[str, Any]:
    """What `READ` must find."""
    scores = state["translations"][date]["scores"]
    facts = expected_facts(case, date, step, scores)
    span, weights = facts["span"], facts["weights"]
    output = "".join(facts["output"])
    differs = facts["expected"] not in ("", output)
    wanted = facts["expected"] if differs else ""
    inside = [["", pytest.approx(facts["inside"], rel=CLOSE, abs=CLOSE)]] if span else [["", ""]]
    every = [expected_facts(case, date, t, scores) for t in range(len(output))]
    fields = {each["field"] for each in every if each["span"]}
    spans = state["translations"][date]["spans"]
    return {
        "date": date,
        "step": step,
        "mark": step,
        "chosen": [step],
        "output": facts["output"],
        "wrong": [t for t, c in enumerate(output) if wanted and wanted[t : t + 1] != c],
        "expected": wanted,
        "text": [shown(character) for character in facts["text"]],
        "bars": pytest.approx(weights, abs=6e-5),
        "peak": [facts["peak"]],
        "peakName": [f"{weights[facts['peak']]:.3f}"],
        "gold": list(range(*span)) if span else [],
        "ends": [span[0], span[1] - 1] if span else [],
        "goldName": facts["field"] if span else "",
        "sentence": expected_sentence(facts, step),
        "rows": [
            *(f"{i}: {shown(character)}" for i, character in enumerate(facts["text"])),
            f"inside the {facts['field']}" if span else "no gold span",
            "total",
        ],
        "numbers": [
            *([score, pytest.approx(weight, rel=CLOSE, abs=CLOSE)]
              for score, weight in zip(scores[step], weights, strict=True)),
            *inside,
            ["", pytest.approx(1)],
        ],
        "heat": sum(int(100 * w + 0.5) for each in every for w in each["weights"]),
        "outlined": " ".join(field for field in spans if field in fields),
    }  # fmt: skip


def disagreements(figure: Locator, case: str, state: dict[str, Any]) -> list[str]:
    """What a figure shows that is not the model's for where its controls stand."""
    seen = figure.evaluate(READ)
    true = expected(case, state, seen["date"], seen["step"])
    assert seen.keys() == true.keys()
    return [name for name in true if seen[name] != true[name]]
