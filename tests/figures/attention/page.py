"""What an attention figure shows against torch, and where its lengths stand."""

from __future__ import annotations

from typing import Any

import torch
from playwright.sync_api import Locator

from tests.figures.attention.cases import differ, truth
from tests.figures.shared.page import CLOSE

READ = """figure => {
    const numbers = row => [...row.querySelectorAll('td[data-value]')].map(
        cell => Number(cell.dataset.value));
    const slider = figure.querySelector('.temperature input');
    return {
        temperature: Number(slider.getAttribute('aria-valuetext')),
        examples: [...figure.querySelectorAll('section')].map(section => ({
            query: Number(section.querySelector('input[type=radio]:checked')?.value ?? 0),
            lens: [...section.querySelectorAll('.axis input')].map(i => Number(i.value)),
            rows: [...section.querySelectorAll('tbody tr')].map(numbers),
            total: section.querySelector('.total-text').textContent,
        })),
    };
}"""


def read(figure: Locator) -> dict[str, Any]:
    """Where the controls of a figure stand, and the numbers of its table twins."""
    return dict(figure.evaluate(READ))


def disagreements(figure: Locator, state: dict[str, Any], tolerance: float = CLOSE) -> list[str]:
    """Where the numbers that a figure shows are not PyTorch's for where its controls stand."""
    shown = read(figure)
    per_query = isinstance(state["valid_lens"][0], list)
    lens = [e["lens"] if per_query else e["lens"][0] for e in shown["examples"]]
    weights, output = truth(state, lens, shown["temperature"])
    wrong = []
    for i, example in enumerate(shown["examples"]):
        q = example["query"]
        *keys, last = example["rows"]
        expected = {
            "scores": (state["scores"][i][q], [row[0] for row in keys]),
            "weights": (weights[i, q].tolist(), [row[1] for row in keys]),
            "values": (state["values"][i], [row[2:] for row in keys]),
            "total": ([weights[i, q].sum().item()], last[:1]),
            "output": (output[i, q].tolist(), last[1:]),
        }
        wrong += [
            f"{name} of example {i}, query {q}, lengths {lens}, T {shown['temperature']}"
            for name, (truly, seen) in expected.items()
            if differ(seen, torch.tensor(truly, dtype=torch.float64), tolerance)
        ]
    return wrong


def length_slider(figure: Locator, example: int = 0) -> Locator:
    """The `valid_lens` slider that is shown for an example."""
    return figure.locator("section").nth(example).locator(".axis input:visible")


def boundaries(figure: Locator, example: int = 0) -> list[float]:
    """Where the keys' columns begin and end, in px: one more than there are keys."""
    return list(
        figure.locator("section")
        .nth(example)
        .locator(".keys")
        .evaluate(
            """keys => [...keys.children].map(key => key.getBoundingClientRect().left)
                .concat(keys.lastElementChild.getBoundingClientRect().right)"""
        )
    )
