"""Lengths: whole numbers of visible keys, or of the first one, and when they are read."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from attnbook.checks import check_dense, check_numbers, is_traced, see_recipe, see_recipe_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jaxtyping import Shaped
    from torch import Tensor

# torch has no public function for this.
_functorch = torch._C._functorch

_check_everywhere: ContextVar[bool] = ContextVar("attnbook_checked", default=False)


def lengths_for_queries(
    name: str,
    lengths: Shaped[Tensor, " batch"] | Shaped[Tensor, "batch queries"],
    shape: Sequence[int],
    device: torch.device | str | None,
) -> Shaped[Tensor, "batch *ones one"]:
    """Check lengths and line them up with scores: `(batch, [1,] 1 or num_queries, 1)`."""
    check_lengths(name, lengths, shape)
    check_numbers(name, lengths, device)
    if may_read(lengths):
        _check_in_range(name, unwrap(lengths), shape[-1])
    per_query = lengths if lengths.dim() == 2 else lengths.unsqueeze(1)
    lined_up = make_comparable(per_query if device is None else per_query.to(device)).unsqueeze(-1)
    return lined_up if len(shape) == 3 else lined_up[:, None]


def check_lengths(name: str, lengths: Tensor, shape: Sequence[int]) -> None:
    """Refuse lengths of the wrong type or shape; no value is read."""
    if isinstance(lengths, torch.Tensor) and lengths.dtype == torch.bool:
        fix = f"booleans are a mask, which layers take as mask={see_recipe('convert a mask')}"
        raise TypeError(f"{name} must hold whole numbers, got {lengths.dtype}: {fix}")
    check_whole(name, lengths)
    batch, num_queries = shape[0], shape[-2]
    # Not `in`, of which torch.compile makes an untrue constant for some open sizes.
    per_example = lengths.dim() == 1 and lengths.shape[0] == batch
    per_query = lengths.dim() == 2 and lengths.shape[0] == batch and lengths.shape[1] == num_queries
    if not (per_example or per_query):
        raise ValueError(
            f"{name} must have shape (batch={batch},) or "
            f"(batch={batch}, num_queries={num_queries}), got {tuple(lengths.shape)}"
            + see_recipe_of(name)
        )


def check_whole(name: str, numbers: Tensor) -> None:
    """Refuse what is no tensor of whole numbers; no value is read."""
    check_dense(name, numbers, "a tensor of whole numbers")
    if numbers.dtype == torch.bool or numbers.is_complex():
        raise TypeError(f"{name} must hold whole numbers, got {numbers.dtype}")


def may_read(numbers: Tensor) -> bool:
    """Whether numbers of the caller's are checked: on the CPU, or inside `checked()`."""
    return is_readable(numbers) and (numbers.is_cpu or _check_everywhere.get())


def _check_in_range(name: str, given: Tensor, num_keys: int) -> None:
    few = given.numel() <= 64 and not given.is_floating_point()
    numbers = given.flatten().tolist() if few else [-1]  # faster than two kernels
    if not given.numel() or (min(numbers) >= 0 and max(numbers) <= num_keys):
        return
    lengths = make_comparable(given)
    lowest, highest = torch.aminmax(lengths)
    # A comparison with NaN is false, so NaN is outside too.
    if not (lowest.item() >= 0 and highest.item() <= num_keys):
        inside = (lengths >= 0) & (lengths <= num_keys)
        _refuse_first(name, given, ~inside, f"lie in [0, num_keys={num_keys}]")
    if lengths.is_floating_point() and not torch.equal(lengths, lengths.round()):
        _refuse_first(name, given, lengths != lengths.round(), "be whole numbers")


def _refuse_first(name: str, given: Tensor, wrong: Tensor, rule: str) -> NoReturn:
    index = tuple(wrong.nonzero()[0].tolist())
    raise ValueError(
        f"{name} must {rule}, got {given[index].item()} at index {index}{see_recipe_of(name)}"
    )


def make_comparable(lengths: Tensor) -> Tensor:
    """Give whole numbers a dtype in which they can be compared with positions."""
    # Compared in half precision, positions past 256 would be rounded; unsigned
    # 16 to 64-bit integers cannot be compared with positions at all.
    if not lengths.is_floating_point():
        return lengths.long()
    return lengths.float() if lengths.dtype.itemsize < 4 else lengths


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


def is_readable(tensor: Tensor) -> bool:
    """Whether there are numbers that can be read now, perhaps after waiting for a GPU."""
    is_constant = torch.compiler.is_compiling() or is_recording()
    return not (is_constant or tensor.is_meta or isinstance(tensor, FakeTensor))


def is_recording() -> bool:
    """Whether `torch.jit.trace` or `make_fx` records this: what is read becomes a constant."""
    if torch.compiler.is_compiling():
        return False
    # The first test is there because it is faster.
    makes_fx = is_in_torch_dispatch_mode() and get_proxy_mode() is not None
    return makes_fx or is_traced()
