"""The sizes and parts of a translator."""

from __future__ import annotations

from dataclasses import dataclass, fields

from attnbook.checks import check_dropout, check_size, describe_value
from attnbook.models.translator.encoders import ENCODERS, check_even


@dataclass(frozen=True)
class Config:
    """The sizes and parts of a translator.

    Args:
        encoder: "recurrent" or "convolutional".
        attention: whether the decoder attends; otherwise each step is given the
            encoder's one state for the whole text.
        embedding_size, written_size: size of the vector of a character read, written.
        num_hiddens: size of an encoder state and of the decoder's, even, at least 2.
        score_hiddens: hidden units of the additive score.
        dropout: the share of the encoder's states that is dropped in training, in [0, 1].
        max_steps: how many characters are written at most, the end among them.

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Example:
        >>> from attnbook.models.translator.config import Config
        >>> Config(encoder="recurrent", num_hiddens=32).attention
        True
    """

    encoder: str = "convolutional"
    attention: bool = True
    embedding_size: int = 24
    written_size: int = 16
    num_hiddens: int = 64
    score_hiddens: int = 32
    dropout: float = 0.2
    max_steps: int = 16

    def __post_init__(self) -> None:
        if self.encoder not in ENCODERS:
            raise ValueError(
                f"encoder must be one of {', '.join(ENCODERS)}, got {describe_value(self.encoder)}"
            )
        if not isinstance(self.attention, bool):
            raise TypeError(
                f"attention must be True or False, got {describe_value(self.attention)}"
            )
        for field in fields(self):
            if field.type == "int":
                check_size(field.name, getattr(self, field.name))
        check_even("num_hiddens", self.num_hiddens)
        check_dropout(self.dropout)
