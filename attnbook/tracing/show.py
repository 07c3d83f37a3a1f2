"""What `trace` returns: lines and steps as data, as text, and as HTML for light and dark pages."""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from torch import nn
from torch.nn.parameter import is_lazy

from attnbook.messages import Messages
from attnbook.tracing.naming import named_shape
from attnbook.tracing.record import Run, Section, Step, copy_numbers, lines_of, shape_of
from attnbook.tracing.run import Remark, format_error

TEXT = Messages(__file__)
STYLE = "\n" + Path(__file__).with_name("style.css").read_text("utf-8")
WIDEST = 70
PARTS_SHOWN, RESULTS_SHOWN = 4, 6


@dataclass(frozen=True)
class Line:
    """A line of a traced function.

    Args:
        number: the line within the function's source, from 1.
        source: the line as it is written.
        made, parts: the results that are noted at the line, and the intermediate ones.
        passes: how often its statement ran, in the one call that is shown.
        notes: what is shown next to it, as `(kind, text)`.
    """

    number: int
    source: str
    made: tuple[Step, ...]
    parts: tuple[Step, ...]
    passes: int
    notes: tuple[tuple[str, str], ...]


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

    def __init__(
        self, first: Run, second: Run | None, remark: Remark, modules: Mapping[str, nn.Module]
    ) -> None:
        self.error, (self._remark_kind, self.remark) = first.error, remark
        self.weights = [*_weights(modules)]
        self._first, self._second = first, second
        shown = [it for it in first.sections if it.calls or not it.index]
        self._made: list[tuple[Section, Step, str]] = []
        for place, step in first.made.items():
            section = first.sections[step.section]
            other = second.made.get(place) if second else None
            sizes = (first.sizes, second.sizes if second else first.sizes)
            symbols = named_shape(step.shape, other.shape if other else (), *sizes)
            text = f"{step.name} {_shape(symbols)}"
            if first.last[place] != step.shape:
                last = _shape(tuple(map(str, first.last[place])))
                text = TEXT("last_pass", tensor=text, shape=last)
            position, title = shown.index(section), _title(section)
            made = replace(step, section=position, title=title, symbols=symbols)
            self._made.append((section, made, text))
        self.sections = [(_title(it), [*self._lines(it)]) for it in shown]
        self.lines = [line for _, lines in self.sections for line in lines]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each named result, as it was first made."""
        made = [made for line in self.lines for made in line.made]
        return {each.name: each.shape for each in reversed(made)}

    @property
    def steps(self) -> list[Step]:
        """The tensors in the order in which they were first made, with their numbers."""
        # In `return x.mT, y` the part `x.mT` is a result too.
        steps = [step for _, step, _ in self._made]
        results = {(it.section, it.line, it.name) for it in steps if not it.part}
        return [it for it in steps if not it.part or (it.section, it.line, it.name) not in results]

    def __repr__(self) -> str:
        sections = [f"{title}\n{_as_text(lines)}" for title, lines in self.sections]
        return "\n\n".join([*sections, *self._footer()])

    def _repr_html_(self) -> str:
        sections = [f"<b>{escape(title)}</b>\n{_as_html(lines)}" for title, lines in self.sections]
        start = f'<span class="{self._remark_kind}">'
        footer = [f"{start}{escape(text)}</span>\n" for text in self._footer()]
        inside = "\n".join([*sections, *footer]).rstrip("\n")
        label = escape(TEXT("shapes_in", function=self.sections[0][0]))
        return (
            f'<div class="attnbook-trace"><style>{STYLE}</style>'
            f'<pre role="group" tabindex="0" aria-label="{label}">'
            f"<code>{inside}</code></pre></div>"
        )

    def _footer(self) -> list[str]:
        first, second = self._first, self._second
        targets = [it.target for it in first.sections if not it.calls]
        missed = ", ".join(it.title for it in targets if it.requested)
        footer = [TEXT("not_called", functions=missed)] if missed else []
        if first.sizes:
            sentences = [TEXT("sizes", sizes=_equations(first.sizes))]
            if second:
                same = [name for name, size in first.sizes.items() if second.sizes[name] == size]
                varied = {it: second.sizes[it] for it in first.sizes if it in second.enlarged}
                if same:
                    sentences.append(TEXT("matched_by_number", names=", ".join(same)))
                if varied:
                    sentences.append(TEXT("names_hold", sizes=_equations(varied)))
            footer.append(" ".join(sentences))
        return [*footer, self.remark] if self.remark else footer

    def _lines(self, section: Section) -> Iterator[Line]:
        """Make the lines: no blank ones, no docstring, no comments for linters."""
        node, first = section.target.node, section.target.first_line
        source = textwrap.dedent("".join(section.target.lines[first - 1 : lines_of(node)[-1]]))
        start = node.body[0]
        hidden = start.lineno > node.lineno and ast.get_docstring(node) is not None
        for row, text in enumerate(source.split("\n"), first):
            shown = re.sub(r"  # (?:noqa|type: ignore).*", "", text).rstrip()
            if shown and not (hidden and row in lines_of(start)):
                yield self._line(section, row, shown)

    def _line(self, section: Section, row: int, source: str) -> Line:
        number = row - section.target.first_line + 1
        made = [(it, text) for its, it, text in self._made if its is section and it.line == number]
        results = [("made", text) for it, text in made if not it.part]
        notes = results[:RESULTS_SHOWN]
        if len(results) > RESULTS_SHOWN:
            notes.append(("made", TEXT("and_more", count=len(results) - RESULTS_SHOWN)))
        notes += [("quiet", f"· {text}") for text in self._largest_parts(section, row, made)]
        statement = section.statements.get(row)
        if isinstance(statement, ast.For | ast.While) and section.runs[row]:
            passes = section.runs[statement.body[0].lineno]
            notes.append(("quiet", TEXT("passes", count=passes)))
        before = max((line for line in section.statements if line < row), default=0)
        if statement and not section.runs[row] and (section.runs[before] or not before):
            notes.append(("quiet", TEXT("not_run")))
        if self.error and section.error_line and row == section.owners.get(section.error_line):
            # In its callers, only where it arose.
            inner = self._first.innermost or section
            where = TEXT("error_in", error=type(self.error).__name__, function=inner.target.title)
            texts = format_error(self.error) if inner is section else [where]
            notes += [("error", text) for text in texts]
        steps = [[it for it, _ in made if it.part is part] for part in (False, True)]
        passes = section.runs[section.owners.get(row, 0)] if number > 1 else 1
        return Line(number, source, (*steps[0],), (*steps[1],), passes, (*notes,))

    def _largest_parts(self, section: Section, row: int, made: list[tuple[Step, str]]) -> list[str]:
        """Choose the largest parts whose shape the statement's results do not show."""
        line = section.owners.get(row, row) - section.target.first_line + 1
        here = [it for its, it, _ in self._made if its is section and it.line == line]
        seen = {it.shape for it in here if not it.part}
        found = {text: it.shape for it, text in made if it.part and it.shape not in seen}
        largest = sorted(found, key=lambda text: -math.prod(found[text]))[:PARTS_SHOWN]
        return [text for text in found if text in largest]


def _weights(modules: Mapping[str, nn.Module]) -> Iterator[Step]:
    """Copy the layer's matrices, as steps that no line makes."""
    for path, module in modules.items():
        for name, held in module.named_parameters(recurse=False):
            if not is_lazy(held) and held.dim() == 2:
                shape, text = shape_of(held), f"{path}.{name}".strip(".")
                symbols = tuple(map(str, shape))
                yield Step(-1, "", 0, text, shape, symbols, copy_numbers(held), part=False)


def _title(section: Section) -> str:
    title = section.target.title
    if section.calls <= 1:
        return title
    return TEXT("first_of_calls", function=title, count=section.calls)


def _shape(names: tuple[str, ...]) -> str:
    """Write the sizes of a shape, as Python writes a tuple."""
    shown = [TEXT("ragged") if name == "-1" else name for name in names]
    return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"


def _equations(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _rows(lines: list[Line]) -> tuple[list[tuple[str, str, str]], int]:
    """Put each note in a row next to its line, or below a long one: source, kind and note.

    Returns:
        The rows, and the column where the notes begin.
    """
    rows: list[tuple[str, str, str]] = []
    for line in lines:
        notes = [("", *note) for note in line.notes]
        if notes and len(line.source) <= WIDEST:
            notes[0] = (line.source, *line.notes[0])
        else:
            notes.insert(0, (line.source, "", ""))
        rows += notes
    return rows, min(WIDEST, max((len(source) for source, _, _ in rows), default=0)) + 3


def _as_text(lines: list[Line]) -> str:
    rows, column = _rows(lines)
    return "\n".join(f"{source:<{column}}{note}".rstrip() for source, _, note in rows)


def _as_html(lines: list[Line]) -> str:
    """Write lines as the inside of a `<pre>`, the same text with its parts marked."""
    (rows, column), text = _rows(lines), ""
    for source, kind, note in rows:
        code, comment = re.fullmatch(r"(.*?)(\s*#.*)?", source).groups("")  # type: ignore[union-attr]
        text += escape(code) + (f"<i>{escape(comment)}</i>" if comment else "")
        # The line's end is in its note, which is below the source where that is narrow.
        gap = f'<span class="gap">{" " * (column - len(source))}</span>'
        text += f'{gap}<span class="{kind} note">{escape(note)}\n</span>' if note else "\n"
    return text
