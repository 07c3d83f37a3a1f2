"""Rewriting a copy of a function so that it reports what each of its lines makes.

Why not `sys.settrace`: there is one hook, which a debugger or a coverage tool may
use. A rewritten copy needs no hook. It has the line numbers and the file name of the
original, so that breakpoints and coverage still find their lines.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from types import CodeType
from typing import Any

from attnbook.tracing.source import Definition, all_arguments, compile_like

# A name, the names that something is unpacked into, or ("*", name) for the rest of it.
Pattern = str | tuple["Pattern", ...]

RECORDER = "attnbook.tracing: placeholder of the recorder"
PARTS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript)
TRANSPOSED = ("T", "mT", "H", "mH")
LONGEST = 40


@dataclass(frozen=True)
class Site:
    """A position in the source where something is made.

    Args:
        line: where its statement begins.
        row, column: its own position.
        names: what it makes is called; several when a value is assigned twice.
        quiet: whether it is only a part of its statement's result.
    """

    line: int
    row: int
    column: int
    names: tuple[Pattern, ...]
    quiet: bool = False


class Instrument(ast.NodeTransformer):
    """Adds to a function's copy the calls that report to its recorder.

    Nothing that is added binds a name: the recorder is a constant of the code, see
    `compile_with`. So `locals()`, globals and closures are what they were.
    """

    def __init__(self, node: Definition) -> None:
        self.sites: list[Site] = []
        self.statements: list[int] = []
        self.line = node.lineno
        self.node = copy.deepcopy(node)
        arguments = all_arguments(node)
        self.arguments = [
            Site(node.lineno, it.lineno, it.col_offset, (it.arg,)) for it in arguments
        ]
        values: list[ast.expr] = [ast.Name(it.arg, ast.Load()) for it in arguments]
        enter = self._report("enter", node, ast.Tuple(values, ast.Load()))
        self.node.body = [ast.copy_location(ast.Expr(enter), node), *self._block(self.node.body)]

    def visit(self, node: ast.AST) -> Any:  # noqa: ANN401 - as in ast
        """Report that a statement is reached, and what an expression makes."""
        if isinstance(node, ast.stmt):
            return self._statement(node)
        if not isinstance(node, ast.expr):
            # Patterns hold expressions that must stay as they are.
            return node if isinstance(node, ast.pattern) else self.generic_visit(node)
        if isinstance(node, ast.JoinedStr):
            return node
        if isinstance(node, ast.NamedExpr):
            return self._named(node)
        if isinstance(node, ast.Yield) and node.value is not None:
            node.value = self._made(node.value, ("yield",))
            return node
        return self._part(node) if _makes_tensor(node) else self.generic_visit(node)

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in body for new in self.visit(statement)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        before, self.line = self.line, node.lineno
        self.statements.append(node.lineno)
        reach = self._number("reach", node, len(self.statements) - 1)
        after: list[ast.stmt] = []
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
            self._value(node)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._loop(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self._with(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = self._block(node.body)
        elif isinstance(node, ast.AugAssign):
            after = self._augmented(node)
        elif not isinstance(node, ast.ClassDef):
            self.generic_visit(node)
        self.line = before
        return [ast.copy_location(ast.Expr(reach), node), node, *after]

    def _value(self, node: ast.Assign | ast.AnnAssign | ast.Return | ast.Expr) -> None:
        if node.value is None:
            return
        names = _result_names(node)
        if isinstance(node, ast.Assign):
            node.targets = [self.visit(target) for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            node.target = self.visit(node.target)
        node.value = self._made(node.value, names)

    def _named(self, node: ast.NamedExpr) -> ast.NamedExpr:
        node.value = self._made(node.value, (node.target.id,))
        return node

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        turn = self._number("turn", node, len(self.statements) - 1)
        shown = []
        if isinstance(node, ast.While):
            node.test = self.visit(node.test)
        else:
            node.iter = self.visit(node.iter)
            shown = self._bound(node.target)
        node.body = [ast.copy_location(ast.Expr(turn), node), *shown, *self._block(node.body)]
        node.orelse = self._block(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        shown = []
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
            shown += self._bound(item.optional_vars) if item.optional_vars else []
        node.body = [*shown, *self._block(node.body)]

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        node.value = self.visit(node.value)
        # To find what `x[f()] += 1` made, f would have to be called again.
        return self._bound(node.target)

    def _bound(self, target: ast.expr) -> list[ast.stmt]:
        """Report what a statement has bound to simple names."""
        if not all(map(_is_dotted, _leaves(target))):
            return []
        names = (_pattern(target),)
        loaded = ast.parse(ast.unparse(target), mode="eval").body
        for node in ast.walk(loaded):
            ast.copy_location(node, target)
        made = self._report_made(loaded, names, quiet=False)
        return [ast.copy_location(ast.Expr(made), target)]

    def _made(self, value: ast.expr, names: tuple[Pattern, ...]) -> ast.expr:
        """Report a statement's result; its parts have reported before."""
        inside: Any = self.generic_visit(value) if _makes_tensor(value) else self.visit(value)
        return self._report_made(inside, names, quiet=False, row=self.line)

    def _part(self, node: ast.expr) -> ast.expr:
        name = short(node)
        self.generic_visit(node)
        return self._report_made(node, (name,), quiet=True)

    def _report_made(
        self, node: ast.expr, names: tuple[Pattern, ...], *, quiet: bool, row: int | None = None
    ) -> ast.expr:
        self.sites.append(Site(self.line, row or node.lineno, node.col_offset, names, quiet))
        return self._number("made", node, len(self.sites) - 1, node)

    def _number(self, verb: str, at: ast.AST, number: int, *more: ast.expr) -> ast.expr:
        return self._report(verb, at, ast.copy_location(ast.Constant(number), at), *more)

    def _report(self, verb: str, at: ast.AST, *arguments: ast.expr) -> ast.expr:
        reporter = ast.Attribute(ast.Constant(RECORDER), verb, ast.Load())
        call = ast.copy_location(ast.Call(reporter, [*arguments], []), at)
        # Of one line: a method call that goes over several counts as on its last.
        call.end_lineno, call.end_col_offset = call.lineno, call.col_offset
        return ast.fix_missing_locations(call)


def _makes_tensor(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and node.attr in TRANSPOSED
    return isinstance(node, PARTS) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_dotted(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Attribute) and _is_dotted(node.value)
    )


def _leaves(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [leaf for item in target.elts for leaf in _leaves(item)]
    return _leaves(target.value) if isinstance(target, ast.Starred) else [target]


def _pattern(target: ast.expr) -> Pattern:
    if isinstance(target, ast.Tuple | ast.List):
        return tuple(map(_pattern, target.elts))
    if isinstance(target, ast.Starred):
        return ("*", _pattern(target.value))
    return short(target)


def _result_names(node: ast.Assign | ast.AnnAssign | ast.Return | ast.Expr) -> tuple[Pattern, ...]:
    if isinstance(node, ast.Assign):
        return tuple(map(_pattern, node.targets))
    if isinstance(node, ast.AnnAssign):
        return (_pattern(node.target),)
    if isinstance(node, ast.Expr):
        return (short(node.value),)
    return (_pattern(node.value),) if isinstance(node.value, ast.Tuple) else ("return",)


def short(node: ast.expr) -> str:
    """Write an expression in one line that is not too long."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def compile_with(recorder: object, code: CodeType, node: Definition) -> CodeType:
    """Compile what an `Instrument` wrote, with its recorder, to replace `code`."""
    return _replace_recorder(recorder, compile_like(code, node))


def _replace_recorder(recorder: object, code: CodeType) -> CodeType:
    def changed(constant: Any) -> Any:  # noqa: ANN401 - constants of any kind
        if isinstance(constant, CodeType):
            return _replace_recorder(recorder, constant)
        return recorder if isinstance(constant, str) and constant == RECORDER else constant

    return code.replace(co_consts=tuple(map(changed, code.co_consts)))
