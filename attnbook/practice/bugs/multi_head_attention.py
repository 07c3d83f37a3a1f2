"""Known bugs of the task multi-head-attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.tasks.multi_head_attention import (
    FIRST,
    Inputs,
    attend_by_head,
    in_steps,
    of_inputs,
    task,
)


@task.bug(
    symptom="The weights are flatter than they should be, the more so the more heads there are.",
    origin="bert_language_understanding#9",
    mend="divide by the root of head_size: that is how many numbers a score sums.",
    case=FIRST,
)
@of_inputs
def scaled_by_the_whole_width(*given: *Inputs) -> Tensor:
    """scores are divided by √num_hiddens, the width of all heads together."""
    return in_steps(given, attend=lambda q, *rest: attend_by_head(q / math.sqrt(q.shape[1]), *rest))


@task.bug(
    symptom="Each head looks at one key only, the more so the larger the heads are.",
    origin="a common slip",
    mend="divide the scores of a head by the root of head_size, before the softmax.",
    case=FIRST,
)
@of_inputs
def not_scaled(*given: *Inputs) -> Tensor:
    """scores are not divided by √head_size."""
    return in_steps(
        given, attend=lambda q, *rest: attend_by_head(q * math.sqrt(q.shape[-1]), *rest)
    )


@task.bug(
    symptom="All weights are nearly alike, the more so the larger the heads are.",
    origin="a common slip",
    mend="take the root of head_size.",
    case=FIRST,
)
@of_inputs
def root_forgotten(*given: *Inputs) -> Tensor:
    """scores are divided by head_size, without the root."""
    return in_steps(
        given, attend=lambda q, *rest: attend_by_head(q / math.sqrt(q.shape[-1]), *rest)
    )


@task.bug(
    symptom="It trains, but a head sees some positions in full and others not at all.",
    origin="hyunwoongko/transformer#15",
    mend="reshape to (batch, num_positions, num_heads, head_size), then `transpose(1, 2)`.",
    case=FIRST,
)
@of_inputs
def split_by_a_reshape(*given: *Inputs) -> Tensor:
    """heads are split by one reshape, without a swap, so that they cut up positions."""
    return in_steps(given, split=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1))


@task.bug(
    symptom="It trains, but an output holds what other queries have pooled.",
    origin="hyunwoongko/transformer#15, on the way back",
    mend="swap heads and queries before the reshape: `heads.transpose(1, 2).flatten(2)`.",
    case=FIRST,
)
@of_inputs
def merged_by_a_reshape(*given: *Inputs) -> Tensor:
    """heads are merged by one reshape, without a swap."""
    return in_steps(given, merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1))


@task.bug(
    symptom="It trains, but a query attends to parts of other queries.",
    origin="hyunwoongko/transformer#15",
    mend="swap positions and heads with `transpose(1, 2)`, after the first reshape and before "
    "the last one.",
    case=FIRST,
)
@of_inputs
def split_and_merged_by_reshapes(*given: *Inputs) -> Tensor:
    """heads are split by one reshape and merged by another, and nothing is ever swapped."""
    return in_steps(
        given,
        split=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1),
        merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
    )


@task.bug(
    symptom="`W_o` never learns.",
    origin="a common slip",
    mend="project what the heads have pooled with `W_o`: nothing else mixes them.",
    case=FIRST,
)
@of_inputs
def without_an_output_projection(*given: *Inputs) -> Tensor:
    """`W_o` is forgotten."""
    return in_steps((*given[:6], torch.eye(len(given[6]), dtype=given[6].dtype), *given[7:]))


@task.bug(
    symptom="`W_v` never learns, and values of another size than keys do not fit.",
    origin="a common slip",
    mend="project values with `W_v`.",
    case=FIRST,
)
@of_inputs
def values_projected_by_W_k(*given: *Inputs) -> Tensor:
    """the values are projected with `W_k`, like the keys."""
    return in_steps((*given[:5], given[4], *given[6:]))


@task.bug(
    symptom="All is well until queries and keys differ in size: then it crashes.",
    origin="the book's own first draft",
    mend="use `W_q` for queries, and `W_k` for keys.",
    case=FIRST,
)
@of_inputs
def W_q_and_W_k_exchanged(*given: *Inputs) -> Tensor:
    """`W_k` is applied to the queries, and `W_q` to the keys."""
    return in_steps((*given[:3], given[4], given[3], *given[5:]))


@task.bug(
    symptom="A trained layer's weights give other outputs here, or do not fit.",
    origin="a common slip",
    mend="transpose: `vectors @ W.T`, as `nn.Linear` does.",
    case=FIRST,
)
@of_inputs
def weights_not_transposed(*given: *Inputs) -> Tensor:
    """the weights are not transposed: `vectors @ W`."""
    return in_steps(given, project=torch.matmul)


@task.bug(
    symptom="A query's weights do not sum to 1 within a head.",
    origin="a common slip: `softmax(dim=1)`, left from before there were heads",
    mend="take the softmax over the keys: `dim=-1`.",
    case=FIRST,
)
@of_inputs
def softmax_over_the_heads(*given: *Inputs) -> Tensor:
    """the softmax is taken over the heads."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores.softmax(dim=1).masked_fill(~visible, 0) @ v

    return in_steps(given, attend=attend)


@task.bug(
    symptom="What one example gets depends on the others in its batch.",
    origin="torch's default, `batch_first=False`",
    mend="let the axis before the last be that of positions, and leave the batch first.",
    case=FIRST,
)
@of_inputs
def attention_over_the_batch(*given: *Inputs) -> Tensor:
    """the first axis is taken for positions, so that examples attend to one another."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        q, k, v = (each.transpose(0, 2) for each in (q, k, v))
        return attend_by_head(q, k, v, visible.transpose(0, 3)).transpose(0, 2)

    return in_steps(given, attend=attend)


@task.bug(
    symptom="Outputs change with what stands in the padding.",
    origin="a common slip",
    mend="hide the keys from valid_lens on, in every head.",
    case="a length for each example",
)
@of_inputs
def padding_not_hidden(*given: *Inputs) -> Tensor:
    """valid_lens is never used."""
    return in_steps(
        given, attend=lambda q, k, v, seen: attend_by_head(q, k, v, torch.ones_like(seen))
    )


@task.bug(
    symptom="Some heads see padding, and others too few keys.",
    origin="a common slip",
    mend="use `repeat_interleave(num_heads)`: the heads of one example stand together.",
    case="a length for each example",
)
@of_inputs
def lengths_tiled(*given: *Inputs) -> Tensor:
    """heads are folded into the batch, and lengths are tiled: a, b, a, b where a, a, b, b fit."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        seen = visible[:, 0].repeat(q.shape[1], 1, 1)
        output = attend_by_head(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), seen)
        return output.reshape(q.shape)

    return in_steps(given, attend=attend)


@task.bug(
    symptom="An empty example's output is the mean of its padding.",
    origin="Dive into Deep Learning's masked softmax",
    mend="clear the weights of padding after the softmax.",
    case="an example that may see nothing",
)
@of_inputs
def an_empty_row_pools_padding(*given: *Inputs) -> Tensor:
    """padding gets a finite score, the same for all, which a row without keys shares out evenly."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(dim=-1) @ v

    return in_steps(given, attend=attend)
