"""What is never seen never matters: scores of one's own, autocast, queries that see nothing."""

import math

import pytest
import torch
from torch import nn

from attnbook import AdditiveAttention, Attention, DotProductAttention, MultiHeadAttention

LENS = torch.tensor([3, 2])
LARGEST = torch.finfo(torch.float32).max


def directions(x):
    return x / x.norm(dim=-1, keepdim=True)


class Cosine(Attention):
    def score(self, queries, keys):
        return directions(queries) @ directions(keys).transpose(-2, -1)


class Exponential(Attention):
    def score(self, queries, keys):
        return queries @ keys.exp().transpose(-2, -1)


class Bilinear(Attention):
    def __init__(self):
        super().__init__()
        self.W = nn.Linear(4, 4, bias=False)
        nn.init.ones_(self.W.weight)

    def score(self, queries, keys):
        return queries @ self.W(keys).transpose(-2, -1)


class ProjectedCosine(AdditiveAttention):
    def score(self, queries, keys):
        return Cosine.score(self, self.W_q(queries), self.W_k(keys))


def cosine_heads():
    layer = MultiHeadAttention(4, 4, 4, 4, 2)
    layer.attention = Cosine()
    return layer


def inputs(junk=None):
    torch.manual_seed(1)
    queries, keys, values = (torch.randn(2, n, 4) for n in (3, 5, 5))
    if junk is not None:
        keys[:, 3:] = junk
    return [x.requires_grad_() for x in (queries, keys, values)]


def not_finite(layer, *leaves):
    told = {"queries": leaves[0], "keys": leaves[1]} | dict(layer.named_parameters())
    return [name for name, x in told.items() if x.grad is not None and not x.grad.isfinite().all()]


@pytest.mark.parametrize("junk", [None, 0.0, 100.0, 3e38, math.inf, math.nan])
@pytest.mark.parametrize("make", [Cosine, Exponential, Bilinear])
def test_no_padding_reaches_the_gradients_of_a_score_of_ones_own(make, junk):
    layer, (queries, keys, values) = make(), inputs(junk)
    layer(queries, keys, values, LENS).sum().backward()
    assert not_finite(layer, queries, keys) == []
    assert not keys.grad[0, 3:].any()
    assert not keys.grad[1, 2:].any()


@pytest.mark.parametrize("make", [lambda: ProjectedCosine(4, 4, 6), cosine_heads])
def test_a_score_that_is_singular_at_zero_never_gets_zeros(make):
    torch.manual_seed(0)
    layer, (queries, keys, values) = make(), inputs()
    layer(queries, keys, values, LENS).sum().backward()
    assert not_finite(layer, queries, keys) == []


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("junk", [1e5, LARGEST, -LARGEST])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_what_autocast_makes_infinite_in_padding_changes_no_gradient(dtype, junk, keep):
    layer, (queries, keys, values) = DotProductAttention(keep_weights=keep), inputs(junk)
    with torch.autocast("cpu", dtype):
        output = layer(queries.abs(), keys, values, torch.tensor([3, 3]))
    output.float().square().sum().backward()
    assert output.isfinite().all()
    assert not_finite(layer, queries, keys) == []


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("junk", [-math.inf, math.inf])
def test_scores_that_are_infinite_in_all_padding_change_no_gradient(junk, keep):
    layer, (queries, keys, values) = DotProductAttention(keep_weights=keep), inputs(junk)
    layer(queries.abs(), keys, values, torch.tensor([3, 3])).square().sum().backward()
    assert not_finite(layer, queries, keys) == []


def test_the_dtype_under_autocast_does_not_hang_on_the_lengths():
    layer, x = DotProductAttention(keep_weights=False), torch.randn(2, 512, 64)
    with torch.autocast("cpu", torch.bfloat16):
        found = [layer(x, x, x, torch.tensor(lens)) for lens in ([100, 50], [100, 0], [0, 0])]
    assert [output.dtype for output in found] == [torch.bfloat16] * 3
    assert not found[1][1].any()


@pytest.mark.parametrize("junk", [3e38, math.inf, math.nan])
@pytest.mark.parametrize(
    "make",
    [
        DotProductAttention,
        lambda: DotProductAttention(keep_weights=False),
        lambda: AdditiveAttention(4, 4, 6),
        lambda: AdditiveAttention(4, 4, 6, keep_weights=False),
        lambda: MultiHeadAttention(4, 4, 4, 4, 2),
    ],
)
def test_what_a_query_that_sees_nothing_holds_changes_no_gradient(make, junk):
    torch.manual_seed(0)
    layer, (queries, keys, values) = make(), inputs()
    with torch.no_grad():
        queries[0, 2] = junk
    output = layer(queries, keys, values, torch.tensor([[3, 2, 0], [1, 2, 3]]))
    output.sum().backward()
    assert not output[0, 2].any()
    assert not_finite(layer, queries, keys) == []


@pytest.mark.parametrize("count", [5, 400])
def test_dropout_in_place_leaves_the_kept_weights(count):
    layer, lens = DotProductAttention(0.5), torch.tensor([count - 1])
    queries = torch.randn(1, count, 4, requires_grad=True)
    layer.eval()(queries, queries, queries, lens)
    expected = layer.attention_weights
    layer.dropout.inplace = True
    layer.train()(queries, queries, queries, lens).sum().backward()
    assert torch.allclose(layer.attention_weights, expected)
