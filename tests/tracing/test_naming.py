"""Names instead of sizes: only where one name fits, and a second run confirms it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnbook import AdditiveAttention
from attnbook.tracing import trace
from tests.tracing.lines import written

SIZES = {"batch": 2, "heads": 3, "queries": 5, "keys": 7, "width": 33}


def split(x):
    heads = x.reshape(2 if x.shape[0] == 2 else x.shape[0], -1, 3, 11)
    return heads.transpose(1, 2).flatten(0, 1)


def six(x):
    return x[..., :1].expand(*x.shape[:-1], 6)


def cut_to_seven(x):
    return x[:, :7]


def add_axis(x):
    return x[None]


def with_constant(x):
    return x, torch.zeros(8)


def plus_one(x):
    return x + 1.0


class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = 7

    def forward(self, x):
        return x[:, : self.limit]


def branch_by_size(x):
    if x.shape[1] == 8:
        return x * 2
    return x


def branch(x):
    if x.shape[0] == 2:
        return x + 1
    return x


EIGHT = {"batch": 2, "size": 8}
EXPECTED = {
    "products and quotients": (
        (split, (2, 5, 33), SIZES),
        "heads (batch, queries, heads, width/heads)\n",
        "return (batch*heads, queries, width/heads)\n",
    ),
    "cut to a number that is the size in the second run": (
        (cut_to_seven, (2, 5, 33), {"batch": 2, "positions": 5}),
        "return (batch, 5, 33)\n",
        "Names hold with batch=3, positions=11 too.\n",
    ),
    "cut to a layer's own number": (
        (Cut(), (2, 5, 33), {"batch": 2, "positions": 5}),
        "return (batch, 5, 33)\n",
    ),
    "a quotient by chance": (
        (nn.Linear(32, 8), (3, 32), {"batch": 3, "width": 32, "heads": 4}),
        "return (batch, 8)\n",
    ),
    "another size takes another branch": (
        (branch_by_size, (2, 8), EIGHT),
        "return (batch, size)\n",
        "Matched by number only: size.",
    ),
    "two names fit": (
        (six, (7, 1), {"batch": 7, "size": 2, "heads": 3, "width": 6}),
        "return (batch, 6)\n",
    ),
    "an axis of one": (
        (add_axis, (2,), {"batch": 2, "queries": 1}),
        "return (1, batch)\n",
    ),
    "fits by chance": ((six, (2, 5, 33), SIZES), "return (batch, queries, 6)\n"),
    "a constant": (
        (with_constant, (2, 8), EIGHT),
        "x (batch, size)\n",
        "torch.zeros(8) (8,)\n",
        "Sizes: batch=2, size=8. Names hold with batch=3, size=11 too.\n",
    ),
    "fixed by parameters": (
        (nn.Linear(8, 7), (2, 8), EIGHT),
        "input (batch, size)\n",
        "Matched by number only: size. Names hold with batch=3 too.\n",
    ),
    "no input has the name": (
        (plus_one, (2,), {"batch": 2, "keys": 7}),
        "Unclear in the inputs, or not there: keys. Names hold with batch=3 too.\n",
    ),
    "the second run does not reach the line": ((branch, (2, 5), SIZES), "return (2, 5)\n"),
    "a name that varies first": (
        (plus_one, (2, 5), SIZES, "queries"),
        "return (batch, queries)\n",
        "Names hold with batch=11, queries=13 too.\n",
    ),
    "an axis that may have two names keeps its size": (
        (plus_one, (7, 12), {"batch": 7, "heads": 3, "queries": 4, "hiddens": 12}),
        "return (batch, 12)\n",
        "Unclear in the inputs, or not there: queries. Names hold with batch=11 too.\n",
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_size_is_named_where_only_one_name_fits_in_both_runs(name):
    (layer, shape, sizes, *vary), *texts = EXPECTED[name]
    options = {"vary": vary[0]} if vary else {}
    table = written(trace(layer, torch.ones(shape), sizes=sizes, **options)) + "\n"

    for text in texts:
        assert text in table


def test_sizes_with_which_a_layer_does_not_run_are_named():
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = nn.Parameter(torch.ones(5, 33))

        def forward(self, queries):
            return queries + self.positions

    result = trace(Fixed(), torch.ones(2, 5, 33), sizes=SIZES)

    start = "Runs with batch=2, queries=5, but not with batch=11, queries=13: RuntimeError: The"
    assert result.remark.startswith(start)
    assert repr(result).endswith(result.remark)
    assert "return (2, 5, 33)" in written(result)


def test_lengths_stay_valid_in_the_second_run():
    layer = AdditiveAttention(5, 5, 13)
    sizes = {"batch": 2, "queries": 3, "keys": 7}
    inputs = torch.ones(2, 3, 5), torch.ones(2, 7, 5), torch.ones(2, 7, 11)

    result = trace(layer, *inputs, valid_lens=torch.tensor([7, 0]), sizes=sizes)
    assert result.remark == ""
    assert "return (batch, queries, 11)" in written(result)


# What is refused


@pytest.mark.parametrize(
    ("sizes", "kind", "sentence"),
    [
        ({"batch": 2, "keys": 2}, ValueError, "sizes must be distinct, got batch=2 and keys=2"),
        ({"batch": 0}, ValueError, r"sizes\['batch'\] must be at least 1, got 0"),
        ({"batch": True}, TypeError, "must be a whole number, got True"),
        ([2, 3], TypeError, r"sizes must be a dictionary like {'batch': 2}, got \[2, 3\]"),
    ],
)
def test_invalid_sizes_are_refused(sizes, kind, sentence):
    with pytest.raises(kind, match=sentence):
        trace(split, torch.ones(2, 5, 33), sizes=sizes)


TWO = {"batch": 2, "keys": 7}


@pytest.mark.parametrize(
    ("sizes", "vary", "kind", "sentence"),
    [
        (TWO, "foo", ValueError, "vary must name sizes, got 'foo'; the sizes are batch, keys"),
        (None, "batch", ValueError, "vary must name sizes, got 'batch'; the sizes are none"),
        (TWO, [3], TypeError, r"vary must be a name or several names, got \[3\]"),
    ],
)
def test_vary_refuses_names_of_no_size(sizes, vary, kind, sentence):
    with pytest.raises(kind, match=sentence):
        trace(split, torch.ones(2, 5, 33), sizes=sizes, vary=vary)
