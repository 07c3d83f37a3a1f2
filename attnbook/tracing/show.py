"""What `trace` returns: lines and steps as data, as text, and as HTML for light and dark pages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape, unescape
from pathlib import Path
from typing import NamedTuple, TypeAlias

from torch import nn
from torch.nn.parameter import is_lazy

from attnbook.messages import Messages
from attnbook.tracing.naming import list_sizes, named_shape
from attnbook.tracing.record import Run, Step, copy_numbers
from attnbook.tracing.run import format_error
from attnbook.tracing.source import Source, lines_of

TEXT = Messages(__file__)
STYLE = "\n" + Path(__file__).with_name("style.css").read_text("utf-8")
WIDEST, PARTS_SHOWN = 70, 4
Made: TypeAlias = list[tuple[Step, str]]  # and its description


class Line(NamedTuple):
    """A line of a function, by its number in the source, and notes on it: `(kind, text)`."""

    number: int
    source: str
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
        >>> trace(split_heads, torch.ones(2, 3, 8), 4).shapes["return"]
        (2, 4, 3, 2)
    """

    def __init__(
        self, first: Run, second: Run | None, remark: str, modules: Mapping[str, nn.Module]
    ) -> None:
        self.error, self.remark = first.error, remark
        self.weights = [*_weights(modules)]
        self._footer = [*_footer(first, second), *([remark] if remark else [])]
        shown = [it for it in first.sources if first.calls[it] or it is first.sources[0]]
        titles = [source.title for source in shown]
        for section, source in enumerate(shown):
            if (count := first.calls[source]) > 1:
                titles[section] = TEXT("first_of_calls", function=source.title, count=count)
        self._texts: dict[Step, str] = {}
        for place, step in first.made.items():
            section = shown.index(first.sources[step.section])
            other = second.made.get(place) if second else None
            sizes = (first.sizes, second.sizes if second else first.sizes)
            symbols = named_shape(step.shape, other.shape if other else (), *sizes)
            made = replace(step, section=section, title=titles[section], symbols=symbols)
            self._texts[made] = _describe(made, first.last[place])
        self.sections = []
        for section, source in enumerate(shown):
            here = [it for it in self._texts.items() if it[0].section == section]
            self.sections.append((titles[section], [*_lines(first, source, here)]))
        self.lines = [line for _, lines in self.sections for line in lines]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each named result, as it was first made."""
        results = [step for step in self.steps if not step.part]
        results.sort(key=lambda step: (step.section, step.line))
        return {step.name: step.shape for step in reversed(results)}

    @property
    def steps(self) -> list[Step]:
        """The tensors in the order in which they were first made, with their numbers."""
        return [*self._texts]

    def __repr__(self) -> str:
        return unescape(re.sub(r"<.*?>", "", self._marked())).rstrip("\n")

    def _repr_html_(self) -> str:
        label = escape(TEXT("shapes_in", function=self.sections[0][0]))
        return (
            f'<div class="attnbook-trace"><style>{STYLE}</style>'
            f'<pre role="group" tabindex="0" aria-label="{label}">'
            f"<code>{self._marked()}</code></pre></div>"
        )

    def _marked(self) -> str:
        """Write the text with its parts marked, as the inside of a `<pre>`."""
        sections = [f"<b>{escape(title)}</b>\n{_mark(lines)}" for title, lines in self.sections]
        footer = [f'<span class="quiet">{escape(text)}</span>\n' for text in self._footer]
        return "\n".join([*sections, *footer]).rstrip("\n")


def _weights(modules: Mapping[str, nn.Module]) -> Iterator[Step]:
    """Copy the layer's matrices, as steps that no line makes."""
    for path, module in modules.items():
        for name, held in module.named_parameters(recurse=False):
            if not is_lazy(held) and held.dim() == 2:
                shape, text = tuple(held.shape), f"{path}.{name}".strip(".")
                yield Step(-1, "", 0, text, shape, (*map(str, shape),), copy_numbers(held), False)


def _describe(step: Step, last: tuple[int, ...]) -> str:
    """Write what a step made, and the shape that it had in the last pass of a loop."""
    comma = "," if len(step.shape) == 1 else ""  # as Python writes a tuple
    text = f"{step.name} ({', '.join(step.symbols)}{comma})"
    return text if last == step.shape else TEXT("last_pass", tensor=text, shape=last)


def _footer(first: Run, second: Run | None) -> Iterator[str]:
    missed = [source.title for source in first.sources if source.name and not first.calls[source]]
    if missed:
        yield TEXT("not_called", functions=", ".join(missed))
    sizes = [TEXT("sizes", sizes=list_sizes(first.sizes, first.sizes))] if first.sizes else []
    if second:
        same = [name for name, size in first.sizes.items() if second.sizes[name] == size]
        changed = [name for name in first.sizes if name in second.names and name not in same]
        sizes += [TEXT("matched_by_number", names=", ".join(same))] if same else []
        unclear = ", ".join(name for name in first.sizes if name not in same + changed)
        sizes += [TEXT("unclear", names=unclear)] if unclear else []
        sizes += [TEXT("names_hold", sizes=list_sizes(second.sizes, changed))] if changed else []
    if sizes:
        yield " ".join(sizes)


def _lines(run: Run, source: Source, made: Made) -> Iterator[Line]:
    """Make the lines: no blank ones, no docstring, no comments for linters."""
    start = source.node.body[0]
    hidden = lines_of(start) if ast.get_docstring(source.node) is not None else ()
    for number, text in enumerate(source.lines, 1):
        row = source.first_line + number - 1
        shown = re.sub(r"  # (?:noqa|type: ignore).*", "", text).rstrip()
        if shown and row not in hidden:
            yield Line(number, shown, (*_notes(run, source, row, made),))


def _notes(run: Run, source: Source, row: int, made: Made) -> Iterator[tuple[str, str]]:
    """List a line's results, parts whose shape no result of the statement has, and what ran."""
    line, start = (it - source.first_line + 1 for it in (row, source.starts.get(row, row)))
    results = {it.shape for it, _ in made if it.line == start and not it.part}
    yield from [("made", text) for it, text in made if it.line == line and not it.part]
    parts = [text for it, text in made if it.line == line and it.part and it.shape not in results]
    yield from [("quiet", f"· {text}") for text in [*dict.fromkeys(parts)][:PARTS_SHOWN]]
    statement = source.statements.get(row)
    if isinstance(statement, ast.For | ast.While) and run.passes[source, row]:
        yield "quiet", TEXT("passes", count=run.passes[source, statement.body[0].lineno])
    before = max((line for line in source.statements if line < row), default=0)
    if statement and not run.passes[source, row] and (run.passes[source, before] or not before):
        yield "quiet", TEXT("not_run")
    if run.error and row == source.starts.get(run.error_lines.get(source, 0)):
        innermost = [*run.error_lines][-1]
        where = TEXT("error_in", error=type(run.error).__name__, function=innermost.title)
        texts = format_error(run.error) if source is innermost else [where]
        yield from [("error", text) for text in texts]


def _mark(lines: list[Line]) -> str:
    """Write each note next to its line, or below a long one."""
    column = min(WIDEST, max(len(line.source) for line in lines)) + 3
    marked = ""
    for line in lines:
        code, comment = re.fullmatch(r"(.*?)(\s*#.*)?", line.source).groups("")  # type: ignore[union-attr]
        marked += escape(code) + (f"<i>{escape(comment)}</i>" if comment else "")
        width = len(line.source)
        if width > WIDEST or not line.notes:
            marked, width = f"{marked}\n", 0
        for kind, note in line.notes:
            # The line's end is in its note, which is below the source where that is narrow.
            gap = f'<span class="gap">{" " * (column - width)}</span>'
            marked += f'{gap}<span class="{kind} note">{escape(note)}\n</span>'
            width = 0
    return marked
