"""What `trace` returns: lines and steps as data, as text, and as HTML for light and dark pages."""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from attnbook.tracing.record import GOES_ON, copy_numbers, end_of, shape_of
from attnbook.tracing.run import format_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnbook.tracing.record import Made, Section
    from attnbook.tracing.run import Comparison

STYLE = "\n" + Path(__file__).with_name("style.css").read_text("utf-8")
WIDEST = 70
PARTS_SHOWN, RESULTS_SHOWN = 4, 6


@dataclass(frozen=True)
class Line:
    """A line of a traced function.

    Args:
        number: the line within the function's source, from 1.
        source: the line as it is written.
        made: what its statement made; on a statement's first line.
        parts: intermediate results.
        passes: how often its statement ran, in the one call that is shown.
        notes: what is shown next to it, as `(kind, text)`.
    """

    number: int
    source: str
    made: tuple[Made, ...] = ()
    parts: tuple[Made, ...] = ()
    passes: int = 0
    notes: tuple[tuple[str, str], ...] = field(default=(), repr=False)


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


class Trace:
    """A layer's source with the shapes of one run: text in a terminal, HTML in a notebook.

    Attributes:
        sections: the functions that are shown, each with its title and its lines.
        lines: the lines that are shown, one `Line` each, of all functions in turn.
        error: the exception that the layer raised, or None.
        remark: what the second run showed, or "".
        weights: the layer's matrices, by name.

    Example:
        >>> from attnbook.tracing import trace
        >>> found = trace(split_heads, torch.ones(2, 3, 8), 4)
        >>> found.error is None, found.shapes["return"]
        (True, (2, 4, 3, 2))
    """

    def __init__(self, found: Comparison, modules: Mapping[str, nn.Module]) -> None:
        self.error, self.remark = found.first.error, found.remark
        self.weights = [*_weights(modules)]
        self._found = found
        sections = found.first.sections
        self._shown = [it for it in sections if it.calls or it is sections[0]]
        self.sections = [(_title(it), [*self._lines(it)]) for it in self._shown]
        self.lines = [line for _, lines in self.sections for line in lines]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each named result, as it was first made."""
        made = [made for line in self.lines for made in line.made]
        return {each.name: each.shape for each in reversed(made)}

    @property
    def steps(self) -> list[Step]:
        """The tensors in the order in which they were first made, with their numbers."""
        made = [(made, n) for n, it in enumerate(self._shown) for made in it.made.values()]
        # In `return x.mT, y` the part `x.mT` is a result too.
        results = {(n, it.row, it.name) for it, n in made if not it.part}
        chosen = [(it, n) for it, n in made if not it.part or (n, it.row, it.name) not in results]
        return [self._step(*each) for each in sorted(chosen, key=lambda each: each[0].number)]

    def _step(self, made: Made, position: int) -> Step:
        section = self._shown[position]
        line = made.row - section.target.first_line + 1
        symbols = self._found.symbols(section, made)
        place = position, _title(section), line
        return Step(*place, made.name, made.shape, symbols, made.numbers, made.part)

    def __repr__(self) -> str:
        sections = [f"{title}\n{_as_text(lines)}" for title, lines in self.sections]
        return "\n\n".join([*sections, *self._footer()])

    def _repr_html_(self) -> str:
        sections = [f"<b>{escape(title)}</b>\n{_as_html(lines)}" for title, lines in self.sections]
        kind = "error" if self.remark.startswith("Runs with") else "quiet"
        footer = [f'<span class="{kind}">{escape(text)}</span>\n' for text in self._footer()]
        inside = "\n".join([*sections, *footer]).rstrip("\n")
        label = escape(f"Shapes in {self.sections[0][0]}")
        return (
            f'<div class="attnbook-trace"><style>{STYLE}</style>'
            f'<pre role="group" tabindex="0" aria-label="{label}">'
            f"<code>{inside}</code></pre></div>"
        )

    def _footer(self) -> list[str]:
        first, second = self._found.first, self._found.second
        missed = [it.target for it in first.sections[1:] if not it.calls and it.target.requested]
        footer = [f"Not called: {', '.join(it.title for it in missed)}."] if missed else []
        if first.sizes:
            text = f"Sizes: {_equations(first.sizes)}."
            if second:
                same = [name for name, size in first.sizes.items() if second.sizes[name] == size]
                varied = {it: second.sizes[it] for it in first.sizes if it in second.enlarged}
                text += f" Matched by number only: {', '.join(same)}." if same else ""
                text += f" Names hold with {_equations(varied)} too." if varied else ""
            footer.append(text)
        return [*footer, self.remark] if self.remark else footer

    def _lines(self, section: Section) -> Iterator[Line]:
        """Make the lines: no blank ones, no docstring, no comments for linters."""
        node, first, places = section.target.node, section.target.first_line, section.places
        written = "".join(section.target.lines[first - 1 : end_of(node)])
        made = section.made.values()
        for row, source in enumerate(textwrap.dedent(written).split("\n"), first):
            shown = re.sub(r"  # (?:noqa|type: ignore).*", "", source).rstrip()
            if row not in _docstring(node) and shown:
                yield Line(
                    row - first + 1,
                    shown,
                    tuple(it for it in made if it.line == row and not it.part),
                    tuple(it for it in made if it.line == row and it.part),
                    1 if row == node.lineno else section.runs[places.owners.get(row, 0)],
                    tuple(self._notes(section, row)),
                )

    def _notes(self, section: Section, row: int) -> Iterator[tuple[str, str]]:
        here = [it for it in section.made.values() if it.row == row]
        results = [("made", self._describe(section, it)) for it in here if not it.part]
        yield from results[:RESULTS_SHOWN]
        if len(results) > RESULTS_SHOWN:
            yield "made", f"and {len(results) - RESULTS_SHOWN} more"
        yield from self._parts(section, [it for it in here if it.part])
        statement = next(iter(section.places.statements.get(row, [])), None)
        if isinstance(statement, ast.For | ast.AsyncFor | ast.While) and section.runs[row]:
            passes = section.runs[statement.body[0].lineno]
            yield "quiet", f"{passes} {'pass' if passes == 1 else 'passes'}"
        if statement and not section.runs[row]:
            earlier = [line for line in section.places.statements if line < row]
            if not earlier or section.runs[max(earlier)]:
                yield "quiet", "not run"
        if section.error_line and row == section.places.owners.get(section.error_line):
            yield from (("error", text) for text in self._describe_error(section))

    def _parts(self, section: Section, parts: list[Made]) -> Iterator[tuple[str, str]]:
        """Choose the largest parts whose shape the statement's results do not show."""
        results = {(it.line, it.shape) for it in section.made.values() if not it.part}
        found: dict[str, int] = {}
        for it in parts:
            if (it.line, it.shape) not in results:
                found.setdefault(self._describe(section, it), -math.prod(it.shape))
        largest = sorted(found, key=lambda text: found[text])[:PARTS_SHOWN]
        yield from (("quiet", f"· {text}") for text in found if text in largest)

    def _describe(self, section: Section, made: Made) -> str:
        text = f"{made.name} {_shape(self._found.symbols(section, made))}"
        if made.last != made.shape:
            text += f", in the last pass {_shape(tuple(map(str, made.last)))}"
        return text

    def _describe_error(self, section: Section) -> list[str]:
        """Give the exception where it arose, and in its callers the function where it arose."""
        innermost = self._found.first.innermost
        if self.error is None or innermost is None:
            return []
        if innermost is section:
            return format_error(self.error)
        return [f"{type(self.error).__name__} in {innermost.target.title}"]


def _weights(modules: Mapping[str, nn.Module]) -> Iterator[Step]:
    """Copy the layer's matrices, as steps that no line makes."""
    for path, module in modules.items():
        for name, held in module.named_parameters(recurse=False):
            if not is_lazy(held) and held.dim() == 2:
                shape, text = shape_of(held), f"{path}.{name}".strip(".")
                symbols = tuple(map(str, shape))
                yield Step(-1, "", 0, text, shape, symbols, copy_numbers(held), part=False)


def _title(section: Section) -> str:
    calls = f", the first of {section.calls} calls" if section.calls > 1 else ""
    return section.target.title + calls


def _docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    first = node.body[0]
    if ast.get_docstring(node) is None or first.lineno == node.lineno:
        return range(0)
    return range(first.lineno, end_of(first) + 1)


def _shape(names: tuple[str, ...]) -> str:
    """Write the sizes of a shape, as Python writes a tuple."""
    shown = ["ragged" if name == "-1" else name for name in names]
    return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"


def _equations(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _rows(lines: list[Line]) -> list[tuple[str, str, str]]:
    """Put notes next to their lines, each in a row; long lines are on their own.

    Returns:
        Some source, and the kind and the text of a note, one for each row.
    """
    rows: list[tuple[str, str, str]] = []
    for line in lines:
        notes = [("", *note) for note in line.notes]
        if notes and len(line.source) <= WIDEST:
            notes[0] = (line.source, *line.notes[0])
        else:
            notes.insert(0, (line.source, "", ""))
        rows += notes
    return rows


def _column(rows: list[tuple[str, str, str]]) -> int:
    """Return the column where the notes begin."""
    return min(WIDEST, max((len(source) for source, _, _ in rows), default=0)) + 3


def _as_text(lines: list[Line]) -> str:
    rows = _rows(lines)
    return "\n".join(f"{source:<{_column(rows)}}{note}".rstrip() for source, _, note in rows)


def _as_html(lines: list[Line]) -> str:
    """Write lines as the inside of a `<pre>`, the same text with its parts marked."""
    rows, text = _rows(lines), ""
    for source, kind, note in rows:
        code, comment = re.fullmatch(r"(.*?)(\s*#.*)?", source).groups("")  # type: ignore[union-attr]
        text += escape(code) + (f"<i>{escape(comment)}</i>" if comment else "")
        if note:
            # The line's end is in its note, which is below the source where that is narrow.
            text += f'<span class="gap">{" " * (_column(rows) - len(source))}</span>'
            text += f'<span class="{kind} note">{escape(note)}\n</span>'
        else:
            text += "\n"
    return text
