"""Known bugs of the task additive-score."""

from __future__ import annotations

import math

from torch import Tensor

from attnbook.practice.tasks.additive_score import sums_of_pairs, task


@task.bug(
    symptom="Two different queries give the same weights.",
    origin="the book's own first draft",
    mend="put `torch.tanh` around the sum, before w_v; else the query's term adds the same to "
    "each score of its row, and the softmax cancels it.",
    case="queries as long as keys",
)
def no_tanh(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    """the sum goes to w_v without `tanh`."""
    return sums_of_pairs(queries @ W_q.T, keys @ W_k.T) @ w_v


@task.bug(
    symptom="It trained well until queries and keys had different sizes; now it crashes.",
    origin="the book's own first draft",
    mend="W_q belongs to the queries, W_k to the keys.",
    case="queries as long as keys",
)
def matrices_swapped(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """W_k is applied to the queries and W_q to the keys, which fit while both are equally long."""
    return sums_of_pairs(queries @ W_k.T, keys @ W_q.T).tanh() @ w_v


@task.bug(
    symptom="All keys get the same weight, whatever they hold.",
    origin="PyTorch's seq2seq tutorial (stored version), #2840, #3643",
    mend="add W_k k inside of `tanh`.",
    case="queries as long as keys",
)
def keys_are_not_looked_at(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """the scores come from the query alone and never look at the keys."""
    del W_k
    scores = (queries @ W_q.T).tanh() @ w_v
    return scores[:, :, None].expand(-1, -1, keys.shape[1])


@task.bug(
    symptom="Each query gets the same weights, whatever it holds.",
    origin="a common slip",
    mend="add W_q q inside of `tanh`.",
    case="queries as long as keys",
)
def queries_are_not_looked_at(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """the scores come from the key alone and never look at the query."""
    del W_q
    scores = (keys @ W_k.T).tanh() @ w_v
    return scores[:, None].expand(-1, queries.shape[1], -1)


@task.bug(
    symptom="It learns, and reaches other weights than the paper's.",
    origin="a common slip",
    mend="take `torch.tanh`, which goes from -1 to 1; the sigmoid goes from 0 to 1.",
    case="queries as long as keys",
)
def sigmoid_in_place_of_tanh(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """the sum goes through the sigmoid in place of `tanh`."""
    return sums_of_pairs(queries @ W_q.T, keys @ W_k.T).sigmoid() @ w_v


@task.bug(
    symptom="All scores lie between -1 and 1, so no weight becomes large.",
    origin="a common slip",
    mend="put `tanh` around W_q q + W_k k, then take w_v.",
    case="queries as long as keys",
)
def tanh_after_w_v(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    """`tanh` is taken of the finished score, after w_v."""
    return (sums_of_pairs(queries @ W_q.T, keys @ W_k.T) @ w_v).tanh()


@task.bug(
    symptom="The scores of a row differ from those of another by the same number everywhere.",
    origin="a common slip",
    mend="add first, then take `tanh` of the sum.",
    case="queries as long as keys",
)
def tanh_of_each(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    """`tanh` is taken of W_q q and of W_k k by themselves, before they are added."""
    return sums_of_pairs((queries @ W_q.T).tanh(), (keys @ W_k.T).tanh()) @ w_v


@task.bug(
    symptom="A query of zeros gives each key the score 0.",
    origin="a common slip",
    mend="add W_q q and W_k k; that is why the score is called additive.",
    case="queries as long as keys",
)
def product_in_place_of_the_sum(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """W_q q and W_k k are multiplied, where they should be added."""
    return ((queries @ W_q.T)[:, :, None] * (keys @ W_k.T)[:, None]).tanh() @ w_v


@task.bug(
    symptom="A pretrained layer's weights give other scores here.",
    origin="a common slip",
    mend="add: a difference can be learned, but with other weights than these.",
    case="queries as long as keys",
)
def key_minus_query(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    """the query is subtracted from the key, as in a distance, where both should be added."""
    return sums_of_pairs(-queries @ W_q.T, keys @ W_k.T).tanh() @ w_v


@task.bug(
    symptom="All weights are nearly alike, the more so the more hidden units there are.",
    origin="a common slip",
    mend="leave the scores as they are: the root belongs to the dot product.",
    case="queries as long as keys",
)
def divided_by_the_root(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """the scores are divided by √num_hiddens, as those of the dot product would be."""
    return sums_of_pairs(queries @ W_q.T, keys @ W_k.T).tanh() @ w_v / math.sqrt(len(w_v))


@task.bug(
    symptom="It is right on squares, and else each row belongs to a key.",
    origin="a common slip",
    mend="give queries an axis for the keys after their own, `[:, :, None]`, and keys one for the "
    "queries before theirs, `[:, None]`.",
    case="as many queries as keys",
)
def queries_and_keys_change_places(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """the scores are transposed, a row for each key and a column for each query."""
    return sums_of_pairs(keys @ W_k.T, queries @ W_q.T).tanh() @ w_v
