"""The picture of the translator: its weights and its output are the model's."""

from __future__ import annotations

import pytest
import torch

from attnbook.models.translator.checkpoints import book_model
from attnbook.models.vocabulary import BEGIN
from tests.tools.pictures import test_draw
from tests.tools.pictures.test_draw import (
    CELL,
    SVG,
    WEIGHT,
    Box,
    Shape,
    edges,
    picture,
    rows,
    texts,
)
from tools.pictures.arithmetic import format_number
from tools.pictures.svg_shapes import SLATE
from tools.pictures.translator import run_step

TEXT, WRITTEN = "9. März 1987", "1987-0"
CHARACTERS = list(TEXT.replace(" ", "␣"))
MONTH = slice(3, 7)
ATTENTION, CONTEXT, DECODER = 156, 310, 396  # the tops of these stages


def shapes(*kind) -> list[Shape]:
    return test_draw.shapes("translator", *kind)


def boxes(*wanted: str) -> list[Box]:
    return [box for row in rows("translator") for box in row if box[0] in wanted]


def text_rows() -> list[list[Box]]:
    """The two rows of the text's characters: as it is read, and below the weights."""
    return [row for row in rows("translator") if len(row) == len(TEXT)]


def over(row: list[Box], x: float) -> int:
    """The index of the box of a row at x."""
    (found,) = [i for i, (_, rect) in enumerate(row) if edges(rect)[0] <= x <= edges(rect)[2]]
    return found


@pytest.fixture(scope="module")
def step() -> tuple[list[float], str]:
    """The model's weights and its next character, after the text of the picture."""
    model = book_model("convolutional").double()
    assert model.attention is not None
    targets = torch.tensor([[*model.target.encode(WRITTEN)[: len(WRITTEN)], BEGIN]])
    scores = model(*model.read([TEXT]), targets)  # the last target is never read
    new = model.target.decode([int(scores[0, -1].argmax())])
    return model.attention.attention_weights[0, 0].tolist(), new


def drawn_weights() -> list[float]:
    """Each bar's share of all of them."""
    bars, row = shapes(WEIGHT), text_rows()[1]
    shares = [0.0] * len(TEXT)
    for bar in bars:
        shares[over(row, bar.x + 11)] += bar.size / sum(b.size for b in bars)
    return shares


def test_the_bars_are_the_models_attention_weights(step):
    assert drawn_weights() == pytest.approx(step[0], abs=2e-4)


def test_the_tool_reads_the_weights_of_the_step_it_draws(step):
    assert run_step()[1] == pytest.approx(step[0], abs=6e-5)


def test_both_rows_spell_the_text_in_the_same_columns_and_colors():
    read, weighed = text_rows()
    assert texts(read) == texts(weighed) == CHARACTERS
    for first, second in zip(read, weighed, strict=True):
        assert first[1].attrib["fill"] == second[1].attrib["fill"]
        assert edges(first[1])[::2] == edges(second[1])[::2]


def test_each_character_has_a_state_below_it_and_the_decoder_one_as_large():
    states, row = shapes(CELL, 0, ATTENTION), text_rows()[0]
    own, states = states[:3], states[3:]
    assert [cell.color for cell in own] == [SLATE] * 3
    assert [over(row, c.x + c.size / 2) for c in states] == [i for i in range(12) for _ in "abc"]
    for cell in states:
        assert cell.color == row[over(row, cell.x)][1].attrib["fill"]


def test_each_number_of_the_context_is_mixed_by_the_weights(step):
    stripes = shapes(CELL, CONTEXT, DECODER)
    numbers = [stripes[i :: len(stripes) // 3] for i in range(len(stripes) // 3)]
    weights = [weight for weight in step[0] if round(weight, 4)]
    assert len(stripes) == 3 * len(weights)
    for same, weight in zip(numbers, weights, strict=True):
        assert len({(s.size, s.color) for s in same}) == 1
        total = sum(s.size for s in stripes) / 3
        assert same[0].size / total == pytest.approx(weight, abs=2e-4)


def test_the_next_character_is_the_output_of_the_model(step):
    row = next(row for row in rows("translator") if "written so far" in texts(row))
    assert texts(row) == ["written so far", *WRITTEN]
    (_, last), (_, new) = row[-1], boxes(step[1])[-1]
    assert step[1] == "3"
    assert edges(new)[0] - edges(last)[0] == edges(last)[0] - edges(row[-2][1])[0]
    assert last.attrib["fill"] == new.attrib["fill"] == SLATE


def test_the_description_has_the_weights_of_the_month(step):
    about = picture("translator").findtext(f"{SVG}desc") or ""
    for letter, weight in zip(TEXT[MONTH], step[0][MONTH], strict=True):
        assert f" {letter} {format_number(weight, 2)}" in about
    assert f"together {format_number(sum(step[0][MONTH]), 2)} on März" in about
    assert f"“{TEXT}”" in about
    assert f"has written {' '.join(WRITTEN)} " in about
