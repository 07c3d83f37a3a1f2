"""What asking a model needs besides it: rest for it, and several texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode, without gradients; each part's mode is given back after."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def check_texts(texts: Iterable[str]) -> None:
    """Refuse what is not several texts; the vocabulary looks at each of them."""
    if isinstance(texts, str):
        raise TypeError("texts must be a list of strings, got one string; put it in a list")
    if not isinstance(texts, Iterable):
        raise TypeError(f"texts must be a list of strings, got {type(texts).__name__}")
