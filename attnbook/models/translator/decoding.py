"""The input and output of a translator's decoder, and the check of changed weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float

    from attnbook.attention import Attention

Change = Callable[[Tensor, int], Tensor]


class Encoded(NamedTuple):
    """A batch of texts as the decoder gets it; `projected_keys` only if it attends.

    Args:
        states: of the characters, `(batch, num_keys, num_hiddens)`.
        whole: of the whole texts, `(batch, num_hiddens)`.
        valid_lens: of the texts, `(batch,)`.
        projected_keys: `(batch, num_keys, score_hiddens)`, or None.

    Example:
        >>> from attnbook.models.translator.checkpoints import book_model
        >>> model = book_model("small")
        >>> encoded = model.encode(*model.read(["3 May 2024", "3 May 24"]))
        >>> encoded.valid_lens, encoded.states.shape[:2]
        (tensor([10,  8]), torch.Size([2, 10]))
    """

    states: Tensor  # (batch, num_keys, num_hiddens)
    whole: Tensor  # (batch, num_hiddens)
    valid_lens: Tensor  # (batch,)
    projected_keys: Tensor | None  # (batch, num_keys, score_hiddens)


class Translation(NamedTuple):
    """A text, what the model wrote for it, and where it attended before each character.

    `weights` is `(len(output), len(text))`, on the CPU; None without attention, or if
    the attention does not store them.

    Example:
        >>> from attnbook.models.translator.checkpoints import book_model
        >>> (translation,) = book_model("small").translate(["3 May 2024"])
        >>> translation.output, translation.weights.shape
        ('2024-05-03', torch.Size([10, 10]))
    """

    text: str
    output: str
    weights: Tensor | None


def check_change(change: Change | None, attention: Attention | None) -> None:
    """Refuse a change that cannot be called, or has no weights to change."""
    if change is not None and not callable(change):
        raise TypeError(
            f"change must be a function of weights and step, got {type(change).__name__}"
        )
    if change is not None and attention is None:
        raise ValueError("change needs weights, but this model has no attention")
    if change is not None and attention is not None and not attention.keep_weights:
        raise ValueError("change needs weights, but this model's attention has keep_weights=False")


def change_weights(
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


def make_translations(
    texts: Sequence[str], outputs: Sequence[str], step_weights: Sequence[Tensor]
) -> list[Translation]:
    """Combine texts, outputs and the weights of each step."""
    if not step_weights:
        return [Translation(*pair, None) for pair in zip(texts, outputs, strict=True)]
    weights = torch.stack(list(step_weights), 1).cpu()
    return [
        Translation(text, output, rows[: len(output), : len(text)])
        for text, output, rows in zip(texts, outputs, weights, strict=True)
    ]
