"""Two runs of a layer, the second with other sizes: what the names of sizes rest on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from attnbook.tracing.copying import apply, once_each, own_copy
from attnbook.tracing.following import Scope
from attnbook.tracing.instrument import Site
from attnbook.tracing.naming import (
    Sizes,
    UnclearAxisError,
    named_shape,
    other_sizes,
    resized,
)
from attnbook.tracing.recorder import Made, Section
from attnbook.tracing.rendering import message, written
from attnbook.tracing.running import observe, quietly
from attnbook.tracing.undoing import shared

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
UNHEARD = "did not run as Python, as when it is compiled: no shapes are known."


@dataclass
class Run:
    """One run: what was recorded, the exception if there was one, and where it arose."""

    sections: list[Section]
    error: Exception | None
    innermost: Section | None


@dataclass
class Comparison:
    """The run that is shown, the sizes' names, and the run that confirms them.

    Args:
        remark: what the second run brought to light.
    """

    first: Run
    sizes: Sizes
    second: Run | None = None
    new_sizes: Sizes | None = None
    remark: str = ""

    def shape(self, section: Section, site: Site, index: int, made: Made) -> str:
        """Write the n-th shape that a site made, with names where both runs agree."""
        return written(self.symbols(section, site, index, made))

    def symbols(self, section: Section, site: Site, index: int, made: Made) -> tuple[str, ...]:
        """Name the sizes of the n-th shape that a site made, where both runs agree."""
        if self.second is None or self.new_sizes is None:
            return tuple(map(str, made.shape))
        place = next(n for n, it in enumerate(self.first.sections) if it is section)
        others = self.second.sections[place].made.get(site, [])
        other = others[index].shape if index < len(others) else None
        return named_shape(made.shape, other, self.sizes, self.new_sizes)


def compare(scope: Scope, inputs: Inputs, sizes: Sizes, vary: set[str]) -> Comparison:
    """Run the layer, and once more with other sizes if any have names."""
    things = [*scope.things, *shared(inputs)]
    first = _run(scope, things, apply(once_each(own_copy), inputs))
    found = Comparison(first, sizes)
    if first.error is None and not first.sections[0].calls:
        found.remark = f"{first.sections[0].title} {UNHEARD}"
    elif sizes:
        with quietly():
            _confirm(scope, things, inputs, found, vary)
    return found


def _run(scope: Scope, things: list[object], inputs: Inputs) -> Run:
    recorders = scope.recorders()
    call = partial(scope.layer, *inputs[0], **inputs[1])
    error, innermost = observe(recorders, things, call)
    sections = scope.order(recorders)
    if error is not None and innermost is None:
        # The call did not get as far as the function's first line.
        innermost = sections[0]
        innermost.error_line = innermost.written.node.lineno
    return Run(sections, error, innermost)


def _confirm(
    scope: Scope, things: list[object], inputs: Inputs, found: Comparison, vary: set[str]
) -> None:
    def run_with(varied: set[str]) -> tuple[Run, Sizes]:
        new = other_sizes(found.sizes, varied)
        enlarge = once_each(lambda tensor: resized(tensor, found.sizes, new))
        return _run(scope, things, apply(enlarge, inputs)), new

    try:
        second, new = run_with(vary)
        if second.error is None or found.first.error is not None:
            found.second, found.new_sizes = second, new
        else:
            found.remark = _blame(second.error, found.sizes, new, run_with)
    except UnclearAxisError as unclear:
        found.remark = f"Sizes stay numbers: {unclear}."


def _blame(
    error: Exception, sizes: Sizes, new: Sizes, run_with: Callable[[set[str]], tuple[Run, Sizes]]
) -> str:
    """Say which size the layer cannot do without, by changing one at a time."""
    culprits = {name: (size, error) for name, size in new.items() if size != sizes[name]}
    for name in [*culprits]:
        run, alone = run_with({name})
        if run.error is not None:
            culprits = {name: (alone[name], run.error)}
            break
    before = ", ".join(f"{name}={sizes[name]}" for name in culprits)
    after = ", ".join(f"{name}={size}" for name, (size, _) in culprits.items())
    said = " ".join(message(next(iter(culprits.values()))[1]))
    return f"Runs with {before}, but not with {after}: {said}"
