"""Properties of all layers. `test_random_calls.py` compares them with an oracle of loops."""

import math

import pytest
import torch

from attnbook import AdditiveAttention, Attention, DotProductAttention, MLPAttention
from attnbook.selftest import oracle
from tests.cases import (
    LAYERS,
    PER_QUERY,
    WITHOUT_WEIGHTS,
    every_layer,
    layers_that_take_heads,
    make,
    random_qkv,
)

pytestmark = pytest.mark.usefixtures("every_path")

NAMES = [*LAYERS, "older name", "a subclass", "multi-head with bias"]
EVERY_WAY = [*NAMES, *(name + WITHOUT_WEIGHTS for name in NAMES)]
every_way = pytest.mark.parametrize("name", EVERY_WAY)


# By hand


@pytest.mark.parametrize(
    "layer",
    [DotProductAttention(0.5), AdditiveAttention(2, 2, 8, 0.1), MLPAttention(2, 2, 8, 0.1)],
    ids=lambda layer: type(layer).__name__,
)
def test_the_toy_example_gives_2_3_4_5_and_10_11_12_13(layer):
    queries, keys = torch.ones(2, 1, 2), torch.ones(2, 10, 2)
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    output = layer.eval()(queries, keys, values, torch.tensor([2, 6]))
    expected = torch.tensor([[[2.0, 3, 4, 5]], [[10, 11, 12, 13]]])
    assert torch.allclose(output, expected, atol=1e-5)
    uniform = torch.zeros(2, 1, 10)
    uniform[0, :, :2], uniform[1, :, :6] = 1 / 2, 1 / 6
    assert torch.allclose(layer.attention_weights, uniform)


def test_dot_product_attention_by_hand():
    # d = 4: scores 2·log 2 · (0, 1, 2) / √4 = log 1, log 2, log 4, weights 1/7, 2/7, 4/7.
    queries = torch.tensor([[[2 * math.log(2), 0, 0, 0]]])
    keys = torch.tensor([[[0.0, 1, 1, 1], [1, 2, 2, 2], [2, 3, 3, 3]]])
    values = torch.tensor([[[7.0], [14], [21]]])
    layer = DotProductAttention()
    assert layer(queries, keys, values).item() == pytest.approx(1 + 4 + 12, abs=1e-5)


def test_the_scores_of_additive_attention_equal_its_formula():
    # A constant on every score would not show in the weights.
    layer = make("additive", dtype=torch.float64)
    queries, keys, _ = random_qkv(1)
    expected = oracle.additive_score(layer.W_q(queries), layer.W_k(keys), layer.w_v.weight[0])
    assert torch.allclose(layer.score(queries, keys), expected, atol=1e-12)


# Weights and dropout


@layers_that_take_heads
def test_attention_weights_are_those_of_the_last_call_and_detached(name, qkv):
    layer = make(name)
    layer(*qkv)
    output = layer(qkv[0].requires_grad_(), *qkv[1:], PER_QUERY)
    expected = oracle.masked_softmax(layer.score(*qkv[:2]), PER_QUERY)
    assert torch.allclose(layer.attention_weights.double(), expected, atol=1e-6)
    assert output.requires_grad
    assert not layer.attention_weights.requires_grad


@every_way
def test_a_dropout_left_in_training_drops_in_an_evaluated_layer(name, qkv):
    layer = make(name, dropout=1.0)
    dropped = layer.train()(*qkv)
    layer.eval()
    getattr(layer, "attention", layer).dropout.train()
    assert torch.equal(layer(*qkv), dropped)


@every_way
def test_dropout_drops_weights_in_training_and_those_before_it_are_stored(name, qkv):
    layer = make(name, dropout=1.0)
    output = layer(*qkv)
    bias = layer.W_o.bias if name.startswith("multi-head with bias") else torch.zeros(())
    assert torch.allclose(output, bias.expand_as(output))
    if layer.keep_weights:
        assert torch.allclose(layer.attention_weights.sum(-1), torch.ones(()))
    assert torch.equal(layer.eval()(*qkv), make(name).eval()(*qkv))


@pytest.mark.parametrize("count", [5, 400])
def test_dropout_in_place_does_not_change_the_stored_weights(count):
    layer, lens = DotProductAttention(0.5), torch.tensor([count - 1])
    queries = torch.randn(1, count, 4, requires_grad=True)
    layer.eval()(queries, queries, queries, lens)
    expected = layer.attention_weights
    layer.dropout.inplace = True
    layer.train()(queries, queries, queries, lens).sum().backward()
    assert torch.allclose(layer.attention_weights, expected)


def check_weights_are_refused(layer):
    assert not hasattr(layer, "attention_weights")
    with pytest.raises(AttributeError) as caught:
        _ = layer.attention_weights
    why = "stores none; set layer.keep_weights = True and call it again"
    if layer.keep_weights:
        why = "holds none yet; call the layer first"
    assert str(caught.value) == (
        f"attention_weights are not there: this {type(layer).__name__} {why}"
        '; see: recipes, "weights per head"'
    )


@every_layer
def test_attention_weights_that_the_last_call_did_not_store_are_refused(name, qkv):
    layer = make(name)
    check_weights_are_refused(layer)
    layer(*qkv)
    assert layer.attention_weights.shape == (2, *([4] if name == "multi-head" else []), 3, 7)
    layer.keep_weights = False
    layer(*qkv)
    assert layer.keep_weights is False
    check_weights_are_refused(layer)
    layer.keep_weights = True
    check_weights_are_refused(layer)


# Scores of subclasses


def test_a_layer_without_a_score_function_is_refused(qkv):
    class Unfinished(Attention):
        pass

    with pytest.raises(NotImplementedError, match=r"Unfinished must define score\(queries, keys\)"):
        Unfinished()(*qkv)


@pytest.mark.parametrize(
    ("wrong", "error", "rule"),
    [
        (
            torch.ones(2, 3, 1),
            ValueError,
            r'have shape .*, got \(2, 3, 1\); see: recipes, "own score"$',
        ),
        (torch.ones(2, 3, 7).long(), TypeError, r"hold floating-point numbers, got"),
        (torch.ones(2, 3, 7).double(), TypeError, r"have the dtype of queries, torch\.float32"),
        (None, TypeError, r"be a tensor, got NoneType"),
    ],
)
def test_a_score_function_that_returns_something_else_is_refused(wrong, error, rule, qkv):
    class Wrong(Attention):
        def score(self, queries, keys):  # noqa: ARG002 - it is what a score function gets
            return wrong

    with pytest.raises(error, match="scores must " + rule):
        Wrong()(*qkv)
