"""The recognize figure's Python half: its text."""

from __future__ import annotations

from attnbook.figures import RecognizeFigure
from attnbook.figures.recognize.figure import TEXT
from attnbook.practice.recognition import SAMPLES, code_for


def test_each_task_has_its_sentence_and_its_inputs_in_the_text():
    assert [*TEXT.group("about")] == [*SAMPLES]
    for task, about in TEXT.group("about").items():
        figure = RecognizeFigure(task)
        assert repr(figure) == f"RecognizeFigure {task}: {about}\n\n{code_for(task)}"
