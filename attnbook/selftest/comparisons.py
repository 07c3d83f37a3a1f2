"""What is compared: small random calls of each part of the package, with `oracle`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from attnbook import pooling, position, scoring, weighting
from attnbook.cache import KeyValueCache
from attnbook.layers import AdditiveAttention, DotProductAttention
from attnbook.masking import masks, rules
from attnbook.multihead import MultiHeadAttention
from attnbook.selftest import oracle
from attnbook.selftest.paths import PATHS, take_path

# The largest error allowed, relative to the largest number expected, or to 1.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 5e-3}
# That of slopes: the formula's are differences of its values.
SLOPES = {torch.float64: 1e-7, torch.float32: 2e-4}
STEP = 1e-5
Choice = TypeVar("Choice")


class Comparison(NamedTuple):
    """A result, and what it must be."""

    case: str
    found: Tensor
    expected: Tensor
    tolerance: float

    def error(self) -> float:
        """The largest error, relative to the largest number expected or to 1; NaN is infinite."""
        if self.found.shape != self.expected.shape:
            return math.inf
        found, expected = self.found.detach().cpu().double(), self.expected.double()
        if not found.numel():
            return 0.0
        error = float((found - expected).abs().max() / expected.abs().max().clamp(min=1))
        return error if math.isfinite(error) else math.inf


@dataclass
class Draw:
    """Random sizes and numbers, the same for each seed; tensors are rounded to the dtype."""

    seed: int
    device: torch.device
    dtype: torch.dtype

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.seed)

    def normal(self, *size: int) -> Tensor:
        """Random numbers on the device."""
        numbers = torch.randn(size, generator=self.generator, dtype=torch.float64)
        return numbers.to(self.dtype).to(self.device)

    def choose(self, *choices: Choice) -> Choice:
        """One of some things."""
        return choices[int(torch.randint(len(choices), (1,), generator=self.generator))]

    def lengths(self, most: int, *size: int) -> Tensor:
        """Whole numbers from 0 to the most."""
        return torch.randint(most + 1, size, generator=self.generator)

    def layer(self, layer: nn.Module) -> Any:  # noqa: ANN401 - the same layer
        """The layer with random parameters, on the device."""
        with torch.no_grad():
            for parameter in layer.parameters():
                size = parameter.shape
                parameter.copy_(torch.randn(size, generator=self.generator) / math.sqrt(size[-1]))
        return layer.to(self.dtype).to(self.device).eval()

    def compare(self, case: str, found: Tensor, expected: Tensor, slack: float = 1) -> Comparison:
        """Compare within the tolerance of the dtype."""
        return Comparison(case, found, expected, TOLERANCE[self.dtype] * slack)


def compare_scores(draw: Draw) -> Iterator[Comparison]:
    """The scores of pairs of vectors."""
    queries, keys = draw.normal(2, 3, 5), draw.normal(2, 7, 5)
    weight, matrix = draw.normal(5), draw.normal(5, 5)
    slack = 4  # sums of products, which are larger than 1
    cases: dict[str, tuple[str, tuple[Any, ...]]] = {
        "dot": ("dot_score", ()),
        "scaled dot": ("scaled_dot_score", ()),
        "bilinear": ("bilinear_score", (matrix,)),
        "additive": ("additive_score", (weight,)),
        "gaussian": ("gaussian_score", (2.0,)),
    }
    for case, (name, others) in cases.items():
        found = getattr(scoring, name)(queries, keys, *others)
        yield draw.compare(case, found, getattr(oracle, name)(queries, keys, *others), slack)


def compare_weights(draw: Draw) -> Iterator[Comparison]:
    """Scores of any size become weights; padding gets exactly 0."""
    scores = draw.normal(2, 4, 3, 7) * draw.choose(1, 30)
    for case, options in _rules(draw, 2, 3, 7).items():
        found = weighting.masked_softmax(scores, **options)
        expected = oracle.masked_softmax(scores, **_on_cpu(options))
        yield draw.compare(case, found, expected)
        hidden = found.detach().cpu()[expected == 0].double()
        yield Comparison(f"{case}, padding", hidden, torch.zeros_like(hidden), 0.0)


def compare_pooling(draw: Draw) -> Iterator[Comparison]:
    """Weighted sums, and the average of near values."""
    weights, values = draw.normal(2, 3, 7).softmax(-1), draw.normal(2, 7, 2)
    yield draw.compare("pool", pooling.pool(weights, values), oracle.pool(weights, values))
    queries, keys, lengths = draw.normal(2, 3, 5), draw.normal(2, 7, 5), draw.lengths(7, 2)
    inputs = queries, keys, values, 2.0, lengths
    yield draw.compare("kernel", pooling.kernel_pool(*inputs), oracle.kernel_pool(*inputs), 2)


def compare_masks(draw: Draw) -> Iterator[Comparison]:
    """Each rule about queries and keys; the last query is at the position of the last key."""
    shape, device = (2, 5, 7), draw.device
    lens, starts = draw.lengths(7, 2), draw.lengths(7, 2)
    documents = draw.lengths(2, 2, 7)
    window, ahead, sinks = draw.choose(1, 2, 4), draw.choose(0, 1, 3), draw.choose(0, 1, 2)
    positions = torch.stack([torch.arange(7), torch.randperm(7, generator=draw.generator)])
    found = {
        "length": masks.length_mask(lens, shape, device),
        "start": rules.start_mask(starts, shape, device),
        "causal": masks.causal_mask(shape, device),
        "window": rules.window_mask(shape, window, ahead, device),
        "prefix": rules.prefix_mask(lens, shape, device),
        "documents": rules.document_mask(documents, shape, device),
        "positions": rules.position_mask(
            positions[:, 2:], positions, shape, device, window=window, sinks=sinks
        ),
    }

    def by_position(i: int, q: int, k: int) -> bool:
        query, key = int(positions[i, q + 2]), int(positions[i, k])
        return key <= query and (key > query - window or key < sinks)

    sees: dict[str, Callable[[int, int, int], bool]] = {
        "length": lambda i, _, k: k < int(lens[i]),
        "start": lambda i, _, k: k >= int(starts[i]),
        "causal": lambda _, q, k: k <= q + 2,
        "window": lambda _, q, k: q + 2 - window < k <= q + 2 + ahead,
        "prefix": lambda i, q, k: k < int(lens[i]) or k <= q + 2,
        "documents": lambda i, q, k: bool(documents[i, q + 2] == documents[i, k]),
        "positions": by_position,
    }
    for case, mask in found.items():
        yield Comparison(case, mask.expand(shape), oracle.table(shape, sees[case]), 0.0)


def compare_positions(draw: Draw) -> Iterator[Comparison]:
    """Encodings of positions, added to vectors or turning them."""
    made = position.sinusoidal_encoding(11, 6, device=draw.device, dtype=draw.dtype)
    yield draw.compare("sinusoidal", made, oracle.sinusoidal_encoding(11, 6))
    vectors, at = draw.normal(2, 3, 7, 6), torch.arange(7) * draw.choose(1, 500)
    for layout in ("adjacent", "halves"):
        turned = position.rotary_encoding(vectors, at.to(draw.device), layout=layout)
        expected = oracle.rotate(vectors, at.tolist(), layout)
        yield draw.compare(f"rotary, {layout}", turned, expected, 4)


def compare_layer(make: Callable[[Draw], _Case], path: str, draw: Draw) -> Iterator[Comparison]:
    """A layer by one path: output, weights and slopes, with padding that is NaN."""
    case = make(draw)
    sizes = case.inputs[0].shape[0], case.inputs[0].shape[-2], case.inputs[1].shape[-2]
    for name, options in _rules(draw, *sizes).items():
        expected, weights = case.formula(case.inputs, _on_cpu(options))
        unseen = (weights.flatten(1, -2).sum(dim=1) == 0).to(draw.device)
        case.layer.keep_weights = draw.choose(True, False)
        junk = [_with_junk(each, unseen) for each in case.inputs[1:]]
        with take_path(path):
            output = case.layer(case.inputs[0], *junk, **options)
            yield draw.compare(f"{name}, output", output, expected, case.slack)
            if case.layer.keep_weights:
                found = case.layer.attention_weights
                yield draw.compare(f"{name}, weights", found, weights, case.slack)
        if draw.dtype in SLOPES:
            with take_path(path):
                yield _compare_slope(case, name, options, draw)


class _Case(NamedTuple):
    """A layer, its inputs, and the formula of its output and its weights."""

    layer: Any
    inputs: list[Tensor]
    formula: Callable[[list[Tensor], Mapping[str, Any]], tuple[Tensor, Tensor]]
    slack: float = 1


def _compare_slope(case: _Case, name: str, options: Mapping[str, Any], draw: Draw) -> Comparison:
    """The derivative along one random direction, and a difference of the formula's values."""
    leaves = [each.detach().clone().requires_grad_() for each in case.inputs]
    output = case.layer(*leaves, **options)
    upstream = draw.normal(*output.shape)
    found = torch.autograd.grad(output, leaves, upstream)
    ways = [draw.normal(*each.shape) for each in leaves]
    slope = torch.stack([(g * way).sum() for g, way in zip(found, ways, strict=True)]).sum()
    values = []
    for sign in (1, -1):
        moved = [
            each.cpu().double() + sign * STEP * way.cpu().double()
            for each, way in zip(case.inputs, ways, strict=True)
        ]
        expected, _ = case.formula(moved, _on_cpu(options))
        values.append((expected * upstream.cpu().double()).sum())
    difference = (values[0] - values[1]) / (2 * STEP)
    return Comparison(f"{name}, slope", slope, difference, SLOPES[draw.dtype] * 4)


def _dot_product(draw: Draw) -> _Case:
    axes = draw.choose((), (3,))
    inputs = [draw.normal(2, *axes, *size) for size in ((3, 4), (7, 4), (7, draw.choose(4, 2)))]

    def formula(inputs: list[Tensor], options: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        scores = oracle.scaled_dot_score(*inputs[:2])
        weights = oracle.masked_softmax(scores, **options)
        return oracle.pool(weights, inputs[2]), weights

    return _Case(DotProductAttention().to(draw.device), inputs, formula, slack=4)


def _additive(draw: Draw) -> _Case:
    layer = draw.layer(AdditiveAttention(key_size=5, query_size=4, num_hiddens=6))
    inputs = [draw.normal(2, *size) for size in ((draw.choose(1, 3), 4), (7, 5), (7, 2))]

    def formula(inputs: list[Tensor], options: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        scores = oracle.projected_additive_score(layer.state_dict(), *inputs[:2])
        weights = oracle.masked_softmax(scores, **options)
        return oracle.pool(weights, inputs[2]), weights

    return _Case(layer, inputs, formula, slack=4)


def _multi_head(draw: Draw) -> _Case:
    heads, rotary = draw.choose((4, 4), (4, 2), (6, 1)), draw.choose(True, False)
    layer = _make_multi_head(draw, heads, rotary)
    inputs = [draw.normal(2, *size) for size in ((3, 5), (7, 5), (7, 5))]

    def formula(inputs: list[Tensor], options: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        return oracle.multi_head_attention(
            layer.state_dict(), heads, inputs, rotary=rotary, **options
        )

    return _Case(layer, inputs, formula, slack=8)


def _make_multi_head(draw: Draw, heads: tuple[int, int], rotary: bool) -> MultiHeadAttention:
    turn = position.rotary_encoding if rotary else None
    layer = MultiHeadAttention(
        5, 5, 5, 3, heads[0], num_kv_heads=heads[1], head_size=4, rotary=turn
    )
    made: MultiHeadAttention = draw.layer(layer)
    return made


def compare_caches(draw: Draw) -> Iterator[Comparison]:
    """Steps with a cache give what the whole text gives, and so does a text that is complete."""
    heads = draw.choose((4, 4), (4, 2), (6, 1))
    layer, x = _make_multi_head(draw, heads, rotary=True), draw.normal(2, 7, 5)

    def attend(texts: Tensor, **rules: Any) -> Tensor:  # noqa: ANN401 - those of the formula
        state = layer.state_dict()
        return oracle.multi_head_attention(state, heads, [texts] * 3, rotary=True, **rules)[0]

    whole = attend(x, causal=True)
    at: dict[str, Any] = {"device": draw.device, "dtype": draw.dtype}

    def run(cache: KeyValueCache, first: int, count: int, **options: Tensor) -> Tensor:
        part = x[:, first : first + count]
        with torch.no_grad(), cache.step(count, **options):
            output: Tensor = layer(part, part, part, cache=cache.layer(0))
        return output

    chunks = [(0, 3), (3, 1), (4, 1), (5, 2)]
    cache = KeyValueCache(1, 2, heads[1], 4, 4, **at)
    found = torch.cat([run(cache, *chunk) for chunk in chunks], dim=1)
    yield draw.compare("chunks", found, whole, 8)
    cache.rewind(3)
    yield draw.compare("after rewinding", run(cache, 4, 3), whole[:, 4:], 8)
    cache = KeyValueCache(1, 2, heads[1], 4, 4, window=3, sinks=1, **at)
    found = torch.cat([run(cache, *chunk) for chunk in chunks], dim=1)
    near = oracle.table((1, 7, 7), lambda _, q, k: k <= q and (k > q - 3 or k == 0))
    yield draw.compare("window", found, attend(x, mask=near[:, None]), 8)
    cache = KeyValueCache(1, 2, heads[1], 4, 4, **at)
    real = torch.tensor([[True] * 3, [False, False, True]])
    found = torch.cat([run(cache, 0, 3, valid=real), run(cache, 3, 4)], dim=1)[1:, 2:]
    padded = attend(x[1:, 2:], causal=True)
    yield draw.compare("left padding", found, padded, 8)
    layer, memory, lens = _make_multi_head(draw, heads, rotary=False), draw.normal(2, 6, 5), (4, 6)
    valid = torch.arange(6) < torch.tensor(lens)[:, None]
    with torch.no_grad():
        crossed = layer.attend(x, layer.project_keys(memory, memory, valid=valid.to(draw.device)))
    state, given = layer.state_dict(), [x, memory, memory]
    expected, _ = oracle.multi_head_attention(state, heads, given, valid_lens=torch.tensor(lens))
    yield draw.compare("a text that is complete", crossed, expected, 8)


def compare_compiled(draw: Draw) -> Iterator[Comparison]:
    """Layers in one compiled graph, run as torch runs it without kernels."""
    if draw.seed > 0:
        return  # once, as compiling takes longer than everything else
    for name, make in LAYERS.items():
        torch.compiler.reset()
        case, options = make(draw), {"valid_lens": draw.lengths(7, 2)}
        compiled: Any = torch.compile(case.layer, backend="eager", fullgraph=True)
        expected, _ = case.formula(case.inputs, options)
        yield draw.compare(name, compiled(*case.inputs, **options), expected, case.slack)


def compare_refusals(draw: Draw) -> Iterator[Comparison]:
    """Wrong arguments raise an error, and say what is wrong."""
    queries, keys = draw.normal(2, 3, 5), draw.normal(2, 7, 5)
    wrong = {
        "a length past the end": (queries, keys, keys, torch.tensor([8, 1])),
        "a length below zero": (queries, keys, keys, torch.tensor([3, -1])),
        "another batch": (queries[:1], keys, keys),
        "other sizes": (queries[..., 1:], keys, keys),
        "whole numbers": (queries.long(), keys, keys),
    }
    for case, arguments in wrong.items():
        try:
            DotProductAttention()(*arguments)
        except (TypeError, ValueError):
            refused = 1.0
        else:
            refused = 0.0
        yield Comparison(case, torch.tensor(refused), torch.ones(()), 0.0)


def _rules(draw: Draw, batch: int, num_queries: int, num_keys: int) -> dict[str, dict[str, Any]]:
    """What may hide keys, in three of the ways that there are."""
    lens = draw.lengths(num_keys, batch)
    per_query = draw.lengths(num_keys, batch, num_queries)
    mask = draw.lengths(1, num_queries, num_keys) == 1
    lens[0], mask[0] = 0, False  # there is always a query with nothing to attend to
    return {
        "all keys": {},
        "lengths": {"valid_lens": lens, "causal": draw.choose(True, False)},
        "mask": {"valid_lens": draw.choose(None, per_query), "mask": mask.to(draw.device)},
    }


def _on_cpu(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: it.cpu() if isinstance(it, Tensor) else it for name, it in options.items()}


def _with_junk(tensor: Tensor, unseen: Tensor) -> Tensor:
    """NaN where no query sees the key; `unseen` is `(batch, num_keys)`."""
    axes = (slice(None), *[None] * (tensor.dim() - 3), slice(None), None)
    return torch.where(unseen[axes], torch.nan, tensor)


LAYERS: dict[str, Callable[[Draw], _Case]] = {
    "dot product": _dot_product,
    "additive": _additive,
    "multi-head": _multi_head,
}
PARTS: dict[str, Callable[[Draw], Iterator[Comparison]]] = {
    "scores": compare_scores,
    "weights": compare_weights,
    "pooling": compare_pooling,
    "masks": compare_masks,
    "positions": compare_positions,
    **{
        f"{name}, {path}": partial(compare_layer, make, path)
        for name, make in LAYERS.items()
        for path in PATHS
    },
    "caches": compare_caches,
    "compiled": compare_compiled,
    "refusals": compare_refusals,
}
