"""What can be dragged, in Python: refusals, formulas of the page, traits."""

from __future__ import annotations

from functools import partial

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import differ
from tests.figures.attention.drag_handles import (
    LAYERS,
    OwnScore,
    compute_by_layer,
    moved_figure,
    random_positions,
)


@pytest.mark.parametrize("name", LAYERS)
def test_the_formula_equals_the_layer_for_any_vectors(name):
    figure = moved_figure(LAYERS[name])
    for position in [figure.moves["start"], *random_positions(figure.moves, 20)]:
        figure.set_state(position)
        scores, weights, output = compute_by_layer(name, position, [5, 3])
        assert not differ(figure.scores, scores, 1e-7)
        assert not differ(figure.attention_weights.tolist(), weights, 1e-7)
        assert not differ(figure.output.tolist(), output, 1e-7)


def test_gaussian_scores_of_two_widths_equal_those_computed_by_hand():
    query, keys = torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[0.0, 0.0], [3.0, 4.0]]])
    both = attnbook.gaussian_score, partial(attnbook.gaussian_score, width=5.0)
    figures = [AttentionFigure(score, query, keys, keys, movable="vectors") for score in both]
    assert [figure.scores for figure in figures] == [[[[-12.5, 0]]], [[[-0.5, 0]]]]


@pytest.mark.parametrize(
    "layer",
    [
        OwnScore(),
        lambda queries, keys: queries @ keys.transpose(1, 2),
        partial(lambda queries, keys, by: by * queries @ keys.transpose(1, 2), by=2),
        attnbook.DotProductAttention(scale=1.0),
        partial(attnbook.scaled_dot_score, scale=1.0),
    ],
    ids=["a subclass", "a function", "a function with more", "a scale", "a scaled function"],
)
def test_with_a_score_that_the_page_does_not_have_vectors_cannot_be_dragged(layer):
    moves = moved_figure(layer).moves
    assert {*moves} == {"what", "reach", "step", "why"}
    assert "the vectors cannot be dragged" in moves["why"]


def test_the_weights_and_the_text_follow_moved_scores():
    figure = moved_figure(attnbook.DotProductAttention(), "scores")
    first = repr(figure)
    figure.scores = [[[0, 1, 2, 1, 0]] * 3] * 2
    assert repr(figure).startswith("AttentionFigure: scores moved by hand\n")
    shares = torch.tensor([0.0, 1, 2]).softmax(0)
    torch.testing.assert_close(figure.attention_weights[1, 0, :3].float(), shares)
    figure.scores = figure.moves["start"]["scores"]
    assert repr(figure) == first


def test_the_text_follows_the_vectors():
    figure = moved_figure(attnbook.dot_score)
    figure.query_vectors = [[[0, 0]] * 3] * 2
    assert "query 0: weights [0.200, 0.200, 0.200, 0.200, 0.200]" in repr(figure)
    assert repr(figure).count("weights [0.333, 0.333, 0.333, 0, 0]") == 3
