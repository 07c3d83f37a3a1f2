"""`TranslatorFigure`: type a date, see how a trained model writes it and where it attends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from attnbook.figures.shared.base import check_count, decimals, module
from attnbook.figures.tokens.figure import STYLE, TokenFigure, quote
from attnbook.figures.translator.packing import pack_model, translator_of
from attnbook.figures.translator.reading import (
    certainty,
    compute_stored,
    objection,
    probable,
    read,
    verdict,
)
from attnbook.messages import Messages

if TYPE_CHECKING:
    from attnbook.figures.translator.reading import Reading

TEXT = Messages(__file__)
MOST = 64  # characters: twice the longest date that was learned


class TranslatorFigure(TokenFigure):
    """A date that the reader types, and a trained model that writes it as year, month and day.

    One of the book's translators writes: on the book's pages in the page itself, from the same
    float32 weights in double precision, whatever the reader types; so does this Python half.
    Characters can be hidden from its attention: their weights become 0, the others share the
    rest in proportion, and where nothing is left the context is 0. The encoder is
    unchanged: a neighbour's state still depends on a hidden character. The figure shows the
    probability of each character that is written and of the whole output, and whether that is a
    real date.

    Args:
        name: a translator of `attnbook.models.translator.checkpoints` that attends and has a
            convolutional encoder: "convolutional" or "small".
        text: what it translates first, 1 to 64 characters that it knows.
        examples: texts of the same kind, at most 64, offered for a start.
        hidden: positions in the text that get no weight, from 0.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `text`, `hidden` and `step`,
    which character of the output, from 0. A new text hides nothing beyond its end, and an output
    with fewer steps takes the last.

    Raises:
        TypeError: a text is no string.
        ValueError: there is no such model, or a page cannot read as it does; a text is empty,
            too long, or has a character that the model does not know; there are too many
            examples; a hidden position lies outside the text, or is named twice.
        traitlets.TraitError: the same, of a trait that is set later.

    Example:
        >>> from attnbook.figures import TranslatorFigure
        >>> TranslatorFigure("small", "3 May 2024").reading.output
        '2024-05-03'
    """

    _esm = module("translator/figure.js")
    _css = STYLE

    examples: traitlets.List[str] = traitlets.List().tag(sync=True)
    hidden: traitlets.List[int] = traitlets.List().tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(
        self,
        name: str = "convolutional",
        text: str = "9. März 1987",
        *,
        examples: Sequence[str] = (),
        hidden: Sequence[int] = (),
        action: str = "",
        caption: str = "",
    ) -> None:
        check_count("examples", len(examples), MOST, least=0)
        for each in (text, *examples):
            _check_text(name, each)
        _check_hidden(text, hidden)
        super().__init__(
            kind="translator",
            name=name,
            text=text,
            examples=[*dict.fromkeys(examples)],  # some languages write the same
            hidden=sorted(hidden),
            late=[name],
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def reading(self) -> Reading:
        """The model's reading of the text without the hidden characters, in double precision."""
        return read(self.name, self.text, self.hidden)

    @traitlets.validate("text", "hidden", "step")
    def _check(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        value = self._accept(proposal)
        if isinstance(value, list):
            return sorted(value)
        return value if isinstance(value, str) else int(value)  # True is 1

    def _refuse(self, trait: str, value: Any) -> None:  # noqa: ANN401 - any trait's
        if trait == "hidden":
            _check_hidden(self.text, value)
        else:
            (_check_text if trait == "text" else _check_step)(self.name, value)

    def _packed(self) -> dict[str, Any]:
        return pack_model(self.name)

    @traitlets.observe("text", "hidden", "step")
    def _describe(self, _change: object = None) -> None:
        if not self.kind:
            return
        self.hidden = [position for position in self.hidden if position < len(self.text)]
        self.shown = compute_stored(self.name, self.text, self.hidden)
        self.step = min(self.step, max(0, len(self.shown["output"]) - 1))
        self._write_text(self._lines())

    def _lines(self) -> Iterator[str]:
        shown, text = self.shown, self.text
        yield TEXT("title", name=self.name)
        yield f"{text} -> {shown['output'] or TEXT('no_output')}"
        if self.hidden:
            yield verdict(text, self.hidden, shown["output"], shown["whole"])
        reading = self.reading
        probabilities = reading.probabilities.tolist()
        yield f"{certainty(probabilities)} {objection(reading.output)}".rstrip()
        for step, weights in enumerate(reading.weights.tolist()):
            peak = weights.index(max(weights))
            line = TEXT(
                "step_in_list" if any(weights) else "step_in_list_without_weight",
                character=quote(shown["output"][step]),
                probability=probable(probabilities[step]),
                peak=quote(text[peak]),
                position=peak,
                weight=decimals(weights[peak]),
            )
            yield f"{step:4} {line}"


def _check_text(name: str, text: str) -> None:
    model = translator_of(name)
    if isinstance(text, str):  # else the vocabulary refuses it
        check_count("characters", len(text), MOST)
    model.source.encode(text)


def _check_step(name: str, step: int) -> None:
    count = translator_of(name).config.max_steps
    if step >= count:
        raise ValueError(f"step must lie in [0, max_steps={count}), got {step}")


def _check_hidden(text: str, hidden: Sequence[int]) -> None:
    for position in hidden:
        if (
            isinstance(position, bool)
            or not isinstance(position, int)
            or not 0 <= position < len(text)
        ):
            raise ValueError(
                f"hidden must hold positions in [0, len(text)={len(text)}), got {position}"
            )
    if len({*hidden}) < len(hidden):
        raise ValueError(f"hidden must hold each position at most once, got {[*hidden]}")
