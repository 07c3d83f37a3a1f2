"""Layers compiled by torch's default compiler, and without a C++ compiler."""

import shutil

import pytest
import torch

from attnbook import length_mask
from attnbook.fused import choose, kernels
from attnbook.fused.additive import fast_additive_score
from tests.cases import MASKS, PER_EXAMPLE, all_close, gradients, make
from tests.core.random_calls import THRESHOLDS
from tests.fused.test_fused import projections


@pytest.mark.parametrize("wrong", ["no-such-program", "/"])
def test_a_missing_compiler_is_detected(wrong):
    with torch._inductor.config.patch({"cpp.cxx": (wrong,)}):
        assert not kernels.has_cpp_compiler.__wrapped__()


@pytest.mark.weekly  # a compiler takes half a minute for each; other tests compile without one
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="the default compiler needs g++")
@pytest.mark.parametrize(
    ("name", "mask", "smallest"),
    [
        ("additive", "per example", 0),
        ("multi-head", "causal, per example", 2**60),
        ("additive", "causal", 2**60),
        ("additive without weights", "a mask", 0),
        ("dot without weights", "per query", 0),
    ],
)
def test_a_layer_compiled_by_default_gives_the_same_outputs_and_gradients(
    name, mask, smallest, qkv, monkeypatch
):
    for threshold in THRESHOLDS:
        monkeypatch.setattr(choose, threshold, smallest)
    torch.compiler.reset()
    layer = make(name)
    expected = gradients(layer, qkv, **MASKS[mask])
    compiled = torch.compile(layer, fullgraph=True)
    assert all_close(gradients(compiled, qkv, **MASKS[mask]), expected, 1e-5)
    torch.compiler.reset()


@pytest.mark.slow
# The first by tanh.
@pytest.mark.parametrize(
    "scale", [1e-3, *(pytest.param(it, marks=pytest.mark.weekly) for it in (50.0, 1.0))]
)
def test_kernels_give_the_same_scores_and_gradients_as_blocks(scale):
    compiled = torch.compile(fast_additive_score, backend="aot_eager")
    for sizes, lengths in (((2, 3, 7, 5), PER_EXAMPLE), ((3, 4, 6, 2), torch.tensor([6, 0, 2]))):
        queries, keys, weight = projections(8, sizes, scale, torch.float64)
        keys = keys.transpose(1, 2).contiguous().transpose(1, 2)
        visible = length_mask(lengths, sizes[:3])
        found = []
        for score in (fast_additive_score, compiled):
            leaves = [tensor.clone().requires_grad_() for tensor in (queries, keys, weight)]
            scores = torch.where(visible, score(*leaves, visible), 0.0)
            scores.square().sum().backward()
            found.append([scores.detach(), *(leaf.grad for leaf in leaves)])
        for left, right in zip(*found, strict=True):
            assert torch.allclose(left, right, rtol=1e-9, atol=1e-12)


@pytest.mark.weekly
@pytest.mark.slow
def test_a_compiled_layer_learns_from_projected_keys_of_another_layout(qkv, monkeypatch):
    for threshold in THRESHOLDS:
        monkeypatch.setattr(choose, threshold, 0)
    layer, found = make("additive"), []
    for attend in (layer.attend, torch.compile(layer.attend, backend="aot_eager")):
        keys = torch.linspace(-2, 2, 2 * 13 * 7).reshape(2, 13, 7).transpose(1, 2).requires_grad_()
        attend(qkv[0], keys, qkv[2], PER_EXAMPLE).sum().backward()
        found.append(keys.grad)
    assert torch.allclose(*found, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has_compiler", "masked"),
    [
        (False, True),
        *(pytest.param(True, it, marks=pytest.mark.weekly) for it in (True, False)),
    ],
)
def test_the_operation_follows_torchs_rules(has_compiler, masked, rng, monkeypatch):
    if not has_compiler:
        monkeypatch.setattr(kernels, "has_cpp_compiler", lambda: False)
    mask = length_mask(PER_EXAMPLE, (2, 3, 7)) if masked else None
    sizes = (2, 3, 5), (2, 7, 5), (5,)
    inputs = [torch.randn(*size, generator=rng).requires_grad_() for size in sizes]
    torch.library.opcheck(torch.ops.attnbook.additive_score.default, (*inputs, mask))


def test_an_installed_compiler_is_detected(monkeypatch):
    monkeypatch.setattr("torch._inductor.cpp_builder.get_cpp_compiler", lambda: "g++")
    assert kernels.has_cpp_compiler.__wrapped__()
