"""`AlignmentFigure`: step through a translation and see where the model attended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
import traitlets

from attnbook.checks import check_scores
from attnbook.figures.shared.base import (
    Figure,
    check_count,
    doubles,
    module,
    numbers,
    stylesheet,
)
from attnbook.figures.tokens.figure import SHEETS, quote
from attnbook.messages import Messages
from attnbook.models.evaluation import evaluating
from attnbook.models.translator.grading import DIGITS
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import BEGIN
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from attnbook.models.translator.dates import WrittenDate

TEXT = Messages(__file__)
MOST_DATES = 64


class AlignmentFigure(Figure):
    """A translation, character by character: where the model attended before it wrote each one.

    The model translates each text once, alone and greedily. The scores of its attention
    layer, with the decoder's states as queries and the encoder's as keys, are stored; the
    softmax runs in the page, in double precision, so the figure works without a kernel.

    Args:
        model: a `Translator` with attention, of any dtype and on any device.
        dates: 1 to 64, each a `WrittenDate` or a string, which has neither an expected
            output nor gold spans; each of 1 to 256 characters that the model knows.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `date`, which text, and `step`,
    which character of its output, both from 0. A date with fewer steps takes the last.

    Raises:
        TypeError: `model` is no `Translator`, or `dates` no list of dates or strings.
        ValueError: the model has no attention; no dates or too many; a text that the
            model cannot read; a span outside its text; an output of more than 256
            characters; scores that are not finite.
        traitlets.TraitError: a trait is set out of its range.

    Example:
        >>> from attnbook.figures import AlignmentFigure
        >>> from attnbook.models.translator.checkpoints import book_model
        >>> AlignmentFigure(book_model("small"), ["3 May 2024"]).attention_weights.shape
        torch.Size([10, 10])
    """

    _esm = module("alignment/figure.js")
    _css = stylesheet(*SHEETS, "alignment/style.css")

    # Of each date: characters, field of each step, span of each field, scores [step][key].
    translations: traitlets.List[Any] = traitlets.List().tag(sync=True)
    date = traitlets.Int(0, min=0).tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(
        self,
        model: Translator,
        dates: Sequence[WrittenDate | str],
        *,
        action: str = "",
        caption: str = "",
    ) -> None:
        _check_arguments(model, dates)
        with evaluating(model):
            translations = [_make_translation(model, date) for date in dates]
        super().__init__(
            kind="alignment", translations=translations, action=action, caption=caption
        )
        self._describe()

    @property
    def attention_weights(self) -> Float[Tensor, "steps keys"]:
        """The weights of the chosen date, in double precision."""
        shown = self.translations[self.date]
        shape = (1, len(shown["output"]), len(shown["text"]))
        scores = doubles(shown["scores"]).reshape(shape)
        return masked_softmax(scores)[0] if shape[1] else scores[0]

    @traitlets.validate("date")
    def _check_date(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        return _check_index("date", proposal["value"], "dates", len(self.translations))

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        count = self._count_steps() if self.translations else 0
        return _check_index("step", proposal["value"], "steps", count)

    def _count_steps(self) -> int:
        # At least one, so that step 0 of an empty output can be chosen. A wrong date that is
        # set together with a step is refused by its own check.
        shown = self.translations[min(self.date, len(self.translations) - 1)]
        return max(1, len(shown["output"]))

    @traitlets.observe("date")
    def _describe(self, _change: object = None) -> None:
        if self.translations:
            self.step = min(self.step, self._count_steps() - 1)
            self._write_text(self._lines())

    def _lines(self) -> Iterator[str]:
        yield TEXT("title", date=self.date, last=len(self.translations) - 1)
        yield from map(_describe_translation, self.translations)
        shown = self.translations[self.date]
        yield TEXT("steps_of_date", date=self.date, text="".join(shown["text"]))
        for step, weights in enumerate(self.attention_weights.tolist()):
            yield _describe_step(shown, step, weights)


def _describe_translation(translation: dict[str, Any]) -> str:
    text, output = "".join(translation["text"]), "".join(translation["output"])
    expected, shown = translation["expected"], output or TEXT("empty_output")
    if expected in ("", output):
        return TEXT("translation", text=text, output=shown)
    return TEXT("translation_not_expected", text=text, output=shown, expected=expected)


def _describe_step(shown: dict[str, Any], step: int, weights: list[float]) -> str:
    """Describe what a step wrote, where its peak is, and the weight in the gold span."""
    field = shown["fields"][step]
    scores = shown["scores"][step]
    peak = scores.index(max(scores))  # the first, if there are several
    fields = {
        "step": f"{step:4}",
        "written": f"{quote(shown['output'][step])} {field}".rstrip(),
        "peak": quote(shown["text"][peak]),
        "position": peak,
    }
    if field not in shown["spans"]:
        return TEXT("step_in_list", **fields)
    inside = sum(weights[slice(*shown["spans"][field])])
    return TEXT("step_in_list_with_bracket", **fields, weight=f"{inside:.3f}")


def _check_index(name: str, value: int, items: str, count: int) -> int:
    if count and value >= count:  # unknown while the constructor sets the traits
        raise traitlets.TraitError(f"{name} must lie in [0, {items}={count}), got {value}")
    return int(value)  # True is 1


def _check_arguments(model: Any, dates: Any) -> None:  # noqa: ANN401 - anything may have come
    if not isinstance(model, Translator):
        raise TypeError(f"model must be a Translator, got {type(model).__name__}")
    if model.attention is None:
        raise ValueError("model must have attention, got a Translator without; load another one")
    if isinstance(dates, str) or _is_date(dates):
        raise TypeError("dates must be a list of dates or strings, got one; put it in a list")
    check_count("dates", len(dates), MOST_DATES)
    for index, date in enumerate(dates):
        if not isinstance(date, str) and not _is_date(date):
            raise TypeError(
                f"dates must hold WrittenDates or strings, got {type(date).__name__} "
                f"at index {index}"
            )


def _is_date(given: object) -> bool:
    # Not by its class, because attnbook.models.translator.dates needs Babel.
    return all(hasattr(given, name) for name in ("text", "iso", "spans", "locale"))


def _make_translation(model: Translator, date: WrittenDate | str) -> dict[str, Any]:
    text = date if isinstance(date, str) else date.text
    (found,) = model.translate([text])
    check_count("steps", len(found.output), least=0)
    fields = {} if isinstance(date, str) else _field_by_step()
    return {
        "text": list(text),
        "output": list(found.output),
        "expected": "" if isinstance(date, str) else date.iso,
        "locale": "" if isinstance(date, str) else date.locale,
        "fields": [fields.get(step, "") for step in range(len(found.output))],
        "spans": {} if isinstance(date, str) else _check_spans(date),
        # Single precision: double would double the size of a page, and shows the same.
        "scores": numbers("scores", _compute_scores(model, text, found.output).float()),
    }


def _field_by_step() -> dict[int, str]:
    return {step: field for field, steps in DIGITS.items() for step in steps}


def _check_spans(date: WrittenDate) -> dict[str, list[int]]:
    for field, (start, end) in date.spans.items():
        if not 0 <= start < end <= len(date.text):
            raise ValueError(
                f"spans must lie in [0, len(text)={len(date.text)}], "
                f"got {(start, end)} for the {field} of {date.text!r}"
            )
    return {field: list(span) for field, span in date.spans.items() if field in DIGITS}


def _compute_scores(model: Translator, text: str, output: str) -> Float[Tensor, "steps keys"]:
    """Decode the output again, and score the decoder's states with the attention layer."""
    encoded = model.encode(*model.read([text]))
    state = model.first_state(encoded)
    written = [BEGIN, *(model.target.encode(output) if output else [])]
    queries = []
    for number in written[:-1]:
        queries.append(state)
        last = torch.full_like(encoded.valid_lens, number)
        _, state = model.step(last, state, model.context(state, encoded))
    if not queries:
        return encoded.states.new_zeros(0, len(text))
    stacked = torch.stack(queries, dim=1)  # (1, steps, hiddens)
    scores: Tensor = model.attention.score(stacked, encoded.states)  # type: ignore[union-attr] # checked
    check_scores(scores, stacked, encoded.states)
    return scores[0]
