"""A decoder: blocks that read a sequence, and predict each next token from those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.cache import KeyValueCache
from attnbook.checks import check_axes, check_flag, check_size
from attnbook.masking.masks import check_valid
from attnbook.masking.rules import position_mask
from attnbook.models.checks import check_finite, check_kind, check_seed, check_texts, look_up
from attnbook.models.evaluation import evaluating
from attnbook.models.progress_bar import LateBar
from attnbook.models.transformer.block import Block, make_norm
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.generating import (
    Reader,
    check_sampling,
    draw_uniform,
    encode_prompts,
    encode_stop,
    sample,
    search,
)
from attnbook.models.vocabulary import PAD, SPECIAL, Vocabulary, check_some, pad
from attnbook.multihead import MultiHeadAttention
from attnbook.position import rotary_encoding, sinusoidal_encoding

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped

BATCH = 256  # texts read together


class Lines(NamedTuple):
    """Tokens of texts to learn from: each token is the target of the one before it.

    Args:
        tokens: `(batch, longest)`, padded.
        valid_lens: of the texts, `(batch,)`.

    Example:
        >>> from attnbook.models.transformer.decoder import Lines
        >>> Lines(torch.tensor([[3, 4, 5]]), torch.tensor([3])).targets
        tensor([[4, 5, 0]])
    """

    tokens: Tensor  # (batch, longest)
    valid_lens: Tensor  # (batch,)

    @property
    def targets(self) -> Tensor:
        """The next token at each position; nothing (padding) follows the last."""
        return F.pad(self.tokens[:, 1:], (0, 1), value=PAD)


class Reading(NamedTuple):
    """A text, what a decoder predicted at each token, and where its heads attended.

    All tensors are on the CPU; `guesses[i]` is the likeliest token to follow `text[: i + 1]`.

    Args:
        text: what was read.
        guesses: as many tokens.
        probabilities: `(num_positions, num_symbols)`, in the order of `vocabulary.symbols`.
        weights: `(num_layers, num_heads, num_positions, num_positions)`.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> (reading,) = book_decoder("copying").follow(["gbdkafcdkafc"])
        >>> reading.guesses[-5:], reading.weights.shape
        ('kafcd', torch.Size([2, 2, 12, 12]))
    """

    text: str
    guesses: str
    probabilities: Tensor  # (positions, symbols), in the order of vocabulary.symbols
    weights: Tensor  # (layers, heads, positions, positions)


class Decoder(nn.Module):
    """A Transformer that reads a sequence and scores what comes next, at each position.

    Tokens become vectors, their positions are added, causal blocks follow (no position
    attends to a later one), and a linear layer scores the tokens.

    Args:
        vocabulary: the tokens.
        config: sizes, and the parts of the blocks.
        seed: of the first weights; the global random state stays as it is.

    Raises:
        TypeError, ValueError: `vocabulary` is no `Vocabulary`, `config` no `DecoderConfig`, or
            `seed` not one that torch takes.

    Source: Vaswani et al. (2017), section 3, the decoder without an encoder; without
    feed-forward and norm it is the attention-only model of Elhage et al. (2021).

    Example:
        >>> from attnbook.models.transformer.decoder import Decoder
        >>> from attnbook.models.vocabulary import Vocabulary
        >>> model = Decoder(Vocabulary("abc"))
        >>> tokens, valid_lens = model.read_lines(["abcab", "bca"])
        >>> model(tokens, valid_lens).shape
        torch.Size([2, 5, 6])
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
        rotary = None
        if s.positions == "rotary":
            rotary = partial(rotary_encoding, base=s.rotary_base, layout="halves")
        self.blocks = nn.ModuleList(
            Block(
                s.num_hiddens,
                s.num_heads,
                s.ffn_hiddens,
                s.dropout,
                norm=s.norm,
                residual=s.residual,
                feed_forward=s.feed_forward or "relu",
                rotary=rotary,
            )
            for _ in range(s.num_layers)
        )
        self.norm = make_norm(s.norm, s.num_hiddens)
        self.output = nn.Linear(s.num_hiddens, len(self.vocabulary), bias=False)

    @property
    def device(self) -> torch.device:
        """Where the model is, and its inputs must be."""
        return self.output.weight.device

    @property
    def attentions(self) -> list[MultiHeadAttention]:
        """The attention of each block."""
        return [block.attention for block in self.blocks if isinstance(block, Block)]

    def make_cache(self, batch: int, *, max_length: int | None = None) -> KeyValueCache:
        """Make an empty cache for `forward`, of this model's sizes, dtype and device.

        Args:
            batch: how many texts.
            max_length: of a text; None means that the cache grows.

        Raises:
            TypeError, ValueError: as `KeyValueCache`.
        """
        heads = self.config.num_heads
        size = self.config.num_hiddens // heads
        return KeyValueCache(
            len(self.blocks),
            batch,
            heads,
            size,
            size,
            max_length=max_length,
            dtype=self.output.weight.dtype,
            device=self.device,
        )

    def embed(
        self,
        tokens: Int[Tensor, "batch positions"],
        positions: Shaped[Tensor, "... positions"] | None = None,
    ) -> Float[Tensor, "batch positions h"]:
        """Give each token its vector, with its position added once if it is sinusoidal.

        Args:
            tokens: `(batch, num_positions)`.
            positions: of the tokens, `(num_positions,)` or `(batch, num_positions)`; by default
                counted from 0.

        Raises:
            TypeError, ValueError: `tokens` has other axes or another dtype, holds no token, or
                one that the vocabulary lacks.
        """
        x = look_up("tokens", tokens, "(batch, num_positions)", self.embedding)
        if self.config.positions == "sinusoidal":
            at = x.shape[1] if positions is None else positions
            x = x + sinusoidal_encoding(at, x.shape[2], device=x.device, dtype=x.dtype)
        return x

    def forward(
        self,
        tokens: Int[Tensor, "batch positions"],
        valid_lens: Int[Tensor, " batch"] | None = None,
        *,
        positions: Shaped[Tensor, "... positions"] | None = None,
        valid: Bool[Tensor, "... positions"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch positions tokens"]:
        """Score the token that follows each position, given those up to it.

        Args:
            tokens: `(batch, num_positions)`; with a cache only the new ones.
            valid_lens: how many tokens of each row are real, where padding comes last.
            positions: of the tokens, `(num_positions,)` or `(batch, num_positions)`; by default
                the real tokens of each row are counted.
            valid: booleans of the same shape, False for padding, wherever it is.
            cache: of the tokens before, as `make_cache` makes it. The new ones are stored in a
                step of their own, or in the one that is open, which has their positions then.

        Raises:
            TypeError, ValueError: as `embed` and `MultiHeadAttention.forward`; or `valid_lens`
                comes with `valid`, positions or a cache.
            RuntimeError: as `KeyValueCache.step`.
        """
        if positions is not None or valid is not None or cache is not None:
            return self._forward_at(tokens, valid_lens, positions, valid, cache)
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, valid_lens, causal=True)
        return self.output(self.norm(x))  # type: ignore[no-any-return]

    def _forward_at(
        self,
        tokens: Tensor,
        valid_lens: Tensor | None,
        positions: Tensor | None,
        valid: Tensor | None,
        cache: KeyValueCache | None,
    ) -> Tensor:
        """Score tokens at positions that padding, the caller or a cache decide."""
        if valid_lens is not None:
            raise ValueError(
                "valid_lens must come without valid, positions and cache, which count tokens in "
                "another way, got both"
            )
        if cache is not None:
            return self._forward_cached(tokens, positions, valid, cache)
        check_axes("tokens", tokens, "(batch, num_positions)")
        shape = (*tokens.shape, tokens.shape[1])
        if positions is None:
            real = torch.ones_like(tokens, dtype=torch.bool) if valid is None else valid
            positions = check_valid("valid", real, shape, -2, self.device).cumsum(dim=-1) - 1
        mask = position_mask(positions, positions, shape, self.device, valid=valid)
        x = self.embed(tokens, positions)
        for block in self.blocks:
            x = block(x, mask=mask, positions=positions)
        return self.output(self.norm(x))  # type: ignore[no-any-return]

    def _forward_cached(
        self, tokens: Tensor, positions: Tensor | None, valid: Tensor | None, cache: KeyValueCache
    ) -> Tensor:
        check_kind("cache", cache, KeyValueCache)
        if cache.num_layers != len(self.blocks):
            raise ValueError(
                f"cache must have a layer for each of {len(self.blocks)} blocks, got "
                f"{cache.num_layers}"
            )
        check_axes("tokens", tokens, "(batch, num_positions)")
        if tokens.shape[0] != cache.batch:
            raise ValueError(
                f"tokens must have the batch of the cache, {cache.batch}, got {tokens.shape[0]}"
            )
        step = cache.open_step
        if step is None:
            with cache.step(tokens.shape[1], positions=positions, valid=valid) as step:
                return self._forward_step(tokens, step.positions, cache)
        if positions is not None or valid is not None:
            raise ValueError(
                "positions and valid must be given to the step that is open, got them again"
            )
        return self._forward_step(tokens, step.positions, cache)

    def _forward_step(self, tokens: Tensor, positions: Tensor, cache: KeyValueCache) -> Tensor:
        x = self.embed(tokens, positions)
        for i, block in enumerate(self.blocks):
            x = block(x, cache=cache.layer(i))
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
        """Read texts, and return at each token what comes next and where each head attends.

        Args:
            texts: each of 1 to 256 tokens that the model knows; none give none.

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
        probabilities, symbols = scores.softmax(-1), self.vocabulary.symbols
        layers = [attention.attention_weights.cpu() for attention in self.attentions]
        readings = []
        for i, text in enumerate(texts):
            n = len(self.vocabulary.split(text))
            best = scores[i, :n].argmax(-1).tolist()
            guesses = self.vocabulary.join(symbols[index] for index in best)
            weights = torch.stack([layer[i, :, :n, :n] for layer in layers])
            readings.append(Reading(text, guesses, probabilities[i, :n], weights))
        return readings

    def _scores(self, texts: Sequence[str]) -> Float[Tensor, "batch positions symbols"]:
        tokens, valid_lens = self.read_lines(texts)
        # Padding, beginning and end are never predicted.
        scores = self(tokens, valid_lens)[..., SPECIAL:].cpu()
        read = (tokens != PAD).cpu()[..., None]
        check_finite(torch.where(read, scores, 0.0), texts, "the model's weights")
        return scores

    def write(self, texts: Iterable[str], count: int) -> list[str]:
        """Continue texts, greedily: the likeliest token each time.

        Args:
            texts: as for `follow`.
            count: how many tokens to add, at least 1.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does; or a sequence would get longer than
                256 tokens, or a score is not finite.
        """
        return self.generate(texts, count)

    def generate(  # noqa: PLR0913 - ways of choosing a token
        self,
        texts: Iterable[str],
        count: int,
        *,
        cache: bool = True,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        beams: int = 1,
        stop: str | None = None,
        report: Callable[[float], None] | None = None,
    ) -> list[str]:
        """Continue texts of any lengths in a batch, by up to `count` tokens each.

        Args:
            texts: as for `follow`.
            count: how many tokens to add at most, at least 1.
            cache: whether keys and values are stored, or computed again for each token. The
                texts are the same, unless rounding decides between two tokens.
            temperature: 0 takes the likeliest token; above, tokens are drawn, at 1 with the
                model's probabilities.
            top_k: of how many likeliest tokens one is drawn; None means all.
            top_p: tokens are drawn from the fewest that have this probability together, in
                (0, 1]; None means all.
            seed: of what is drawn; None takes the global random state.
            beams: how many likely texts are followed to find the likeliest; 1 follows one.
            stop: a text ends early with these tokens, which are part of it.
            report: is called with the share of the work that is done, 1 at the end; by default
                a terminal shows a bar after two seconds.

        Returns:
            The texts with what was added.

        Raises:
            TypeError, ValueError: an argument has the wrong type or range; as
                `Vocabulary.encode`; a text would get longer than 256 tokens; tokens are to be
                drawn and beams followed; or a score is not finite.

        Source: Freitag and Al-Onaizan (2017), section 2, for beams.

        Example:
            >>> from attnbook.models.transformer.checkpoints import book_decoder
            >>> book_decoder("copying").generate(["gbdkafcdkafc"], 5)
            ['gbdkafcdkafcdkafc']
        """
        check_size("beams", beams)
        check_flag("cache", cache)
        if report is not None and not callable(report):
            raise TypeError(f"report must be None or a function of one number, got {report!r}")
        sampling = check_sampling(temperature, top_k, top_p)
        if beams > 1 and temperature > 0:
            raise ValueError(f"temperature must be 0 with beams={beams}, got {temperature}")
        end = encode_stop(self.vocabulary, stop)
        texts = check_texts(texts)
        prompts = encode_prompts(self.vocabulary, texts, count)
        uniform = draw_uniform(sampling, seed, len(texts), count)
        report = LateBar() if report is None else report

        def ends(tokens: list[int]) -> bool:
            return bool(end) and tokens[-len(end) :] == end

        written: list[list[int]] = []
        with evaluating(self):
            for start in range(0, len(texts), BATCH):
                some = prompts[start : start + BATCH]
                reader = Reader(self, len(some), cache=cache)

                def report_all(share: float, before: int = start, now: int = len(some)) -> None:
                    report((before + share * now) / len(texts))

                if beams > 1:
                    written += search(reader, some, count, beams, ends, report_all)
                else:
                    numbers = uniform[start : start + BATCH]
                    written += sample(reader, some, sampling, numbers, ends, report_all)
        join, decode = self.vocabulary.join, self.vocabulary.decode
        added = [decode(tokens) for tokens in written]
        return [join([text, *filter(None, [new])]) for text, new in zip(texts, added, strict=True)]


def make_lines(model: Decoder, texts: Iterable[str]) -> Lines:
    """Turn texts into what `fit` learns from, on the model's device.

    Raises:
        TypeError, ValueError: as `Decoder.read_lines`.

    Example:
        >>> from attnbook.models.transformer.decoder import Decoder, make_lines
        >>> from attnbook.models.vocabulary import Vocabulary
        >>> make_lines(Decoder(Vocabulary("abc")), ["abc", "b"]).tokens
        tensor([[3, 4, 5],
                [4, 0, 0]])
    """
    check_kind("model", model, Decoder)
    return Lines(*model.read_lines(texts))
