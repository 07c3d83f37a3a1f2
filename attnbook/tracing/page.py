"""What `trace` returns: lines as data, as text and as HTML."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

from attnbook.tracing.rendering import Layout, Line, as_html, as_text, column, format_error, rows
from attnbook.tracing.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attnbook.tracing.comparing import Comparison
    from attnbook.tracing.naming import Sizes
    from attnbook.tracing.recorder import Section
    from attnbook.tracing.steps import Moment

# Text and background colours are both set, so that a page of an unknown theme is legible too.
STYLE = """
.attnbook-trace {
  --ink: #222832; --quiet: #596170; --made: #005a8e; --error: #a3261d; --ground: #f4f5f7;
}
html[data-theme="dark"] .attnbook-trace, html[theme="dark"] .attnbook-trace,
body[data-jp-theme-light="false"] .attnbook-trace, body.vscode-dark .attnbook-trace {
  --ink: #e3e7ec; --quiet: #a9b1bd; --made: #7cc4f0; --error: #ff9a8f; --ground: #1f252e;
}
.attnbook-trace { container-type: inline-size; margin: 1rem 0; max-width: 100%; }
.attnbook-trace pre {
  background: var(--ground); border: 0; border-radius: 4px; color: var(--ink);
  font-size: 0.8125rem; line-height: 1.5; margin: 0; overflow-x: auto;
  padding: 0.75rem 1rem; white-space: pre;
}
.attnbook-trace pre:focus-visible { outline: 2px solid var(--made); outline-offset: -2px; }
.attnbook-trace pre code {
  background: none; border: 0; color: inherit; font-size: inherit; padding: 0;
}
.attnbook-trace pre b { font-weight: 700; }
.attnbook-trace pre i, .attnbook-trace .quiet { color: var(--quiet); }
.attnbook-trace .made { color: var(--made); }
.attnbook-trace .error { color: var(--error); font-weight: 700; }
@container (max-width: 44rem) {
  .attnbook-trace .gap { display: none; }
  .attnbook-trace .note {
    border-left: 2px solid currentColor; display: block; margin-left: 4ch; padding-left: 1ch;
    white-space: pre-wrap;
  }
}
@media print { .attnbook-trace pre { white-space: pre-wrap; } }
"""


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

    def __init__(self, found: Comparison, weights: Sequence[Step] = ()) -> None:
        self.weights = [*weights]
        self.error = found.first.error
        self.remark = found.remark
        self._found = found
        self._shown = [
            section
            for index, section in enumerate(found.first.sections)
            if section.calls or index == 0
        ]
        self.sections = [(self._title(section), self._lines(section)) for section in self._shown]
        self.lines = [line for _, lines in self.sections for line in lines]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each named result, as it was first made."""
        made = [made for line in self.lines for made in line.made]
        return {each.name: each.shape for each in reversed(made)}

    @property
    def steps(self) -> list[Step]:
        """The tensors in the order in which they were first made, with their numbers."""
        found = [
            (moment.number, step)
            for position, section in enumerate(self._shown)
            for moment in section.moments
            for step in self._steps(position, section, moment)
        ]
        steps = [step for _, step in sorted(found, key=lambda pair: pair[0])]
        # In `return x.mT, y` the part `x.mT` is a result too.
        results = {(it.section, it.line, it.name) for it in steps if not it.part}
        return [it for it in steps if not it.part or (it.section, it.line, it.name) not in results]

    def _steps(self, position: int, section: Section, moment: Moment) -> Iterator[Step]:
        site = moment.site
        line = site.row - section.written.first_line + 1
        for index, made in enumerate(section.made[site]):
            symbols = self._found.symbols(section, site, index, made)
            yield Step(
                *(position, self._title(section), line, made.name, made.shape, symbols),
                numbers=moment.numbers[index],
                part=site.quiet,
            )

    def __repr__(self) -> str:
        sections = []
        for title, lines in self.sections:
            laid = rows(lines)
            sections.append(f"{title}\n{as_text(laid, column(laid))}")
        return "\n\n".join([*sections, *self._footer()])

    def _repr_html_(self) -> str:
        sections = []
        for title, lines in self.sections:
            laid = rows(lines)
            sections.append(f"<b>{escape(title)}</b>\n{as_html(laid, column(laid))}")
        kind = "error" if self.remark.startswith("Runs with") else "quiet"
        footer = [f'<span class="{kind}">{escape(text)}</span>' for text in self._footer()]
        inside = "\n".join([*sections, *(f"{line}\n" for line in footer)]).rstrip("\n")
        label = escape(f"Shapes in {self.sections[0][0]}")
        return (
            f'<div class="attnbook-trace"><style>{STYLE}</style>'
            f'<pre role="group" tabindex="0" aria-label="{label}">'
            f"<code>{inside}</code></pre></div>"
        )

    def _lines(self, section: Section) -> list[Line]:
        error = self._error_in(section)
        return Layout(section, partial(self._found.shape, section), error).lines()

    def _title(self, section: Section) -> str:
        if section.calls < 2:
            return section.title
        return f"{section.title}, the first of {section.calls} calls"

    def _error_in(self, section: Section) -> list[str]:
        """Give the exception where it arose, and in its callers the function where it arose."""
        if self.error is None:
            return []
        innermost = self._found.first.innermost
        if innermost is section or innermost is None:
            return format_error(self.error)
        return [f"{type(self.error).__name__} in {innermost.title}"]

    def _footer(self) -> list[str]:
        found = self._found
        footer = []
        missed = [it.title for it in found.first.sections[1:] if not it.calls and it.requested]
        if missed:
            footer.append(f"Not called: {', '.join(missed)}.")
        if found.sizes:
            footer.append(f"Sizes: {_equations(found.sizes)}.{self._confirmed()}")
        return [*footer, self.remark] if self.remark else footer

    def _confirmed(self) -> str:
        """Report which names the second run confirms, and which match by number only."""
        sizes, larger = self._found.sizes, self._found.larger
        if self._found.second is None or larger is None:
            return ""
        varied = {name: larger.sizes[name] for name in sizes if name in larger.enlarged}
        fixed = [name for name in sizes if sizes[name] == larger.sizes[name]]
        alone = [f"Matched by number only: {', '.join(fixed)}."] if fixed else []
        hold = [f"Names hold with {_equations(varied)} too."] if varied else []
        return "".join(f" {text}" for text in (*alone, *hold))


def _equations(sizes: Sizes) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
