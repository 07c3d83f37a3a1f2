"""The operation of compiled layers where torch finds no C++ compiler to make kernels with."""

import os
import subprocess
import sys

import pytest
import torch

from attnbook import length_mask
from attnbook.fused import kernels
from tests.cases import PER_EXAMPLE

COMPILED_WITHOUT_A_COMPILER = """
import torch
from attnbook import AdditiveAttention
from attnbook.fused import blocks

calls, results = [], []
for name in ("score_in_blocks", "score_gradients"):
    made = getattr(blocks, name)
    setattr(blocks, name, lambda *given, made=made: calls.append(made.__name__) or made(*given))
layer = AdditiveAttention(key_size=5, query_size=5, num_hiddens=128)
queries, values = torch.randn(2, 61, 5), torch.randn(2, 61, 3)
for attend in (layer, torch.compile(layer, backend="eager", fullgraph=True)):
    leaf = queries.clone().requires_grad_()
    calls.clear()
    output = attend(leaf, queries, values, torch.tensor([61, 7]))
    output.square().sum().backward()
    results.append([output, leaf.grad])
assert all(torch.allclose(*pair, atol=1e-5) for pair in zip(*results))
print(*calls)
"""


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["PATH", "CXX"])
def test_a_backend_that_compiles_nothing_needs_no_compiler(hidden, tmp_path):
    there = {name: text for name, text in os.environ.items() if name != "CXX"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_WITHOUT_A_COMPILER],
        env=there | {hidden: str(tmp_path), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["score_in_blocks", "score_gradients"]


@pytest.mark.slow
@pytest.mark.parametrize("mask", [None, length_mask(PER_EXAMPLE, (2, 3, 7))], ids=["all", "some"])
def test_the_operation_without_kernels_keeps_torchs_rules(mask, rng, monkeypatch):
    monkeypatch.setattr(kernels, "_can_be_made", lambda: False)
    sizes = (2, 3, 5), (2, 7, 5), (5,)
    inputs = [torch.randn(*size, generator=rng).requires_grad_() for size in sizes]
    torch.library.opcheck(torch.ops.attnbook.additive_score.default, (*inputs, mask))


def test_a_compiler_that_is_there_is_found(monkeypatch):
    monkeypatch.setattr("torch._inductor.cpp_builder.get_cpp_compiler", lambda: "g++")
    assert kernels._can_be_made.__wrapped__()
