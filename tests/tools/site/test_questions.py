"""No answer of the book can be seen before its question is answered, and none is missing."""

from __future__ import annotations

import re
from itertools import takewhile

import pytest
from nbformat import NotebookNode

from tests.tools.site.questions import counts
from tools import ROOT
from tools.book.cells import ANSWER, PREDICT, has_tag
from tools.book.notebooks import chapters, read
from tools.book.without_answers import remove_folds

DIVIDER = ":::{deeper}"
RIGHT = re.compile(r"^right: (.*)", re.MULTILINE)  # in a prediction's stored text
FIGURE = re.compile(r"^\w+Figure\b", re.MULTILINE)  # draws what its stored text has
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
PICTURE, TAG = re.compile(r"\.\./img/([\w-]+\.svg)"), re.compile("<[^>]*>")


def test_every_question_of_the_book_has_an_answer_and_each_is_folded(site):
    found = counts(site)
    assert sum(it.predictions for it in found.values()) > 50
    assert sum(it.questions for it in found.values()) > 60
    for name, it in found.items():
        assert it.seen + it.unanswered + it.without_hint == [], name
        assert it.hidden <= 3, name


def asked_numbers(cell: NotebookNode) -> list[float]:
    """The numbers that a prediction asks for, if it asks for several."""
    if not has_tag(cell, PREDICT) or "labels=" not in cell.source:
        return []
    right = RIGHT.search(cell.outputs[0].data["text/plain"])
    return [float(part.split()[-1]) for part in right[1].split(", ")]


def shown_numbers(cell: NotebookNode) -> list[float]:
    """The numbers of a cell that can be read before anything is opened or moved."""
    if has_tag(cell, PREDICT) or has_tag(cell, ANSWER):
        return []
    pictures = [ROOT / "img" / name for name in PICTURE.findall(cell.source)]
    texts = [output.get("text") or output.data["text/plain"] for output in cell.get("outputs", [])]
    texts = [text for text in texts if not FIGURE.search(text)]
    texts += [TAG.sub(" ", picture.read_text("utf-8")) for picture in pictures]
    return [
        float(found) for found in NUMBER.findall("\n".join([remove_folds(cell.source), *texts]))
    ]


def occurs(wanted: list[float], shown: list[float]) -> bool:
    """Whether these numbers follow one another, as rounded as a page may print them."""
    rows = (shown[i : i + len(wanted)] for i in range(len(shown) - len(wanted) + 1))
    return any(all(abs(a - b) < 0.0051 for a, b in zip(row, wanted, strict=True)) for row in rows)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_numbers_to_predict_are_not_shown_in_the_rest_of_the_half(path):
    cells = read(path).cells
    for i, cell in enumerate(cells):
        if wanted := asked_numbers(cell):
            rest = takewhile(lambda cell: DIVIDER not in cell.source, cells[i + 1 :])
            seen = [later.id for later in rest if occurs(wanted, shown_numbers(later))]
            assert seen == [], cell.id
