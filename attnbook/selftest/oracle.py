"""What attention must compute: loops over lists in float64, which import nothing of this package.

They take tensors of any dtype and device, with 3 or 4 axes, and return float64 tensors on the CPU.
The tests of the layers use them, and so does `python -m attnbook selftest`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

Vector = list[float]
Matrix = list[Vector]


def _vectors(tensor: Tensor) -> Any:  # noqa: ANN401 - lists in lists
    return tensor.detach().cpu().double().tolist()  # Apple's GPUs have no float64


def _per_matrix(function: Callable[..., Matrix], *tensors: Tensor) -> Any:  # noqa: ANN401
    """Apply a function of matrices to each batch element, and to each head."""
    if tensors[0].dim() == 2:
        return function(*(_vectors(tensor) for tensor in tensors))
    return [_per_matrix(function, *parts) for parts in zip(*tensors, strict=True)]


def _scores(pair: Callable[[Vector, Vector], float], queries: Tensor, keys: Tensor) -> Tensor:
    def matrix(rows: Matrix, columns: Matrix) -> Matrix:
        return [[pair(query, key) for key in columns] for query in rows]

    scores = torch.tensor(_per_matrix(matrix, queries, keys), dtype=torch.float64)
    return scores.reshape(*queries.shape[:-1], keys.shape[-2])


def dot_score(queries: Tensor, keys: Tensor) -> Tensor:
    """Score by the sum of products."""
    return _scores(lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)), queries, keys)


def scaled_dot_score(queries: Tensor, keys: Tensor) -> Tensor:
    """Score by the sum of products, divided by the root of their number."""
    return dot_score(queries, keys) / math.sqrt(queries.shape[-1])


def bilinear_score(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Score by a matrix between query and key."""
    rows: Matrix = _vectors(weight)

    def pair(q: Vector, k: Vector) -> float:
        return sum(a * rows[i][j] * b for i, a in enumerate(q) for j, b in enumerate(k))

    return _scores(pair, queries, keys)


def additive_score(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Score by a weighted sum of tanh(q + k)."""
    w: Vector = _vectors(weight)

    def pair(q: Vector, k: Vector) -> float:
        return sum(w[i] * math.tanh(q[i] + k[i]) for i in range(len(w)))

    return _scores(pair, queries, keys)


def gaussian_score(queries: Tensor, keys: Tensor, width: float = 1.0) -> Tensor:
    """Score by the squared distance."""

    def pair(q: Vector, k: Vector) -> float:
        return -sum((a - b) ** 2 for a, b in zip(q, k, strict=True)) / (2 * width**2)

    return _scores(pair, queries, keys)


def _length(valid_lens: Tensor | None, example: int, query: int, num_keys: int) -> int:
    if valid_lens is None:
        return num_keys
    chosen = valid_lens[example] if valid_lens.dim() == 1 else valid_lens[example, query]
    return int(chosen.item())


def _softmax_row(row: Vector, sees: Sequence[bool]) -> Vector:
    if not any(sees):
        return [0.0] * len(row)
    highest = max(score for score, seen in zip(row, sees, strict=True) if seen)
    exponentials = [
        math.exp(score - highest) if seen else 0.0 for score, seen in zip(row, sees, strict=True)
    ]
    return [exponential / sum(exponentials) for exponential in exponentials]


def _shows(mask: Tensor, index: tuple[int, ...], key: int) -> bool:
    """Whether a mask shows a key; it has the scores' axes, or the last two, each that long or 1."""
    at = (*index, key)[-mask.dim() :]
    return bool(mask[tuple(i if size > 1 else 0 for i, size in zip(at, mask.shape, strict=True))])


def masked_softmax(
    scores: Tensor,
    valid_lens: Tensor | None = None,
    *,
    causal: bool = False,
    mask: Tensor | None = None,
) -> Tensor:
    """Weigh the keys that each query may see; a query without any gets zeros."""
    weights = torch.zeros(scores.shape, dtype=torch.float64)
    num_queries, num_keys = scores.shape[-2:]
    for index in itertools.product(*map(range, scores.shape[:-1])):
        length = _length(valid_lens, index[0], index[-1], num_keys)
        if causal:  # the last query is at the position of the last key
            length = min(length, num_keys - num_queries + index[-1] + 1)
        sees = [
            key < length and (mask is None or _shows(mask, index, key)) for key in range(num_keys)
        ]
        row = _softmax_row(_vectors(scores[index]), sees)
        weights[index] = torch.tensor(row, dtype=torch.float64)
    return weights


def pool(weights: Tensor, values: Tensor) -> Tensor:
    """Sum the values, each multiplied by its weight."""

    def matrix(rows: Matrix, memory: Matrix) -> Matrix:
        columns = [*zip(*memory, strict=True)]
        return [
            [sum(w * value for w, value in zip(row, column, strict=True)) for column in columns]
            for row in rows
        ]

    return torch.tensor(_per_matrix(matrix, weights, values), dtype=torch.float64)


def dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
) -> Tensor:
    """Score by the scaled dot product, weigh and pool."""
    return pool(masked_softmax(scaled_dot_score(queries, keys), valid_lens), values)


def project(tensor: Tensor, matrix: Tensor) -> Tensor:
    """Multiply each vector by a matrix, as `nn.Linear` without a bias."""
    rows = _vectors(matrix)

    def product(vectors: Matrix) -> Matrix:
        return [
            [sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows]
            for vector in vectors
        ]

    return torch.tensor(_per_matrix(product, tensor), dtype=torch.float64)


def projected_additive_score(state: Mapping[str, Tensor], queries: Tensor, keys: Tensor) -> Tensor:
    """Score as `AdditiveAttention` with these parameters."""
    projected = project(queries, state["W_q.weight"]), project(keys, state["W_k.weight"])
    return additive_score(*projected, state["w_v.weight"][0])


def additive_attention(
    state: Mapping[str, Tensor],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None = None,
) -> Tensor:
    """Project, score by the small network, weigh and pool."""
    return pool(masked_softmax(projected_additive_score(state, queries, keys), valid_lens), values)


def kernel_pool(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    width: float = 1.0,
    valid_lens: Tensor | None = None,
) -> Tensor:
    """Score by the squared distance, weigh and pool."""
    return pool(masked_softmax(gaussian_score(queries, keys, width), valid_lens), values)


def sinusoidal_encoding(positions: int, size: int) -> Tensor:
    """Sine and cosine of each position, over ever longer waves."""
    rows = [
        [
            (math.cos if i % 2 else math.sin)(position / 10_000 ** ((i - i % 2) / size))
            for i in range(size)
        ]
        for position in range(positions)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def rotate_vector(
    vector: Tensor,
    position: float,
    size: int | None = None,
    base: float = 10_000,
    layout: str = "adjacent",
) -> Tensor:
    """Turn one vector, pair by pair, or its first `size` components."""
    size, parts = len(vector) if size is None else size, [*vector.unbind()]
    for pair in range(size // 2):
        one, other = (2 * pair, 2 * pair + 1) if layout == "adjacent" else (pair, pair + size // 2)
        angle = position / base ** (2 * pair / size)
        a, b = vector[one], vector[other]
        parts[one] = a * math.cos(angle) - b * math.sin(angle)
        parts[other] = a * math.sin(angle) + b * math.cos(angle)
    return torch.stack(parts)


def rotate(vectors: Tensor, positions: Sequence[int], layout: str = "adjacent") -> Tensor:
    """Turn vectors by their position; the last two axes are positions and size."""
    indices = itertools.product(*map(range, vectors.shape[:-1]))
    rows = [
        rotate_vector(vectors[index].cpu().double(), positions[index[-1]], layout=layout)
        for index in indices
    ]
    return torch.stack(rows).reshape(vectors.shape)


def multi_head_attention(
    state: Mapping[str, Tensor],
    heads: tuple[int, int],
    inputs: Sequence[Tensor],
    *,
    rotary: bool = False,
    **rules: Any,  # noqa: ANN401 - those of `masked_softmax`
) -> tuple[Tensor, Tensor]:
    """Project, split into heads of queries and of keys, attend in each, join and project.

    Returns the output and the weights. With `rotary` queries and keys are turned; the last query is
    at the position of the last key.
    """

    def split(tensor: Tensor, name: str, count: int) -> Tensor:
        projected = project(tensor, state[f"W_{name}.weight"])
        return projected.reshape(*projected.shape[:2], count, -1).transpose(1, 2)

    num_heads, num_kv_heads = heads
    queries, keys, values = inputs
    num_queries, num_keys = queries.shape[1], keys.shape[1]
    q = split(queries, "q", num_heads)
    k, v = split(keys, "k", num_kv_heads), split(values, "v", num_kv_heads)
    if rotary:
        q, k = rotate(q, range(num_keys - num_queries, num_keys)), rotate(k, range(num_keys))
    shared = [head * num_kv_heads // num_heads for head in range(num_heads)]
    weights = masked_softmax(scaled_dot_score(q, k[:, shared]), **rules)
    joined = pool(weights, v[:, shared]).transpose(1, 2).flatten(2)
    return project(joined, state["W_o.weight"]), weights


def table(shape: Sequence[int], sees: Callable[[int, int, int], bool]) -> Tensor:
    """The mask of a rule about an example, a query and a key."""
    batch, num_queries, num_keys = shape
    rows = [
        [[sees(i, query, key) for key in range(num_keys)] for query in range(num_queries)]
        for i in range(batch)
    ]
    return torch.tensor(rows)
