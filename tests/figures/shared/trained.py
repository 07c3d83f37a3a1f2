"""A figure with a trained model in a browser: how its weights come, and what its room tells."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from attnbook.figures.shared.trained import TrainedFigure
from tests.figures.shared.page import FROM_PYTHON, PHONE
from tests.tools.site.site_checks import NARROW, WIDE, Visit


@dataclass(frozen=True)
class Room:
    """What is asked of each figure with a trained model, in the words of one of them."""

    make: type[TrainedFigure]
    field: Callable[[Locator], Locator]
    said: Callable[[Locator], Locator]  # what is said of what is typed
    disagreements: Callable[..., list[str]]
    read: str  # all that is shown
    rough: float  # how near to the model's numbers those are that Python stores
    typed: str
    characters: str  # of which there are as many as were typed
    move: Callable[[Locator], dict[str, Any]]  # another control; the traits that follow
    unreadable: str
    ink: str  # a part that is grey while something unreadable is typed
    changed: dict[str, Any]  # arguments with which the model says something else
    first_load: int  # bytes of the module and its style, packed by gzip -6


def answer(tab: Page, python: TrainedFigure) -> None:
    """Send the weights, as a kernel does when it is asked."""
    tab.wait_for_function("models[0].get('wanted')")
    python.set_state({"wanted": True})
    tab.evaluate(FROM_PYTHON, ["weights", python.weights])


def unpacked(shapes: list[tuple[str, list[int]]], data: str) -> dict[str, Tensor]:
    """Arrays as a page reads them, by their names; all of the data is theirs."""
    numbers = torch.from_numpy(np.frombuffer(base64.b64decode(data), dtype="<f4").copy())
    parts = numbers.split([math.prod(shape) for _, shape in shapes])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes, parts, strict=True)}


def shown_alone(alone: Callable[..., Any], make: type[TrainedFigure]) -> Callable[..., Any]:
    """A function that opens a page with one figure, and gives tab, figure and its Python half."""

    @contextmanager
    def go(width: int = WIDE, weights: bool = True, **arguments: Any):
        python, phone = make(**arguments), PHONE if width == NARROW else {}
        with alone(python, width=width, reduced_motion="no-preference", **phone) as (tab, figure):
            if weights:
                answer(tab, python)
            yield tab, figure, python

    return go


def asked_for(visit: Visit, name: str) -> list[str]:
    """The requests for a model's weights."""
    return [url for url in visit.requests if f"live/{name}.js" in url]


def check_refusal(room: Room, figure: Locator, typed: str, told: str, still: str) -> None:
    """What cannot be read stays in the field and gets a sentence; what was shown turns grey."""
    room.field(figure).fill(typed)
    expect(room.said(figure)).to_have_text(f"{told} Still shown: {still}")
    expect(figure.locator(".stale")).to_have_count(1)
    expect(room.field(figure)).to_have_attribute("aria-invalid", "true")
    assert room.field(figure).input_value() == typed
