"""The sizes and parts of a decoder."""

from __future__ import annotations

from dataclasses import dataclass

from attnbook.checks import check_dropout, check_flag, check_heads, check_size


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes of a decoder, and which parts its blocks have.

    Args:
        num_hiddens: the size of a position's vector, at least 1.
        num_heads: heads of a block; it must divide `num_hiddens`.
        num_layers: how many blocks, at least 1.
        ffn_hiddens: hidden units of a feed-forward; None means attention only.
        norm, residual: whether blocks have them; with norms there is one at the end, too.
        positions: whether the sinusoidal encoding is added to the tokens' vectors.
        dropout: the share of what each part of a block adds that is dropped, in [0, 1].

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Example:
        >>> from attnbook.models.transformer.config import DecoderConfig
        >>> DecoderConfig(num_hiddens=64, ffn_hiddens=256, norm=True).num_layers
        2
    """

    num_hiddens: int = 32
    num_heads: int = 2
    num_layers: int = 2
    ffn_hiddens: int | None = None
    norm: bool = False
    residual: bool = True
    positions: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("num_hiddens", "num_heads", "num_layers"):
            check_size(name, getattr(self, name))
        if self.ffn_hiddens is not None:
            check_size("ffn_hiddens", self.ffn_hiddens)
        check_heads("num_hiddens", self.num_hiddens, self.num_heads)
        for name in ("norm", "residual", "positions"):
            check_flag(name, getattr(self, name))
        check_dropout(self.dropout)
