"""A decoder: blocks that read a line, and foresee each next symbol from those before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.checks import check_size
from attnbook.models.rest import at_rest, check_texts
from attnbook.models.transformer.block import Block
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.vocabulary import PAD, SPECIAL, Vocabulary, pad
from attnbook.multihead import MultiHeadAttention
from attnbook.position import sinusoidal_encoding

if TYPE_CHECKING:
    from jaxtyping import Float, Int

BATCH = 256  # texts read together


class Lines(NamedTuple):
    """Numbers of some texts, to learn from: each symbol is the target of the one before it."""

    tokens: Tensor  # (batch, longest)
    valid_lens: Tensor  # (batch,)

    @property
    def targets(self) -> Tensor:
        """The next symbol at each position; nothing (padding) follows the last."""
        return F.pad(self.tokens[:, 1:], (0, 1), value=PAD)


class Reading(NamedTuple):
    """A text, what a decoder foresaw while it read, and where its heads looked.

    All is on the CPU; `guesses[i]` is the likeliest symbol to follow `text[: i + 1]`.
    """

    text: str
    guesses: str
    probabilities: Tensor  # (positions, characters), in the order of vocabulary.characters
    weights: Tensor  # (layers, heads, positions, positions)


class Decoder(nn.Module):
    """A Transformer that reads a line and scores what comes next, at each position.

    Symbols become vectors, their positions are added, blocks look back (no position sees a
    later one), and a linear layer scores the symbols.

    Args:
        vocabulary: the symbols.
        config: sizes, and what the blocks have.
        seed: of the first weights; the global random state stays as it is.

    Raises:
        TypeError: `vocabulary` is no `Vocabulary`.

    Source: Vaswani et al. (2017), section 3, the decoder without an encoder; without
    feed-forward and norm it is the attention-only model of Elhage et al. (2021).
    """

    def __init__(
        self, vocabulary: Vocabulary, config: DecoderConfig | None = None, *, seed: int = 0
    ) -> None:
        super().__init__()
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(f"vocabulary must be a Vocabulary, got {type(vocabulary).__name__}")
        self.vocabulary, self.config = vocabulary, config or DecoderConfig()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._make_parts(self.config)

    def _make_parts(self, s: DecoderConfig) -> None:
        self.embedding = nn.Embedding(len(self.vocabulary), s.num_hiddens)
        self.blocks = nn.ModuleList(
            Block(
                s.num_hiddens,
                s.num_heads,
                s.ffn_hiddens,
                s.dropout,
                norm=s.norm,
                residual=s.residual,
            )
            for _ in range(s.num_layers)
        )
        self.norm = nn.LayerNorm(s.num_hiddens) if s.norm else nn.Identity()
        self.output = nn.Linear(s.num_hiddens, len(self.vocabulary), bias=False)

    @property
    def device(self) -> torch.device:
        """Where the model is, and its inputs must be."""
        return self.output.weight.device

    @property
    def attentions(self) -> list[MultiHeadAttention]:
        """The attention of each block."""
        return [block.attention for block in self.blocks if isinstance(block, Block)]

    def embed(self, tokens: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch positions h"]:
        """Give each symbol its vector, with its position added once."""
        x: Tensor = self.embedding(tokens)
        if self.config.positions:
            x = x + sinusoidal_encoding(*x.shape[1:], device=x.device, dtype=x.dtype)
        return x

    def forward(
        self,
        tokens: Int[Tensor, "batch positions"],
        valid_lens: Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch positions symbols"]:
        """Score the symbol that follows each position, given those up to it.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention.forward`.
        """
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, valid_lens, causal=True)
        return self.output(self.norm(x))  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers, to whom nn.Module says Any

    def read_lines(
        self, texts: Sequence[str]
    ) -> tuple[Int[Tensor, "batch positions"], Int[Tensor, " batch"]]:
        """Turn texts into padded tokens and their lengths, on the model's device.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does.
        """
        tokens, valid_lens = pad([self.vocabulary.encode(text) for text in texts])
        return tokens.to(self.device), valid_lens.to(self.device)

    def follow(self, texts: Iterable[str]) -> list[Reading]:
        """Read texts, and say at each symbol what comes next and where each head looked.

        Args:
            texts: each of 1 to 256 symbols that the model knows; none give none.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does.
        """
        check_texts(texts)
        texts = list(texts)
        with at_rest(self):
            return [
                reading
                for start in range(0, len(texts), BATCH)
                for reading in self._follow(texts[start : start + BATCH])
            ]

    def _follow(self, texts: Sequence[str]) -> list[Reading]:
        # Padding, beginning and end are never foreseen.
        scores = self(*self.read_lines(texts))[..., SPECIAL:].cpu()
        probabilities, characters = scores.softmax(-1), self.vocabulary.characters
        looked = [attention.attention_weights.cpu() for attention in self.attentions]
        readings = []
        for i, text in enumerate(texts):
            n = len(text)
            guesses = "".join(characters[best] for best in scores[i, :n].argmax(-1).tolist())
            weights = torch.stack([layer[i, :, :n, :n] for layer in looked])
            readings.append(Reading(text, guesses, probabilities[i, :n], weights))
        return readings

    def write(self, texts: Iterable[str], count: int) -> list[str]:
        """Continue texts, greedily: the likeliest symbol each time.

        Args:
            texts: as for `follow`.
            count: how many symbols more, at least 1.

        Raises:
            TypeError, ValueError: as `follow`; or a line would get longer than 256 symbols.
        """
        check_size("count", count)
        check_texts(texts)
        written = list(texts)
        for _ in range(count):
            written = [reading.text + reading.guesses[-1] for reading in self.follow(written)]
        return written


def make_lines(model: Decoder, texts: Sequence[str]) -> Lines:
    """Turn texts into what `fit` learns from, on the model's device.

    Raises:
        TypeError, ValueError: as `Vocabulary.encode` does.
    """
    return Lines(*model.read_lines(texts))
