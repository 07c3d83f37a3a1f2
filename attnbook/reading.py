"""What is being done with tensors just now, and whether their numbers may be read.

Two questions have to be asked before a number is read: may it be read to refuse a bad one
(`may_refuse`), or to choose a path (`may_choose_by`)? What torch keeps private about programs that
are recorded, compiled or transformed is looked up here.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

if TYPE_CHECKING:
    from collections.abc import Iterator

# torch has no public functions for these.
_functorch = torch._C._functorch

_check_everywhere: ContextVar[bool] = ContextVar("attnbook_checked", default=False)


def may_refuse(numbers: Tensor) -> bool:
    """Whether numbers of the caller's are checked: on the CPU, or inside `checked()`."""
    return is_readable(numbers) and (numbers.is_cpu or _check_everywhere.get())


def may_choose_by(tensor: Tensor) -> bool:
    """Whether its numbers may be read to choose a path: they are there, and not on a GPU."""
    return tensor.is_cpu and is_readable(tensor) and not needs_fallback(tensor)


def is_readable(tensor: Tensor) -> bool:
    """Whether there are numbers that can be read now, perhaps after waiting for a GPU."""
    is_constant = torch.compiler.is_compiling() or is_recording()
    return not (is_constant or tensor.is_meta or isinstance(tensor, FakeTensor))


def needs_fallback(*tensors: Tensor) -> bool:
    """Whether these tensors, or what is being done to them, need the formula.

    So do subclasses of Tensor, tensors without values, the transforms of `torch.func`,
    forward-mode differentiation, and what records one path for all inputs: `torch.jit.trace`
    and `make_fx`.
    """
    for tensor in tensors:
        if type(tensor) not in (Tensor, nn.Parameter) or tensor.is_meta:
            return True
    return is_recording() or is_transformed() or forward_ad._current_level >= 0


def is_recording() -> bool:
    """Whether `torch.jit.trace` or `make_fx` records this: what is read becomes a constant."""
    if torch.compiler.is_compiling():
        return False
    # The first test is there because it is faster.
    makes_fx = is_in_torch_dispatch_mode() and get_proxy_mode() is not None
    return makes_fx or is_traced()


def is_traced() -> bool:
    """Whether `torch.jit.trace` records what is done."""
    return torch._C._get_tracing_state() is not None


def is_transformed() -> bool:
    """Whether a transform of `torch.func` acts."""
    return torch._C._are_functorch_transforms_active()


def is_mapping() -> bool:
    """Whether this runs within `torch.func.vmap`, for one of many samples."""
    if torch.compiler.is_compiling() or _functorch.maybe_current_level() is None:
        return False
    vmap = _functorch.TransformType.Vmap
    return any(level.key() == vmap for level in _functorch.get_interpreter_stack())


def is_mapped(grad: Tensor) -> bool:
    """Whether a gradient is a batch of gradients, as for a vectorised Jacobian."""
    return _functorch.is_batchedtensor(grad) or _functorch.is_legacy_batchedtensor(grad)


def unwrap(tensor: Tensor) -> Tensor:
    """Remove the wrappers of `torch.func` from a tensor, within its transforms or after.

    Axes that `vmap` maps over are axes again: they come first, the outermost before all.
    In a program that is being compiled, wrappers stay.
    """
    if torch.compiler.is_compiling():
        return tensor
    while _functorch.is_functorch_wrapped_tensor(tensor):
        mapped = _functorch.maybe_get_bdim(tensor)
        tensor = _functorch.get_unwrapped(tensor)
        if mapped > 0:
            tensor = tensor.movedim(mapped, 0)
    return tensor


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
