"""Which cells are the answers to which."""

from __future__ import annotations

import nbformat
import pytest
from docutils import nodes

from tools.book.cells import Answer, answers, cell_of, list_unanswered


def chapter(*tags):
    """A notebook with a cell for each word of tags."""
    cells = [
        nbformat.v4.new_code_cell(metadata={"tags": each.split()} if each else {}) for each in tags
    ]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["", "predict", "answer", "answer", ""], [Answer(range(2, 4), True, False)]),
        (["predict hidden-answer", "answer"], [Answer(range(1, 2), True, True)]),
        (["", "answer", "", "answer"], [Answer(range(n, n + 1), False, False) for n in (1, 3)]),
        (["answer"], [Answer(range(1), False, False)]),
        (["", "predict"], []),
    ],
)
def test_a_run_of_answers_belongs_to_the_cell_before_it(tags, expected):
    assert list(answers(chapter(*tags))) == expected


def test_a_prediction_without_an_answer_is_found():
    asking = chapter("predict", "", "predict", "answer", "predict hidden-answer")
    assert list(list_unanswered(asking)) == [0, 4]


def test_the_cell_of_a_part_of_a_page_follows_from_its_first_line():
    part = nodes.paragraph("", "text")
    assert cell_of(part) is None
    part.line = 40_003
    assert cell_of(nodes.section("", part)) == 3
