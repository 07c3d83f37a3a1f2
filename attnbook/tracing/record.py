"""Recording a run: which lines of the functions shown ran, and the tensors that they made."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import itertools
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, handle_torch_function

from attnbook.tracing.source import Definition, Target

PARTS = ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call | ast.Subscript | ast.Attribute
HAS_VALUE = ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.Return | ast.Yield
FOR = ast.For | ast.AsyncFor
GOES_ON = FOR | ast.While | ast.With | ast.AsyncWith | ast.Try
Place: TypeAlias = tuple[int | None, ...]
Name: TypeAlias = "str | ast.expr"
OWN_NAMES = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda
TRANSPOSED = ("T", "mT", "H", "mH")
GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_COROUTINE
LONGEST, DEEPEST, MOST_NUMBERS = 40, 3, 4096
RAGGED = -1
"""A size that differs from row to row, as in a nested tensor."""


@dataclass
class Made:
    """A tensor that a line made.

    Args:
        place: where it is written, as a key.
        name: what it is called, or the expression that made it.
        line, row: where its statement and where its own expression begin.
        part: whether it is only a part of what its statement makes.
        number: counts what a run made, in order.
        shape, last: its sizes when it was made first and last.
        numbers: a copy of it when it was made first; None if it is large or unreadable.
    """

    place: Place
    name: str
    line: int
    row: int
    part: bool
    number: int
    shape: tuple[int, ...]
    last: tuple[int, ...]
    numbers: Tensor | None


class Section:
    """What is known of the first call of a function.

    Args:
        running: the copy of the target's owner, which runs.
    """

    def __init__(self, target: Target, running: object) -> None:
        self.target, self.running = target, running
        self.places = Places(target.node)
        self.calls = 0
        self.made: dict[Place, Made] = {}
        self.runs: Counter[int] = Counter()  # by the line where a statement begins
        self.error_line: int | None = None  # where the exception passed through it


class Places:
    """Where the statements of a function are, and its expressions that make tensors.

    Args:
        owners: for each line, where the innermost statement around it begins.
        statements: by line. What is in one line with the statement around it is left out.
        expressions: by position. None is not shown: its statement shows it.
        results: the expressions that are statements, or that something is assigned to.
    """

    def __init__(self, node: Definition) -> None:
        self.owners = dict.fromkeys(range(node.lineno, end_of(node) + 1), node.lineno)
        self.statements: dict[int, list[ast.stmt]] = {}
        self.expressions: dict[tuple[int | None, ...], ast.expr | None] = {}
        self.results: set[ast.AST] = set()
        inner = [it for it in ast.walk(node) if it is not node]  # from the outside in
        hidden = {it.value for it in inner if isinstance(it, HAS_VALUE)}
        for it in inner:
            if isinstance(it, ast.Expr):
                self.results.add(it.value)
            if isinstance(it, ast.stmt):
                self.owners |= dict.fromkeys(range(it.lineno, end_of(it) + 1), it.lineno)
                others = self.statements.setdefault(it.lineno, [])
                if not any(hasattr(other, "body") for other in others):
                    others.append(it)
            if isinstance(it, ast.stmt | ast.expr):
                self._add(it, shown=it not in hidden)

    def _add(self, node: ast.stmt | ast.expr, *, shown: bool) -> None:
        position = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            self.results.add(node)
        if not shown or not isinstance(node, PARTS):
            self.expressions.setdefault(position, None)
        elif not isinstance(node, ast.Attribute) or node.attr in TRANSPOSED:
            self.expressions[position] = node
            if isinstance(node, ast.Call):
                # The call of a method over several lines begins at the method's name.
                self.expressions[position[1::2]] = node

    def expression_at(self, frame: FrameType) -> ast.expr | None:
        """Find the expression that a frame works out."""
        position = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
        if position in self.expressions:
            return self.expressions[position]
        return self.expressions.get(position[1::2])


class Recorder(TorchFunctionMode):
    """Watches a run with `sys.settrace`, which is for one thread.

    A line's variables are read when the next line begins, and parts of a line where a function
    returns to it. As a mode, it makes every call into torch one of a Python function.
    """

    def __init__(self, sections: list[Section]) -> None:
        super().__init__()
        self.sections = sections
        self.tops: dict[CodeType, CodeType] = {}
        several = {it.target.function.__code__: [*it.target.codes] for it in sections}
        for top in sorted(several, key=lambda it: len(several[it])):  # from the inside out
            self.tops = dict.fromkeys(several[top], top) | self.tops
        self.frames: dict[FrameType, Section | None] = {}
        self.at: dict[FrameType, tuple[int, int]] = {}  # a line, and its first instruction
        self.count = itertools.count()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever torch returns
        """Call a function of torch."""
        return func(*args, **(kwargs or {}))

    def run(self, call: Callable[[], object]) -> tuple[Exception | None, Section | None]:
        """Run a call; return the exception that it raised, and the innermost section it left."""
        innermost, before = None, sys.gettrace()
        try:
            with self:
                sys.settrace(self._call)
                try:
                    call()
                finally:
                    sys.settrace(before)
        except Exception as error:
            for frame, line in traceback.walk_tb(error.__traceback__):
                section = self.frames.get(frame)
                if section is not None:
                    section.error_line, innermost = line, section
            _release_frames(error)
            return error, innermost
        finally:
            self.frames.clear()
            self.at.clear()
        return None, None

    def _call(self, frame: FrameType, _event: str, _: object) -> Any:  # noqa: ANN401
        """Choose how a new frame is watched."""
        code, caller = frame.f_code, frame.f_back
        if code in self.tops and frame not in self.frames:
            self.frames[frame] = self._section(frame)
        section = self.frames.get(frame)
        if section is not None and not _is_inline(frame, section):
            return self._line
        if caller and caller.f_code is handle_torch_function.__code__:
            self._forget(caller.f_back)
        if caller and self.frames.get(caller) and not code.co_flags & GENERATOR:
            frame.f_trace_lines = False
            return self._returned
        return None

    def _section(self, frame: FrameType) -> Section | None:
        """Find the section of a call. A function inside belongs to that around it."""
        top = self.tops[frame.f_code]
        if frame.f_code is not top:
            around = frame.f_back
            while around is not None and around.f_code is not top:
                around = around.f_back
            return self.frames.get(around) if around else None
        for section in self.sections:
            if section.target.function.__code__ is top and _is_owner(section.running, frame):
                section.calls += 1
                if section.calls == 1:
                    for it in all_arguments(section.target.node):
                        self._record(section, it, it.arg, frame.f_locals[it.arg])
                    return section
        return None

    def _forget(self, frame: FrameType | None) -> None:
        """Drop the call of a function of torch that calls itself once more for a mode."""
        section = self.frames.pop(frame, None) if frame else None
        if section:
            section.calls -= 1
            section.made.clear()
            section.runs.clear()

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ANN401
        """Record what the last line made, at a new one and at the end."""
        section = self.frames.get(frame)
        if section is None:
            return None
        if event == "exception" and not issubclass(arg[0], StopIteration):
            self.at.pop(frame, None)
        elif event == "line":
            self._move(section, frame)
        elif event == "return":
            self._finish(section, frame)
            self._record_return(section, frame, arg)
            self._returned(frame, event, arg)
        return self._line

    def _move(self, section: Section, frame: FrameType) -> None:
        line = section.places.owners.get(frame.f_lineno, frame.f_lineno)
        last, first_instruction = self.at.get(frame, (0, -1))
        if line == last and frame.f_lasti > first_instruction:
            return  # one statement over several lines
        self._finish(section, frame, line)
        self.at[frame] = line, frame.f_lasti
        statements = section.places.statements.get(line, [])
        inside = [it for it in statements if isinstance(it, GOES_ON) and line < last <= end_of(it)]
        if not inside:  # else it goes on, as a loop does
            section.runs[line] += 1

    def _finish(self, section: Section, frame: FrameType, following: int = 0) -> None:
        """Record what a line has bound."""
        line, _ = self.at.pop(frame, (0, 0))
        for statement in section.places.statements.get(line, []):
            if isinstance(statement, FOR) and following != statement.body[0].lineno:
                continue  # the loop is over
            for target in _targets(statement):
                with contextlib.suppress(Exception):  # a property may raise anything
                    self._record(section, target, short(target), _read(target, frame))

    def _record_return(self, section: Section, frame: FrameType, value: object) -> None:
        """Record what is returned or yielded."""
        line = section.places.owners.get(frame.f_lineno, 0)
        for statement in section.places.statements.get(line, []):
            if isinstance(statement, ast.Return):
                several = isinstance(statement.value, ast.Tuple)
                name = statement.value if several and statement.value else "return"
                self._record(section, statement, name, value)
            elif frame.f_code.co_flags & GENERATOR:
                self._record(section, statement, "yield", value)

    def _returned(self, frame: FrameType, event: str, value: Any) -> Any:  # noqa: ANN401
        """Record the value of an expression, when the function that it called returns."""
        caller = frame.f_back
        section = self.frames.get(caller) if caller else None
        if event == "return" and caller and section and not frame.f_code.co_flags & GENERATOR:
            node, function = section.places.expression_at(caller), None
            if frame.f_code is Recorder.__torch_function__.__code__:
                function = frame.f_locals["func"]
            if function is Tensor.__setitem__:
                value = frame.f_locals["args"][2]
            if node is not None and _is_value(node, function):
                self._record(section, node, short(node), value)
        return self._returned

    def _record(
        self, section: Section, node: ast.stmt | ast.expr | ast.arg, name: Name, value: object
    ) -> None:
        """Record the first and the last shapes of what was made, and the first numbers."""
        line = section.places.owners[node.lineno]
        part = isinstance(node, ast.expr) and node not in section.places.results
        row = node.lineno if part or isinstance(node, ast.arg) else line
        for index, (text, tensor) in enumerate(tensors(name, value)):
            shape = shape_of(tensor)
            place = (part, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, index)
            if place in section.made:
                section.made[place].last = shape
            else:
                numbers = copy_numbers(tensor)
                made = Made(place, text, line, row, part, next(self.count), shape, shape, numbers)
                section.made[place] = made


def all_arguments(node: Definition) -> list[ast.arg]:
    """List the arguments of a function, as they are written."""
    own = node.args
    several = [own.vararg] if own.vararg else []
    keywords = [own.kwarg] if own.kwarg else []
    return [*own.posonlyargs, *own.args, *several, *own.kwonlyargs, *keywords]


def end_of(node: ast.stmt) -> int:
    """Return a statement's last line."""
    return node.end_lineno or node.lineno


def short(node: ast.expr) -> str:
    """Write an expression in one line that is not too long."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def tensors(name: Name, value: object, depth: int = DEEPEST) -> Iterator[tuple[str, Tensor]]:
    """Name the tensors in a value, and in lists, tuples and dictionaries."""
    if isinstance(name, ast.Tuple | ast.List) and isinstance(value, tuple | list):
        if len(name.elts) == len(value):
            for each, item in zip(name.elts, value, strict=True):
                yield from tensors(each, item)
            return
    text = name if isinstance(name, str) else short(name)
    if isinstance(value, Tensor):
        yield text, value
    elif depth:
        for key, item in _items(value):
            yield from tensors(f"{text}{key}", item, depth - 1)


def _items(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        items = dict.items(value)  # its own method may do anything
        yield from ((f"[{key!r}]", item) for key, item in items if isinstance(key, str | int))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from ((f".{key}", item) for key, item in zip(value._fields, value, strict=True))
    elif isinstance(value, tuple | list):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))


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
        plain = tensor.detach()
        listed = (plain.to_dense() if plain.is_sparse else plain).tolist()
        return torch.tensor(listed, dtype=tensor.dtype, device="cpu").reshape(tensor.shape)
    except (RuntimeError, TypeError):  # of the meta device, quantized, inside of vmap
        return None


def _is_inline(frame: FrameType, section: Section) -> bool:
    """Whether a frame is that of a lambda or a comprehension, without statements of its own."""
    code = frame.f_code
    return code.co_name.startswith("<") and code is not section.target.function.__code__


def _is_owner(running: object, frame: FrameType) -> bool:
    """Whether a call is one of an object's methods."""
    first = next((frame.f_locals[name] for name in frame.f_code.co_varnames[:1]), None)
    if not frame.f_code.co_argcount and isinstance(first, tuple):  # `def forward(*args)`
        first = next(iter(first), None)
    return running is None or running is first


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """List the variables and attributes that a statement binds, without those inside of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield child
        elif not isinstance(child, ast.stmt | OWN_NAMES):
            yield from _targets(child)


def _read(target: ast.expr, frame: FrameType) -> Any:  # noqa: ANN401 - any variable
    if isinstance(target, ast.Attribute):
        return getattr(_read(target.value, frame), target.attr)
    if not isinstance(target, ast.Name):
        raise TypeError(target)
    return {**frame.f_globals, **frame.f_locals}[target.id]


def _is_value(node: ast.expr, function: Any) -> bool:  # noqa: ANN401 - of torch, or None
    """Whether an expression has the value that a function called there returned.

    In `sum(parts)`, torch is called for each part, and in `x in parts` for each item.
    """
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) == (function is Tensor.__setitem__)
    if isinstance(node, ast.Compare):
        return not any(isinstance(it, ast.In | ast.NotIn) for it in node.ops)
    if not isinstance(node, ast.Call):
        return True
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    if isinstance(node.func, ast.Name) and hasattr(builtins, name):
        return False
    return function is None or getattr(function, "__name__", "").endswith(name)


def _release_frames(error: BaseException | None) -> None:
    """Free the tensors that an exception would keep alive through its frames."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
