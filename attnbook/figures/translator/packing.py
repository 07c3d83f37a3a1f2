"""A translator's weights as a page reads them, in float32."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from attnbook.figures.tokens.figure import check_parts, pack, shapes_of
from attnbook.models.vocabulary import BEGIN, END, SPECIAL

if TYPE_CHECKING:
    from torch import Tensor

    from attnbook.models.translator.model import Translator


@cache
def translator_of(name: str) -> Translator:
    """One of the book's translators in double precision, as the page computes.

    Raises:
        ValueError: there is no such model, or the page cannot read as it does.
    """
    # Imported here, because other figures need no safetensors.
    from attnbook.models.translator.checkpoints import book_model  # noqa: PLC0415

    model = book_model(name)
    check_readable(model)
    return model.double()


def check_readable(model: Translator) -> None:
    """Refuse an encoder that is not convolutional, and a model without attention.

    Raises:
        ValueError: the page cannot read as the model does.
    """
    check_parts("translators", model.config, {"encoder": "convolutional", "attention": True})


@cache
def pack_model(name: str) -> dict[str, Any]:
    """One of the book's translators, as JSON can hold it.

    `data` holds the arrays as `in_base64` writes them, in the order of `arrays`,
    `[name, shape]`, rows first. Only characters have rows in `embedding`.
    Row 0 of `written` is the beginning of a text, row 0 of `output` its end, and the others
    are those of the characters of `target`.

    Raises:
        ValueError: there is no such model, or the page cannot read as it does.
    """
    model = translator_of(name)
    parts = list(arrays(model))
    return {
        "name": name,
        "source": model.source.characters,
        "target": model.target.characters,
        "max_steps": model.config.max_steps,
        "num_layers": len(model.encoder.convolutions),  # type: ignore[arg-type] # a ModuleList
        "arrays": shapes_of(parts),
        "data": pack(parts),
    }


def arrays(model: Translator) -> Iterator[tuple[str, Tensor]]:
    """The weights that the page needs, by their names there."""
    weights = model.state_dict()
    yield "embedding", weights["encoder.embedding.weight"][SPECIAL:]
    for layer, _ in enumerate(model.encoder.convolutions):  # type: ignore[arg-type] # a ModuleList
        for part in ("weight", "bias"):
            yield f"{layer}.{part}", weights[f"encoder.convolutions.{layer}.{part}"]
    for part in ("start.weight", "start.bias"):
        yield part, weights[part]
    written = weights["written.weight"]
    yield "written", torch.cat([written[BEGIN : BEGIN + 1], written[SPECIAL:]])
    for part in ("W_q", "W_k", "w_v"):
        yield part, weights[f"attention.{part}.weight"]
    for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        yield part, weights[f"cell.{part}"]
    for part in ("weight", "bias"):
        yield f"output.{part}", weights[f"output.{part}"][END:]
