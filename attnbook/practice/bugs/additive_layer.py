"""Known bugs of the task additive-layer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnbook.practice.steps import where_padding
from attnbook.practice.tasks.additive_layer import Layer, task


@task.bug(
    symptom="Two different queries give the same weights.",
    origin="the book's own first draft",
    mend="put `torch.tanh` around the sum: else the query's term adds the same to each score of "
    "its row, and the softmax cancels it.",
    case="queries and keys of 2 numbers, 8 hidden units, no lengths",
)
class no_tanh(Layer):
    """the sum of W_q q and W_k k goes to w_v without `tanh`."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        both: Tensor = self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]
        return both @ self.w_v.weight[0]


@task.bug(
    symptom="It trained well until queries and keys had different sizes; now it crashes.",
    origin="the book's own first draft",
    mend="W_q belongs to the queries, W_k to the keys.",
    case="queries and keys of 2 numbers, 8 hidden units, no lengths",
)
class matrices_swapped(Layer):
    """W_k is applied to the queries and W_q to the keys, which fit while both are equally long."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.W_k(queries)[:, :, None] + self.W_q(keys)[:, None])
        return hidden @ self.w_v.weight[0]


@task.bug(
    symptom="One of the three matrices never gets a gradient.",
    origin="a common slip",
    mend="apply W_q to the queries.",
    case="queries and keys of 2 numbers, 8 hidden units, no lengths",
)
class one_matrix_for_both(Layer):
    """W_k is applied to queries and keys alike, and W_q is never used."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.W_k(queries)[:, :, None] + self.W_k(keys)[:, None])
        return hidden @ self.w_v.weight[0]


@task.bug(
    symptom="With a single query each value is taken whole: the output is their sum.",
    origin="the book's own first draft, without lengths",
    mend="take the softmax over the keys, the last axis: `dim=-1`.",
    case="queries and keys of 2 numbers, 8 hidden units, no lengths",
)
class softmax_over_the_queries(Layer):
    """the softmax is taken over the queries."""

    def weigh(self, scores: Tensor, valid_lens: Tensor | None) -> Tensor:
        return scores.softmax(1).masked_fill(where_padding(scores, valid_lens), 0)


@task.bug(
    symptom="All weights are nearly alike, the more so the more hidden units there are.",
    origin="a common slip",
    mend="leave the scores as they are: the root belongs to the dot product.",
    case="queries and keys of 2 numbers, 8 hidden units, no lengths",
)
class divided_by_the_root(Layer):
    """the scores are divided by √num_hiddens, as those of the dot product would be."""

    def weigh(self, scores: Tensor, valid_lens: Tensor | None) -> Tensor:
        return super().weigh(scores / math.sqrt(self.w_v.in_features), valid_lens)


@task.bug(
    symptom="More padding in the batch changes the output.",
    origin="a common slip",
    mend="fill the scores of padding with -inf before the softmax.",
    case="a length for each example",
)
class padding_is_seen(Layer):
    """`valid_lens` is never used, so padding takes part."""

    def weigh(self, scores: Tensor, valid_lens: Tensor | None) -> Tensor:
        del valid_lens
        return scores.softmax(-1)


@task.bug(
    symptom="A third of the attention goes to padding.",
    origin="the book's own first draft",
    mend="fill with -inf: a score of 0 is an ordinary score.",
    case="a length for each example",
)
class padding_scores_zero(Layer):
    """the scores of padding are filled with 0, which is no low score."""

    def weigh(self, scores: Tensor, valid_lens: Tensor | None) -> Tensor:
        return scores.masked_fill(where_padding(scores, valid_lens), 0).softmax(-1)


@task.bug(
    symptom="It works in the book's example; with 16 hidden units it crashes.",
    origin="the book's own first draft",
    mend="write `num_hiddens` for the 8: `nn.Linear(num_hiddens, 1, bias=False)`.",
    case="16 hidden units",
)
class eight_hidden_units(Layer):
    """a matrix is made for 8 hidden units, whatever `num_hiddens` says."""

    def __init__(self, key_size: int, query_size: int, num_hiddens: int) -> None:
        super().__init__(key_size, query_size, num_hiddens)
        self.w_v = nn.Linear(8, 1, bias=False)


@task.bug(
    symptom="It works in the book's example; with longer keys it crashes.",
    origin="the book's own first draft",
    mend="write `nn.Linear(key_size, …)` and `nn.Linear(query_size, …)`.",
    case="queries and keys of 3 numbers",
)
class two_numbers_each(Layer):
    """`W_q` or `W_k` takes vectors of 2 numbers, whatever `query_size` and `key_size` say."""

    def __init__(self, key_size: int, query_size: int, num_hiddens: int) -> None:
        super().__init__(key_size, query_size, num_hiddens)
        self.W_k = nn.Linear(2, num_hiddens, bias=False)
        self.W_q = nn.Linear(2, num_hiddens, bias=False)


@task.bug(
    symptom="It works while queries and keys are equally long, and else it crashes.",
    origin="a common slip",
    mend="W_k takes `key_size` numbers and W_q takes `query_size`.",
    case="queries longer than keys",
)
class sizes_swapped(Layer):
    """`W_k` is made for vectors of query_size and `W_q` for those of key_size."""

    def __init__(self, key_size: int, query_size: int, num_hiddens: int) -> None:
        super().__init__(query_size, key_size, num_hiddens)


@task.bug(
    symptom="It works in training; a single query, as in decoding, gives a wrong shape.",
    origin="a common slip",
    mend="say which axis goes: `scores.squeeze(-1)`.",
    case="one query",
)
class every_axis_of_one_goes(Layer):
    """`squeeze()` is written without an axis, and takes the queries' axis with it if it is 1."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])
        scores: Tensor = self.w_v(hidden).squeeze()
        return scores


@task.bug(
    symptom="One example of the batch is empty, and its output is NaN.",
    origin="pytorch#103749 and ten more threads",
    mend="clear the rows that see nothing: where each score is -inf, the softmax is 0/0.",
    case="an example that may see nothing",
)
class nothing_seen_is_nan(Layer):
    """padding is filled with -inf, and nobody thinks of an example that is all padding."""

    def weigh(self, scores: Tensor, valid_lens: Tensor | None) -> Tensor:
        return scores.masked_fill(where_padding(scores, valid_lens), -math.inf).softmax(-1)
