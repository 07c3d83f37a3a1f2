"""What a run records: each result and part, of every kind of Python statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from attnbook.tracing import trace
from tests.tracing.lines import list_made, results_at, written

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
        "self.linear1(x) (batch, tokens, hiddens)",
        "q (batch*heads, tokens, width/heads)",
        "attn_output (batch, heads, tokens, width/heads)",
        "linear1: Linear.forward",
    ):
        assert text in written(result)
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
    assert "\nBase.forward, the first of 2 calls\n   1  x  " in repr(result)
    assert results_at(result, "first = Base.forward(self, x)[0]") == ["(size,)"]


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
    last = max(it.line for it in result.steps if it.code.startswith("return "))
    returned = [it.code for it in result.steps if it.line == last]  # the statement's first line
    assert returned[:2] == ["return matched", "return annotated"]


def one_more(x):
    return x + 1


def test_a_closure_variable_is_followed_before_a_global_of_the_same_name():
    def one_more(x):
        return x.sum(0)

    def layer(x):
        return one_more(x) * 2

    result = trace(layer, torch.ones(2, 5), follow="one_more")
    assert results_at(result, "return x.sum(0)") == ["(5,)"]


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
    assert results_at(result, "return ") == ["(2,)", "(5,)"]
    assert list_made(result)[1] == ("row", (5,))


def test_a_loop_without_a_pass_binds_nothing():
    def layer(x):
        row = x
        for row in x[:0]:
            x = row
        return row

    assert list_made(trace(layer, torch.ones(2, 5)))[1:] == [("row", (2, 5)), ("return", (2, 5))]


def test_a_statement_over_several_lines_is_one_row():
    def layer(x):
        for _ in range(2):
            x = torch.cat(
                [x, x.neg()],
                dim=0,
            )
        return x

    result = trace(layer, torch.ones(2))
    assert results_at(result, "x = torch.cat") == ["(4,), in the last pass (8,)"]


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
    result = trace(halve, torch.ones(8))
    assert repr(result).startswith("halve, the first of 4 calls\n")
    assert results_at(result, "x[::2]")[0] == "(4,)"


def test_a_function_of_torch_that_is_followed_shows_its_one_call():
    def layer(x):
        return torch.nn.functional.softmax(x, dim=-1)

    result = trace(layer, torch.ones(2, 3), follow="torch.nn.functional.softmax")
    assert "calls" not in repr(result)
    assert results_at(result, "ret = input.softmax(dim)") == ["(2, 3)"]


# Steps


def half(vectors):
    parts = vectors.unflatten(-1, (2, -1))
    return parts.transpose(1, 2)


def halves(x):
    q, k = half(x + 1), half(x)
    q += k
    first, second = q.unbind(1)
    return first @ second.mT


def test_steps_follow_the_run_into_a_followed_function_and_back():
    sizes = {"batch": 2, "tokens": 5, "width": 6}
    steps = trace(halves, torch.ones(2, 5, 6), sizes=sizes, follow="half").steps
    assert [(it.section, it.line, it.code) for it in steps] == [
        (0, 1, "x"),
        (0, 2, "x + 1"),
        (1, 1, "vectors"),
        (1, 2, "parts = vectors.unflatten(-1, (2, -1))"),
        (1, 3, "return parts.transpose(1, 2)"),
        (0, 2, "q = half(x + 1)"),
        (0, 2, "k = half(x)"),
        (0, 3, "q += k"),
        (0, 4, "first = q.unbind(1)[0]"),
        (0, 4, "second = q.unbind(1)[1]"),
        (0, 5, "second.mT"),
        (0, 5, "return first @ second.mT"),
    ]
    assert steps[4].title == "half, the first of 2 calls"
    assert (steps[4].shape, steps[4].symbols) == ((2, 2, 5, 3), ("batch", "2", "tokens", "3"))
    assert [it.part for it in steps].count(True) == 2


def test_steps_inside_vmap_have_the_shapes_that_the_function_sees():
    def layer(x):
        return torch.vmap(inner)(x)

    def inner(row):
        return row * 2

    steps = trace(layer, torch.ones(2, 3), follow="inner").steps
    assert ("row", (3,)) in [(it.name, it.shape) for it in steps]
    assert steps[-1].shape == (2, 3)


def test_a_nested_tensor_has_no_step():
    def layer(one, other):
        rows = torch.nested.nested_tensor([one, other], layout=torch.jagged)
        return rows.to_padded_tensor(0.0)

    steps = trace(layer, torch.ones(3, 6), torch.ones(2, 6)).steps
    assert [it.name for it in steps] == ["one", "other", "return"]
