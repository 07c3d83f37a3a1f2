"""Known bugs of the task causal-mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.tasks.causal_mask import positions_of_queries, task


def _triangle(num_queries: int, num_keys: int, diagonal: int = 0) -> Tensor:
    """Give a triangle whose diagonal is moved from where it belongs."""
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(diagonal=num_keys - num_queries + diagonal)


@task.bug(
    symptom="With the keys kept, each new token sees the first token only.",
    origin="pytorch#108108, executorch#21749: `is_causal=True` of PyTorch's SDPA",
    mend="move the diagonal: `tril(diagonal=num_keys - num_queries)`.",
    case="fewer queries than keys",
)
def counted_from_the_first_key(num_queries: int, num_keys: int) -> Tensor:
    """the queries are taken to stand at the first positions of the keys, where they stand last."""
    return torch.ones(num_queries, num_keys).tril().bool()


@task.bug(
    symptom="The mask of a long text is right, and with kept keys some queries see nothing at all.",
    origin="a common slip",
    mend="turn the difference round: a diagonal above the main one is positive, "
    "`num_keys - num_queries`.",
    case="fewer queries than keys",
)
def diagonal_of_the_wrong_sign(num_queries: int, num_keys: int) -> Tensor:
    """the diagonal is moved by num_queries - num_keys, down where it should go up."""
    return torch.ones(num_queries, num_keys).tril(diagonal=num_queries - num_keys).bool()


@task.bug(
    symptom="The first row of weights is NaN, or zeros.",
    origin="a common slip",
    mend="compare by `<=`: a query sees its own position.",
    case="as many queries as keys",
)
def own_position_hidden(num_queries: int, num_keys: int) -> Tensor:
    """each query sees the keys before its own position, and its own is hidden."""
    return _triangle(num_queries, num_keys, -1)


@task.bug(
    symptom="Training goes to a loss near 0, and what is generated is nonsense.",
    origin="a common slip",
    mend="stop at the own position: the next token is what is to be guessed.",
    case="as many queries as keys",
)
def next_key_visible(num_queries: int, num_keys: int) -> Tensor:
    """each query sees the key after its own position, too."""
    return _triangle(num_queries, num_keys, 1)


@task.bug(
    symptom="The model cheats: it sees what it has to guess, and nothing before it.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    mend="turn it round with `~`: here True = visible, elsewhere True may mean hidden.",
    case="as many queries as keys",
)
def true_means_hidden(num_queries: int, num_keys: int) -> Tensor:
    """what is hidden is True, and what is visible False."""
    return ~_triangle(num_queries, num_keys)


@task.bug(
    symptom="The first query sees everything, the last one only itself.",
    origin="a common slip",
    mend="take `tril`, the lower triangle: what comes before stands on the left.",
    case="as many queries as keys",
)
def only_the_future_visible(num_queries: int, num_keys: int) -> Tensor:
    """the triangle is the upper one, so each query sees its own position and the future."""
    return torch.ones(num_queries, num_keys).triu(diagonal=num_keys - num_queries).bool()


@task.bug(
    symptom="Each output is just the value at its own position.",
    origin="a common slip",
    mend="compare by `<=`, not by `==`.",
    case="as many queries as keys",
)
def only_the_own_position_visible(num_queries: int, num_keys: int) -> Tensor:
    """each query sees the key at its own position, and none before it."""
    return torch.arange(num_keys) == positions_of_queries(num_queries, num_keys)


@task.bug(
    symptom="Added to the scores, it hides nothing.",
    origin="read in code that adds such a mask to the scores",
    mend="make it boolean: `dtype=torch.bool`, or `mask == 1`.",
    case="as many queries as keys",
)
def ones_and_zeros(num_queries: int, num_keys: int) -> Tensor:
    """the mask holds the numbers 1.0 and 0.0, where True and False belong."""
    return _triangle(num_queries, num_keys).float()


@task.bug(
    symptom="`masked_fill` refuses it; added to the scores, it works.",
    origin="a common slip; torch's `generate_square_subsequent_mask` makes such a mask",
    mend="leave it boolean; whoever adds it can fill it.",
    case="as many queries as keys",
)
def numbers_to_be_added(num_queries: int, num_keys: int) -> Tensor:
    """the mask holds 0 and -inf, to be added to scores, where True and False belong."""
    hidden = ~_triangle(num_queries, num_keys)
    return torch.zeros(num_queries, num_keys).masked_fill(hidden, -math.inf)


@task.bug(
    symptom="It works on whole texts; with kept keys the shapes do not fit.",
    origin="a common slip",
    mend="take the last num_queries rows of the square.",
    case="fewer queries than keys",
)
def always_a_square(num_queries: int, num_keys: int) -> Tensor:
    """the mask has a row for each key, and the number of queries is never used."""
    del num_queries
    return _triangle(num_keys, num_keys)
