"""What a run reports: how often each line ran, and the shape of what it made first."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple

from torch import Tensor

from attnbook.tracing.instrument import Instrument, Pattern, Site, compile_with
from attnbook.tracing.source import Written, nested_codes
from attnbook.tracing.steps import Moment, copy_numbers

DEEPEST = 3
_moments = itertools.count()
RAGGED = -1
"""A size that differs from row to row, as in a nested tensor."""


class Made(NamedTuple):
    """A tensor that was made: what it is called, and its shape."""

    name: str
    shape: tuple[int, ...]


@dataclass
class Section:
    """What is known of one function, called for one object if it is a method.

    Args:
        title: what it is called in the trace.
        owner: the object whose calls are recorded; None records all.
        requested: whether the caller named it.
        running: the owner's copy, which runs.
        calls: how often it was called. Only the first call is recorded.
        made: by site, what it made when it ran first; `last`, when it ran last.
        moments: when each site ran first, with the numbers of what it made.
        runs, turns: by statement, how often it ran, and how often its loop turned.
        error_line: where the exception passed through it, if one did.
    """

    title: str
    written: Written
    owner: Any = None
    requested: bool = False
    running: Any = None
    calls: int = 0
    made: dict[Site, list[Made]] = field(default_factory=dict)
    last: dict[Site, list[Made]] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    runs: Counter[int] = field(default_factory=Counter)
    turns: Counter[int] = field(default_factory=Counter)
    error_line: int | None = None
    statements: list[int] = field(default_factory=list)

    def record(self, site: Site, value: object) -> None:
        """Store the first and the last shapes that a site made, and the first numbers."""
        found = [pair for pattern in site.names for pair in tensors(pattern, value)]
        self.last[site] = [Made(name, shape_of(tensor)) for name, tensor in found]
        if site not in self.made:
            self.made[site] = self.last[site]
            numbers = [copy_numbers(tensor) for _, tensor in found]
            self.moments.append(Moment(next(_moments), site, numbers))


class Recorder:
    """A constant in the copy of one function, to which the copy reports."""

    def __init__(self, written: Written, sections: list[Section]) -> None:
        copied = Instrument(written.node)
        self.written, self.sections = written, sections
        self.sites, self.arguments = copied.sites, copied.arguments
        self.positional = written.code.co_argcount
        for section in sections:
            section.statements = copied.statements
        self.thread = get_ident()
        self.frames: dict[FrameType, Section] = {}
        self.code = compile_with(self, written.code, copied.node)
        self.codes = {*nested_codes(self.code)}

    def enter(self, arguments: tuple[object, ...]) -> None:
        """Count a call; the first one is recorded."""
        # In `def forward(*args)`, the one argument contains all.
        several = arguments if self.positional else next(iter(arguments), ())
        owner = several[0] if isinstance(several, tuple) and several else None
        for section in self.sections:
            ours = section.running is None or section.running is owner
            if get_ident() == self.thread and ours:
                section.calls += 1
                if section.calls == 1:
                    self.frames[sys._getframe(1)] = section
                    for site, value in zip(self.arguments, arguments, strict=True):
                        section.record(site, value)

    def reach(self, statement: int) -> None:
        """Count a run of a statement."""
        section = self.section_of(sys._getframe(1))
        if section:
            section.runs[statement] += 1

    def turn(self, statement: int) -> None:
        """Count a pass of a loop."""
        section = self.section_of(sys._getframe(1))
        if section:
            section.turns[statement] += 1

    def made(self, number: int, value: Any) -> Any:  # noqa: ANN401 - returns its argument
        """Record what a site made, and return it."""
        section = self.section_of(sys._getframe(1))
        if section is None:
            return value
        site = self.sites[number]
        if len(site.names) == 1 and isinstance(site.names[0], tuple):
            value = unpackable(site.names[0], value)
        section.record(site, value)
        return value

    def section_of(self, frame: FrameType | None) -> Section | None:
        """Find the recorded call that a frame belongs to; functions inside have their own."""
        if frame and frame.f_code not in self.codes:
            return None
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return self.frames.get(frame) if frame else None


def unpackable(pattern: Pattern, value: Any) -> Any:  # noqa: ANN401 - returns its argument
    """Make what is about to be unpacked readable twice, taking no more than unpacking would."""
    if isinstance(value, tuple | list):
        return value
    try:
        items = iter(value)
    except TypeError:
        return value
    if any(isinstance(item, tuple) and item[:1] == ("*",) for item in pattern):
        return list(items)
    # One more than there are names: that is how Python notices that there are too many.
    return list(itertools.islice(items, len(pattern) + 1))


def tensors(pattern: Pattern, value: object) -> Iterator[tuple[str, Tensor]]:
    """Name the tensors in what was assigned to a name, or to several."""
    if isinstance(pattern, str):
        yield from _named(pattern, value, DEEPEST)
    elif isinstance(value, tuple | list):
        yield from _unpacked(list(pattern), list(value))


def _unpacked(patterns: list[Pattern], values: list[object]) -> Iterator[tuple[str, Tensor]]:
    starred = [isinstance(it, tuple) and it[:1] == ("*",) for it in patterns]
    if any(starred):
        at, rest = starred.index(True), len(values) - len(patterns) + 1
        values[at : at + rest] = [values[at : at + rest]]
        patterns[at] = patterns[at][1]
    for pattern, value in zip(patterns, values, strict=False):
        yield from tensors(pattern, value)


def _named(name: str, value: object, depth: int) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield name, value
    elif depth:
        for key, item in _items(value):
            yield from _named(f"{name}{key}", item, depth - 1)


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
