"""Known bugs of the task scaled-dot-attention."""

from __future__ import annotations

import math

from torch import Tensor
from torch.nn import functional as F

from attnbook.practice.steps import scale, weigh, where_padding
from attnbook.practice.tasks.scaled_dot_attention import Lengths, task


@task.bug(
    symptom="The weights are nearly 0 and 1, the more so the longer the vectors are.",
    origin="a common slip; in this book the weights' entropy falls to 0.03 of 1 at size 1024",
    mend="divide the scores by `math.sqrt(queries.shape[-1])` before the softmax.",
    case="all sizes differ, and nothing is padding",
)
def no_scaling(queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None) -> Tensor:
    """the scores are not divided by √query_size."""
    return weigh(queries @ keys.mT, valid_lens) @ values


@task.bug(
    symptom="All weights are nearly alike, the more so the longer the vectors are.",
    origin="a common slip",
    mend="take the root: divide by `math.sqrt(queries.shape[-1])`.",
    case="all sizes differ, and nothing is padding",
)
def division_by_the_size(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the scores are divided by query_size, without the root."""
    return weigh(queries @ keys.mT / queries.shape[-1], valid_lens) @ values


@task.bug(
    symptom="Each query takes one value and leaves the others.",
    origin="a common slip",
    mend="divide by the root: `scores / math.sqrt(…)`, not `scores * math.sqrt(…)`.",
    case="all sizes differ, and nothing is padding",
)
def multiplied_by_the_root(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the scores are multiplied by √query_size, where they should be divided."""
    return weigh(queries @ keys.mT * math.sqrt(queries.shape[-1]), valid_lens) @ values


@task.bug(
    symptom="Longer sentences give flatter weights.",
    origin="`whose d` is asked in threads such as bert_language_understanding#9",
    mend="take the size of a query, `queries.shape[-1]`; `shape[1]` of the keys is their number.",
    case="all sizes differ, and nothing is padding",
)
def root_of_the_number_of_keys(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the number of keys stands under the root, where a query's size belongs."""
    return weigh(queries @ keys.mT / math.sqrt(keys.shape[1]), valid_lens) @ values


@task.bug(
    symptom="With longer values the weights change, though no query and no key did.",
    origin="`whose d` is asked in threads such as bert_language_understanding#9",
    mend="take the size of a query, `queries.shape[-1]`: values have no part in the scores.",
    case="all sizes differ, and nothing is padding",
)
def root_of_the_value_size(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """value_size stands under the root, where query_size belongs."""
    return weigh(queries @ keys.mT / math.sqrt(values.shape[-1]), valid_lens) @ values


@task.bug(
    symptom="The weights do not sum to 1, and the longer the vectors are, the smaller the output.",
    origin="a common slip",
    mend="divide the scores, before the softmax.",
    case="all sizes differ, and nothing is padding",
)
def scaled_after_the_softmax(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the weights are divided by √query_size, where the scores should be."""
    return weigh(queries @ keys.mT, valid_lens) / math.sqrt(queries.shape[-1]) @ values


@task.bug(
    symptom="A key twice as long gets no more attention.",
    origin="a common slip",
    mend="take the dot product as it is: the length of a query or a key counts.",
    case="all sizes differ, and nothing is padding",
)
def cosine_in_place_of_the_product(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """queries and keys are normalised to length 1 first, so that only angles count."""
    scores = scale(F.normalize(queries, dim=-1), F.normalize(keys, dim=-1))
    return weigh(scores, valid_lens) @ values


@task.bug(
    symptom="The output holds keys, or has their size.",
    origin="a common slip",
    mend="multiply the weights by `values`: keys have done their part in the scores.",
    case="all sizes are 3",
)
def keys_are_pooled(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the average is taken of the keys, and the values are never used."""
    del values
    return weigh(scale(queries, keys), valid_lens) @ keys


@task.bug(
    symptom="A single query gives every key the weight 1.",
    origin="the book's own first draft, without lengths; accepted by TorchCode's judge",
    mend="take the softmax over the keys, the last axis: `dim=-1`.",
    case="all sizes differ, and nothing is padding",
)
def softmax_over_the_queries(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the softmax is taken over the queries, so that each key shares itself out."""
    scores = scale(queries, keys)
    return scores.softmax(1).masked_fill(where_padding(scores, valid_lens), 0) @ values


@task.bug(
    symptom="More padding in the batch changes the output.",
    origin="a common slip",
    mend="fill the scores of padding with -inf before the softmax.",
    case="a length for each example",
)
def padding_is_seen(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """`valid_lens` is never used, so padding takes part."""
    del valid_lens
    return scale(queries, keys).softmax(-1) @ values


@task.bug(
    symptom="The more padding there is, the smaller is the output.",
    origin="a common slip",
    mend="mask the scores, before the softmax, so that what is seen shares the whole.",
    case="a length for each example",
)
def masked_after_the_softmax(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """padding is set to 0 after the softmax, so the weights that are left sum to less than 1."""
    scores = scale(queries, keys)
    return scores.softmax(-1).masked_fill(where_padding(scores, valid_lens), 0) @ values


@task.bug(
    symptom="One example of the batch is empty, and its output is NaN.",
    origin="pytorch#103749 and ten more threads",
    mend="clear the rows that see nothing: where each score is -inf, the softmax is 0/0.",
    case="an example that may see nothing",
)
def nothing_seen_is_nan(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """padding is filled with -inf, and nobody thinks of an example that is all padding."""
    scores = scale(queries, keys)
    return scores.masked_fill(where_padding(scores, valid_lens), -math.inf).softmax(-1) @ values


@task.bug(
    symptom="One example of the batch is empty, and its output is the average of its padding.",
    origin="Dive into Deep Learning and its descendants",
    mend="clear the rows that see nothing: equal scores share the weight, however low they are.",
    case="an example that may see nothing",
)
def nothing_seen_is_an_average(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """padding is filled with a low number such as -1e6, and where all is padding, it is seen."""
    scores = scale(queries, keys)
    return scores.masked_fill(where_padding(scores, valid_lens), -1e6).softmax(-1) @ values


@task.bug(
    symptom="A little attention goes to padding, the same place in each example.",
    origin="a common slip",
    mend="positions count from 0: a key is padding if its position is at least the length, `>=`.",
    case="a length for each example",
)
def one_key_of_padding_is_seen(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """one key too many is seen: the position is compared with the length by `>`, not by `>=`."""
    return weigh(scale(queries, keys), None if valid_lens is None else valid_lens + 1) @ values


@task.bug(
    symptom="The last word of each sentence is never looked at.",
    origin="a common slip",
    mend="positions count from 0, so the last key that is seen stands at the length minus 1.",
    case="a length for each example",
)
def the_last_key_is_hidden(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """one key too few is seen."""
    return weigh(scale(queries, keys), None if valid_lens is None else valid_lens - 1) @ values


@task.bug(
    symptom="A third of the attention goes to padding.",
    origin="the book's own first draft",
    mend="fill with a number below every score, -inf, and not with 0.",
    case="a length for each example",
)
def padding_scores_zero(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the scores of padding are set to 0, which is no low score."""
    scores = scale(queries, keys)
    return scores.masked_fill(where_padding(scores, valid_lens), 0).softmax(-1) @ values


@task.bug(
    symptom="It stops at the product of queries and keys, unless all sizes are equal.",
    origin="a new reader's first try",
    mend="swap the last two axes of the keys first: `queries @ keys.mT`.",
    case="all sizes differ, and nothing is padding",
)
def keys_not_transposed(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """the keys are not transposed, so that rows of queries meet columns of keys."""
    scores = queries @ keys / math.sqrt(queries.shape[-1])
    return weigh(scores, valid_lens) @ values


@task.bug(
    symptom="Where all scores are very low, padding takes all the weight.",
    origin="older releases of transformers, which add -10,000 at padding",
    mend="fill with `-inf`, or with the lowest number of the dtype.",
    case="scores of -20,000, and padding",
)
def padding_scores_minus_10_000(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    """padding gets a score of -10,000, and some that are seen score less."""
    padding = where_padding(scale(queries, keys), valid_lens)
    weights = scale(queries, keys).masked_fill(padding, -10_000).softmax(-1)
    return weights.masked_fill(padding.all(-1, keepdim=True), 0) @ values
