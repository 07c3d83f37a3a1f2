"""`HeadsFigure`: type a sequence, see where the heads of a small Transformer attend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from attnbook.figures.heads.reading import (
    compute_stored,
    describe_count,
    name_of,
    predictable,
    read,
)
from attnbook.figures.shared.base import check_count, decimals, module, stylesheet
from attnbook.figures.tokens.figure import SHEETS, TokenFigure
from attnbook.figures.tokens.packing import check_symbols, decoder_of, pack_model, steps_of
from attnbook.messages import Messages

if TYPE_CHECKING:
    from attnbook.models.transformer.decoder import Reading

TEXT = Messages(__file__)
MOST = 32  # tokens: with more, a pair is too small to be seen
TRAINED = 24  # tokens of a sequence in training


def _sort_heads(heads: Sequence[Sequence[int]]) -> list[list[int]]:
    return sorted([*head] for head in heads)


def _check_step(_name: str, steps: list[int], step: int) -> None:
    if step not in steps:
        raise ValueError(f"step must be one of {', '.join(map(str, steps))}, got {step}")


def _check_text(name: str, steps: list[int], text: str) -> None:
    if isinstance(text, str):  # else the vocabulary refuses it
        check_count("tokens", len(text), MOST)
    decoder_of(name, steps[-1]).vocabulary.encode(text)


def _check_focus(name: str, steps: list[int], focus: Sequence[int]) -> None:
    has = decoder_of(name, steps[-1]).config
    sizes = (has.num_layers, has.num_heads)
    if len(focus) != 2 or not all(0 <= at < size for at, size in zip(focus, sizes, strict=True)):
        raise ValueError(f"focus must be (layer, head) below {sizes}, got {tuple(focus)}")


def _check_removed(name: str, steps: list[int], removed: list[list[int]]) -> None:
    for head in removed:
        try:
            _check_focus(name, steps, head)
        except ValueError as problem:
            raise ValueError(str(problem).replace("focus must be", "removed must hold")) from None
    if len({tuple(head) for head in removed}) < len(removed):
        raise ValueError(f"removed must hold each head once, got {removed}")


def _check_query(text: str, query: int) -> None:
    if query >= len(text):
        raise ValueError(f"query must lie in [0, tokens={len(text)}), got {query}")


CHECKS: dict[str, Any] = {
    "step": _check_step,
    "text": _check_text,
    "focus": _check_focus,
    "removed": _check_removed,
}


class HeadsFigure(TokenFigure):
    """A small Transformer's guesses for each next token, and its heads, which can be removed.

    One of the book's decoders reads the text: on the book's pages in the page itself, from
    the same float32 weights in double precision, whatever the reader types; so does this
    Python half. A token can be predicted if the one before it occurred earlier, followed by
    the same token.

    Args:
        name: a decoder of `attnbook.models.transformer.checkpoints`, attention only.
        text: what it reads first, 1 to 32 of its tokens; in training it saw 24.
        focus: the head shown large, `(layer, head)` from 0.
        step: the snapshot of its training, one of `decoder_steps(name)`; by default the last.
        removed: heads whose output is set to 0, `(layer, head)` each.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `text`, `step`, `focus`,
    `removed` and `query`, the position whose weights are shown, at first the last one.

    Raises:
        TypeError: `text` is no string.
        ValueError: there is no such decoder, step or head; the decoder reads words; the text is
            empty, too long, or has a token that it does not know.
        traitlets.TraitError: the same, of a trait that is set later.

    Example:
        >>> from attnbook.figures import HeadsFigure
        >>> HeadsFigure("copying", "gbdkafcdkafc").reading.guesses[-5:]
        'kafcd'
    """

    _esm = module("heads/figure.js")
    _css = stylesheet(*SHEETS, "heads/style.css")

    steps: traitlets.List[int] = traitlets.List().tag(sync=True)
    trained = traitlets.Int(TRAINED).tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    focus: traitlets.List[int] = traitlets.List().tag(sync=True)
    removed: traitlets.List[list[int]] = traitlets.List().tag(sync=True)
    query = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(  # noqa: PLR0913 - what is shown at first, and two texts
        self,
        name: str = "copying",
        text: str = "gbdkafcdkafcdkafcd",
        *,
        focus: Sequence[int] = (1, 0),
        step: int | None = None,
        removed: Sequence[Sequence[int]] = (),
        action: str = "",
        caption: str = "",
    ) -> None:
        check_symbols(name, "characters")
        steps = steps_of(name)
        chosen = {
            "text": text,
            "step": steps[-1] if step is None else step,
            "focus": [*focus],
            "removed": _sort_heads(removed),
        }
        for trait, check in CHECKS.items():  # a model first, then what it can read
            check(name, steps, chosen[trait])
        super().__init__(
            kind="heads",
            name=name,
            steps=steps,
            **chosen,
            query=len(text) - 1,
            late=[name],
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def reading(self) -> Reading:
        """The model's reading of the text without the removed heads, in double precision."""
        return read(self.name, self.step, self.text, self._removed_pairs())

    def _removed_pairs(self) -> list[tuple[int, int]]:
        return [(layer, head) for layer, head in self.removed]

    @traitlets.validate("text", "step", "focus", "removed", "query")
    def _check(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        value = self._accept(proposal)
        return _sort_heads(value) if proposal["trait"].name == "removed" else value

    def _refuse(self, trait: str, value: Any) -> None:  # noqa: ANN401 - any trait's
        if trait == "query":
            _check_query(self.text, value)
        else:
            CHECKS[trait](self.name, self.steps, value)

    def _packed(self) -> dict[str, Any]:
        return pack_model(self.name)

    @traitlets.observe("text", "step", "focus", "removed", "query")
    def _describe(self, _change: object = None) -> None:
        if not self.kind:
            return
        self.query = min(self.query, len(self.text) - 1)
        focus = (self.focus[0], self.focus[1])
        self.shown = compute_stored(self.name, self.step, self.text, self._removed_pairs(), focus)
        self._write_text(self._lines())

    def _lines(self) -> Iterator[str]:
        reading, text = self.reading, self.text
        yield TEXT("title", name=self.name, step=self.step)
        percent = [f"{100 * chance:.0f}" for chance in reading.probabilities.amax(-1).tolist()]
        rows = {
            TEXT("tokens"): text,
            TEXT("guesses"): reading.guesses,
            TEXT("percent"): percent,
            TEXT("verdict"): _mark_guesses(text, reading.guesses),
        }
        for title, row in rows.items():
            yield f"{title:<7} {' '.join(f'{each:>3}' for each in row)}"
        yield describe_count(text, reading.guesses, self.shown["whole"], self.removed)
        yield TEXT("attends_most_to", query=self.query, token=text[self.query])
        for layer, heads in enumerate(reading.weights[:, :, self.query].tolist()):
            for head, row in enumerate(heads):
                key = row.index(max(row))
                line = TEXT(
                    "removed_head_peak" if [layer, head] in self.removed else "head_peak",
                    head=name_of((layer, head)),
                    key=key,
                    token=text[key],
                    weight=decimals(row[key]),
                )
                yield f"  {line}"


def _mark_guesses(text: str, guesses: str) -> str:
    """✓ or ✗ below a token whose successor can be predicted: whether it is guessed."""
    verdicts = [
        ("✓" if guess == after else "✗") if can else "·"
        for guess, after, can in zip(guesses, text[1:], predictable(text)[1:], strict=False)
    ]
    return "".join([*verdicts, "·"])
