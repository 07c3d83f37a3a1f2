"""A decoder's weights as a page reads them: all snapshots of its training."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from attnbook.figures.tokens.figure import check_parts, pack, shapes_of
from attnbook.models.vocabulary import SPECIAL

if TYPE_CHECKING:
    from torch import Tensor

    from attnbook.models.transformer.decoder import Decoder

# What the page's forward pass knows, by the kind of positions.
READABLE: dict[str | None, dict[str, Any]] = {
    "sinusoidal": {"norm": None, "feed_forward": None},
    "rotary": {"norm": "rms", "feed_forward": "swiglu"},
}
TOKENS = ("embedding", "output")  # which have a row for each token


def steps_of(name: str) -> list[int]:
    """The snapshots of one of the book's decoders.

    Raises:
        ValueError: there is no such decoder, or its file is damaged.
    """
    # Imported here, because other figures need no safetensors.
    from attnbook.models.transformer.checkpoints import decoder_steps  # noqa: PLC0415

    return decoder_steps(name)


@cache
def decoder_of(name: str, step: int | None = None) -> Decoder:
    """One of the book's decoders in double precision, as the page computes.

    Raises:
        ValueError: there is no such decoder, or it has parts that the page does not know.
    """
    from attnbook.models.transformer.checkpoints import book_decoder  # noqa: PLC0415

    decoder = book_decoder(name, step)
    check_readable(decoder)
    return decoder.double()


def check_symbols(name: str, kind: str) -> None:
    """Refuse a decoder whose tokens a figure would split or join in the wrong way.

    Raises:
        ValueError: its tokens are not of this kind, "characters" or "words".
    """
    has = decoder_of(name).vocabulary.kind
    if has != kind:
        raise ValueError(f"name must be a decoder of {kind}, got {name!r}, a decoder of {has}")


@cache
def pack_model(name: str) -> dict[str, Any]:
    """All snapshots of one of the book's decoders, as JSON can hold them.

    `data` has one text for each of `steps`: the arrays in base64, in the order of `arrays`,
    `[name, shape]`, rows first; as float16 if it represents every number, else as float32. Only
    symbols have rows in `embedding` and `output`: padding, beginning and end have none.

    Raises:
        ValueError: there is no such decoder, or it has parts that the page does not know.
    """
    steps = steps_of(name)
    decoders = [decoder_of(name, step) for step in steps]
    first = decoders[0]
    parts = [part for decoder in decoders for _, part in arrays(decoder)]
    dtype = "float16" if all(map(_is_half, parts)) else "float32"
    return {
        "name": name,
        "symbols": first.vocabulary.symbols,
        "num_hiddens": first.config.num_hiddens,
        "num_heads": first.config.num_heads,
        "num_layers": first.config.num_layers,
        "positions": first.config.positions,
        "rotary_base": first.config.rotary_base,
        "steps": steps,
        "dtype": dtype,
        "arrays": shapes_of(arrays(first)),
        "data": [pack(arrays(decoder), dtype) for decoder in decoders],
    }


def _is_half(part: Tensor) -> bool:
    return torch.equal(part.half().to(part.dtype), part)


def check_readable(decoder: Decoder) -> None:
    """Refuse what the page's forward pass leaves out.

    Raises:
        ValueError: the decoder has parts that the page does not know, or lacks some.
    """
    has = decoder.config
    check_parts("decoders", has, READABLE.get(has.positions, {"positions": "sinusoidal"}))
    check_parts("decoders", has, {"residual": True})


def arrays(decoder: Decoder) -> Iterator[tuple[str, Tensor]]:
    """The weights that the page needs, by their names there, such as "0.W_q" in the first layer."""
    for name, weight in decoder.state_dict().items():
        short = name.removeprefix("blocks.").removesuffix(".weight").replace("attention.W", "W")
        yield short, weight[SPECIAL:] if short in TOKENS else weight
