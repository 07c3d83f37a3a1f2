"""Mistakes that belong to a step, and are made in every task that has the step.

A step is a task without cases: its bugs are the mistakes, each written once. `Task.inherit` puts
them into the whole. `visible` broadcasts against the scores; None means that all is visible.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.masking import mistakes as masks
from attnbook.practice.reference_steps import angles_of, filled, lowered, rotated, scale, weigh
from attnbook.practice.task import Task

score = Task("score", "Score queries by keys.", "def score(queries, keys, values):")
weighing = Task("weigh", "Weigh scores.", "def weigh(scores, visible=None):")
hiding = Task("weigh", "Weigh what is visible.", "def weigh(scores, visible):")
masking = Task("mask", "Show what is visible.", "def mask(visible):")
pooling = Task("pool", "Pool values by weights.", "def pool(weights, values, keys):")
splitting = Task("split", "Split heads.", "def split(vectors, num_heads):")
merging = Task("merge", "Merge heads.", "def merge(heads):")
turning = Task("turn", "Turn pairs of numbers.", "def turn(a, b, angles):")
angles = Task("angles", "Give the angle of each pair.", "def angles(positions, size, base):")
ATTENTION = (score, weighing, hiding, masking, pooling)

# What changes nothing where there are no heads, and where all queries see the same.
OF_HEADS = ("softmax over the heads", "scaled by the whole width")
OF_EMPTY_ROWS = ("empty rows uniform", "empty rows nan", "nan cleared too late")
OF_ROWS = ("mask transposed", "the first query's row for all")

# Scores

score.bug(
    "not scaled",
    "the scores are not divided by the root of a query's size.",
    symptom="The weights are nearly 0 and 1, the more so the longer the vectors are.",
    origin="a common mistake; in this book the weights' entropy falls to 0.03 of 1 at size 1024",
    fix="divide the scores by `math.sqrt(queries.shape[-1])` before the softmax.",
)(lambda queries, keys, _values: queries @ keys.mT)

score.bug(
    "root forgotten",
    "the scores are divided by a query's size, without the root.",
    symptom="All weights are nearly equal, the more so the longer the vectors are.",
    fix="take the root: divide by `math.sqrt(queries.shape[-1])`.",
)(lambda queries, keys, _values: queries @ keys.mT / queries.shape[-1])

score.bug(
    "multiplied by the root",
    "the scores are multiplied by the root of a query's size, where they should be divided.",
    symptom="Each query's output is nearly one of the values, and the others hardly count.",
    fix="divide by the root: `scores / math.sqrt(…)`, not `scores * math.sqrt(…)`.",
)(lambda queries, keys, _values: queries @ keys.mT * math.sqrt(queries.shape[-1]))

score.bug(
    "root of the number of keys",
    "the number of keys is under the root, where a query's size belongs.",
    symptom="Longer sentences give flatter weights.",
    origin="threads such as bert_language_understanding#9 ask which size d is",
    fix="take the size of a query, `queries.shape[-1]`; `shape[-2]` of the keys is their number.",
)(lambda queries, keys, _values: queries @ keys.mT / math.sqrt(keys.shape[-2]))

score.bug(
    "root of the value size",
    "value_size is under the root, where a query's size belongs.",
    symptom="Where value_size changes, the weights change, though queries and keys stay the same.",
    origin="threads such as bert_language_understanding#9 ask which size d is",
    fix="take the size of a query, `queries.shape[-1]`: values have no part in the scores.",
)(lambda queries, keys, values: queries @ keys.mT / math.sqrt(values.shape[-1]))

score.bug(
    "scaled by the whole width",
    "the root is that of the width of all heads together, not of one head's queries.",
    symptom="The weights are flatter than they should be, and even flatter with more heads.",
    origin="bert_language_understanding#9",
    fix="divide by the root of one head's size: a score is the sum of that many products.",
)(lambda queries, keys, _values: scale(queries, keys) / math.sqrt(math.prod(queries.shape[1:-2])))

score.bug(
    "cosine in place of the product",
    "queries and keys are normalised to length 1 first, so that only angles count.",
    symptom="A key twice as long gets no more attention.",
    fix="take the dot product as it is: the length of a query or a key counts.",
)(lambda queries, keys, _values: scale(F.normalize(queries, dim=-1), F.normalize(keys, dim=-1)))

score.bug(
    "keys not transposed",
    "the keys are not transposed, so that rows of queries are multiplied by columns of keys.",
    symptom="The product of queries and keys raises an error, unless num_keys equals query_size.",
    origin="a new reader's first try",
    fix="swap the last two axes of the keys first: `queries @ keys.mT`.",
)(lambda queries, keys, _values: queries @ keys / math.sqrt(queries.shape[-1]))

# Weights

weighing.bug(
    "softmax over the queries",
    "the softmax is taken over the queries, so that the weights of each key sum to 1.",
    symptom="Rows of weights do not sum to 1; with one query all weights are 1.",
    origin="the book's own first draft, without lengths; accepted by TorchCode's judge",
    fix="take the softmax over the last axis, the keys: `dim=-1`.",
)(lambda scores, visible=None: weigh(scores, visible, -2))

weighing.bug(
    "softmax over the batch",
    "the softmax is taken over the batch, as for `nn.Softmax()` without `dim` on three axes.",
    symptom="Rows do not sum to 1, and an example's weights change with the other examples.",
    origin="the book's own first draft, by `nn.Softmax()` without `dim`",
    fix="always write `dim=-1`: without it torch takes the first of three axes.",
)(lambda scores, visible=None: weigh(scores, visible, 0))

weighing.bug(
    "softmax over the heads",
    "the softmax is taken over the heads.",
    symptom="A query's weights do not sum to 1 within a head.",
    origin="a common mistake: `softmax(dim=1)`, left from before there were heads",
    fix="take the softmax over the keys: `dim=-1`.",
)(lambda scores, visible=None: weigh(scores, visible, 1))


@weighing.bug(
    "no maximum subtracted",
    "no maximum is subtracted, so that exponentials overflow to infinity, or are all 0.",
    symptom="Training runs for a while, then everything is NaN.",
    origin="a notebook for Understanding Deep Learning",
    fix="subtract each row's maximum before you take exponentials: it cancels; nothing overflows.",
)
def _(scores: Tensor, visible: Tensor | None = None) -> Tensor:
    if visible is None:
        return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
    exponentials, empty = scores.exp() * visible, ~visible.any(dim=-1, keepdim=True)
    return exponentials / (exponentials.sum(dim=-1, keepdim=True) + empty)


weighing.bug(
    "double precision is lost",
    "the softmax is computed in float32, whatever the scores are, and double precision is lost.",
    symptom="In float64 the results agree with a reference to 7 digits, not to 15.",
    origin="transformers, whose eager attention calls `softmax(…, dtype=torch.float32)`",
    fix="compute in the scores' own dtype, or only raise it: `torch.promote_types(…)`.",
)(lambda scores, visible=None: weigh(scores.float(), visible).to(scores.dtype))

# What is hidden


@hiding.bug(
    "scores of zero hidden",
    "a score of exactly 0 is taken for a hidden one, as by `scores[scores == 0] = -math.inf`.",
    symptom="All is right until some score is exactly 0: a query or a key of zeros, for instance.",
    origin="accepted by TorchCode's judge",
    fix="hide by the mask, `scores.masked_fill(~mask, -math.inf)`, and not by what scores are.",
)
def _(scores: Tensor, visible: Tensor) -> Tensor:
    return weigh(scores, visible & (scores != 0))


hiding.bug(
    "hidden scores set to zero",
    "hidden scores are set to 0, or multiplied by a mask of 0, and 0 is an ordinary score.",
    symptom="Hidden keys have some weight, more than visible ones with low scores.",
    origin="the book's own first draft",
    fix="fill with -inf before the softmax: a score of 0 is a score like any other.",
)(lambda scores, visible: scores.masked_fill(~visible, 0).softmax(-1))

hiding.bug(
    "filled with minus a billion",
    "hidden scores are -1e9, say, which half precision cannot hold; empty rows get weights, too.",
    symptom="Training in `float16` fails: a value cannot be converted without overflow.",
    origin="the Annotated Transformer",
    fix="fill with -inf, which every type can hold, and clear fully masked rows.",
)(lambda scores, visible: scores.masked_fill(~visible, -1e9).softmax(-1))

hiding.bug(
    "filled with minus ten thousand",
    "hidden scores are -10,000, and some visible keys score less.",
    symptom="Where all scores are very low, what is hidden takes all the weight.",
    origin="older releases of transformers, which add -10,000 at padding",
    fix="fill with -inf, which is below every score, and clear fully masked rows.",
)(
    lambda scores, visible: weigh(
        scores.masked_fill(~visible, -1e4), visible | visible.any(-1)[..., None]
    )
)

hiding.bug(
    "empty rows uniform",
    "a fully masked row is filled with one finite number, and all its keys weigh the same.",
    symptom="A query without a visible key gets the mean of all that is hidden from it.",
    origin="Dive into Deep Learning's masked softmax",
    fix="set the weights of hidden keys to 0 after the softmax as well.",
)(lambda scores, visible: lowered(scores, visible).softmax(-1))

hiding.bug(
    "empty rows nan",
    "a fully masked row is normalised like any other, by a softmax of all -inf.",
    symptom="A query without a visible key gives NaN.",
    origin="pytorch#103749; `nn.MultiheadAttention` with such a row",
    fix="clear such rows before the softmax, and their weights after it.",
)(lambda scores, visible: filled(scores, visible).softmax(-1))

hiding.bug(
    "nan cleared too late",
    "the NaN of a row that sees nothing is cleared after the softmax, and still flows back.",
    symptom="All outputs look right, and after one step all parameters are NaN.",
    origin="found in many projects, with -inf and rows that are all masked",
    fix="fill such rows with finite scores first: NaN that is cleared later still flows back.",
)(
    lambda scores, visible: torch.where(
        visible, (scores + filled(torch.zeros_like(scores), visible)).softmax(-1), 0
    )
)

hiding.bug(
    "masked after the softmax",
    "the mask comes after the softmax, where hidden keys have taken their share already.",
    symptom="The more a mask hides, the smaller the outputs.",
    fix="mask the scores, before the softmax, so that the visible keys share the whole weight.",
)(lambda scores, visible: scores.softmax(-1) * visible)


@hiding.bug(
    "masked and divided after the softmax",
    "the mask comes after the softmax, and rows are divided by their sum, which may be 0.",
    symptom="NaN turns up now and then, where a hidden key has a high score.",
    origin="LLMs-from-scratch, there as a step on the way",
    fix="mask the scores, before the softmax: after it, the visible keys' weights may all be 0.",
)
def _(scores: Tensor, visible: Tensor) -> Tensor:
    weights = scores.softmax(-1) * visible
    return weights / weights.sum(-1, keepdim=True)


hiding.bug(
    "ones and zeros added",
    "a mask of 1 and 0 is added to the scores, which favours what is visible and hides nothing.",
    symptom="The mask changes the outputs a little, and hides nothing.",
    origin="float masks of 0 and 1 handed where they are added",
    fix="fill with -inf where the mask is False, before the softmax.",
)(lambda scores, visible: (scores + visible).softmax(-1))

# Masks

masking.bug(
    "mask inverted",
    "the mask is inverted: what should be visible is hidden, and what is hidden is visible.",
    symptom="Each token attends to exactly what should be hidden, and to nothing else.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    fix="invert it with `~`: here True = visible, elsewhere True may mean hidden.",
)(masks.inverted)

masking.bug(
    "nothing hidden",
    "nothing is hidden: lengths or mask are not used.",
    symptom="Outputs change with what should be hidden: padding, or the future.",
    fix="fill the scores of hidden keys with -inf before the softmax.",
)(masks.nothing_hidden)

masking.bug(
    "mask transposed",
    "the mask's axes of queries and keys are exchanged.",
    symptom="With as many queries as keys, tokens attend to what should be hidden; otherwise it "
    "raises.",
    fix="leave the axes as they are: rows are queries, columns are keys.",
)(masks.transposed)

masking.bug(
    "the first examples mask for all",
    "the first example's mask or length is used for the whole batch.",
    symptom="A batch of one is right; in larger ones all examples are masked like the first.",
    fix="keep the axis of examples: each has its own.",
)(masks.first_example_for_all)

masking.bug(
    "the first query's row for all",
    "the mask or length of the first query is used for all queries.",
    symptom="A mask of padding works; a causal one shows every query the first key only.",
    origin="a common mistake: code that was written for masks of padding",
    fix="keep the axis of queries: each has its own row.",
)(masks.first_query_for_all)

masking.bug(
    "one key too many",
    "one key too many is visible: the next one, or the first of the padding.",
    symptom="A little attention always goes to one key that should be hidden.",
    fix="count positions from 0: `position < length`, or `key <= query`.",
)(masks.one_key_too_many)

masking.bug(
    "one key too few",
    "one key too few is visible: the query's own key, or the last before the padding, is hidden.",
    symptom="The last word of each sentence, or a query's own, is never attended to.",
    fix="count positions from 0: `position < length`, or `key <= query`.",
)(masks.one_key_too_few)

pooling.bug(
    "keys are pooled",
    "the average is taken of the keys, and the values are never used.",
    symptom="The output holds keys, or has their size.",
    fix="multiply the weights by `values`: keys are only used for the scores.",
)(lambda weights, _values, keys: weights @ keys)

# Heads

splitting.bug(
    "split by a reshape",
    "heads are split by one reshape, without a swap of axes, so a head gets only some positions.",
    symptom="It trains, but a head gets some positions and not the others.",
    origin="hyunwoongko/transformer#4",
    fix="reshape to (batch, num_positions, num_heads, head_size), then `transpose(1, 2)`.",
)(lambda vectors, num_heads: vectors.reshape(len(vectors), num_heads, vectors.shape[1], -1))

splitting.bug(
    "numbers dealt out in turn",
    "the numbers are distributed in turn: each head gets every num_heads-th one.",
    symptom="Weights trained elsewhere give other outputs here.",
    fix="cut the last axis into (num_heads, head_size), not into (head_size, num_heads).",
)(lambda vectors, num_heads: vectors.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2))

splitting.bug(
    "the first part for every head",
    "every head gets the same numbers, the first ones.",
    symptom="More heads do not help, and all of them attend to the same keys.",
    fix="begin the part of head h at index h · head_size.",
)(lambda vectors, num_heads: vectors.chunk(num_heads, 2)[0][:, None].expand(-1, num_heads, -1, -1))

splitting.bug(
    "swapped before the reshape",
    "positions and numbers are swapped first, and the reshape then mixes positions.",
    symptom="The shape is right, but positions and numbers are mixed.",
    fix="reshape before you swap: only neighbours in the last axis belong to one head.",
)(
    lambda vectors, num_heads: vectors.transpose(1, 2).reshape(
        len(vectors), num_heads, vectors.shape[1], -1
    )
)

merging.bug(
    "merged by a reshape",
    "heads are merged by one reshape, without a swap of axes, and positions are mixed.",
    symptom="It trains, but an output holds what other positions have pooled.",
    origin="hyunwoongko/transformer#4, when the heads are merged",
    fix="swap heads and positions before the reshape: `heads.transpose(1, 2).flatten(2)`.",
)(lambda heads: heads.reshape(len(heads), heads.shape[2], -1))

merging.bug(
    "numbers taken in turn",
    "the heads' numbers alternate: the first number of each head, then the second of each.",
    symptom="Weights of W_o trained elsewhere give other outputs here.",
    fix="leave head_size last when you join: (batch, num_positions, num_heads, head_size).",
)(lambda heads: heads.permute(0, 2, 3, 1).flatten(2))

merging.bug(
    "positions swapped with numbers",
    "positions are swapped with the numbers of a head, not with the heads.",
    symptom="The shape is right, but positions and numbers are mixed.",
    fix="swap axes 1 and 2, heads and positions.",
)(lambda heads: heads.transpose(2, 3).reshape(len(heads), heads.shape[2], -1))

merging.bug(
    "positions put before the batch",
    "positions are put before the batch, and the reshape takes them for examples.",
    symptom="What one example gets depends on the others in its batch.",
    origin="code for torch's default, `batch_first=False`",
    fix="keep the batch first: swap heads and positions only.",
)(lambda heads: heads.permute(2, 0, 1, 3).reshape(len(heads), heads.shape[2], -1))

merging.bug(
    "the last head first",
    "each head is put in front of those before it, so the last one comes first.",
    symptom="Merging what was split gives the numbers of a vector in another order.",
    fix="put each head after those before it: `torch.cat([merged, head], dim=-1)`.",
)(lambda heads: torch.cat(heads.unbind(1)[::-1], dim=-1))

# Rotary encoding

turning.bug(
    "not turned at all",
    "the vectors are returned unchanged.",
    symptom="Shuffled words get the same answer.",
    origin="accepted by TorchCode's judge",
    fix="turn each pair by its angle.",
)(lambda a, b, angles: rotated(a, b, 0 * angles))

turning.bug(
    "turned the other way",
    "the signs of the sines are exchanged, and every pair is turned the other way.",
    symptom="Queries that are turned here do not match keys that are turned by another library.",
    fix="the first number becomes a · cos t - b · sin t, and the second a · sin t + b · cos t.",
)(lambda a, b, angles: rotated(a, b, -angles))

turning.bug(
    "sine and cosine exchanged",
    "the sine is where the cosine should be, and the cosine where the sine should be.",
    symptom="Vectors at position 0, which should not turn, are turned by 90°.",
    fix="multiply each number itself by the cosine, and the other one of its pair by the sine.",
)(lambda a, b, angles: rotated(a, b, math.pi / 2 - angles))

turning.bug(
    "both signs positive",
    "the minus of a · cos t - b · sin t is missing.",
    symptom="Scores depend on where two words are, not only on how far apart they are.",
    fix="the first number of each pair becomes a · cos t - b · sin t.",
)(lambda a, b, angles: (rotated(a, -b, angles)[0], rotated(a, b, angles)[1]))

turning.bug(
    "the first overwritten too soon",
    "the first of each pair is overwritten before the second is computed from it.",
    symptom="Vectors change their lengths a little.",
    fix="keep both old numbers until both new ones are made.",
)(lambda a, b, angles: (first := rotated(a, b, angles)[0], rotated(first, b, angles)[1]))

angles.bug(
    "one speed for all pairs",
    "all pairs are turned by the position itself, the angle of the first pair.",
    symptom="Positions that are about 6 apart look the same.",
    origin="accepted by TorchCode's judge",
    fix="divide positions by base^(2i/size), which grows from pair to pair.",
)(lambda positions, size, _base: angles_of(positions, size, 1))

angles.bug(
    "counted from zero",
    "the given positions are not used: the vectors are assumed to be at 0, 1, 2 and so on.",
    symptom="It trains well, and writes nonsense as soon as a cache is used.",
    fix="use the positions that are given; queries after a cache do not begin at 0.",
)(
    lambda positions, size, base: angles_of(
        torch.arange(positions.shape[-1]).expand_as(positions), size, base
    )
)

angles.bug(
    "positions from one",
    "1 is added to each position, as if the first were 1.",
    symptom="Scores are right, but cached keys of another library do not match.",
    fix="use the positions as they are given: the first is 0, and is not turned.",
)(lambda positions, size, base: angles_of(positions + 1, size, base))

angles.bug(
    "angles in single precision",
    "the angles are computed in single precision: seven digits are too few for large angles.",
    symptom="Far from the beginning, equal distances give unequal scores.",
    fix="use `.double()` for positions and speeds, and convert only cosines and sines.",
)(lambda positions, size, base: positions[..., None] * base ** -(torch.arange(0, size, 2) / size))
