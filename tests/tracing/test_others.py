"""Traces of other code: torch's layers, and every kind of Python statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from attnbook.tracing import trace
from tests.tracing.lines import list_made

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
        *[("pair.one", (2,)), ("pair.two", ())],
        *[("by_name['pair'].one", (2,)), ("by_name['list'][0]", (6,))],
        *[("total", (5,)), ("both", (5,)), ("same", (5,)), ("return", ()), ("squeezed[1]", ())],
        *[("top", (2,)), ("annotated", (2, 1)), ("matched", (5, 2)), ("matched", (2, 2))],
        *[("ended", (5,)), ("ended", (4,))],
        *[("squeezed[0].reshape(len(squeezed[1:]))", (1,)), ("x[0, :2]", (2,))],
    }
    assert result.shapes["matched"] == (2, 5)  # of several, the first
    (position,) = [n for n, line in enumerate(result.lines) if line.source == "    return ("]
    first, *rest = result.lines[position:]
    assert [it.name for it in first.made[:2]] == ["matched", "annotated"]
    assert all(line.made == () for line in rest)


def test_a_line_counts_as_run_if_one_of_its_statements_ran():
    def layer(x):
        for _ in range(2):
            y = x * 2; continue; y = x  # fmt: skip # noqa: E702
        return y

    (line,) = [it for it in trace(layer, torch.ones(2)).lines if "continue" in it.source]
    assert line.passes == 2
    assert ("quiet", "not run") not in line.notes


def one_more(x):
    return x + 1


def test_a_closure_variable_is_followed_before_a_global_of_the_same_name():
    def one_more(x):
        return x.sum(0)

    result = trace(lambda x: one_more(x) * 2, torch.ones(2, 5), follow="one_more")
    assert "return x.sum(0)" in repr(result)


def test_a_generator_that_is_followed_shows_what_it_yields():
    def parts(x):
        for i in range(3):
            yield x[i:]

    def layer(x):
        return sum(part.sum() for part in parts(x))

    text = repr(trace(layer, torch.ones(4), follow="parts"))
    assert "3 passes" in text
    assert "yield (4,), in the last pass (2,)" in text


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
    (line,) = [it for it in result.lines if "return x" in it.source]
    assert [(it.name, it.shape) for it in line.made] == [("x * 2", (2,)), ("row", (5,))]
    loop = next(it for it in result.lines if "for row" in it.source)
    assert [text for _, text in loop.notes] == ["row (5,)", "1 pass"]


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

    assert [it.passes for it in trace(layer, torch.ones(2)).lines] == [1, 1, 2, 2, 2, 2, 1]
