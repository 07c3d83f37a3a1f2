"""Rules about who may see whom, and masks of the caller's: every layer keeps its promises."""

import itertools
import math
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import attnbook
from attnbook import (
    Attention,
    causal_mask,
    checked,
    document_mask,
    length_mask,
    masked_softmax,
    prefix_mask,
    start_mask,
    window_mask,
)
from attnbook.masking import reach
from tests import oracle
from tests.cases import (
    LAYERS,
    NUM_HEADS,
    WITHOUT_WEIGHTS,
    make,
    output_size,
    random_qkv,
    seeds,
    snapshot,
    unchanged,
)

NAMES = [*LAYERS, "older name", "a subclass", "multi-head with bias"]
WAYS = [*NAMES, *(name + WITHOUT_WEIGHTS for name in (*LAYERS, "multi-head with bias"))]
every_way = pytest.mark.parametrize("name", WAYS)
every_path = pytest.mark.usefixtures("every_path")
QUERIES, KEYS = 3, 7


# Who sees what, by each rule


def test_left_padding_ends_where_the_keys_start():
    assert start_mask(torch.tensor([1, 3]), (2, 1, 3)).tolist() == [
        [[False, True, True]],
        [[False, False, False]],
    ]


def test_a_window_shows_the_querys_own_key_and_as_many_more_as_it_says():
    # The two queries stand at the keys 3 and 4.
    assert window_mask((1, 2, 5), back=1).int().tolist() == [[[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]]
    assert window_mask((1, 2, 5), back=0, ahead=1).int().tolist() == [
        [[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]
    ]


def test_a_window_without_a_limit_behind_is_causal_and_without_any_is_none():
    assert torch.equal(window_mask((1, 3, 5), back=None), causal_mask((1, 3, 5)))
    assert window_mask((1, 3, 5), back=None, ahead=None).all()


def test_packed_documents_do_not_see_each_other():
    mask = document_mask(torch.tensor([4, 4, 9]), (1, 3, 3))
    assert mask.int().tolist() == [[[1, 1, 0], [1, 1, 0], [0, 0, 1]]]


def test_a_query_belongs_to_the_document_of_the_key_where_it_stands():
    documents = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 2]])
    assert document_mask(documents, (2, 1, 4)).int().tolist() == [[[0, 0, 1, 1]], [[0, 0, 0, 1]]]


def test_a_prefix_is_seen_by_all_and_the_rest_in_order():
    mask = prefix_mask(torch.tensor([2]), (1, 3, 3))
    assert mask.int().tolist() == [[[1, 1, 0], [1, 1, 0], [1, 1, 1]]]
    assert torch.equal(prefix_mask(torch.tensor([0]), (1, 3, 3)), causal_mask((1, 3, 3)))


# Each rule against a loop over pairs


@st.composite
def shapes(draw, ordered=True):
    """Shapes of scores; with a key for each query where the rule needs positions."""
    batch, queries, more = (draw(st.integers(1, 4)) for _ in range(3))
    heads = draw(st.sampled_from([(), (3,)]))
    keys = queries + more - 1 if ordered else draw(st.integers(1, 5))
    return batch, *heads, queries, keys


def by_pairs(shape, sees):
    """Ask, for each example and pair of positions, whether the query may see the key."""
    batch, *heads, queries, keys = shape
    mask = torch.zeros(batch, queries, keys, dtype=torch.bool)
    for example, query, key in itertools.product(range(batch), range(queries), range(keys)):
        mask[example, query, key] = sees(example, keys - queries + query, key)
    return mask[:, None].expand(shape) if heads else mask


def whole_numbers(draw, count, most):
    return draw(st.lists(st.integers(0, most), min_size=count, max_size=count))


@given(st.data())
def test_left_padding_is_what_the_loop_says(data):
    shape = data.draw(shapes(ordered=False))
    starts = whole_numbers(data.draw, shape[0], shape[-1])
    expected = by_pairs(shape, lambda example, _, key: key >= starts[example])
    assert torch.equal(start_mask(torch.tensor(starts), shape).expand(shape), expected)


@given(st.data())
def test_a_window_is_what_the_loop_says(data):
    shape = data.draw(shapes())
    back, ahead = (data.draw(st.none() | st.integers(0, 4)) for _ in range(2))

    def sees(_, query, key):
        behind, before = query - key, key - query
        return (back is None or behind <= back) and (ahead is None or before <= ahead)

    mask = window_mask(shape, back, ahead)
    assert torch.equal(mask.expand(shape), by_pairs(shape, sees))
    assert mask.shape == (1,) * (len(shape) - 2) + shape[-2:]


@given(st.data())
def test_a_prefix_is_what_the_loop_says(data):
    shape = data.draw(shapes())
    prefix = whole_numbers(data.draw, shape[0], shape[-1])
    expected = by_pairs(shape, lambda example, query, key: key <= query or key < prefix[example])
    assert torch.equal(prefix_mask(torch.tensor(prefix), shape).expand(shape), expected)


@given(st.data())
def test_documents_are_what_the_loop_says(data):
    shape = data.draw(shapes())
    packed = [whole_numbers(data.draw, shape[-1], 2) for _ in range(shape[0])]
    documents = torch.tensor(packed).to(data.draw(st.sampled_from([torch.uint16, torch.int32])))
    given_to_all = data.draw(st.booleans())
    packed = packed[:1] * shape[0] if given_to_all else packed
    expected = by_pairs(
        shape, lambda example, query, key: packed[example][query] == packed[example][key]
    )
    mask = document_mask(documents[0] if given_to_all else documents, shape)
    assert torch.equal(mask.expand(shape), expected)


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=5))
def test_a_row_reaches_to_its_last_visible_key(rows):
    expected = [
        max((place + 1 for place, seen in enumerate(row) if seen), default=0) for row in rows
    ]
    assert reach(torch.tensor(rows)).tolist() == expected


def test_with_no_keys_nothing_is_reached():
    assert reach(torch.ones(2, 3, 0, dtype=torch.bool)).tolist() == [[0] * 3] * 2


# Layers


def rules_for(shape, draw):
    """One mask of each rule, for scores of this shape, some of which hide whole rows."""
    batch, num_keys = shape[0], shape[-1]
    generator = torch.Generator().manual_seed(draw(seeds))
    return {
        "left padding": start_mask(torch.tensor(whole_numbers(draw, batch, num_keys)), shape),
        "window": window_mask(shape, draw(st.integers(0, 3)), draw(st.none() | st.integers(0, 2))),
        "documents": document_mask(
            torch.tensor([whole_numbers(draw, num_keys, 2) for _ in range(batch)]), shape
        ),
        "prefix": prefix_mask(torch.tensor(whole_numbers(draw, batch, num_keys)), shape),
        "any": torch.rand(shape, generator=generator) < draw(st.sampled_from([0.2, 0.5, 0.9])),
        "any, of one row": torch.rand(*shape[:-2], 1, num_keys, generator=generator) < 0.5,
        "any, of two axes": torch.rand(shape[-2:], generator=generator) < 0.5,
    }


@st.composite
def masked_calls(draw, heads=()):
    """A mask of one rule or a join of two, and lengths and order that may hold as well."""
    shape = (2, *heads, QUERIES, KEYS)
    rules = rules_for(shape, draw)
    names = draw(st.lists(st.sampled_from(sorted(rules)), min_size=1, max_size=2, unique=True))
    mask = rules[names[0]]
    for name in names[1:]:
        mask = mask & rules[name]
    lens = draw(st.none() | st.just(whole_numbers(draw, 2, KEYS)))
    options = {"causal": draw(st.booleans()), "mask": mask}
    return None if lens is None else torch.tensor(lens), options


@every_path
@pytest.mark.parametrize(
    "name", ["dot", "additive", *(n + WITHOUT_WEIGHTS for n in ("dot", "additive"))]
)
@pytest.mark.parametrize("heads", [(), (3,)], ids=["three axes", "four axes"])
@given(data=st.data())
def test_a_layer_agrees_with_the_oracle(name, heads, data):
    valid_lens, options = data.draw(masked_calls(heads))
    layer, inputs = make(name, dtype=torch.float64), random_qkv(3, heads)
    output = layer(*inputs, valid_lens, **options)
    if name.startswith("dot"):
        expected = oracle.dot_product_attention(*inputs, valid_lens, **options)
    else:
        expected = oracle.additive_attention(layer.state_dict(), *inputs, valid_lens, **options)
        projected = layer.project_keys(inputs[1])
        attended = layer.attend(inputs[0], projected, inputs[2], valid_lens, **options)
        assert torch.allclose(attended, expected, atol=1e-12)
    assert torch.allclose(output, expected, atol=1e-12)


@every_path
@pytest.mark.parametrize(
    "name", ["multi-head", "multi-head with bias", "multi-head" + WITHOUT_WEIGHTS]
)
@given(data=st.data())
def test_many_heads_agree_with_the_oracle(name, data):
    valid_lens, options = data.draw(masked_calls((NUM_HEADS,)))
    layer, inputs = make(name, dtype=torch.float64), random_qkv(3)
    expected, weights = oracle.multi_head_attention(
        layer.state_dict(), NUM_HEADS, inputs, valid_lens, **options
    )
    assert torch.allclose(layer(*inputs, valid_lens, **options), expected, atol=1e-12)
    if layer.keep_weights:
        assert torch.allclose(layer.attention_weights, weights, atol=1e-12)
        assert (layer.attention_weights[weights == 0] == 0).all()


@given(st.data())
def test_masked_softmax_agrees_with_the_oracle(data):
    valid_lens, options = data.draw(masked_calls((3,)))
    scores = 10 * torch.randn(2, 3, QUERIES, KEYS, generator=torch.Generator().manual_seed(5))
    scores[:, 0, 0, 0] = 1e38
    expected = oracle.masked_softmax(scores, valid_lens, **options)
    weights = masked_softmax(scores, valid_lens, **options)
    assert torch.allclose(weights.double(), expected, atol=1e-6)
    assert (weights[expected == 0] == 0)[scores[expected == 0].abs() < 1e38].all()


def some_mask(per_query=True):
    """A row is empty, others have holes; in the first example nobody sees the keys 0 and 4."""
    rows = torch.tensor(
        [[0, 1, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 1]]
    ).bool()
    mask = torch.stack([rows, rows.roll(1, 0)])
    return mask if per_query else mask[:, :1]


@every_path
@every_way
@pytest.mark.parametrize("per_query", [True, False], ids=["per query", "per example"])
@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf, 1e300])
def test_what_nobody_sees_never_matters(name, per_query, junk):
    layer, mask = make(name, dtype=torch.float64), some_mask(per_query)
    unseen = ~mask.any(dim=1)
    found = []
    for hidden in (0.5, junk):
        leaves = random_qkv(3)
        for which in (1, 2):
            leaves[which][unseen] = hidden
        leaves = [leaf.requires_grad_() for leaf in leaves]
        layer.zero_grad()
        output = layer(*leaves, mask=mask)
        output.square().sum().backward()
        gradients = [leaf.grad for leaf in (*leaves, *layer.parameters())]
        assert all(not gradient[unseen].any() for gradient in gradients[1:3])
        found.append([output.detach(), *gradients])
    for left, right in zip(*found, strict=True):
        assert right.isfinite().all()
        assert torch.allclose(left, right, atol=1e-12)


@every_path
@every_way
def test_a_query_that_sees_nothing_gets_zeros(name):
    layer, mask = make(name), some_mask()
    leaves = [leaf.requires_grad_() for leaf in random_qkv(3, dtype=torch.float32)]
    output = layer(*leaves, mask=mask)
    assert not output[0, 1].any()
    assert not output[1, 2].any()
    assert output[0, 0].any()
    output.sum().backward()
    assert all(leaf.grad.isfinite().all() for leaf in leaves)
    assert not leaves[0].grad[0, 1].any()


@every_path
@every_way
def test_the_callers_tensors_stay_as_they_are(name):
    layer, mask = make(name), some_mask()
    inputs = [*random_qkv(3, dtype=torch.float32), mask]
    before = snapshot(inputs)
    layer(*inputs[:3], mask=mask)
    assert unchanged(inputs, before)


@every_path
@every_way
def test_a_mask_that_says_what_lengths_say_gives_what_they_give(name):
    layer, inputs, lens = make(name, dtype=torch.float64), random_qkv(3), torch.tensor([4, 0])
    expected = layer(*inputs, lens, causal=True)
    mask = length_mask(lens, (2, QUERIES, KEYS)) & causal_mask((2, QUERIES, KEYS))
    assert torch.allclose(layer(*inputs, mask=mask), expected, atol=1e-12)


@every_path
@pytest.mark.parametrize("name", ["dot", "additive", "multi-head"])
def test_gradients_are_those_of_differences(name):
    layer, mask = make(name, dtype=torch.float64), some_mask()
    leaves = [leaf.requires_grad_() for leaf in random_qkv(3)]
    assert torch.autograd.gradcheck(lambda *some: layer(*some, mask=mask), leaves)


@every_path
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["dot", "dot" + WITHOUT_WEIGHTS, "additive", "multi-head"])
def test_half_precision_hides_as_well(name, dtype):
    layer, mask = make(name, dtype=dtype), some_mask()
    inputs = random_qkv(3, dtype=dtype)
    output = layer(*inputs, mask=mask)
    expected = make(name, dtype=torch.float64)(*(x.double() for x in inputs), mask=mask)
    assert torch.allclose(output.double(), expected, atol=5e-2)
    if layer.keep_weights:
        weights = layer.attention_weights
        hidden = ~(mask[:, None] if weights.dim() == 4 else mask).expand_as(weights)
        assert (weights[hidden] == 0).all()


class Inside(Attention):
    """A score that takes keys inside the unit ball alone; ones lie outside."""

    def score(self, queries, keys):
        return queries @ torch.atanh(keys).transpose(-2, -1)


def test_what_stands_in_for_a_key_that_nobody_sees_is_a_key_that_somebody_sees():
    queries, keys, values = torch.rand(2, 3, 4), torch.rand(2, 7, 4) / 2, torch.rand(2, 7, 4)
    keys[:, 0] = 2.0
    leaves = [leaf.requires_grad_() for leaf in (queries, keys, values)]
    Inside()(*leaves, mask=some_mask()).sum().backward()
    assert all(leaf.grad.isfinite().all() for leaf in leaves)


# What is refused

ones = torch.ones
refused = pytest.mark.parametrize(
    ("mask", "error", "told"),
    [
        ([[True]], TypeError, "mask must be a tensor of booleans, got list"),
        (ones(3, 7), TypeError, r"mask must hold booleans, .*, got torch.float32; .*`mask == 0`"),
        (ones(3, 7).long(), TypeError, "mask must hold booleans, .*, got torch.int64"),
        (ones(7).bool(), ValueError, r"mask must have shape .*, got \(7,\)"),
        (ones(7, 3).bool(), ValueError, r"mask must have shape .*, got \(7, 3\)"),
        (ones(3, 1).bool(), ValueError, r"mask must have shape .*, got \(3, 1\)"),
        (ones(5, 3, 7).bool(), ValueError, r"mask must have shape .*, got \(5, 3, 7\)"),
        (ones(1, 2, 2, 3, 7).bool(), ValueError, r"mask must have shape .*, got \(1, 2, 2, 3, 7\)"),
    ],
)


@refused
@pytest.mark.parametrize("name", WAYS)
def test_a_mask_that_does_not_fit_is_refused_and_changes_nothing(name, mask, error, told):
    layer, inputs = make(name), random_qkv(3, dtype=torch.float32)
    before = snapshot(inputs)
    with pytest.raises(error, match=told):
        layer(*inputs, mask=mask)
    assert unchanged(inputs, before)


@refused
def test_masked_softmax_refuses_the_same(mask, error, told):
    with pytest.raises(error, match=told):
        masked_softmax(torch.zeros(2, 3, 7), mask=mask)


@pytest.mark.parametrize("name", ["dot", "additive", "dot" + WITHOUT_WEIGHTS])
def test_three_axes_that_may_be_examples_or_heads_are_refused(name):
    with pytest.raises(ValueError, match=r"axis of heads .* \(2, 3, 7\): write mask\[:, None\]"):
        make(name)(*random_qkv(3, (2,), dtype=torch.float32), mask=ones(2, 3, 7).bool())


def test_a_mask_of_other_heads_is_refused_by_many_heads():
    with pytest.raises(ValueError, match=r"\(2, 4, 3, 7\), .* got \(2, 3, 3, 7\)"):
        make("multi-head")(*random_qkv(3, dtype=torch.float32), mask=ones(2, 3, 3, 7).bool())


@pytest.mark.parametrize(
    ("rule", "error", "told"),
    [
        (lambda: window_mask((1, 3, 3), -1), ValueError, "back must be at least 0, got -1"),
        (lambda: window_mask((1, 3, 3), 1, -2), ValueError, "ahead must be at least 0, got -2"),
        (lambda: window_mask((1, 3, 3), 1.0), TypeError, "back must be a whole number or None"),
        (lambda: window_mask((1, 3, 3), True), TypeError, "back must be a whole number or None"),
        (lambda: window_mask((1, 3, 2), 1), ValueError, "a window must have a key for each query"),
        (lambda: window_mask((3, 3), 1), ValueError, "shape must be .*, got 2 axes"),
        (lambda: start_mask([1], (1, 1, 3)), TypeError, "starts must be a tensor of whole numbers"),
        (lambda: start_mask(torch.tensor([4]), (1, 1, 3)), ValueError, r"starts must lie in \[0, "),
        (lambda: start_mask(torch.tensor([0.5]), (1, 1, 3)), ValueError, "starts must be whole"),
        (lambda: start_mask(torch.tensor([1]), (1, 3)), ValueError, "shape must be .*, got 2 axes"),
        (lambda: prefix_mask(torch.tensor([4]), (1, 1, 3)), ValueError, r"prefix_lens must lie in"),
        (lambda: prefix_mask(torch.tensor([1]), (1, 3, 2)), ValueError, "must have a key for each"),
        (
            lambda: document_mask([0, 0], (1, 2, 2)),
            TypeError,
            "documents must be a tensor of whole",
        ),
        (lambda: document_mask(ones(2).bool(), (1, 2, 2)), TypeError, "documents must hold whole"),
        (lambda: document_mask(ones(2) / 2, (1, 2, 2)), TypeError, "documents must hold whole"),
        (
            lambda: document_mask(ones(3).long(), (1, 2, 2)),
            ValueError,
            r"documents must have shape .*\(3,",
        ),
        (
            lambda: document_mask(ones(2).long(), (1, 3, 2)),
            ValueError,
            "documents must have a key for",
        ),
        (lambda: document_mask(ones(2).long(), (3, 2)), ValueError, "shape must be .*, got 2 axes"),
    ],
)
def test_a_rule_refuses_what_it_cannot_mean(rule, error, told):
    with pytest.raises(error, match=told):
        rule()


def test_checked_reads_where_left_padding_ends_in_compiled_code_too():
    compiled = torch.compile(lambda starts: start_mask(starts, (1, 1, 3)), backend="eager")
    assert not compiled(torch.tensor([4])).any()
    with checked(), pytest.raises(ValueError, match="starts must lie in"):
        compiled(torch.tensor([4]))


# Compiled, exported, mapped


@pytest.fixture
def _fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


COMPILED = [*LAYERS, *(name + WITHOUT_WEIGHTS for name in LAYERS)]


@pytest.mark.slow
@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_it_gives_and_learns_the_same(name):
    layer, mask = make(name, dtype=torch.float64), some_mask()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    found = []
    for attend in (layer, compiled):
        leaves = [leaf.requires_grad_() for leaf in random_qkv(3)]
        output = attend(*leaves, torch.tensor([6, 7]), mask=mask)
        output.square().sum().backward()
        found.append([output.detach(), *(leaf.grad for leaf in leaves)])
    for left, right in zip(*found, strict=True):
        assert torch.allclose(left, right, atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="the default compiler needs g++")
@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("name", ["dot", "additive" + WITHOUT_WEIGHTS])
def test_by_the_default_compiler_it_gives_the_same(name):
    layer, mask, inputs = make(name), some_mask(), random_qkv(3, dtype=torch.float32)
    compiled = torch.compile(layer, fullgraph=True)
    assert torch.allclose(compiled(*inputs, mask=mask), layer(*inputs, mask=mask), atol=1e-5)


@pytest.mark.parametrize("name", COMPILED)
def test_exported_it_gives_the_same(name):
    layer, mask, inputs = make(name).eval(), some_mask(), random_qkv(3, dtype=torch.float32)
    program = torch.export.export(layer, tuple(inputs), {"mask": mask}).module()
    for other in (mask, mask.roll(1, -1)):
        expected = layer(*inputs, mask=other)
        assert torch.allclose(program(*inputs, mask=other), expected, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_mapped_over_masks_it_gives_the_same(name):
    layer, inputs = make(name), random_qkv(3, dtype=torch.float32)
    masks = torch.stack([some_mask(), some_mask().roll(1, -1)])
    mapped = torch.func.vmap(lambda mask: layer(*inputs, mask=mask))(masks)
    expected = torch.stack([layer(*inputs, mask=mask) for mask in masks])
    assert torch.allclose(mapped, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["dot", "additive", "multi-head"])
def test_a_mask_on_the_cpu_is_welcome_anywhere(name, device):
    layer, mask = make(name).to(device), some_mask()
    inputs = [x.to(device) for x in random_qkv(3, dtype=torch.float32)]
    output = layer(*inputs, mask=mask)
    assert output.device.type == device.type
    assert output.shape == (2, QUERIES, output_size(name))


# A check that cannot fail would prove nothing.


class OverHeads(nn.Module):
    """Adds the axis of heads where the batch stands: with as many of both nothing complains."""

    def forward(self, queries, keys, values, mask):
        return torch.nn.functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask[None]
        )


def test_a_mask_broadcast_over_heads_instead_of_examples_is_another():
    inputs, mask = random_qkv(3, (2,)), some_mask()
    right = attnbook.DotProductAttention()(*inputs, mask=mask[:, None])
    wrong = OverHeads()(*inputs, mask)
    assert not torch.allclose(right, wrong, atol=1e-3)
