"""The picture of the translator: its weights and its output are the model's."""

from __future__ import annotations

import pytest
import torch

from attnbook.models.translator.checkpoints import book_model
from attnbook.models.vocabulary import BEGIN
from tests.tools.pictures.test_draw import (
    WEIGHT,
    Box,
    edges,
    rows,
    shapes,
    texts,
)

TEXT, WRITTEN = "9. März 1987", "1987-0"
MONTH = slice(3, 7)


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


def test_the_bars_are_the_models_attention_weights(step):
    bars = shapes("translator", WEIGHT)
    drawn = [0.0] * len(TEXT)  # each bar's share of all of them
    for bar in bars:
        drawn[over(text_rows()[1], bar.x + 11)] += bar.size / sum(b.size for b in bars)
    assert drawn == pytest.approx(step[0], abs=2e-4)


def test_the_next_character_is_the_output_of_the_model(step):
    row = next(row for row in rows("translator") if "written so far" in texts(row))
    assert texts(row) == ["written so far", *WRITTEN]
    new = [text for row in rows("translator") for text in texts(row) if text == step[1]]
    assert new == ["3"]
