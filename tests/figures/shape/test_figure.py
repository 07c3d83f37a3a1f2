"""The shape figure in Python: its errors, its traits and its text."""

from __future__ import annotations

import json

import pytest
import torch

from attnbook.figures import ShapeFigure
from attnbook.figures.shape.number_origins import flatten_numbers
from attnbook.tracing import trace
from tests.figures.shape.cases import CASES, state_of, trace_case
from tools import BUDGETS

each_case = pytest.mark.parametrize("name", CASES)


def first(*inputs):
    return inputs[0]


@each_case
def test_its_steps_are_those_of_the_trace(name):
    traced = trace_case(name)
    figure = ShapeFigure(traced)
    assert len(figure.steps) == len(traced.steps)
    for entry, step in zip(figure.steps, traced.steps, strict=True):
        for field in ("section", "line", "name", "part"):
            assert entry[field] == getattr(step, field)
        assert (tuple(entry["shape"]), tuple(entry["symbols"])) == (step.shape, step.symbols)
        assert figure.sections[entry["section"]]["title"] == step.title
        if entry["kind"] == "unreadable":
            assert entry["numbers"] == -1
            continue
        numbers = [float(number) for number in figure.numbers[entry["numbers"]]]
        again = torch.tensor(numbers, dtype=torch.float64).to(step.numbers.dtype)
        expected = step.numbers.flatten()
        if step.numbers.dtype != torch.int64:
            assert torch.equal(again.nan_to_num(nan=3e4), expected.nan_to_num(nan=3e4))


def test_an_exception_is_noted_at_its_line_and_the_last_tensor_is_shown():
    figure = ShapeFigure(trace_case("failing"))
    assert figure.step == len(figure.steps) - 1
    notes = {
        (section["title"], line["number"]): line["notes"]
        for section in figure.sections
        for line in section["lines"]
        if line["notes"]
    }
    assert notes["Half.split", 2][0][1].startswith("RuntimeError: unflatten")
    assert notes["Heads.forward", 2] == [["error", "RuntimeError in Half.split"]]
    assert notes["Half.split", 3] == [["quiet", "not run"]]
    assert repr(figure).splitlines()[-1].startswith("Half.split, line 2: RuntimeError: unflatten")


def test_a_remark_of_the_trace_is_shown():
    def add_four(queries):
        return queries + torch.ones(4)

    figure = ShapeFigure(trace(add_four, torch.ones(4), sizes={"queries": 4}))
    assert figure.remark.startswith("Runs with queries=4, but not with queries=5: RuntimeError")
    assert repr(figure).splitlines()[-1] == figure.remark


def test_the_state_of_a_chapter_is_small():
    assert len(json.dumps(state_of("heads"))) < BUDGETS["kilobytes"]["traits"]["shape"] * 1000


def test_heads_are_the_numbers_of_the_vectors_moved():
    steps = state_of("heads")["steps"]
    notes = {(it["section"], it["name"]): (it["before"], it["note"]) for it in steps}
    assert notes[1, "vectors"] == (-1, "The same as self.W_q(queries).")
    assert notes[1, "parts"] == (
        5,
        "The 120 numbers of vectors, in the same order: only the shape is new.",
    )
    assert notes[1, "return"] == (6, "The 120 numbers of parts, in another order.")
    assert notes[0, "queries"] == (
        4,
        "The 120 numbers of self.W_q(queries), in another order.",
    )
    assert notes[0, "output"][0] == [it["name"] for it in steps].index("pooled")
    product = "A matrix product: torch.softmax(scores, dim=-1) @ values."
    assert notes[0, "pooled"] == (-1, product)


def test_numbers_are_as_short_as_their_precision_allows():
    third = torch.tensor([1 / 3, -0.0, float("nan"), float("inf"), -float("inf")])
    assert flatten_numbers(third) == [0.333333343, 0, "NaN", "Infinity", "-Infinity"]
    assert str(flatten_numbers(third)[1]) == "0.0"
    assert flatten_numbers(torch.tensor([1 / 3], dtype=torch.float64)) == [1 / 3]
    assert flatten_numbers(torch.tensor([True, False])) == [1, 0]
    assert flatten_numbers(torch.tensor([2**53, 2**53 + 1, -(2**60)])) == [
        2**53,
        "9007199254740993",
        "-1152921504606846976",
    ]


def test_numbers_come_from_the_latest_step_that_has_them():
    def layer(x):
        z = x.flip(0)
        w = z.reshape(3, 1)
        return w.flip(0)

    steps = ShapeFigure(trace(layer, torch.tensor([1.0, 2, 3]))).steps
    names = [it["name"] for it in steps]
    assert steps[names.index("z")]["before"] == names.index("x")
    assert steps[names.index("w")]["before"] == names.index("z")
    assert steps[-1]["before"] == names.index("w")


def test_the_text_of_a_small_case():
    def layer(x, keep):
        y = x.mT * 2
        return y.masked_fill(~keep, -torch.inf)

    x = torch.tensor([[0.5, 1], [-0.0001, 0], [3, 4]])
    figure = ShapeFigure(trace(layer, x, torch.tensor([True, False, True]), sizes={"keys": 3}))
    title = next(it["title"] for it in figure.sections)
    assert repr(figure) == "\n".join(
        [
            "ShapeFigure: step 0 of 5",
            title,
            "   0 line 1: x (keys 3, 2): 0.500, 1.000, 0.000, …",
            "   1 line 1: keep (keys 3): True, False, True",
            "   2 line 2: x.mT (2, keys 3): 0.500, 0.000, 3.000, …",
            "   3 line 2: y (2, keys 3): 1.000, 0.000, 6.000, …",
            "   4 line 3: ~keep (keys 3): False, True, False",
            "   5 line 3: return (2, keys 3): 1.000, -inf, 6.000, …",
        ]
    )
    figure.step = 4
    assert repr(figure).startswith("ShapeFigure: step 4 of 5\n")
