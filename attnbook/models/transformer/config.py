"""The sizes and parts of a decoder."""

from __future__ import annotations

from dataclasses import dataclass

from attnbook.checks import check_dropout, check_flag, check_heads, check_size, describe_value
from attnbook.position import BASE, check_above

NORMS, FEED_FORWARDS, POSITIONS = (
    ("layer", "rms"),
    ("relu", "gelu", "swiglu"),
    ("sinusoidal", "rotary"),
)


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes of a decoder, and which parts its blocks have.

    Args:
        num_hiddens: the size of a position's vector, at least 1.
        num_heads: heads of a block; it must divide `num_hiddens`.
        num_layers: how many blocks, at least 1.
        feed_forward: "relu" or "gelu", the activation between its two linear layers, or
            "swiglu"; None means attention only.
        ffn_hiddens: hidden units of the feed-forward; None where there is none.
        norm: "layer" or "rms" before each part, and one at the end; None means none.
        residual: whether blocks add what each part gives to its input.
        positions: "sinusoidal", an encoding that is added to the tokens' vectors, or "rotary",
            which turns the queries and keys of each head (the two halves of a vector are its
            pairs); None means none.
        rotary_base: of the angles of "rotary", above 1.
        dropout: the share of what each part of a block adds that is dropped, in [0, 1].

    True and False, as older versions stored them, mean "layer" or "sinusoidal", and None.

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Example:
        >>> from attnbook.models.transformer.config import DecoderConfig
        >>> DecoderConfig(64, feed_forward="relu", ffn_hiddens=256, norm="layer").num_layers
        2
    """

    num_hiddens: int = 32
    num_heads: int = 2
    num_layers: int = 2
    ffn_hiddens: int | None = None
    norm: str | None = None
    residual: bool = True
    positions: str | None = "sinusoidal"
    dropout: float = 0.0
    feed_forward: str | None = None
    rotary_base: float = BASE

    def __post_init__(self) -> None:
        for name in ("num_hiddens", "num_heads", "num_layers"):
            check_size(name, getattr(self, name))
        check_heads("num_hiddens", self.num_hiddens, self.num_heads)
        object.__setattr__(self, "norm", choice("norm", self.norm, NORMS))
        object.__setattr__(self, "positions", choice("positions", self.positions, POSITIONS))
        check_feed_forward(self.feed_forward, self.ffn_hiddens)
        check_flag("residual", self.residual)
        check_above("rotary_base", self.rotary_base, 1.0)
        check_dropout(self.dropout)


def choice(name: str, given: str | bool | None, known: tuple[str, ...]) -> str | None:
    """Return one of the known words, or None; True means the first, and False none.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(given, bool):
        return known[0] if given else None
    if given is not None:
        check_word(name, given, known, ", or None")
    return given


def check_word(name: str, given: str, known: tuple[str, ...], others: str = "") -> None:
    """Refuse what is not one of some words.

    Raises:
        ValueError: it is something else.
    """
    if not (isinstance(given, str) and given in known):
        words = ", ".join(f'"{word}"' for word in known)
        raise ValueError(f"{name} must be one of {words}{others}, got {describe_value(given)}")


def check_feed_forward(kind: str | None, ffn_hiddens: int | None) -> None:
    """Refuse a feed-forward without a size, and a size without a feed-forward.

    Raises:
        TypeError, ValueError: one is given without the other, or out of its range.
    """
    if kind is not None:
        check_word("feed_forward", kind, FEED_FORWARDS, ", or None")
    if ffn_hiddens is not None:
        check_size("ffn_hiddens", ffn_hiddens)
    if (kind is None) != (ffn_hiddens is None):
        raise ValueError(
            "feed_forward and ffn_hiddens must both be given, or neither, got "
            f"feed_forward={kind!r} and ffn_hiddens={ffn_hiddens!r}"
        )
