"""What can be dragged, in Python: refusals, formulas of the page, traits."""

from __future__ import annotations

import re
from functools import partial

import pytest
import torch
import traitlets

import attnbook
from attnbook.figures import AttentionFigure
from attnbook.figures.attention.dragging import reach_and_step
from tests.figures.attention.cases import differ, traits
from tests.figures.attention.drag_handles import (
    KEYS,
    LAYERS,
    QUERIES,
    VALUES,
    OwnScore,
    compute_by_layer,
    moved_figure,
    random_positions,
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"movable": "keys"}, "movable must be 'vectors' or 'scores', got 'keys'"),
        (
            {"queries": torch.ones(2, 3, 3), "keys": torch.ones(2, 5, 3)},
            "vectors that move must have 2 numbers, got 3 and 3",
        ),
        (
            {"keys": torch.ones(2, 9, 2), "values": torch.ones(2, 9, 1)},
            "a figure shows at most 8 of keys that move, got 9; show a part of it",
        ),
        (
            {"movable": "scores", "written": "scores-by-hand"},
            "movable must be '' where something is written, got 'scores'",
        ),
    ],
)
def test_what_cannot_be_dragged_is_refused(changes, message):
    arguments = {"queries": QUERIES, "keys": KEYS, "values": VALUES, "movable": "vectors"}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        AttentionFigure(attnbook.DotProductAttention(), **(arguments | changes))


@pytest.mark.parametrize(
    ("movable", "trait", "value", "message"),
    [
        ("vectors", "query_vectors", [[[1.0, 2.0]]], "query_vectors must keep its shape (2, 3, 2)"),
        ("vectors", "key_vectors", "far", "str"),
        ("vectors", "key_vectors", [[["far"]]], "str"),
        ("vectors", "key_vectors", (99 * KEYS).tolist(), "key_vectors must lie in ["),
        ("vectors", "key_vectors", (-99 * KEYS.abs()).tolist(), "key_vectors must lie in ["),
        ("scores", "scores", [[[float("nan")] * 5] * 3] * 2, "scores must lie in ["),
    ],
)
def test_a_trait_refuses_values_out_of_reach_and_does_not_change(movable, trait, value, message):
    figure = moved_figure(attnbook.DotProductAttention(), movable)
    before = traits(figure)
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        setattr(figure, trait, value)
    assert traits(figure) == before


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
    ],
    ids=["a subclass", "a function", "a function with more"],
)
def test_with_a_score_that_the_page_does_not_have_arrows_cannot_be_dragged(layer):
    moves = moved_figure(layer).moves
    assert {*moves} == {"what", "reach", "step", "why"}
    assert "the arrows stay still" in moves["why"]


def test_a_layer_that_disagrees_with_its_formula_cannot_be_dragged(monkeypatch):
    layer = attnbook.DotProductAttention()
    monkeypatch.setattr("attnbook.layers.scaled_dot_score", attnbook.dot_score)
    assert "why" in moved_figure(layer).moves


def test_the_weights_and_the_text_follow_moved_scores():
    figure = moved_figure(attnbook.DotProductAttention(), "scores")
    assert repr(figure).startswith("AttentionFigure: scores q · k / √d\n")
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


@pytest.mark.parametrize(
    ("most", "reach", "step"),
    [(3.0, 4, 0.1), (1.0, 2, 0.1), (0.5, 0.7, 0.01), (0.0, 2, 0.1), (9.0, 12, 0.1), (80, 100, 1)],
)
def test_the_reach_is_a_round_number_above_the_largest(most, reach, step):
    assert reach_and_step([torch.tensor([-most, most / 2])]) == {"reach": reach, "step": step}


def test_without_movable_no_data_for_dragging_is_stored():
    figure = AttentionFigure(attnbook.DotProductAttention(), QUERIES, KEYS, VALUES)
    assert figure.moves == {}
    figure.query_vectors = []  # is not refused
