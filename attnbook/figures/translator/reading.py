"""The translator figure's stored translation and its sentences, which the page computes too."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from attnbook.figures.shared.base import SHARED
from attnbook.figures.tokens.figure import round_all
from attnbook.figures.translator.packing import translator_of
from attnbook.messages import Messages
from attnbook.models.evaluation import evaluating
from attnbook.models.translator.interventions import without
from attnbook.models.vocabulary import END

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

TEXT = Messages(__file__)
NAMED = 3  # pieces in a sentence


class Reading(NamedTuple):
    """A translation in double precision: scores, weights and probabilities."""

    text: str
    output: str
    scores: Float[Tensor, "steps keys"]
    weights: Float[Tensor, "steps keys"]
    # One for each written character, and one for the end if the model writes it.
    probabilities: Float[Tensor, " written"]


def read(name: str, text: str, hidden: Sequence[int] = ()) -> Reading:
    """Translate a text while some of its characters get no weight; the others share it."""
    model = translator_of(name)
    mask = torch.tensor([i in hidden for i in range(len(text))], device="cpu")
    queries: list[Tensor] = []
    logits: list[Tensor] = []
    with ExitStack() as hooks:
        # The decoder's last state is the query, and then goes into its cell.
        cell_hook = model.cell.register_forward_pre_hook(
            lambda _cell, given: queries.append(given[1])
        )
        output_hook = model.output.register_forward_hook(
            lambda _layer, _, row: logits.append(row[0])
        )
        for hook in (cell_hook, output_hook):
            hooks.callback(hook.remove)
        (found,) = model.translate([text], lambda weights, _step: without(weights, mask))
    with evaluating(model):
        keys = model.encode(*model.read([text])).states
        scores = model.attention.score(torch.stack(queries, dim=1), keys)  # type: ignore[union-attr] # checked
    if found.weights is None:
        raise TypeError("the model must attend")  # checked when it was loaded
    # Padding and beginnings are never written.
    probabilities = torch.stack(logits)[:, END:].softmax(-1).amax(-1)[: len(found.output) + 1]
    return Reading(text, found.output, scores[0, : len(found.output)], found.weights, probabilities)


def compute_stored(name: str, text: str, hidden: Sequence[int]) -> dict[str, Any]:
    """What a page shows until its model is there, with few digits; scores by step and character."""
    reading = read(name, text, hidden)
    return {
        "text": text,
        "hidden": [*hidden],
        "characters": translator_of(name).source.characters,
        "output": reading.output,
        "whole": read(name, text).output,
        "scores": [round_all(row) for row in reading.scores.tolist()],
        "probabilities": round_all(reading.probabilities.tolist()),
    }


def probable(probability: float) -> str:
    """A probability with three digits; no uncertain one as 0 or 1."""
    if probability < 0.0005:
        return TEXT("almost_impossible")
    return TEXT("almost_certain") if probability > 0.9995 else f"{probability:.3f}"


def certainty(probabilities: Sequence[float]) -> str:
    """How probable the output is to the model, its end included."""
    return TEXT("certainty", probability=probable(math.prod(probabilities)))


def objection(output: str) -> str:
    """What is wrong with an output that is no date, which its probability does not show."""
    if is_date(output):
        return ""
    return TEXT("no_date", output=output or SHARED("nothing"))


def is_date(text: str) -> bool:
    """Whether a text is YYYY-MM-DD and a day of the calendar."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def names_of(text: str, hidden: Sequence[int]) -> str:
    """The hidden characters in a sentence: neighbours as one piece; of many pieces the count."""
    runs = groupby(range(len(text)), lambda i: i in hidden)
    pieces = ["".join(text[i] for i in run) for gone, run in runs if gone]
    if len(pieces) > NAMED:
        return TEXT("many_hidden", count=len(hidden))
    *names, last = (SHARED("quoted", text=piece) for piece in pieces)
    return SHARED("joined_with_and", others=", ".join(names), last=last) if names else last


def verdict(text: str, hidden: Sequence[int], output: str, whole: str) -> str:
    """Whether the answer changes without the hidden characters."""
    outputs = {"output": output or SHARED("nothing"), "whole": whole or SHARED("nothing")}
    if not hidden:
        return TEXT("writes", **outputs)
    same = output == whole
    if len(hidden) == len(text):
        return TEXT("nothing_left_same_output" if same else "nothing_left_other_output", **outputs)
    characters = names_of(text, hidden)
    return TEXT(
        "without_same_output" if same else "without_other_output", **outputs, characters=characters
    )
