"""What `trace` returns: the tensors of a run as data, and as a table in text and in HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import NamedTuple

from attnbook.messages import Messages
from attnbook.tracing.naming import list_sizes, named_shape
from attnbook.tracing.record import Run, Step, short
from attnbook.tracing.run import format_error
from attnbook.tracing.source import Source

TEXT = Messages(__file__)
STYLE = "\n" + Path(__file__).with_name("style.css").read_text("utf-8")
MOST_ROWS = 12
"""How many rows a page shows without folding those of parts of lines."""


class Row(NamedTuple):
    """A row of the table: what a line made, and its shape or an exception, in short lines."""

    line: int
    code: str
    result: list[str]
    kind: str


class Trace:
    """The tensors of one run of a layer: a table, as text in a terminal and HTML in a notebook.

    Attributes:
        steps: the tensors in the order in which they were first made.
        error: the exception that the layer raised, or None.
        remark: why the second run confirms no names, or "".

    Example:
        >>> from attnbook.tracing import trace
        >>> trace(split_heads, torch.ones(2, 3, 8), 4).shapes["return"]
        (2, 4, 3, 2)
    """

    def __init__(self, first: Run, second: Run | None, remark: str) -> None:
        self.error, self.remark = first.error, remark
        self._footer = [*_footer(first, second), *([remark] if remark else [])]
        self.steps: list[Step] = []
        shown = [it for it in first.sources if first.calls[it] or it is first.sources[0]]
        self._functions = [(_title(it, first.calls[it]), list[Row]()) for it in shown]
        for place, step in first.made.items():
            section = shown.index(first.sources[step.section])
            title, rows = self._functions[section]
            other = second.made.get(place) if second else None
            sizes = (first.sizes, second.sizes if second else first.sizes)
            symbols = named_shape(step.shape, other.shape if other else (), *sizes)
            made = replace(step, section=section, title=title, symbols=symbols)
            self.steps.append(made)
            shape = _write_shape(made, first.last[place])
            rows.append(Row(made.line, made.code, [shape], "part" if made.part else ""))
        for source, line in first.error_lines.items() if first.error else ():
            self._functions[shown.index(source)][1].append(_error_row(first, source, line))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each named result, as it was first made."""
        results = [step for step in self.steps if not step.part]
        results.sort(key=lambda step: (step.section, step.line))
        return {step.name: step.shape for step in reversed(results)}

    def __repr__(self) -> str:
        width = max((len(row.code) for row in self._rows()), default=0)
        gap, lines = " " * (width + 8), []
        for title, rows in self._functions:
            lines.append(title)
            for number, code, result, _ in rows:
                lines.append(f"{number:4}  {code:{width}}  {result[0]}".rstrip())
                lines += [gap + text for text in result[1:]]
            lines.append("")
        return "\n".join([*lines, *self._footer]).rstrip()

    def _repr_html_(self) -> str:
        parts, fold = sum(row.kind == "part" for row in self._rows()), ""
        if parts and len(self._rows()) > MOST_ROWS:  # the style shows them when it is open
            fold = _element("details", _element("summary", escape(TEXT("parts", count=parts))))
        columns = TEXT.group("columns").values()
        names = [f'<th scope="col">{escape(name)}</th>' for name in columns]
        head = _element("thead", _element("tr", *names))
        table = _element("table", head, *(_body(*function) for function in self._functions))
        footer = [_element("p", escape(text)) for text in self._footer]
        inner = "".join([_element("style", STYLE), fold, table, *footer])
        return f'<div class="attnbook-trace">{inner}</div>'

    def _rows(self) -> list[Row]:
        return [row for _, rows in self._functions for row in rows]


def _element(tag: str, *inside: str) -> str:
    return f"<{tag}>{''.join(inside)}</{tag}>"


def _body(title: str, rows: list[Row]) -> str:
    """Write the rows of one function, below its title."""
    head = f'<tr><th scope="rowgroup" colspan="3">{escape(title)}</th></tr>'
    # On a phone a call may break after its parenthesis, and no name does.
    codes = [escape(row.code).replace("(", "(<wbr>") for row in rows]
    results = [escape(" ".join(row.result)) for row in rows]
    return _element(
        "tbody",
        head,
        *(
            f'<tr class="{row.kind}"><td>{row.line}</td><td><code>{code}</code></td>'
            f"<td>{result}</td></tr>"
            for row, code, result in zip(rows, codes, results, strict=True)
        ),
    )


def _title(source: Source, count: int) -> str:
    return source.title if count < 2 else TEXT("first_of_calls", function=source.title, count=count)


def _write_shape(step: Step, last: tuple[int, ...]) -> str:
    """Write a shape, and the one that it had in the last pass of a loop."""
    comma = "," if len(step.shape) == 1 else ""  # as Python writes a tuple
    text = f"({', '.join(step.symbols)}{comma})"
    return text if last == step.shape else TEXT("last_pass", shape=text, last=last)


def _error_row(run: Run, source: Source, line: int) -> Row:
    """Show an exception where it arose, and where it passed through a function only its name."""
    start = source.starts[line]
    innermost = [*run.error_lines][-1]
    code = source.codes[source.statements.get(start, source.node)]
    where = TEXT("error_in", error=type(run.error).__name__, function=innermost.title)
    texts = format_error(run.error) if run.error and source is innermost else [where]
    return Row(start - source.first_line + 1, short(code), texts, "error")


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
