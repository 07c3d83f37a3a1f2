"""Runs of copies of a layer: the one that is shown, and one with other sizes, which confirms names."""

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
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import CellType, FunctionType
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook.tracing.naming import (
    Sizes,
    UnclearAxisError,
    changed_names,
    named_shape,
    new_size,
    other_sizes,
)
from attnbook.tracing.record import Made, Place, Recorder, Section, shape_of
from attnbook.tracing.source import Scope, contents, named_modules, names_in, scope_of

MESSAGE_WIDTH, LONGEST_MESSAGE = 60, 300
NOT_PYTHON = "did not run as Python, as when it is compiled: no shapes are known."
Change: TypeAlias = Callable[[Tensor], Tensor]
Inputs: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


class Copies(TorchFunctionMode):
    """Copies things, each once. As a mode, it copies tensors that torch refuses: results.

    Args:
        change: makes the copy of a tensor.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, Any] = {}
        self.change: Change | None = None

    def of(self, thing: Any) -> Any:  # noqa: ANN401 - its kind
        """Copy a thing, or a function with what it refers to.

        Raises:
            TypeError: something in it cannot be copied.
            UnclearAxisError: `change` cannot make another size of a tensor.
        """
        if isinstance(thing, functools.partial):
            return functools.partial(self.of(thing.func), *self.of(thing.args), **self.of(thing.keywords))
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

    def inputs(self, given: Inputs, change: Change) -> Inputs:
        """Copy inputs. Tensors are changed, but not those in modules."""
        for it in _inside(given):
            if isinstance(it, nn.Module):
                self.of(it)
        self.change = change
        self.made |= {id(it): change(it) for it in _inside(given) if isinstance(it, Tensor)}
        return self.of(given)  # type: ignore[no-any-return]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever torch returns
        """Copy a tensor in our way."""
        if func is Tensor.__deepcopy__:
            return (self.change or copy_tensor)(args[0])
        return func(*args, **(kwargs or {}))

    def _function(self, function: FunctionType) -> FunctionType:
        """Copy a function with its variables: its closure, its defaults, the modules it names.

        The functions of its file that it calls are copied in the same way.
        """
        names = self.made.setdefault(id(function.__globals__), dict(function.__globals__))
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copied = FunctionType(function.__code__, names, function.__name__, None, cells)
        copied.__dict__.update(function.__dict__)
        self.made[id(function)] = copied
        copied.__defaults__ = self._if_possible(function.__defaults__)
        copied.__kwdefaults__ = self._if_possible(function.__kwdefaults__)
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            for value in contents(old):
                cell.cell_contents = self._if_possible(value)
        for name in names_in(function):
            value = function.__globals__.get(name)
            here = isinstance(value, FunctionType) and value.__globals__ is function.__globals__
            if here or isinstance(value, nn.Module):
                names[name] = self.of(value)
        return copied

    def _if_possible(self, thing: Any) -> Any:  # noqa: ANN401 - its kind
        """Copy what a function refers to, or return it as it is, such as a lock."""
        try:
            return self.of(thing)
        except TypeError:
            return thing


def _inside(value: object) -> Iterator[Tensor | nn.Module]:
    """List the tensors and modules in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor | nn.Module):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _inside(each)


def copy_tensor(tensor: Tensor) -> Tensor:
    """Copy a tensor, strides and all. As in the original, backward ends there or goes on."""
    return _in_own_graph(copy.deepcopy(tensor.detach()), tensor)


def _in_own_graph(copied: Tensor, tensor: Tensor) -> Tensor:
    """Make a copy a leaf, or the result of a leaf, as its original is; backward ends there."""
    leaf = copied.requires_grad_(tensor.requires_grad)
    if tensor.is_leaf:
        return leaf
    with torch.enable_grad():
        return leaf.clone()


def resize(tensor: Tensor, sizes: Sizes, new_sizes: Sizes) -> Tensor:
    """Copy a tensor with other sizes, filled with its own numbers again and again.

    So its lengths, tokens or masks stay valid. An expanded tensor stays expanded.

    Raises:
        UnclearAxisError: an axis may be two things, or torch cannot repeat such a tensor.
    """
    shape = [new_size(size, sizes, new_sizes) for size in shape_of(tensor)]
    if shape == [*shape_of(tensor)]:
        return copy_tensor(tensor)
    try:
        once = [slice(None if stride else 1) for stride in tensor.stride()]
        result = tensor.detach()[tuple(once)]
        for axis, (size, new) in enumerate(zip(tensor.shape, shape, strict=True)):
            if new != size == result.shape[axis]:
                index = torch.arange(new, device=tensor.device) % size
                result = result.index_select(axis, index)
        return _in_own_graph(result.clone().expand(shape), tensor)
    except RuntimeError as error:
        kind = "nested" if tensor.is_nested else f"of {tensor.layout} and {tensor.dtype}"
        raise UnclearAxisError(f"an input that is {kind} cannot be repeated") from error


@dataclass
class Run:
    """What a run made, and the sizes that it had.

    Args:
        innermost: where its exception arose.
        enlarged: the names whose size is another in an input.
    """

    sections: list[Section]
    error: Exception | None
    innermost: Section | None
    sizes: Sizes
    enlarged: set[str]

    @property
    def reached(self) -> list[tuple[set[int], set[Place]]]:
        """The lines that ran, and where tensors were made."""
        return [({*it.runs}, {*it.made}) for it in self.sections]


@dataclass
class Comparison:
    """The run that is shown, the run that confirms its names, and a remark on it."""

    first: Run
    second: Run | None = None
    remark: str = ""

    def symbols(self, section: Section, made: Made) -> tuple[str, ...]:
        """Name the sizes of what was made, where both runs agree."""
        if self.second is None:
            return tuple(map(str, made.shape))
        other = self.second.sections[self.first.sections.index(section)].made.get(made.place)
        other_shape = other.shape if other else None
        return named_shape(made.shape, other_shape, self.first.sizes, self.second.sizes)


def compare(
    scope: Scope, inputs: Inputs, sizes: Sizes, vary: set[str], maybe: set[str]
) -> Comparison:
    """Run the layer, and again with other sizes if any have names.

    Args:
        vary: the names whose sizes are others in the second run.
        maybe: more such names, each only if the layer runs with another size of it.
    """

    def run_with(varied: set[str]) -> Run:
        return _run(scope, inputs, sizes, other_sizes(sizes, varied, scope.numbers))

    first = _run(scope, inputs, sizes, sizes)
    if first.error is None and not first.sections[0].calls:
        return Comparison(first, remark=f"{first.sections[0].target.title} {NOT_PYTHON}")
    if not sizes:
        return Comparison(first)
    with _without_output():
        try:
            second = run_with(vary)
        except UnclearAxisError as unclear:
            return Comparison(first, remark=f"Sizes stay numbers: {unclear}.")
        if first.error is not None:
            return Comparison(first, second)
        if second.error is not None:
            return Comparison(first, remark=_explain_failure(second, sizes, run_with))
        # Most other names are fixed by parameters: another size of each is tried.
        for name in [name for name in sizes if name in maybe - vary]:
            with contextlib.suppress(UnclearAxisError):
                run = run_with(vary | {name})
                if name in run.enlarged and run.error is None and run.reached == first.reached:
                    second, vary = run, vary | {name}
    return Comparison(first, second)


def _run(scope: Scope, inputs: Inputs, sizes: Sizes, new_sizes: Sizes) -> Run:
    enlarged: set[str] = set()

    def change(tensor: Tensor) -> Tensor:
        enlarged.update(changed_names(shape_of(tensor), sizes, new_sizes))
        return resize(tensor, sizes, new_sizes)

    copies = Copies()
    layer = copies.of(scope.layer)
    positional, by_name = copies.inputs(inputs, change)
    owners = [copies.made.get(id(it.owner), it.owner) for it in scope.targets]
    sections = [*map(Section, scope.targets, owners)]
    with _preserve_random_state(), _uncompiled():
        error, innermost = Recorder(sections).run(lambda: layer(*positional, **by_name))
    if error is not None and innermost is None:
        # The call did not get as far as the function's first line.
        innermost = sections[0]
        innermost.error_line = innermost.target.node.lineno
    return Run(sections, error, innermost, new_sizes, enlarged)


def _explain_failure(second: Run, sizes: Sizes, run_with: Callable[[set[str]], Run]) -> str:
    """Name the size that the layer needs, by changing one at a time."""
    culprits = {name: second.sizes[name] for name in sizes if second.sizes[name] != sizes[name]}
    for name in [*culprits]:
        alone = run_with({name})
        if alone.error is not None:
            second, culprits = alone, {name: alone.sizes[name]}
            break
    before = ", ".join(f"{name}={sizes[name]}" for name in culprits)
    after = ", ".join(f"{name}={size}" for name, size in culprits.items())
    assert second.error is not None  # noqa: S101 - for the type checker
    return f"Runs with {before}, but not with {after}: {' '.join(format_error(second.error))}"


@contextlib.contextmanager
def _without_output() -> Iterator[None]:
    """Suppress what a second run would print or warn of again."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _preserve_random_state() -> Iterator[None]:
    """Restore the states of torch's and Python's random number generators at the end."""
    state = random.getstate()
    on_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count()) if on_gpu else []):
            yield
    finally:
        random.setstate(state)


def _uncompiled() -> AbstractContextManager[Any]:
    # Where torch.compile has not been used, this would load it, which takes seconds.
    if "torch._dynamo" in sys.modules:
        return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]
    return contextlib.nullcontext()


def format_error(error: BaseException) -> list[str]:
    """Write an exception, or its beginning, in short lines without memory addresses."""
    text = re.sub(r"0x[0-9a-fA-F]{6,}", "0x…", f"{type(error).__name__}: {error}").strip()
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONGEST_MESSAGE].rstrip()}…"
    return [row for line in text.split("\n") for row in textwrap.wrap(line, MESSAGE_WIDTH) or []]
