"""What a run records: each result and part, of every kind of Python statement, with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
import torch
from torch import nn

from attnbook.tracing import trace
from attnbook.tracing.record import MOST_NUMBERS
from tests.figures.shape.cases import CASES, heads
from tests.tracing.lines import find_line, list_made, notes

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = {"batch": 3, "heads": 2, "tokens": 5, "width": 26, "hiddens": 7}


def encoder():
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(26, 2, 7, batch_first=True)


def test_an_encoder_layer_is_shown_through_all_its_parts():
    follow = ["_sa_block", "_ff_block", "self_attn", "linear1", "F.multi_head_attention_forward"]
    result = trace(encoder(), torch.randn(3, 5, 26), sizes=SIZES, follow=follow)

    assert result.error is None
    assert result.remark == ""
    for text in (
        "· self.linear1(x) (batch, tokens, hiddens)",
        "q (batch*heads, tokens, width/heads)",
        "attn_output (batch, heads, tokens, width/heads)",
        "linear1: Linear.forward",
    ):
        assert text in repr(result)
    assert result.shapes["src"] == (3, 5, 26)
    assert list_made(result).count(("return", (3, 5, 26))) == 3
    assert ("return", (3, 5, 7)) in list_made(result)


# Kinds of statements


def closing_over(scale):
    class Base(nn.Module):
        def forward(self, x):
            return x * scale

    class Private(Base):
        def __init__(self):
            super().__init__()
            self.__shift = nn.Parameter(torch.ones(5))

        @torch.no_grad()
        def forward(self, x):
            self.out, first = super().forward(x) + self.__shift, Base.forward(self, x)[0]
            return first

    return Private()


def test_closures_private_names_decorators_and_super_work():
    result = trace(closing_over(2.0), torch.ones(2, 5), sizes={"batch": 2, "size": 5})

    assert result.error is None
    assert list_made(result)[1:3] == [("self.out", (2, 5)), ("first", (5,))]
    first = "Base.forward, the first of 2 calls\ndef forward(self, x):   x (batch, size)"
    assert first in repr(result)
    assert "@torch.no_grad()" in repr(result)


class Pair(NamedTuple):
    one: torch.Tensor
    two: torch.Tensor


def everything(x, *more, flag=False, **named):
    (a, *b), c = more, named["last"]
    q, k = (t.sum(-1) for t in (x, a))
    first, second = x  # noqa: RUF059 - bound to be shown
    pair = Pair(q, k)
    by_name = {"pair": pair, "list": [c]}  # noqa: F841 - bound to be shown
    total = 0.0
    total += x[0]
    once = iter([0])
    b[next(once)] = c  # must not be evaluated again
    x[0, :2] = x[1, :2]
    both = same = x[0]  # noqa: F841 - bound to be shown

    def inner(z: Sequence):
        return z.sum(0)

    squeezed = [inner(part) for part in x]
    if (top := x.amax(-1)) is not None and not flag:
        annotated: torch.Tensor = top[:, None]
    with torch.no_grad() as _:
        matched = x
    match len(b):
        case 1:
            matched = x.mT
        case -1:
            matched = 0
    for row in x:
        ended = row
    else:  # noqa: PLW0120 - the point
        ended = row[:4]  # noqa: F841 - bound to be shown
    try:
        x @ x
    except RuntimeError:
        matched = x @ x.T
    assert matched is not None, f"{x.sum() + 1}"
    return (
        matched,
        annotated,
        squeezed[0].reshape(
            len(squeezed[1:]),
        ),
    )


def test_everything_that_a_statement_binds_is_shown_at_its_first_line():
    x = torch.ones(2, 5)
    result = trace(everything, x, torch.ones(3), torch.ones(4), last=torch.ones(6))
    made = {(name, shape) for name, shape in list_made(result)}

    assert result.error is None
    assert made >= {
        *[("x", (2, 5)), ("more[0]", (3,)), ("more[1]", (4,)), ("named['last']", (6,))],
        *[("a", (3,)), ("b[0]", (4,)), ("c", (6,))],
        *[("q", (2,)), ("k", ()), ("first", (5,)), ("second", (5,))],
        *[("pair[0]", (2,)), ("pair[1]", ())],
        *[("by_name['pair'][0]", (2,)), ("by_name['list'][0]", (6,))],
        *[("total", (5,)), ("both", (5,)), ("same", (5,)), ("return", ()), ("squeezed[1]", ())],
        *[("top", (2,)), ("annotated", (2, 1)), ("matched", (5, 2)), ("matched", (2, 2))],
        *[("ended", (5,)), ("ended", (4,))],
        *[("squeezed[0].reshape(len(squeezed[1:]))", (1,))],
    }
    assert result.shapes["matched"] == (2, 5)  # of several, the first
    assert ("x[1, :2]", (2,)) in list_made(result, part=True)  # assigned to an item
    line = next(line for line in result.lines if line.source == "    return (")
    returned = [it.name for it in result.steps if it.line == line.number]
    assert returned[:2] == ["matched", "annotated"]


def test_a_line_counts_as_run_if_one_of_its_statements_ran():
    def layer(x):
        for _ in range(2):
            y = x * 2; continue; y = x  # fmt: skip # noqa: E702
        return y

    result = trace(layer, torch.ones(2))
    assert "2 passes" in notes(find_line(result, "for _"))
    assert "not run" not in notes(find_line(result, "continue"))


def one_more(x):
    return x + 1


def test_a_closure_variable_is_followed_before_a_global_of_the_same_name():
    def one_more(x):
        return x.sum(0)

    def layer(x):
        return one_more(x) * 2

    result = trace(layer, torch.ones(2, 5), follow="one_more")
    assert "return x.sum(0)" in repr(result)


def returns_early(x):
    for row in x:
        try:
            x = x @ row
        except RuntimeError:
            x = x[None]
        with torch.no_grad():
            try:
                return x * 2, row
            finally:
                x = row[0]
    return None


def test_what_is_returned_is_shown_at_its_line_even_if_others_run_after_it():
    result = trace(returns_early, torch.ones(2, 5))
    assert notes(find_line(result, "return x")) == ["x * 2 (2,)", "row (5,)"]
    assert notes(find_line(result, "for row")) == ["row (5,)", "1 pass"]


def test_a_loop_without_a_pass_binds_nothing():
    def layer(x):
        row = x
        for row in x[:0]:
            x = row
        return row

    assert list_made(trace(layer, torch.ones(2, 5)))[1:] == [("row", (2, 5)), ("return", (2, 5))]


def test_a_statement_over_several_lines_runs_once_in_each_pass():
    def layer(x):
        for _ in range(2):
            x = torch.cat(
                [x, x.neg()],
                dim=0,
            )
        return x

    result = trace(layer, torch.ones(2))
    assert notes(find_line(result, "for _")) == ["2 passes"]
    assert notes(find_line(result, "torch.cat")) == ["x (4,), in the last pass (8,)"]


# What is a part of a line


def test_a_function_that_calls_others_for_each_item_is_not_shown_with_their_values():
    def layer(x):
        return (sum(part.sum(0) for part in x) + 1, [*map(one_more, x)], x in [x, x + 1])

    parts = [it.name for it in trace(layer, torch.ones(2, 3, 5)).steps if it.part]
    assert parts == ["part.sum(0)", "x + 1"]


def test_a_parameter_is_no_part_of_a_line_but_a_transposed_one_is():
    layer = nn.Linear(5, 3)

    def use(x):
        return x @ layer.weight.T + layer.bias

    parts = [it.name for it in trace(use, torch.ones(2, 5)).steps if it.part]
    assert parts == ["layer.weight.T", "x @ layer.weight.T"]


def halve(x):
    if len(x) == 1:
        return x
    return halve(x[::2])


def test_of_a_function_that_calls_itself_the_first_call_is_shown():
    text = repr(trace(halve, torch.ones(8)))
    assert "halve, the first of 4 calls\n" in text
    assert "x[::2] (4,)" in text


def test_a_function_of_torch_that_is_followed_shows_its_one_call():
    def layer(x):
        return torch.nn.functional.softmax(x, dim=-1)

    text = repr(trace(layer, torch.ones(2, 3), follow="torch.nn.functional.softmax"))
    assert "calls" not in text
    assert "ret = input.softmax(dim)" in text
    assert "ret (2, 3)" in text


# Steps


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

    def layer(q, k):
        return q @ k.mT > 0

    steps = {it.name: it for it in trace(layer, queries, keys).steps}

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


def same(x):
    return x


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int32])
def test_a_copy_is_exact_and_of_the_same_type(dtype):
    x = torch.tensor([[1 / 3, 2e4, -7]]).to(dtype)
    (step, *_) = trace(same, x).steps
    assert step.numbers.dtype == dtype
    assert torch.equal(step.numbers, x)


@pytest.mark.parametrize(
    ("x", "stored"),
    [
        (torch.ones(MOST_NUMBERS + 1), False),
        (torch.ones(MOST_NUMBERS), True),
        (torch.ones(2, 3, device="meta"), False),
    ],
    ids=["too large", "largest", "meta"],
)
def test_a_step_stores_numbers_where_there_are_not_too_many_to_read(x, stored):
    steps = trace(same, x).steps
    assert len(steps) == 2
    for step in steps:
        assert (step.numbers is not None) == stored
        assert not stored or torch.equal(step.numbers, x)


def test_steps_inside_vmap_have_no_numbers():
    def layer(x):
        return torch.vmap(inner)(x)

    def inner(row):
        return row * 2

    steps = trace(layer, torch.ones(2, 3), follow="inner").steps
    by_title = {(it.title.split(".")[-1], it.name): it.numbers for it in steps}
    assert by_title["inner", "row"] is None
    assert torch.equal(by_title["layer", "return"], torch.full((2, 3), 2.0))


def test_a_nested_tensor_has_no_step():
    def layer(one, other):
        rows = torch.nested.nested_tensor([one, other], layout=torch.jagged)
        return rows.to_padded_tensor(0.0)

    steps = trace(layer, torch.ones(3, 6), torch.ones(2, 6)).steps
    assert [it.name for it in steps] == ["one", "other", "return"]


def test_steps_before_an_exception_are_there():
    result = CASES["failing"]()
    assert result.error is not None
    assert [it.name for it in result.steps][-1] == "vectors"
