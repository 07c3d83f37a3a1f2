"""A whole page in one engine: what is on it, and how it takes what a reader does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.engines.engine import PATIENCE, WIDE, Engine, until
from tests.engines.figures import (
    KINDS,
    MOUNTED,
    STILL,
    deaf_to_key,
    deaf_to_pointer,
    numbers,
    using,
)
from tests.tools.site.site_checks import OVERFLOW, UNFOLD

# What is typed where a model reads it, and stays there.
TYPED = {"translator": "3. Mai 2031", "heads": "abcdefabcdabc"}
FIELD = using("""(place) => {
    const field = figures()[place].querySelector('input[type=text]');
    field.scrollIntoView({ block: 'center', behavior: 'instant' });
    field.focus();
    field.select();
}""")
# The characters stand below the field as soon as the model has read them all.
READ = using("""(place, text) => {
    const figure = figures()[place];
    const symbols = [...figure.querySelectorAll('.column bdi, .heads-line .symbol')];
    const there = symbols.map(e => e.textContent).join('').replaceAll('␣', ' ') === text;
    return there && !figure.querySelector('.stale') && words(figure);
}""")
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
THEME = "() => document.documentElement.dataset.theme"


@dataclass
class Look:
    """What was found on a page; what is wrong is said by figure."""

    kinds: list[str] = field(default_factory=list)
    still: list[str] = field(default_factory=list)  # why figures did not start
    theme: str = ""
    sideways: int = 0  # px
    overflow: str = ""
    typed: dict[int, str] = field(default_factory=dict)  # what a model's figure then says
    numbers: dict[int, Any] = field(default_factory=dict)
    deaf: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def looked(engine: Engine, url: str, width: int = WIDE, patience: float = PATIENCE) -> Look:
    """Open a page with all that is folded, and see what is there."""
    engine.open(url, width)
    until(engine, MOUNTED, patience=patience)
    engine.evaluate(UNFOLD)
    look = Look(engine.evaluate(KINDS), engine.evaluate(STILL), engine.evaluate(THEME))
    look.sideways = engine.evaluate(SIDEWAYS)
    look.overflow = engine.evaluate(OVERFLOW)
    return look


def moved(engine: Engine, url: str, width: int = WIDE) -> Look:
    """Open a page, type where a model reads, and move every slider; what figures then show."""
    look = looked(engine, url, width)
    for place, kind in enumerate(look.kinds):
        if kind in TYPED:
            engine.evaluate(FIELD, place)
            engine.write(TYPED[kind])
            look.typed[place] = until(engine, READ, place, TYPED[kind]) or "never read"
    for place in range(len(look.kinds)):
        look.numbers[place] = numbers(engine, place, seed=len(look.kinds))
    return look


def touched(engine: Engine, url: str, width: int = WIDE) -> Look:
    """Do on a page what a reader does, and see what comes of it."""
    look = moved(engine, url, width)
    for place, kind in enumerate(look.kinds):
        wrong = [deaf_to_key(engine, place), deaf_to_pointer(engine, place)]
        look.deaf += [f"{kind} {place} {said}" for said in wrong if said]
    look.complaints = engine.complaints()
    return look
