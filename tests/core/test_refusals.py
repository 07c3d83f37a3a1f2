"""What a layer refuses, what it says, and that a refused call changes nothing."""

import math

import pytest
import torch

from attnbook import AdditiveAttention, DotProductAttention, MLPAttention
from tests.cases import (
    PER_EXAMPLE,
    FirstPartAttention,
    every_layer,
    make,
    random_qkv,
    snapshot,
    unchanged,
)

# Each case changes one good call: queries (2, 3, 5), keys (2, 7, 5), values (2, 7, 11).
ones = torch.ones


bad_calls = pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"queries": ones(3, 5)}, ValueError, r"queries must have shape .*, got \(3, 5\)"),
        ({"keys": ones(7, 5)}, ValueError, r"keys must have shape .*, got \(7, 5\)"),
        ({"values": ones(7, 11)}, ValueError, r"values must have shape .*, got \(7, 11\)"),
        (
            {"queries": ones(1, 1, 2, 3, 5)},
            ValueError,
            r"queries must have shape .*, got \(1, 1, 2",
        ),
        ({"keys": ones(1, 1, 2, 7, 5)}, ValueError, r"keys must have shape .*, got \(1, 1, 2"),
        ({"values": ones(1, 1, 2, 7, 11)}, ValueError, r"values must have shape .*, got \(1, 1, 2"),
        (
            {"keys": ones(1, 7, 5)},
            ValueError,
            r"keys must have the batch .* queries, \(2,\), got \(1,",
        ),
        ({"queries": ones(1, 3, 5)}, ValueError, r"keys must have the batch .*, \(1,\), got \(2,"),
        (
            {"values": ones(1, 7, 11)},
            ValueError,
            r"values must have the batch .*, \(2,\), got \(1,",
        ),
        ({"keys": ones(2, 1, 7, 5)}, ValueError, r"keys must have the batch and heads .*\(2, 1\)"),
        (
            {"values": ones(2, 1, 7, 11)},
            ValueError,
            r"values must have the batch and heads .*\(2, 1",
        ),
        ({"keys": ones(2, 7, 4)}, ValueError, r"keys must have \w+=5 numbers .*, got 4 in shape"),
        ({"values": ones(2, 6, 11)}, ValueError, r"values must have one row .*num_keys=7, got 6"),
        ({"values": ones(2, 1, 11)}, ValueError, r"values must have one row .*num_keys=7, got 1"),
        (
            {"keys": ones(2, 7, 5).double()},
            TypeError,
            r"keys must have the dtype of queries, torch",
        ),
        (
            {"values": ones(2, 7, 11).half()},
            TypeError,
            r"values must have the dtype of keys, torch",
        ),
        ({"queries": ones(2, 3, 5).long()}, TypeError, r"queries must hold floating.*torch.int64"),
        ({"keys": ones(2, 7, 5).bool()}, TypeError, r"keys must hold floating.*got torch.bool"),
        ({"values": ones(2, 7, 11).cfloat()}, TypeError, r"values must hold floating.*complex64"),
        ({"queries": [[[1.0] * 5]]}, TypeError, r"queries must be a tensor, got list"),
        ({"keys": None}, TypeError, r"keys must be a tensor, got NoneType"),
        ({"values": 1.0}, TypeError, r"values must be a tensor, got float"),
        ({"valid_lens": [4, 2]}, TypeError, r"valid_lens must be a tensor of whole .*, got list"),
        ({"valid_lens": 4}, TypeError, r"valid_lens must be a tensor of whole numbers, got int"),
        (
            {"valid_lens": ones(2).bool()},
            TypeError,
            r"valid_lens must hold whole .*, got torch.bool",
        ),
        ({"valid_lens": ones(2).cfloat()}, TypeError, r"valid_lens must hold whole .*complex64"),
        ({"valid_lens": torch.tensor(4)}, ValueError, r"valid_lens must have shape .*, got \(\)"),
        (
            {"valid_lens": ones(1)},
            ValueError,
            r"valid_lens must have shape \(batch=2,\) .*got \(1,\)",
        ),
        ({"valid_lens": ones(3)}, ValueError, r"valid_lens must have shape .*, got \(3,\)"),
        ({"valid_lens": ones(3, 2)}, ValueError, r"valid_lens must have shape .*, got \(3, 2\)"),
        ({"valid_lens": ones(2, 1)}, ValueError, r"valid_lens must have shape .*, got \(2, 1\)"),
        (
            {"valid_lens": torch.tensor([4, -1])},
            ValueError,
            r"in \[0, num_keys=7\], got -1 at .*\(1,",
        ),
        (
            {"valid_lens": torch.tensor([8, 2])},
            ValueError,
            r"in \[0, num_keys=7\], got 8 at .*\(0,\)",
        ),
        (
            {"valid_lens": torch.tensor([4, 2.5])},
            ValueError,
            r"be whole numbers, got 2.5 at .*\(1,\)",
        ),
        ({"valid_lens": torch.tensor([math.nan, 1])}, ValueError, r"in \[0, num_keys=7\], got nan"),
        ({"valid_lens": torch.tensor([1, math.inf])}, ValueError, r"in \[0, num_keys=7\], got inf"),
        ({"causal": 1}, TypeError, r"causal must be True or False, got 1"),
        ({"causal": None}, TypeError, r"causal must be True or False, got None"),
        ({"causal": ones(3, 7).bool()}, TypeError, r"causal must be True or False, got tensor"),
        (
            {"queries": ones(2, 8, 5), "causal": True},
            ValueError,
            r"causal must have a key for each query, but got num_queries=8 and num_keys=7",
        ),
    ],
)


@every_layer
@bad_calls
def test_a_refused_call_says_why_and_changes_nothing(name, change, error, message, qkv):
    layer = make(name, dropout=0.5)
    arguments = dict(zip(("queries", "keys", "values"), qkv, strict=True))
    layer(**arguments, valid_lens=PER_EXAMPLE)
    weights = layer.attention_weights
    arguments = {**arguments, "valid_lens": PER_EXAMPLE, **change}
    tensors = [x for x in arguments.values() if isinstance(x, torch.Tensor)]
    tensors += [weights, *layer.parameters()]
    before, random_state = snapshot(tensors_without_nan(tensors)), torch.get_rng_state()
    with pytest.raises(error, match=message):
        layer(**arguments)
    assert unchanged(tensors_without_nan(tensors), before)
    assert layer.attention_weights is weights
    assert torch.equal(torch.get_rng_state(), random_state)


def tensors_without_nan(tensors):
    # NaN differs from itself; its bits do not.
    return [x.view(torch.int32) if x.isnan().any() else x for x in tensors]


def test_additive_attention_refuses_vectors_of_another_size():
    layer = AdditiveAttention(key_size=3, query_size=2, num_hiddens=8)
    with pytest.raises(ValueError, match="queries must have query_size=2 numbers in the last axis"):
        layer(ones(1, 5, 3), ones(1, 7, 3), ones(1, 7, 11))
    with pytest.raises(ValueError, match="keys must have key_size=3 numbers in the last axis"):
        layer(ones(1, 5, 2), ones(1, 7, 2), ones(1, 7, 11))


def test_additive_attention_refuses_another_dtype_than_its_weights():
    layer = make("additive")
    rule = r"queries must have the dtype of the layer's weights, torch\.float32, got torch\.float64"
    with pytest.raises(TypeError, match=rule):
        layer(*random_qkv(1))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (ones(2, 7, 5).numpy(), "keys must be a tensor, got ndarray"),
        (ones(2, 7, 5).to_sparse(), r"keys must be a dense tensor, .*, got torch\.sparse_coo"),
        (
            torch.nested.nested_tensor([ones(7, 5)] * 2, layout=torch.jagged),
            "keys must be a dense tensor, padded to one length, got a nested tensor",
        ),
    ],
    ids=["numpy", "sparse", "nested"],
)
@every_layer
def test_what_is_no_dense_tensor_is_refused(name, keys, message, qkv):
    with pytest.raises(TypeError, match=message):
        make(name)(qkv[0], keys, qkv[2])


def test_scores_of_another_dtype_are_refused(qkv):
    class Wider(DotProductAttention):
        def score(self, queries, keys):
            return super().score(queries, keys).double()

    with pytest.raises(TypeError, match=r"scores must have the dtype of queries, torch.float32"):
        Wider()(*qkv)


make_with_dropout = pytest.mark.parametrize(
    "create",
    [DotProductAttention, lambda dropout: AdditiveAttention(2, 3, 5, dropout), FirstPartAttention],
    ids=["dot", "additive", "own"],
)


@make_with_dropout
@pytest.mark.parametrize("wrong", [-0.1, 1.0001, math.nan, math.inf, -1, 2])
def test_a_dropout_outside_0_to_1_is_refused(create, wrong):
    with pytest.raises(ValueError, match=rf"dropout must lie in \[0, 1\], got {wrong}"):
        create(wrong)


@make_with_dropout
@pytest.mark.parametrize("wrong", [True, False, "0.5", None, [0.5], 0.5j])
def test_a_dropout_that_is_no_number_is_refused(create, wrong):
    with pytest.raises(TypeError, match=r"dropout must be a number in \[0, 1\], got"):
        create(wrong)


@make_with_dropout
@pytest.mark.parametrize("right", [0, 1, 0.0, 1.0, 0.5])
def test_a_dropout_from_0_to_1_is_taken(create, right):
    assert create(right).dropout.p == right


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (AdditiveAttention, ["key_size", "query_size", "num_hiddens"]),
        (MLPAttention, ["key_size", "query_size", "units"]),
    ],
)
@pytest.mark.parametrize("position", [0, 1, 2])
class TestSizes:
    @pytest.mark.parametrize("wrong", [0, -1])
    def test_a_size_below_1_is_refused(self, layer, names, position, wrong):
        with pytest.raises(ValueError, match=rf"{names[position]} must be at least 1, got {wrong}"):
            layer(**{**dict.fromkeys(names, 5), names[position]: wrong})

    @pytest.mark.parametrize("wrong", [2.0, 0.5, True, "5", [5], torch.tensor(2.0)])
    def test_a_size_that_is_no_whole_number_is_refused(self, layer, names, position, wrong):
        with pytest.raises(TypeError, match=rf"{names[position]} must be a whole number, got"):
            layer(**{**dict.fromkeys(names, 5), names[position]: wrong})

    def test_a_missing_size_is_refused(self, layer, names, position):
        del (sizes := dict.fromkeys(names, 5))[names[position]]
        order = ", ".join(names)
        with pytest.raises(TypeError, match=rf"{layer.__name__} takes \({order}, dropout\)"):
            layer(**sizes)

    def test_a_size_of_1_is_taken(self, layer, names, position):
        layer(**{**dict.fromkeys(names, 5), names[position]: 1})


@pytest.mark.parametrize("arguments", [(8, 0.1), (8,), ()])
def test_the_positional_order_of_later_d2l_is_refused_by_naming_ours(arguments):
    rule = (
        r"takes \(key_size, query_size, num_hiddens, dropout\); the order \(num_hiddens, dropout\)"
    )
    with pytest.raises(TypeError, match=rule):
        AdditiveAttention(*arguments)


@pytest.mark.parametrize("arguments", [{"num_hiddens": 8}, {"num_hiddens": 8, "dropout": 0.1}])
def test_the_keywords_of_later_d2l_are_refused_by_naming_ours(arguments):
    with pytest.raises(TypeError, match=r"takes \(key_size, query_size, num_hiddens, dropout\)"):
        AdditiveAttention(**arguments)
