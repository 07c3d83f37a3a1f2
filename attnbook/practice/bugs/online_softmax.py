"""Known bugs of the task online-softmax."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.online_softmax import task

_Blocks = list[tuple[Tensor, Tensor]]


def _blocks(scores: Tensor, values: Tensor, size: int) -> _Blocks:
    starts = range(0, scores.shape[-1], size)
    return [(scores[..., i : i + size], values[:, i : i + size]) for i in starts]


def _walk(blocks: _Blocks, old_sum: bool, old_weighted: bool, sign: int = 1) -> Tensor:
    """Carry the sums from block to block, and correct those that are named."""
    block, part = blocks[0]
    highest = block.amax(-1, keepdim=True)
    total = (block - highest).exp().sum(-1, keepdim=True)
    weighted = (block - highest).exp() @ part
    for block, part in blocks[1:]:
        new_highest = torch.maximum(highest, block.amax(-1, keepdim=True))
        correction = (sign * (highest - new_highest)).exp()
        powers = (block - new_highest).exp()
        total = total * (correction if old_sum else 1) + powers.sum(-1, keepdim=True)
        weighted = weighted * (correction if old_weighted else 1) + powers @ part
        highest = new_highest
    return weighted / total


@task.bug(
    symptom="It is right when the highest score comes first, and else nearly right.",
    origin="a common slip",
    mend="multiply both sums by exp(old highest − new highest), and then replace the highest.",
    case="blocks of one size",
)
def no_correction(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """the old sums are not corrected, or not rightly, when the highest score rises."""
    return _walk(_blocks(scores, values, block_size), old_sum=False, old_weighted=False)


@task.bug(
    symptom="Outputs are too large as soon as the highest score is not in the first block.",
    origin="a common slip",
    mend="multiply the weighted sum by the same correction as the sum.",
    case="blocks of one size",
)
def only_the_sum_is_corrected(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """the sum is corrected when the highest score rises, and the weighted sum is not."""
    return _walk(_blocks(scores, values, block_size), old_sum=True, old_weighted=False)


@task.bug(
    symptom="Outputs shrink towards 0 as soon as the highest score is not in the first block.",
    origin="a common slip",
    mend="multiply the sum by the same correction as the weighted sum.",
    case="blocks of one size",
)
def only_the_weighted_sum_is_corrected(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """the weighted sum is corrected when the highest score rises, and the sum is not."""
    return _walk(_blocks(scores, values, block_size), old_sum=False, old_weighted=True)


@task.bug(
    symptom="Early keys weigh too much, the more so the more the scores rise.",
    origin="a common slip",
    mend="the factor is exp(old highest − new highest), which is at most 1.",
    case="blocks of one size",
)
def the_correction_has_the_wrong_sign(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """the correction has the wrong sign, and the old sums grow where they should shrink."""
    return _walk(_blocks(scores, values, block_size), old_sum=True, old_weighted=True, sign=-1)


@task.bug(
    symptom="The last few keys are never seen, for some lengths only.",
    origin="a common slip",
    mend="go on up to `num_keys`; a slice that reaches beyond the end is just shorter.",
    case="a last block that is smaller",
)
def the_last_block_is_dropped(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """only whole blocks are counted, and a smaller last one is dropped."""
    whole = scores.shape[-1] // block_size * block_size
    if whole == 0:
        return torch.zeros_like(scores[..., :1] * values[:, :1])
    blocks = _blocks(scores[..., :whole], values[:, :whole], block_size)
    return _walk(blocks, old_sum=True, old_weighted=True)


@task.bug(
    symptom="Each block gets the same share, whatever its scores are.",
    origin="a common slip",
    mend="divide once, at the end, by the sum of all powers.",
    case="blocks of one size",
)
def the_mean_of_the_blocks(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """each block has a softmax of its own, and the outputs of the blocks are averaged."""
    blocks = _blocks(scores, values, block_size)
    return torch.stack([block.softmax(-1) @ part for block, part in blocks]).mean(0)


@task.bug(
    symptom="Outputs grow with the number of keys.",
    origin="a common slip",
    mend="divide the weighted sum by the sum, after the last block.",
    case="blocks of one size",
)
def never_divided(scores: Tensor, values: Tensor, block_size: int) -> Tensor:  # noqa: ARG001
    """the weighted sum is not divided by the sum."""
    return (scores - scores.amax(-1, keepdim=True)).exp() @ values


@task.bug(
    symptom="The output is NaN where scores are high.",
    origin="Understanding Deep Learning's notebook on self-attention",
    mend="subtract the highest score so far before exp.",
    case="scores near 200",
)
def no_maximum(scores: Tensor, values: Tensor, block_size: int) -> Tensor:  # noqa: ARG001
    """no highest score is subtracted, and exp overflows."""
    return scores.exp() @ values / scores.exp().sum(-1, keepdim=True)


@task.bug(
    symptom="The output is NaN where all scores are very low.",
    origin="a common slip",
    mend="begin with -inf as the highest score so far, not with 0.",
    case="scores near -200",
)
def the_maximum_begins_at_0(scores: Tensor, values: Tensor, block_size: int) -> Tensor:  # noqa: ARG001
    """the highest score begins at 0, so that all powers of very low scores vanish."""
    powers = (scores - scores.amax(-1, keepdim=True).clamp(min=0)).exp()
    return powers @ values / powers.sum(-1, keepdim=True)


@task.bug(
    symptom="Some queries give NaN, when another one of the same example has higher scores.",
    origin="a common slip",
    mend="keep a highest score for each query: take the maximum over the last axis only.",
    case="a query whose scores are 200 below another's",
)
def one_maximum_for_all_queries(scores: Tensor, values: Tensor, block_size: int) -> Tensor:  # noqa: ARG001
    """all queries share one highest score, and the powers of the others vanish."""
    powers = (scores - scores.max()).exp()
    return powers @ values / powers.sum(-1, keepdim=True)


@task.bug(
    symptom="The output is NaN where scores fall steeply from block to block.",
    origin="a common slip",
    mend="compare with the highest score so far: `torch.maximum(highest, block_highest)`.",
    case="a first block 200 above the others",
)
def the_blocks_maximum_replaces_the_highest(
    scores: Tensor, values: Tensor, block_size: int
) -> Tensor:
    """the highest score is that of the last block and may fall, and the correction overflows."""
    highest, total, weighted = scores[..., :1], torch.zeros(()), torch.zeros(())
    for block, part in _blocks(scores, values, block_size):
        correction = (highest - block.amax(-1, keepdim=True)).exp()
        highest = block.amax(-1, keepdim=True)
        total = total * correction + (block - highest).exp().sum(-1, keepdim=True)
        weighted = weighted * correction + (block - highest).exp() @ part
    return weighted / total


@task.bug(
    symptom="The output is NaN where a later block has far higher scores.",
    origin="a common slip",
    mend="compare each block's highest score with the highest so far, and raise it.",
    case="a last block 200 above the others",
)
def the_highest_never_rises(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """the highest score of the first block is subtracted from all others, and exp overflows."""
    powers = (scores - scores[..., :block_size].amax(-1, keepdim=True)).exp()
    return powers @ values / powers.sum(-1, keepdim=True)
