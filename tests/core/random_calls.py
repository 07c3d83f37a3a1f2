"""Random calls of the layers against loops over rows in float64, written apart from the code.

The oracle gathers, for each query, the keys that it may see, and scores, weighs and pools those
alone. Padding is never touched there, and autograd of the loops gives the true gradients. A
seed is a call, always the same.
"""

from __future__ import annotations

import itertools
import math
import random

import torch

from attnbook import AdditiveAttention, Attention, DotProductAttention, MultiHeadAttention
from attnbook.fused import blocks, choice

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 6e-2, torch.float16: 1e-2}
LENGTHS = [torch.int64, torch.int8, torch.uint8, torch.uint16, torch.float32, torch.bfloat16]
THRESHOLDS = [name for name in vars(choice) if name.isupper() and name != "TYPE_CHECKING"]
WITH_MASKS = 3000  # seeds from here on draw a mask as well
SHIPPED = {name: getattr(choice, name) for name in THRESHOLDS}


class Distance(Attention):
    def score(self, queries, keys):  # a score of one's own
        return -torch.cdist(queries, keys)


# The oracle, up to `many_heads`: one query, the keys that it may see, and nothing of attnbook.
def dot(q, k, _):
    return (k * q).sum(-1) / math.sqrt(len(q))


def additive(q, k, p):
    return torch.tanh(k @ p["W_k.weight"].T + p["W_q.weight"] @ q) @ p["w_v.weight"][0]


def distance(q, k, _):
    return -((k - q) ** 2).sum(-1).sqrt()


def seen(lens, causal, example, query, num_queries, num_keys):
    """How many keys a query may see by lengths and order."""
    length = num_keys if lens is None else int(lens[(example, query)[: lens.dim()]])
    return min(length, query + 1 + num_keys - num_queries) if causal else length


def all_seen(lens, causal, batch, num_queries, num_keys):
    places = itertools.product(range(batch), range(num_queries))
    rows = [seen(lens, causal, *place, num_queries, num_keys) for place in places]
    counts = torch.tensor(rows, dtype=torch.long).reshape(batch, num_queries)
    return torch.arange(num_keys) < counts[..., None]


def attend(score, p, q, k, v, sees):
    """Output and weights by loops; q, k, v have three axes or four."""
    output = q.new_zeros(*q.shape[:-1], v.shape[-1])
    weights = q.new_zeros(*q.shape[:-1], k.shape[-2])
    for place in itertools.product(*map(range, q.shape[:-1])):
        seen, example = sees[place].nonzero().flatten(), place[:-1]
        if len(seen):
            s = score(q[place], k[example][seen], p)
            e = torch.exp(s - s.max().detach())
            weights[(*place, seen)] = e / e.sum()
            output[place] = (e / e.sum()) @ v[example][seen]
    return output, weights


def many_heads(p, heads, q, k, v, sees):
    def project(x, name):
        y = x @ p[f"{name}.weight"].T + p.get(f"{name}.bias", 0)
        return torch.stack(y.chunk(heads, -1), 1)

    inputs = (project(x, name) for x, name in zip((q, k, v), ("W_q", "W_k", "W_v"), strict=True))
    output, weights = attend(dot, p, *inputs, sees)
    output = torch.cat(output.unbind(1), -1) @ p["W_o.weight"].T + p.get("W_o.bias", 0)
    return output * sees.any(-1).any(1)[..., None], weights


# The random calls.
def junk_of(rng, dtype, shape):
    largest = torch.finfo(dtype).max
    table = [math.nan, math.inf, -math.inf, largest, -largest, min(1e5, largest), 0.0]
    kind = rng.choice([*table, "mixed", "nothing special"])
    if kind == "mixed":
        return kind, torch.tensor(table, dtype=dtype)[torch.randint(len(table), shape)]
    return kind, torch.randn(shape).to(dtype) if kind == "nothing special" else torch.full(
        shape, kind, dtype=dtype
    )


def laid_out(rng, x):
    """The same numbers, elsewhere in memory, with NaN around them."""
    how = rng.choice(["plain", "transposed", "strided", "offset"])
    if how == "transposed":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if how == "strided":
        return torch.stack([x, torch.full_like(x, math.nan)], -1)[..., 0]
    return torch.cat([torch.full_like(x[:1], math.nan), x])[1:] if how == "offset" else x


def make_layer(rng, kind, key_size, query_size, value_size, num_heads):
    keep = rng.random() < 0.5
    if kind == "heads":
        sizes, heads, bias = (
            (key_size, query_size, value_size, 4),
            rng.choice([1, 2, 4]),
            rng.random() < 0.5,
        )
        return MultiHeadAttention(*sizes, num_heads or heads, bias=bias, keep_weights=keep)
    if kind == "additive":
        return AdditiveAttention(key_size, query_size, rng.choice([1, 4, 6]), keep_weights=keep)
    return {"dot": DotProductAttention, "distance": Distance}[kind](keep_weights=keep)


def make_mask(seed, lead, num_queries, num_keys, by_example):
    """A mask of any form that the layer takes: `lead` are the axes before its queries."""
    rng = random.Random(f"mask {seed}")  # noqa: S311 - any numbers will do
    whole = (*lead, num_queries, num_keys)
    forms = [whole, (num_queries, num_keys), tuple(rng.choice([1, n]) for n in whole[:-1])]
    form = rng.choice(forms)
    if form is forms[2]:
        form = (*form, num_keys)
    if by_example and rng.random() < 0.5:
        form = (rng.choice([1, lead[0]]), rng.choice([1, num_queries]), num_keys)
    return torch.rand(form) < rng.choice([0.2, 0.6, 0.9])


def make_case(seed):
    rng = random.Random(seed)  # noqa: S311 - any numbers will do
    torch.manual_seed(seed)
    kind = rng.choice(["dot", "dot", "additive", "distance", "heads"])
    dtype = rng.choice(list(TOLERANCE)[: 2 if kind == "distance" else 4])
    autocast = (
        rng.choice([None, None, torch.bfloat16, torch.float16])
        if dtype == torch.float32 and kind != "distance"
        else None
    )
    axes = [] if kind == "heads" else rng.choice([[], [], [rng.choice([0, 1, 2, 3])]])
    batch, num_queries, num_keys = (
        rng.choice([0, 1, 2, 3, 5]),
        rng.choice([0, 1, 2, 4, 7]),
        rng.choice([0, 1, 2, 3, 5, 9]),
    )
    size = rng.choice([1, 2, 4, 8])
    key_size = size if kind in ("dot", "distance") else rng.choice([1, 3, 8])
    shapes = [
        (batch, *axes, num_queries, size),
        (batch, *axes, num_keys, key_size),
        (batch, *axes, num_keys, rng.choice([size, 1, 3, 8])),
    ]
    causal, form = (
        rng.random() < 0.4 and num_queries <= num_keys,
        rng.choice(["none", "example", "query", "empty", "full"]),
    )
    shape = (batch, num_queries) if form == "query" or rng.random() < 0.3 else (batch,)
    lens = {"empty": torch.zeros(shape), "full": torch.full(shape, num_keys)}.get(
        form, torch.randint(num_keys + 1, shape)
    )
    lens = None if form == "none" else lens.to(rng.choice(LENGTHS))
    q, k, v = (torch.randn(shape, dtype=torch.float64).to(dtype) for shape in shapes)
    q = (
        q * 30
        if rng.random() < 0.1 and dtype.itemsize > 2 and autocast is None
        else q.abs()
        if rng.random() < 0.2
        else q
    )
    sees = all_seen(lens, causal, batch, num_queries, num_keys)
    many, mask = kind == "heads", None
    heads = 4 if seed % 2 and seed >= WITH_MASKS else 1
    lead = (batch, heads) if many else (batch, *axes)  # of a mask
    sees = sees.reshape(batch, *[1] * (len(lead) - 1), num_queries, num_keys)
    sees = sees.expand(*lead, num_queries, num_keys)
    if seed >= WITH_MASKS:
        mask = make_mask(seed, lead, num_queries, num_keys, by_example=many)
        sees = sees & (mask[:, None] if mask.dim() == 3 and len(lead) == 2 else mask)
    padding = ~sees.any(-2) & (num_queries > 0)  # no query: no padding
    padding = (padding.all(1) if many else padding)[..., None]
    (of_keys, junk_k), (of_values, junk_v) = (
        junk_of(rng, dtype, k.shape),
        junk_of(rng, dtype, v.shape),
    )
    inputs = [q, torch.where(padding, junk_k, k), torch.where(padding, junk_v, v)]
    learns = rng.random() < 0.75
    leaves = [
        laid_out(rng, x).detach().requires_grad_(learns and rng.random() < 0.8) for x in inputs
    ]
    paths, block = rng.choice(["shipped", "fast", "fast", "formula"]), rng.choice([2**18, 64, 16])
    layer = make_layer(rng, kind, key_size, size, shapes[2][-1], heads if mask is not None else 0)
    layer = layer.to(dtype).requires_grad_(rng.random() < 0.8)
    sees = sees.expand(batch, layer.num_heads, num_queries, num_keys) if many else sees
    words = {
        "junk": (of_keys, of_values),
        "shapes": shapes,
        "keeps": layer.keep_weights,
        "lens": lens,
        "mask": mask,
    }
    return {**locals(), "words": words}


def truth_of(c):
    """Output, weights, and what their gradients are taken for, in float64."""
    q, k, v = (x.detach().double() for x in c["leaves"])
    inputs = [
        x.clone().requires_grad_()
        for x in (q, k.masked_fill(c["padding"], 0), v.masked_fill(c["padding"], 0))
    ]
    p = {
        name: x.detach().double().clone().requires_grad_()
        for name, x in c["layer"].named_parameters()
    }
    if c["kind"] == "heads":
        found = many_heads(p, c["layer"].num_heads, *inputs, c["sees"])
    else:
        found = attend(
            {"dot": dot, "additive": additive, "distance": distance}[c["kind"]],
            p,
            *inputs,
            c["sees"],
        )
    return *found, [*inputs, *p.values()], ["queries", "keys", "values", *p]


def wrong_in(seed, put):
    """Compare one call, and its gradients, with the oracle; `put` sets the sizes of fast paths."""
    c, wrong = make_case(seed), []
    layer, leaves, padding, dtype = (
        c["layer"],
        c["leaves"],
        c["padding"],
        c["autocast"] or c["dtype"],
    )
    for name in THRESHOLDS:
        put(choice, name, {"shipped": SHIPPED[name], "fast": 0, "formula": 2**60}[c["paths"]])
    put(blocks, "BLOCK", c["block"])
    c["tolerance"] = max(TOLERANCE[dtype], TOLERANCE[c["dtype"]]) * (2 if c["autocast"] else 1)
    before = [x.detach().clone() for x in leaves]
    expected, weights, inputs, names = truth_of(c)
    with (
        torch.set_grad_enabled(c["learns"]),
        torch.autocast("cpu", c["autocast"] or torch.bfloat16, enabled=c["autocast"] is not None),
    ):
        output = layer(*leaves, c["lens"], causal=c["causal"], mask=c["mask"])

    def compare(name, found, wanted, dtype):
        off = (found.double() - wanted).abs()
        if not found.isfinite().all():
            wrong.append(f"{name} is not finite")
        elif found.shape != wanted.shape or found.dtype != dtype:
            wrong.append(f"{name} is {tuple(found.shape)} {found.dtype}")
        elif off.numel() and off.max() > c["tolerance"] * (1 + wanted.abs().max()):
            wrong.append(f"{name} is off by {off.max().item():.3g}")

    compare("output", output, expected.detach(), dtype)
    if layer.keep_weights:
        compare("weights", layer.attention_weights, weights.detach(), layer.attention_weights.dtype)
        wrong += ["a weight on padding is not 0"] * bool(
            (layer.attention_weights[~c["sees"]] != 0).any()
        )
    if output.requires_grad:
        output.backward(upstream := torch.randn(output.shape).to(output.dtype))
        truth = [None] * len(names)
        if expected.requires_grad:
            truth = torch.autograd.grad(expected, inputs, upstream.double(), allow_unused=True)
        for name, leaf, true in zip(names, [*leaves, *layer.parameters()], truth, strict=True):
            if leaf.grad is not None:
                compare(
                    f"gradient of {name}",
                    leaf.grad,
                    torch.zeros(leaf.shape).double() if true is None else true,
                    c["dtype"],
                )
            if (
                leaf.grad is not None
                and name in ("keys", "values")
                and (leaf.grad[padding.expand(leaf.shape)] != 0).any()
            ):
                wrong.append(f"a gradient reaches padding of {name}")
    if not all(
        torch.equal(x.detach().nan_to_num(7.25), y.nan_to_num(7.25))
        for x, y in zip(leaves, before, strict=True)
    ):
        wrong.append("the caller's tensors changed")
    told = ("kind", "dtype", "autocast", "causal", "learns", "paths")
    return wrong and [*wrong, {name: c[name] for name in told} | c["words"]]
