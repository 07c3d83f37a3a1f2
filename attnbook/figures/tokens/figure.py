"""`TokenFigure`: what figures share whose text the reader types, and a trained model reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from attnbook.figures.shared.base import stylesheet
from attnbook.figures.shared.trained import TrainedFigure, in_base64

if TYPE_CHECKING:
    from torch import Tensor

SHEETS = ("shared/theme.css", "shared/style.css", "shared/heatmap.css", "tokens/style.css")
STYLE = stylesheet(*SHEETS)
DIGITS = 5  # of the numbers that a page shows until its model is there
SPACE = "␣"


class TokenFigure(TrainedFigure):
    """Tokens, and a line from a token to each one that it attends to, as thick as the weight."""

    text = traitlets.Unicode().tag(sync=True)


def quote(character: str) -> str:
    """A character in a figure's text form."""
    return f'"{SPACE if character.isspace() else character}"'


def check_parts(models: str, config: object, needed: dict[str, Any]) -> None:
    """Refuse what the page's forward pass leaves out.

    Raises:
        ValueError: a part of the model is not the needed one.
    """
    for part, value in needed.items():
        got = getattr(config, part)
        if got != value:
            raise ValueError(f"a page reads {models} with {part}={value!r}, got {got!r}")


def shapes_of(parts: Iterable[tuple[str, Tensor]]) -> list[list[Any]]:
    """The names and shapes of arrays, in the order in which `in_base64` writes them."""
    return [[name, [*array.shape]] for name, array in parts]


def pack(parts: Iterable[tuple[str, Tensor]], dtype: str = "float32") -> str:
    """The numbers of arrays, as a page reads them."""
    return in_base64((array for _, array in parts), dtype)


def round_all(numbers: Sequence[float], digits: int = DIGITS) -> list[float]:
    """Numbers with few digits, to be shown until the model has loaded."""
    return [float(f"{number:.{digits}g}") for number in numbers]
