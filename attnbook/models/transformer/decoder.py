"""A decoder: blocks that read a line, and predict each next symbol from those before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.checks import check_size
from attnbook.models.checks import check_finite, check_kind, check_seed, check_texts, look_up
from attnbook.models.evaluation import evaluating
from attnbook.models.transformer.block import Block
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.vocabulary import MAX_LENGTH, PAD, SPECIAL, Vocabulary, check_some, pad
from attnbook.multihead import MultiHeadAttention
from attnbook.position import sinusoidal_encoding

if TYPE_CHECKING:
    from jaxtyping import Float, Int

BATCH = 256  # texts read together


class Lines(NamedTuple):
    """Tokens of texts to learn from: each symbol is the target of the one before it."""

    tokens: Tensor  # (batch, longest)
    valid_lens: Tensor  # (batch,)

    @property
    def targets(self) -> Tensor:
        """The next symbol at each position; nothing (padding) follows the last."""
        return F.pad(self.tokens[:, 1:], (0, 1), value=PAD)


class Reading(NamedTuple):
    """A text, what a decoder predicted at each symbol, and where its heads attended.

    All tensors are on the CPU; `guesses[i]` is the likeliest symbol to follow `text[: i + 1]`.
    """

    text: str
    guesses: str
    probabilities: Tensor  # (positions, characters), in the order of vocabulary.characters
    weights: Tensor  # (layers, heads, positions, positions)


class Decoder(nn.Module):
    """A Transformer that reads a line and scores what comes next, at each position.

    Symbols become vectors, their positions are added, causal blocks follow (no position
    attends to a later one), and a linear layer scores the symbols.

    Args:
        vocabulary: the symbols.
        config: sizes, and the parts of the blocks.
        seed: of the first weights; the global random state stays as it is.

    Raises:
        TypeError, ValueError: `vocabulary` is no `Vocabulary`, `config` no `DecoderConfig`, or
            `seed` not one that torch takes.

    Source: Vaswani et al. (2017), section 3, the decoder without an encoder; without
    feed-forward and norm it is the attention-only model of Elhage et al. (2021).
    """

    def __init__(
        self, vocabulary: Vocabulary, config: DecoderConfig | None = None, *, seed: int = 0
    ) -> None:
        super().__init__()
        check_kind("vocabulary", vocabulary, Vocabulary)
        config = DecoderConfig() if config is None else config
        check_kind("config", config, DecoderConfig)
        check_seed(seed)
        self.vocabulary, self.config = vocabulary, config
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
        """Give each symbol its vector, with its position added once.

        Raises:
            TypeError, ValueError: `tokens` has other axes or another dtype, holds no symbol, or
                one that the vocabulary lacks.
        """
        x = look_up("tokens", tokens, "(batch, num_positions)", self.embedding)
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
            TypeError, ValueError: as `embed` and `MultiHeadAttention.forward`.
        """
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, valid_lens, causal=True)
        return self.output(self.norm(x))  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers, which see Any in nn.Module

    def read_lines(
        self, texts: Iterable[str]
    ) -> tuple[Int[Tensor, "batch positions"], Int[Tensor, " batch"]]:
        """Turn texts into padded tokens and their lengths, on the model's device.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does; or there are no texts.
        """
        texts = check_texts(texts)
        check_some("texts", texts)
        tokens, valid_lens = pad([self.vocabulary.encode(text) for text in texts])
        return tokens.to(self.device), valid_lens.to(self.device)

    def follow(self, texts: Iterable[str]) -> list[Reading]:
        """Read texts, and return at each symbol what comes next and where each head attends.

        Args:
            texts: each of 1 to 256 symbols that the model knows; none give none.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does; or a score is not finite, or an
                attention does not store its weights.
        """
        texts = check_texts(texts)
        for layer, attention in enumerate(self.attentions):
            if not attention.keep_weights:
                raise ValueError(
                    "keep_weights must be True in each attention for follow to read its "
                    f"weights, got False in layer {layer}"
                )
        with evaluating(self):
            return [
                reading
                for start in range(0, len(texts), BATCH)
                for reading in self._follow(texts[start : start + BATCH])
            ]

    def _follow(self, texts: Sequence[str]) -> list[Reading]:
        scores = self._scores(texts)
        probabilities, characters = scores.softmax(-1), self.vocabulary.characters
        layers = [attention.attention_weights.cpu() for attention in self.attentions]
        readings = []
        for i, text in enumerate(texts):
            n = len(text)
            guesses = "".join(characters[best] for best in scores[i, :n].argmax(-1).tolist())
            weights = torch.stack([layer[i, :, :n, :n] for layer in layers])
            readings.append(Reading(text, guesses, probabilities[i, :n], weights))
        return readings

    def _scores(self, texts: Sequence[str]) -> Float[Tensor, "batch positions characters"]:
        tokens, valid_lens = self.read_lines(texts)
        # Padding, beginning and end are never predicted.
        scores = self(tokens, valid_lens)[..., SPECIAL:].cpu()
        read = (tokens != PAD).cpu()[..., None]
        check_finite(torch.where(read, scores, 0.0), texts, "the model's weights")
        return scores

    def write(self, texts: Iterable[str], count: int) -> list[str]:
        """Continue texts, greedily: the likeliest symbol each time.

        Args:
            texts: as for `follow`.
            count: how many symbols to add, at least 1.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does; or a line would get longer than
                256 symbols, or a score is not finite.
        """
        check_size("count", count)
        written = check_texts(texts)
        for text in written:
            self.vocabulary.encode(text)
            if len(text) + count > MAX_LENGTH:
                raise ValueError(
                    f"texts must leave room for count={count} more of at most {MAX_LENGTH} "
                    f"symbols, got {len(text)} symbols"
                )
        with evaluating(self):
            for _ in range(count):
                written = [
                    text
                    for start in range(0, len(written), BATCH)
                    for text in self._continue(written[start : start + BATCH])
                ]
        return written

    def _continue(self, texts: Sequence[str]) -> list[str]:
        last = torch.tensor([len(text) - 1 for text in texts], device="cpu")
        best = self._scores(texts)[range(len(texts)), last].argmax(-1).tolist()
        characters = self.vocabulary.characters
        return [text + characters[i] for text, i in zip(texts, best, strict=True)]


def make_lines(model: Decoder, texts: Iterable[str]) -> Lines:
    """Turn texts into what `fit` learns from, on the model's device.

    Raises:
        TypeError, ValueError: as `Decoder.read_lines`.
    """
    check_kind("model", model, Decoder)
    return Lines(*model.read_lines(texts))
