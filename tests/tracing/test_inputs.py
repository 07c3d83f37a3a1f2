"""Inputs of every kind and layout: each run gets copies; those not enlarged are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import nn

from attnbook.tracing import trace
from attnbook.tracing.run import copy_tensor, resize

SIZES = {"batch": 2, "keys": 7}


class Pair(NamedTuple):
    one: torch.Tensor
    other: list


@dataclass(frozen=True)
class Frozen:
    one: torch.Tensor


x = torch.ones(2, 7)
GIVEN = {
    "dict": (lambda: {"one": x}, lambda it: it["one"]),
    "tuple": (lambda: (x, x), lambda it: it[1]),
    "named tuple": (lambda: Pair(x, [x]), lambda it: it.other[0]),
    "dataclass": (lambda: Frozen(x), lambda it: it.one),
    "what torch returns": (lambda: x[None].max(0), lambda it: it.values),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_a_run_gets_copies_of_the_same_kind_and_the_second_larger_ones(kind):
    make, get = GIVEN[kind]
    given = make()

    def layer(it):
        if type(it) is not type(given):
            raise TypeError(type(it))
        tensor = get(it).zero_()
        return tensor * 2

    result = trace(layer, given, sizes=SIZES)

    assert "return (batch, keys)" in repr(result)
    assert result.remark == ""
    assert repr(result).endswith("Names hold with batch=3, keys=11 too.")
    assert (x == 1).all()


class Buffered(nn.Module):
    def __init__(self, one):
        super().__init__()
        self.register_buffer("one", one)


def test_a_module_in_the_inputs_keeps_its_sizes():
    def layer(it, keys):
        held = it.one
        return held * 2, keys * 2

    result = repr(trace(layer, Buffered(x), keys=torch.ones(2, 5), sizes=SIZES))
    for text in ("held * 2 (2, 7)", "keys * 2 (batch, 5)", "Names hold with batch=3 too."):
        assert text in result


class Secret:
    """Refuses to be copied."""

    def __reduce_ex__(self, _):
        raise ValueError("secret")


def test_an_input_that_cannot_be_copied_is_refused():
    layer = nn.Linear(7, 3)
    layer.held = Secret()
    for traced, inputs in ((layer, [x]), (lambda x, _: x, [x, Secret()])):
        with pytest.raises(TypeError, match="something in it or in its inputs cannot be copied"):
            trace(traced, *inputs, sizes=SIZES)


def test_an_object_shared_between_inputs_stays_shared():
    def layer(x, one, other):
        return x if one["x"] is x and other is one else x[0]

    shared = {"x": x}
    assert "return (batch, keys)" in repr(trace(layer, x, shared, other=shared, sizes=SIZES))
    assert "return (keys,)" in repr(trace(layer, x, shared, other={"x": x}, sizes=SIZES))


# Layouts


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_a_sparse_input_is_traced_with_its_numbers():
    sizes = {"batch": 2, "size": 5}
    result = trace(lambda x: x.to_dense() * 2, torch.ones(2, 5).to_sparse_csr(), sizes=sizes)
    assert "return (2, 5)" in repr(result)
    start = "Sizes stay numbers: an input that is of torch.sparse_csr and torch.float32 cannot"
    assert result.remark.startswith(start)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_input_is_traced_with_its_numbers():
    nested = torch.nested.nested_tensor([torch.ones(3, 5), torch.ones(2, 5)], layout=torch.jagged)
    result = trace(lambda x: x * 2, nested, sizes=SIZES)

    assert "return (2, ragged, 5)" in repr(result)
    assert result.remark == "Sizes stay numbers: an input that is nested cannot be repeated."


LARGE = 10**5


def test_a_large_expanded_input_stays_expanded():
    large = torch.zeros(1).expand(LARGE, LARGE)
    result = trace(lambda x: x[:2, :3] * 2, large, sizes={"batch": LARGE})

    assert result.error is None
    assert result.shapes == {"x": (LARGE, LARGE), "return": (2, 3)}
    assert copy_tensor(large).untyped_storage().nbytes() == 4


def test_an_enlarged_input_repeats_only_axes_that_are_not_expanded():
    x = torch.arange(3.0)[:, None].expand(3, 5)
    larger = resize(x, {"batch": 3, "size": 5}, {"batch": 7, "size": 11})

    assert larger.stride()[1] == 0
    assert larger.tolist() == [[float(row % 3)] * 11 for row in range(7)]


@pytest.mark.parametrize(
    "tensor",
    [torch.randn(4, 6).mT, torch.randn(4, 6)[:, :3], torch.randn(9).unfold(0, 3, 1)],
    ids=["transposed", "gaps", "overlapping"],
)
def test_a_copy_has_the_numbers_and_the_strides_but_not_the_memory(tensor):
    copied = copy_tensor(tensor)

    assert torch.equal(copied, tensor)
    assert copied.stride() == tensor.stride()
    assert copied.data_ptr() != tensor.data_ptr()
    # What these strides make impossible is impossible in a trace, too.
    for it in (tensor, tensor.contiguous()):
        error = trace(lambda x: x.view(-1), it).error
        assert ("view size is not compatible" in str(error)) != it.is_contiguous()
