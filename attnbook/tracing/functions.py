"""Finding the Python function that a call runs: of a module, a method, a partial, an object."""

from __future__ import annotations

import functools
import inspect
from types import CellType, FunctionType, MethodType
from typing import Any

from torch import nn

from attnbook.tracing.source import READABLE, nested_codes


def python_function(thing: Any, name: str = "") -> tuple[FunctionType, Any]:  # noqa: ANN401 - modules, methods, …
    """Find the Python function that a call of a thing runs, and the object it is bound to.

    Args:
        name: what it is called where it is written, if that is known.

    Raises:
        TypeError: there is none, as in a built-in of torch.
    """
    owner: Any = None
    inner: Any
    thing, inner = find_call(thing)
    if isinstance(thing, nn.Module):
        name = "forward"
    while not isinstance(inner, FunctionType) or hasattr(inner, "__wrapped__"):
        if isinstance(inner, MethodType):
            inner, owner = inner.__func__, inner.__self__
        elif isinstance(inner, functools.partial):
            _, inner = find_call(inner.func)
        elif hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        else:
            name = getattr(thing, "__name__", type(thing).__name__)
            raise TypeError(f"{name} {_why_not(thing)}; {READABLE}")
    return _undecorated(inner, name), owner


def _undecorated(function: FunctionType, name: str) -> FunctionType:
    """Find the function of this name that a decorator without `functools.wraps` has inside."""
    known = [function]
    for each in known:
        if not name or each.__name__ == name:
            return each
        for cell in each.__closure__ or ():
            for value in cell_contents(cell):
                known += [it for it in _functions(value) if it not in known]
    return function


def _functions(thing: Any) -> list[FunctionType]:  # noqa: ANN401 - any value of a closure
    """List a function itself, or the functions in an object's attributes, as in a decorator's."""
    attributes = (
        [] if isinstance(thing, nn.Module | type) else getattr(thing, "__dict__", {}).values()
    )
    several = [getattr(it, "__func__", it) for it in (thing, *attributes)]
    return [inspect.unwrap(it) for it in several if isinstance(it, FunctionType)]


def find_call(thing: Any) -> tuple[Any, Any]:  # noqa: ANN401 - modules, methods, …
    """Find the thing itself, if torch.compile has wrapped it, and what a call of it runs."""
    thing = getattr(thing, "_orig_mod", thing)
    if isinstance(thing, nn.Module):
        return thing, thing.forward
    of_class: Any = getattr(type(thing), "__call__", None)  # noqa: B004 - the method is wanted
    plain = isinstance(thing, type) or hasattr(thing, "__wrapped__")
    is_object = isinstance(of_class, FunctionType) and not plain
    return thing, MethodType(of_class, thing) if is_object else thing


def _why_not(thing: object) -> str:
    if isinstance(thing, type):
        return "is a class, and what is traced is an instance: make one first"
    return "is not written in Python"


def check_runs(layer: object) -> None:
    """Refuse functions whose call runs nothing of them yet.

    Raises:
        TypeError: it is a generator function or `async def`.
    """
    _, inner = find_call(layer)
    while isinstance(inner, functools.partial):
        _, inner = find_call(inner.func)
    name = getattr(inner, "__qualname__", "")
    if inspect.isgeneratorfunction(inner):
        raise TypeError(
            f"{name} is a generator function, which a call does not run: "
            "trace a function that goes through its values, and follow it"
        )
    if inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError(
            f"{name} is an async function, which a call does not run: trace a plain one"
        )


def cell_contents(cell: CellType) -> tuple[Any, ...]:
    """Return the value of a closure variable in a tuple, which is empty if it is not bound yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def scope_of(function: FunctionType) -> dict[str, Any]:
    """What the free names of a function mean: its closure, then its globals."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: value for name, cell in cells for value in cell_contents(cell)}
    return {**function.__globals__, **closed}


def names_in(function: FunctionType) -> list[str]:
    """List the names that a function's code uses and does not bind."""
    code = function.__code__
    return [*code.co_freevars, *(name for each in nested_codes(code) for name in each.co_names)]


def named_modules(function: FunctionType) -> dict[str, nn.Module]:
    """Find the modules that a function's code names."""
    scope = scope_of(function)
    return {it: scope[it] for it in names_in(function) if isinstance(scope.get(it), nn.Module)}


def global_modules(function: FunctionType) -> dict[str, nn.Module]:
    """Find those of them that are global variables."""
    return {
        name: module
        for name, module in named_modules(function).items()
        if function.__globals__.get(name) is module
    }
