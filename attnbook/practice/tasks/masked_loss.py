"""The loss of a batch of padded texts."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.practice.inputs import lengths, normal
from attnbook.practice.task import Function, Law, Task


def _positive(loss: Tensor, *_: object) -> bool:
    return not bool((loss < 0).any())


task = Task(
    name="masked-loss",
    statement=(
        "Write `masked_loss(scores, targets, valid_lens)`. `scores` has shape (batch, num_steps, "
        "num_symbols): how likely each symbol is at each step, before the softmax. `targets`, "
        "(batch, num_steps), holds the right symbols, whole numbers from 0; symbol 0 is one like "
        "any other. `valid_lens`, (batch,), says how many steps of each text, from the first, are "
        "real; the rest is padding, which holds scores and symbols without meaning. The loss is "
        "one number of shape (), of the scores' dtype: the mean of −log p of the right symbol over "
        "all real steps of the batch, each with the same weight. A length may be 0, but not all."
    ),
    starter="def masked_loss(scores, targets, valid_lens):\n    ...",
    laws=(Law("The loss is negative; −log p never is.", _positive),),
)


def _targets(*rows: list[int]) -> Tensor:
    return torch.tensor(rows)


@task.case("texts of different lengths")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 5, 3), _targets([2, 0, 1, 1, 2], [0, 2, 2, 1, 0]), lengths(4, 2)


@task.case("no padding")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 5), _targets([4, 1, 0], [3, 0, 2]), lengths(3, 3)


@task.case("as many texts as steps and symbols")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(3, 3, 3), _targets([1, 0, 2], [2, 2, 0], [0, 1, 1]), lengths(1, 3, 2)


@task.case("texts of one symbol")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(3, 2, 5), _targets([0, 3], [4, 0], [1, 2]), lengths(1, 1, 1)


@task.case("a text of length 0")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 5), _targets([1, 4, 0], [2, 3, 3]), lengths(0, 2)


@task.case("a right symbol 200 below the likeliest")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return torch.tensor([[[0.0, 200, 3], [1, 2, 3]]]), _targets([0, 1]), lengths(2)


@task.case("scores of 1e30 at padding")
def _() -> tuple[Tensor, Tensor, Tensor]:
    scores = normal(1, 3, 5)
    scores[0, 2, 1] = 1e30
    return scores, _targets([3, 1, 0]), lengths(2)


@task.case("half precision")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 5).half(), _targets([4, 1, 0], [3, 0, 2]), lengths(3, 2)


@task.case("double precision")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 5).double(), _targets([4, 1, 0], [3, 0, 2]), lengths(3, 2)


def real_places(targets: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(targets.shape[1]) < valid_lens[:, None]


@task.case("infinity and NaN at padding", gradients=False)
def _() -> tuple[Tensor, Tensor, Tensor]:
    scores = normal(2, 3, 5)
    scores[0, 2], scores[1, 1:] = math.inf, math.nan
    return scores, torch.tensor([[1, 4, 0], [2, 0, 0]]), lengths(2, 1)


@task.case("all scores near -200")
def _() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 5) - 200, _targets([4, 1, 0], [3, 0, 2]), lengths(3, 2)


@task.case("9 texts of up to 131 steps")
def _() -> tuple[Tensor, Tensor, Tensor]:
    targets = (10 * normal(9, 131, seed=1).abs()).long() % 70
    return normal(9, 131, 70), targets, lengths(131, 1, 0, 65, 129, 130, 66, 64, 8)


@task.right("PyTorch's own leaves out the targets that are -100.")
def targets_that_are_ignored(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    ignored = targets.masked_fill(~real_places(targets, valid_lens), -100)
    return F.cross_entropy(scores.flatten(0, 1), ignored.flatten(), ignore_index=-100)


@task.right("it takes the right symbol's log p everywhere, and adds up those that are real.")
def gathered_and_masked(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    logs = scores.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    real = real_places(targets, valid_lens)
    return -torch.where(real, logs, 0).sum() / real.sum()


@task.right("it adds up text by text, of each its real steps only.")
def text_by_text(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    total = scores.new_zeros(())
    for text in range(len(scores)):
        for step in range(int(valid_lens[text])):
            row = scores[text, step]
            total = total + row.logsumexp(0) - row[targets[text, step]]
    return total / valid_lens.sum()


@task.right("padding is taken out before there is any loss.")
def only_what_is_real(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    real = real_places(targets, valid_lens)
    return F.nll_loss(scores[real].log_softmax(1), targets[real])


@task.right("each right symbol has the weight 1 over the number of real steps, all else 0.")
def a_weighted_sum(scores: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    real = real_places(targets, valid_lens).to(scores.dtype)
    weights = F.one_hot(targets, scores.shape[-1]).to(scores.dtype) * (real / real.sum())[..., None]
    losses = -scores.log_softmax(-1).where(real[..., None] > 0, 0)
    return torch.einsum("btv,btv->", weights, losses)


@task.test
def test_two_equally_likely_symbols_cost_log_2(masked_loss: Function) -> None:
    loss = masked_loss(torch.zeros(1, 3, 2), torch.tensor([[0, 1, 1]]), torch.tensor([3]))
    assert abs(loss.item() - 0.6931) < 1e-4


@task.test
def test_probabilities_of_a_half_and_an_eighth_cost_2_logs_of_2(masked_loss: Function) -> None:
    scores = torch.tensor([[[4.0, 2, 2], [6, 1, 1]]]).log()  # p = 1/2, 1/4, … and 3/4, 1/8, …
    loss = masked_loss(scores, torch.tensor([[0, 2]]), torch.tensor([2]))
    assert abs(loss.item() - 2 * 0.6931) < 1e-4


@task.test
def test_what_padding_holds_does_not_matter(masked_loss: Function) -> None:
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
def test_a_very_unlikely_symbol_costs_much_and_not_infinitely_much(masked_loss: Function) -> None:
    scores = torch.tensor([[[0.0, 500]]])
    assert masked_loss(scores, torch.tensor([[0]]), torch.tensor([1])).item() == 500
