"""Inputs of every layout: a run gets copies, and what cannot grow keeps its numbers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnbook.tracing import trace
from attnbook.tracing.copying import duplicate, own_copy
from attnbook.tracing.naming import resized

SIZES = {"batch": 2, "size": 5}


def first_rows(x):
    return x[:2, :3] * 2


def test_a_layer_without_numbers_is_seen():
    layer = nn.Linear(5, 3, device="meta")
    x_ray = trace(layer, torch.ones(2, 5, device="meta"), sizes=SIZES)

    assert "return (batch, 3)" in repr(x_ray)


def test_a_sparse_buffer_that_a_run_changes_is_as_before():
    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.eye(2).to_sparse())

        def forward(self, x):
            self.seen.add_(torch.eye(2).to_sparse())
            return x + self.seen.to_dense()

    layer = Sparse()
    assert trace(layer, torch.ones(2, 2)).error is None
    assert torch.equal(layer.seen.to_dense(), torch.eye(2))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize(
    ("method", "shape", "remark"),
    [
        ("to_sparse_coo", "(batch, size)", ""),
        (
            "to_sparse_csr",
            "(2, 5)",
            "Sizes stay numbers: an input that is of torch.sparse_csr and torch.float32 "
            "cannot be repeated.",
        ),
    ],
)
def test_a_sparse_input_is_seen_and_one_that_cannot_grow_keeps_its_numbers(method, shape, remark):
    def layer(x, keys):
        return x.to_dense() * 2, keys + 1

    inputs = getattr(torch.ones(2, 5), method)(), torch.ones(7)
    x_ray = trace(layer, *inputs, sizes=SIZES)

    assert x_ray.remark == remark
    assert f"x.to_dense() * 2 {shape}" in repr(x_ray)
    assert trace(layer, *inputs).error is None
    assert "keys + 1 (keys,)" in repr(trace(layer, *inputs, sizes={"keys": 7}))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_input_is_seen_with_its_numbers(layout):
    parts = [torch.ones(3, 5), torch.ones(2, 5)]
    nested = torch.nested.nested_tensor(parts, layout=layout)
    x_ray = trace(lambda x: x * 2, nested, sizes=SIZES)

    assert "return (2, ragged, 5)" in repr(x_ray)
    assert x_ray.remark == "Sizes stay numbers: an input that is nested cannot be repeated."


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_quantized_input_is_seen():
    quantized = torch.quantize_per_tensor(torch.ones(2, 5), 0.1, 0, torch.quint8)
    x_ray = trace(lambda x: x.dequantize(), quantized, sizes=SIZES)

    assert x_ray.error is None
    assert x_ray.shapes["return"] == (2, 5)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_input_that_is_too_large_to_copy_stays_expanded(requires_grad):
    large = torch.zeros(1, requires_grad=requires_grad).expand(10**5, 10**5)
    x_ray = trace(first_rows, large, sizes={"batch": 10**5})

    assert x_ray.error is None
    assert x_ray.shapes == {"x": (10**5, 10**5), "return": (2, 3)}
    assert own_copy(large).untyped_storage().nbytes() == 4


def test_a_buffer_that_is_too_large_to_copy_stays_expanded():
    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("wide", torch.zeros(1).expand(10**5, 10**5))

        def forward(self, x):
            self.wide[0, :1].add_(x)
            return x + self.wide[0, 0]

    layer = Wide()
    assert trace(layer, torch.ones(1)).error is None
    assert layer.wide[0, 0] == 0


def test_a_larger_input_repeats_only_what_is_not_expanded():
    x = torch.arange(3.0)[:, None].expand(3, 5)
    larger = resized(x, {"batch": 3, "size": 5}, {"batch": 7, "size": 11})

    assert larger.stride()[1] == 0
    assert larger.tolist() == [[float(row % 3)] * 11 for row in range(7)]


@pytest.mark.parametrize(
    "tensor",
    [torch.randn(4, 6).mT, torch.randn(4, 6)[:, ::2], torch.randn(9).unfold(0, 3, 1)],
    ids=["transposed", "gaps", "overlapping"],
)
def test_a_copy_has_the_numbers_and_the_strides_but_not_the_memory(tensor):
    copied = duplicate(tensor)

    assert torch.equal(copied, tensor)
    assert copied.stride() == tensor.stride()
    assert copied.data_ptr() != tensor.data_ptr()
