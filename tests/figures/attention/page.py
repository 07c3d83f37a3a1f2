"""Compares an attention figure on a page with torch, and finds its sliders."""

from __future__ import annotations

from typing import Any

import torch
from playwright.sync_api import Locator

from tests.figures.attention.cases import differ, truth
from tests.figures.shared.page import CLOSE, reading

READ = reading("""
    temperature: Number(figure.querySelector('[aria-label=temperature]').ariaValueText),
    examples: all('.example').map((section, i) => ({
        query: Number(section.querySelector('input[type=radio]:checked')?.value ?? 0),
        lens: all('.axis input', section).map((input) => Number(input.value)),
        rows: all('tbody tr', all('table')[i]).map(values),
    })),
""")


def read(figure: Locator) -> dict[str, Any]:
    """Read the values of a figure's controls, and the numbers of its tables."""
    return dict(figure.evaluate(READ))


def disagreements(figure: Locator, state: dict[str, Any], tolerance: float = CLOSE) -> list[str]:
    """List the numbers of a figure that differ from PyTorch's, for the values of its controls."""
    return differences(read(figure), state, tolerance)


def differences(
    numbers: dict[str, Any], state: dict[str, Any], tolerance: float = CLOSE
) -> list[str]:
    """List the numbers that differ in what `READ` returned; hidden weights must be exactly 0."""
    per_query = isinstance(state["valid_lens"][0], list)
    shown = [e["lens"] if per_query else sum(e["lens"]) for e in numbers["examples"]]
    lens = shown if state["has_lengths"] else state["valid_lens"]
    weights, output = truth(state, lens, numbers["temperature"])
    wrong = []
    for i, example in enumerate(numbers["examples"]):
        q = example["query"]
        *keys, last = example["rows"]
        shown_weights = [row[1] for row in keys]
        expected = {
            "scores": (state["scores"][i][q], [row[0] for row in keys]),
            "weights": (weights[i, q].tolist(), shown_weights),
            "values": (state["values"][i], [row[2:] for row in keys]),
            "total": ([weights[i, q].sum().item()], last[:1]),
            "output": (output[i, q].tolist(), last[1:]),
        }
        wrong += [
            f"{name} of example {i}, query {q}, lengths {lens}, T {numbers['temperature']}"
            for name, (true, seen) in expected.items()
            if differ(seen, torch.tensor(true, dtype=torch.float64), tolerance)
        ]
        if not torch.equal(torch.tensor(shown_weights) == 0, weights[i, q] == 0):
            wrong.append(f"zeros of example {i}, query {q}, lengths {lens}")
    return wrong


def length_slider(figure: Locator, example: int = 0) -> Locator:
    """The visible `valid_lens` slider of an example."""
    return figure.locator(".example").nth(example).locator(".axis input:visible")


def boundaries(figure: Locator, example: int = 0) -> list[float]:
    """The edges of the keys' columns in px, from left to right."""
    keys = figure.locator(".example").nth(example).locator(".keys")
    return list(
        keys.evaluate(
            """keys => [...keys.children].map(key => key.getBoundingClientRect().left)
                .concat(keys.lastElementChild.getBoundingClientRect().right)"""
        )
    )
