"""The attention figure in Python: refusals, stored numbers and the text."""

from __future__ import annotations

import copy

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import CASES, differ, toy, traits, truth


def inputs(**changes):
    """Arguments of a figure, with these changes; a tuple becomes a tensor of zeros."""
    rng = torch.Generator().manual_seed(0)
    arguments = {
        "layer": attnbook.DotProductAttention(),
        "queries": torch.randn(2, 3, 5, generator=rng),
        "keys": torch.randn(2, 7, 5, generator=rng),
        "values": torch.randn(2, 7, 11, generator=rng),
        "valid_lens": torch.tensor([7, 2]),
    }
    zeros = {name: torch.zeros(v) if isinstance(v, tuple) else v for name, v in changes.items()}
    return arguments | zeros


def test_a_layer_without_a_score_is_refused():
    with pytest.raises(NotImplementedError, match="must define score"):
        AttentionFigure(**inputs(layer=attnbook.Attention()))


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("huge")])
def test_a_figure_stores_the_numbers_of_its_layer(name, device):
    case = CASES[name]()
    if isinstance(case.layer, torch.nn.Module):
        case.layer.to(device)
    tensors = [t.to(device) for t in (case.queries, case.keys, case.values, case.valid_lens)]
    figure = AttentionFigure(case.layer, *tensors, mask=case.mask)
    with torch.no_grad():
        scores = getattr(case.layer, "score", case.layer)(*tensors[:2])
    weights = attnbook.masked_softmax(scores, case.valid_lens, mask=case.mask)
    assert not differ(figure.scores, scores, 1e-7)
    assert not differ(figure.values, case.values, 1e-7)
    assert figure.valid_lens == case.valid_lens.tolist()
    assert not differ(figure.output.tolist(), attnbook.pool(weights, tensors[2]), 1e-5)


def test_names_of_axes_and_values_are_stored_and_vectors_only_where_they_are_drawn():
    names = {"axis_labels": ["furry", "flies"], "value_labels": ["legs"]}
    [still, movable] = (CASES["planar"]().figure(movable=m, **names) for m in ("", "vectors"))
    assert still.query_vectors == still.key_vectors == []
    assert len(movable.query_vectors[0]) == 3
    assert {name: getattr(movable, name) for name in names} == names
    with pytest.raises(ValueError, match="value_labels must name 1, got 2"):
        CASES["planar"]().figure(value_labels=["legs", "wings"])


def test_no_lengths_means_all_keys_and_a_slider_only_where_the_action_names_it():
    for action, has_lengths in (("Drag `valid_lens[0]` to 2.", True), ("Choose a query.", False)):
        figure = AttentionFigure(**inputs(valid_lens=None, action=action))
        assert figure.valid_lens == [7, 7]
        assert figure.has_lengths == has_lengths
    assert AttentionFigure(**inputs()).has_lengths


def test_whole_floats_become_whole_numbers():
    figure = AttentionFigure(**inputs(valid_lens=torch.tensor([7.0, 2.0])))
    assert repr(figure.valid_lens) == "[7, 2]"
    figure.valid_lens = [1.0, 3]
    assert repr(figure.valid_lens) == "[1, 3]"


def test_creating_a_figure_does_not_change_its_arguments():
    arguments = inputs(layer=attnbook.AdditiveAttention(5, 5, 3, dropout=0.5))
    layer = arguments["layer"]
    tensors = [arguments[name] for name in ("queries", "keys", "values")]
    for tensor in tensors:
        tensor.requires_grad_()
    layer(*tensors, arguments["valid_lens"])
    weights, before = layer.attention_weights, copy.deepcopy((tensors, layer.state_dict()))
    noise = torch.get_rng_state()
    AttentionFigure(**arguments)
    assert layer.training
    assert layer.attention_weights is weights
    assert torch.equal(torch.get_rng_state(), noise)
    assert all(torch.equal(old, new) for old, new in zip(before[0], tensors, strict=True))
    assert all(torch.equal(old, layer.state_dict()[name]) for name, old in before[1].items())
    assert all(tensor.grad is None for tensor in tensors)
    assert arguments["valid_lens"].tolist() == [7, 2]


@pytest.mark.parametrize("name", CASES)
def test_weights_and_output_follow_the_traits(name):
    figure = CASES[name]().figure()
    figure.temperature = 2.5
    figure.valid_lens = (torch.tensor(figure.valid_lens) // 2).tolist()
    weights, output = truth(traits(figure), figure.valid_lens, 2.5)
    assert not differ(figure.attention_weights.tolist(), weights, 1e-15)
    assert not differ(figure.output.tolist(), output, 1e-15)


def test_the_formula_is_that_of_the_layer_or_an_argument():
    assert CASES["additive"]().figure().formula == attnbook.AdditiveAttention.formula
    assert CASES["nearest"]().figure().formula == "-‖q - k‖"
    assert CASES["function"]().figure().formula == "score(q, k)"
    assert CASES["function"]().figure(formula="-d²/2").formula == "-d²/2"


@pytest.mark.parametrize(
    ("lens", "expected"),
    [
        (None, [[1, 2, 3, 4]] * 2),
        ([2, 4], [[1, 2, 2, 2], [1, 2, 3, 4]]),
        ([[4, 0, 4, 1]] * 2, [[1, 0, 3, 1]] * 2),
    ],
)
def test_a_causal_figure_starts_with_the_past_of_each_query(lens, expected):
    x = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    lens = None if lens is None else torch.tensor(lens)
    layer = attnbook.DotProductAttention()
    figure = AttentionFigure(layer, x, x, x, lens, causal=True)
    assert figure.valid_lens == expected
    torch.testing.assert_close(figure.output.float(), layer(x, x, x, lens, causal=True))
    others = AttentionFigure(layer, x, x, x), CASES["masked"]().figure()
    assert [one.hidden for one in (figure, *others)] == ["future", "padding", "hidden"]


def test_the_text_of_the_toy_example_equals_numbers_computed_by_hand():
    assert repr(toy().figure()) == (
        "AttentionFigure: scores q · k / √d\n"
        "example 0: valid_lens 2\n"
        "  query 0: weights [0.500, 0.500, 0, 0, 0, 0, 0, 0, 0, 0], "
        "output [2.000, 3.000, 4.000, 5.000]\n"
        "example 1: valid_lens 6\n"
        "  query 0: weights [0.167, 0.167, 0.167, 0.167, 0.167, 0.167, 0, 0, 0, 0], "
        "output [10.000, 11.000, 12.000, 13.000]"
    )


def test_the_text_names_queries_examples_and_temperature():
    figure = CASES["planar"]().figure(query_labels=["who", "what", "where"])
    figure.temperature = 0.5
    assert repr(figure).startswith("AttentionFigure: scores q · k / √d, temperature 0.5\n")
    assert "  what: weights" in repr(figure)
    assert repr(figure).endswith("  where: weights [0, 0, 0, 0, 0], output [0]")  # an empty row
    named = toy().figure(example_labels=["head 0: colour", "head 1: shape"])
    text = repr(toy().figure()).replace("example 0", "head 0: colour")
    assert repr(named) == text.replace("example 1", "head 1: shape")
