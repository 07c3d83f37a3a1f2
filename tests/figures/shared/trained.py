"""Figures with a trained model in a browser: their weights, and what differs between kinds."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from playwright.sync_api import Locator
from torch import Tensor

from attnbook.figures.shared.trained import TrainedFigure
from tests.figures.shared.page import View
from tests.tools.site.site_checks import WIDE, Visit


@dataclass(frozen=True)
class Room:
    """The arguments of the common tests, for one kind of figure with a trained model."""

    make: type[TrainedFigure]
    field: Callable[[Locator], Locator]
    message: Callable[[Locator], Locator]  # the message about the typed text
    disagreements: Callable[..., list[str]]
    read: str  # a script that reads the whole figure
    rough: float  # the tolerance of numbers that Python stores
    typed: str
    characters: str  # one element for each typed character
    # Uses another control, and returns the traits that change.
    move: Callable[[Locator], dict[str, Any]]
    refused: dict[str, str]  # texts that cannot be read, with their messages
    still: str  # what the message names as still shown
    ink: str  # a part that is grey while the text cannot be read
    changed: dict[str, Any]  # arguments that change the model's output
    cases: dict[str, dict[str, Any]]  # arguments, by name


def open_more_controls(figure: Locator, fold: str = ".more-controls") -> None:
    """Unfold the secondary controls, or another fold, if there are any."""
    for summary in figure.locator(f"{fold}:not([open]) > summary").all():
        summary.click()


def unpack(shapes: list[tuple[str, list[int]]], data: str) -> dict[str, Tensor]:
    """Unpack arrays by name, as a page does; they must use all of the data."""
    numbers = torch.from_numpy(np.frombuffer(base64.b64decode(data), dtype="<f4").copy())
    parts = numbers.split([math.prod(shape) for _, shape in shapes])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes, parts, strict=True)}


class Trained(NamedTuple):
    """A figure on a page, and the same figure in Python."""

    view: View
    figure: Locator
    python: TrainedFigure

    def send_weights(self) -> None:
        """Send the weights, as a kernel does on request."""
        if not self.view.get("wanted")[0]:
            self.figure.scroll_into_view_if_needed()
            wanted = "index => models[index].get('wanted')"
            self.view.tab.wait_for_function(wanted, arg=self.view.index)
        self.python.set_state({"wanted": True})
        self.view.set(weights=self.python.weights)


def show_with_model(stage: Callable[..., Any], room: Room, *cases: str) -> Callable[..., Trained]:
    """A function that shows one of these cases in its first state, with the model loaded."""
    show_first = stage({case: room.make(**room.cases[case]) for case in ("first", *cases)})

    def go(case: str = "first", width: int = WIDE) -> Trained:
        view = show_first(case, width)
        trained = Trained(view, view.figure, room.make(**room.cases[case]))
        if not view.get("weights")[0]:
            trained.send_weights()
        room.field(view.figure).fill(trained.python.text)
        view.reset()
        return trained

    return go


def weight_requests(visit: Visit, name: str) -> list[str]:
    """The requests for a model's weights."""
    return [url for url in visit.requests if f"live/{name}.js" in url]
