"""Slow oracles in float64 Python loops, independent of attnbook.

They take tensors of any dtype with 3 or 4 axes and return float64 tensors. The
oracle of whole layers is in `tests/core/random_calls.py`.
"""

import itertools
import math

import torch


def _vectors(tensor):
    return tensor.detach().double().cpu().tolist()


def _per_matrix(function, *tensors):
    """Apply a function of matrices to each batch element, and to each head."""
    if tensors[0].dim() == 2:
        return function(*(_vectors(tensor) for tensor in tensors))
    return [_per_matrix(function, *parts) for parts in zip(*tensors, strict=True)]


def _scores(pair, queries, keys):
    def matrix(rows, columns):
        return [[pair(query, key) for key in columns] for query in rows]

    scores = torch.tensor(_per_matrix(matrix, queries, keys), dtype=torch.float64)
    return scores.reshape(*queries.shape[:-1], keys.shape[-2])


def dot_score(queries, keys):
    return _scores(lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)), queries, keys)


def scaled_dot_score(queries, keys):
    return dot_score(queries, keys) / math.sqrt(queries.shape[-1])


def bilinear_score(queries, keys, weight):
    rows = _vectors(weight)

    def pair(q, k):
        return sum(a * rows[i][j] * b for i, a in enumerate(q) for j, b in enumerate(k))

    return _scores(pair, queries, keys)


def additive_score(queries, keys, weight):
    w = _vectors(weight)

    def pair(q, k):
        return sum(w[i] * math.tanh(q[i] + k[i]) for i in range(len(w)))

    return _scores(pair, queries, keys)


def gaussian_score(queries, keys, width=1.0):
    def pair(q, k):
        return -sum((a - b) ** 2 for a, b in zip(q, k, strict=True)) / (2 * width**2)

    return _scores(pair, queries, keys)


def _length(valid_lens, example, query, num_keys):
    if valid_lens is None:
        return num_keys
    chosen = valid_lens[example] if valid_lens.dim() == 1 else valid_lens[example, query]
    return int(chosen.item())


def _softmax_row(row, sees):
    if not any(sees):
        return [0.0] * len(row)
    highest = max(score for score, seen in zip(row, sees, strict=True) if seen)
    exponentials = [
        math.exp(score - highest) if seen else 0.0 for score, seen in zip(row, sees, strict=True)
    ]
    return [exponential / sum(exponentials) for exponential in exponentials]


def _shows(mask, index, key):
    """Whether a mask shows a key; it has the scores' axes, or the last two, each that long or 1."""
    at = (*index, key)[-mask.dim() :]
    return bool(mask[tuple(i if size > 1 else 0 for i, size in zip(at, mask.shape, strict=True))])


def masked_softmax(scores, valid_lens=None, *, causal=False, mask=None):
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


def pool(weights, values):
    def matrix(rows, memory):
        columns = [*zip(*memory, strict=True)]
        return [
            [sum(w * value for w, value in zip(row, column, strict=True)) for column in columns]
            for row in rows
        ]

    return torch.tensor(_per_matrix(matrix, weights, values), dtype=torch.float64)


def dot_product_attention(queries, keys, values, valid_lens=None):
    return pool(masked_softmax(scaled_dot_score(queries, keys), valid_lens), values)


def _project(tensor, matrix):
    rows = _vectors(matrix)

    def project(vectors):
        return [
            [sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows]
            for vector in vectors
        ]

    return torch.tensor(_per_matrix(project, tensor), dtype=torch.float64)


def additive_attention(state, queries, keys, values, valid_lens=None):
    projected = _project(queries, state["W_q.weight"]), _project(keys, state["W_k.weight"])
    scores = additive_score(*projected, state["w_v.weight"][0])
    return pool(masked_softmax(scores, valid_lens), values)


def kernel_pool(queries, keys, values, width=1.0, valid_lens=None):
    return pool(masked_softmax(gaussian_score(queries, keys, width), valid_lens), values)
