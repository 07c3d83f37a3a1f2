"""What decoding needs besides the model: a look at what is changed, and at what it scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float

Change = Callable[[Tensor, int], Tensor]


def check_change(change: Change | None, attention: nn.Module | None) -> None:
    """Refuse a change that cannot be called, or has no weights to change."""
    if change is not None and not callable(change):
        raise TypeError(
            f"change must be a function of weights and step, got {type(change).__name__}"
        )
    if change is not None and attention is None:
        raise ValueError("change needs weights, but this model has no attention")


def changed_weights(
    change: Change, weights: Float[Tensor, "batch keys"], step: int
) -> Float[Tensor, "batch keys"]:
    """Change the weights of a step.

    Raises:
        TypeError: no tensor was returned.
        ValueError: its shape, dtype or device is not that of the weights.
    """
    changed = change(weights, step)
    if not isinstance(changed, Tensor):
        raise TypeError(f"change must return a tensor, got {type(changed).__name__} at step {step}")
    for what in ("shape", "dtype", "device"):
        expected, found = getattr(weights, what), getattr(changed, what)
        if expected != found:
            raise ValueError(
                f"change must return weights of {what} {expected}, got {found} at step {step}"
            )
    return changed


def check_finite(steps: Sequence[Float[Tensor, "batch symbols"]], texts: Sequence[str]) -> None:
    """Refuse a translation's scores, one tensor for each step, that are not finite."""
    # Once for all steps: every look makes a GPU wait.
    scores = torch.stack(list(steps))
    if not scores.isfinite().all():
        step, row, symbol = (~scores.isfinite()).nonzero()[0].tolist()
        raise ValueError(
            f"scores must be finite, got {scores[step, row, symbol]} at step {step} "
            f"of {texts[row]!r}; look at the model's weights and at what change returned"
        )
