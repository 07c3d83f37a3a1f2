"""Read what the pooling figure shows in a browser, and compare it with PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from playwright.sync_api import Locator

from tests.figures.attention.cases import differ
from tests.figures.pooling.cases import truth
from tests.figures.shared.page import CLOSE

READ = """figure => {
    const numbers = row => [...row.querySelectorAll('td[data-value]')].map(
        cell => Number(cell.dataset.value));
    const [query, width] = ['query', 'width'].map(name =>
        figure.querySelector(`input[aria-label=${name}]`));
    return {
        query: Number(query.dataset.value), width: Number(width.dataset.value),
        texts: [query, width].map(input => input.getAttribute('aria-valuetext')),
        steps: [query, width].map(input => Number(input.value)),
        rows: [...figure.querySelectorAll('tbody tr')].map(numbers),
        output: figure.querySelector('.output-text').textContent,
    };
}"""
QUERY_POSITION = """(figure, [name, [low, high]]) => {
    const query = Number(figure.querySelector('input[aria-label=query]').dataset.value);
    const box = figure.querySelector(name).getBoundingClientRect();
    return box.left + box.width * (query - low) / (high - low);
}"""
DRAWN = """figure => {
    const number = (element, name) => Number(element.getAttribute(name));
    const [scores, , values] = [...figure.querySelectorAll('.graph')];
    const [dot] = values.querySelectorAll('.output-dot');
    const points = values.querySelector('.outputs').getAttribute('d').slice(1).split('L');
    return {
        stems: [...figure.querySelectorAll('.stem')].map(stem => 100 - number(stem, 'y2')),
        scores: [...scores.querySelectorAll('.dot')].map(dot => number(dot, 'y1')),
        dots: [...values.querySelectorAll('.dot')].map(dot => number(dot, 'stroke-opacity')),
        output: [number(dot, 'x1'), number(dot, 'y1')],
        curve: points.map(point => point.split(' ').map(Number)),
    };
}"""


def slider(figure: Locator, name: str) -> Locator:
    """A figure's slider by its name."""
    return figure.get_by_label(name, exact=True)


def disagreements(seen: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """Where the numbers of a figure differ from PyTorch's for its query and width."""
    expected = truth(state["points"], [seen["query"]], seen["width"])
    *keys, last = seen["rows"]
    output = expected["output"].item()
    pairs = {
        "points": ([row[:2] for row in keys], torch.tensor(state["points"], dtype=torch.float64)),
        "scores": ([row[2] for row in keys], expected["scores"][0]),
        "weights": ([row[3] for row in keys], expected["weights"][0]),
        "last row": (last, torch.tensor([seen["query"], output, 1], dtype=torch.float64)),
    }
    wrong = [name for name, (shown, true) in pairs.items() if differ(shown, true, CLOSE)]
    return wrong + ["text"] * (f"output {output:.3f}" != seen["output"])
