"""What the translator figure stores of a translation, and what it says of it: as the page does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from attnbook.figures.translator.packing import translator_of
from attnbook.models.rest import at_rest
from attnbook.models.translator.interventions import without

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

DIGITS = 5  # of the numbers that a page shows until its model is there
NAMED = 3  # pieces in a sentence
NOTHING = "nothing"


class Reading(NamedTuple):
    """A translation in double precision: what was scored, and what was pooled with."""

    text: str
    output: str
    scores: Float[Tensor, "steps keys"]
    weights: Float[Tensor, "steps keys"]


def read(name: str, text: str, hidden: Sequence[int] = ()) -> Reading:
    """Translate a text while some of its characters get no weight; the others share it."""
    model = translator_of(name)
    mask = torch.tensor([i in hidden for i in range(len(text))], device="cpu")
    queries: list[Tensor] = []
    # The decoder's last state asks, and then goes into its cell.
    hook = model.cell.register_forward_pre_hook(lambda _cell, given: queries.append(given[1]))
    try:
        (found,) = model.translate([text], lambda weights, _step: without(weights, mask))
    finally:
        hook.remove()
    with at_rest(model):
        keys = model.encode(*model.read([text])).states
        scores = model.attention.score(torch.stack(queries, dim=1), keys)  # type: ignore[union-attr] # checked
    if found.weights is None:
        raise TypeError("the model must attend")  # it was asked when it was loaded
    return Reading(text, found.output, scores[0, : len(found.output)], found.weights)


def stored(name: str, text: str, hidden: Sequence[int]) -> dict[str, Any]:
    """What a page shows until its model is there, with few digits; scores by step and character."""
    reading = read(name, text, hidden)
    return {
        "text": text,
        "hidden": [*hidden],
        "characters": translator_of(name).source.characters,
        "output": reading.output,
        "whole": read(name, text).output,
        "scores": [[float(f"{n:.{DIGITS}g}") for n in row] for row in reading.scores.tolist()],
    }


def names_of(text: str, hidden: Sequence[int]) -> str:
    """The hidden characters in a sentence: those beside each other as one piece, unless many."""
    runs = groupby(range(len(text)), lambda i: i in hidden)
    pieces = [f"“{''.join(text[i] for i in run)}”" for gone, run in runs if gone]
    if len(pieces) > NAMED:
        return f"{len(hidden)} of its characters"
    *names, last = pieces
    return f"{', '.join(names)} and {last}" if names else last


def verdict(text: str, hidden: Sequence[int], output: str, whole: str) -> str:
    """Whether the answer is another one without the hidden characters."""
    wrote = output or NOTHING
    if not hidden:
        return f"It writes {wrote}."
    left = f"Without {names_of(text, hidden)}"
    if len(hidden) == len(text):
        left = "With nothing left to look at"
    if output == whole:
        return f"{left} it still writes {wrote}."
    return f"{left} it writes {wrote} instead of {whole or NOTHING}."
