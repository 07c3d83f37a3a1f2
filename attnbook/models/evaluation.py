"""Evaluation mode for as long as a model is asked something, by one thread at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

# Not in the models, which can be copied and pickled; a lock cannot.
_locks: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()
_finding = Lock()


def _lock_of(model: nn.Module) -> Any:  # noqa: ANN401 - RLock is a function
    with _finding:
        return _locks.setdefault(model, RLock())


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode, without gradients; each part's mode is given back after.

    Another thread waits: modes, and the weights of the last call, are the model's own.
    """
    with _lock_of(model):
        modes = [(part, part.training) for part in model.modules()]
        model.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            for part, mode in modes:
                part.training = mode
