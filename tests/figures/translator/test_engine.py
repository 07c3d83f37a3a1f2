"""The model in the page against PyTorch: outputs, scores and weights, with and without hiding."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
import torch

from attnbook.figures import TranslatorFigure
from attnbook.figures.translator.packing import translator_of
from attnbook.figures.translator.reading import read, stored, verdict
from attnbook.models.translator.checkpoints import book_model
from attnbook.models.translator.interventions import without
from tests.figures.shared.node import with_fault
from tests.figures.translator.engine import translated, words
from tools.models.checkpoints import RECIPES
from tools.models.grade import MAIN, drawn_later

CLOSE = 1e-5  # of weights, as the contract asks
# Where little weight is left, its share of 1 is as rough as torch's single precision made it.
ROUGH = 1e-4
SAME = 1e-9  # both in double precision
MODULE = str(TranslatorFigure._esm)


@cache
def graded():
    """All dates that `make grade` grades: the test dates, and those that were drawn later."""
    return [*RECIPES[MAIN].dates().test, *drawn_later(RECIPES[MAIN])]


def nothing(_date, _draw):
    return []


def the_month(date, _draw):
    return [*range(*date.spans["month"])]


def some(date, draw):
    """Anything from one character to all of them."""
    count = draw.randint(1, len(date.text))
    return sorted(draw.sample(range(len(date.text)), count))


def everything(date, _draw):
    return [*range(len(date.text))]


WAYS = {"nothing": nothing, "the month": the_month, "some": some, "everything": everything}


def given(dates, way):
    draw = Random(3)  # noqa: S311 - no secret
    return [(date.text, WAYS[way](date, draw)) for date in dates]


def said_by_torch(model, pairs):
    """Translations of all texts at once, each without its own hidden characters."""
    longest = max(len(text) for text, _ in pairs)
    found = []
    for start in range(0, len(pairs), 256):  # as many as the model is given together
        batch = pairs[start : start + 256]
        mask = torch.zeros(len(batch), longest, dtype=torch.bool)
        for row, (_, hidden) in zip(mask, batch, strict=True):
            row[hidden] = True
        found += model.translate(
            [text for text, _ in batch],
            lambda weights, _, mask=mask: without(weights, mask[:, : weights.shape[1]]),
        )
    return found


def disagreements(pages, model, pairs, tolerance):
    """Texts that the page translates otherwise, or with other weights."""
    return [
        (text, hidden)
        for page, truth, (text, hidden) in zip(
            pages, said_by_torch(model, pairs), pairs, strict=True
        )
        if page.output != truth.output
        or not torch.allclose(page.weights, truth.weights.double(), rtol=0, atol=tolerance)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_the_page_translates_every_graded_date_as_torch_does(tmp_path, way):
    pairs = given(graded(), way)
    assert len(pairs) == 3000
    pages = translated(MODULE, tmp_path, MAIN, pairs)
    assert disagreements(pages, translator_of(MAIN), pairs, SAME) == []
    single = CLOSE if way in ("nothing", "everything") else ROUGH
    assert disagreements(pages, book_model(MAIN), pairs, single) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_few_dates_of_each_model_are_translated_alike(tmp_path, way):
    for name in (MAIN, "small"):
        dates = RECIPES[name].dates().test[:20]
        pairs = given(dates, way)
        pages = translated(MODULE, tmp_path, name, pairs)
        assert disagreements(pages, translator_of(name), pairs, SAME) == []


def test_texts_of_all_lengths_and_scores_are_those_of_python(tmp_path):
    pairs = [("9", [0]), ("1987", []), ("9. März 1987" * 5, [4, 9]), ("-", [])]
    for page, (text, hidden) in zip(translated(MODULE, tmp_path, MAIN, pairs), pairs, strict=True):
        truth = read(MAIN, text, hidden)
        assert page.output == truth.output
        torch.testing.assert_close(page.scores, truth.scores, rtol=0, atol=SAME)
        torch.testing.assert_close(page.weights, truth.weights, rtol=0, atol=SAME)


FAULTS = {
    "the first character is lost": ("vectors[i - 1] ?? none", "none"),
    "before and after change places": ("[before[c], number", "[after[c], number"),
    "no ReLU": ("Math.max(0, number)", "number"),
    "a sum for the mean": ("sum / states.length", "sum"),
    "the first state is straight": (".map(Math.tanh);\n}\n\n/** w_v", ";\n}\n\n/** w_v"),
    "projected keys are pooled": ("pool(shares, states)", "pool(shares, projected)"),
    "the reset acts before the product": ("reset * kept[2 * size + i]", "kept[2 * size + i]"),
    "the gate is upside down": ("(1 - update) * fresh", "update * fresh"),
    "what was written is forgotten": ("rowOf(arrays.written, last,", "rowOf(arrays.written, 0,"),
    "a hidden weight is lost": ("weight / sum", "weight"),
    "nothing is ever hidden": ("if (!hidden.length) return weights", "return weights"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_model_that_writes_otherwise_would_be_noticed(tmp_path, fault):
    pairs = given(graded()[:5], "some")
    module = with_fault(TranslatorFigure, fault)
    pages = translated(module, tmp_path, MAIN, pairs)
    assert disagreements(pages, translator_of(MAIN), pairs, CLOSE)


# What it says


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    return lambda **asked: words(MODULE, tmp_path_factory.mktemp("translator"), **asked)


KNOWN = translator_of(MAIN).source.characters
UNKNOWN = "The model knows no {}: no date that it learned from has that."


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "Type a date, as people write it."),
        (" \t\u00a0", "Type a date, as people write it."),
        ("9. März 1987", ""),
        ("9! März", UNKNOWN.format("“!”")),
        ("9\u200dB\u0301", UNKNOWN.format("“◦”, “B” and “◌\u0301”")),
        ("😀9", UNKNOWN.format("“😀”")),
        ("!?%&!", UNKNOWN.format("“!”, “?”, “%” and 1 more")),
        ("1" * 65, "The figure takes at most 64 characters, these are 65."),
        ("1" * 64, ""),
        (f" {'1' * 64} ", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_read_gets_a_sentence(said, typed, told):
    assert said(typed=[typed], characters=KNOWN)["refused"] == [told]


def test_letters_come_in_one_piece_and_blanks_as_the_model_knows_them(said):
    found = said(typed=["9. Ma\u0308rz 1987 ", "9\t9", "9\u00a09", "9\u20099"], characters=KNOWN)
    known = "\u00a0" if "\u00a0" in KNOWN else " "
    assert found["read"] == ["9. März 1987", "9 9", f"9{known}9", "9 9"]
    assert found["refused"] == [""] * 4


def test_every_graded_date_can_be_typed(said):
    texts = [date.text for date in graded()]
    found = said(typed=texts, characters=KNOWN)
    assert found["read"] == texts
    assert {*found["refused"]} == {""}


ANSWERS = [
    ["9. März 1987", [], "1987-03-09", "1987-03-09"],
    ["9. März 1987", [3, 4, 5, 6], "1987-09-09", "1987-03-09"],
    ["9. März 1987", [0, 3, 11], "1987-03-09", "1987-03-09"],
    ["9. März 1987", [0, 11], "1987-03-09", "1987-03-09"],
    ["9. März 1987", [0, 2, 4, 5, 7], "1987-02-09", "1987-03-09"],
    ["9. März 1987", [*range(12)], "", "1987-03-09"],
    ["9", [0], "1", "1"],
    ["9", [], "", ""],
]


def test_page_and_python_judge_an_answer_alike(said):
    assert said(answers=ANSWERS)["verdicts"] == [verdict(*answer) for answer in ANSWERS]


def test_an_answer_is_judged_by_hand(said):
    assert said(answers=ANSWERS[:6])["verdicts"] == [
        "It writes 1987-03-09.",
        "Without “März” it writes 1987-09-09 instead of 1987-03-09.",
        "Without “9”, “M” and “7” it still writes 1987-03-09.",
        "Without “9” and “7” it still writes 1987-03-09.",
        "Without 5 of its characters it writes 1987-02-09 instead of 1987-03-09.",
        "With nothing left to look at it writes nothing instead of 1987-03-09.",
    ]


ROWS = [
    [[0.5, 0.25, 0.25], []],
    [[0.5, 0.25, 0.25], [0]],
    [[0.2, 0.3, 0.5], [2, 0]],
    [[0.5, 0.5], [0, 1]],
    [[1.0, 0.0], [0]],
    [[1.0, 1e-320], [0]],
]


def test_hidden_weight_is_shared_by_the_rule_of_python(said):
    found = said(rows=ROWS)["without"]
    assert found[1] == [0, 0.5, 0.5]  # by hand
    assert found[3] == [0, 0]
    for (weights, hidden), shares in zip(ROWS, found, strict=True):
        mask = torch.tensor([i in hidden for i in range(len(weights))])
        expected = without(torch.tensor(weights, dtype=torch.float64), mask)
        assert shares == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-300)


def test_weights_of_what_is_stored_are_nearly_those_of_the_model(said):
    shown = stored(MAIN, "9. März 1987", [3, 8])
    (found,) = said(stored=[shown])["stored"]
    truth = read(MAIN, "9. März 1987", [3, 8]).weights
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), truth, rtol=0, atol=1e-3)


def test_a_step_is_told(said):
    row = {"text": "9 m", "output": "12", "weights": [[0.25, 0.5, 0.25], [0, 0, 0]]}
    found = said(looked=[[row, 0], [row, 1], [row | {"output": "", "weights": []}, 0]])["looked"]
    assert found == [
        "Step 0 writes “1”. Most weight is on “␣” at 1: 0.500.",
        "Step 1 writes “2” with nothing left to look at: its context is 0.",
        "The model wrote nothing for this text.",
    ]


def test_the_module_exports_what_is_tested_and_never_render(said):
    names = said()["names"]
    assert {"default", "opened", "translated", "refusal", "without"} <= {*names}
    assert "render" not in names
