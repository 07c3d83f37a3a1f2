"""Which functions a trace records: the layer's own, and those that the caller names."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy

from attnbook.tracing.functions import (
    check_runs,
    named_modules,
    names_in,
    python_function,
    scope_of,
)
from attnbook.tracing.naming import check_names
from attnbook.tracing.recorder import Recorder, Section, shape_of
from attnbook.tracing.source import Written, nested_codes, read
from attnbook.tracing.steps import Step, copy_numbers

OFFERED = 8
MATRIX = 2  # axes


class Scope:
    """The functions that a trace records, and the modules that their run may change.

    Args:
        layer: a module, a method or a function.
        follow: names of modules, methods and functions that it calls; True means
            all modules inside.

    Raises:
        TypeError: a source cannot be read, or `follow` holds no names.
        ValueError: a name is not found.
    """

    def __init__(self, layer: Any, follow: Iterable[str] | str | bool) -> None:  # noqa: ANN401
        self.layer = layer
        self.wanted: list[tuple[str, Written, Any]] = []
        self.requested: set[tuple[int, int]] = set()
        self.modules: dict[str, nn.Module] = {}
        check_runs(layer)
        self._add(layer, "")
        for function in _forwards_above(self.wanted[0][2]):
            self._add_function(function, self.wanted[0][2], "")
        own = len(self.wanted)
        for name in self._names(follow):
            self._follow(name)
        if follow is not True:
            self.requested = {(id(it.function), id(owner)) for _, it, owner in self.wanted[own:]}

    @property
    def numbers(self) -> set[int]:
        """The whole numbers in the code, and those that its names refer to."""
        functions = [written.function for _, written, _ in self.wanted]
        codes = [code for each in functions for code in nested_codes(plain_code(each))]
        found = [it for code in codes for it in _flat(code.co_consts)]
        for each in functions:
            scope = scope_of(each)
            found += [scope[name] for name in names_in(each) if name in scope]
            found += _flat([each.__defaults__, [*(each.__kwdefaults__ or {}).values()]])
        for _, _, owner in self.wanted:
            found += [*getattr(owner, "__dict__", {}).values()]
        return {abs(it) for it in found if type(it) is int}

    def weights(self) -> list[Step]:
        """Copy the layer's matrices, as steps that no line makes."""
        found = [
            (f"{path}.{name}".strip("."), held)
            for path, module in self.modules.items()
            for name, held in module.named_parameters(recurse=False)
            if not is_lazy(held) and held.dim() == MATRIX
        ]
        return [
            Step(
                *(-1, "", 0, name, shape_of(held), (*map(str, held.shape),)),
                copy_numbers(held),
                False,
            )
            for name, held in found
        ]

    def recorders(self) -> list[Recorder]:
        """Prepare a run: one recorder for each function."""
        functions = {id(written.function): written for _, written, _ in self.wanted}
        return [Recorder(it, self._sections(it)) for it in functions.values()]

    def order(self, recorders: list[Recorder]) -> list[Section]:
        """Put the sections of a run in the requested order."""
        sections = [section for recorder in recorders for section in recorder.sections]
        positions = {
            (id(it.function), id(owner)): n for n, (_, it, owner) in enumerate(self.wanted)
        }
        return sorted(sections, key=lambda it: positions[id(it.written.function), id(it.owner)])

    def _sections(self, written: Written) -> list[Section]:
        return [
            Section(title, it, owner, (id(it.function), id(owner)) in self.requested)
            for title, it, owner in self.wanted
            if it.function is written.function
        ]

    def _add(self, thing: Any, name: str) -> None:  # noqa: ANN401 - modules, methods, …
        function, owner = python_function(thing)
        self._add_function(function, owner, name)
        if isinstance(owner, nn.Module):
            self._add_modules(owner.named_modules(), name)

    def _add_function(self, function: FunctionType, owner: object, name: str) -> None:
        written = read(function, plain_code(function))
        for path, module in named_modules(function).items():
            self._add_modules(module.named_modules(), path)
        if all(it.function is not function or its is not owner for _, it, its in self.wanted):
            # A method's name is already in its title.
            shown = "" if name in ("", written.code.co_name) else f"{name}: "
            self.wanted.append((f"{shown}{written.title}", written, owner))

    def _add_modules(self, modules: Iterable[tuple[str, nn.Module]], path: str) -> None:
        for name, module in modules:
            if all(known is not module for known in self.modules.values()):
                self.modules[f"{path}.{name}".strip(".")] = module

    def _names(self, follow: Iterable[str] | str | bool) -> list[str]:
        if isinstance(follow, bool):
            return [name for name in self.modules if name and follow]
        return check_names(follow, "follow")

    def _follow(self, name: str) -> None:
        for found in self._meanings(name):
            self._add(found, name)
            return
        known = ", ".join(self._offered()) or "none"
        raise ValueError(
            "follow must name modules, methods or functions that the layer uses, "
            f"got {name!r}; inside it are {known}"
        )

    def _offered(self) -> list[str]:
        """Name the modules, and the methods and functions that the layer's code calls."""
        functions: list[str] = []
        for _, written, owner in self.wanted:
            known = scope_of(written.function) | _methods(owner)
            functions += [it for it in names_in(written.function) if _is_readable(known.get(it))]
        modules = [name for name in self.modules if name]
        return [*modules[:OFFERED], *[*dict.fromkeys(functions)][:OFFERED]]

    def _meanings(self, name: str) -> Iterator[Any]:
        """Look a name up as the layer's attribute, then where each function would."""
        first, _, rest = name.partition(".")
        if isinstance(self.layer, nn.Module):
            yield from _attribute(self.layer, name)
        for _, written, owner in list(self.wanted):
            scope = scope_of(written.function)
            if first in scope:
                yield from _attribute(scope[first], rest) if rest else [scope[first]]
            yield from _attribute(owner, name)


def plain_code(function: FunctionType) -> CodeType:
    """Find a function's own code, also while another trace runs it."""
    code = function.__code__
    while recorder := next((it for it in code.co_consts if isinstance(it, Recorder)), None):
        code = recorder.written.code
    return code


def _forwards_above(layer: object) -> list[FunctionType]:
    """List the methods that `super().forward` may call."""
    if not isinstance(layer, nn.Module):
        return []
    above = [vars(kind).get("forward") for kind in type(layer).__mro__]
    here = above[: type(layer).__mro__.index(nn.Module)]
    return [python_function(it, "forward")[0] for it in here if it is not None]


def _flat(given: object) -> Iterator[Any]:
    """Unpack tuples and lists: a slice without variables is a constant of its own."""
    if isinstance(given, slice):
        given = [given.start, given.stop, given.step]
    if isinstance(given, tuple | list):
        for each in given:
            yield from _flat(each)
    else:
        yield given


def _attribute(thing: object, path: str) -> Iterator[Any]:
    try:
        yield operator.attrgetter(path)(thing)
    except AttributeError:
        return


def _methods(owner: object) -> dict[str, Any]:
    """Return what an object's classes define, except `nn.Module`, without running properties."""
    classes = [kind for kind in reversed(type(owner).__mro__) if kind is not nn.Module]
    return {name: it for kind in classes for name, it in vars(kind).items()}


def _is_readable(thing: object) -> bool:
    return isinstance(thing, FunctionType) and not thing.__name__.startswith("__")
