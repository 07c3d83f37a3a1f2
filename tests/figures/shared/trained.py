"""A figure with a trained model in a browser: how its weights come, and what its room says."""

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
from tests.figures.shared.page import Shown
from tests.tools.site.site_checks import WIDE, Visit


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
    refused: dict[str, str]  # what cannot be read, and what is said of it
    still: str  # what of the first text stays, as it is said there
    ink: str  # a part that is grey while something unreadable is typed
    changed: dict[str, Any]  # arguments with which the model says something else
    cases: dict[str, dict[str, Any]]  # arguments, by name
    first_load: int  # bytes of the module and its style, packed by gzip -6


def unpacked(shapes: list[tuple[str, list[int]]], data: str) -> dict[str, Tensor]:
    """Arrays as a page reads them, by their names; all of the data is theirs."""
    numbers = torch.from_numpy(np.frombuffer(base64.b64decode(data), dtype="<f4").copy())
    parts = numbers.split([math.prod(shape) for _, shape in shapes])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes, parts, strict=True)}


class Trained(NamedTuple):
    """A figure of a page, and its Python half."""

    shown: Shown
    figure: Locator
    python: TrainedFigure

    def answer(self) -> None:
        """Send the weights, as a kernel does when it is asked."""
        if not self.shown.get("wanted")[0]:
            self.figure.scroll_into_view_if_needed()
            wanted = "place => models[place].get('wanted')"
            self.shown.tab.wait_for_function(wanted, arg=self.shown.place)
        self.python.set_state({"wanted": True})
        self.shown.set(weights=self.python.weights)


def with_model(stage: Callable[..., Any], room: Room) -> Callable[..., Trained]:
    """A function that gives a case as it was first, with the model in its page."""
    given = stage({case: room.make(**arguments) for case, arguments in room.cases.items()})

    def go(case: str = "first", width: int = WIDE) -> Trained:
        shown = given(case, width)
        found = Trained(shown, shown.figure, room.make(**room.cases[case]))
        if not shown.get("weights")[0]:
            found.answer()
        room.field(shown.figure).fill(found.python.text)
        shown.reset()
        return found

    return go


def asked_for(visit: Visit, name: str) -> list[str]:
    """The requests for a model's weights."""
    return [url for url in visit.requests if f"live/{name}.js" in url]
