"""The steps of a trace: every tensor in the order of the run, with its numbers at that time."""

from __future__ import annotations

import pytest
import torch

from attnbook.tracing import trace
from attnbook.tracing.record import MOST_NUMBERS
from tests.figures.shape.cases import CASES, heads


def test_steps_follow_the_run_into_a_followed_function_and_back():
    steps = heads().steps
    names = [(it.section, it.line, it.name) for it in steps]
    assert names[4:9] == [
        (0, 2, "self.W_q(queries)"),
        (1, 1, "vectors"),
        (1, 3, "parts"),
        (1, 4, "return"),
        (0, 2, "queries"),
    ]
    assert names[-3:] == [(2, 4, "return"), (0, 10, "output"), (0, 11, "return")]
    assert steps[7].title == "Heads.split, the first of 3 calls"
    assert steps[7].shape == (2, 3, 5, 4)
    assert steps[7].symbols == ("batch", "heads", "queries", "hiddens/heads")
    assert (steps[4].part, steps[7].part) == (True, False)


def test_steps_have_the_numbers_that_plain_torch_computes():
    queries, keys = torch.randn(2, 3, 5, requires_grad=True), torch.randn(2, 7, 5)
    steps = {it.name: it for it in trace(lambda q, k: q @ k.mT > 0, queries, keys).steps}

    assert torch.equal(steps["q"].numbers, queries)
    assert torch.equal(steps["k.mT"].numbers, keys.mT)
    assert torch.equal(steps["q @ k.mT"].numbers, queries @ keys.mT)
    assert torch.equal(steps["return"].numbers, queries @ keys.mT > 0)
    assert not any(it.numbers.requires_grad for it in steps.values())


def test_a_later_change_in_place_does_not_reach_an_earlier_step():
    def layer(x):
        y = x + 1
        view = y[0]
        y.zero_()
        return y, view

    first, stored, view, *after = trace(layer, torch.ones(2, 3)).steps
    assert (first.numbers == 1).all()
    assert (stored.numbers == 2).all()
    assert (view.numbers == 2).all()
    assert all((it.numbers == 0).all() for it in after)


def test_steps_of_a_loop_are_those_of_its_first_pass():
    def layer(x):
        for _ in range(3):
            x = x * 2
        return x

    found = [it.numbers.item() for it in trace(layer, torch.tensor(1.0)).steps]
    assert found == [1, 2, 8]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int32])
def test_a_copy_is_exact_and_of_the_same_type(dtype):
    x = torch.tensor([[1 / 3, 2e4, -7]]).to(dtype)
    (step, *_) = trace(lambda x: x, x).steps
    assert step.numbers.dtype == dtype
    assert torch.equal(step.numbers, x)


@pytest.mark.parametrize(
    ("x", "stored"),
    [
        (torch.ones(MOST_NUMBERS + 1), False),
        (torch.ones(MOST_NUMBERS), True),
        (torch.ones(2, 3, device="meta"), False),
        (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged), False),
    ],
    ids=["too large", "largest", "meta", "nested"],
)
def test_a_step_stores_numbers_where_there_are_not_too_many_to_read(x, stored):
    steps = trace(lambda x: x, x).steps
    assert len(steps) == 2
    for step in steps:
        assert (step.numbers is not None) == stored
        assert not stored or torch.equal(step.numbers, x.to_dense())


def test_steps_inside_vmap_have_no_numbers():
    def layer(x):
        return torch.vmap(inner)(x)

    def inner(row):
        return row * 2

    steps = trace(layer, torch.ones(2, 3), follow="inner").steps
    by_title = {(it.title.split(".")[-1], it.name): it.numbers for it in steps}
    assert by_title["inner", "row"] is None
    assert torch.equal(by_title["layer", "return"], torch.full((2, 3), 2.0))


def test_steps_before_an_exception_are_there():
    result = CASES["failing"]()
    assert result.error is not None
    assert [it.name for it in result.steps][-1] == "vectors"
