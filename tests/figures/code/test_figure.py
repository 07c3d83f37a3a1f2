"""What `CodeTask` and a figure that draws the reader's answers hold, before any page shows them."""

from __future__ import annotations

import json

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure, CodeTask
from attnbook.practice import LIST_TASKS
from attnbook.practice.judge.data import data_of
from tests.figures.attention.cases import traits


@pytest.mark.parametrize("name", LIST_TASKS)
def test_a_figure_holds_the_task_and_its_text_says_it(name):
    figure, task = CodeTask(name, caption="Try it."), LIST_TASKS[name]
    assert repr(figure) == f"CodeTask {name}: {task.statement}\n\n{task.starter}"
    assert figure.task == data_of(task.name)
    assert (figure.kind, figure.caption, figure.in_torch) == ("code", "Try it.", task.in_torch.name)
    assert figure.late == ["editor", "python"]
    assert json.dumps(traits(figure)) == json.dumps(traits(CodeTask(name, caption="Try it.")))


def test_what_stands_on_a_page_before_it_is_alive_asks_and_tells_no_answer():
    figure = CodeTask("softmax-by-hand")
    assert "<code>math.exp(score)</code>" in figure.still_html
    assert "<pre>import math\n\ndef softmax(scores):\n    ...</pre>" in figure.still_html
    assert "subtracted" not in figure.still_html


def test_an_unknown_task_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"task must be one of additive-score.*, .* got 'softmax'"):
        CodeTask("softmax")


def drawn(**options):
    vectors = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(0))
    return AttentionFigure(attnbook.dot_score, vectors, vectors, vectors, **options), vectors


def test_a_figure_that_draws_scores_knows_the_vectors_and_what_comes_after_them():
    figure, vectors = drawn(written="score-by-hand", written_with=[torch.eye(2)])
    assert figure.written["draws"] == "score"
    assert torch.tensor(figure.written["queries"]).allclose(vectors)
    assert torch.tensor(figure.written["keys"]).allclose(vectors)
    assert figure.written["more"] == [[[1.0, 0.0], [0.0, 1.0]]]


def test_other_figures_carry_nothing_of_it():
    assert drawn()[0].written == {}
    assert drawn(written="masked-softmax-by-hand")[0].written == {
        "task": "masked-softmax-by-hand",
        "draws": "weights",
        "queries": [],
        "keys": [],
        "more": [],
    }


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="whose answer can be drawn, got 'pool-by-hand'"):
        drawn(written="pool-by-hand")
    with pytest.raises(ValueError, match=r"task must be one of .* got 'pool'"):
        drawn(written="pool")
