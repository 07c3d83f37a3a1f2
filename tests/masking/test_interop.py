"""One mask for each library: the same tensors, the same outputs, and where they differ.

The book describes what torch does with rows that see nothing, so these tests compare each row, and
the weekly run with the newest torch detects a change.
"""

import math
import sys
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, create_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnbook import DotProductAttention, MultiHeadAttention
from attnbook.masking.interop import (
    MaskRules,
    for_attnbook,
    for_encoder_layer,
    for_flex_attention,
    for_multihead_attention,
    for_sdpa,
    for_sdpa_float,
    for_transformers,
)
from tests.masking.mask_rules import ALONE, EVERY, JOINS

BATCH, HEADS, SIZE, WIDTH = 2, 3, 5, 12
AT_LEAST_2_14 = [*map(int, torch.__version__.split(".")[:2])] >= [2, 14]
NO_LIMIT = MaskRules(5, 7, start=1, window=sys.maxsize, ahead=2**64)


def numbers(*shape, seed=3, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.fixture
def sample(request):
    """Each rule alone and 8 joins of rules; all joins with `--full`."""
    return EVERY if request.config.getoption("--full") else EVERY[: len(ALONE) + 9]


@pytest.fixture
def square(sample):
    """Those with as many queries as keys."""
    return [rules for rules in sample if rules.num_queries == rules.num_keys]


def qkv_for(rules, dtype=torch.float64):
    """Queries, keys and values of four axes."""
    counts = rules.num_queries, rules.num_keys, rules.num_keys
    return tuple(
        numbers(BATCH, HEADS, count, SIZE, seed=seed, dtype=dtype)
        for seed, count in enumerate(counts, 1)
    )


def for_batch(arguments):
    """Repeat the arguments for one example for each in the batch."""
    repeated = ("valid_lens", "key_padding_mask", "src_key_padding_mask")
    return {
        name: it.expand(BATCH, *it.shape[1:]) if name in repeated else it
        for name, it in arguments.items()
    }


def empty_rows(rules):
    return ~rules.visible().any(dim=-1)


def close(left, right, case):
    """Equal numbers, NaN where there is NaN."""
    torch.testing.assert_close(
        left, right, equal_nan=True, msg=lambda text: f"{case}\n{text}", atol=1e-6, rtol=1e-6
    )


# The rules, pair by pair


def is_visible(rules, query, key):
    """Whether a query sees a key, in plain Python without attnbook."""
    own = query + rules.num_keys - rules.num_queries
    rules_show = [
        rules.valid_len is None or key < rules.valid_len,
        rules.start is None or key >= rules.start,
        rules.causal != "last" or key <= own,
        rules.causal != "first" or key <= query,
        rules.window is None or own - key < rules.window,
        rules.ahead is None or key - own <= rules.ahead,
        rules.documents is None or rules.documents[own] == rules.documents[key],
        rules.prefix is None or key < rules.prefix or key <= own,
        rules.table is None or rules.table[query % len(rules.table)][key],
    ]
    return all(rules_show)


def visible_pairs(rules):
    keys = range(rules.num_keys)
    return torch.tensor([[is_visible(rules, i, j) for j in keys] for i in range(rules.num_queries)])


def test_the_mask_agrees_with_the_rules_for_each_pair():
    for rules in [*EVERY, NO_LIMIT]:
        assert torch.equal(rules.visible(), visible_pairs(rules)), rules


# Each library on the same tensors


def ours(rules, queries, keys, values):
    layer = DotProductAttention().eval()
    return layer(queries, keys, values, **for_batch(for_attnbook(rules)))


def by_flex(rules, queries, keys, values):
    sizes = rules.num_queries, rules.num_keys
    block_mask = create_block_mask(for_flex_attention(rules), None, None, *sizes, device="cpu")
    return flex_attention(queries, keys, values, block_mask=block_mask)


FOUR_AXES = {
    "sdpa": lambda rules, *qkv: sdpa(*qkv, **for_sdpa(rules)),
    "sdpa, added": lambda rules, *qkv: sdpa(*qkv, for_sdpa_float(rules)["attn_mask"].double()),
    "sdpa, the formula": lambda rules, *qkv: by_the_formula(*qkv, **for_sdpa(rules)),
    "flex_attention": by_flex,
}


# flex_attention is traced again for each mask_mod, and those are compared pair by pair below.
FOR_FLEX = [ALONE["causal, fewer queries"], ALONE["table"], *JOINS[:4]]


def by_the_formula(*qkv, **arguments):
    with sdpa_kernel(SDPBackend.MATH):
        return sdpa(*qkv, **arguments)


def test_positions_begin_again_after_padding_and_in_each_document():
    assert MaskRules(5, 5, start=2).positions().tolist() == [0, 0, 0, 1, 2]
    rules = MaskRules(2, 6, start=1, documents=(7, 7, 7, 4, 4, 7))
    assert rules.positions().tolist() == [0, 0, 1, 0, 1, 2]


@pytest.mark.parametrize("library", FOUR_AXES)
def test_a_library_gives_our_output_and_zeros_in_empty_rows(library, sample):
    for rules in FOR_FLEX if library == "flex_attention" else sample:
        qkv = qkv_for(rules)
        close(FOUR_AXES[library](rules, *qkv), ours(rules, *qkv), rules)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_added_mask_works_for_queries_of_narrow_dtypes(dtype):
    rules = MaskRules(40, 40, causal="last", window=10)  # more keys than a register holds
    qkv = qkv_for(rules, dtype)
    output = sdpa(*qkv, **for_sdpa_float(rules))
    torch.testing.assert_close(output, sdpa(*qkv, **for_sdpa(rules)))


def test_sdpa_gets_is_causal_only_where_it_is_the_same_mask():
    for rules in EVERY:
        arguments = for_sdpa(rules)
        triangle = torch.ones(rules.num_queries, rules.num_keys).tril().bool()
        if "is_causal" in arguments:
            assert torch.equal(visible_pairs(rules), triangle), rules
        assert ("attn_mask" in arguments) == (
            not torch.equal(visible_pairs(rules), triangle) and not visible_pairs(rules).all()
        )
    assert for_sdpa(ALONE["causal"]) == {"is_causal": True}
    assert for_sdpa(ALONE["causal, one query"]) == {}


# nn.MultiheadAttention


def both_layers(num_heads=HEADS, *, training=True):
    """Make our layer and torch's with the same weights; W_o has a bias that is not zero."""
    torch.manual_seed(5)
    mine = MultiHeadAttention(WIDTH, WIDTH, WIDTH, WIDTH, num_heads, bias=True).double()
    nn.init.normal_(mine.W_o.bias)
    mine.train(training)
    return mine, mine.to_torch()


def inputs_for(rules):
    keys = numbers(BATCH, rules.num_keys, WIDTH)
    square = rules.num_queries == rules.num_keys
    return (keys if square else numbers(BATCH, rules.num_queries, WIDTH, seed=4)), keys, keys


def with_empty_rows(output, rules, row):
    """Replace our output by what torch gives where a query sees nothing."""
    return torch.where(empty_rows(rules)[:, None], row, output)


@pytest.mark.parametrize("need_weights", [False, True])
def test_multihead_attention_gives_its_bias_in_empty_rows_or_nan_with_weights(need_weights, sample):
    mine, theirs = both_layers()
    for rules in sample:
        inputs = inputs_for(rules)
        output = mine(*inputs, **for_batch(for_attnbook(rules)))
        hidden = for_batch(for_multihead_attention(rules))
        found, weights = theirs(*inputs, need_weights=need_weights, **hidden)
        row = math.nan if need_weights else mine.W_o.bias
        close(found, with_empty_rows(output, rules, row), rules)
        if need_weights:
            expected = with_empty_rows(mine.attention_weights.mean(dim=1), rules, math.nan)
            close(weights, expected, rules)


@pytest.mark.parametrize(("num_heads", "row"), [(3, "bias"), (4, math.nan)])
def test_in_inference_an_even_number_of_heads_gives_nan_in_empty_rows(num_heads, row, square):
    # torch's fast path: evaluated without gradients, one tensor as queries, keys and values.
    mine, theirs = both_layers(num_heads, training=False)
    for rules in square:
        inputs, hidden = inputs_for(rules), for_batch(for_multihead_attention(rules))
        with torch.no_grad():
            output = mine(*inputs, **for_batch(for_attnbook(rules)))
            found, _ = theirs(*inputs, need_weights=False, **hidden)
        close(found, with_empty_rows(output, rules, mine.W_o.bias if row == "bias" else row), rules)


# nn.TransformerEncoderLayer


def encoder_layer(num_heads):
    torch.manual_seed(5)
    layer = nn.TransformerEncoderLayer(WIDTH, num_heads, 24, 0.0, batch_first=True)
    nn.init.normal_(layer.self_attn.out_proj.bias)
    return layer.double()


def compute_encoder_layer(layer, inputs, rules, row):
    """Compute an encoder layer with our attention in it; `row` replaces empty rows."""
    attention = MultiHeadAttention.from_torch(layer.self_attn)
    found = attention(inputs, inputs, inputs, **for_batch(for_attnbook(rules)))
    inputs = layer.norm1(inputs + with_empty_rows(found, rules, row))
    return layer.norm2(inputs + layer.linear2(layer.linear1(inputs).relu()))


@pytest.mark.parametrize(
    ("num_heads", "row", "training"),
    [(4, "bias", True), (3, "bias", False), (4, math.nan, False)],  # the last had trained well
)
def test_an_encoder_layer_gives_its_bias_or_nan_in_empty_rows(num_heads, row, training, square):
    layer = encoder_layer(num_heads).train(training)
    for rules in square:
        inputs = inputs_for(rules)[0]
        with torch.set_grad_enabled(training):
            found = layer(inputs, **for_batch(for_encoder_layer(rules)))
            expected = layer.self_attn.out_proj.bias if row == "bias" else row
            close(found, compute_encoder_layer(layer, inputs, rules, expected), rules)


# flex_attention


def test_a_mask_mod_agrees_with_the_rules_for_each_pair(device, sample):
    for rules in [*sample, NO_LIMIT]:
        mask_mod = for_flex_attention(rules, device)
        mask = create_mask(mask_mod, None, None, rules.num_queries, rules.num_keys, device)
        assert torch.equal(mask[0, 0].cpu(), visible_pairs(rules)), rules


# Common mistakes that raise no error


def test_is_causal_shows_one_query_only_the_first_of_six_keys():
    rules = MaskRules(1, 6, causal="last")
    queries, keys, values = qkv = qkv_for(rules)
    close(sdpa(queries, keys, values, is_causal=True), values[..., :1, :], "is_causal")
    close(sdpa(*qkv, **for_sdpa(rules)), ours(rules, *qkv), rules)


@pytest.mark.parametrize("right", [True, False])
def test_multihead_attention_takes_masks_with_the_heads_of_an_example_next_to_each_other(right):
    mine, theirs = both_layers()
    masks = torch.stack(
        [MaskRules(5, 5, causal="last").visible(), visible_pairs(MaskRules(5, 5, window=2))]
    )
    each = masks.repeat_interleave(HEADS, dim=0) if right else masks.repeat(HEADS, 1, 1)
    inputs = (numbers(BATCH, 5, WIDTH),) * 3
    found, _ = theirs(*inputs, attn_mask=~each, need_weights=False)
    assert torch.allclose(found, mine(*inputs, mask=masks)) == right


def test_with_a_mask_the_formula_refuses_is_causal_and_the_kernel_joins_both_until_2_13():
    rules = MaskRules(5, 7, start=2)
    both = {"attn_mask": rules.visible(), "is_causal": True}
    qkv = qkv_for(rules)
    refusal = pytest.raises(RuntimeError, match="should not be set when is_causal=True")
    with refusal:
        by_the_formula(*qkv, **both)
    joined = MaskRules(5, 7, start=2, causal="first")
    with refusal if AT_LEAST_2_14 else nullcontext():
        close(sdpa(*qkv, **both), ours(joined, *qkv), joined)


# Refusals


IMPOSSIBLE = [
    ({"num_queries": 0}, "num_queries must be at least 1, got 0"),
    ({"valid_len": 8}, r"valid_len must lie in \[0, num_keys=7\], got 8"),
    ({"causal": True}, "causal must be 'last', 'first' or None, got True"),
    ({"causal": "last", "prefix": 2}, "causal must be None .*, got 'last', prefix=2"),
    ({"window": 0}, "window must be at least 1, got 0"),
    ({"table": ((True,) * 7,) * 3}, "table must be 5 or 1 rows of 7 booleans, got "),
    ({"num_queries": 9, "causal": "last"}, "causal must have a key for each query"),
]
OF_ANOTHER_TYPE = [
    ({"num_queries": 2.0}, "num_queries must be a whole number, got 2.0"),
    ({"valid_len": True}, "valid_len must be a whole number or None, got True"),
    ({"documents": (True,) * 7}, "documents must be num_keys=7 whole numbers, got .True"),
]


@pytest.mark.parametrize(
    ("error", "rules", "message"),
    [
        *((ValueError, *case) for case in IMPOSSIBLE),
        *((TypeError, *case) for case in OF_ANOTHER_TYPE),
    ],
)
def test_impossible_rules_are_refused(error, rules, message):
    with pytest.raises(error, match=message):
        MaskRules(**({"num_queries": 5, "num_keys": 7} | rules))


def test_an_encoder_layer_refuses_fewer_queries_than_keys():
    message = "num_keys=7 in an encoder, where each token is a query and a key, got 5"
    with pytest.raises(ValueError, match=message):
        for_encoder_layer(ALONE["window"])


# What an attention_mask of `transformers` holds; the models are in test_interop_transformers.py


def test_an_attention_mask_of_two_axes_hides_padding():
    rules = MaskRules(2, 7, valid_len=5, start=2, causal="last")
    assert for_transformers(rules)["attention_mask"].tolist() == [[0, 0, 1, 1, 1, 0, 0]]
    no_rule = for_transformers(ALONE["no rule"])["attention_mask"]
    assert no_rule.tolist() == [[1] * 7]
    assert no_rule.dtype == torch.int64


@pytest.mark.parametrize(
    ("name", "rule", "message"),
    [
        ("window", "window", "got 3: set a model's sliding_window, the same number"),
        ("ahead", "ahead", "got 1: set a model's sliding_window, 2 for window=3, ahead=2"),
        ("documents", "documents", r"got \(4, 4, 4, 1, 1, 9, ...\): pass position_ids that"),
        ("prefix", "prefix", "got 3: pass a mask of four axes, 0 and -inf"),
        ("table", "table", r"got \(\(True.*: pass a mask of four axes, 0 and -inf"),
        ("causal from the first key, fewer queries", "causal", "got 'first'"),
    ],
)
def test_rules_that_an_attention_mask_of_two_axes_cannot_express_are_refused(name, rule, message):
    expected = "be None for an attention_mask of two axes, which is the same for every query"
    if rule == "causal":
        expected = "be 'last', as in models, if num_queries=5 and num_keys=7 differ"
    with pytest.raises(ValueError, match=f"{rule} must {expected}, {message}"):
        for_transformers(ALONE[name])
