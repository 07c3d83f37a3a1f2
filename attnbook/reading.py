"""What is being done with tensors just now, and whether their numbers may be read.

Two questions have to be asked before a number is read: may it be read to refuse a bad one
(`numbers_to_refuse`), or to choose a path (`may_choose_by`)?
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attnbook.torch_private import (
    is_differentiated_forward,
    is_fake,
    is_recording,
    is_transformed,
    unwrap,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_check_everywhere: ContextVar[bool] = ContextVar("attnbook_checked", default=False)


def numbers_to_refuse(tensor: Tensor) -> Tensor | None:
    """The numbers to check, of all samples: on the CPU, or inside `checked()`; else None."""
    may_refuse = is_readable(tensor) and (tensor.is_cpu or _check_everywhere.get())
    return unwrap(tensor) if may_refuse else None


def may_choose_by(tensor: Tensor) -> bool:
    """Whether its numbers may be read to choose a path: they are there, and not on a GPU."""
    return tensor.is_cpu and is_readable(tensor) and not needs_fallback(tensor)


def is_readable(tensor: Tensor) -> bool:
    """Whether there are numbers that can be read now, perhaps after waiting for a GPU."""
    is_constant = torch.compiler.is_compiling() or is_recording()
    return not (is_constant or tensor.is_meta or is_fake(tensor))


def needs_fallback(*tensors: Tensor) -> bool:
    """Whether these tensors, or what is being done to them, need the formula.

    So do subclasses of Tensor, tensors without values, the transforms of `torch.func`,
    forward-mode differentiation, and what records one path for all inputs: `torch.jit.trace`
    and `make_fx`.
    """
    for tensor in tensors:
        if type(tensor) not in (Tensor, nn.Parameter) or tensor.is_meta:
            return True
    return is_recording() or is_transformed() or is_differentiated_forward()


@contextmanager
def checked() -> Iterator[None]:
    """Read every `valid_lens` while this is open, on a GPU and in compiled layers too.

    Outside, lengths on a GPU and lengths in a compiled layer are not read, so that
    nothing waits for them. Inside, compiled layers run uncompiled, and a GPU is
    waited for. The same holds for masks of numbers that are converted (`from_attn_mask`).
    A program made by `torch.export` has no checks left to run. Open it outside compiled
    code, and once in each thread that is to be checked.

    Example:
        >>> layer = torch.compile(DotProductAttention(), backend="eager")
        >>> queries, keys = torch.ones(1, 1, 4), torch.ones(1, 3, 4)
        >>> with checked():
        ...     layer(queries, keys, keys, torch.tensor([5]))
        Traceback (most recent call last):
        ValueError: valid_lens must lie in [0, num_keys=3], got 5 at index (0,); see: ...
    """
    _uncompiled.enter()  # refuses to be opened inside a compiled function
    token = _check_everywhere.set(True)
    try:
        yield
    finally:
        _check_everywhere.reset(token)
        _uncompiled.leave()


class _Uncompiled:
    """Compiled layers run uncompiled from the first `enter` to the last `leave`.

    torch has one stance for all threads. If each block restored the stance before it,
    two overlapping blocks could leave everything uncompiled.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._blocks = 0
        self._stance = ExitStack()

    def enter(self) -> None:
        with self._lock:
            if self._blocks == 0:
                self._stance.enter_context(torch.compiler.set_stance("force_eager"))
            self._blocks += 1

    def leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                self._stance.close()


_uncompiled = _Uncompiled()
