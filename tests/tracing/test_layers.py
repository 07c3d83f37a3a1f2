"""What the X-ray shows of our layers equals shapes worked out by hand, at several sizes."""

import pytest
import torch
from torch import nn

from attnbook import (
    AdditiveAttention,
    DotProductAttention,
    MLPAttention,
    MultiHeadAttention,
    merge_heads,
    rotary_encoding,
    sinusoidal_encoding,
    split_heads,
)
from attnbook.tracing import trace
from tests.cases import FirstPartAttention
from tests.tracing.test_names import error_of

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


def sections(x_ray):
    """Each traced function, by its first line: what its lines made, in order."""
    found = {}
    for line in x_ray.lines:
        if line.source.lstrip().startswith("def "):
            # A method of a part is told from the layer's by what comes before it.
            made = found.setdefault(len(found), [])
        made += [(it.name, it.shape) for it in line.made]
    return list(found.values())


def part(x_ray, code):
    """The shape of a part of a line."""
    (shape,) = {it.shape for line in x_ray.lines for it in line.parts if it.name == code}
    return shape


def expected_forward(sizes):
    batch, queries, keys, query_size, key_size, value_size, num_heads, head_size = sizes
    width = num_heads * head_size
    return [
        ("queries", (batch, queries, query_size)),
        ("keys", (batch, keys, key_size)),
        ("values", (batch, keys, value_size)),
        ("valid_lens", (batch,)),
        ("visible", (batch, 1, keys)),
        ("queries", (batch, queries, query_size)),
        ("keys", (batch, keys, key_size)),
        ("values", (batch, keys, value_size)),
        ("q", (batch, num_heads, queries, head_size)),
        ("k", (batch, num_heads, keys, head_size)),
        ("v", (batch, num_heads, keys, head_size)),
        ("heads", (batch, num_heads, queries, head_size)),
        ("output", (batch, queries, width)),
    ]


@each_size
@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
def test_the_lines_of_many_heads_show_the_shapes_they_make(sizes, bias):
    layer, inputs = many_heads(sizes, bias=bias)
    batch, queries, keys, *_, num_heads, head_size = sizes
    width = num_heads * head_size
    x_ray = trace(layer, *inputs)

    assert x_ray.error is None
    assert sections(x_ray) == [[*expected_forward(sizes), ("return", (batch, queries, width))]]
    assert part(x_ray, "self.W_q(queries)") == (batch, queries, width)
    assert part(x_ray, "self.W_k(keys)") == (batch, keys, width)
    assert part(x_ray, "self.W_v(values)") == (batch, keys, width)


@each_size
def test_followed_into_its_parts_each_line_shows_the_shape_it_makes(sizes):
    layer, inputs = many_heads(sizes)
    batch, queries, keys, *_, num_heads, head_size = sizes
    width = num_heads * head_size
    split = batch, num_heads, queries, head_size
    split_keys = batch, num_heads, keys, head_size
    x_ray = trace(layer, *inputs, follow=PARTS)

    assert x_ray.error is None
    assert sections(x_ray) == [
        [*expected_forward(sizes), ("return", (batch, queries, width))],
        # split_heads, whose first call takes the queries
        [
            ("vectors", (batch, queries, width)),
            ("parts", (batch, queries, num_heads, head_size)),
            ("return", split),
        ],
        # merge_heads
        [
            ("heads", split),
            ("parts", (batch, queries, num_heads, head_size)),
            ("return", (batch, queries, width)),
        ],
        # attention
        [
            ("queries", split),
            ("keys", split_keys),
            ("values", split_keys),
            ("valid_lens", (batch,)),
            ("return", split),
        ],
        # score
        [
            ("queries", split),
            ("keys", split_keys),
            ("return", (batch, num_heads, queries, keys)),
        ],
    ]


@each_size
def test_followed_into_all_modules_each_projection_shows_what_it_makes(sizes):
    layer, inputs = many_heads(sizes)
    batch, queries, keys, query_size, key_size, value_size, num_heads, head_size = sizes
    width = num_heads * head_size
    forward, attention, *projections = sections(trace(layer, *inputs, follow=True))

    assert forward[-1] == ("return", (batch, queries, width))
    assert attention[-1] == ("return", (batch, num_heads, queries, head_size))
    assert projections == [
        [("input", (batch, positions, size)), ("return", (batch, positions, width))]
        for positions, size in (
            (queries, query_size),
            (keys, key_size),
            (keys, value_size),
            (queries, width),
        )
    ]


@each_size
def test_without_lengths_and_causal_the_mask_has_a_row_for_each_query(sizes):
    layer, (_, keys, values, _) = many_heads(sizes)
    queries = torch.randn(*keys.shape[:2], sizes[3])
    made = dict(sections(trace(layer, queries, keys, values, causal=True))[0])
    assert made["visible"] == (1, keys.shape[1], keys.shape[1])


LAYERS = {
    "dot": lambda _: DotProductAttention(),
    "additive": lambda size: AdditiveAttention(size, size, 17),
    "older name": lambda size: MLPAttention(size, size, 17),
    "a subclass": lambda _: FirstPartAttention(),
}


@each_size
@pytest.mark.parametrize("name", LAYERS)
def test_a_causal_call_of_our_layers_shows_the_shapes_it_makes(name, sizes):
    batch, queries, keys, size, _, value_size, heads, _ = sizes
    inputs = (
        torch.randn(batch, heads, queries, size),
        torch.randn(batch, heads, keys, size),
        torch.randn(batch, heads, keys, value_size),
    )
    x_ray = trace(LAYERS[name](size), *inputs, causal=True, follow=["score"])
    true = {
        "queries": (batch, heads, queries, size),
        "keys": (batch, heads, keys, size),
        "values": (batch, heads, keys, value_size),
        "visible": (1, 1, queries, keys),
        "scores": (batch, heads, queries, keys),
        "hiddens": (batch, heads, queries, 17),
    }
    forward = dict(sections(x_ray)[0])
    assert x_ray.error is None
    assert {"queries", "keys", "values", "return"} <= forward.keys()
    assert forward.pop("return") == (batch, heads, queries, value_size)
    assert forward == {name: true[name] for name in forward}


@each_size
def test_the_lines_of_heads_and_positions_show_the_shapes_they_make(sizes):
    batch, queries, _, _, size, _, num_heads, head_size = sizes
    width = num_heads * head_size

    def returned(function, *inputs):
        return trace(function, *inputs).shapes["return"]

    assert returned(split_heads, torch.ones(batch, queries, width), num_heads) == (
        batch,
        num_heads,
        queries,
        head_size,
    )
    heads = torch.ones(batch, num_heads, queries, head_size)
    assert returned(merge_heads, heads) == (batch, queries, width)
    assert returned(rotary_encoding, heads) == heads.shape
    assert returned(sinusoidal_encoding, queries, size) == (queries, size)


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


# Built-in sizes


class BuiltIn(nn.Module):
    """Many heads whose batch and number of queries stand in the code: 2 and 5."""

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


def test_many_heads_with_built_in_sizes_are_caught_at_their_line():
    x_ray = trace(BuiltIn(fixed=True), torch.ones(3, 7, 11))
    assert isinstance(x_ray.error, RuntimeError)
    assert error_of(x_ray).source.strip() == "parts = q.reshape(*front, 3, 7)"
    assert x_ray.shapes["q"] == (3, 7, 21)


def test_where_built_in_sizes_happen_to_be_right_the_second_run_catches_them():
    sizes = {"batch": 2, "queries": 5, "heads": 3, "head_size": 7}
    remark = trace(BuiltIn(fixed=True), torch.ones(2, 5, 11), sizes=sizes).remark
    assert remark.startswith("Runs with batch=2, but not with batch=11: RuntimeError: shape")


def test_without_built_in_sizes_it_runs_with_others():
    sizes = {"batch": 2, "queries": 5, "heads": 3, "head_size": 7}
    x_ray = trace(BuiltIn(fixed=False), torch.ones(2, 5, 11), sizes=sizes)
    assert x_ray.error is None
    assert not x_ray.remark
    assert "parts (batch, queries, heads, head_size)" in str(x_ray)
