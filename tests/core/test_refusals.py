"""What a layer refuses, with which message, and that a refused call changes nothing."""

import math

import pytest
import torch

from attnbook import AdditiveAttention, MLPAttention, MultiHeadAttention
from tests.cases import (
    LAYERS,
    PER_EXAMPLE,
    are_unchanged,
    copy_with_versions,
    make,
    random_qkv,
)

# Each case changes one argument of a good call.
GOOD = {
    "queries": torch.ones(2, 3, 5),
    "keys": torch.ones(2, 7, 5),
    "values": torch.ones(2, 7, 11),
    "valid_lens": PER_EXAMPLE,
}
SEE = 'see: recipes, "convert a mask"$'
SHAPES, PAD = r'.*; see: recipes, "shapes"$', r'.*; see: recipes, "pad a batch"$'
ones = torch.ones


def make_bias(number, keys):
    """A bias with this number at some keys of one query, of which the first four are visible."""
    bias = torch.zeros(3, 7)
    bias[1, keys] = number
    return bias


BAD_SHAPES = [
    ("queries", ones(3, 5), r"got \(3, 5\); .* pass queries\[None\], .*output\[0\]; see: .*\"unb"),
    ("keys", ones(7, 5), r"keys must have shape .*, got \(7, 5\); .* pass keys\[None\]"),
    ("queries", ones(1, 1, 2, 3, 5), r"queries must have shape .*, got \(1, 1, 2, 3, 5\)$"),
    ("keys", ones(1, 7, 5), rf"keys must have the batch .* queries, \(2,\), got \(1,{SHAPES}"),
    ("values", ones(1, 7, 11), rf"values must have the batch .*, \(2,\), got \(1,{SHAPES}"),
    ("keys", ones(2, 1, 7, 5), r"keys must have the batch and heads .*\(2, 1\)"),
    ("values", ones(2, 1, 7, 11), r"values must have the batch and heads .*\(2, 1"),
    ("keys", ones(2, 7, 4), rf"keys must have \w+=5 numbers .*, got 4 in shape{SHAPES}"),
    ("values", ones(2, 6, 11), rf"values must have one row .*num_keys=7, got 6{SHAPES}"),
    ("valid_lens", ones(1), r"valid_lens must have shape \(batch=2,\) .*got \(1,\)"),
    ("valid_lens", ones(2, 1), r"valid_lens must have shape .*, got \(2, 1\)"),
    ("mask", ones(7, 3).bool(), rf"mask must have shape .*, got \(7, 3\); {SEE}"),
    ("mask", ones(2, 7).bool(), rf"mask must have .*, got \(2, 7\): write mask\[:, None.*; {SEE}"),
    ("bias", ones(2, 7), r'bias must have .*, got \(2, 7\): write bias\[:, None.* "bias"$'),
    ("mask", ones(5, 3, 7).bool(), r"mask must have shape .*, got \(5, 3, 7\)"),
    ("mask", ones(1, 2, 2, 3, 7).bool(), r"mask must have shape .*, got \(1, 2, 2, 3, 7\)"),
    ("bias", ones(7, 3), r"bias must have shape .*, got \(7, 3\)"),
    ("bias", ones(5, 3, 7), r"bias must have .* got .*\(5, 3, 7\)"),
    ("bias", ones(7), r"bias must have shape .*, got \(7,\)"),
]
BAD_NUMBERS = [
    ("valid_lens", torch.tensor([4, -1]), rf"in \[0, num_keys=7\], got -1 at .*\(1,{PAD}"),
    ("valid_lens", torch.tensor([8, 2]), rf"in \[0, num_keys=7\], got 8 at .*\(0,{PAD}"),
    ("valid_lens", torch.tensor([4, 2.5]), r"be whole numbers, got 2.5 at .*\(1,\)"),
    ("valid_lens", torch.tensor([math.nan, 1]), r"in \[0, num_keys=7\], got nan"),
    ("bias", make_bias(math.nan, 3), r"bias must be finite or -inf, .* got .* nan at index .*"),
    ("bias", make_bias(math.inf, 3), r"bias must be finite or -inf, .* got .* inf at index .*"),
    ("bias", make_bias(-math.inf, slice(4)), r"bias .* got .* -inf at .* recipes, \"bias\""),
]
BAD_TYPES = [
    (
        "keys",
        ones(2, 7, 5).double(),
        r"keys must have the dtype of queries, torch.float32, got torch.float64$",
    ),
    (
        "values",
        ones(2, 7, 11).half(),
        r'values must have the dtype of keys, torch.* recipes, "half precision"$',
    ),
    ("queries", ones(2, 3, 5).long(), r"queries must hold floating.*torch.int64"),
    ("keys", ones(2, 7, 5).bool(), r"keys must hold floating.*got torch.bool"),
    ("keys", ones(2, 7, 5).to_sparse(), r"keys must be a dense .*, got torch\.sparse_coo"),
    (
        "keys",
        torch.nested.nested_tensor([ones(7, 5)] * 2, layout=torch.jagged),
        "keys must be a dense tensor, padded to one length, got a nested tensor",
    ),
    ("valid_lens", [4, 2], rf"valid_lens must be a tensor of whole .*, got list{PAD}"),
    ("valid_lens", ones(2).bool(), f"valid_lens must hold whole .*, got torch.bool: .*=; {SEE}"),
    ("causal", 1, r"causal must be True or False, got 1"),
    ("causal", ones(3, 7).bool(), r"causal .*, got Tensor of shape \(3, 7\) and dtype torch.bool"),
    ("bias", ones(3, 7).double(), r"bias must have the dtype of scores, torch.float32, got .*64"),
    ("bias", ones(3, 7).bool(), r"bias must hold floating-point .*torch.bool; booleans are a mask"),
    ("bias", [[1.0]], "bias must be a tensor, got list"),
    ("mask", [[True]], f"mask must be a tensor of booleans, got list; {SEE}"),
    ("mask", ones(3, 7), f"mask must hold booleans, .*, got torch.float32: .*bias=.*; {SEE}"),
    ("mask", ones(3, 7).int(), f"mask must hold booleans, .* got torch.int32: .*== 1.*; {SEE}"),
]
BAD_CALLS = [
    *(({name: value}, ValueError, rule) for name, value, rule in BAD_SHAPES + BAD_NUMBERS),
    *(({name: value}, TypeError, rule) for name, value, rule in BAD_TYPES),
    (
        {"queries": ones(2, 8, 5), "causal": True},
        ValueError,
        r'causal must have a key for each query, but .*=8 and num_keys=7; see: recipes, "causal"$',
    ),
]


@pytest.mark.parametrize("name", [*LAYERS, "dot without weights"])
@pytest.mark.parametrize(("change", "error", "message"), BAD_CALLS)
def test_a_refused_call_names_the_rule_and_changes_nothing(name, change, error, message):
    layer = make(name, dropout=0.5)
    layer(**GOOD)
    weights = getattr(layer, "attention_weights", None)
    arguments = GOOD | change
    tensors = [x for x in (*arguments.values(), *layer.parameters()) if is_dense(x)]
    before, random_state = copy_with_versions(tensors), torch.get_rng_state()
    with pytest.raises(error, match=message):
        layer(**arguments)
    assert are_unchanged(tensors, before)
    assert getattr(layer, "attention_weights", None) is weights
    assert torch.equal(torch.get_rng_state(), random_state)


def is_dense(x):
    """Whether `torch.equal` can compare it with itself, which NaN is not equal to."""
    if not isinstance(x, torch.Tensor) or x.layout != torch.strided:
        return False
    return not x.isnan().any()


@pytest.mark.parametrize("name", ["additive", "multi-head"])
def test_another_dtype_than_that_of_the_weights_is_refused(name):
    rule = r"queries must have the dtype of the layer's weights, torch\.float32, got torch\.float64"
    with pytest.raises(TypeError, match=rule):
        make(name)(*random_qkv(1))


def test_additive_attention_refuses_vectors_of_another_size():
    layer = AdditiveAttention(key_size=3, query_size=2, num_hiddens=8)
    with pytest.raises(ValueError, match="queries must have query_size=2 numbers in the last axis"):
        layer(ones(1, 5, 3), ones(1, 7, 3), ones(1, 7, 11))
    with pytest.raises(ValueError, match="keys must have key_size=3 numbers in the last axis"):
        layer(ones(1, 5, 2), ones(1, 7, 2), ones(1, 7, 11))


@pytest.mark.parametrize("name", ["dot", "additive", "dot without weights"])
def test_a_mask_of_three_axes_that_may_be_examples_or_heads_is_refused(name):
    inputs = random_qkv(3, (2,), torch.float32)
    rule = (
        r"mask must have an axis of heads .* got three axes in \(2, 3, 7\): write mask\[:, None\]"
    )
    with pytest.raises(ValueError, match=rule):
        make(name)(*inputs, mask=ones(2, 3, 7).bool())


@pytest.mark.parametrize("name", [*LAYERS, "a subclass"])
def test_a_dropout_outside_0_to_1_is_refused_and_one_within_is_stored(name):
    for wrong in (-0.1, 1.0001, math.nan):
        with pytest.raises(ValueError, match=rf"dropout must lie in \[0, 1\], got {wrong}"):
            make(name, dropout=wrong)
    for right in (0, 1, 0.5):
        layer = make(name, dropout=right)
        assert getattr(layer, "attention", layer).dropout.p == right


SIZES = {
    AdditiveAttention: ["key_size", "query_size", "num_hiddens"],
    MLPAttention: ["key_size", "query_size", "units"],
    MultiHeadAttention: ["key_size", "query_size", "value_size", "num_hiddens", "num_heads"],
}


@pytest.mark.parametrize(
    ("layer", "name"), [(layer, name) for layer, names in SIZES.items() for name in names]
)
class TestSizes:
    def test_a_size_below_1_is_refused(self, layer, name):
        with pytest.raises(ValueError, match=rf"{name} must be at least 1, got 0"):
            layer(**dict.fromkeys(SIZES[layer], 5) | {name: 0})

    def test_a_missing_size_is_refused(self, layer, name):
        del (sizes := dict.fromkeys(SIZES[layer], 5))[name]
        order = ", ".join(SIZES[layer])
        with pytest.raises(TypeError, match=rf"{layer.__name__} takes \({order}, dropout"):
            layer(**sizes)


@pytest.mark.parametrize("arguments", [(8, 0.1), (8,), ()])
def test_the_argument_order_of_later_d2l_is_refused_with_our_order(arguments):
    rule = r"\(key_size, query_size, num_hiddens, dropout\); the order \(num_hiddens, dropout\)"
    with pytest.raises(TypeError, match=rule):
        AdditiveAttention(*arguments)


@pytest.mark.parametrize(
    ("sizes", "others", "rule"),
    [
        ((8, 2), {}, r"takes \(key_size, .* takes \(embed_dim, num_heads\)"),
        ((), {"embed_dim": 8, "num_heads": 2}, "no embed_dim, .*: pass key_size, .* num_hiddens"),
        ((8, 8, 8, 8, 2), {"kdim": 8}, "no kdim, .*: pass key_size"),
        ((8, 8, 8, 8, 2), {"vdim": 8}, "no vdim, .*: pass value_size"),
        ((8, 8, 8, 8, 2), {"batch_first": True}, "no batch_first, .*: leave it out"),
    ],
)
def test_arguments_of_nn_multiheadattention_are_refused_with_ours(sizes, others, rule):
    rule = f'^MultiHeadAttention .*{rule}.*; see: recipes, "replace nn.MultiheadAttention"$'
    with pytest.raises(TypeError, match=rule):
        MultiHeadAttention(*sizes, **others)
