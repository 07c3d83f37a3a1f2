"""`Prediction`: a question that the reader answers before the page shows the answer."""

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
from attnbook.messages import Messages
from attnbook.practice import check
from attnbook.practice.registry import find_bugs, find_task
from attnbook.practice.task import Function

TEXT = Messages(__file__)
WITHIN = 0.005  # an answer to two decimals is right
MOST = 8  # numbers to type


class Prediction(Figure):
    """A question that comes before its answer: for a choice, a number, or a row of numbers.

    A wrong answer is struck out, and explained if it is a common mistake; after two
    tries the reader can ask for the answer. On the book's pages what follows stays folded
    until then.

    Args:
        ask: what to predict, in a few words, such as "The three scores:"; the text before it
            explains the question.
        right: the result of the book's code. The reader types a number, or the numbers of a
            tensor or list. The reader chooses a text, or a shape.
        wrong_answers: the result of each common mistake, by a sentence about the mistake. A choice
            needs at least one.
        labels: of the numbers; a single one needs none.
        within: the tolerance of a typed number.
        evidence: what is known before, a text by its name; the last one is wrong.
        caption: one sentence below the figure.

    Traits that the reader's answers set: `tried`, the wrong answers; `done`, "right" or
    "shown" at the end.

    Raises:
        ValueError: a wrong answer is right, or equal to another; a choice has none; or the
            numbers are not finite, or not as many as their labels.

    Example:
        >>> from attnbook.figures import Prediction
        >>> Prediction("The shape of the scores:", (2, 3), {"You swapped the axes": (3, 2)})
        Prediction: The shape of the scores:
        right: (2, 3)
        (3, 2): You swapped the axes
    """

    _esm = module("prediction/figure.js")
    _css = stylesheet("shared/theme.css", "shared/question.css", "prediction/style.css")

    ask = traitlets.Unicode().tag(sync=True)
    labels: traitlets.List[str] = traitlets.List().tag(sync=True)
    # Empty: the reader types numbers.
    options: traitlets.List[str] = traitlets.List().tag(sync=True)
    right = traitlets.Any().tag(sync=True)
    wrong_answers: traitlets.List[Any] = traitlets.List().tag(sync=True)  # pairs: answer, sentence
    within = traitlets.Float().tag(sync=True)
    evidence = traitlets.Unicode().tag(sync=True)  # HTML
    still_html = traitlets.Unicode().tag(sync=True)  # on a page, until its script runs
    tried: traitlets.List[Any] = traitlets.List().tag(sync=True)
    done = traitlets.Unicode().tag(sync=True)

    def __init__(  # noqa: PLR0913 - a question, its answers, and what is around them
        self,
        ask: str,
        right: object,
        wrong_answers: Mapping[str, object] | None = None,
        *,
        labels: Sequence[str] = (),
        within: float = WITHIN,
        evidence: Mapping[str, str] | None = None,
        caption: str = "",
    ) -> None:
        typed = not isinstance(right, str | tuple)
        convert: Callable[[Any], Any] = _to_numbers if typed else _to_text
        mistakes = [
            (convert(answer), sentence) for sentence, answer in (wrong_answers or {}).items()
        ]
        answer = convert(right)
        evidence_html = _evidence_html(evidence or {})
        _check_distinct(answer, mistakes, within if typed else 0)
        if typed:
            _check_labels(labels, answer)
        elif not mistakes:
            raise ValueError("a choice needs wrong_answers to choose from, got none")
        options = [] if typed else _shuffle(ask, [answer, *(text for text, _ in mistakes)])
        super().__init__(
            kind="prediction",
            ask=ask,
            labels=list(labels),
            options=options,
            right=answer,
            wrong_answers=[[*pair] for pair in mistakes],
            within=within,
            evidence=evidence_html,
            caption=caption,
            static_text="\n".join(_text_lines(ask, evidence or {}, labels, answer, mistakes)),
            still_html=evidence_html + _static_html(ask, options, labels or [""]),
        )

    @classmethod
    def claims(cls, ask: str, claims: Mapping[str, object], **options: Any) -> Prediction:  # noqa: ANN401 - as the constructor's
        """Ask which of some claims holds.

        Args:
            ask: what they are about, in a few words, such as "The weights …".
            claims: for the one that holds, True; for each other, False and a sentence on it.
            options: as of the constructor.

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
        return cls(ask, holds[0], wrong_answers, **options)

    @classmethod
    def bug(
        cls,
        task: str,
        code: Function,
        *others: str,
        run: Callable[[Function], object] | None = None,
        given: str = "",
    ) -> Prediction:
        """Ask which bug some code has; a wrong choice is explained by what that bug gives.

        Args:
            task: as `check` takes it.
            code: a function or a class with one known bug, which `check` finds.
            others: names of other bugs of the task, to choose from.
            run: computes numbers with a function for the task. The figure shows them for correct
                code and for this one; without it, users' reports explain wrong choices.
            given: what `run` computes them from.

        Raises:
            ValueError: the code has no known bug, or two; there is no other bug of a name; or
                another one gives the same numbers.

        Example:
            >>> from attnbook.figures import Prediction
            >>> from attnbook.practice import find_task
            >>> code = find_task("length-mask").bugs["mask inverted"].function
            >>> print(Prediction.bug("length-mask", code, "one key too many").right)
            the mask is inverted: what should be visible is hidden, and what is hidden is visible.
        """
        found = check(task, code).bugs
        if len(found) != 1:
            names = [bug.name for bug in found]
            raise ValueError(f"code must have one known bug of {task}, got {names}")
        claims: dict[str, object] = {found[0].cause: True}
        if not run:
            for bug in find_bugs(task, others):
                claims[bug.cause] = (False, TEXT("other_bug", symptom=bug.symptom))
            return cls.claims(TEXT("which_bug"), claims)
        expected, got = (_shorten(run(each)) for each in (find_task(task).reference, code))
        for bug in find_bugs(task, others):
            gives = _shorten(run(bug.function))
            if gives == got:
                raise ValueError(f"another bug must not give {got}, too, got {bug.name!r}")
            claims[bug.cause] = (False, TEXT("other_bug_gives", gives=gives, got=got))
        evidence = {TEXT("given"): given, TEXT("expected"): expected, TEXT("got"): got}
        return cls.claims(TEXT("which_bug"), claims, evidence=evidence)


def _to_text(answer: Any) -> str:  # noqa: ANN401
    return answer if isinstance(answer, str) else str(tuple(answer))


def _to_numbers(answer: object) -> list[float]:
    if isinstance(answer, Tensor):
        return list(numbers("an answer", answer.double().flatten()))
    row = [float(each) for each in answer] if isinstance(answer, Sequence) else [float(answer)]  # type: ignore[arg-type]
    if not all(map(math.isfinite, row)):
        raise ValueError(f"an answer must be finite numbers, or a text to choose, got {answer}")
    return row


def _shorten(result: object) -> str:
    """Numbers with three digits."""
    return ", ".join(f"{number:.3g}" for number in _to_numbers(result))


def _check_labels(labels: Sequence[str], answer: list[float]) -> None:
    check_count("numbers to type", len(answer), MOST)
    if len(answer) > 1 and len(labels) != len(answer):
        raise ValueError(
            f"labels must name each of the {len(answer)} numbers, got {len(labels)} labels"
        )


def _check_distinct(answer: Any, mistakes: list[tuple[Any, str]], within: float) -> None:  # noqa: ANN401
    """Refuse a wrong answer that is too close to the right one, or to another."""
    before = {"the right answer": answer}
    for wrong, sentence in mistakes:
        if isinstance(wrong, list) and len(wrong) != len(answer):
            raise ValueError(
                f"a wrong answer must have {len(answer)} numbers, got {wrong}: {sentence}"
            )
        for name, other in before.items():
            if _is_same(wrong, other, 2 * within):
                raise ValueError(f"each wrong answer must differ, got {name} from: {sentence}")
        before[f"the same as {sentence!r}"] = wrong


def _is_same(first: Any, second: Any, within: float) -> bool:  # noqa: ANN401
    if isinstance(first, str):
        return first == str(second)
    return all(abs(a - b) <= within for a, b in zip(first, second, strict=True))


def _shuffle(ask: str, options: list[str]) -> list[str]:
    """Order options by digest: independent of which one is right, and the same in each run."""
    return sorted(options, key=lambda option: hashlib.sha256(f"{ask}|{option}".encode()).digest())


def _evidence_html(evidence: Mapping[str, str]) -> str:
    rows = [f"{name} <b>{inline(text)}</b>" for name, text in evidence.items()]
    rows[-1:] = [row.replace("<b>", '<b class="wrong">✗ ') for row in rows[-1:]]
    return f'<p class="attnbook-evidence">{" ".join(rows)}</p>' if rows else ""


def _static_html(ask: str, options: list[str], labels: Sequence[str]) -> str:
    """Lay the question out as `figure.js` does, so that nothing moves when the script runs.

    `site.css` styles it before any script is loaded.
    """
    boxes = [f"<span>{inline(label)}<b></b></span>" for label in labels]
    controls = "".join(f"<p>{inline(option)}</p>" for option in options) or (
        f"<div>{''.join(boxes)}<span><b>{TEXT('check')}</b></span></div>"
    )
    return f'<div class="attnbook-question"><p>{inline(ask)}</p>{controls}</div>'


def _text_lines(
    ask: str,
    evidence: Mapping[str, str],
    labels: Sequence[str],
    answer: Any,  # noqa: ANN401
    mistakes: list[tuple[Any, str]],
) -> list[str]:
    return [
        TEXT("title", ask=ask),
        *(f"{name}: {text}" for name, text in evidence.items()),
        TEXT("right_answer", answer=_format(answer, labels)),
        *(
            TEXT("wrong_answer", answer=_format(wrong, labels), sentence=sentence)
            for wrong, sentence in mistakes
        ),
    ]


def _format(answer: Any, labels: Sequence[str]) -> str:  # noqa: ANN401
    if isinstance(answer, str):
        return answer
    texts = [decimals(number) for number in answer]
    return ", ".join(f"{a} {b}" for a, b in zip(labels, texts, strict=True)) if labels else texts[0]
