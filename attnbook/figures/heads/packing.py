"""A decoder's weights as a page reads them: all snapshots of its training, in float32."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from attnbook.figures.tokens.figure import check_parts, pack, shapes_of
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.vocabulary import SPECIAL

if TYPE_CHECKING:
    from torch import Tensor

    from attnbook.models.transformer.decoder import Decoder

PARTS = ("W_q", "W_k", "W_v", "W_o")


def steps_of(name: str) -> list[int]:
    """The snapshots of one of the book's decoders.

    Raises:
        ValueError: there is no such decoder, or its file is damaged.
    """
    # Imported here, because other figures need no safetensors.
    from attnbook.models.transformer.checkpoints import decoder_steps  # noqa: PLC0415

    return decoder_steps(name)


@cache
def decoder_of(name: str, step: int) -> Decoder:
    """One of the book's decoders in double precision, as the page computes.

    Raises:
        ValueError: there is no such decoder, or it has parts that the page does not know.
    """
    from attnbook.models.transformer.checkpoints import book_decoder  # noqa: PLC0415

    decoder = book_decoder(name, step)
    check_readable(decoder)
    return decoder.double()


@cache
def pack_model(name: str) -> dict[str, Any]:
    """All snapshots of one of the book's decoders, as JSON can hold them.

    `data` has one text for each of `steps`: the arrays as `in_base64` writes them, in the order
    of `arrays`, `[name, shape]`, rows first. Only characters have rows in `embedding` and `output`:
    padding, beginning and end have none.

    Raises:
        ValueError: there is no such decoder, or it has parts that the page does not know.
    """
    steps = steps_of(name)
    decoders = [decoder_of(name, step) for step in steps]
    first = decoders[0]
    return {
        "name": name,
        "characters": first.vocabulary.characters,
        "num_hiddens": first.config.num_hiddens,
        "num_heads": first.config.num_heads,
        "num_layers": first.config.num_layers,
        "steps": steps,
        "arrays": shapes_of(arrays(first)),
        "data": [pack(arrays(decoder)) for decoder in decoders],
    }


def check_readable(decoder: Decoder) -> None:
    """Refuse what the page's forward pass leaves out.

    Raises:
        ValueError: the decoder has a norm or a feed-forward, or lacks residual or positions.
    """
    has = decoder.config
    plain = DecoderConfig(has.num_hiddens, has.num_heads, has.num_layers)
    parts = ("ffn_hiddens", "norm", "residual", "positions")
    check_parts("decoders", has, {part: getattr(plain, part) for part in parts})


def arrays(decoder: Decoder) -> Iterator[tuple[str, Tensor]]:
    """The weights that the page needs, by their names there."""
    yield "embedding", decoder.embedding.weight[SPECIAL:]
    for layer, attention in enumerate(decoder.attentions):
        for part in PARTS:
            yield f"{layer}.{part}", getattr(attention, part).weight
    yield "output", decoder.output.weight[SPECIAL:]
