"""Runs of copies of a layer: one that is shown, and one with other sizes that confirms names."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import random
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook.messages import Messages
from attnbook.tracing.naming import Sizes, UnclearAxisError, changed_names, new_size, other_sizes
from attnbook.tracing.record import Run, Section, shape_of
from attnbook.tracing.source import Scope, contents, names_in

TEXT = Messages(__file__)
MESSAGE_WIDTH, LONGEST_MESSAGE = 60, 300
Change: TypeAlias = Callable[[Tensor], Tensor]
Inputs: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
Remark: TypeAlias = tuple[str, str]  # kind and text, as in a note


class Copies(TorchFunctionMode):
    """A layer and its inputs, copied; what occurs twice is copied once.

    `change` copies the inputs' tensors, but not those in modules. As a mode, it copies the
    tensors that torch refuses to copy: results, such as weights.
    """

    def __init__(self, layer: object, inputs: Inputs, change: Change) -> None:
        super().__init__()
        self.made: dict[int, Any] = {}
        self.change: Change = copy_tensor
        given = [*_inside([layer, inputs])]
        for it in given:
            if isinstance(it, nn.Module):
                self.of(it)
        self.made |= {id(it): change(it) for it in given if isinstance(it, Tensor)}
        self.change = change
        self.positional, self.by_name = self.of(inputs)
        self.change = copy_tensor
        self.layer = self.of(layer)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        """Copy a tensor in our way."""
        if func is Tensor.__deepcopy__:
            return self.change(args[0])
        return func(*args, **(kwargs or {}))

    def of(self, thing: Any) -> Any:  # noqa: ANN401 - its kind
        """Copy a thing, or a function with what it refers to."""
        if isinstance(thing, functools.partial):
            given = self.of((thing.args, thing.keywords))
            return functools.partial(self.of(thing.func), *given[0], **given[1])
        if isinstance(thing, FunctionType):
            return self.made.get(id(thing)) or self._function(thing)
        try:
            with self:
                return copy.deepcopy(thing, self.made)
        except UnclearAxisError:
            raise
        except Exception as error:
            raise TypeError(
                "what is traced is a copy of the layer, and something in it or in its inputs "
                f"cannot be copied: {error}"
            ) from error

    def _function(self, function: FunctionType) -> FunctionType:
        """Copy a function with its closure, its defaults and the modules that it names.

        The functions of its file that it calls are copied in the same way.
        """
        names = self.made.setdefault(id(function.__globals__), dict(function.__globals__))
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copied = FunctionType(function.__code__, names, function.__name__, None, cells)
        self.made[id(function)] = copied
        copied.__dict__.update(function.__dict__)
        copied.__defaults__ = self.of(function.__defaults__)
        copied.__kwdefaults__ = self.of(function.__kwdefaults__)
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            for value in contents(old):
                cell.cell_contents = value
                with contextlib.suppress(TypeError):  # a lock, for example
                    cell.cell_contents = self.of(value)
        for name in names_in(function):
            value = function.__globals__.get(name)
            here = isinstance(value, FunctionType) and value.__globals__ is function.__globals__
            if here or isinstance(value, nn.Module):
                names[name] = self.of(value)
        return copied


def _inside(value: object) -> Iterator[Tensor | nn.Module]:
    """List the tensors and modules in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor | nn.Module):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _inside(each)


def copy_tensor(tensor: Tensor) -> Tensor:
    """Copy a tensor, strides and all."""
    plain = tensor.detach()
    copied = copy.deepcopy(plain) if tensor.layout == torch.strided else plain.clone()
    return _in_own_graph(copied, tensor)


def _in_own_graph(copied: Tensor, tensor: Tensor) -> Tensor:
    """Make a copy a leaf, or the result of a leaf, as its original is; backward ends there."""
    leaf = copied.requires_grad_(tensor.requires_grad)
    with torch.enable_grad():
        return leaf if tensor.is_leaf else leaf.clone()


def resize(tensor: Tensor, sizes: Sizes, new_sizes: Sizes) -> Tensor:
    """Copy a tensor with other sizes, filled with its own numbers: so lengths stay valid."""
    shape = [new_size(size, sizes, new_sizes) for size in shape_of(tensor)]
    if shape == [*shape_of(tensor)]:
        return copy_tensor(tensor)
    try:
        # Of an expanded tensor, which may be too large to be copied, each number once.
        result = tensor.detach()[tuple(slice(None if it else 1) for it in tensor.stride())]
        for axis, (size, new) in enumerate(zip(tensor.shape, shape, strict=True)):
            if new != size == result.shape[axis]:
                index = torch.arange(new, device=tensor.device) % size
                result = result.index_select(axis, index)
        return _in_own_graph(result.clone().expand(shape), tensor)
    except RuntimeError as error:
        if tensor.is_nested:
            raise UnclearAxisError(TEXT("nested_cannot_be_repeated")) from error
        text = TEXT("cannot_be_repeated", layout=tensor.layout, dtype=tensor.dtype)
        raise UnclearAxisError(text) from error


def compare(
    scope: Scope, inputs: Inputs, sizes: Sizes, vary: set[str], maybe: set[str]
) -> tuple[Run, Run | None, Remark]:
    """Run the layer, and again with other sizes if any have names.

    Args:
        vary: the names whose sizes are others in the second run.
        maybe: more such names, each only if the layer runs with another size of it.

    Returns:
        The first run, the second one if it confirms names, and a remark on it.
    """

    def run_with(varied: set[str]) -> Run:
        return _run(scope, inputs, sizes, other_sizes(sizes, varied, scope.numbers))

    first = run_with(set())
    if first.error is None and not first.sections[0].calls:
        text = TEXT("not_python", function=first.sections[0].target.title)
        return first, None, ("quiet", text)
    if not sizes:
        return first, None, ("quiet", "")
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            second = run_with(vary)
        except UnclearAxisError as unclear:
            return first, None, ("quiet", TEXT("sizes_stay_numbers", reason=unclear))
        if first.error is None and second.error is not None:
            return first, None, ("error", _explain_failure(second, sizes, run_with))
        # Most other names are fixed by parameters: another size of each is tried.
        for name in [it for it in sizes if it in maybe - vary and first.error is None]:
            with contextlib.suppress(UnclearAxisError):
                run = run_with(vary | {name})
                if name in run.enlarged and run.error is None and run.reached == first.reached:
                    second, vary = run, vary | {name}
    return first, second, ("quiet", "")


def _run(scope: Scope, inputs: Inputs, sizes: Sizes, new_sizes: Sizes) -> Run:
    enlarged: set[str] = set()

    def change(tensor: Tensor) -> Tensor:
        enlarged.update(changed_names(shape_of(tensor), sizes, new_sizes))
        return resize(tensor, sizes, new_sizes)

    copies = Copies(scope.layer, inputs, change)
    owners = [copies.made.get(id(it.owner), it.owner) for it in scope.targets]
    sections = [*map(Section, range(len(owners)), scope.targets, owners)]
    run, state = Run(sections, new_sizes, enlarged), random.getstate()
    on_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    # Where torch.compile has not been used, its stance would load it, which takes seconds.
    compiled: Any = "torch._dynamo" in sys.modules and torch.compiler.set_stance("force_eager")
    with torch.random.fork_rng(range(torch.cuda.device_count()) if on_gpu else []):
        try:
            with compiled or contextlib.nullcontext():
                run.watch(lambda: copies.layer(*copies.positional, **copies.by_name))
        finally:
            random.setstate(state)
    return run


def _explain_failure(second: Run, sizes: Sizes, run_with: Callable[[set[str]], Run]) -> str:
    """Name the size that the layer needs, by changing one at a time."""
    varied = [name for name in sizes if second.sizes[name] != sizes[name]]
    failing = ((name, run_with({name})) for name in varied)
    alone = next(((name, run) for name, run in failing if run.error), None)
    names, run = ([alone[0]], alone[1]) if alone else (varied, second)
    before, after = (", ".join(f"{it}={given[it]}" for it in names) for given in (sizes, run.sizes))
    reason = " ".join(format_error(run.error)) if run.error else ""
    return TEXT("fails_with_other_sizes", before=before, after=after, reason=reason)


def format_error(error: BaseException) -> list[str]:
    """Write an exception, or its beginning, in short lines without memory addresses."""
    text = re.sub(r"0x[0-9a-fA-F]{6,}", "0x…", f"{type(error).__name__}: {error}").strip()
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONGEST_MESSAGE].rstrip()}…"
    return [row for line in text.split("\n") for row in textwrap.wrap(line, MESSAGE_WIDTH) or []]
