"""Random calls of layers whose heads share keys, with positions, against loops in float64.

As `random_calls`, the oracle visits each query of each head, takes the keys that it may see, and
scores, weighs and pools those alone. It has its own rotation, pair by pair.
"""

from __future__ import annotations

import itertools
import random
from functools import partial

import torch

from attnbook import DotProductAttention, MultiHeadAttention, rotary_encoding
from attnbook.selftest.oracle import rotate_vector
from tests.core.random_calls import (
    TOLERANCE,
    WITH_BIAS,
    Call,
    change_layout,
    dot,
    find_visible,
    make_bias,
    make_junk,
    make_lengths,
    make_mask,
    many_heads,
    share_heads,
)


def turn(positions, rotation, heads):
    rows = [
        rotate_vector(heads[index], positions[index[0], index[2]].item(), **rotation)
        for index in itertools.product(*map(range, heads.shape[:-1]))
    ]
    return torch.stack(rows).reshape(heads.shape) if rows else heads


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
    given, positions = many and rng.random() < 0.6, {}
    causal = rng.random() < 0.5 and (given or queries <= keys)
    lens = make_lengths(
        rng, rng.choice(["none", "example", "query", "empty"]), batch, queries, keys
    )
    sees = find_visible(lens, False, batch, queries, keys)[:, None].expand(-1, heads, -1, -1)
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
    mask = make_mask(seed, (batch, heads), queries, keys, False) if rng.random() < 0.5 else None
    sees = sees if mask is None else sees & mask
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
        junk = make_junk(rng, dtype, leaves[index].shape)
        leaves[index] = torch.where(padding, junk, leaves[index])
    learns = rng.random() < 0.75
    leaves = [change_layout(rng, x).detach().requires_grad_(learns) for x in leaves]
    scale, bias = None, None
    if seed >= WITH_BIAS:
        scale = rng.choice([None, 1.0, 0.3])
        bias = make_bias(rng, sees, dtype).requires_grad_(learns)
    score, options = partial(dot, scale=scale), {"keep_weights": rng.random() < 0.5, "scale": scale}
    if many:
        options |= {"num_kv_heads": kv_heads, "head_size": head_size, "bias": rng.random() < 0.5}
        turns = [None] * 3
        if rng.random() < 0.7 and (given or queries <= keys):
            rotation, options["rotary"] = make_rotation(rng, head_size)
            turns[:2] = (partial(turn, at, rotation) for at in (of_queries, of_keys))
        layer = MultiHeadAttention(3, 5, 4, 6, heads, **options)
        compute = partial(many_heads, (heads, kv_heads, kv_heads), turns, score)
    else:
        layer, compute = DotProductAttention(**options), partial(share_heads, score)
    paths, block = rng.choice(["shipped", "fast", "fast", "formula"]), rng.choice([2**18, 64, 16])
    call_options = {"valid_lens": lens, "causal": causal, "mask": mask, "bias": bias} | positions
    call = seed, layer.to(dtype), leaves, call_options, sees, padding
    return Call(*call, compute, dtype, learns, paths, block)
