"""What is traced: the functions that a call runs, their statements and their expressions."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
import operator
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from torch import nn

from attnbook.tracing.naming import check_names

NOT_RUN = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_COROUTINE
PARTS = ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call | ast.Subscript | ast.Attribute
ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.NamedExpr
OWN_NAMES = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda


class Source:
    """The source of a function whose first call is shown.

    Attributes:
        statements: the first statement of each line.
        starts: for each line, where the innermost statement around it begins.
        expressions: what may make a tensor that has no name, by position.
        parts: those that are only a part of a statement.
        codes: these and all statements as code, and what is set as `name = expression`.
        numbers: the whole numbers in it, and those that its owner has.
    """

    def __init__(self, function: FunctionType, owner: object, name: str) -> None:
        self.function, self.owner, self.name = function, owner, name
        self.code, *self.inner = codes_in(function.__code__)
        self.node, lines = read(function)
        self.first_line = self.code.co_firstlineno  # a decorator's, if there is one
        title = ".".join(self.code.co_qualname.split("<locals>.")[-1].split(".")[-2:])
        # A method's name is already in its title.
        self.title = title if name in ("", function.__name__) else f"{name}: {title}"
        nodes = [*ast.walk(self.node)]
        statements = [it for it in nodes if isinstance(it, ast.stmt)]  # from the outside in
        self.starts = {row: it.lineno for it in statements for row in lines_of(it)}
        self.statements = {it.lineno: it for it in reversed(statements[1:])}
        binding = [it for it in nodes if isinstance(it, ASSIGNMENTS) and any(bound_by(it))]
        results = [it.value for it in nodes if isinstance(it, ast.Return) or it in binding]
        tuples = [it for it in results if isinstance(it, ast.Tuple)]
        named = {*results, *(item for it in tuples for item in it.elts)}
        named |= {each for it in statements for each in bound_by(it)}
        found = [it for it in nodes if isinstance(it, PARTS) and it not in named]
        self.expressions: dict[tuple[int | None, ...], ast.expr] = {
            (it.lineno, it.end_lineno, it.col_offset, it.end_col_offset): it for it in found
        }
        self.parts = {*found} - {it.value for it in nodes if isinstance(it, ast.Expr)}
        write = functools.partial(write_code, lines)
        self.codes: dict[ast.AST, str] = {it: write(it) for it in [*found, *statements]}
        self.codes |= {it.target: write(it) for it in nodes if isinstance(it, ast.AugAssign)}
        self.codes |= {target: code for it in binding for target, code in assignments_in(it, write)}
        constants = [it.value for it in nodes if isinstance(it, ast.Constant)]
        values = [*constants, *getattr(owner, "__dict__", {}).values()]
        self.numbers = {it for it in values if type(it) is int}


class Scope:
    """The functions that a trace shows, and the modules that the layer uses, by name."""

    def __init__(self, layer: Any, follow: Iterable[str] | str) -> None:  # noqa: ANN401
        function, owner = python_function(layer)
        kinds = type(owner).__mro__ if isinstance(owner, nn.Module) else ()
        above = [vars(it).get("forward", nn.Module.forward) for it in kinds]  # for super().forward
        above = [python_function(it)[0] for it in above if it is not nn.Module.forward]
        functions = dict.fromkeys([function, *above])
        self.layer, self.sources = layer, [Source(it, owner, "") for it in functions]
        self.modules = {
            f"{path}.{inner}".strip("."): module
            for path, top in [*names_in(function).items(), ("", owner)]
            if isinstance(top, nn.Module)
            for inner, module in top.named_modules()
        }
        for name in dict.fromkeys(check_names(follow, "follow")):
            self.sources.append(Source(*python_function(self._find(name)), name))

    def _find(self, name: str) -> Any:  # noqa: ANN401
        """Look a name up as an attribute of each function's object, then in its scope."""
        for it in self.sources:
            scope = SimpleNamespace(**it.function.__globals__ | names_in(it.function))
            for start in (it.owner, scope):
                with contextlib.suppress(AttributeError):
                    return operator.attrgetter(name)(start)
        offered = [it for it in self.modules if it][:8]
        raise ValueError(
            "follow must name modules, methods or functions that the layer uses, "
            f"got {name!r}; the modules inside are {', '.join(offered) or 'none'}"
        )


def python_function(thing: Any) -> tuple[FunctionType, object]:  # noqa: ANN401
    """Find the Python function that a call of a thing runs, and the object it is bound to."""
    owner, name = None, getattr(thing, "__name__", type(thing).__name__)
    if isinstance(thing, type):
        raise TypeError(f"{name} is a class, and only an instance can be traced: create one first")
    if isinstance(thing, nn.Module):
        thing = thing.forward
    elif not isinstance(thing, FunctionType | MethodType):
        thing = getattr(thing, "__call__", thing)  # noqa: B004 - the method is wanted
    if isinstance(thing, MethodType):
        thing, owner = thing.__func__, thing.__self__
    thing = inspect.unwrap(thing)
    if not isinstance(thing, FunctionType):
        raise TypeError(f"{name} is not written in Python, so it cannot be traced")
    if thing.__code__.co_flags & NOT_RUN:
        raise TypeError(f"{name} is a generator or async function, which a call does not run")
    return thing, owner


def read(function: FunctionType) -> tuple[ast.FunctionDef, list[str]]:
    """Read a function's source: its syntax tree, and the lines of its file."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                if first == code.co_firstlineno:
                    return node, lines
    raise TypeError(
        f"{code.co_qualname} must be a `def` in a file or a notebook cell to be traced, "
        "and the file must not have changed since it was imported"
    )


def bound_by(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """List the variables and attributes that a statement binds, without those inside of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield child
        elif not isinstance(child, ast.stmt | OWN_NAMES):
            yield from bound_by(child)


def write_code(lines: list[str], node: ast.expr | ast.stmt) -> str:
    """Write code of one line as in the source, and of several lines the first one."""
    if node.lineno == node.end_lineno:
        return lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()
    return next(text for text in ast.unparse(node).split("\n") if text[0] != "@")


def assignments_in(
    node: ast.Assign | ast.AnnAssign | ast.NamedExpr, write: Callable[[ast.expr], str]
) -> Iterator[tuple[ast.expr, str]]:
    """Write what an assignment sets as `name = expression`, of what it unpacks one item."""
    value: Any = node.value  # not None: it sets something
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        items = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        texts = [f"{write(value)}[{n}]" for n in range(len(items))]
        if isinstance(value, ast.Tuple) and len(value.elts) == len(items):
            texts = [write(it) for it in value.elts]
        if isinstance(value, ast.GeneratorExp) or any(isinstance(it, ast.Starred) for it in items):
            continue  # no item has an index
        for each, text in zip(items, texts, strict=True) if items else [(target, write(value))]:
            yield each, f"{write(each)} = {text}"


def lines_of(node: ast.stmt) -> range:
    """List the lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def names_in(function: FunctionType) -> dict[str, Any]:
    """What the names mean that a function and those inside it use and do not bind."""
    known = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    codes = codes_in(function.__code__)
    names = [*function.__code__.co_freevars, *(name for code in codes for name in code.co_names)]
    return {name: known[name] for name in names if name in known}


def codes_in(code: CodeType) -> list[CodeType]:
    """List a code and those of the functions inside it."""
    codes = [code]
    for each in codes:
        codes += [it for it in each.co_consts if isinstance(it, CodeType)]
    return codes
