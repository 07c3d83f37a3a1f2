"""Reading a function: where it is written, and its code compiled again."""

from __future__ import annotations
import __future__

import ast
import functools
import itertools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
READABLE = "what can be traced is Python whose source can be read, in a file or a notebook cell"


@dataclass(frozen=True)
class Written:
    """A function as it is written: its syntax tree and the lines of its file."""

    function: FunctionType
    code: CodeType
    node: Definition
    lines: list[str]

    @property
    def title(self) -> str:
        """The function's name, with its class if it has one."""
        return ".".join(self.code.co_qualname.split("<locals>.")[-1].split(".")[-2:])

    @property
    def first_line(self) -> int:
        """Where the source begins, decorators included."""
        return _first_line(self.node)


def read(function: FunctionType, code: CodeType) -> Written:
    """Read the source that `code`, the function's own, was compiled from.

    Raises:
        TypeError: the source cannot be read, or is no longer what runs.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise TypeError(f"{code.co_qualname} has no source that can be read; {READABLE}")
    node = _definition("".join(lines), code)
    if node is None or not _is_what_runs(node, "".join(lines), code):
        raise TypeError(
            f"{code.co_qualname} differs from its source now: "
            "the file was changed after it was imported; restart and import it again"
        )
    return Written(function, code, node, lines)


def _is_what_runs(node: Definition, text: str, code: CodeType) -> bool:
    # pytest rewrites assertions, so such code always differs from its source.
    rewritten = any(isinstance(inner, ast.Assert) for inner in ast.walk(node))
    return rewritten or any(_same(each, code) for each in _compiled(text, code))


def _compiled(text: str, code: CodeType) -> Iterator[CodeType]:
    """Compile a file and find what may be this code in it."""
    flags = code.co_flags & FUTURE | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as notebooks do
    every = nested_codes(compile(text, code.co_filename, "exec", flags=flags, dont_inherit=True))
    return (each for each in every if each.co_firstlineno == code.co_firstlineno)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """List a code and all that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


def _definition(text: str, code: CodeType) -> Definition | None:
    try:
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DEFINITIONS)]
    except SyntaxError:
        return None
    wanted = (code.co_name, code.co_firstlineno)
    found = [node for node in nodes if (_name(node), _first_line(node)) == wanted]
    if len(found) > 1:
        raise TypeError(f"{code.co_qualname} shares its line with another; {READABLE}")
    return _as_definition(found[0]) if found else None


def _name(node: Definition | ast.Lambda) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _first_line(node: Definition | ast.Lambda) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min(each.lineno for each in (node, *decorators))


def _as_definition(node: Definition | ast.Lambda) -> Definition:
    if not isinstance(node, ast.Lambda):
        return node
    result = ast.copy_location(ast.Return(node.body), node.body)
    written = ast.FunctionDef("<lambda>", node.args, [result], [])
    return ast.copy_location(written, node)


def compile_like(code: CodeType, node: Definition) -> CodeType:
    """Compile a definition, which is changed, to code that can replace `code`."""
    _strip(node)
    outer = _in_class(code, node)
    compiled = compile(
        ast.fix_missing_locations(_in_function(code, outer)),
        code.co_filename,
        "exec",
        flags=code.co_flags & FUTURE,
        dont_inherit=True,
    )
    depth = 2 if outer is node else 3
    return next(itertools.islice(nested_codes(compiled), depth, None))


def _in_class(code: CodeType, node: Definition) -> Definition | ast.ClassDef:
    """Put a method into a class, which `super()` and names like `__private` need."""
    names = code.co_qualname.split(".")
    if len(names) == 1 or names[-2] == "<locals>":
        return node
    around = ast.parse("class Around: pass").body[0]
    assert isinstance(around, ast.ClassDef)  # noqa: S101 - for the type checker
    around.name, around.body = names[-2], [node]
    return around


def _in_function(code: CodeType, inside: Definition | ast.ClassDef) -> ast.Module:
    """Put a definition into a function with the same closure variables, in the same order."""
    body: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in code.co_freevars
    ]
    if inside.name not in code.co_freevars and inside.name.isidentifier():
        # Or the function would close over its own name, or over that of its class.
        body.append(ast.Global([inside.name]))
    around = ast.parse("def around(): pass")
    around.body[0].body = [*body, inside]  # type: ignore[attr-defined]
    return around


def _strip(node: Definition) -> None:
    """Drop what belongs to the function and not to its code: it is evaluated only once."""
    node.decorator_list, node.returns = [], None
    arguments = node.args
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    for argument in all_arguments(node):
        argument.annotation = None


def all_arguments(node: Definition) -> list[ast.arg]:
    """Name the arguments of a function, as they are written."""
    own = node.args
    several = [own.vararg] if own.vararg else []
    keywords = [own.kwarg] if own.kwarg else []
    return [*own.posonlyargs, *own.args, *several, *own.kwonlyargs, *keywords]


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - constants of any kind
    if not isinstance(one, CodeType) or not isinstance(other, CodeType):
        return bool(type(one) is type(other) and one == other)
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and len(one.co_consts) == len(other.co_consts)
        and all(map(_same, one.co_consts, other.co_consts))
    )
