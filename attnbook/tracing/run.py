"""Runs of copies of a layer: one that is shown, and one with other sizes that confirms names."""

from __future__ import annotations

import contextlib
import copy
import io
import random
import textwrap
import warnings
from types import CellType, FunctionType
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook.messages import Messages
from attnbook.tracing.naming import Sizes, fit, list_sizes, other_sizes
from attnbook.tracing.record import Run
from attnbook.tracing.source import Scope, names_in

TEXT = Messages(__file__)
Compared: TypeAlias = tuple[Run, Run | None, str]
Inputs: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


class Copies(TorchFunctionMode):
    """A layer and its inputs, copied; what occurs twice is copied once. Inputs have other sizes.

    As a mode, it copies the tensors that torch refuses to copy: results, such as weights.
    """

    def __init__(self, layer: object, inputs: Inputs, sizes: Sizes, new_sizes: Sizes) -> None:
        super().__init__()
        self.made: dict[int, Any] = {}
        self.names: set[str] = set()  # of the sizes of the inputs
        self.sizes, self.new_sizes = sizes, new_sizes
        try:
            self.positional, self.by_name = self._copy(inputs)
            self.sizes = {}  # the layer's own tensors are not enlarged
            self.layer = self._copy(layer)
        except Exception as error:
            raise TypeError(f"the layer or an input cannot be copied: {error}") from error

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        """Copy a tensor in our way."""
        if func is Tensor.__deepcopy__:
            names = [fit(size, self.sizes) for size in args[0].shape]
            self.names.update(each for name in names if name for each in (name.first, name.second))
            return enlarge(args[0], self.sizes, self.new_sizes)
        return func(*args, **(kwargs or {}))

    def _copy(self, thing: Any) -> Any:  # noqa: ANN401 - its kind
        """Copy a thing; a function with its defaults, its closure and the modules that it names."""
        if not isinstance(thing, FunctionType):
            with self:
                return copy.deepcopy(thing, self.made)
        used = names_in(thing).items()
        modules = {name: self._copy(it) for name, it in used if isinstance(it, nn.Module)}
        cells = tuple(CellType(self._copy(cell.cell_contents)) for cell in thing.__closure__ or ())
        copied = FunctionType(thing.__code__, thing.__globals__ | modules, closure=cells)
        copied.__defaults__ = self._copy(thing.__defaults__)
        copied.__kwdefaults__ = self._copy(thing.__kwdefaults__)
        return copied


def enlarge(tensor: Tensor, sizes: Sizes, new_sizes: Sizes) -> Tensor:
    """Copy a tensor, strides and all, with other sizes, filled with its own numbers.

    So lengths stay valid. The copy is a leaf, or the result of a leaf, as its original is.
    """
    copied = copy.deepcopy(tensor.detach())
    for axis, size in enumerate(tensor.shape):
        name = fit(size, sizes)
        new = name.value(new_sizes) if name else None
        if new not in (None, size):
            copied = copied.index_select(axis, torch.arange(new, device=copied.device) % size)
    copied.requires_grad_(tensor.requires_grad)
    with torch.enable_grad():  # backward ends here
        return copied if tensor.is_leaf else copied.clone()


def compare(scope: Scope, inputs: Inputs, sizes: Sizes, vary: set[str]) -> Compared:
    """Run the layer, and again with other sizes of the names in `vary`, and others that it takes.

    The second run is None if it confirms no names; a remark says why.
    """
    first = _run(scope, inputs, sizes, set())
    if first.error is None and not first.calls[scope.sources[0]]:
        return first, None, TEXT("not_python", function=scope.sources[0].title)
    if not sizes:
        return first, None, ""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        second = _run(scope, inputs, sizes, vary)
        if first.error is None and second.error is not None:
            changed = [name for name in sizes if name in vary & second.names]
            before, after = list_sizes(sizes, changed), list_sizes(second.sizes, changed)
            why = " ".join(format_error(second.error))
            return first, None, TEXT("fails_with_other", before=before, after=after, reason=why)
        # Most other names are fixed by parameters: another size of each is tried.
        for name in [size for size in sizes if size not in vary and first.error is None]:
            run = _run(scope, inputs, sizes, vary | {name})
            if name in run.names and run.error is None and {*run.made} == {*first.made}:
                second, vary = run, vary | {name}
    return first, second, ""


def _run(scope: Scope, inputs: Inputs, sizes: Sizes, vary: set[str]) -> Run:
    new_sizes = other_sizes(sizes, vary, {n for source in scope.sources for n in source.numbers})
    copies = Copies(scope.layer, inputs, sizes, new_sizes)
    owners = [copies.made.get(id(source.owner), source.owner) for source in scope.sources]
    run, state = Run(scope.sources, owners, new_sizes, copies.names), random.getstate()
    on_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(range(torch.cuda.device_count()) if on_gpu else []):
        try:
            run.watch(lambda: copies.layer(*copies.positional, **copies.by_name))
        finally:
            random.setstate(state)
    return run


def format_error(error: BaseException) -> list[str]:
    """Write an exception, or its beginning, in short lines."""
    text = f"{type(error).__name__}: {error}"
    return textwrap.wrap(text, 60, max_lines=6, placeholder=" …")
