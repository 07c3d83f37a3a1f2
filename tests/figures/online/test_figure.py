"""The online softmax figure in Python: its errors, its numbers and its text."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import OnlineSoftmaxFigure
from tests.figures.attention.cases import differ
from tests.figures.online.cases import CASES, chapters_output, figure_of, truth


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_carried_numbers_follow_from_the_definitions(case, corrected):
    figure = figure_of(case)
    scores, values = (torch.tensor(x, dtype=torch.float64) for x in (figure.scores, figure.values))
    expected = truth(scores, values, figure.block, corrected=corrected)
    found = figure.carried(corrected=corrected)
    assert len(found) == figure.num_steps + 1
    for step, (now, true) in enumerate(zip(found[1:], expected, strict=True), start=1):
        for name in ("highest", "total", "weighted", "output"):
            assert not differ(getattr(now, name), true[name], 1e-12)
        assert not differ(figure.plain(step).tolist(), true["plain"], 1e-12)


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_last_step_equals_the_chapters_code(case, corrected):
    (scores, values), block = CASES[case]()
    figure = figure_of(case)
    figure.step, figure.corrected = figure.num_steps, corrected
    lines = chapters_output(scores.double(), values.double(), block, corrected=corrected)
    assert not differ(figure.output.tolist(), lines, 1e-7)


def test_the_output_before_the_first_block_is_0():
    figure = figure_of("a small last block")
    assert figure.output.tolist() == [0, 0]
    assert figure.plain(0).tolist() == [0, 0]


def test_the_text_of_the_case_worked_by_hand():
    assert repr(figure_of("the chapter's")) == (
        "OnlineSoftmaxFigure: 3 keys in blocks of 1\n"
        "with the correction\n"
        "  block 1: highest 0.693, old sums × 0, sum of exponentials 1.000, "
        "weighted sum 10.000, output so far 10.000\n"
        "  block 2: highest 1.792, old sums × 0.333, sum of exponentials 1.333, "
        "weighted sum 23.333, output so far 17.500\n"
        "  block 3: highest 2.485, old sums × 0.500, sum of exponentials 1.667, "
        "weighted sum 41.667, output so far 25.000\n"
        "without the correction\n"
        "  block 1: highest 0.693, old sums × 1.000, sum of exponentials 1.000, "
        "weighted sum 10.000, output so far 10.000\n"
        "  block 2: highest 1.792, old sums × 1.000, sum of exponentials 2.000, "
        "weighted sum 30.000, output so far 15.000\n"
        "  block 3: highest 2.485, old sums × 1.000, sum of exponentials 3.000, "
        "weighted sum 60.000, output so far 20.000\n"
        "plain softmax: output 25.000; without the correction, the error is -5.000"
    )


def test_the_text_of_longer_values_has_brackets_and_does_not_follow_the_traits():
    figure = OnlineSoftmaxFigure(torch.zeros(1), torch.tensor([[1.0, 2.0]]))
    text = repr(figure)
    assert text.startswith("OnlineSoftmaxFigure: 1 key in blocks of 1\n")
    assert "weighted sum [1.000, 2.000]" in text
    assert text.endswith("output [1.000, 2.000]; without the correction, the error is [0, 0]")
    figure.step, figure.corrected = 1, False
    assert repr(figure) == text
