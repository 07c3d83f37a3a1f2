"""What is traced: which functions a call runs, and where they are written."""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import marshal
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from torch import nn

from attnbook.tracing.naming import check_names

OFFERED = 8
FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
NOT_RUN = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_COROUTINE
READABLE = "only Python whose source can be read, in a file or a notebook cell, can be traced"


@dataclass(frozen=True)
class Target:
    """A function whose first call is shown."""

    title: str
    function: FunctionType
    node: ast.FunctionDef  # of a lambda, a `def` that returns its value
    lines: list[str]  # of its file
    owner: Any  # the object for which it is called, if it is a method
    requested: bool  # by its name

    @property
    def code(self) -> CodeType:
        """What runs."""
        return self.function.__code__

    @property
    def first_line(self) -> int:
        """Where the source begins, decorators included."""
        return self.code.co_firstlineno


class Scope:
    """The functions that a trace shows, and the modules that the layer uses, by name."""

    def __init__(self, layer: Any, follow: Iterable[str] | str | bool) -> None:  # noqa: ANN401
        self.layer = layer
        self.targets: list[Target] = []
        self.modules: dict[str, nn.Module] = {}
        function, owner = python_function(layer)
        if function.__code__.co_flags & NOT_RUN:
            raise TypeError(
                f"{function.__qualname__} is a generator or async function, which a call does not "
                "run: trace a function that loops over its values, and follow it"
            )
        above = type(owner).__mro__ if isinstance(owner, nn.Module) else ()
        self._add(layer)
        for kind in above:  # what `super().forward` may call
            if "forward" in vars(kind) and kind is not nn.Module:
                self._add(MethodType(vars(kind)["forward"], owner))
        if isinstance(follow, bool):
            for name in [name for name in self.modules if name and follow]:
                self._add(self.modules[name], name)
        else:
            for name in check_names(follow, "follow"):
                self._add(self._find(name), name, requested=True)

    @property
    def numbers(self) -> set[int]:
        """The whole numbers in the code, and those that its names refer to."""
        found: list[object] = []
        for it in self.targets:
            scope = scope_of(it.function)
            found += [node.value for node in ast.walk(it.node) if isinstance(node, ast.Constant)]
            found += [scope.get(name) for name in names_in(it.function)]
            found += getattr(it.owner, "__dict__", {}).values()
        return {abs(it) for it in found if type(it) is int}

    def _add(self, thing: Any, name: str = "", *, requested: bool = False) -> None:  # noqa: ANN401
        function, owner = python_function(thing)
        node, lines = read(function)
        if all(it.function is not function or it.owner is not owner for it in self.targets):
            title = ".".join(function.__code__.co_qualname.split("<locals>.")[-1].split(".")[-2:])
            # A method's name is already in its title.
            title = title if name in ("", function.__name__) else f"{name}: {title}"
            self.targets.append(Target(title, function, node, lines, owner, requested))
        scope = scope_of(function)
        tops = [(it, scope[it]) for it in names_in(function) if it in scope]
        for path, top in [*tops, (name, owner)]:
            for inner, module in top.named_modules() if isinstance(top, nn.Module) else ():
                if all(known is not module for known in self.modules.values()):
                    self.modules[f"{path}.{inner}".strip(".")] = module

    def _find(self, name: str) -> Any:  # noqa: ANN401
        """Look a name up as the layer's attribute, then where each function would."""
        first, _, rest = name.partition(".")
        places = [(self.layer, name)] if isinstance(self.layer, nn.Module) else []
        offered = [name for name in self.modules if name][:OFFERED]
        for it in self.targets:
            scope = scope_of(it.function)
            places += [(scope[first], rest)] if first in scope else []
            places += [(it.owner, name)]
            methods = {each: getattr(type(it.owner), each, None) for each in dir(it.owner)}
            known = {**scope, **methods}
            offered += [it for it in names_in(it.function) if inspect.isfunction(known.get(it))]
        for thing, path in places:
            try:
                return operator.attrgetter(path)(thing) if path else thing
            except AttributeError:
                continue
        raise ValueError(
            "follow must name modules, methods or functions that the layer uses, "
            f"got {name!r}; inside the layer are {', '.join(dict.fromkeys(offered)) or 'none'}"
        )


def python_function(thing: Any, owner: Any = None) -> tuple[FunctionType, Any]:  # noqa: ANN401
    """Find the Python function that a call of a thing runs, and the object it is bound to."""
    thing = getattr(thing, "_orig_mod", thing)  # torch.compile's
    call = getattr(type(thing), "__call__", None)  # noqa: B004 - the method is wanted
    if isinstance(thing, nn.Module):
        return python_function(thing.forward, thing)
    if isinstance(thing, MethodType):
        return python_function(thing.__func__, thing.__self__)
    if hasattr(thing, "__wrapped__"):
        return python_function(thing.__wrapped__, owner)
    if isinstance(thing, FunctionType):
        return thing, owner
    if isinstance(thing, functools.partial):
        return python_function(thing.func, owner)
    if isinstance(call, FunctionType) and not isinstance(thing, type):
        return python_function(call, thing)
    name, reason = getattr(thing, "__name__", type(thing).__name__), "is not written in Python"
    if isinstance(thing, type):
        reason = "is a class, and only an instance can be traced: create one first"
    raise TypeError(f"{name} {reason}; {READABLE}")


def read(function: FunctionType) -> tuple[ast.FunctionDef, list[str]]:
    """Read a function's source: its syntax tree, and the lines of its file."""
    code, name = function.__code__, function.__code__.co_qualname
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise TypeError(f"{name} has no source that can be read; {READABLE}")
    try:
        every = map(_as_definition, ast.walk(ast.parse("".join(lines))))
        named = [it for it in every if it and it.name == code.co_name]
        first = code.co_firstlineno  # a decorator's, if there is one
        found = [
            it
            for it in named
            if first == ([each.lineno for each in it.decorator_list] or [it.lineno])[0]
        ]
    except SyntaxError:
        found = []
    if len(found) > 1:
        raise TypeError(f"{name} shares its line with another function; {READABLE}")
    if not found or not _is_what_runs(found[0], "".join(lines), code):
        raise TypeError(
            f"{name} differs from its source now: "
            "the file was changed after it was imported; restart and import it again"
        )
    return found[0], lines


def _as_definition(node: ast.AST) -> ast.FunctionDef | None:
    if isinstance(node, ast.Lambda):
        body = ast.copy_location(ast.Return(node.body), node.body)
        return ast.copy_location(ast.FunctionDef("<lambda>", node.args, [body], []), node)
    return node if isinstance(node, ast.FunctionDef) else None


def _is_what_runs(node: ast.FunctionDef, text: str, code: CodeType) -> bool:
    # pytest rewrites assertions, so such code always differs from its source.
    if any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
        return True
    flags = code.co_flags & FUTURE | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as notebooks do
    whole = compile(text, code.co_filename, "exec", flags=flags, dont_inherit=True)
    # In format 2, equal code has equal bytes.
    return marshal.dumps(code, 2) in [marshal.dumps(it, 2) for it in nested_codes(whole)]


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """List a code and all that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


def contents(cell: CellType) -> tuple[Any, ...]:
    """Return the value of a closure variable in a tuple, which is empty if it is not bound yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def scope_of(function: FunctionType) -> dict[str, Any]:
    """What the free names of a function mean: its closure, then its globals."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: value for name, cell in cells for value in contents(cell)}
    return {**function.__globals__, **closed}


def names_in(function: FunctionType) -> list[str]:
    """List the names that a function's code uses and does not bind."""
    code = function.__code__
    return [*code.co_freevars, *(name for each in nested_codes(code) for name in each.co_names)]
