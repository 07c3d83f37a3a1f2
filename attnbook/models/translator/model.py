"""Bahdanau's translator: an encoder, and a decoder that attends to it before each character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attnbook.checks import check_dtype
from attnbook.layers import AdditiveAttention
from attnbook.models.checks import (
    check_finite,
    check_kind,
    check_seed,
    check_shape,
    check_texts,
    look_up,
)
from attnbook.models.evaluation import evaluating
from attnbook.models.translator.config import Config
from attnbook.models.translator.decoding import (
    Change,
    Encoded,
    Translation,
    change_weights,
    check_change,
    make_translations,
)
from attnbook.models.translator.encoders import ENCODERS
from attnbook.models.vocabulary import BEGIN, END, Vocabulary, check_some, pad
from attnbook.pooling import pool

if TYPE_CHECKING:
    from jaxtyping import Float, Int

BATCH = 256  # texts decoded together


class Translator(nn.Module):
    """A translator of characters, with Bahdanau's attention or without.

    Before step t the decoder's state s of step t-1 is the query; keys and values are the
    encoder's states h. The pooled context goes with the character written last into the
    decoder's GRU, and its new state scores what is written:
    c_t = Σ_j α(s_{t-1}, h_j) h_j, s_t = GRU([y_{t-1}; c_t], s_{t-1}), y_t ~ softmax(W s_t).

    Args:
        source, target: the characters that are read, and those that are written.
        config: sizes, encoder, and whether it attends.
        seed: of the first weights; the global random state stays as it is.

    Raises:
        TypeError, ValueError: `source` or `target` is no `Vocabulary`, `config` no `Config`, or
            `seed` not one that torch takes.

    Source: Bahdanau, Cho and Bengio (2015), sections 3.1 and A.2 (our s, h, α are theirs;
    their s_0 is made from the backward state alone, and their output layer reads
    s_{t-1}, y_{t-1} and c_t through a maxout, ours s_t).

    Example:
        >>> from attnbook.models.translator.model import Translator
        >>> from attnbook.models.vocabulary import Vocabulary
        >>> model = Translator(Vocabulary("abc"), Vocabulary("xy"))
        >>> tokens, valid_lens = model.read(["abc", "ab"])
        >>> model(tokens, valid_lens, targets=torch.tensor([[3, 4], [4, 3]])).shape
        torch.Size([2, 2, 5])
    """

    def __init__(
        self,
        source: Vocabulary,
        target: Vocabulary,
        config: Config | None = None,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__()
        for name, given in (("source", source), ("target", target)):
            check_kind(name, given, Vocabulary)
        config = Config() if config is None else config
        check_kind("config", config, Config)
        check_seed(seed)
        self.source, self.target, self.config = source, target, config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._make_parts(self.config)

    def _make_parts(self, s: Config) -> None:
        encoder = ENCODERS[s.encoder]
        self.encoder = encoder(len(self.source), s.embedding_size, s.num_hiddens)
        self.dropout = nn.Dropout(s.dropout)
        self.start = nn.Linear(s.num_hiddens, s.num_hiddens)
        self.written = nn.Embedding(len(self.target), s.written_size)
        self.attention = (
            AdditiveAttention(s.num_hiddens, s.num_hiddens, s.score_hiddens)
            if s.attention
            else None
        )
        self.cell = nn.GRUCell(s.written_size + s.num_hiddens, s.num_hiddens)
        self.output = nn.Linear(s.num_hiddens, len(self.target))

    @property
    def device(self) -> torch.device:
        """Where the model is, and its inputs must be."""
        return self.output.weight.device

    def read(self, texts: Iterable[str]) -> tuple[Int[Tensor, "batch keys"], Int[Tensor, " batch"]]:
        """Turn texts into padded tokens and their lengths, on the model's device.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does; or there are no texts.
        """
        texts = check_texts(texts)
        check_some("texts", texts)
        tokens, valid_lens = pad([self.source.encode(text) for text in texts])
        return tokens.to(self.device), valid_lens.to(self.device)

    def encode(
        self, tokens: Int[Tensor, "batch keys"], valid_lens: Int[Tensor, " batch"]
    ) -> Encoded:
        """Read texts, and project their keys once for all steps to come.

        Raises:
            TypeError, ValueError: as the encoder does.
        """
        states, whole = self.encoder(tokens, valid_lens)
        states, whole = self.dropout(states), self.dropout(whole)
        keys = None if self.attention is None else self.attention.project_keys(states)
        return Encoded(states, whole, valid_lens, keys)

    def first_state(self, encoded: Encoded) -> Float[Tensor, "batch hiddens"]:
        """Make the decoder's state before anything is written: s_0 = tanh(W h + b) of all."""
        check_kind("encoded", encoded, Encoded)
        return torch.tanh(self.start(encoded.whole))

    def context(
        self, state: Float[Tensor, "batch hiddens"], encoded: Encoded
    ) -> Float[Tensor, "batch hiddens"]:
        """Attend with the decoder's last state; without attention, give all of the text.

        Raises:
            TypeError, ValueError: `state` is not one for each text.
        """
        self._check_states(encoded, state=state)
        if self.attention is None or encoded.projected_keys is None:
            return encoded.whole
        # (batch, 1, hiddens): one query per text
        return self.attention.attend(
            state[:, None], encoded.projected_keys, encoded.states, encoded.valid_lens
        )[:, 0]

    def step(
        self,
        last: Int[Tensor, " batch"],
        state: Float[Tensor, "batch hiddens"],
        context: Float[Tensor, "batch hiddens"],
    ) -> tuple[Float[Tensor, "batch symbols"], Float[Tensor, "batch hiddens"]]:
        """Score what may be written next, and give the decoder's new state.

        Raises:
            TypeError, ValueError: `last` holds no token that can be written, or there is not
                one state and one context for each.
        """
        written = look_up("last", last, "(batch)", self.written)
        self._check_states(last, state=state, context=context)
        state = self.cell(torch.cat([written, context], dim=-1), state)
        return self.output(state), state

    def _check_states(self, of: Encoded | Tensor, **states: Tensor) -> None:
        if not isinstance(of, Tensor):
            check_kind("encoded", of, Encoded)
        batch = len(of) if isinstance(of, Tensor) else len(of.whole)
        for name, state in states.items():
            check_shape(name, state, "(batch, num_hiddens)", (batch, self.config.num_hiddens))
            check_dtype(name, state, "the model's weights", self.output.weight)

    def forward(
        self,
        tokens: Int[Tensor, "batch keys"],
        valid_lens: Int[Tensor, " batch"],
        targets: Int[Tensor, "batch steps"],
    ) -> Float[Tensor, "batch steps symbols"]:
        """Score each character of the targets, given those before it (teacher forcing).

        Raises:
            TypeError, ValueError: as the encoder does; or `targets` does not hold a row of
                tokens that can be written for each text.
        """
        encoded = self.encode(tokens, valid_lens)
        look_up("targets", targets, "(batch, num_steps)", self.written)  # refuses here, by name
        check_shape("targets", targets, "(batch, num_steps)", (len(tokens), targets.shape[1]))
        state, last, scores = self.first_state(encoded), torch.full_like(targets[:, 0], BEGIN), []
        for target in targets.unbind(1):
            score, state = self.step(last, state, self.context(state, encoded))
            scores.append(score)
            last = target
        return torch.stack(scores, dim=1)

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers, which see Any in nn.Module

    def translate(self, texts: Iterable[str], change: Change | None = None) -> list[Translation]:
        """Write for each text, greedily: the likeliest character at every step.

        A model translates for one thread at a time; another that shares it waits.

        Args:
            texts: each of 1 to 256 characters that the model knows; none give none.
            change: given the weights `(batch, num_keys)` of a step and its number, what
                to pool with instead, of the same shape, dtype and device; to
                measure what a weight contributes. It gets the texts in batches of 256.

        Raises:
            TypeError, ValueError: as `Vocabulary.encode` does; or there is a change
                without attention, or one that returns something else.
            ValueError: a score is not finite; the message names the step.
        """
        texts = check_texts(texts)
        check_change(change, self.attention)
        with evaluating(self):
            return [
                translation
                for start in range(0, len(texts), BATCH)
                for translation in self._translate(texts[start : start + BATCH], change)
            ]

    def _translate(self, texts: Sequence[str], change: Change | None) -> list[Translation]:
        encoded = self.encode(*self.read(texts))
        state = self.first_state(encoded)
        last = torch.full_like(encoded.valid_lens, BEGIN)
        scores, written, step_weights = [], [], []
        for number in range(self.config.max_steps):
            context = self.context(state, encoded)
            if self.attention is not None and self.attention.keep_weights:
                weights = self.attention.attention_weights[:, 0]
                if change is not None:
                    weights = change_weights(change, weights, number)
                    context = pool(weights[:, None], encoded.states)[:, 0]
                step_weights.append(weights)
            score, state = self.step(last, state, context)
            scores.append(score)
            last = score[:, END:].argmax(-1) + END  # padding and beginnings are never written
            written.append(last)
        cause = "the model's weights" + " and what change returned" * (change is not None)
        # Once, because each check waits for the GPU.
        check_finite(torch.stack(scores, 1), texts, cause)
        outputs = [self.target.decode(row) for row in torch.stack(written, 1).tolist()]
        return make_translations(texts, outputs, step_weights)
