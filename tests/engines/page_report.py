"""Open a page in one engine, do what a reader does, and report what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.engines.engine import WIDE, Engine, until
from tests.engines.figures import (
    KINDS,
    MOUNTED,
    STILL,
    find_key_problem,
    find_pointer_problem,
    numbers,
    using,
)
from tests.tools.site.site_checks import OVERFLOW, UNFOLD

# What is typed into the field of a model.
TYPED = {"translator": "3. Mai 2031", "heads": "abcdefabcdabc"}
FIELD = using("""(index) => {
    const field = figures()[index].querySelector('input[type=text]');
    field.scrollIntoView({ block: 'center', behavior: 'instant' });
    field.focus();
    field.select();
}""")
# Figures whose model reads what Python stored; then the page computes it, with all digits.
MODELS = {"cache", "story", "writing"}
COMPUTED = using("""(index) => {
    const figure = figures()[index];
    figure.dispatchEvent(new Event('focusin', { bubbles: true }));
    return [...figure.querySelectorAll('[data-value]')].some(e => e.dataset.value.length > 13);
}""")
# The characters are below the field as soon as the model has read them all.
READ = using("""(index, text) => {
    const figure = figures()[index];
    const symbols = [...figure.querySelectorAll('.token-row:last-of-type bdi')];
    const isRead = symbols.map(e => e.textContent).join('').replaceAll('␣', ' ') === text;
    return isRead && !figure.querySelector('.stale') && words(figure);
}""")
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
THEME = "() => document.documentElement.dataset.theme"


@dataclass
class PageReport:
    """The state of a page; problems are listed by figure."""

    kinds: list[str] = field(default_factory=list)
    still: list[str] = field(default_factory=list)  # why figures did not start
    theme: str = ""
    sideways: int = 0  # px
    overflow: str = ""
    used: list[int] = field(default_factory=list)  # the figures that were used
    typed: dict[int, str] = field(default_factory=dict)  # the text of a model's figure afterwards
    numbers: dict[int, Any] = field(default_factory=dict)
    unresponsive: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def open_page(engine: Engine, url: str, width: int = WIDE) -> PageReport:
    """Open a page, unfold everything, and report what is there."""
    engine.open(url, width)
    engine.evaluate(UNFOLD)  # figures of closed sections start when these are opened
    until(engine, MOUNTED)
    engine.evaluate(UNFOLD)  # the figures' own folds
    report = PageReport(engine.evaluate(KINDS), engine.evaluate(STILL), engine.evaluate(THEME))
    report.sideways = engine.evaluate(SIDEWAYS)
    report.overflow = engine.evaluate(OVERFLOW)
    return report


Choose = Callable[[list[str]], list[int]]  # chooses figures by their kinds


def read_figures(engine: Engine, url: str, choose: Choose) -> PageReport:
    """Open a page, type into the fields of models, move sliders, and report the numbers."""
    report = open_page(engine, url)
    report.used = choose(report.kinds)
    for index in report.used:
        kind = report.kinds[index]
        if kind in TYPED:
            engine.evaluate(FIELD, index)
            engine.write(TYPED[kind])
            report.typed[index] = until(engine, READ, index, TYPED[kind]) or "never read"
        if kind in MODELS:
            until(engine, COMPUTED, index)
    for index in report.used:
        report.numbers[index] = numbers(engine, index, seed=len(report.kinds))
    return report


def use_figures(engine: Engine, url: str, choose: Choose) -> PageReport:
    """Open a page, use its figures with keys and pointer, and report what is wrong."""
    report = read_figures(engine, url, choose)
    for index in report.used:
        problems = [find_key_problem(engine, index), find_pointer_problem(engine, index)]
        named = f"{report.kinds[index]} {index}"
        report.unresponsive += [f"{named} {problem}" for problem in problems if problem]
    report.complaints = engine.complaints()
    return report
