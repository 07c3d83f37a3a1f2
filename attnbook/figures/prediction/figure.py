"""`Prediction`: a question that the reader answers before the page does."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets
from torch import Tensor

from attnbook.figures.shared.base import (
    Figure,
    check_count,
    decimals,
    inline,
    module,
    numbers,
    stylesheet,
)
from attnbook.renamed import warn_renamed

WITHIN = 0.005  # an answer to two decimals is right
MOST = 8  # numbers to type


class Prediction(Figure):
    """Asks before it shows: for a choice, a number, or a row of numbers.

    A wrong answer is struck out, and explained if it is a common mistake; after two
    tries one may be shown the answer. On the book's pages what follows stays folded until
    then.

    Args:
        ask: what is to be found, in a few words, such as "The three scores:"; the text before
            it puts the question.
        right: what the book's code gives. A number, or a tensor or list of them: the
            reader types it. A text, or a shape: the reader chooses.
        wrong_answers: what each common mistake gives, by a sentence about the mistake. A choice
            needs at least one. (Called `slips` before 0.1.)
        labels: of the numbers; a single one needs none.
        within: how far a typed number may lie off.
        caption: one sentence below the figure.

    Traits that follow the reader's hand: `tried`, the wrong answers; `done`, "right" or
    "shown" at the end.

    Raises:
        ValueError: a wrong answer is right, or equal to another; or the numbers are
            not finite, or not as many as their labels.
    """

    _esm = module("prediction/figure.js")
    _css = stylesheet("shared/theme.css", "prediction/style.css")

    ask = traitlets.Unicode().tag(sync=True)
    labels: traitlets.List[str] = traitlets.List().tag(sync=True)
    options: traitlets.List[str] = traitlets.List().tag(sync=True)  # none: numbers are typed
    right = traitlets.Any().tag(sync=True)
    wrong_answers: traitlets.List[Any] = traitlets.List().tag(sync=True)  # pairs: answer, sentence
    within = traitlets.Float().tag(sync=True)
    still_html = traitlets.Unicode().tag(sync=True)  # on a page, until it is alive
    tried: traitlets.List[Any] = traitlets.List().tag(sync=True)
    done = traitlets.Unicode().tag(sync=True)

    def __init__(  # noqa: PLR0913 - `slips` goes with the next version
        self,
        ask: str,
        right: object,
        wrong_answers: Mapping[str, object] | None = None,
        *,
        labels: Sequence[str] = (),
        within: float = WITHIN,
        caption: str = "",
        slips: Mapping[str, object] | None = None,
    ) -> None:
        if slips is not None:
            warn_renamed("slips", "wrong_answers")
            wrong_answers = slips
        typed = not isinstance(right, str | tuple)
        read: Callable[[Any], Any] = _row if typed else _text
        known = [(read(answer), sentence) for sentence, answer in (wrong_answers or {}).items()]
        answer = read(right)
        _check_apart(answer, known, within if typed else 0)
        if typed:
            _check_labels(labels, answer)
        elif not known:
            raise ValueError("a choice needs wrong_answers to choose from, got none")
        options = [] if typed else _in_order(ask, [answer, *(text for text, _ in known)])
        super().__init__(
            kind="prediction",
            ask=ask,
            labels=list(labels),
            options=options,
            right=answer,
            wrong_answers=[[*pair] for pair in known],
            within=within,
            caption=caption,
            static_text="\n".join(_told(ask, labels, answer, known)),
            still_html=_still(ask, options, labels or [""]),
        )

    @classmethod
    def claims(cls, ask: str, claims: Mapping[str, object], *, caption: str = "") -> Prediction:
        """Ask which of some claims holds.

        Args:
            ask: what they are about, in a few words, such as "The weights …".
            claims: for the one that holds, True; for each other, False and a sentence on it.
            caption: one sentence below the figure.

        Raises:
            ValueError: none of them holds, or more than one, or two have one sentence.
        """
        holds = [claim for claim, found in claims.items() if not isinstance(found, tuple) and found]
        others = {claim: found for claim, found in claims.items() if claim not in holds}
        if len(holds) != 1 or not all(isinstance(f, tuple) and not f[0] for f in others.values()):
            raise ValueError(
                "claims must be True for the one that holds, and (False, sentence) for each "
                f"other, got {claims}"
            )
        wrong_answers = {found[1]: claim for claim, found in others.items()}  # type: ignore[index]
        if len(wrong_answers) != len(others):
            raise ValueError("each claim that does not hold must have a sentence of its own")
        return cls(ask, holds[0], wrong_answers, caption=caption)


def _text(answer: Any) -> str:  # noqa: ANN401
    return answer if isinstance(answer, str) else str(tuple(answer))


def _row(answer: object) -> list[float]:
    if isinstance(answer, Tensor):
        return list(numbers("an answer", answer.double().flatten()))
    row = [float(each) for each in answer] if isinstance(answer, Sequence) else [float(answer)]  # type: ignore[arg-type]
    if not all(map(math.isfinite, row)):
        raise ValueError(f"an answer must be finite numbers, or a text to choose, got {answer}")
    return row


def _check_labels(labels: Sequence[str], answer: list[float]) -> None:
    check_count("numbers to type", len(answer), MOST)
    if len(answer) > 1 and len(labels) != len(answer):
        raise ValueError(
            f"labels must name each of the {len(answer)} numbers, got {len(labels)} labels"
        )


def _check_apart(answer: Any, known: list[tuple[Any, str]], within: float) -> None:  # noqa: ANN401
    """Refuse a wrong answer that is too close to the right one, or to another."""
    before = {"the right answer": answer}
    for wrong, sentence in known:
        if isinstance(wrong, list) and len(wrong) != len(answer):
            raise ValueError(
                f"a wrong answer must have {len(answer)} numbers, got {wrong}: {sentence}"
            )
        for name, other in before.items():
            if _same(wrong, other, 2 * within):
                raise ValueError(f"each wrong answer must differ, got {name} from: {sentence}")
        before[f"the same as {sentence!r}"] = wrong


def _same(first: Any, second: Any, within: float) -> bool:  # noqa: ANN401
    if isinstance(first, str):
        return first == str(second)
    return all(abs(a - b) <= within for a, b in zip(first, second, strict=True))


def _in_order(ask: str, options: list[str]) -> list[str]:
    """Mix, so that the right one has no place of its own: by digest, the same in each run."""
    return sorted(options, key=lambda option: hashlib.sha256(f"{ask}|{option}".encode()).digest())


def _still(ask: str, options: list[str], labels: Sequence[str]) -> str:
    """The question without its answer, laid out as `figure.js` will, so that nothing moves then.

    `site.css` gives it its shape, before any script is there.
    """
    boxes = [f"<span>{inline(label)}<b></b></span>" for label in labels]
    asked = "".join(f"<p>{inline(option)}</p>" for option in options) or (
        f"<div>{''.join(boxes)}<span><b>Check</b></span></div>"
    )
    return f'<div class="attnbook-question"><p>{inline(ask)}</p>{asked}</div>'


def _told(
    ask: str,
    labels: Sequence[str],
    answer: Any,  # noqa: ANN401
    known: list[tuple[Any, str]],
) -> list[str]:
    lines = [f"Prediction: {ask}", f"right: {_say(answer, labels)}"]
    return lines + [f"{_say(wrong, labels)}: {sentence}" for wrong, sentence in known]


def _say(answer: Any, labels: Sequence[str]) -> str:  # noqa: ANN401
    if isinstance(answer, str):
        return answer
    said = [decimals(number) for number in answer]
    return ", ".join(f"{a} {b}" for a, b in zip(labels, said, strict=True)) if labels else said[0]
