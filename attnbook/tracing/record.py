"""Recording a run: which lines of the functions shown ran, and the tensors that they made."""

from __future__ import annotations

import ast
import builtins
import contextlib
import itertools
import operator
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, SimpleNamespace
from typing import Any, TypeAlias

from torch import Tensor
from torch.overrides import BaseTorchFunctionMode, has_torch_function

from attnbook.tracing.naming import Sizes
from attnbook.tracing.source import NOT_RUN, Source, bound_by

Name: TypeAlias = str | ast.expr
LONGEST, DEEPEST = 70, 3


@dataclass(frozen=True, eq=False)
class Step:
    """A tensor that a traced run made.

    Args:
        section: the index of the function that made it, 0 for the layer's own.
        title: what that function is called in the trace.
        line: the line within the function's source, from 1.
        name: what it is called, or the expression that made it.
        code: the same with what it was set to, `name = expression`, if the line says so.
        shape: its sizes.
        symbols: its sizes as the trace prints them, by name where one is known.
        part: whether it is only a part of what its line makes.

    Example:
        >>> from attnbook.tracing import trace
        >>> trace(split_heads, torch.ones(3, 5, 14), 2).steps[-1].shape
        (3, 2, 5, 7)
    """

    section: int
    title: str
    line: int
    name: str
    code: str
    shape: tuple[int, ...]
    symbols: tuple[str, ...]
    part: bool


class Run:
    """One run of functions, watched with `sys.settrace`, which is for one thread.

    A line's variables are read when the next line begins, and parts of a line where a function
    returns to it. A mode makes every call into torch one of a Python function.

    Attributes:
        owners: for each function, the object whose method it is, as copied for this run.
        calls: how often each function was called; the first call is recorded.
        made: what was made, in order, with the shape that it had when it was made first.
        last: the shape that it had when it was made last.
        error_lines: where the exception passed through the functions; it arose in the last one.
    """

    def __init__(
        self, sources: Sequence[Source], owners: Sequence[object], sizes: Sizes, names: set[str]
    ) -> None:
        self.sources, self.owners, self.sizes, self.names = sources, owners, sizes, names
        self.calls: Counter[Source] = Counter()
        self.made: dict[tuple[ast.AST, int], Step] = {}
        self.last: dict[tuple[ast.AST, int], tuple[int, ...]] = {}
        self.error: Exception | None = None
        self.error_lines = {sources[0]: sources[0].node.lineno}  # if its first line does not run
        self._frames: dict[FrameType | None, Source] = {}
        self._at: dict[FrameType, int] = {}  # where the statement begins that runs now
        self._leaving: dict[FrameType, ast.Return] = {}  # perhaps through a `finally`

    def watch(self, call: Callable[[], object]) -> None:
        """Run a call."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            with BaseTorchFunctionMode():
                call()
        except Exception as error:
            self.error = error
            frames = traceback.walk_tb(error.__traceback__)
            for source, line in [(self._frames.get(frame), line) for frame, line in frames]:
                if source:
                    self.error_lines.pop(source, None)
                    self.error_lines[source] = line
            # Nothing keeps the tensors of these frames alive.
            traceback.clear_frames(error.__traceback__)
            error.__traceback__ = None
        finally:
            sys.settrace(before)
            for each in (self._frames, self._at, self._leaving):
                each.clear()

    def _call(self, frame: FrameType, _event: str, _arg: object) -> Any:  # noqa: ANN401
        """Choose how a new frame is watched."""
        code, around = frame.f_code, self._frames.get(frame.f_back)
        source = self._frames.get(frame) or self._enter(frame)
        if not source and around and code in around.inner:
            source = around  # a function, a lambda or a generator inside it
        if source:
            self._frames[frame] = source
            if code.co_name[0] != "<":
                return self._line
        if around and not code.co_flags & NOT_RUN:
            frame.f_trace_lines = False
            return self._returned
        return None

    def _enter(self, frame: FrameType) -> Source | None:
        """Find the source of a call, and record its arguments, if it is the first call."""
        code = frame.f_code
        if "handle_torch_function" in code.co_names and has_torch_function((None,)):
            return None  # torch calls it once more, without the mode
        for source, owner in zip(self.sources, self.owners, strict=True):
            if source.code is not code:
                continue
            if owner is None or owner is frame.f_locals[code.co_varnames[0]]:
                self.calls[source] += 1
                if self.calls[source] == 1:
                    for it in ast.iter_child_nodes(source.node.args):
                        if isinstance(it, ast.arg):
                            self._record(source, it, it.arg, frame.f_locals.get(it.arg), it.lineno)
                    return source
        return None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ANN401
        """Record what the last statement made, where the next one begins and at the end."""
        source = self._frames[frame]
        if event == "line":
            line = source.starts.get(frame.f_lineno, frame.f_lineno)
            if line != self._at.get(frame):  # else the statement goes on, in a further line
                self._record_bound(source, frame, line)
                self._at[frame] = line
                statement = source.statements.get(line)
                if isinstance(statement, ast.Return):
                    self._leaving[frame] = statement
        elif event == "return":
            self._record_bound(source, frame)
            if statement := self._leaving.get(frame):
                name = statement.value if isinstance(statement.value, ast.Tuple) else "return"
                self._record(source, statement, name, arg, statement.lineno)
            self._returned(frame, event, arg)
        elif not issubclass(arg[0], StopIteration):  # an exception: the statement binds nothing
            self._at.pop(frame, None)
            self._leaving.pop(frame, None)
        return self._line

    def _record_bound(self, source: Source, frame: FrameType, following: int = 0) -> None:
        """Record what a statement has bound. After its last pass, a loop binds nothing."""
        line = self._at.get(frame, 0)
        statement = source.statements.get(line)
        over = isinstance(statement, ast.For) and following != statement.body[0].lineno
        for bound in bound_by(statement) if statement and not over else ():
            with contextlib.suppress(Exception):  # a property may raise anything
                value = operator.attrgetter(ast.unparse(bound))(SimpleNamespace(**frame.f_locals))
                self._record(source, bound, ast.unparse(bound), value, line)

    def _returned(self, frame: FrameType, event: str, value: Any) -> Any:  # noqa: ANN401
        """Record the value of an expression, when the function that it called returns."""
        caller = frame.f_back
        if event == "return" and caller and caller in self._frames:
            source, positions = self._frames[caller], [*caller.f_code.co_positions()]
            node = source.expressions.get(positions[caller.f_lasti // 2])
            is_torch = frame.f_code is BaseTorchFunctionMode.__torch_function__.__code__
            if node and _is_value(node, frame.f_locals["func"] if is_torch else None):
                self._record(source, node, source.codes[node], value, node.lineno)
        return self._returned

    def _record(self, source: Source, node: ast.AST, name: Name, value: object, line: int) -> None:
        """Record the tensors of a value: the shapes made first, and the shape made last."""
        section, number = self.sources.index(source), line - source.first_line + 1
        part = node in source.parts
        for n, (text, tensor) in enumerate(tensors(name, value)):
            shape = self.last[node, n] = tuple(tensor.shape)
            code = source.codes.get(node, text) if tensor is value else text
            if isinstance(node, ast.Return) and not code.startswith("return"):
                code = f"return {code}"
            step = Step(section, "", number, short(text), short(code), shape, (), part)
            self.made.setdefault((node, n), step)


def short(text: str) -> str:
    """Cut a line that is too long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def tensors(name: Name, value: object, depth: int = DEEPEST) -> Iterator[tuple[str, Tensor]]:
    """Name the tensors in a value, and in lists, tuples and dictionaries; not nested tensors."""
    text = name if isinstance(name, str) else ast.unparse(name)
    if isinstance(value, Tensor) and not value.is_nested:
        yield text, value
    elif isinstance(value, dict | tuple | list) and depth:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        parts = name.elts if isinstance(name, ast.Tuple | ast.List) else []
        parts = parts if len(parts) == len(value) else []  # `return first, *others`
        for (key, item), part in itertools.zip_longest(items, parts):
            yield from tensors(part or f"{text}[{key!r}]", item, depth - 1)


def _is_value(node: ast.expr, function: Any) -> bool:  # noqa: ANN401
    """Whether an expression has the value that a function returned there, torch's or another.

    In `sum(parts)`, torch is called for each part, and in `x in parts` for each item.
    """
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    if not isinstance(node, ast.Call):  # an attribute may be a parameter, which no line makes
        return function is not None or not isinstance(node, ast.Attribute)
    name = ast.unparse(node.func)
    called = function is None or getattr(function, "__name__", "").endswith(name.split(".")[-1])
    return called and not hasattr(builtins, name)
