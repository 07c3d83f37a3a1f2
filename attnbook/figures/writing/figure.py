"""`WritingFigure`: a model writes word by word, with all of its attention or with less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import traitlets

from attnbook.figures.shared.base import check_count, module, percent, stylesheet
from attnbook.figures.tokens.figure import TokenFigure, round_all
from attnbook.figures.tokens.packing import check_symbols, decoder_of, pack_model
from attnbook.figures.tokens.writing import Written, write
from attnbook.messages import Messages
from attnbook.models.checks import check_kind

TEXT = Messages(__file__)
MOST = 64  # words of a text: with more, it does not fit on a phone
SHOWN = 5  # of the words that may come next
# How many positions each one attends to, itself first.
WINDOWS = {"all": None, "near": 2, "none": 0}


def _check_attention(attention: str) -> None:
    if attention not in WINDOWS:
        raise ValueError(f"attention must be one of {', '.join(WINDOWS)}, got {attention!r}")


def _check_text(name: str, text: str) -> None:
    vocabulary = decoder_of(name).vocabulary
    vocabulary.encode(text)
    check_count("words", len(vocabulary.split(text)), MOST)


def _check_step(answer: Sequence[str], step: int) -> None:
    if not 0 <= step < len(answer):
        raise ValueError(f"step must lie in [0, words={len(answer)}), got {step}")


def _check_right(right: Mapping[str, Sequence[float]]) -> None:
    check_kind("right", right, Mapping)
    if right and [*right] != [*WINDOWS]:
        raise ValueError(f"right must have a row for each of {', '.join(WINDOWS)}, got {[*right]}")
    for attention, shares in right.items():
        if len(shares) != 2 or not all(0 <= share <= 1 for share in shares):
            raise ValueError(f"right must hold two shares in [0, 1], got {shares} of {attention}")


class WritingFigure(TokenFigure):
    """A model answers a text word by word; its attention can be narrowed or left out.

    At each step the figure shows the words that are likeliest to come next. The model is one of the
    book's decoders: on the book's pages it runs in the page, in double precision; so does
    this Python half.

    Args:
        text: what the model continues up to a full stop, 1 to 64 of its words.
        name: a decoder of words of `attnbook.models.transformer.checkpoints`.
        step: the word of the answer that is shown first, from 0.
        attention: to which words each one attends: "all" up to itself, "near" (itself and the one
            before) or "none".
        right: for each of these, the share of right answers with the model's weights, and that of
            a model that was trained so; empty to show none.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `step`, `attention`.

    Raises:
        TypeError: an argument is of another type.
        ValueError: there is no such decoder; it does not know a word of the text; or an argument
            is out of its range.
        traitlets.TraitError: the same, of a trait that is set later.

    Example:
        >>> from attnbook.figures import WritingFigure
        >>> text = "anna goes to the park . ben goes to the school . where is ben ?"
        >>> " ".join(WritingFigure(text).written.answer)
        'ben is in the school .'
    """

    _esm = module("writing/figure.js")
    _css = stylesheet("shared/theme.css", "shared/style.css", "writing/style.css")

    step = traitlets.Int(0, min=0).tag(sync=True)
    attention = traitlets.Unicode().tag(sync=True)
    right: Any = traitlets.Dict().tag(sync=True)

    def __init__(  # noqa: PLR0913 - what is written, what is shown at first, and two texts
        self,
        text: str,
        *,
        name: str = "story",
        step: int = 0,
        attention: str = "all",
        right: Mapping[str, Sequence[float]] | None = None,
        action: str = "",
        caption: str = "",
    ) -> None:
        check_symbols(name, "words")
        _check_text(name, text)
        _check_attention(attention)
        right = {} if right is None else right
        _check_right(right)
        _check_step(write(name, text, WINDOWS[attention]).answer, step)
        super().__init__(
            kind="writing",
            name=name,
            text=text,
            step=step,
            attention=attention,
            right={key: [float(share) for share in shares] for key, shares in right.items()},
            late=[name],
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def written(self) -> Written:
        """What the model writes after the text, in double precision."""
        return write(self.name, self.text, WINDOWS[self.attention])

    @traitlets.validate("text", "step", "attention")
    def _check(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        return self._accept(proposal)

    def _refuse(self, trait: str, value: Any) -> None:  # noqa: ANN401 - any trait's
        if trait == "text":
            _check_text(self.name, value)
        elif trait == "step":
            _check_step(self.written.answer, value)
        else:
            _check_attention(value)

    def _packed(self) -> dict[str, Any]:
        return pack_model(self.name)

    @traitlets.observe("text", "attention")
    def _describe(self, _change: object = None) -> None:
        if not self.kind:
            return
        written = self.written
        self.shown = {
            "text": self.text,
            "attention": self.attention,
            "symbols": decoder_of(self.name).vocabulary.symbols,
            "answer": written.answer,
            "chances": [round_all(row) for row in written.chances.tolist()],
        }
        self.step = min(self.step, len(written.answer) - 1)
        self._write_text(self._lines(written))

    def _lines(self, written: Written) -> Iterator[str]:
        names = TEXT.group("attention_to")
        yield TEXT("title", name=self.name, attention=names[self.attention])
        yield f"{self.text} → {' '.join(written.answer)}"
        symbols = self.shown["symbols"]
        for step, row in enumerate(written.chances.tolist()):
            best = sorted(range(len(row)), key=lambda i: -row[i])[:SHOWN]
            likely = [TEXT("percent", word=symbols[i], percent=percent(row[i])) for i in best]
            start = " ".join(written.answer[:step]) or "…"
            yield TEXT("chance", written=start, likely=", ".join(likely))
        for attention, shares in self.right.items():
            these, trained = map(percent, shares)
            yield TEXT("right", attention=names[attention], these=these, trained=trained)
