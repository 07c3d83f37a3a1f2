"""A small training loop: teacher forcing, a masked loss, early stopping."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.checks import check_size, describe_value
from attnbook.models.batches import Batch, part_of, with_targets
from attnbook.models.checks import check_kind, check_list, check_seed, checked_targets, is_pair
from attnbook.models.progress_bar import Bar, Epoch, Report
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import END, PAD, check_some, pad

if TYPE_CHECKING:
    from jaxtyping import Float, Int

__all__ = ["Bar", "Batch", "Epoch", "Pair", "Plan", "Report", "evaluate", "fit", "learn_batch"]
__all__ += ["make_batch", "masked_loss", "train"]

Pair = tuple[str, str]
MAX_NORM = 1.0  # of a gradient
LEAST_STEPS = 10  # of a schedule, so that its first fifth has two steps


@dataclass(frozen=True)
class Plan:
    """How `fit` trains a model: epochs, batch size, learning rate, patience and seed.

    Args:
        epochs: how often every pair is used, at most.
        batch_size: pairs per step.
        learning_rate: at its height, above 0; it rises over the first fifth of the steps
            and falls to nothing until the last; fewer than ten are as the first of ten.
        patience: after so many epochs that were not better, training ends.
        seed: of the order of the pairs and of dropout.

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Example:
        >>> from attnbook.models.training import Plan
        >>> Plan(epochs=2, learning_rate=0.001)
        Plan(epochs=2, batch_size=32, learning_rate=0.001, patience=3, seed=0)
    """

    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 4e-3
    patience: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience"):
            check_size(name, getattr(self, name))
        check_seed(self.seed)
        if isinstance(self.learning_rate, bool) or not isinstance(self.learning_rate, Real):
            raise TypeError(
                f"learning_rate must be a number, got {describe_value(self.learning_rate)}"
            )
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate must be positive and finite, got {self.learning_rate}")


class Pairs(NamedTuple):
    """Tokens of texts and of their targets, each target with its end, padded."""

    tokens: Tensor
    valid_lens: Tensor
    targets: Tensor


def masked_loss(
    scores: Float[Tensor, "batch steps symbols"], targets: Int[Tensor, "batch steps"]
) -> Float[Tensor, ""]:
    """Average -log p of the characters to write; padding counts for nothing.

    Source: Sutskever, Vinyals and Le (2014), section 3.2 (theirs is of whole texts, ours per
    character).

    Raises:
        TypeError, ValueError: `scores` and `targets` do not belong together.

    Example:
        >>> from attnbook.models.training import masked_loss
        >>> scores = torch.zeros(1, 3, 4)  # four symbols are equally likely; 0 is padding
        >>> masked_loss(scores, torch.tensor([[3, 2, 0]])).exp().round(decimals=2)
        tensor(4.)
    """
    with checked_targets(scores, targets):
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=PAD)


def make_batch(model: Translator, pairs: Iterable[Pair]) -> Pairs:
    """Turn pairs of texts into tokens, on the model's device.

    Raises:
        TypeError, ValueError: as `Vocabulary.encode` does; or there are no pairs.
    """
    return _make_batch("pairs", model, pairs)


def _make_batch(name: str, model: Translator, given: Iterable[Pair]) -> Pairs:
    check_kind("model", model, Translator)
    pairs = check_list(name, given, "pairs (text, target)")
    check_some(name, pairs)
    for index, pair in enumerate(pairs):
        if not is_pair(pair):
            raise TypeError(
                f"{name} must hold pairs (text, target), got {describe_value(pair)} "
                f"at index {index}"
            )
    targets, _ = pad([[*model.target.encode(target), END] for _, target in pairs])
    return Pairs(*model.read([text for text, _ in pairs]), targets.to(model.device))


def train(
    model: Translator,
    pairs: Iterable[Pair],
    validation: Iterable[Pair],
    plan: Plan | None = None,
    report: Report | None = None,
) -> list[Epoch]:
    """Train a translator in place, as `fit` does, on pairs of texts.

    Args:
        pairs, validation: texts and what to write for them, at least one pair each.
        plan, report: as in `fit`.

    Returns:
        The results of each epoch; the best has the lowest validation loss.

    Raises:
        FloatingPointError: the loss is not finite; the message says where.
        TypeError, ValueError: there are no pairs, or one that the model cannot read.

    Example:
        >>> from attnbook.models.training import Plan, train
        >>> from attnbook.models.translator.model import Translator
        >>> from attnbook.models.vocabulary import Vocabulary
        >>> model = Translator(Vocabulary("abc"), Vocabulary("abc"))
        >>> pairs = [("ab", "ba"), ("bc", "cb")]
        >>> len(train(model, pairs, pairs, Plan(epochs=2)))
        2
    """
    learned = _make_batch("pairs", model, pairs)
    return fit(model, learned, _make_batch("validation", model, validation), plan, report)


def fit(
    model: nn.Module,
    learned: Batch,
    judged: Batch,
    plan: Plan | None = None,
    report: Report | None = None,
) -> list[Epoch]:
    """Train a model in place, and leave it with the weights of its best epoch.

    An exception, such as a keyboard interrupt, ends training and is raised again. The model
    is then in eval mode too, with the weights of its best finished epoch, or with its latest
    weights if no epoch is finished.

    Args:
        model: returns a score for each symbol at each step, given the parts of a batch.
        learned, judged: what to learn from, and what to choose the best epoch by; rows without a
            target, such as lines of one symbol, are left out.
        plan: epochs, learning rate and order.
        report: called before every step with the share that is done and the epochs so far,
            and with 1 at the end; `Bar()` draws a progress bar.

    Returns:
        The results of each epoch; the best has the lowest loss on `judged`.

    Raises:
        FloatingPointError: the loss is not finite; the message says where.
        TypeError, ValueError: an argument is of another kind, or no row has a target.

    Example:
        >>> from attnbook.models.training import Plan, fit
        >>> from attnbook.models.transformer.decoder import Decoder, make_lines
        >>> from attnbook.models.vocabulary import Vocabulary
        >>> model = Decoder(Vocabulary("ab"))
        >>> lines = make_lines(model, ["abab", "baba"])
        >>> epochs = fit(model, lines, lines, Plan(epochs=5))
        >>> epochs[-1].loss < epochs[0].loss
        True
    """
    plan = Plan() if plan is None else plan
    check_kind("model", model, nn.Module)
    check_kind("plan", plan, Plan)
    if not (report is None or callable(report)):
        raise TypeError(f"report must be a function, got {type(report).__name__}")
    learned, judged = with_targets("learned", learned), with_targets("judged", judged)
    history, best_weights = list[Epoch](), dict[str, Tensor]()
    device = learned.targets.device
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(plan.seed)
            for loss, seconds in _train_epochs(model, learned, plan, history, report):
                history.append(Epoch(loss, evaluate(model, judged), seconds))
                where = f"on the validation pairs after epoch {len(history)}"
                _check_finite(history[-1].validation_loss, where, plan)
                waited = _count_epochs_since_best(history)
                if waited == 0:
                    best_weights = copy.deepcopy(model.state_dict())
                if waited == plan.patience:
                    break
    finally:
        if best_weights:
            model.load_state_dict(best_weights)
        model.eval()
    if report:
        report(1.0, history)
    return history


def _count_epochs_since_best(history: Sequence[Epoch]) -> int:
    losses = [epoch.validation_loss for epoch in history]
    return len(losses) - 1 - losses.index(min(losses))


def _train_epochs(
    model: nn.Module, batch: Batch, plan: Plan, history: list[Epoch], report: Report | None
) -> Iterator[tuple[float, float]]:
    """Train, epoch after epoch; give the mean loss and the seconds of each."""
    steps = math.ceil(len(batch.targets) / plan.batch_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=plan.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        plan.learning_rate,
        total_steps=max(LEAST_STEPS, plan.epochs * steps),
        pct_start=0.2,
    )
    for epoch in range(plan.epochs):
        model.train()
        start, total = time.process_time(), 0.0
        order = torch.randperm(len(batch.targets), device="cpu")
        for number in range(steps):
            if report:
                report((epoch * steps + number) / (plan.epochs * steps), history)
            chosen = order[number * plan.batch_size : (number + 1) * plan.batch_size]
            loss = learn_batch(model, optimizer, part_of(batch, chosen))
            _check_finite(loss, f"at step {number + 1} of {steps} in epoch {epoch + 1}", plan)
            schedule.step()
            total += loss
        yield total / steps, time.process_time() - start


def _check_finite(loss: float, where: str, plan: Plan) -> None:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the loss is {loss} {where}; try a learning_rate below {plan.learning_rate}"
        )


def learn_batch(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    """Learn from one batch; give its loss, with nothing learned if it is not finite."""
    loss = masked_loss(model(*batch), batch.targets)
    value = loss.item()
    if math.isfinite(value):
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
    return value


@torch.no_grad()
def evaluate(model: nn.Module, batch: Batch) -> float:
    """Give the mean loss per character, without dropout."""
    model.eval()
    return masked_loss(model(*batch), batch.targets).item()
