"""Recording a run: which lines of the functions shown ran, and the tensors that they made."""

from __future__ import annotations

import ast
import builtins
import contextlib
import itertools
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, has_torch_function

from attnbook.tracing.naming import Sizes
from attnbook.tracing.source import NOT_RUN, Target, nested_codes

Written: TypeAlias = "ast.stmt | ast.expr | ast.arg"
Place: TypeAlias = tuple[int | None, ...]
PARTS = ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call | ast.Subscript | ast.Attribute
HAS_VALUE = ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.Return | ast.Yield
GOES_ON = ast.For | ast.While | ast.With | ast.Try
OWN_NAMES = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda
ORDERS = ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE
TRANSPOSED = ("T", "mT", "H", "mH")
LONGEST, DEEPEST, MOST_NUMBERS = 40, 3, 4096
RAGGED = -1  # a size that differs from row to row, as in a nested tensor


@dataclass(frozen=True, eq=False)
class Step:
    """A tensor that a traced run made.

    Args:
        section: the index in `Trace.sections` of the function that made it.
        title: what that function is called in the trace.
        line: the line within the function's source, from 1.
        name: what it is called, or the expression that made it.
        shape: its sizes; -1 for one that differs from row to row.
        symbols: its sizes as the trace prints them, by name where one is known.
        numbers: a copy of it, on the CPU, as it was when it was made. None for more
            than 4096 numbers, and for what holds none to read.
        part: whether it is only a part of what its line makes.

    Example:
        >>> from attnbook.tracing import trace
        >>> found = trace(split_heads, torch.ones(3, 5, 14), 2, sizes={"batch": 3, "positions": 5})
        >>> step = found.steps[-1]
        >>> step.name, step.shape, step.symbols
        ('return', (3, 2, 5, 7), ('batch', '2', 'positions', '7'))
    """

    section: int
    title: str
    line: int
    name: str
    shape: tuple[int, ...]
    symbols: tuple[str, ...]
    numbers: Tensor | None
    part: bool


class Section:
    """A function: where its statements are, and what is known of its first call."""

    def __init__(self, index: int, target: Target, running: object) -> None:
        self.index, self.target, self.running = index, target, running  # the owner's copy
        self.calls = 0
        self.runs: Counter[int] = Counter()  # by the line where a statement begins
        self.error_line: int | None = None  # where the exception passed through it
        self.statements: dict[int, ast.stmt] = {}  # the first one of each line
        # For each line, where the innermost statement around it begins.
        self.owners = dict.fromkeys(lines_of(target.node), target.node.lineno)
        # By position, what makes a tensor. None is not shown: its statement shows it.
        self.expressions: dict[Place, ast.expr | None] = {}
        nodes = [it for it in ast.walk(target.node) if isinstance(it, ast.stmt | ast.expr)]
        hidden = {it.value for it in nodes if isinstance(it, HAS_VALUE)}
        for it in nodes[1:]:  # from the outside in
            position = it.lineno, it.end_lineno, it.col_offset, it.end_col_offset
            self.expressions.setdefault(position, None)
            if isinstance(it, ast.stmt):
                self.owners |= dict.fromkeys(lines_of(it), it.lineno)
                self.statements.setdefault(it.lineno, it)
            elif isinstance(it, PARTS) and it not in hidden:
                self.expressions[position] = it
                if isinstance(it, ast.Call):
                    # The call of a method over several lines begins at the method's name.
                    self.expressions[position[1::2]] = it

    def expression_at(self, frame: FrameType) -> ast.expr | None:
        """Find the expression that a frame works out."""
        position = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
        return self.expressions.get(position, self.expressions.get(position[1::2]))


class Run(TorchFunctionMode):
    """One run, watched with `sys.settrace`, which is for one thread.

    A line's variables are read when the next line begins, and parts of a line where a function
    returns to it. As a mode, it makes every call into torch one of a Python function.

    Attributes:
        made: what was made, in order, as it was when it was made first.
        last: the shape that it had when it was made last.
        error, innermost: the exception that was raised, and the section where it arose.
        sizes: the names' sizes.
        enlarged: the names whose size is another in an input than in the first run.
    """

    def __init__(self, sections: list[Section], sizes: Sizes, enlarged: set[str]) -> None:
        super().__init__()
        self.sections, self.sizes, self.enlarged = sections, sizes, enlarged
        self.made: dict[Place, Step] = {}
        self.last: dict[Place, tuple[int, ...]] = {}
        self.error: Exception | None = None
        self.innermost: Section | None = None
        codes = {it.target.code: [*nested_codes(it.target.code)] for it in sections}
        tops = sorted(codes, key=lambda it: -len(codes[it]))  # from the outside in
        self._tops = {code: top for top in tops for code in codes[top]}
        self._frames: dict[FrameType | None, Section | None] = {}
        self._at: dict[FrameType, tuple[int, int]] = {}  # a line, and its first instruction
        self._leaving: dict[FrameType, ast.Return] = {}  # perhaps through a `finally`
        self._failed: set[FrameType] = set()  # their lines have bound nothing

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        """Call a function of torch."""
        return func(*args, **(kwargs or {}))

    @property
    def reached(self) -> tuple[list[set[int]], set[Place]]:
        """The lines that ran, and where tensors were made."""
        return [{*it.runs} for it in self.sections], {*self.made}

    def watch(self, call: Callable[[], object]) -> None:
        """Run a call."""
        before = sys.gettrace()
        try:
            with self:
                sys.settrace(self._call)
                try:
                    call()
                finally:
                    sys.settrace(before)
        except Exception as error:
            self.error = error
            self._locate(error)
        finally:
            for each in (self._frames, self._at, self._leaving, self._failed):
                each.clear()

    def _locate(self, error: BaseException) -> None:
        """Find where an exception passed; then free the tensors that its frames keep alive."""
        self.innermost = self.sections[0]  # if the call did not get as far as its first line
        self.innermost.error_line = self.innermost.target.node.lineno
        for frame, line in traceback.walk_tb(error.__traceback__):
            if section := self._frames.get(frame):
                section.error_line, self.innermost = line, section
        cause: BaseException | None = error
        while cause is not None:
            cause.__traceback__, cause = None, cause.__cause__ or cause.__context__

    def _call(self, frame: FrameType, _event: str, _arg: object) -> Any:  # noqa: ANN401
        """Choose how a new frame is watched."""
        if frame.f_code in self._tops and frame not in self._frames:
            self._frames[frame] = self._enter(frame)
        section = self._frames.get(frame)
        if section and (frame.f_code is section.target.code or frame.f_code.co_name[0] != "<"):
            return self._line
        if self._frames.get(frame.f_back) and not frame.f_code.co_flags & NOT_RUN:
            frame.f_trace_lines = False
            return self._returned
        return None

    def _enter(self, frame: FrameType) -> Section | None:
        """Find the section of a call. A function inside belongs to that around it."""
        top, around = self._tops[frame.f_code], frame.f_back
        while around and around.f_code is not top:
            around = around.f_back
        if frame.f_code is not top:
            return self._frames.get(around)
        if "handle_torch_function" in frame.f_code.co_names and has_torch_function((None,)):
            return None  # torch calls it once more, without the mode
        for section in self.sections:
            if section.target.code is top and _is_owner(section.running, frame):
                section.calls += 1
                if section.calls == 1:
                    for it in ast.iter_child_nodes(section.target.node.args):
                        if isinstance(it, ast.arg):
                            self._record(section, it, it.arg, frame.f_locals.get(it.arg))
                    return section
        return None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ANN401
        """Record what the last line made, at a new one and at the end."""
        section = self._frames.get(frame)
        if section and event == "line":
            line = section.owners.get(frame.f_lineno, frame.f_lineno)
            last, first_instruction = self._at.get(frame, (0, -1))
            if line == last and frame.f_lasti > first_instruction:
                return self._line  # one statement over several lines
            self._finish(section, frame, line)
            self._at[frame] = line, frame.f_lasti
            statement = section.statements.get(line)
            if isinstance(statement, ast.Return):
                self._leaving[frame] = statement
            goes_on = isinstance(statement, GOES_ON) and last in lines_of(statement)
            section.runs[line] += line == last or not goes_on
        elif section and event == "return":
            self._finish(section, frame)
            self._record_return(section, frame, arg)
            self._returned(frame, event, arg)
        elif event == "exception" and not issubclass(arg[0], StopIteration):
            self._failed.add(frame)
            self._leaving.pop(frame, None)
        return self._line

    def _finish(self, section: Section, frame: FrameType, following: int = 0) -> None:
        """Record what a line has bound."""
        line, _ = self._at.get(frame, (0, 0))
        statement = section.statements.get(line)
        over = isinstance(statement, ast.For) and following != statement.body[0].lineno
        failed = frame in self._failed
        self._failed.discard(frame)
        for target in _targets(statement) if statement and not over and not failed else ():
            with contextlib.suppress(Exception):  # a property may raise anything
                self._record(section, target, short(target), _read(target, frame), line)

    def _record_return(self, section: Section, frame: FrameType, value: object) -> None:
        """Record what is returned or yielded."""
        if statement := self._leaving.get(frame):
            whole = statement.value
            name = whole if isinstance(whole, ast.Tuple) else "return"
            self._record(section, statement, name, value, statement.lineno)
        elif frame.f_code.co_flags & NOT_RUN:
            line = section.owners[frame.f_lineno]
            self._record(section, section.statements[line], "yield", value, line)

    def _returned(self, frame: FrameType, event: str, value: Any) -> Any:  # noqa: ANN401
        """Record the value of an expression, when the function that it called returns."""
        caller, function = frame.f_back, None
        section = self._frames.get(caller)
        if event == "return" and caller and section and not frame.f_code.co_flags & NOT_RUN:
            node = section.expression_at(caller)
            if frame.f_code is Run.__torch_function__.__code__:
                function = frame.f_locals["func"]
            if function is Tensor.__setitem__:
                value = frame.f_locals["args"][2]
            if node and _is_value(node, function):
                line = section.owners[node.lineno]
                statement = section.statements[line]
                whole = isinstance(statement, ast.Expr) and node is statement.value
                row = line if whole or function is Tensor.__setitem__ else 0
                self._record(section, node, short(node), value, row)
        return self._returned

    def _record(
        self, section: Section, node: Written, name: str | ast.expr, value: object, row: int = 0
    ) -> None:
        """Record what was made first and last: a result at a row, or a part where it is."""
        part = not row and isinstance(node, ast.expr)
        line = (row or node.lineno) - section.target.first_line + 1
        position = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        for n, (text, tensor) in enumerate(tensors(name, value)):
            place, shape = (section.index, *position, n, part), shape_of(tensor)
            self.last[place] = shape
            if place not in self.made:
                numbers = copy_numbers(tensor)
                self.made[place] = Step(section.index, "", line, text, shape, (), numbers, part)


def lines_of(node: ast.stmt) -> range:
    """List the lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def short(node: ast.expr) -> str:
    """Write an expression in one line that is not too long."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def tensors(
    name: str | ast.expr, value: object, depth: int = DEEPEST
) -> Iterator[tuple[str, Tensor]]:
    """Name the tensors in a value, and in lists, tuples and dictionaries."""
    text = name if isinstance(name, str) else short(name)
    items: list[tuple[str | ast.expr, object]] = []
    if isinstance(value, Tensor):
        yield text, value
    elif isinstance(value, dict):
        found = dict.items(value)  # its own method may do anything
        items = [(f"{text}[{key!r}]", it) for key, it in found if isinstance(key, str | int)]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        items = [(f"{text}.{key}", it) for key, it in zip(value._fields, value, strict=True)]
    elif isinstance(value, tuple | list):
        items = [(f"{text}[{index}]", it) for index, it in enumerate(value)]
        if isinstance(name, ast.Tuple | ast.List) and len(name.elts) == len(value):
            items = [*zip(name.elts, value, strict=True)]
    for key, item in items if depth else []:
        yield from tensors(key, item, depth - 1)


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """Read a shape, that of a nested tensor too, which has sizes that vary."""
    if not tensor.is_nested:
        return tuple(map(int, tensor.shape))
    sizes = [tuple(part.shape) for part in tensor.detach().unbind()]
    several = [set(axis) for axis in zip(*sizes, strict=True)]
    return (len(sizes), *(axis.pop() if len(axis) == 1 else RAGGED for axis in several))


def copy_numbers(tensor: Tensor) -> Tensor | None:
    """Copy a tensor's numbers, so that no later change reaches them."""
    if tensor.is_nested or tensor.numel() > MOST_NUMBERS:
        return None
    try:
        # By way of a list: the copy is a plain tensor, whatever its original was.
        listed = (tensor.to_dense() if tensor.is_sparse else tensor).tolist()
        return torch.tensor(listed, dtype=tensor.dtype, device="cpu").reshape(tensor.shape)
    except (RuntimeError, TypeError):  # of the meta device, quantized, inside of vmap
        return None


def _is_owner(running: object, frame: FrameType) -> bool:
    """Whether a call is one of an object's methods."""
    first = next((frame.f_locals[name] for name in frame.f_code.co_varnames[:1]), None)
    if not frame.f_code.co_argcount and isinstance(first, tuple):  # `def forward(*args)`
        first = next(iter(first), None)
    return running is None or running is first


def _targets(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """List the variables and attributes that a statement binds, without those inside of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield child
        elif not isinstance(child, ast.stmt | OWN_NAMES):
            yield from _targets(child)


def _read(target: ast.expr, frame: FrameType) -> Any:  # noqa: ANN401
    if isinstance(target, ast.Attribute):
        return getattr(_read(target.value, frame), target.attr)
    return {**frame.f_globals, **frame.f_locals}[ast.unparse(target)]


def _is_value(node: ast.expr, function: Any) -> bool:  # noqa: ANN401
    """Whether an expression has the value that a function returned there, torch's or another.

    In `sum(parts)`, torch is called for each part, and in `x in parts` for each item.
    """
    if isinstance(node, ast.Attribute):
        return node.attr in TRANSPOSED
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) == (function is Tensor.__setitem__)
    if isinstance(node, ast.Compare):
        return all(isinstance(it, ORDERS) for it in node.ops)
    if not isinstance(node, ast.Call):
        return True
    name = ast.unparse(node.func)
    called = function is None or getattr(function, "__name__", "").endswith(name.split(".")[-1])
    return called and not hasattr(builtins, name)
