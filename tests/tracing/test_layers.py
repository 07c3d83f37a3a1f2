"""Traces of our layers show shapes computed by hand, at several sizes."""

import pytest
import torch
from torch import nn

from attnbook import (
    AdditiveAttention,
    DotProductAttention,
    MLPAttention,
    MultiHeadAttention,
)
from attnbook.tracing import trace
from tests.cases import FirstPartAttention
from tests.tracing.additive import Additive
from tests.tracing.lines import find_error

# batch, queries, keys, query_size, key_size, value_size, num_heads, head_size
SIZES = [(2, 3, 5, 7, 11, 13, 4, 6), (5, 2, 3, 13, 9, 8, 7, 1), (1, 4, 9, 6, 5, 3, 2, 10)]
each_size = pytest.mark.parametrize("sizes", SIZES, ids=str)
PARTS = ["split_heads", "merge_heads", "attention", "score"]


def many_heads(sizes, **options):
    """A layer for these sizes, and its inputs."""
    batch, queries, keys, query_size, key_size, value_size, num_heads, head_size = sizes
    layer = MultiHeadAttention(
        key_size, query_size, value_size, num_heads * head_size, num_heads, **options
    )
    return layer, (
        torch.randn(batch, queries, query_size),
        torch.randn(batch, keys, key_size),
        torch.randn(batch, keys, value_size),
        torch.full((batch,), keys - 1),
    )


def sections(result):
    """What the lines of each traced function made, in order."""
    found = []
    for line in result.lines:
        if line.source.lstrip().startswith("def "):
            found.append([])
        found[-1] += [(it.name, it.shape) for it in line.made]
    return found


@each_size
@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
def test_each_line_of_many_heads_and_their_parts_shows_the_shape_it_makes(sizes, bias):
    layer, inputs = many_heads(sizes, bias=bias)
    batch, queries, keys, query_size, key_size, value_size, num_heads, head_size = sizes
    width = num_heads * head_size
    split = batch, num_heads, queries, head_size
    split_keys = batch, num_heads, keys, head_size
    joined = batch, queries, width
    raw = [
        ("queries", (batch, queries, query_size)),
        ("keys", (batch, keys, key_size)),
        ("values", (batch, keys, value_size)),
    ]
    result = trace(layer, *inputs, follow=PARTS)

    forward, split_queries, merge, attention, score = sections(result)
    assert result.error is None
    lengths = [("valid_lens", (batch,)), ("visible", (batch, 1, keys))]
    heads = [("q", split), ("k", split_keys), ("v", split_keys), ("heads", split)]
    assert forward == [*raw, *lengths, *raw, *heads, ("output", joined), ("return", joined)]
    parts = ("parts", (batch, queries, num_heads, head_size))
    assert split_queries == [("vectors", joined), parts, ("return", split)]
    assert merge == [("heads", split), parts, ("return", joined)]
    given = [("queries", split), ("keys", split_keys)]
    assert attention == [*given, ("values", split_keys), lengths[0], ("return", split)]
    assert score == [*given, ("return", (batch, num_heads, queries, keys))]
    projections = {it.name: it.shape for line in result.lines for it in line.parts}
    assert projections["self.W_q(queries)"] == joined
    assert projections["self.W_k(keys)"] == (batch, keys, width)
    assert projections["self.W_v(values)"] == (batch, keys, width)


@each_size
def test_following_all_modules_shows_the_shapes_of_each_projection(sizes):
    layer, inputs = many_heads(sizes)
    batch, queries, keys, query_size, key_size, value_size, num_heads, head_size = sizes
    width = num_heads * head_size
    forward, attention, *projections = sections(trace(layer, *inputs, follow=True))

    assert forward[-1] == ("return", (batch, queries, width))
    assert attention[-1] == ("return", (batch, num_heads, queries, head_size))
    given = (queries, query_size), (keys, key_size), (keys, value_size), (queries, width)
    assert projections == [
        [("input", (batch, positions, size)), ("return", (batch, positions, width))]
        for positions, size in given
    ]


LAYERS = {
    "dot": lambda _: DotProductAttention(0.5),
    "additive": lambda size: AdditiveAttention(size, size, 17),
    "older name": lambda size: MLPAttention(size, size, 17),
    "a subclass": lambda _: FirstPartAttention(),
}


def attention_inputs(sizes, heads=()):
    batch, queries, keys, size, _, value_size, *_ = sizes
    positions = (queries, size), (keys, size), (keys, value_size)
    return [torch.randn(batch, *heads, *several) for several in positions]


@each_size
@pytest.mark.parametrize("heads", [(), (19,)], ids=["one head", "heads"])
@pytest.mark.parametrize("causal", [False, True], ids=["lengths", "causal"])
@pytest.mark.parametrize("name", LAYERS)
def test_the_lines_of_our_layers_show_the_shapes_they_make(name, causal, heads, sizes):
    batch, queries, keys, size, _, value_size, *_ = sizes
    layer, inputs = LAYERS[name](size), attention_inputs(sizes, heads)
    mask = {"causal": True} if causal else {"valid_lens": torch.full((batch,), keys - 1)}
    result = trace(layer, *inputs, **mask, follow="score")
    front = (batch, *heads)
    true = {
        "queries": (*front, queries, size),
        "keys": (*front, keys, size),
        "values": (*front, keys, value_size),
        "scores": (*front, queries, keys),
        "weights": (*front, queries, keys),
        "output": (*front, queries, value_size),
        "return": (*front, queries, value_size),
    }
    true |= {"visible": (1, *[1 for _ in heads], queries, keys)} if causal else {}
    true |= {} if causal else {"valid_lens": (batch,)}
    made = [it for it in sections(result)[0] if it[0] in true]

    assert result.error is None
    assert {name for name, _ in made} >= {"queries", "keys", "values", "return"}
    assert ("valid_lens" in dict(made)) != causal
    assert made == [(name, true[name]) for name, _ in made]
    score = trace(layer.score, *inputs[:2])
    assert score.shapes["queries"] == (*front, queries, size)
    assert score.shapes["return"] == (*front, queries, keys)


@each_size
def test_every_pair_of_the_additive_score_is_shown(sizes):
    batch, queries, keys, size, *_ = sizes
    result = trace(Additive(size, size, 17), *attention_inputs(sizes))

    assert result.shapes["features"] == (batch, queries, keys, 17)
    assert result.shapes["self.attention_weights"] == (batch, queries, keys)
    parts = {shape for line in result.lines for _, shape in line.parts}
    assert parts >= {(batch, queries, 1, 17), (batch, 1, keys, 17), (batch, queries, keys, 1)}


def test_every_size_of_many_heads_has_its_name_and_a_product_of_fixed_ones_its_number():
    sizes = (2, 3, 5, 7, 11, 13, 17, 19)
    layer, inputs = many_heads(sizes)
    names = ("batch", "queries", "keys", "query_size", "key_size", "value_size", "heads", "head")
    shown = str(trace(layer, *inputs, sizes=dict(zip(names, sizes, strict=True)), follow=PARTS))
    for text in (
        "q (batch, heads, queries, head)",
        "k (batch, heads, keys, head)",
        "self.W_q(queries) (batch, queries, 323)",
        "parts (batch, queries, heads, head)",
        "return (batch, heads, queries, keys)",
        "output (batch, queries, 323)",
    ):
        assert text in shown


# Fixed sizes


class BuiltIn(nn.Module):
    """Many heads whose batch and number of queries may be in the code: 2 and 5."""

    def __init__(self, *, fixed):
        super().__init__()
        self.project = nn.Linear(11, 21)
        self.fixed = fixed

    def forward(self, queries):
        q = self.project(queries)
        front = (2, 5) if self.fixed else queries.shape[:2]
        parts = q.reshape(*front, 3, 7)
        heads = parts.transpose(1, 2)
        return heads.transpose(1, 2).flatten(2)


def test_fixed_sizes_in_many_heads_fail_at_their_line_or_in_the_second_run():
    result = trace(BuiltIn(fixed=True), torch.ones(3, 7, 11))
    assert isinstance(result.error, RuntimeError)
    assert find_error(result)[0].strip() == "parts = q.reshape(*front, 3, 7)"
    assert result.shapes["q"] == (3, 7, 21)

    sizes = {"batch": 2, "queries": 5, "heads": 3, "head_size": 7}
    remark = trace(BuiltIn(fixed=True), torch.ones(2, 5, 11), sizes=sizes).remark
    assert remark.startswith("Runs with batch=2, but not with batch=11: RuntimeError: shape")

    right = trace(BuiltIn(fixed=False), torch.ones(2, 5, 11), sizes=sizes)
    assert right.error is None
    assert not right.remark
    assert "parts (batch, queries, heads, head_size)" in str(right)
