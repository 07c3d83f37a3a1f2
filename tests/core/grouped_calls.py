"""Random calls of layers whose heads share keys, with positions, against loops in float64.

As `random_calls`, the oracle visits each query of each head, takes the keys that it may see, and
scores, weighs and pools those alone. It has its own rotation, pair by pair.
"""

from __future__ import annotations

import itertools
import math
import random
from functools import partial
from types import SimpleNamespace

import torch

from attnbook import DotProductAttention, MultiHeadAttention, rotary_encoding
from tests.core.random_calls import (
    TOLERANCE,
    WITH_BIAS,
    attend,
    change_layout,
    dot,
    make_bias,
    make_junk,
    make_lengths,
    select,
)


def rotate(vector, position, size, base, layout):
    """Turn one vector, pair by pair."""
    parts = [*vector.unbind()]
    for pair in range(size // 2):
        one, other = (2 * pair, 2 * pair + 1) if layout == "adjacent" else (pair, pair + size // 2)
        angle = position / base ** (2 * pair / size)
        a, b = vector[one], vector[other]
        parts[one] = a * math.cos(angle) - b * math.sin(angle)
        parts[other] = a * math.sin(angle) + b * math.cos(angle)
    return torch.stack(parts)


def share_heads(score, p, q, k, v, *others):
    """Output and weights by loops; q has more heads than k and v."""
    shared = q.shape[1] // k.shape[1]
    return attend(score, p, q, *(x.repeat_interleave(shared, dim=1) for x in (k, v)), *others)


def many_heads(score, heads, rotation, positions, p, *inputs):
    *inputs, sees, bias = inputs

    def project(x, name, heads, positions=None):
        y = x @ p[f"{name}.weight"].T + p.get(f"{name}.bias", 0)
        y = torch.stack(y.chunk(heads, -1), 1)
        if positions is None or rotation is None:
            return y
        rows = [
            rotate(y[index], positions[index[0], index[2]].item(), **rotation)
            for index in itertools.product(*map(range, y.shape[:-1]))
        ]
        return torch.stack(rows).reshape(y.shape) if rows else y

    names = zip(inputs, ("W_q", "W_k", "W_v"), heads, (*positions, None), strict=True)
    output, weights = share_heads(score, p, *(project(*those) for those in names), sees, bias)
    output = torch.cat(output.unbind(1), -1) @ p["W_o.weight"].T + p.get("W_o.bias", 0)
    return output * sees.any(-1).any(1)[..., None], weights


def make_mask(rng, lead, queries, keys):
    form = rng.choice(
        [
            (*lead, queries, keys),
            (queries, keys),
            (*(rng.choice([1, n]) for n in (*lead, queries)), keys),
        ]
    )
    return torch.rand(form) < rng.choice([0.3, 0.7, 0.9])


def make_positions(rng, batch, queries, keys):
    """Positions of queries and keys: those of left padding, in any order, or with gaps."""
    kind = rng.choice(["left", "any", "far"])
    if kind == "left":
        starts = torch.randint(keys + 1, (batch, 1))
        of_keys = (torch.arange(keys) - starts).clamp(min=0)
        of_queries = of_keys[:, keys - queries :] if queries <= keys else None
    else:
        most = 5000 if kind == "far" else 9
        of_keys = torch.randint(most, (batch, keys))
        of_queries = None
    if of_queries is None:
        of_queries = torch.randint(9, (batch, queries))
    if rng.random() < 0.3:
        of_keys, of_queries = of_keys[:1].expand(batch, -1), of_queries[:1].expand(batch, -1)
        return of_queries, of_keys, batch > 0
    return of_queries, of_keys, False


def make_rotation(rng, head_size):
    even = [n for n in (2, 4, 6) if n <= head_size]
    size = rng.choice([*even, None]) if even else None
    base, layout = rng.choice([10_000.0, 500_000.0, 8.0]), rng.choice(["adjacent", "halves"])
    rotary = partial(rotary_encoding, base=base, layout=layout, size=size)
    return {"size": size or head_size, "base": base, "layout": layout}, rotary


def make_call(seed):
    """A layer and what it is called with, chosen by a seed."""
    rng = random.Random(f"grouped {seed}")  # noqa: S311 - any numbers will do
    torch.manual_seed(seed)
    many = rng.random() < 0.6
    dtype = rng.choice(list(TOLERANCE))
    kv_heads = rng.choice([1, 2, 3])
    heads = kv_heads * rng.choice([1, 2, 2, 3])
    batch, queries, keys = rng.choice([0, 1, 2, 3]), rng.choice([0, 1, 2, 5]), rng.choice([1, 2, 7])
    head_size = rng.choice([1, 2, 4, 6])
    rotation, rotary, positions = None, None, {}
    given = many and rng.random() < 0.6
    if many and rng.random() < 0.7 and (given or queries <= keys):
        rotation, rotary = make_rotation(rng, head_size)
    causal = rng.random() < 0.5 and (given or queries <= keys)
    lens = make_lengths(
        rng, rng.choice(["none", "example", "query", "empty"]), batch, queries, keys
    )
    sees = torch.ones(batch, heads, queries, keys, dtype=torch.bool)
    if lens is not None:
        per_query = (lens if lens.dim() == 2 else lens[:, None]).long()[:, None, :, None]
        sees = sees & (torch.arange(keys) < per_query)
    of_queries, of_keys = torch.arange(keys - queries, keys), torch.arange(keys)
    of_queries, of_keys = of_queries.expand(batch, -1), of_keys.expand(batch, -1)
    if given:
        of_queries, of_keys, for_all = make_positions(rng, batch, queries, keys)
        positions = {
            "positions": of_queries[0] if for_all else of_queries,
            "key_positions": of_keys[0] if for_all else of_keys,
        }
    if causal:
        sees = sees & (of_keys[:, None, None] <= of_queries[:, None, :, None])
    mask = make_mask(rng, (batch, heads), queries, keys) if rng.random() < 0.5 else None
    if mask is not None:
        sees = sees & mask
    shared = sees.reshape(batch, kv_heads, heads // kv_heads, queries, keys)
    padding = ~shared.any(3).any(2) & (queries > 0)  # of each head of keys
    padding = (padding.all(1) if many else padding)[..., None]
    sizes = (5, 3, 4) if many else (head_size, head_size, rng.choice([head_size, 3]))
    axes = [[], [], []] if many else [[heads], [kv_heads], [kv_heads]]
    leaves = [
        torch.randn((batch, *axis, count, size), dtype=torch.float64).to(dtype)
        for axis, count, size in zip(axes, (queries, keys, keys), sizes, strict=True)
    ]
    for index in (1, 2):
        _, junk = make_junk(rng, dtype, leaves[index].shape)
        leaves[index] = torch.where(padding, junk, leaves[index])
    learns = rng.random() < 0.75
    leaves = [change_layout(rng, x).detach().requires_grad_(learns) for x in leaves]
    keep = rng.random() < 0.5
    with_bias = seed >= WITH_BIAS
    scale = rng.choice([None, 1.0, 0.3]) if with_bias else None
    bias = make_bias(rng, sees, dtype).requires_grad_(learns) if with_bias else None
    score = dot if scale is None else partial(dot, scale=scale)
    if many:
        layer = MultiHeadAttention(
            *(3, 5, 4, 6, heads),
            bias=rng.random() < 0.5,
            keep_weights=keep,
            num_kv_heads=kv_heads,
            head_size=head_size,
            rotary=rotary,
            scale=scale,
        )
    else:
        layer = DotProductAttention(keep_weights=keep, scale=scale)
    at = of_queries, of_keys
    counts = heads, kv_heads, kv_heads
    return SimpleNamespace(
        compute=partial(many_heads, score, counts, rotation, at)
        if many
        else partial(share_heads, score),
        layer=layer.to(dtype),
        autocast=None,
        slack=2,
        paths=rng.choice(["shipped", "fast", "fast", "formula"]),
        block=rng.choice([2**18, 64, 16]),
        **select(
            locals(),
            "seed dtype lens rotation causal mask positions sees padding leaves learns bias scale",
        ),
    )
