"""Known bugs of the task decoding-step."""

from __future__ import annotations

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice.tasks.decoding_step import Step, Two, of_arguments, task


def _scores(step: Step) -> Tensor:
    return torch.tanh((step.state @ step.W_q.T)[:, None] + step.memory @ step.W_k.T) @ step.w_v


def _weights(step: Step, scores: Tensor) -> Tensor:
    return attnbook.masked_softmax(scores[:, None], step.valid_lens)[:, 0]


def _move(step: Step, weights: Tensor, memory: Tensor | None = None) -> Two:
    """Pool with the weights, and make the step."""
    context = (weights[..., None] * (step.memory if memory is None else memory)).sum(1)
    return step.cell(torch.cat([step.token, context], 1), step.state), weights


@task.bug(
    symptom="The weights answer a question that the decoder has not asked yet.",
    origin="a common slip",
    mend="ask with the state as it was handed in; the new one is made from the context.",
    case="vectors of one size, and no padding",
)
@of_arguments
def asks_with_a_new_state(step: Step) -> Two:
    """the cell moves on, without a context, before the memory is asked with its new state."""
    nothing = torch.zeros_like(step.memory[:, 0])
    new = step.cell(torch.cat([step.token, nothing], 1), step.state)
    return _move(step, _weights(step, _scores(step._replace(state=new))))


@task.bug(
    symptom="After the same character the model always looks at the same place.",
    origin="a common slip",
    mend="the query is the decoder's state, which knows all that was written, not the last token.",
    case="vectors of one size, and no padding",
)
@of_arguments
def asks_with_the_token(step: Step) -> Two:
    """the token is the query, in place of the state."""
    return _move(step, _weights(step, _scores(step._replace(state=step.token))))


@task.bug(
    symptom="A text's translation changes with the texts that it is batched with.",
    origin="a common slip",
    mend="hide the keys from `valid_lens` on before the softmax.",
    case="different sizes, with padding",
)
@of_arguments
def padding_is_seen(step: Step) -> Two:
    """the lengths are never used, and padding is seen."""
    return _move(step, _scores(step).softmax(1))


@task.bug(
    symptom="Heatmaps are the same for every text of one length.",
    origin="PyTorch's seq2seq tutorial",
    mend="add the projected memory to the projected state before tanh.",
    case="vectors of one size, and no padding",
)
@of_arguments
def scores_never_look_at_the_memory(step: Step) -> Two:
    """the scores are made from the state alone, and each key gets the same one."""
    return _move(step, _weights(step, _scores(step._replace(W_k=torch.zeros_like(step.W_k)))))


@task.bug(
    symptom="It learns as slowly as without attention, and the heatmap never becomes sharp.",
    origin="a common slip",
    mend="join token and context to what the cell reads.",
    case="vectors of one size, and no padding",
)
@of_arguments
def the_context_is_not_fed(step: Step) -> Two:
    """the cell gets zeros in place of the context."""
    weights = _weights(step, _scores(step))
    return _move(step, weights, torch.zeros_like(step.memory))


@task.bug(
    symptom="It trains as well as ever; weights stored elsewhere give nonsense.",
    origin="a common slip",
    mend="join them as the task says: the token first, then the context.",
    case="vectors of one size, and no padding",
)
@of_arguments
def the_context_before_the_token(step: Step) -> Two:
    """context and token are joined in the wrong order, which no size tells."""
    weights = _weights(step, _scores(step))
    context = (weights[..., None] * step.memory).sum(1)
    return step.cell(torch.cat([context, step.token], 1), step.state), weights


@task.bug(
    symptom="Long texts are translated badly, though the heatmap looks fine.",
    origin="a common slip",
    mend="feed the weighted sum of all of the memory.",
    case="vectors of one size, and no padding",
)
@of_arguments
def the_last_memory_for_the_context(step: Step) -> Two:
    """the cell gets the last state of the memory in place of the context."""
    context = step.memory[:, -1]
    weights = _weights(step, _scores(step))
    return step.cell(torch.cat([step.token, context], 1), step.state), weights


@task.bug(
    symptom="The weights are right, and the new state is not.",
    origin="a common slip",
    mend="project the keys for the scores only, and pool the memory itself.",
    case="vectors of one size, and no padding",
)
@of_arguments
def projected_keys_are_pooled(step: Step) -> Two:
    """the context is pooled from the projected keys in place of the memory."""
    return _move(step, _weights(step, _scores(step)), step.memory @ step.W_k.T)


@task.bug(
    symptom="With a batch of one every weight is 1.",
    origin="the book's own first draft",
    mend="take the softmax over the last axis, the keys.",
    case="vectors of one size, and no padding",
)
@of_arguments
def softmax_over_the_batch(step: Step) -> Two:
    """the softmax is taken over the batch."""
    padding = torch.arange(step.memory.shape[1]) >= step.valid_lens[:, None]
    return _move(step, _scores(step).masked_fill(padding, -math.inf).softmax(0).nan_to_num(0))


@task.bug(
    symptom="It works until query and key have different sizes.",
    origin="the book's own first draft",
    mend="`W_q` is for the state, and `W_k` for the memory.",
    case="vectors of one size, and no padding",
)
@of_arguments
def the_projections_are_exchanged(step: Step) -> Two:
    """`W_k` projects the state, and `W_q` the memory."""
    return _move(step, _weights(step, _scores(step._replace(W_q=step.W_k, W_k=step.W_q))))


@task.bug(
    symptom="The model writes the same character for ever.",
    origin="a common slip",
    mend="return what the cell returns.",
    case="vectors of one size, and no padding",
)
@of_arguments
def the_old_state_is_returned(step: Step) -> Two:
    """the cell's answer is lost, and the old state is returned."""
    return step.state, _weights(step, _scores(step))


@task.bug(
    symptom="The heatmap shows weight on padding, where the model looked elsewhere.",
    origin="UvA's deep learning tutorial 6",
    mend="return the weights that the context was pooled with.",
    case="different sizes, with padding",
)
@of_arguments
def the_weights_are_made_again_unmasked(step: Step) -> Two:
    """the weights that are returned are made again, without the mask."""
    return _move(step, _weights(step, _scores(step)))[0], _scores(step).softmax(1)


@task.bug(
    symptom="One text of the batch is empty, and its state is NaN.",
    origin="pytorch#103749 and ten more threads",
    mend="clear the weights of a text that has no keys: where each score is -inf, they are 0/0.",
    case="a text of length 0",
)
@of_arguments
def no_keys_are_nan(step: Step) -> Two:
    """padding is filled with -inf, and nobody thinks of a text that is all padding."""
    padding = torch.arange(step.memory.shape[1]) >= step.valid_lens[:, None]
    return _move(step, _scores(step).masked_fill(padding, -math.inf).softmax(1))
