"""Masks of other libraries become ours: there and back, and with the outputs of both."""

import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnbook import DotProductAttention, checked
from attnbook.masking.interop import (
    MaskRules,
    for_attnbook,
    for_encoder_layer,
    for_multihead_attention,
    for_sdpa,
    for_sdpa_float,
    for_transformers,
    from_attention_mask,
    from_attn_mask,
    from_key_padding_mask,
)
from attnbook.masking.masks import visible_keys
from tests.masking.mask_rules import random_rules
from tests.masking.test_interop import BATCH, HEADS, WIDTH, both_layers, numbers

RULES = [random_rules(seed) for seed in range(100)]
ones = torch.ones


def to_float(hidden, low=-math.inf, dtype=torch.float32):
    """The same mask as numbers that are added to the scores."""
    return torch.zeros(hidden.shape, dtype=dtype).masked_fill(hidden, low)


def join(masks, rules):
    """The `(num_queries, num_keys)` that all masks of one example show together."""
    visible = ones(1, rules.num_queries, rules.num_keys).bool()
    for mask in masks:
        visible = visible & mask
    return visible[0]


# There and back


def by_multihead_attention(rules):
    given = for_multihead_attention(rules)
    return join(convert_pair(given.get("key_padding_mask"), given.get("attn_mask")), rules)


def by_encoder_layer(rules):
    given = for_encoder_layer(rules)
    masks = convert_pair(given.get("src_key_padding_mask"), given.get("src_mask"), to_float)
    return join(masks, rules)


def convert_pair(padding, attn, form=lambda hidden: hidden):
    if padding is not None:
        yield from_key_padding_mask(form(padding))
    if attn is not None:
        yield from_attn_mask(form(attn), true_means="hidden")


def by_sdpa(rules):
    given = for_sdpa(rules)
    if given.get("is_causal"):
        return ones(rules.num_queries, rules.num_keys).tril().bool()
    masks = [from_attn_mask(given["attn_mask"], true_means="visible")] if given else []
    return join(masks, rules)


def by_sdpa_float(rules):
    return from_attn_mask(for_sdpa_float(rules)["attn_mask"])


def by_transformers(rules):
    """Two axes, to which a model adds the order."""
    mask = from_attention_mask(for_transformers(rules)["attention_mask"])
    square = ones(1, rules.num_queries, rules.num_keys)
    order = [square.tril(rules.num_keys - rules.num_queries).bool()] if rules.causal else []
    return join([mask, *order], rules)


def by_four_axes(rules):
    """What models make of it: no -inf, but the lowest number of the dtype."""
    lowest = torch.finfo(torch.bfloat16).min
    return from_attention_mask(to_float(~rules.visible(), lowest, torch.bfloat16)[None, None])[0, 0]


def by_attnbook(rules):
    shape = (1, rules.num_queries, rules.num_keys)
    given = {"valid_lens": None, "causal": False} | for_attnbook(rules)
    visible = visible_keys(shape, device=torch.device("cpu"), **given)
    return join([] if visible is None else [visible], rules)


def of_an_encoder(rules):
    """As many queries as keys."""
    table = rules.table and rules.table[:1]
    return replace(rules, num_queries=rules.num_keys, table=table)


def of_rows(rules):
    """The rules that an attention_mask of two axes can express."""
    left_out = dict.fromkeys(["window", "ahead", "documents", "prefix", "table"])
    return replace(rules, causal=rules.causal and "last", **left_out)


def all_of(rules):
    return rules


WAYS = {
    "nn.MultiheadAttention": (by_multihead_attention, all_of),
    "an encoder layer, as numbers": (by_encoder_layer, of_an_encoder),
    "sdpa": (by_sdpa, all_of),
    "sdpa, as numbers": (by_sdpa_float, all_of),
    "transformers": (by_transformers, of_rows),
    "transformers, four axes": (by_four_axes, all_of),
    "attnbook": (by_attnbook, all_of),
}


@pytest.mark.parametrize("library", WAYS)
def test_a_mask_comes_back_from_each_library_as_it_was(library):
    back, what_fits = WAYS[library]
    for rules in map(what_fits, RULES):
        assert torch.equal(back(rules), rules.visible()), rules


# The same outputs


def random_masks(*shape, seed):
    """Masks that hide three of ten, True = hidden, and no key from all queries of a row."""
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.rand(*shape, generator=generator) < 0.3
    hidden[..., 2] = False
    return hidden


FORMS = {"booleans": lambda hidden: hidden, "numbers": lambda hidden: to_float(hidden).double()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(2))
def test_a_layer_with_the_converted_masks_equals_multihead_attention(form, seed):
    mine, theirs = both_layers()
    make = FORMS[form]
    queries, keys = numbers(BATCH, 5, WIDTH), numbers(BATCH, 7, WIDTH, seed=4)
    padding = make(random_masks(BATCH, 7, seed=seed))
    for shape in ((5, 7), (BATCH * HEADS, 5, 7)):
        attn = make(random_masks(*shape, seed=seed + 9))
        found, _ = theirs(queries, keys, keys, key_padding_mask=padding, attn_mask=attn)
        mask = from_attn_mask(attn, true_means="hidden", num_heads=HEADS)
        key_mask = from_key_padding_mask(padding)
        mask = mask & (key_mask[:, None] if mask.dim() == 4 else key_mask)
        torch.testing.assert_close(mine(queries, keys, keys, mask=mask), found)


def test_left_padding_equals_multihead_attention_where_that_is_not_nan():
    mine, theirs = both_layers()
    words = numbers(BATCH, 5, WIDTH)
    starts, keys = torch.tensor([2, 0]), torch.arange(5)
    padding, future = keys < starts[:, None], ones(5, 5).triu(1).bool()
    found, _ = theirs(words, words, words, key_padding_mask=padding, attn_mask=future)
    output = mine(words, words, words, causal=True, mask=from_key_padding_mask(padding))
    empty = padding  # queries at padding see padding only
    assert found[empty].isnan().all()
    assert empty.any()
    torch.testing.assert_close(output[~empty], found[~empty])
    assert (output[empty] == 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_layer_with_the_converted_mask_equals_sdpa_with_zeros_in_empty_rows(form):
    queries, keys, values = (
        numbers(BATCH, HEADS, count, 4, seed=seed) for seed, count in enumerate((5, 7, 7))
    )
    for seed, shape in enumerate(
        [(5, 7), (BATCH, 1, 5, 7), (1, HEADS, 5, 7), (BATCH, HEADS, 5, 7)]
    ):
        hidden = random_masks(*shape, seed=seed)
        hidden[..., 1, :] = True
        attn = ~hidden if form == "booleans" else FORMS[form](hidden)
        mask = from_attn_mask(attn, true_means="visible")
        output = DotProductAttention()(queries, keys, values, mask=mask)
        torch.testing.assert_close(output, sdpa(queries, keys, values, attn_mask=attn))
        assert (output[..., 1, :] == 0).all()


# Of any dtype, unread, and refused


FUTURE = ones(5, 5).triu(1).bool()
PADDING = torch.tensor([[False, False, True, True, True], [False] * 5])
READINGS = [
    *((from_attn_mask, FUTURE, (form, "mask")) for form in ("1 visible", "1 hidden", "low")),
    *((from_key_padding_mask, PADDING, (form, "mask[:, None]")) for form in ("1 visible", "low")),
    *((None, FUTURE, (form, "mask")) for form in ("1 visible", "1 hidden", "low", "-inf")),
]
AS_NUMBERS = {
    "1 visible": (lambda hidden: 1.0 * ~hidden, "== 1"),
    "1 hidden": (lambda hidden: 1.0 * hidden, "== 0"),
    "low": (lambda hidden: to_float(hidden, -1e9), "== 0"),
    "-inf": (to_float, "== 0"),
}


@pytest.mark.parametrize(("convert", "hidden", "reading"), READINGS)
def test_the_advice_for_a_mask_of_numbers_shows_what_it_meant(convert, hidden, reading):
    (make, compared), named = AS_NUMBERS[reading[0]], reading[1]
    layer, x = DotProductAttention(), numbers(BATCH, 5, 4)
    mask = make(hidden)
    with pytest.raises((TypeError, ValueError)) as caught:
        convert(mask) if convert else layer(x, x, x, mask=mask)
    advice = f"{named} {compared}"
    assert f"{advice} " in str(caught.value)
    given = {"mask[:, None]": mask[:, None], "mask": mask}[named]
    layer(x, x, x, mask=given == 1 if compared == "== 1" else given == 0)
    visible = ~(hidden[:, None] if convert is from_key_padding_mask else hidden)
    assert ((layer.attention_weights > 0) == visible).all()


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16])
def test_an_attention_mask_of_two_axes_may_have_any_dtype(dtype):
    mask = torch.tensor([[0, 1, 1], [1, 0, 0]], dtype=dtype)
    assert from_attention_mask(mask).tolist() == [[[False, True, True]], [[True, False, False]]]


def test_booleans_of_transformers_with_four_axes_stay_as_they_are():
    mask = ~random_masks(2, 1, 5, 7, seed=1)
    assert torch.equal(from_attention_mask(mask), mask)


def test_numbers_are_not_read_in_compiled_code_unless_checked():
    bias = torch.tensor([[0.0, 0.5, -math.inf]])
    compiled = torch.compile(from_attn_mask, fullgraph=True, backend="eager")
    assert compiled(bias).tolist() == [[True, False, False]]
    with checked(), pytest.raises(ValueError, match="mask as bias= if it is added"):
        compiled(bias)


def test_numbers_on_another_device_are_not_read_unless_checked(device):
    bias = torch.tensor([[0.0, 0.5]], device=device)
    if device.type != "cpu":
        assert from_attn_mask(bias).tolist() == [[True, False]]
    with checked(), pytest.raises(ValueError, match=r"got 0.5 at index \(0, 1\): pass mask == 1"):
        from_attn_mask(bias)


SEE = 'see: recipes, "convert a mask"$'
TYPE = r"mask must hold booleans, or 0 and -inf .* got torch.int64: pass mask.* == 1 as mask="
NUMBER = r"mask must hold 0 for what may be seen and -inf for what is hidden, got"
HEADS_NEEDED = "num_heads must be given for a mask of three axes, .*"
convert_sdpa = {"true_means": "visible"}
REFUSED = [
    (from_key_padding_mask, [ones(7).bool()], {}, r"mask must have shape \(batch, num_keys\), got"),
    (from_key_padding_mask, [ones(2, 7).long()], {}, TYPE),
    (from_key_padding_mask, [ones(2, 7)], {}, rf"{NUMBER} 1.0 at .*\(0, 0\): pass mask\[:, None"),
    (from_attn_mask, [ones(7)], {}, r"mask must have shape \(num_queries, num_keys\) or .*, got"),
    (from_attn_mask, [ones(2, 3, 5, 7).long()], convert_sdpa, TYPE),
    (from_attn_mask, [torch.tensor([[0, -1e9]])], {}, rf"{NUMBER} -1000000000.0 .* mask == 0 if"),
    (from_attn_mask, [torch.tensor([[0, math.nan]])], {}, f"{NUMBER} nan"),
    (from_attn_mask, [torch.tensor([[torch.finfo(torch.float32).min]])], {}, f"{NUMBER} -3.4"),
    (from_attn_mask, [ones(5, 7).bool()], {}, "true_means must be given .*, got None"),
    (from_attn_mask, [ones(6, 5, 7).bool()], convert_sdpa, f"{HEADS_NEEDED}got num_heads=None"),
    (from_attention_mask, [ones(2, 5, 7)], {}, r"mask must have shape \(batch, num_keys\) or"),
    (from_attention_mask, [ones(2, 1, 5, 7).long()], {}, TYPE),
    (from_attention_mask, [ones(2, 1, 5, 7)], {}, f"{NUMBER} 1.0"),
    (from_attention_mask, [torch.tensor([[0, -math.inf]])], {}, ".* -inf .* has four axes"),
    (from_attention_mask, [torch.tensor([[1, -1]])], {}, r"mask must hold 1 .*, got -1 at"),
]


@pytest.mark.parametrize(("convert", "given", "options", "message"), REFUSED)
def test_what_is_no_mask_is_refused_with_the_way_to_convert_it(convert, given, options, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}.*; {SEE}"):
        convert(*given, **options)


def test_counted_documents_are_refused_with_the_rule_for_packed_documents():
    message = 'got 2 at index .0, 1.: .* document_mask .*; see: recipes, "packed documents"$'
    with pytest.raises(ValueError, match=message):
        from_attention_mask(torch.tensor([[1, 2, 2, 0]]))


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((6, 5, 7), {"num_heads": 4}, "num_heads must divide the first axis .*=4 and .*6, 5, 7"),
        ((2, 3, 5, 7), {"num_heads": 4}, "num_heads must be that of .* four .*=4 and .*2, 3, 5, 7"),
        ((6, 5, 7), {"num_heads": 0}, "num_heads must be at least 1, got 0"),
        ((5, 7), {"true_means": True}, "true_means must be 'hidden', 'visible' or None, got True"),
    ],
)
def test_options_that_do_not_fit_the_mask_are_refused(shape, options, message):
    with pytest.raises(ValueError, match=message):
        from_attn_mask(ones(shape).bool(), **{"true_means": "hidden"} | options)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (2, 1, 5, 7), (5, 7)])
def test_a_mask_of_as_many_heads_or_of_one_for_all_stays_as_it_is(shape):
    mask = ones(shape).bool()
    assert torch.equal(from_attn_mask(mask, true_means="visible", num_heads=3), mask)


def test_a_padding_mask_that_hides_all_keys_is_a_mask():
    assert not from_key_padding_mask(ones(2, 7).bool()).any()
    assert (
        MaskRules(3, 7, valid_len=0)
        .visible()
        .equal(from_key_padding_mask(ones(1, 7).bool()).expand(1, 3, 7)[0])
    )
