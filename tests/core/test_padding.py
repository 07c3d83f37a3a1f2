"""Padding reaches neither an output nor a gradient. More tests are in `test_random_calls.py`."""

import math

import pytest
import torch

from attnbook import (
    AdditiveAttention,
    Attention,
    DotProductAttention,
    MultiHeadAttention,
    kernel_pool,
)
from tests.cases import (
    PER_EXAMPLE,
    SOME_MASK,
    every_layer,
    every_layer_with_or_without_weights,
    gradients,
    make,
    random_qkv,
)

pytestmark = pytest.mark.usefixtures("every_path")

LENGTHS = [PER_EXAMPLE, torch.tensor([[0, 1, 2], [3, 0, 5]])]


def fill_padding(tensor, valid_lens, junk):
    """Copy a tensor with junk at all positions that no query sees."""
    furthest = valid_lens if valid_lens.dim() == 1 else valid_lens.amax(-1)
    padding = torch.arange(7) >= furthest[:, None]
    return torch.where(padding[..., None], junk, tensor)


@pytest.mark.few(10)
@every_layer_with_or_without_weights
@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf, "the largest, of mixed signs"])
@pytest.mark.parametrize("valid_lens", LENGTHS)
@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("scale", [1, 3])
def test_padding_changes_no_bit(name, junk, valid_lens, causal, scale, dtype):
    layer = make(name, dtype=dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(scale)  # larger weights make the projection of the largest overflow
    queries, *others = (tensor.to(dtype) for tensor in random_qkv(5))
    found = []
    for hidden in (0.0, junk):
        if isinstance(hidden, str):
            fillings = [torch.finfo(dtype).max * torch.randn_like(x).sign() for x in others]
        else:
            fillings = [torch.full_like(x, hidden) for x in others]
        pairs = zip(others, fillings, strict=True)
        padded = [fill_padding(x, valid_lens, filling) for x, filling in pairs]
        found.append(gradients(layer, (queries, *padded), valid_lens, causal=causal))
        with torch.no_grad():
            found[-1].append(layer(queries, *padded, valid_lens, causal=causal))
    for left, right in zip(*found, strict=True):
        assert left.isfinite().all()
        assert torch.equal(left, right)


@pytest.mark.slow
@pytest.mark.few(3)
@every_layer
def test_padding_changes_nothing_in_a_compiled_layer_or_an_exported_program(name):
    layer = make(name).eval()
    queries, keys, values = random_qkv(6, dtype=torch.float32)
    valid_lens = torch.tensor([4, 2])
    junk = [fill_padding(tensor, valid_lens, math.nan) for tensor in (keys, values)]
    expected = layer(queries, keys, values, valid_lens)
    compiled = torch.compile(layer, backend="aot_eager")
    exported = torch.export.export(layer, (queries, keys, values, valid_lens)).module()
    for program in (compiled, exported):
        assert torch.allclose(program(queries, *junk, valid_lens), expected, atol=1e-6)
    torch.compiler.reset()


@pytest.mark.few(4)
@pytest.mark.parametrize("width", [0.1, 1.0])
@pytest.mark.parametrize("junk", [math.nan, "the largest"])
def test_padding_changes_nothing_in_kernel_pooling(width, junk, dtype):
    # A width below 1 makes the distance to the largest number overflow.
    queries, keys, values = (tensor.to(dtype) for tensor in random_qkv(7))
    valid_lens = torch.tensor([4, 0])
    found = []
    for hidden in (0.0, torch.finfo(dtype).max if isinstance(junk, str) else junk):
        leaves = [queries, *(fill_padding(x, valid_lens, hidden) for x in (keys, values))]
        leaves = [x.clone().requires_grad_() for x in (*leaves, torch.tensor(width, dtype=dtype))]
        output = kernel_pool(*leaves, valid_lens)
        output.square().sum().backward()
        found.append([output.detach(), *(leaf.grad for leaf in leaves)])
    for left, right in zip(*found, strict=True):
        assert right.isfinite().all()
        assert torch.equal(left, right)


@pytest.mark.parametrize("junk", [math.nan, math.inf, 1e38])
@pytest.mark.parametrize("bias", [False, True])
def test_padding_changes_no_gradient_of_projected_keys(junk, bias):
    layer = make("multi-head with bias" if bias else "multi-head")
    queries, keys, values = random_qkv(8, dtype=torch.float32)
    real = torch.tensor([[1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 1, 1, 0]]).bool()
    padded = [torch.where(real[..., None], it, junk) for it in (keys, values)]

    def attend(queries, keys, values):
        return layer.attend(queries, layer.project_keys(keys, values, real))

    attend.parameters = layer.parameters
    found = gradients(attend, (queries, *padded))
    # Without the padding: each text on its own, with its real keys only.
    layer.double()
    single = [
        gradients(layer, (it[None].double() for it in (q, k[own], v[own])))
        for q, k, v, own in zip(queries, keys, values, real, strict=True)
    ]
    torch.testing.assert_close(found[0], torch.cat([one[0] for one in single]).float())
    for mine, *theirs in zip(found[4:], *(one[4:] for one in single), strict=True):
        torch.testing.assert_close(mine, sum(theirs).float())
    for mine, index in zip(found[2:4], (2, 3), strict=True):
        torch.testing.assert_close(mine[real], torch.cat([one[index][0] for one in single]).float())
        assert not mine[~real].any()


def test_queries_of_a_text_that_is_all_padding_reach_no_gradient_by_attend():
    layer, (queries, keys, values) = make("multi-head"), random_qkv(8, dtype=torch.float32)
    real = torch.tensor([True, False])[:, None].expand(2, 7)
    wrong = torch.where(real[:, :1, None], queries, math.nan)
    found = [
        torch.autograd.grad(
            layer.attend(it, layer.project_keys(keys, values, real)).square().sum(),
            [*layer.parameters()],
        )
        for it in (queries, wrong)
    ]
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("largest", [6e4, 1e8])
def test_large_padding_never_makes_a_product_overflow(largest):
    # In float16 6e4 overflows in a product; in float32 1e8 does, times a weight of 1e31.
    dtype = torch.float16 if largest < 1e5 else torch.float32
    for seed in range(50):
        torch.manual_seed(seed)
        layer = AdditiveAttention(64, 64, 16).to(dtype)
        queries, keys = torch.randn(2, 3, 64).to(dtype), torch.randn(2, 4, 64).to(dtype)
        sign = torch.randn(2, 4, 64).sign()
        queries[1], keys[1] = largest * sign[1, :3], -largest * sign[1]
        if dtype == torch.float32:
            layer.W_k.weight.data *= 1e31
        output = layer(queries, keys, keys.detach(), torch.tensor([4, 0]))
        output.sum().backward()
        assert all(it.grad.isfinite().all() for it in layer.parameters())
        assert not output[1].any()


def test_a_scale_may_make_a_padded_query_infinite():
    queries, keys = torch.ones(2, 2, 4).half(), torch.randn(2, 3, 4).half().requires_grad_()
    queries[1] = 6e4
    DotProductAttention(scale=2.0)(queries, keys, keys, torch.tensor([3, 0])).sum().backward()
    assert keys.grad.isfinite().all()


# Scores of subclasses


def directions(x):
    return x / x.norm(dim=-1, keepdim=True)


class Cosine(Attention):
    def score(self, queries, keys):
        return directions(queries) @ directions(keys).transpose(-2, -1)


class Exponential(Attention):
    def score(self, queries, keys):
        return queries @ keys.exp().transpose(-2, -1)


class ProjectedCosine(AdditiveAttention):
    def __init__(self):
        super().__init__(5, 5, 6)

    def score(self, queries, keys):
        return Cosine.score(self, self.W_q(queries), self.W_k(keys))


class CosineHeads(MultiHeadAttention):
    def __init__(self):
        super().__init__(5, 5, 11, 4, 2)
        self.attention = Cosine()


@pytest.mark.few(10)
@pytest.mark.parametrize("junk", [None, 0.0, 3e38, math.inf, math.nan])
@pytest.mark.parametrize("kind", [Cosine, Exponential, ProjectedCosine, CosineHeads])
def test_padding_does_not_reach_the_gradients_of_a_subclass_score(kind, junk):
    torch.manual_seed(0)
    queries, keys, values = random_qkv(1, dtype=torch.float32)
    lens = torch.tensor([4, 2])
    if junk is not None:
        keys = fill_padding(keys, lens, junk)
    _, *found = gradients(kind(), (queries, keys, values), lens)
    assert all(gradient.isfinite().all() for gradient in found)
    assert torch.equal(found[1], fill_padding(found[1], lens, 0.0))


class Inside(Attention):
    """A score that takes only keys inside the unit ball; a vector of ones is outside."""

    def score(self, queries, keys):
        return queries @ torch.atanh(keys).transpose(-2, -1)


def test_a_key_that_no_query_sees_is_replaced_by_one_that_some_query_sees():
    queries, keys, values = torch.rand(2, 3, 4), torch.rand(2, 7, 4) / 2, torch.rand(2, 7, 4)
    keys = torch.where(SOME_MASK.any(1)[..., None], keys, 2.0)
    _, *found = gradients(Inside(), (queries, keys, values), mask=SOME_MASK)
    assert all(gradient.isfinite().all() for gradient in found)


@pytest.mark.few(6)
@pytest.mark.parametrize("junk", [3e38, math.inf, math.nan])
@every_layer_with_or_without_weights
def test_a_query_that_sees_nothing_changes_no_gradient(name, junk):
    queries, keys, values = random_qkv(1, dtype=torch.float32)
    queries[0, 2] = junk
    lens = torch.tensor([[3, 2, 0], [1, 2, 3]])
    output, *found = gradients(make(name), (queries, keys, values), lens)
    assert not output[0, 2].any()
    assert all(gradient.isfinite().all() for gradient in found)
