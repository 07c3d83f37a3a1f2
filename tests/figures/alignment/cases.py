"""Translators and texts for the alignment figure, and what is true of each."""

from __future__ import annotations

import datetime
import string
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from attnbook import DotProductAttention
from attnbook.figures import AlignmentFigure
from attnbook.models.translator.checkpoints import book_model
from attnbook.models.translator.config import Config
from attnbook.models.translator.dates import LOCALES, WrittenDate, write_date
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import END, Vocabulary

DAY = datetime.date(1987, 3, 9)
FAILING = datetime.date(1453, 5, 29)
FIELDS = ["year"] * 4 + [""] + ["month"] * 2 + [""] + ["day"] * 2

cached_model = cache(book_model)


def book_dates() -> list[WrittenDate]:
    """The dates of the chapter."""
    return [write_date(DAY, locale, "long") for locale in LOCALES]


def new_model(seed: int = 13, **config: Any) -> Translator:
    """A model with random weights; its sizes are all different."""
    sizes = {"embedding_size": 5, "written_size": 3, "num_hiddens": 14, "score_hiddens": 7}
    letters = Vocabulary(string.ascii_lowercase + " 0123456789-")
    model = Translator(letters, Vocabulary("0123456789-"), Config(**(sizes | config)), seed=seed)
    for weight in model.parameters():  # larger, so that the attention weights differ
        weight.data *= 3
    return model.eval()


def never_ending(**config: Any) -> Translator:
    """It writes as many characters as it may."""
    model = new_model(**config)
    model.output.bias.data[END] = -1e3
    return model


def ending_at_once() -> Translator:
    """It ends at once."""
    model = new_model()
    model.output.bias.data[END] = 1e3
    return model


def even(**config: Any) -> Translator:
    """All of its scores are 0: each character gets the same weight."""
    model = never_ending(**config)
    model.attention.w_v.weight.data.zero_()
    return model


class ReadersAttention(DotProductAttention):
    """A layer of the reader's that a translator can use."""

    def project_keys(self, keys: Tensor) -> Tensor:
        return keys

    def attend(self, queries, projected_keys, values, valid_lens=None):
        return self(queries, projected_keys, values, valid_lens)


def make_date(text: str, iso: str, **spans: tuple[int, int]) -> WrittenDate:
    """A date with a text, an ISO date and spans of our own."""
    return WrittenDate(text, iso, spans, "xx", "long")


def long_text(length: int, shift: int = 0) -> str:
    letters = string.ascii_lowercase + " " + string.digits
    return "".join(letters[(shift + 5 * i) % len(letters)] for i in range(length))


Case = tuple[Translator, list[Any]]


def book() -> Case:
    """The chapter's: all languages, in double precision."""
    return book_model("convolutional").double(), book_dates()


def failing() -> Case:
    """A year that the model never saw, in single precision."""
    return cached_model("convolutional"), [write_date(FAILING, "de"), write_date(DAY, "he")]


def strings() -> Case:
    """Texts without gold spans, and more than one row of them."""
    return never_ending(), [long_text(length) for length in (1, 20, 21, 37, 64)]


def wordy() -> Case:
    """More and fewer characters than were expected, and a date at the end of its text."""
    dates = [
        make_date("ab 12", "1-2-3", year=(3, 5), day=(0, 1)),
        make_date("cd 12", "1987-03-09-1987-03-09", year=(0, 2), month=(4, 5)),
    ]
    return never_ending(max_steps=13), dates


def nothing() -> Case:
    return ending_at_once(), ["ab", make_date("cd 12", "1987-03-09", year=(3, 5))]


def one_step() -> Case:
    return never_ending(max_steps=1), ["ab"]


ALL = (book, failing, strings, wordy, nothing, one_step)
CASES: dict[str, Callable[[], Case]] = {case.__name__: case for case in ALL}


@cache
def translate_case(case: str) -> tuple[list[Any], list[Any]]:
    """The texts of a case, and the model's translation of each."""
    model, dates = CASES[case]()
    texts = [date if isinstance(date, str) else date.text for date in dates]
    return dates, [model.translate([text])[0] for text in texts]


def figure_of(case: str) -> AlignmentFigure:
    return AlignmentFigure(*CASES[case]())


cached_figure = cache(figure_of)


def expected_facts(case: str, date: int, step: int, scores: list[float]) -> dict[str, Any]:
    """The expected facts of a step, from the texts and the model; the scores are the figure's."""
    text, found = (both[date] for both in translate_case(case))
    dated = not isinstance(text, str)
    field = (FIELDS[step] if step < len(FIELDS) else "") if dated else ""
    span = text.spans.get(field) if dated else None
    weights = torch.tensor(scores, dtype=torch.float64).softmax(-1).tolist()
    inside = sum(weights[i] for i in range(*span)) if span else None
    return {
        "text": list(found.text),
        "output": list(found.output),
        "expected": text.iso if dated else "",
        "field": field,
        "span": span,
        "weights": weights,
        "inside": inside,
    }


def visible(character: str) -> str:
    return "␣" if character.isspace() else character
