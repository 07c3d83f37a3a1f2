"""What attention costs: counted by hand, against tensors, and fitted to measured points."""

from __future__ import annotations

import math
import re

import pytest
import torch

from attnbook import AdditiveAttention, MultiHeadAttention
from attnbook.costs.counting import (
    MODES,
    PROGRAMS,
    Sizes,
    key_value_bytes,
    numbers_written,
    operations,
    peak_bytes,
    projection_parameters,
)
from attnbook.costs.predicting import Point, Rates, fit_rates, measured, predict
from attnbook.scoring import additive_score, dot_score
from tests.figures.cost.cases import SWEEP, TRUE, exact
from tools.bench.memory import allocated

SIZES = Sizes(batch=2, queries=3, keys=5, size=7)
PAIRS, UNITS, SIDES = 2 * 3 * 5, 2 * 3 * 5 * 7, 2 * (3 + 5) * 7
each_program = pytest.mark.parametrize(("layer", "way"), PROGRAMS)
each_mode = pytest.mark.parametrize("mode", MODES)


# Operations, by hand: 2 examples of 3 queries and 5 keys, 7 numbers each

BY_HAND = {
    ("additive", "formula", "inference"): {
        "product": 16 * 49 + 2 * 210, "addition": 210, "tanh": 210, "exponential": 30,
        "division": 30,
    },
    ("additive", "ours", "inference"): {
        "product": 16 * 49 + 2 * 210, "multiply-add": 210, "division": 240,
        "exponential": 112 + 30,
    },
    ("dot", "formula", "inference"): {"product": 420, "exponential": 30, "division": 30},
    ("dot", "ours", "inference"): {"product": 420, "exponential": 30, "division": 30},
    ("additive", "formula", "training"): {
        "product": 3 * (16 * 49 + 420), "addition": 630, "tanh": 210, "exponential": 30,
        "division": 30, "multiply-add": 480,
    },
    ("additive", "ours", "training"): {
        "product": 3 * (16 * 49 + 420), "multiply-add": 210 + 690, "division": 450,
        "exponential": 254, "addition": 210,
    },
    ("dot", "formula", "training"): {
        "product": 1260, "exponential": 30, "division": 30, "multiply-add": 60,
    },
    ("dot", "ours", "training"): {
        "product": 1470, "exponential": 60, "division": 30, "multiply-add": 60,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_operations_equal_those_counted_by_hand(name):
    layer, way, mode = name
    assert operations(layer, way, SIZES, mode) == BY_HAND[name]


# Memory

BYTES_BY_HAND = {
    ("additive", "formula", "inference"): 4 * (112 + 2 * 210),
    ("additive", "formula", "training"): 4 * (112 + 3 * 210),
    # Both examples fit in one block: 210 hidden units, and twice 112 exponentials. 30 scores.
    ("additive", "ours", "inference"): 4 * (112 + 210 + 224 + 30),
    ("additive", "ours", "training"): 4 * (112 + 42 + 210 + 224 + 30 + 112 + 70),
    ("dot", "formula", "inference"): 4 * (2 * 30 + 42),
    ("dot", "formula", "training"): 4 * (30 + 2 * 112),
    ("dot", "ours", "inference"): 4 * 2 * 42,
    ("dot", "ours", "training"): 4 * (3 * 42 + 2 * 70),
}


@pytest.mark.parametrize("name", BYTES_BY_HAND)
def test_bytes_equal_those_counted_by_hand(name):
    layer, way, mode = name
    assert peak_bytes(layer, way, SIZES, mode) == BYTES_BY_HAND[name]


@pytest.mark.parametrize(
    ("mode", "sizes", "expected"),
    [
        # both sides, the output, one block of a million units, exponentials of one example
        (
            "inference",
            Sizes(16, 512, 1024, 256),
            4 * (16 * 1536 * 256 + 16 * 512 * 256 + 2**20 + 2 * 1536 * 256),
        ),
        # both sides and gradients of queries and values; the scores, their weights and a gradient
        ("training", Sizes(4, 512, 512, 64), 4 * (4 * 4 * 512 * 64 + 3 * 2**20)),
    ],
)
def test_bytes_of_large_additive_layers_equal_those_counted_by_hand(mode, sizes, expected):
    assert peak_bytes("additive", "ours", sizes, mode) == expected


@each_mode
def test_the_counted_bytes_of_our_additive_layer_equal_the_allocated_ones(mode):
    sizes, training = Sizes(4, 64, 256, 64), mode == "training"
    layer = AdditiveAttention(64, 64, 64, keep_weights=False)
    inputs = [torch.randn(4, n, 64, requires_grad=training) for n in (64, 256, 256)]

    def call():
        output = layer(*inputs)
        return torch.autograd.grad(output.sum(), inputs) if training else output

    with torch.set_grad_enabled(training):
        call()
        assert allocated(call) == pytest.approx(
            peak_bytes("additive", "ours", sizes, mode), rel=0.1
        )


# Refusals

PROGRAM = "layer and way must be one of additive formula, additive ours, dot formula, dot ours, got"


@pytest.mark.parametrize("count", [operations, peak_bytes])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bilinear", "ours", SIZES), f"{PROGRAM} bilinear ours"),
        (("dot", "theirs", SIZES), f"{PROGRAM} dot theirs"),
        (("dot", "ours", SIZES, "test"), "mode must be one of inference, training, got test"),
        (("dot", "ours", (2, 3, 0, 7)), "keys must be a whole number of at least 1, got 0"),
        (("dot", "ours", (2, 3.0, 5, 7)), "queries must be a whole number of at least 1, got 3.0"),
        (("dot", "ours", (True, 3, 5, 7)), "batch must be a whole number of at least 1, got True"),
    ],
)
def test_invalid_arguments_of_counts_are_refused_in_one_sentence(count, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        count(*arguments)


# Time


def points_of(times):
    return [Point("dot", "ours", "inference", sizes, seconds, 1) for sizes, seconds in times]


def test_a_prediction_is_a_constant_and_a_time_for_each_operation():
    counts = {"product": 1000, "tanh": 10, "addition": 20}
    assert predict(counts, Rates(call=5, product=0.25, other=2)) == 5 + 250 + 60


@each_program
@each_mode
def test_a_fit_recovers_the_rates_of_exact_points(layer, way, mode):
    found = fit_rates(layer, way, mode, exact().points)
    assert found == pytest.approx(TRUE[layer], rel=1e-6)


@pytest.mark.parametrize("time", [lambda i: 1 / (1 + i), lambda i: 1e-3 * 100**i])
def test_no_rate_is_below_zero(time):
    points = points_of((sizes, time(i)) for i, sizes in enumerate(SWEEP))
    assert min(fit_rates("dot", "ours", "inference", points)) >= 0


@pytest.mark.parametrize(
    "times",
    [
        *(
            [(SWEEP[0], 1.0), (SWEEP[1], 1.0), (SWEEP[0], s)]
            for s in (0.0, -1.0, math.nan, math.inf)
        ),
        [],
        [(SWEEP[0], 1.0)],
        [(SWEEP[0], 1.0)] * 2,
        [(Sizes(1, 2, 3, 4), 1.0), (Sizes(1, 3, 2, 4), 1.0)],
    ],
)
def test_impossible_times_and_too_few_sizes_are_refused(times):
    with pytest.raises(ValueError, match="of dot ours inference at 2 sizes or more, got "):
        fit_rates("dot", "ours", "inference", points_of(times))


# What was measured


def test_every_program_was_measured_at_several_sizes_on_a_named_machine():
    stored = measured()
    assert re.fullmatch(r".+, (one thread|\d+ threads), torch \d+\.\d+.*", stored.machine)
    for layer, way in PROGRAMS:
        for mode in MODES:
            own = [p for p in stored.points if (p.layer, p.way, p.mode) == (layer, way, mode)]
            assert len({point.sizes for point in own}) >= 4
            assert min(fit_rates(layer, way, mode, stored.points)) >= 0


def test_the_points_of_a_processor_are_loaded_by_its_name():
    name = measured().machine.partition(",")[0]
    assert measured(name) == measured()
    message = rf"^processor must be one that has measured \(.*{name}.*\), got 'abacus'$"
    with pytest.raises(ValueError, match=message):
        measured("abacus")


@pytest.mark.parametrize("layer", ["additive", "dot"])
@each_mode
def test_the_measured_bytes_of_formulas_equal_the_counted_ones(layer, mode):
    own = [p for p in measured().points if (p.layer, p.way, p.mode) == (layer, "formula", mode)]
    for point in own:
        counted = peak_bytes(layer, "formula", point.sizes, mode)
        assert counted == pytest.approx(point.bytes, rel=0.01)


# Numbers written


def test_the_numbers_written_are_those_of_each_step():
    x, y = torch.ones(3, 1), torch.ones(1, 5)
    assert numbers_written(lambda: torch.tanh(x + y)) == 15 + 15
    assert numbers_written(lambda x, y: torch.tanh(x + y), x, y) == 15 + 15
    assert numbers_written(lambda: torch.var_mean(x)) == 2
    assert numbers_written(lambda: None) == 0


def test_a_view_writes_nothing_and_a_change_in_place_writes_what_it_changes():
    x = torch.ones(3, 5)
    assert numbers_written(lambda: x.expand(7, 3, 5).transpose(1, 2)) == 0
    assert numbers_written(x.exp_) == 15
    assert numbers_written(lambda: torch.exp(x[:2], out=torch.empty(2, 5))) == 10
    several = [torch.ones(3, 5), torch.ones(7)]
    assert numbers_written(torch._foreach_add_, several, 1) == 15 + 7
    assert numbers_written(torch._foreach_add, several, several) == 15 + 7
    assert numbers_written(torch._foreach_copy_, several, several) == 15 + 7


def test_the_additive_formula_writes_its_hidden_units_twice():
    queries, keys, weight = torch.ones(2, 3, 7), torch.ones(2, 5, 7), torch.ones(7)
    assert numbers_written(additive_score, queries, keys, weight) == 2 * UNITS + PAIRS
    assert numbers_written(dot_score, queries, keys) == PAIRS


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_parameters_of_shared_heads_are_those_of_the_layer(kv_heads, bias):
    layer = MultiHeadAttention(11, 11, 11, 11, 6, bias=bias, num_kv_heads=kv_heads, head_size=3)
    counted = projection_parameters(11, 6, 3, kv_heads, bias=bias)
    assert counted == sum(it.numel() for it in layer.parameters())


def test_keys_and_values_of_shared_heads_need_as_many_bytes_as_their_tensors():
    keys = torch.ones(1, 2, 7, 3, dtype=torch.bfloat16)
    assert key_value_bytes(7, 2, 3, layers=5, bytes_each=2) == 5 * 2 * keys.nbytes
