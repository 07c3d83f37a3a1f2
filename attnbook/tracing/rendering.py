"""Showing a trace: lines as data, as text, and as HTML for light and dark pages."""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape

from attnbook.tracing.instrument import Site
from attnbook.tracing.recorder import Made, Section

WIDEST = 70
PARTS_SHOWN, RESULTS_SHOWN = 4, 6
MESSAGE_WIDTH, LONGEST_MESSAGE = 60, 300

Namer = Callable[[Site, int, Made], str]
"""Writes the n-th shape that a site made."""


@dataclass(frozen=True)
class Line:
    """A line of a traced function.

    Args:
        number: the line within the function's source, from 1.
        source: the line as it is written.
        made: what its statement made, as `(name, shape)`; on a statement's first line.
        parts: intermediate results, as `(expression, shape)`.
        passes: how often its statement ran, in the one call that is shown.
        notes: what is shown next to it, as `(kind, text)`.
    """

    number: int
    source: str
    made: tuple[Made, ...] = ()
    parts: tuple[Made, ...] = ()
    passes: int = 0
    notes: tuple[tuple[str, str], ...] = field(default=(), repr=False)


class Layout:
    """Lays out one section: which notes are next to which line."""

    def __init__(self, section: Section, shape: Namer, error: list[str]) -> None:
        self.section, self.shape, self.error = section, shape, error
        self.node = section.written.node
        self.owners = _owners(self.node)
        self.error_row = self.owners.get(section.error_line or 0, section.error_line)
        self.passes = self._passes(section.runs)
        self.turns = self._passes(section.turns)
        self.loops = {
            it.lineno
            for it in ast.walk(self.node)
            if isinstance(it, ast.For | ast.AsyncFor | ast.While)
        }

    def _passes(self, counts: dict[int, int]) -> dict[int, int]:
        passes: dict[int, int] = {}
        for statement, line in enumerate(self.section.statements):
            passes[line] = max(passes.get(line, 0), counts.get(statement, 0))
        return passes

    def lines(self) -> list[Line]:
        """Make the lines: no blank ones, no docstring, no comments for linters."""
        first, last = self.section.written.first_line, self.node.end_lineno or self.node.lineno
        hidden = _docstring(self.node)
        numbers = [number for number in range(first, last + 1) if number not in hidden]
        text = textwrap.dedent("".join(self.section.written.lines[first - 1 : last])).split("\n")
        sources = {number: _for_readers(text[number - first]) for number in numbers}
        lines = [number for number in numbers if sources[number].strip()]
        return [self._line(number, first, sources[number]) for number in lines]

    def _line(self, number: int, first: int, source: str) -> Line:
        made = self._made(lambda site: site.line == number and not site.quiet)
        parts = self._made(lambda site: site.line == number and site.quiet)
        runs = 1 if number == self.node.lineno else self.passes.get(self.owners.get(number, 0), 0)
        notes = tuple(self._notes(number))
        return Line(number - first + 1, source, made, parts, runs, notes)

    def _made(self, chosen: Callable[[Site], bool]) -> tuple[Made, ...]:
        sites = self.section.made.items()
        return tuple(made for site, several in sites if chosen(site) for made in several)

    def _notes(self, row: int) -> Iterator[tuple[str, str]]:
        made = [*self._items(row, quiet=False)]
        yield from made[:RESULTS_SHOWN]
        if len(made) > RESULTS_SHOWN:
            yield "made", f"and {len(made) - RESULTS_SHOWN} more"
        yield from self._parts(row)
        if row in self.loops and self.passes[row]:
            turns = self.turns[row]
            yield "quiet", f"{turns} {'pass' if turns == 1 else 'passes'}"
        if self._is_first_unrun(row):
            yield "quiet", "not run"
        if row == self.error_row:
            yield from (("error", line) for line in self.error)

    def _items(self, row: int, *, quiet: bool) -> Iterator[tuple[str, str]]:
        for site, several in self.section.made.items():
            if site.row == row and site.quiet == quiet:
                for index, made in enumerate(several):
                    yield "made", self._item(site, index, made)

    def _item(self, site: Site, index: int, made: Made) -> str:
        last = self.section.last[site]
        text = f"{made.name} {self.shape(site, index, made)}"
        if index < len(last) and last[index].shape != made.shape:
            text += f", in the last pass {format_numbers(last[index].shape)}"
        return text

    def _parts(self, row: int) -> Iterator[tuple[str, str]]:
        """Choose the largest parts whose shape the statement's results do not show."""
        line = self.owners.get(row, row)
        seen = {made.shape for made in self._made(lambda it: it.line == line and not it.quiet)}
        found: dict[str, tuple[int, str]] = {}
        for site, several in self.section.made.items():
            for index, made in enumerate(several):
                if site.quiet and site.row == row and made.shape not in seen:
                    found.setdefault(self._item(site, index, made), (-math.prod(made.shape), ""))
        largest = sorted(found, key=lambda text: found[text])[:PARTS_SHOWN]
        yield from (("quiet", f"· {text}") for text in found if text in largest)

    def _is_first_unrun(self, row: int) -> bool:
        if self.passes.get(row, 1):
            return False
        earlier = [line for line in self.passes if line < row]
        return not earlier or self.passes[max(earlier)] > 0


def _owners(node: ast.AST) -> dict[int, int]:
    """Map each line to the first line of the innermost statement around it."""
    owners: dict[int, int] = {}
    for inner in ast.walk(node):  # from the outside in
        if isinstance(inner, ast.stmt):
            for line in range(inner.lineno, (inner.end_lineno or inner.lineno) + 1):
                owners[line] = inner.lineno
    return owners


def _docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    first = node.body[0]
    if ast.get_docstring(node) is None or first.lineno == node.lineno:
        return range(0)
    return range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _for_readers(line: str) -> str:
    return re.sub(r"  # (?:noqa|type: ignore).*", "", line).rstrip()


def format_numbers(shape: tuple[int, ...]) -> str:
    """Write a shape with numbers, as Python writes a tuple."""
    return format_shape(tuple(map(str, shape)))


def format_shape(names: tuple[str, ...]) -> str:
    """Write the sizes of a shape, as Python writes a tuple."""
    shown = ["ragged" if name == "-1" else name for name in names]
    return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"


def format_error(error: BaseException) -> list[str]:
    """Write an exception, or its beginning, in short lines without memory addresses."""
    text = re.sub(r"0x[0-9a-fA-F]{6,}", "0x…", f"{type(error).__name__}: {error}").strip()
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONGEST_MESSAGE].rstrip()}…"
    return [row for line in text.split("\n") for row in textwrap.wrap(line, MESSAGE_WIDTH) or []]


@dataclass(frozen=True)
class Row:
    """A row of the page: some source, and a note next to it with its kind."""

    source: str
    kind: str = ""
    note: str = ""


def rows(lines: list[Line]) -> list[Row]:
    """Put notes next to their lines, each note in a row of its own; long lines are on their own."""
    laid: list[Row] = []
    for line in lines:
        notes = [Row("", kind, text) for kind, text in line.notes]
        if notes and len(line.source) <= WIDEST:
            notes[0] = Row(line.source, notes[0].kind, notes[0].note)
        else:
            notes.insert(0, Row(line.source))
        laid += notes
    return laid


def column(laid: list[Row]) -> int:
    """Return the column where the notes begin."""
    return min(WIDEST, max((len(row.source) for row in laid), default=0)) + 3


def as_text(laid: list[Row], at: int) -> str:
    """Write rows for a terminal."""
    return "\n".join(f"{row.source:<{at}}{row.note}".rstrip() for row in laid)


def as_html(laid: list[Row], at: int) -> str:
    """Write rows as the inside of a `<pre>`, the same text with its parts marked."""
    return "".join(_html(row, at) for row in laid)


def _html(row: Row, at: int) -> str:
    code, comment = re.fullmatch(r"(.*?)(\s*#.*)?", row.source).groups("")  # type: ignore[union-attr]
    shown = escape(code) + (f"<i>{escape(comment)}</i>" if comment else "")
    if not row.note:
        return f"{shown}\n"
    # Each line's end is in its note, which is below the source where that is narrow.
    gap = f'<span class="gap">{" " * (at - len(row.source))}</span>'
    return f'{shown}{gap}<span class="{row.kind} note">{escape(row.note)}\n</span>'
