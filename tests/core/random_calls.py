"""Random calls of the layers, compared with independent loops over rows in float64.

The oracle gathers, for each query, the keys that it may see, and scores, weighs and pools those
alone. It never uses padding, and autograd of the loops gives the true gradients. A seed
always gives the same call.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from attnbook import AdditiveAttention, Attention, DotProductAttention, MultiHeadAttention
from attnbook.fused import blocks, choose, dot_product
from attnbook.selftest.comparisons import TOLERANCE

LENGTHS = [torch.int64, torch.int8, torch.uint8, torch.uint16, torch.float32, torch.bfloat16]
THRESHOLDS = [name for name in vars(choose) if name.isupper() and name != "TYPE_CHECKING"]
WITH_MASKS = 3000  # seeds from here on draw a mask as well
WITH_BIAS = 6000  # seeds from here on draw also a bias, and a scale of the dot product
SHOWN = "seed layer dtype autocast paths block learns options".split()
SHIPPED = {name: getattr(choose, name) for name in THRESHOLDS}


class Distance(Attention):
    def score(self, queries, keys):
        return -torch.cdist(queries, keys)


# The oracle, up to `many_heads`: one query, the keys that it may see, and nothing of attnbook.
def dot(q, k, _, scale=None):
    return (k * q).sum(-1) * (1 / math.sqrt(len(q)) if scale is None else scale)


def additive(q, k, p):
    return torch.tanh(k @ p["W_k.weight"].T + p["W_q.weight"] @ q) @ p["w_v.weight"][0]


def distance(q, k, _):
    return -((k - q) ** 2).sum(-1).sqrt()


def count_seen(lens, causal, example, query, num_queries, num_keys):
    """Count the keys that a query may see by lengths and order."""
    length = num_keys if lens is None else int(lens[(example, query)[: lens.dim()]])
    return min(length, query + 1 + num_keys - num_queries) if causal else length


def find_visible(lens, causal, batch, num_queries, num_keys):
    indices = itertools.product(range(batch), range(num_queries))
    rows = [count_seen(lens, causal, *index, num_queries, num_keys) for index in indices]
    counts = torch.tensor(rows, dtype=torch.long).reshape(batch, num_queries)
    return torch.arange(num_keys) < counts[..., None]


def attend(score, p, q, k, v, sees, bias):  # noqa: PLR0913, PLR0917 - a whole call
    """Output and weights by loops; q, k, v have three axes or four, the bias all axes of scores."""
    output = q.new_zeros(*q.shape[:-1], v.shape[-1])
    weights = q.new_zeros(*q.shape[:-1], k.shape[-2])
    for index in itertools.product(*map(range, q.shape[:-1])):
        seen, example = sees[index].nonzero().flatten(), index[:-1]
        if len(seen):
            s = score(q[index], k[example][seen], p) + bias[index][seen]
            e = torch.exp(s - s.max().detach())
            weights[(*index, seen)] = e / e.sum()
            output[index] = (e / e.sum()) @ v[example][seen]
    return output, weights


def share_heads(score, p, q, k, v, *others):
    """Output and weights by loops; q may have more heads than k and v."""
    shared = q.shape[1] // k.shape[1]
    return attend(score, p, q, *(x.repeat_interleave(shared, dim=1) for x in (k, v)), *others)


def many_heads(heads, turns, score, p, *inputs):
    """The same for a whole layer: queries, keys and values each have heads, and may be turned."""
    *inputs, sees, bias = inputs

    def project(x, name, heads, turn):
        y = x @ p[f"{name}.weight"].T + p.get(f"{name}.bias", 0)
        y = torch.stack(y.chunk(heads, -1), 1)
        return y if turn is None else turn(y)

    names = zip(inputs, ("W_q", "W_k", "W_v"), heads, turns, strict=True)
    output, weights = share_heads(score, p, *(project(*those) for those in names), sees, bias)
    output = torch.cat(output.unbind(1), -1) @ p["W_o.weight"].T + p.get("W_o.bias", 0)
    return output * sees.any(-1).any(1)[..., None], weights


SCORES = {"dot": dot, "additive": additive, "distance": distance}


# The random calls.
def make_junk(rng, dtype, shape):
    largest = torch.finfo(dtype).max
    table = [math.nan, math.inf, -math.inf, largest, -largest, min(1e5, largest), 0.0]
    kind = rng.choice([*table, "mixed", "nothing special"])
    if kind == "mixed":
        return torch.tensor(table, dtype=dtype)[torch.randint(len(table), shape)]
    if kind == "nothing special":
        return torch.randn(shape).to(dtype)
    return torch.full(shape, kind, dtype=dtype)


def change_layout(rng, x):
    """Give the same numbers another layout in memory, with NaN around them."""
    how = rng.choice(["plain", "transposed", "strided", "offset"])
    if how == "transposed":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if how == "strided":
        return torch.stack([x, torch.full_like(x, math.nan)], -1)[..., 0]
    return torch.cat([torch.full_like(x[:1], math.nan), x])[1:] if how == "offset" else x


def make_layer(rng, kind, sizes, num_heads, scale):
    query_size, key_size, value_size = sizes
    keep = rng.random() < 0.5
    if kind == "heads":
        heads, bias = rng.choice([1, 2, 4]), rng.random() < 0.5
        sizes = key_size, query_size, value_size, 4, num_heads or heads
        return MultiHeadAttention(*sizes, bias=bias, keep_weights=keep, scale=scale)
    if kind == "additive":
        return AdditiveAttention(key_size, query_size, rng.choice([1, 4, 6]), keep_weights=keep)
    if kind == "dot":
        return DotProductAttention(keep_weights=keep, scale=scale)
    return Distance(keep_weights=keep)


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


def make_bias(rng, sees, dtype):
    """A bias of any shape that fits these scores: with -inf, and anything where all is hidden."""
    whole = tuple(sees.shape)
    some = tuple(rng.choice([1, n]) for n in whole[:-1])
    form = rng.choice([whole, whole[-2:], (*some, whole[-1])])
    bias = torch.randn(form).to(dtype)
    seen = sees
    for axis in range(-len(whole), 0):
        has = 1 if axis < -len(form) else form[axis]
        seen = seen.any(axis, keepdim=True) if has != whole[axis] else seen
    seen = seen.reshape(form)
    low = torch.rand(form) < rng.choice([0, 0, 0.3])
    row_is_seen = (sees & ~low).any(-1) | ~sees.any(-1)  # a finite bias for one key of each row
    if row_is_seen.all():
        bias = bias.masked_fill(low, -math.inf)
    return torch.where(seen, bias, make_junk(rng, dtype, form))


def make_lengths(rng, form, batch, num_queries, num_keys):
    shape = (batch, num_queries) if form == "query" or rng.random() < 0.3 else (batch,)
    numbers = torch.randint(num_keys + 1, shape)
    ends = {"empty": torch.zeros(shape), "full": torch.full(shape, num_keys)}
    return None if form == "none" else ends.get(form, numbers).to(rng.choice(LENGTHS))


@dataclass
class Call:
    """A layer, what it is called with, and how the oracle computes the same."""

    seed: int
    layer: torch.nn.Module
    leaves: list[torch.Tensor]  # queries, keys and values
    options: dict[str, Any]
    sees: torch.Tensor  # of the shape of the weights
    padding: torch.Tensor  # keys that no query may see
    compute: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    dtype: torch.dtype
    learns: bool
    paths: str
    block: int
    autocast: torch.dtype | None = None
    slack: int = 2

    @property
    def biases(self):
        return [] if self.options["bias"] is None else [self.options["bias"]]


def make_inputs(rng, kind, dtype, autocast):
    """Queries, keys, values, their lengths, and whether there is order."""
    axes = [] if kind == "heads" else rng.choice([[], [], [rng.choice([0, 1, 2, 3])]])
    batch, num_queries = rng.choice([0, 1, 2, 3, 5]), rng.choice([0, 1, 2, 4, 7])
    num_keys, size = rng.choice([0, 1, 2, 3, 5, 9]), rng.choice([1, 2, 4, 8])
    key_size = size if kind in ("dot", "distance") else rng.choice([1, 3, 8])
    sizes = size, key_size, rng.choice([size, 1, 3, 8])
    causal = rng.random() < 0.4 and num_queries <= num_keys
    form = rng.choice(["none", "example", "query", "empty", "full"])
    lens = make_lengths(rng, form, batch, num_queries, num_keys)
    q, k, v = (
        torch.randn((batch, *axes, *shape), dtype=torch.float64).to(dtype)
        for shape in zip((num_queries, num_keys, num_keys), sizes, strict=True)
    )
    if rng.random() < 0.1 and dtype.itemsize > 2 and autocast is None:
        q = q * 30
    elif rng.random() < 0.2:
        q = q.abs()
    return (q, k, v), lens, causal


def make_visible(seed, lead, inputs, lens, *, causal, by_example):
    """Which keys a query may see, and the mask of the call; `lead` are the axes of the scores."""
    num_queries, num_keys = (x.shape[-2] for x in inputs[:2])
    sees = find_visible(lens, causal, lead[0], num_queries, num_keys)
    sees = sees.reshape(lead[0], *[1] * (len(lead) - 1), num_queries, num_keys)
    sees = sees.expand(*lead, num_queries, num_keys)
    if seed < WITH_MASKS:
        return sees, None
    mask = make_mask(seed, lead, num_queries, num_keys, by_example)
    return sees & (mask[:, None] if mask.dim() == 3 and len(lead) == 2 else mask), mask


def make_leaves(rng, inputs, padding):
    """The same inputs with anything in padding, in any layout, and whether a call learns."""
    queries, *others = inputs
    junk = [make_junk(rng, x.dtype, x.shape) for x in others]
    leaves = [queries, *map(partial(torch.where, padding), junk, others)]
    learns = rng.random() < 0.75
    return [
        change_layout(rng, x).detach().requires_grad_(learns and rng.random() < 0.8) for x in leaves
    ], learns


def make_call(seed):
    """A layer and what it is called with, chosen by a seed."""
    rng = random.Random(seed)  # noqa: S311 - any numbers will do
    torch.manual_seed(seed)
    kind = rng.choice(["dot", "dot", "additive", "distance", "heads"])
    dtype, autocast = rng.choice(list(TOLERANCE)[: 2 if kind == "distance" else 4]), None
    if dtype == torch.float32 and kind != "distance":
        autocast = rng.choice([None, None, torch.bfloat16, torch.float16])
    inputs, lens, causal = make_inputs(rng, kind, dtype, autocast)
    many, heads = kind == "heads", 4 if seed % 2 and seed >= WITH_MASKS else 1
    lead = (len(inputs[0]), heads) if many else inputs[0].shape[:-2]
    sees, mask = make_visible(seed, lead, inputs, lens, causal=causal, by_example=many)
    padding = ~sees.any(-2) & (sees.shape[-2] > 0)  # no query: no padding
    padding = (padding.all(1) if many else padding)[..., None]
    leaves, learns = make_leaves(rng, inputs, padding)
    paths, block = rng.choice(["shipped", "fast", "fast", "formula"]), rng.choice([2**18, 64, 16])
    more = random.Random(f"bias {seed}")  # noqa: S311 - any numbers will do
    scale = more.choice([None, 1.0, 0.3]) if seed >= WITH_BIAS else None
    sizes = [x.shape[-1] for x in inputs]
    layer = make_layer(rng, kind, sizes, heads if mask is not None else 0, scale)
    layer = layer.to(dtype).requires_grad_(rng.random() < 0.8)
    sees = sees.expand(-1, layer.num_heads, -1, -1) if many else sees
    score = SCORES["dot" if many else kind]
    score = score if scale is None else partial(score, scale=scale) if score is dot else score
    bias = None
    if seed >= WITH_BIAS and more.random() < 0.8:
        bias = make_bias(more, sees, dtype).requires_grad_(learns and more.random() < 0.8)
    compute = partial(attend, score)
    if many:
        compute = partial(many_heads, (layer.num_heads,) * 3, (None,) * 3, score)
    options = {"valid_lens": lens, "causal": causal, "mask": mask, "bias": bias}
    call = seed, layer, leaves, options, sees, padding, compute, dtype, learns, paths, block
    return Call(*call, autocast, slack=2 if autocast else 1)


def compute_truth(call):
    """Compute output and weights in float64, and the tensors that get gradients, by name."""
    q, k, v = (x.detach().double() for x in call.leaves)
    hidden = q, k.masked_fill(call.padding, 0), v.masked_fill(call.padding, 0)
    inputs = [x.clone().requires_grad_() for x in hidden]
    [bias] = [it.detach() for it in call.biases] or [torch.zeros(())]
    bias = bias.double().clone().requires_grad_()
    p = {
        name: x.detach().double().clone().requires_grad_()
        for name, x in call.layer.named_parameters()
    }
    found = call.compute(p, *inputs, call.sees, bias.expand(call.sees.shape))
    named = dict(zip(("queries", "keys", "values"), inputs, strict=True))
    return *found, named | ({"bias": bias} if call.biases else {}) | p


def describe_difference(found, expected, dtype, tolerance):
    """Describe what is wrong with a tensor, in an empty text if nothing is."""
    off = (found.double() - expected).abs()
    if not found.isfinite().all():
        return "is not finite"
    if found.shape != expected.shape or found.dtype != dtype:
        return f"is {tuple(found.shape)} {found.dtype}"
    if off.numel() and off.max() > tolerance * (1 + expected.abs().max()):
        return f"is off by {off.max().item():.3g}"
    return ""


def compile_layer(call):
    """Compile the layer for any sizes."""
    return torch.compile(call.layer, backend="eager", dynamic=True, fullgraph=True)


def export_layer(call):
    """Export the layer with other, dynamic sizes; None where a size is 0 or 1.

    Such sizes are constants of a program. Gradients are not taken.
    """
    queries, keys, values = (leaf.detach() for leaf in call.leaves)
    lead, sizes = queries.shape[:-2], (queries.shape[-2], keys.shape[-2])
    if min(lead[0], *sizes) < 2 or call.autocast:
        return None
    # Larger, and with more keys than queries, as order wants.
    counts = lead[0] + 3, sizes[0] + 2, sizes[1] + 5

    def other(tensor, *axes):
        """Make ones of another size along these axes, and list the dynamic axes."""
        shape, axes = [*tensor.shape], {axis % tensor.dim(): n for axis, n in axes}
        dynamic = {axis: n for axis, n in axes.items() if shape[axis] > 1}
        for axis, number in dynamic.items():
            shape[axis] = number
        return torch.ones(shape, dtype=tensor.dtype), dict.fromkeys(dynamic, torch.export.Dim.AUTO)

    batch, num_queries, num_keys = counts
    given = {
        "queries": other(queries, (0, batch), (-2, num_queries)),
        "keys": other(keys, (0, batch), (-2, num_keys)),
        "values": other(values, (0, batch), (-2, num_keys)),
    }
    tensors = {name: it for name, it in call.options.items() if isinstance(it, torch.Tensor)}
    for name, tensor in tensors.items():
        axes = [(0, batch), (1, num_queries)][: tensor.dim()]
        if name != "valid_lens":
            axes = [(0, batch)] if tensor.dim() > 2 else []
            axes += [(-2, num_queries), (-1, num_keys)]
        given[name] = other(tensor, *axes)
    call.learns = False
    program = torch.export.export(
        call.layer.eval(),
        (),
        {name: tensor for name, (tensor, _) in given.items()} | {"causal": call.options["causal"]},
        dynamic_shapes={name: axes for name, (_, axes) in given.items()} | {"causal": None},
        strict=call.seed % 4 < 2,
    ).module()
    call.layer.keep_weights = False  # a program stores none

    def attend(*inputs, **options):
        named = dict(zip(("queries", "keys", "values"), inputs, strict=True))
        return program(**named, **tensors, causal=options["causal"])

    return attend


def compare_tensors(call, attend):
    """Yield the name of each tensor of a call, and what is wrong with it."""
    layer, dtype = call.layer, call.autocast or call.dtype
    tolerance = max(TOLERANCE[dtype], TOLERANCE[call.dtype]) * call.slack
    given_tensors = [*call.leaves, *call.biases]
    before = [x.detach().clone() for x in given_tensors]
    expected, weights, inputs = compute_truth(call)
    autocast = torch.autocast("cpu", call.autocast or torch.bfloat16, enabled=bool(call.autocast))
    with torch.set_grad_enabled(call.learns), autocast:
        output = attend(*call.leaves, **call.options)
    yield "output", describe_difference(output, expected.detach(), dtype, tolerance)
    if layer.keep_weights:
        found = layer.attention_weights
        yield "weights", describe_difference(found, weights.detach(), found.dtype, tolerance)
        yield "weights", "are not 0 on padding" if found[~call.sees].any() else ""
    if output.requires_grad:
        output.backward(upstream := torch.randn(output.shape).to(output.dtype))
        truth = [None] * len(inputs)
        if expected.requires_grad:
            truth = torch.autograd.grad(
                expected, [*inputs.values()], upstream.double(), allow_unused=True
            )
        leaves = [*given_tensors, *layer.parameters()]
        for name, leaf, true in zip(inputs, leaves, truth, strict=True):
            if leaf.grad is None:
                continue
            expected = torch.zeros(leaf.shape).double() if true is None else true
            yield (
                f"gradient of {name}",
                describe_difference(leaf.grad, expected, call.dtype, tolerance),
            )
            if name in ("keys", "values") and leaf.grad[call.padding.expand(leaf.shape)].any():
                yield f"gradient of {name}", "reaches padding"
    for x, y in zip(given_tensors, before, strict=True):
        same = torch.equal(x.detach().nan_to_num(7.25), y.nan_to_num(7.25))
        yield "the caller's tensors", "" if same else "changed"


def find_faults(seed, put, program=lambda call: call.layer, make=make_call):
    """Compare one call, and its gradients, with the oracle.

    `put` sets the sizes of fast paths; `program` gives what is called, or None for nothing.
    """
    call = make(seed)
    for name in THRESHOLDS:
        put(choose, name, {"shipped": SHIPPED[name], "fast": 0, "formula": 2**60}[call.paths])
    put(blocks, "BLOCK", call.block)
    put(dot_product, "ROWS", 2 if call.paths == "fast" else 256)
    if (attend := program(call)) is None:
        return []
    wrong = [f"{name} {fault}" for name, fault in compare_tensors(call, attend) if fault]
    shapes = [tuple(leaf.shape) for leaf in call.leaves]
    return wrong and [*wrong, shapes, {name: getattr(call, name) for name in SHOWN}]
