"""Attention in blocks of keys, in one pass."""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Function, Law, Task


def _within_the_values(output: Tensor, _scores: Tensor, values: Tensor, _size: int) -> bool:
    lowest, highest = values.amin(1, keepdim=True) - 1e-2, values.amax(1, keepdim=True) + 1e-2
    return not bool(((output < lowest) | (output > highest)).any())


task = Task(
    name="online-softmax",
    statement=(
        "Write `online_softmax(scores, values, block_size)`. `scores` has shape (batch, "
        "num_queries, num_keys), `values` (batch, num_keys, value_size). The output is "
        "`softmax(scores) @ values`, with the softmax over the keys; it has shape (batch, "
        "num_queries, value_size) and the scores' dtype. Take `block_size` keys at a time, in one "
        "pass. For each query, carry the highest score so far, the sum of the exponentials, and "
        "the sum of the values, each multiplied by its exponential; correct both sums when the "
        "highest score rises. The last block may be smaller, and one block may hold all keys. "
        "Scores are finite, of any size. Only the result is tested, not the number of passes."
    ),
    starter="def online_softmax(scores, values, block_size):\n    ...",
    laws=(Law("Some output lies outside the range of its values.", _within_the_values),),
)


def _plus(*added: int | list[int], dtype: torch.dtype = torch.float) -> tuple[Tensor, Tensor, int]:
    """Scores of five keys with numbers added, in blocks of two."""
    return normal(2, 3, 5).to(dtype) + lengths(*added), normal(2, 5, 7).to(dtype), 2


task.case("blocks of one size")(lambda: (normal(2, 3, 10), normal(2, 10, 7), 5))
task.case("a last block that is smaller")(lambda: (normal(2, 3, 11), normal(2, 11, 5), 3))
task.case("blocks of one key")(lambda: (normal(2, 3, 5), normal(2, 5, 7), 1))
task.case("a block larger than all keys")(lambda: (normal(2, 3, 5), normal(2, 5, 7), 13))
task.case("the highest score in the last block")(
    lambda: (normal(2, 3, 7).sort(-1).values, normal(2, 7, 5), 2)
)
task.case("the highest score in the first block")(
    lambda: (normal(2, 3, 7).sort(-1, descending=True).values, normal(2, 7, 5), 2)
)
task.case("scores near 200")(lambda: _plus(200))
task.case("scores near -200")(lambda: _plus(-200))
task.case("a query whose scores are 200 below another's")(lambda: _plus([0], [-200], [-500]))
task.case("a first block 200 above the others")(lambda: _plus(200, 200, 0, 0, 0))
task.case("half precision")(lambda: _plus(0, dtype=torch.half))
task.case("double precision, near 1000")(lambda: _plus(1000, dtype=torch.double))
task.case("double precision, near -100,000")(lambda: _plus(-100_000, dtype=torch.double))
task.case("a last block 200 above the others")(lambda: _plus(0, 0, 0, 0, 200))
task.case("2 examples of 2 queries, 257 keys in blocks of 20")(
    lambda: (normal(2, 2, 257), normal(2, 257, 3), 20)
)


def _blocks(scores: Tensor, values: Tensor, size: int) -> list[tuple[Tensor, Tensor]]:
    starts = range(0, scores.shape[-1], size)
    return [(scores[..., i : i + size], values[:, i : i + size]) for i in starts]


@task.solution("it is the book's own, and takes all keys at once.")
def the_package(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    return attnbook.pool(attnbook.masked_softmax(scores), values)


@task.solution("both sums are corrected whenever the highest score rises.")
def block_by_block(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    highest = torch.full_like(scores[..., :1], -math.inf)
    total = weighted = torch.zeros_like(highest)
    for block, part in _blocks(scores, values, block_size):
        new_highest = torch.maximum(highest, block.amax(-1, keepdim=True))
        correction = (highest - new_highest).exp()
        exponentials = (block - new_highest).exp()
        total = correction * total + exponentials.sum(-1, keepdim=True)
        weighted = correction * weighted + exponentials @ part
        highest = new_highest
    return weighted / total


@task.solution("each block has its own softmax; a softmax of their logsumexp gives the shares.")
def a_softmax_of_blocks(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    blocks = _blocks(scores, values, block_size)
    outputs = [torch.einsum("bqk,bkv->bqv", block.softmax(-1), part) for block, part in blocks]
    shares = torch.stack([block.logsumexp(-1) for block, _ in blocks]).softmax(0)
    return (shares.unsqueeze(-1) * torch.stack(outputs)).sum(0)


@task.solution("it is PyTorch's own: scores are the queries, and an identity holds the keys.")
def scores_as_queries(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    axes = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(len(scores), -1, -1)
    return scaled_dot_product_attention(scores, axes, values, scale=1.0)


_VALUES = torch.tensor([[[10.0], [20], [30]]])


@task.test
def test_a_query_with_low_scores_is_not_disturbed_by_another(online_softmax: Function) -> None:
    scores = torch.tensor([[[0.0, 0, 0], [-1000, -1000, -1000]]])
    assert torch.allclose(online_softmax(scores, _VALUES, 2), torch.tensor(20.0))


@task.test
def test_a_key_far_above_the_others_takes_all_wherever_it_is(online_softmax: Function) -> None:
    scores = torch.tensor([[[1000.0, 0, 0], [0, 1000, 0], [0, 0, 1000]]])
    for block_size in (1, 2):
        assert torch.allclose(online_softmax(scores, _VALUES, block_size), _VALUES)


@task.test
def test_double_precision_is_not_lost(online_softmax: Function) -> None:
    scores, values = torch.tensor([[[0, 1e-9]]]).double(), torch.tensor([[[-1.0], [1]]]).double()
    assert online_softmax(scores, values, 1) > 1e-10


def walking(correct_sum: bool = True, correct_weighted: bool = True, sign: int = 1) -> Function:
    """Carry the sums from block to block; a bug leaves one uncorrected, or changes the sign."""

    def written(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
        highest = scores[..., :block_size].amax(-1, keepdim=True)
        total = weighted = torch.zeros(())
        for block, part in _blocks(scores, values, block_size):
            new_highest = torch.maximum(highest, block.amax(-1, keepdim=True))
            correction = (sign * (highest - new_highest)).exp()
            exponentials = (block - new_highest).exp()
            total = total * (correction if correct_sum else 1) + exponentials.sum(-1, keepdim=True)
            weighted = weighted * (correction if correct_weighted else 1) + exponentials @ part
            highest = new_highest
        return weighted / total

    return written


def subtracting(highest: Function) -> Function:
    """Take all keys at once, and subtract a number from their scores."""

    def written(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
        exponentials: Tensor = (scores - highest(scores, block_size)).exp()
        return exponentials @ values / exponentials.sum(-1, keepdim=True)

    return written


task.bug(
    "no correction",
    "the old sums are not corrected, or not correctly, when the highest score rises.",
    symptom="It is right when the highest score is in the first block; otherwise it only looks so.",
    fix="multiply both sums by exp(old highest − new highest), and then replace the highest.",
)(walking(correct_sum=False, correct_weighted=False))

task.bug(
    "only the sum is corrected",
    "the sum is corrected when the highest score rises, and the weighted sum is not.",
    symptom="Outputs are too large as soon as the highest score is not in the first block.",
    fix="multiply the weighted sum by the same correction as the sum.",
)(walking(correct_weighted=False))

task.bug(
    "only the weighted sum is corrected",
    "the weighted sum is corrected when the highest score rises, and the sum is not.",
    symptom="Outputs shrink towards 0 as soon as the highest score is not in the first block.",
    fix="multiply the sum by the same correction as the weighted sum.",
)(walking(correct_sum=False))

task.bug(
    "the correction has the wrong sign",
    "the correction's exponent has the wrong sign, so old sums grow where they should shrink.",
    symptom="Early keys weigh too much, the more so the more the scores rise.",
    fix="the factor is exp(old highest − new highest), which is at most 1.",
)(walking(sign=-1))


@task.bug(
    symptom="For some numbers of keys, the last few keys are never used.",
    fix="go on up to `num_keys`; a slice that reaches beyond the end is just shorter.",
)
def the_last_block_is_dropped(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """only whole blocks are counted, and a smaller last one is dropped."""
    whole = scores.shape[-1] // block_size * block_size
    if whole == 0:
        return torch.zeros_like(scores[..., :1] * values[:, :1])
    output: Tensor = walking()(scores[..., :whole], values[:, :whole], block_size)
    return output


@task.bug(
    symptom="Each block gets the same share, whatever its scores are.",
    fix="divide once, at the end, by the sum of all exponentials.",
)
def the_mean_of_the_blocks(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """each block has its own softmax, and the outputs of the blocks are averaged."""
    blocks = _blocks(scores, values, block_size)
    return torch.stack([block.softmax(-1) @ part for block, part in blocks]).mean(0)


@task.bug(
    symptom="Outputs grow with the number of keys.",
    fix="divide the weighted sum by the sum of the exponentials, after the last block.",
)
def never_divided(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    """the weighted sum is not divided by the sum of the exponentials."""
    return (scores - scores.amax(-1, keepdim=True)).exp() @ values


task.bug(
    "the maximum begins at 0",
    "the highest score begins at 0, so that the exponentials of very low scores are all 0.",
    symptom="The output is NaN where all scores are very low.",
    fix="begin with -inf as the highest score so far, not with 0.",
)(subtracting(lambda scores, _size: scores.amax(-1, keepdim=True).clamp(min=0)))

task.bug(
    "one maximum for all queries",
    "all queries share one highest score, so a query of far lower scores has exponentials of 0.",
    symptom="Some queries give NaN when another query has far higher scores.",
    fix="keep a highest score for each query: take the maximum over the last axis only.",
)(subtracting(lambda scores, _size: scores.max()))


@task.bug(
    symptom="The output is NaN where scores fall steeply from block to block.",
    fix="compare with the highest score so far: `torch.maximum(highest, block_highest)`.",
)
def the_blocks_maximum_replaces_the_highest(
    scores: Tensor, values: Tensor, block_size: int
) -> Tensor:
    """the highest score is that of the current block; where it falls, the correction overflows."""
    highest, total, weighted = scores[..., :1], torch.zeros(()), torch.zeros(())
    for block, part in _blocks(scores, values, block_size):
        correction = (highest - block.amax(-1, keepdim=True)).exp()
        highest = block.amax(-1, keepdim=True)
        total = total * correction + (block - highest).exp().sum(-1, keepdim=True)
        weighted = weighted * correction + (block - highest).exp() @ part
    return weighted / total


task.bug(
    "the highest never rises",
    "the highest score of the first block is subtracted from all scores, and exp overflows.",
    symptom="The output is NaN where a later block has far higher scores.",
    fix="raise the highest score so far to each block's highest, where that is higher.",
)(subtracting(lambda scores, size: scores[..., :size].amax(-1, keepdim=True)))


def in_steps(weigh: Function) -> Function:
    def written(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
        output: Tensor = weigh(scores) @ values
        return output

    return written


task.inherit(in_steps, mistakes.weighing, without=mistakes.OF_HEADS)


# On plain lists

N = float  # a short name, so that five parameters fit on one line
Three = tuple[N, N, N]


def _rescale(highest: N, score: N) -> Three:
    new = max(highest, score)
    return new, math.exp(highest - new), math.exp(score - new)  # highest, factor, exponential


def _add_key(highest: N, total: N, weighted: N, exponential: N, value: N) -> Three:
    """Add a key to both sums, which are corrected already."""
    return highest, total + exponential, weighted + exponential * value


by_hand = ListTask(
    name="online-softmax-by-hand",
    in_torch=task,
    statement=(
        "Keys come one by one. Three numbers are carried along: `highest`, the highest score so "
        "far; `total`, the sum of `math.exp(score - highest)` over all keys so far; and "
        "`weighted`, the same sum with each exponential times its key's value. Write "
        "`update(highest, total, weighted, score, value)`, which adds one more key; all five are "
        "numbers. Return the new highest, total and weighted, in this order, as if the new highest "
        "had been known from the start. Scores may be 1000."
    ),
    starter="import math\n\ndef update(highest, total, weighted, score, value):\n    ...",
)

by_hand.case("a higher score")(lambda: (1.0, 1.5, 20.0, 2.0, 30.0))
by_hand.case("a lower score")(lambda: (2.0, 1.5, 20.0, 1.0, 30.0))
by_hand.case("an equal score")(lambda: (0.5, 1.0, 10.0, 0.5, -4.0))
by_hand.case("scores below 0, and a higher one")(lambda: (-3.0, 1.25, -6.0, -1.0, 5.0))
by_hand.case("scores near 1000")(lambda: (1000.0, 1.0, 7.0, 999.0, 4.0))
by_hand.case("a score 1000 above the highest")(lambda: (0.0, 2.0, 3.0, 1000.0, 4.0))
by_hand.case("a score 1000 below the highest")(lambda: (1000.0, 2.0, 3.0, 0.0, 4.0))
by_hand.case("sums of thousands")(lambda: (3.0, 2500.0, -70000.0, 2.5, 1200.0))


@by_hand.solution("where the highest stays the same, the factor is e to the power of 0: 1.")
def by_one_factor(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    new, factor, exponential = _rescale(highest, score)
    return new, factor * total + exponential, factor * weighted + exponential * value


@by_hand.solution("where old sums are corrected, the new exponential is 1; otherwise they stay.")
def two_branches(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    if score > highest:
        factor = math.exp(highest - score)
        return score, total * factor + 1, weighted * factor + value
    exponential = math.exp(score - highest)
    return highest, total + exponential, weighted + exponential * value


@by_hand.solution(
    "all keys so far act as one: its score is `highest + math.log(total)`, its value their mean."
)
def by_logarithms(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    new, past = max(highest, score), highest + math.log(total)
    old, exponential = math.exp(past - new), math.exp(score - new)
    return new, old + exponential, weighted / total * old + exponential * value


@by_hand.bug(
    fix="multiply both sums by `math.exp(highest - new_highest)`, and replace the highest after."
)
def no_correction_by_hand(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    new, _, exponential = _rescale(highest, score)
    return _add_key(new, total, weighted, exponential, value)


@by_hand.bug(fix="multiply the weighted sum by the same factor as the total.")
def only_the_total_is_corrected(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the total is corrected when the highest rises, and the weighted sum is not."""
    new, factor, exponential = _rescale(highest, score)
    return _add_key(new, factor * total, weighted, exponential, value)


@by_hand.bug(fix="take `math.exp(highest - new_highest)`, which is at most 1.")
def the_factor_upside_down(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the factor is inverted, so that the old sums grow where they should shrink."""
    new = max(highest, score)
    factor = math.exp(new - highest)
    return _add_key(new, factor * total, factor * weighted, math.exp(score - new), value)


@by_hand.bug(fix="return the new highest: `max(highest, score)`.")
def the_old_highest_returned(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the sums are right, and the old highest is returned with them."""
    _, factor, exponential = _rescale(highest, score)
    return _add_key(highest, factor * total, factor * weighted, exponential, value)


@by_hand.bug(
    fix="let the highest rise, `max(highest, score)`, and take all exponentials relative to it."
)
def the_highest_never_rises_by_hand(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the highest never rises, and exponentials stay relative to the old one."""
    return _add_key(highest, total, weighted, math.exp(score - highest), value)


@by_hand.bug(fix="compare with the highest so far: `max(highest, score)`.")
def the_score_replaces_the_highest(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """each score replaces the highest, which falls where it should stay."""
    factor = math.exp(highest - score)
    return _add_key(score, factor * total, factor * weighted, 1, value)


@by_hand.bug(fix="add `exponential * value` to the weighted sum.")
def value_not_weighted(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the new value is added without its exponential."""
    new, factor, exponential = _rescale(highest, score)
    return new, factor * total + exponential, factor * weighted + value


@by_hand.bug(fix="return the weighted sum itself; the caller divides, after the last key.")
def divided_too_early(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the weighted sum is divided by the total at each step, not once at the end."""
    new, total, weighted = by_one_factor(highest, total, weighted, score, value)
    return new, total, weighted / total


@by_hand.bug(fix="add the new key to both sums even where the highest does not rise.")
def lower_scores_left_out(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """a key that does not raise the highest is left out."""
    new, factor, _ = _rescale(highest, score)
    return _add_key(new, factor * total, factor * weighted, float(score > highest), value)


@by_hand.bug(fix="keep the old sums, times `math.exp(highest - new_highest)`.")
def the_past_thrown_away(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the sums start again when the highest rises."""
    if score > highest:
        return score, 1.0, value
    return _add_key(highest, total, weighted, math.exp(score - highest), value)


@by_hand.bug(fix="return the total second, and the weighted sum third.")
def the_sums_exchanged(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the weighted sum comes second, and the total third."""
    new, total, weighted = by_one_factor(highest, total, weighted, score, value)
    return new, weighted, total


@by_hand.bug(fix="update the highest first, and then take `math.exp(score - new_highest)`.")
def seen_from_the_old_highest(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the new key's exponential is relative to the old highest, but the old sums are corrected."""
    new, factor, _ = _rescale(highest, score)
    return _add_key(new, factor * total, factor * weighted, math.exp(score - highest), value)


@by_hand.bug(fix="subtract the new highest from the score: `math.exp(score - new_highest)`.")
def nothing_subtracted(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """nothing is subtracted from the new key's score before its exponential is taken."""
    new, factor, _ = _rescale(highest, score)
    return _add_key(new, factor * total, factor * weighted, math.exp(score), value)


@by_hand.bug(fix="multiply the value by its own key's exponential: `exponential * value`.")
def total_times_the_value(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the value is multiplied by the total, where its own key's exponential belongs."""
    new, factor, exponential = _rescale(highest, score)
    total = factor * total + exponential
    return new, total, factor * weighted + total * value


@by_hand.bug(
    fix="multiply by the inverse instead, `math.exp(highest - new_highest)`, which is at most 1."
)
def divided_by_the_factor(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the old sums are divided by an exponential, which overflows where scores rise far."""
    new, _, exponential = _rescale(highest, score)
    factor = math.exp(new - highest)
    return _add_key(new, total / factor, weighted / factor, exponential, value)


@by_hand.bug(fix="the score comes fourth and the value fifth.")
def score_and_value_exchanged(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """score and value are exchanged."""
    new, factor, exponential = _rescale(highest, value)
    return _add_key(new, factor * total, factor * weighted, exponential, score)
