"""Traces of our layers show shapes computed by hand, at several sizes."""

import pytest
import torch

from attnbook import DotProductAttention, MultiHeadAttention
from attnbook.tracing import trace
from tests.tracing.lines import list_made, written

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
    found = [[] for _ in range(1 + max(step.section for step in result.steps))]
    for step in sorted(result.steps, key=lambda it: it.line):
        if not step.part:
            found[step.section].append((step.name, step.shape))
    return found


@each_size
def test_each_line_of_many_heads_and_their_parts_shows_the_shape_it_makes(sizes):
    layer, inputs = many_heads(sizes)
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
    projections = dict(list_made(result, part=True))
    assert projections["self.W_q(queries)"] == joined
    assert projections["self.W_k(keys)"] == (batch, keys, width)
    assert projections["self.W_v(values)"] == (batch, keys, width)


def test_every_size_of_many_heads_has_its_name_and_a_product_of_fixed_ones_its_number():
    sizes = (17, 3, 5, 7, 11, 13, 2, 19)
    layer, inputs = many_heads(sizes)
    names = ("batch", "queries", "keys", "query_size", "key_size", "value_size", "heads", "head")
    table = written(trace(layer, *inputs, sizes=dict(zip(names, sizes, strict=True)), follow=PARTS))
    for text in (
        "q (batch, heads, queries, head)",
        "k (batch, heads, keys, head)",
        "self.W_q(queries) (batch, queries, 38)",
        "parts (batch, queries, heads, head)",
        "return (batch, heads, queries, keys)",
        "output (batch, queries, 38)",
    ):
        assert text in table


def test_the_forward_that_a_layer_inherits_and_calls_is_shown_too():
    layer = DotProductAttention(dropout=0.1).eval()
    inputs = torch.ones(2, 3, 5), torch.ones(2, 7, 5), torch.ones(2, 7, 4)
    text = repr(trace(layer, *inputs, sizes={"batch": 2, "queries": 3, "keys": 7}))
    assert "\nAttention.forward\n" in text
    assert "Not called" not in text
