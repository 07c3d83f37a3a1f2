"""Slow oracles in float64 Python loops. They share no line with attnbook, and import none.

They take tensors of any dtype with 3 or 4 axes and return nested work as float64 tensors.
"""

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
        total = 0.0
        for i, a in enumerate(q):
            for j, b in enumerate(k):
                total += a * rows[i][j] * b
        return total

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


def _position(query, num_queries, num_keys):
    """Where a query stands among the keys, when the last query stands at the last key."""
    return num_keys - num_queries + query


def _softmax_row(row, sees):
    if not any(sees):
        return [0.0] * len(row)
    highest = max(score for score, seen in zip(row, sees, strict=True) if seen)
    powers = [
        math.exp(score - highest) if seen else 0.0 for score, seen in zip(row, sees, strict=True)
    ]
    return [power / sum(powers) for power in powers]


def _told(mask, index, key):
    """What a mask says of a key: it has the scores' axes, or the last two; some are 1."""
    place = (*index, key)[-mask.dim() :]
    axes = zip(place, mask.shape, strict=True)
    return bool(mask[tuple(0 if size == 1 else at for at, size in axes)])


def masked_softmax(scores, valid_lens=None, *, causal=False, mask=None):
    weights = torch.zeros(scores.shape, dtype=torch.float64)
    for index in torch.cartesian_prod(*(torch.arange(size) for size in scores.shape[:-1])).tolist():
        row = _vectors(scores[tuple(index)])
        length = _length(valid_lens, index[0], index[-1], len(row))
        if causal:
            length = min(length, _position(index[-1], *scores.shape[-2:]) + 1)
        sees = [
            key < length and (mask is None or _told(mask, index, key)) for key in range(len(row))
        ]
        weights[tuple(index)] = torch.tensor(_softmax_row(row, sees), dtype=torch.float64)
    return weights


def pool(weights, values):
    def matrix(rows, memory):
        size = len(memory[0])
        return [
            [sum(row[j] * memory[j][column] for j in range(len(row))) for column in range(size)]
            for row in rows
        ]

    return torch.tensor(_per_matrix(matrix, weights, values), dtype=torch.float64)


def dot_product_attention(queries, keys, values, valid_lens=None, *, causal=False, mask=None):
    scores = scaled_dot_score(queries, keys)
    return pool(masked_softmax(scores, valid_lens, causal=causal, mask=mask), values)


def _project(tensor, matrix):
    rows = _vectors(matrix)

    def project(vectors):
        return [
            [sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows]
            for vector in vectors
        ]

    return torch.tensor(_per_matrix(project, tensor), dtype=torch.float64)


def additive_attention(  # noqa: PLR0913 - what the layer takes
    state, queries, keys, values, valid_lens=None, *, causal=False, mask=None
):
    projected = _project(queries, state["W_q.weight"]), _project(keys, state["W_k.weight"])
    scores = additive_score(*projected, state["w_v.weight"][0])
    return pool(masked_softmax(scores, valid_lens, causal=causal, mask=mask), values)


def multi_head_attention(state, num_heads, inputs, valid_lens=None, *, causal=False, mask=None):
    """One attention per head, with its rows of the weights; an empty row is zero.

    A mask has four axes, the second of heads, or the last two.
    """

    def project(name, tensor, rows=slice(None)):
        bias = state.get(f"{name}.bias", torch.zeros(len(state[f"{name}.weight"])))
        return _project(tensor, state[f"{name}.weight"][rows]) + bias[rows].double().cpu()

    size, heads, maps = len(state["W_q.weight"]) // num_heads, [], []
    for head in range(num_heads):
        rows = slice(head * size, (head + 1) * size)
        q, k, v = (
            project(name, tensor, rows)
            for name, tensor in zip(("W_q", "W_k", "W_v"), inputs, strict=True)
        )
        own = mask if mask is None or mask.dim() == 2 else mask[:, head % mask.shape[1]]
        maps.append(masked_softmax(scaled_dot_score(q, k), valid_lens, causal=causal, mask=own))
        heads.append(pool(maps[-1], v))
    weights = torch.stack(maps, dim=1)
    output = project("W_o", torch.cat(heads, dim=-1))
    empty = (weights.sum(dim=(1, -1)) == 0).unsqueeze(-1).expand_as(output)
    return output.masked_fill(empty, 0.0), weights


def kernel_pool(queries, keys, values, width=1.0, valid_lens=None):
    return pool(masked_softmax(gaussian_score(queries, keys, width), valid_lens), values)
