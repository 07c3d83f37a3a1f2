"""A decoder's weights as a page reads them: all snapshots of its training."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from attnbook.figures.tokens.figure import check_parts, pack, shapes_of
from attnbook.models.vocabulary import SPECIAL

if TYPE_CHECKING:
    from torch import Tensor, nn

    from attnbook.models.transformer.decoder import Decoder

# What the page's forward pass knows, by the kind of positions.
READABLE: dict[str | None, dict[str, Any]] = {
    "sinusoidal": {"norm": None, "feed_forward": None},
    "rotary": {"norm": "rms", "feed_forward": "swiglu"},
}
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
def decoder_of(name: str, step: int | None = None) -> Decoder:
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

    `data` has one text for each of `steps`: the arrays in base64, in the order of `arrays`,
    `[name, shape]`, rows first; as float16 if it represents every number, else as float32. Only
    symbols have rows in `embedding` and `output`: padding, beginning and end have none.

    Raises:
        ValueError: there is no such decoder, or it has parts that the page does not know.
    """
    steps = steps_of(name)
    decoders = [decoder_of(name, step) for step in steps]
    first = decoders[0]
    halves = all(_is_half(part) for decoder in decoders for _, part in arrays(decoder))
    return {
        "name": name,
        "symbols": first.vocabulary.symbols,
        "num_hiddens": first.config.num_hiddens,
        "num_heads": first.config.num_heads,
        "num_layers": first.config.num_layers,
        "positions": first.config.positions,
        "rotary_base": first.config.rotary_base,
        "steps": steps,
        "dtype": "float16" if halves else "float32",
        "arrays": shapes_of(arrays(first)),
        "data": [
            _in_halves(arrays(decoder)) if halves else pack(arrays(decoder)) for decoder in decoders
        ],
    }


def _is_half(part: Tensor) -> bool:
    return torch.equal(part.half().to(part.dtype), part)


def _in_halves(parts: Iterator[tuple[str, Tensor]]) -> str:
    """The numbers of arrays, one after the other: float16, little endian, as base64."""
    flat = torch.cat([part.detach().cpu().half().flatten() for _, part in parts])
    return base64.b64encode(flat.numpy().astype("<f2").tobytes()).decode("ascii")


def check_readable(decoder: Decoder) -> None:
    """Refuse what the page's forward pass leaves out.

    Raises:
        ValueError: the decoder has parts that the page does not know, or lacks some.
    """
    has = decoder.config
    check_parts("decoders", has, READABLE.get(has.positions, {"positions": "sinusoidal"}))
    check_parts("decoders", has, {"residual": True})


def arrays(decoder: Decoder) -> Iterator[tuple[str, Tensor]]:
    """The weights that the page needs, by their names there."""
    yield "embedding", decoder.embedding.weight[SPECIAL:]
    for layer, block in enumerate(decoder.blocks):
        yield from _of("attention_norm", layer, block)
        for part in PARTS:
            yield from _of(part, layer, block, of="attention")
        yield from _of("feed_forward_norm", layer, block)
        for part in ("gate", "inner", "outer"):
            yield from _of(f"feed_forward.{part}", layer, block)
    yield from _of("norm", None, decoder)
    yield "output", decoder.output.weight[SPECIAL:]


def _of(
    name: str, layer: int | None, module: nn.Module, of: str = ""
) -> Iterator[tuple[str, Tensor]]:
    """The weight of a part, if there is one."""
    part: Any = getattr(module, of) if of else module
    for step in name.split("."):
        part = getattr(part, step, None)
    weight = getattr(part, "weight", None)
    if weight is not None:
        yield (name if layer is None else f"{layer}.{name}"), weight
