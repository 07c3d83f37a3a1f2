"""Known bugs of the task masked-loss."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from attnbook.practice.tasks.masked_loss import real_places, task


def _losses(scores: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(scores.transpose(1, 2), targets, reduction="none")


def _mean(losses: Tensor, real: Tensor) -> Tensor:
    return (losses * real).sum() / real.sum()


@task.bug(
    symptom="The loss falls fast; then the model writes padding and little else.",
    origin="PyTorch's seq2seq tutorial, pytorch/tutorials#2840 and #3643",
    mend="leave padded steps out of both the sum and the count.",
    case="texts of different lengths",
)
def padding_in_the_loss(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:  # noqa: ARG001
    """the loss of padding counts, too."""
    return _losses(scores, targets).mean()


@task.bug(
    symptom="The loss is smaller the more padding a batch has.",
    origin="a common slip",
    mend="divide by the number of real steps, `valid_lens.sum()`.",
    case="texts of different lengths",
)
def divided_by_all_steps(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """padding is left out of the sum, which is divided by all steps all the same."""
    return (_losses(scores, targets) * real_places(targets, valid_lens)).mean()


@task.bug(
    symptom="The loss of a batch is not the mean of its parts' losses, weighted by symbols.",
    origin="a common slip",
    mend="divide once, the sum over the batch by the number of real steps in the batch.",
    case="texts of different lengths",
)
def the_mean_of_the_texts_means(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """each text has its own mean, so that a step of a short text weighs more."""
    per_text = (_losses(scores, targets) * real_places(targets, valid_lens)).sum(1)
    return (per_text / valid_lens).mean()


@task.bug(
    symptom="The loss grows with the size of the batch.",
    origin="a common slip",
    mend="divide by the number of real steps, `valid_lens.sum()`.",
    case="texts of different lengths",
)
def the_sum_in_place_of_the_mean(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """the losses are added up, and not divided."""
    return (_losses(scores, targets) * real_places(targets, valid_lens)).sum()


@task.bug(
    symptom="The loss falls a little and stays high, however long one trains.",
    origin="a common slip",
    mend="hand the scores themselves to `cross_entropy`, which takes the softmax.",
    case="texts of different lengths",
)
def softmax_twice(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """the softmax is taken twice, once before `cross_entropy` and once in it."""
    return _mean(_losses(scores.softmax(-1), targets), real_places(targets, valid_lens))


@task.bug(
    symptom="A perfect model still has a loss, and a larger one in batches with more padding.",
    origin="a common slip",
    mend="multiply the losses by the mask: scores of 0 have the loss log(num_symbols), not 0.",
    case="texts of different lengths",
)
def the_scores_are_masked(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """the scores are multiplied by the mask in place of the losses."""
    real = real_places(targets, valid_lens)
    return _losses(scores * real[..., None], targets).sum() / real.sum()


@task.bug(
    symptom="The model never learns when to stop.",
    origin="a common slip",
    mend="real steps are those whose position is below the length.",
    case="texts of different lengths",
)
def the_last_symbol_is_left_out(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """one step too few is counted: the last symbol of each text is left out."""
    return _mean(_losses(scores, targets), real_places(targets, valid_lens - 1))


@task.bug(
    symptom="After the end of a text the model learns to write one symbol of padding.",
    origin="a common slip",
    mend="compare positions with `<`: they are counted from 0.",
    case="texts of different lengths",
)
def one_step_of_padding(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """one step too many is counted, if a text has padding."""
    return _mean(_losses(scores, targets), real_places(targets, valid_lens + 1))


@task.bug(
    symptom="One symbol is never learned.",
    origin="a common slip",
    mend="tell padding by the lengths, not by a number that is a symbol, too.",
    case="texts of different lengths",
)
def symbol_0_is_left_out(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """symbol 0 is taken for padding wherever it stands."""
    return _mean(_losses(scores, targets), real_places(targets, valid_lens) & (targets != 0))


@task.bug(
    symptom="The loss is negative.",
    origin="a common slip",
    mend="hand `log_softmax` to `nll_loss`, or the scores to `cross_entropy`.",
    case="texts of different lengths",
)
def the_logarithm_is_missing(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """`nll_loss` is given probabilities, and no logarithm is taken."""
    losses = -scores.softmax(-1).gather(-1, targets[..., None])[..., 0]
    return _mean(losses, real_places(targets, valid_lens))


@task.bug(
    symptom="The loss is that of a guess, and changes with the number of steps.",
    origin="a common slip",
    mend="take the softmax over the symbols: flatten batch and steps for `cross_entropy`.",
    case="texts of different lengths",
)
def softmax_over_the_steps(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """the softmax is taken over the steps."""
    logs = scores.log_softmax(1).gather(-1, targets[..., None])[..., 0]
    return _mean(-logs, real_places(targets, valid_lens))


@task.bug(
    symptom="After hours of training the loss is inf, and then all is NaN.",
    origin="a common slip",
    mend="take `log_softmax`, which never passes through p.",
    case="a right symbol 200 below the likeliest",
)
def log_of_a_softmax(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """the logarithm is taken of a p that has vanished to 0."""
    real = real_places(targets, valid_lens)
    return -scores.softmax(-1).gather(-1, targets[..., None])[..., 0][real].log().mean()
