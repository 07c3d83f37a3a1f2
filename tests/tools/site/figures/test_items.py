"""The names under which a browser stores what a reader does: a changed question has another."""

from __future__ import annotations

from docutils import nodes
from docutils.utils import new_document

from attnbook.figures import CodeTask, Prediction
from tests.figures.attention.cases import traits
from tools.book.cells import LINES_OF_A_CELL
from tools.site.figures.items import Item, items_in, name_of, question_before
from tools.site.figures.live import placeholder
from tools.site.page_tree import Divider

PAGE, QUESTION = "chapters/legs", "How many legs has a bat?"
STATE = traits(Prediction("Legs:", "four", {"That is a bird.": "two"}))
NUMBERS = traits(Prediction("The weights:", [2 / 3, 1 / 3], labels=["first", "second"]))
TASK = traits(CodeTask("softmax-by-hand"))


def test_a_changed_prediction_has_another_name_and_the_text_before_it_is_part_of_it():
    for change in (
        {"ask": "Wings:"},
        {"options": ["four", "six"]},
        {"right": "two"},
        {"labels": ["legs"]},
    ):
        assert name_of(STATE | change, QUESTION, PAGE) != name_of(STATE, QUESTION, PAGE), change
    other = "How many legs has an ant?"
    assert name_of(STATE, other, PAGE) != name_of(STATE, QUESTION, PAGE)
    assert name_of(TASK, other, PAGE) == name_of(TASK, QUESTION, PAGE)


def test_a_changed_task_has_another_name_and_a_new_bug_does_not_change_it():
    statement, task = TASK["statement"], TASK["task"]
    assert name_of(TASK | {"statement": f"{statement} Now."}, "", PAGE) != name_of(TASK, "", PAGE)
    fewer = TASK | {"task": task | {"cases": task["cases"][1:]}}
    assert name_of(fewer, "", PAGE) != name_of(TASK, "", PAGE)
    assert name_of(TASK | {"task": task | {"bugs": []}}, "", PAGE) == name_of(TASK, "", PAGE)


def test_a_number_is_the_same_as_far_as_it_is_judged():
    right = NUMBERS["right"]
    last_digit = NUMBERS | {"right": [number + 1e-7 for number in right]}
    another = NUMBERS | {"right": [number + 0.02 for number in right]}
    assert name_of(last_digit, "", PAGE) == name_of(NUMBERS, "", PAGE)
    assert name_of(another, "", PAGE) != name_of(NUMBERS, "", PAGE)


def raw(text):
    return nodes.raw("", text, format="html")


def test_the_items_of_a_page_are_listed_once_and_the_divider_ends_its_core():
    tree = new_document("page")
    figure = raw(placeholder("figure-0", "", item="prediction/legs/1"))
    cell = nodes.container("", figure, cell_index=1)
    tree += [nodes.paragraph("", "How\nmany?"), cell]
    tree += [
        raw(placeholder("figure-1", "")),
        raw(placeholder("figure-0", "", item="prediction/legs/1")),
    ]
    tree += [Divider()]
    tree += [raw(placeholder("figure-2", "", item="task/walk/2"))]
    assert items_in(tree) == [Item("prediction/legs/1", True), Item("task/walk/2", False)]
    assert question_before(cell) == "How many?"


def test_a_question_is_all_text_from_its_bold_beginning_to_the_figure():
    tree = new_document("page")
    first = nodes.paragraph("", "", nodes.strong("", "Predict."), nodes.Text(" How many?"))
    parts = [nodes.paragraph("", "Before."), first, nodes.paragraph("", "(Of the bat.)")]
    for part in parts:
        part.line = LINES_OF_A_CELL  # of cell 0
    cell = nodes.container("", cell_index=1)
    tree += [*parts, cell]
    assert question_before(cell) == "Predict. How many? (Of the bat.)"
