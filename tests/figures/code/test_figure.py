"""`CodeTask`, and a figure that draws the results of the reader's code, in Python."""

from __future__ import annotations

import json
import sys

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure, CodeTask
from attnbook.practice import LIST_TASKS, check
from attnbook.practice.judge import progress
from attnbook.practice.judge.data import data_of
from tests.figures.attention.cases import traits


@pytest.mark.parametrize("name", LIST_TASKS)
def test_a_figure_stores_the_task_and_its_text_has_statement_and_starter(name):
    figure, task = CodeTask(name, caption="Try it."), LIST_TASKS[name]
    assert repr(figure) == f"CodeTask {name}: {task.full_statement}\n\n{task.starter}"
    assert figure.task == data_of(task.name)
    assert (figure.kind, figure.caption) == ("code", "Try it.")
    assert figure.late == ["editor", "python"]
    assert json.dumps(traits(figure)) == json.dumps(traits(CodeTask(name, caption="Try it.")))


def test_the_static_form_has_the_question_and_no_answer():
    figure = CodeTask("softmax-by-hand")
    assert "<code>math.exp(score)</code>" in figure.still_html
    assert "<pre>import math\n\ndef softmax(scores):\n    ...</pre>" in figure.still_html
    assert "subtracted" not in figure.still_html


def test_an_unknown_task_is_refused_with_the_list_of_tasks():
    with pytest.raises(ValueError, match=r"task must be one of additive-score.*, .* got 'softmax'"):
        CodeTask("softmax")


def drawn(**options):
    vectors = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(0))
    return AttentionFigure(attnbook.dot_score, vectors, vectors, vectors, **options), vectors


def test_a_figure_that_draws_scores_stores_the_vectors_and_more_arguments():
    figure, vectors = drawn(written="score-by-hand", written_with=[torch.eye(2)])
    assert figure.written["draws"] == "score"
    assert torch.tensor(figure.written["queries"]).allclose(vectors)
    assert torch.tensor(figure.written["keys"]).allclose(vectors)
    assert figure.written["more"] == [[[1.0, 0.0], [0.0, 1.0]]]


def test_other_figures_store_no_arguments():
    assert drawn()[0].written == {}
    assert drawn(written="masked-softmax-by-hand")[0].written == {
        "task": "masked-softmax-by-hand",
        "draws": "weights",
        "queries": [],
        "keys": [],
        "more": [],
    }


def test_a_task_that_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="whose answer can be drawn, got 'pool-by-hand'"):
        drawn(written="pool-by-hand")
    with pytest.raises(ValueError, match=r"task must be one of .* got 'pool'"):
        drawn(written="pool")


def test_in_a_notebook_a_figure_calls_what_the_reader_has_checked_and_reports_its_errors(
    monkeypatch,
):
    monkeypatch.setattr(progress, "_latest", {})
    figure, _ = drawn(written="score-by-hand")
    assert figure.reader == {}

    def my_score(query, key):
        return query[0] / key[0]

    check("score-by-hand", my_score)
    assert (
        figure.reader
        == drawn(written="score-by-hand")[0].reader
        == {"called": "my_score", "run": 1}
    )
    figure.calls = {"number": 1, "calls": [[[4.0], [2.0]], [[1.0], [2.0]]]}
    assert figure.returned == {"number": 1, "given": [2.0, 0.5]}
    figure.calls = {"number": 2, "calls": [[[4.0], [0.0]]]}
    assert figure.returned == {"number": 2, "error": "ZeroDivisionError: float division by zero"}
    progress._latest["score-by-hand"] = lambda *_: sys.exit()
    figure.calls = {"number": 3, "calls": [[[4.0], [0.0]]]}
    assert figure.returned == {"number": 3, "error": "SystemExit: "}
