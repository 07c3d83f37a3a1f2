"""The loss of a batch of padded texts."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.practice.example_inputs import lengths, normal, with_dtype
from attnbook.practice.task import Function, Law, Task


def _positive(loss: Tensor, *_: object) -> bool:
    return not bool((loss < 0).any())


task = Task(
    name="masked-loss",
    statement=(
        "Write `masked_loss(scores, targets, valid_lens)`. `scores` has shape (batch, num_steps, "
        "num_symbols): how likely each token is at each step, before the softmax. `targets`, "
        "(batch, num_steps), holds the right tokens, whole numbers from 0; token 0 is one like any "
        "other. `valid_lens`, (batch,), is the number of real steps of each text, from the first; "
        "the rest is padding, whose tokens and scores, even NaN, must not change the loss. The "
        "loss is one number of shape (), of the scores' dtype: the mean of −log p of the right "
        "token over all real steps of the batch, each with the same weight. Some lengths may be 0, "
        "not all."
    ),
    starter="def masked_loss(scores, targets, valid_lens):\n    ...",
    laws=(Law("The loss is negative; −log p never is.", _positive),),
)


Texts = tuple[Tensor, Tensor, Tensor]
TARGETS = [4, 1, 0], [3, 0, 2]
NOT_FINITE = torch.tensor([[0, 0, math.inf], [0, math.nan, math.nan]])[..., None]


def _texts(
    num_symbols: int, targets: tuple[list[int], ...], *lens: int, added: float | Tensor = 0
) -> Texts:
    """Scores of the targets' shape, without a pattern, and with a number added."""
    scores = normal(len(targets), len(targets[0]), num_symbols) + added
    return scores, lengths(*targets), lengths(*lens)


task.case("texts of different lengths")(lambda: _texts(3, ([2, 0, 1, 1, 2], [0, 2, 2, 1, 0]), 4, 2))
task.case("no padding")(lambda: _texts(5, TARGETS, 3, 3))
task.case("as many texts as steps and symbols")(
    lambda: _texts(3, ([1, 0, 2], [2, 2, 0], [0, 1, 1]), 1, 3, 2)
)
task.case("texts of one symbol")(lambda: _texts(5, ([0, 3], [4, 0], [1, 2]), 1, 1, 1))
task.case("a text of length 0")(lambda: _texts(5, ([1, 4, 0], [2, 3, 3]), 0, 2))
task.case("a right symbol 200 below the likeliest")(
    lambda: (torch.tensor([[[0.0, 200, 3], [1, 2, 3]]]), lengths([0, 1]), lengths(2))
)


@task.case("scores of 3e38 at padding")
def _() -> Texts:
    scores, targets, lens = _texts(5, ([3, 1, 0],), 2)
    scores[0, 2, 1] = 3e38
    return scores, targets, lens


task.case("half precision")(lambda: with_dtype(torch.half, *_texts(5, TARGETS, 3, 2)))
task.case("double precision")(lambda: with_dtype(torch.double, *_texts(5, TARGETS, 3, 2)))
task.case("infinity and NaN at padding", gradients=False)(
    lambda: _texts(5, ([1, 4, 0], [2, 0, 0]), 2, 1, added=NOT_FINITE)
)
task.case("all scores near -200")(lambda: _texts(5, TARGETS, 3, 2, added=-200))


@task.case("2 texts of up to 257 steps")
def _() -> Texts:
    targets = (10 * normal(2, 257, seed=1).abs()).long() % 5
    return normal(2, 257, 5), targets, lengths(257, 130)


def real_steps(targets: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(targets.shape[1]) < valid_lens[:, None]


def at_targets(numbers: Tensor, targets: Tensor) -> Tensor:
    return numbers.gather(-1, targets.unsqueeze(-1)).squeeze(-1)


@task.solution("PyTorch's own `cross_entropy` ignores targets of -100.")
def targets_that_are_ignored(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    ignored = targets.masked_fill(~real_steps(targets, valid_lens), -100)
    return F.cross_entropy(scores.flatten(0, 1), ignored.flatten(), ignore_index=-100)


@task.solution("it takes log p of the right token everywhere, and adds up those of real steps.")
def gathered_and_masked(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    real = real_steps(targets, valid_lens)
    return -torch.where(real, at_targets(scores.log_softmax(-1), targets), 0).sum() / real.sum()


@task.solution("it adds up the losses of each text's real steps, text by text.")
def text_by_text(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    total = scores.new_zeros(())
    for text in range(len(scores)):
        for step in range(int(valid_lens[text])):
            row = scores[text, step]
            total = total + row.logsumexp(0) - row[targets[text, step]]
    return total / valid_lens.sum()


@task.solution("padding is removed before the loss is computed.")
def only_what_is_real(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    real = real_steps(targets, valid_lens)
    return F.nll_loss(scores[real].log_softmax(1), targets[real])


@task.test
def test_the_content_of_padding_does_not_matter(masked_loss: Function) -> None:
    scores, targets, valid_lens = torch.ones(2, 4, 3), torch.ones(2, 4).long(), torch.tensor([3, 1])
    before = masked_loss(scores, targets, valid_lens)
    scores[0, 3:, 1], scores[1, 1:, 1], targets[1, 1:] = 9, -9, 2
    assert torch.allclose(masked_loss(scores, targets, valid_lens), before)


@task.test
def test_each_real_step_has_the_same_weight(masked_loss: Function) -> None:
    # Three steps cost log 2, and the one of the second text costs nothing.
    scores = torch.tensor([[[0.0, 0]] * 3, [[0.0, 99]] * 3])
    loss = masked_loss(scores, torch.ones(2, 3).long(), torch.tensor([3, 1]))
    assert abs(loss.item() - 0.75 * 0.6931) < 1e-4


@task.test
def test_a_very_unlikely_token_costs_much_and_not_infinitely_much(masked_loss: Function) -> None:
    scores = torch.tensor([[[0.0, 500]]])
    assert masked_loss(scores, torch.tensor([[0]]), torch.tensor([1])).item() == 500


def _losses(scores: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(scores.transpose(1, 2), targets, reduction="none")


def _mean(losses: Tensor, real: Tensor) -> Tensor:
    return (losses * real).sum() / real.sum()


def in_steps(
    lose: Function = _losses, real: Function = real_steps, mean: Function = _mean
) -> Function:
    """Correct code, of which a bug changes one step."""
    return lambda scores, targets, valid_lens: mean(
        lose(scores, targets), real(targets, valid_lens)
    )


task.bug(
    "padding in the loss",
    "the loss of padding counts, too.",
    symptom="The loss falls fast; then the model writes padding and little else.",
    origin="PyTorch's seq2seq tutorial, pytorch/tutorials#2840 and #3643",
    fix="leave padded steps out of both the sum and the count.",
)(in_steps(mean=lambda losses, _real: losses.mean()))

task.bug(
    "divided by all steps",
    "padding is left out of the sum, but the sum is divided by the number of all steps.",
    symptom="The loss is smaller the more padding a batch has.",
    fix="divide by the number of real steps, `valid_lens.sum()`.",
)(in_steps(mean=lambda losses, real: (losses * real).mean()))

task.bug(
    "the mean of the texts means",
    "the texts' own means are averaged, so that a step of a short text weighs more.",
    symptom="The loss of a batch is not the token-weighted mean of its parts' losses.",
    fix="divide only once: the sum over the batch by the number of real steps in the batch.",
)(in_steps(mean=lambda losses, real: ((losses * real).sum(1) / real.sum(1)).mean()))

task.bug(
    "the sum in place of the mean",
    "the losses are added up, and not divided.",
    symptom="The loss grows with the size of the batch.",
    fix="divide by the number of real steps, `valid_lens.sum()`.",
)(in_steps(mean=lambda losses, real: (losses * real).sum()))

task.bug(
    "softmax twice",
    "the softmax is taken twice, once before `cross_entropy` and once in it.",
    symptom="The loss falls a little and stays high, however long one trains.",
    fix="pass the scores themselves to `cross_entropy`, which takes the softmax.",
)(in_steps(lose=lambda scores, targets: _losses(scores.softmax(-1), targets)))


@task.bug(
    symptom="A perfect model still has a loss, and a larger one in batches with more padding.",
    fix="multiply the losses by the mask: scores of 0 have the loss log(num_symbols), not 0.",
)
def the_scores_are_masked(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """the scores are multiplied by the mask instead of the losses."""
    real = real_steps(targets, valid_lens)
    return _losses(scores * real[..., None], targets).sum() / real.sum()


task.bug(
    "the last symbol is left out",
    "one step too few is counted: the last token of each text is left out.",
    symptom="The model never learns when to stop.",
    fix="real steps are those whose position is below the length.",
)(in_steps(real=lambda targets, lens: real_steps(targets, lens - 1)))

task.bug(
    "one step of padding",
    "one step too many is counted, if a text has padding.",
    symptom="After the end of a text the model learns to write one token of padding.",
    fix="compare positions with `<`: they are counted from 0.",
)(in_steps(real=lambda targets, lens: real_steps(targets, lens + 1)))

task.bug(
    "symbol 0 is left out",
    "token 0 is treated as padding wherever it is.",
    symptom="One symbol is never learned.",
    fix="find padding by the lengths, not by a number that is also a token.",
)(in_steps(real=lambda targets, lens: real_steps(targets, lens) & (targets != 0)))

task.bug(
    "the logarithm is missing",
    "`nll_loss` is given probabilities, and no logarithm is taken.",
    symptom="The loss is negative.",
    fix="pass `log_softmax` to `nll_loss`, or the scores to `cross_entropy`.",
)(in_steps(lose=lambda scores, targets: -at_targets(scores.softmax(-1), targets)))

task.bug(
    "softmax over the steps",
    "the softmax is taken over the steps.",
    symptom="The loss of equal scores is log(num_steps), not log(num_symbols).",
    fix="take the softmax over the tokens: flatten batch and steps for `cross_entropy`.",
)(in_steps(lose=lambda scores, targets: -at_targets(scores.log_softmax(1), targets)))


@task.bug(
    symptom="After hours of training the loss is inf, and then all is NaN.",
    fix="take `log_softmax`, which never computes p itself.",
)
def log_of_a_softmax(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """the logarithm is taken of a p that has underflowed to 0."""
    real = real_steps(targets, valid_lens)
    return -at_targets(scores.softmax(-1), targets)[real].log().mean()
