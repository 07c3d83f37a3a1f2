"""The alignment figure's Python half: its refusals, its traits and its text."""

from __future__ import annotations

import json
import re

import pytest
import torch

from attnbook.figures import AlignmentFigure
from tests.conftest import needs_cuda
from tests.figures.alignment.cases import (
    CASES,
    FIELDS,
    ReadersAttention,
    book_dates,
    cached_figure,
    cached_model,
    even,
    figure_of,
    long_text,
    make_date,
    never_ending,
    new_model,
    translate_case,
)
from tests.figures.attention.cases import traits
from tools import BUDGETS

each_case = pytest.mark.parametrize("case", CASES)


@each_case
def test_its_texts_outputs_and_weights_are_those_of_the_model(case):
    dates, translations = translate_case(case)
    figure = cached_figure(case)
    for number, (date, expected) in enumerate(zip(dates, translations, strict=True)):
        entry, length = figure.translations[number], len(expected.output)
        assert "".join(entry["text"]) == expected.text
        assert "".join(entry["output"]) == expected.output
        dated = not isinstance(date, str)
        assert entry["expected"] == (date.iso if dated else "")
        assert entry["locale"] == (date.locale if dated else "")
        assert entry["fields"] == ((FIELDS + [""] * length)[:length] if dated else [""] * length)
        spans = {field: tuple(span) for field, span in entry["spans"].items()}
        assert spans == (date.spans if dated else {})
        figure.date = number
        assert figure.attention_weights.dtype == torch.float64
        weights = expected.weights.double().reshape(figure.attention_weights.shape)
        # Scores are stored in single precision, so that a page stays small.
        close = 1e-6 if expected.weights.dtype == torch.float64 else 1e-5
        assert torch.allclose(figure.attention_weights, weights, rtol=0, atol=close)
    assert len(figure.translations) == len(dates)


def test_the_model_is_unchanged_afterwards(monkeypatch):
    model = new_model(dropout=0.5)
    expected = AlignmentFigure(model, ["ab cd"])
    model.train()
    model.attention.eval()
    modes = [part.training for part in model.modules()]
    noise = torch.get_rng_state()
    figure = AlignmentFigure(model, ["ab cd"])
    assert figure.translations == expected.translations
    assert [part.training for part in model.modules()] == modes
    assert len(set(modes)) == 2
    assert torch.equal(torch.get_rng_state(), noise)
    assert all(weight.grad is None for weight in model.parameters())
    monkeypatch.setattr(model, "first_state", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        AlignmentFigure(model, ["ab cd"])
    assert [part.training for part in model.modules()] == modes


@needs_cuda
def test_it_runs_on_a_gpu():
    model = cached_model("convolutional").to("cuda")
    try:
        figure = AlignmentFigure(model, book_dates()[:2])
    finally:
        model.cpu()
    expected = AlignmentFigure(model, book_dates()[:2])
    for ours, theirs in zip(figure.translations, expected.translations, strict=True):
        assert ours["output"] == theirs["output"]
        torch.testing.assert_close(torch.tensor(ours["scores"]), torch.tensor(theirs["scores"]))


def test_the_state_of_a_chapter_is_small():
    assert (
        len(json.dumps(traits(cached_figure("book"))))
        < BUDGETS["kilobytes"]["traits"]["alignment"] * 1000
    )


def test_another_date_keeps_the_step_if_it_has_one():
    model = new_model()
    texts = [long_text(7, shift) for shift in range(40)]
    counts = {text: len(model.translate([text])[0].output) for text in texts}
    long = max(texts, key=counts.get)
    short = min((text for text in texts if counts[text]), key=counts.get)
    assert counts[short] < counts[long]
    figure = AlignmentFigure(model, [long, short, long])
    figure.step = counts[short] - 1
    figure.date = 1
    assert figure.step == counts[short] - 1
    figure.date, figure.step = 2, counts[long] - 1
    figure.date = 1
    assert figure.step == counts[short] - 1
    figure.date = 0
    assert figure.step == counts[short] - 1


def test_the_text_of_a_small_case_equals_one_by_hand():
    model = even(max_steps=7)
    dates = [make_date("ab 1987", "1234-56", year=(3, 7), month=(0, 2)), "cd"]
    outputs = [model.translate([text])[0].output for text in ("ab 1987", "cd")]
    a, b, c, d, e, f, g = outputs[0]
    figure = AlignmentFigure(model, dates)
    assert repr(figure) == "\n".join(
        [
            "AlignmentFigure: date 0 of 1",
            f"ab 1987 -> {outputs[0]} (expected 1234-56)",
            f"cd -> {outputs[1]}",
            "Date 0, ab 1987:",
            f'   0 "{a}" year: peak "a" at 0, 0.571 inside',  # 4 of 7 characters
            f'   1 "{b}" year: peak "a" at 0, 0.571 inside',
            f'   2 "{c}" year: peak "a" at 0, 0.571 inside',
            f'   3 "{d}" year: peak "a" at 0, 0.571 inside',
            f'   4 "{e}": peak "a" at 0',
            f'   5 "{f}" month: peak "a" at 0, 0.286 inside',  # 2 of 7
            f'   6 "{g}" month: peak "a" at 0, 0.286 inside',
        ]
    )
    figure.date = 1
    assert repr(figure).splitlines()[0] == "AlignmentFigure: date 1 of 1"
    assert repr(figure).splitlines()[3:5] == [
        "Date 1, cd:",
        f'   0 "{outputs[1][0]}": peak "c" at 0',
    ]


def test_a_wrong_output_is_followed_by_the_expected_one():
    wrong = repr(figure_of("failing")).splitlines()[1]
    assert re.fullmatch(r"29\. Mai 1453 -> (?!1453-05-29)\S+ \(expected 1453-05-29\)", wrong)


def test_a_space_is_visible_and_tiny_weights_are_0():
    figure = AlignmentFigure(even(max_steps=1), [make_date(" a", "1", year=(1, 2))])
    assert repr(figure).splitlines()[-1].endswith('peak "␣" at 0, 0.500 inside')
    model = never_ending(max_steps=1)
    model.attention = ReadersAttention()
    model.attention.score = lambda queries, _: queries.new_tensor([[[0.0, -40.0]]])
    far = AlignmentFigure(model, [make_date("ab", "1", year=(1, 2))])
    assert repr(far).splitlines()[-1].endswith('peak "a" at 0, 0.000 inside')
