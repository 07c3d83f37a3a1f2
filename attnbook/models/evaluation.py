"""Evaluation mode while a model is used, by one thread at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

# Outside the models, because models can be copied and pickled and locks cannot.
_locks: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()
_locks_guard = Lock()


def _lock_of(model: nn.Module) -> Any:  # noqa: ANN401 - RLock is a function
    with _locks_guard:
        return _locks.setdefault(model, RLock())


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode, without gradients; afterwards restore the mode of each part.

    Another thread waits, because the modes and the stored weights belong to the model.
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
