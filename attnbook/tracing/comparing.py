"""Two runs of a layer, the second with other sizes: what the names of sizes rest on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import torch

from attnbook.tracing.copying import Copies, Inputs, Shaped, UnclearAxisError
from attnbook.tracing.following import Scope
from attnbook.tracing.instrument import Site
from attnbook.tracing.naming import (
    Sizes,
    enlarging,
    named_shape,
    other_sizes,
    resized,
)
from attnbook.tracing.recorder import Made, Section, shape_of
from attnbook.tracing.rendering import message, written
from attnbook.tracing.running import observe, quietly

UNHEARD = "did not run as Python, as when it is compiled: no shapes are known."


@dataclass
class Run:
    """One run: what was recorded, the exception if there was one, and where it arose."""

    sections: list[Section]
    error: Exception | None
    innermost: Section | None


@dataclass
class Larger:
    """A layer and larger inputs for a second run.

    Args:
        enlarged: the names whose size is another in an input now.
        left: the inputs that hold something which should be larger and is not.
    """

    copies: Copies
    sizes: Sizes
    enlarged: set[str]
    left: list[str]


@dataclass
class Comparison:
    """The run that is shown, the sizes' names, and the run that confirms them.

    Args:
        larger: what the second run was given.
        remark: what the second run brought to light.
    """

    first: Run
    sizes: Sizes
    second: Run | None = None
    larger: Larger | None = None
    remark: str = ""

    def shape(self, section: Section, site: Site, index: int, made: Made) -> str:
        """Write the n-th shape that a site made, with names where both runs agree."""
        return written(self.symbols(section, site, index, made))

    def symbols(self, section: Section, site: Site, index: int, made: Made) -> tuple[str, ...]:
        """Name the sizes of the n-th shape that a site made, where both runs agree."""
        if self.second is None or self.larger is None:
            return tuple(map(str, made.shape))
        place = next(n for n, it in enumerate(self.first.sections) if it is section)
        others = self.second.sections[place].made.get(site, [])
        other = others[index].shape if index < len(others) else None
        return named_shape(made.shape, other, self.sizes, self.larger.sizes)


def compare(
    scope: Scope, inputs: Inputs, sizes: Sizes, vary: set[str], maybe: set[str]
) -> Comparison:
    """Run the layer, and again with other sizes if any have names.

    Args:
        vary: the names whose sizes are others in the second run.
        maybe: more such names, each only if the layer runs with another size of it.
    """
    found = Comparison(_run(scope, Copies(scope.layer, inputs)), sizes)
    if found.first.error is None and not found.first.sections[0].calls:
        found.remark = f"{found.first.sections[0].title} {UNHEARD}"
    elif sizes:
        with quietly():
            _confirm(scope, inputs, found, vary, maybe)
    return found


def _run(scope: Scope, copies: Copies) -> Run:
    recorders = scope.recorders()
    error, innermost = observe(recorders, copies)
    sections = scope.order(recorders)
    if error is not None and innermost is None:
        # The call did not get as far as the function's first line.
        innermost = sections[0]
        innermost.error_line = innermost.written.node.lineno
    return Run(sections, error, innermost)


def _confirm(
    scope: Scope, inputs: Inputs, found: Comparison, vary: set[str], maybe: set[str]
) -> None:

    def run_with(varied: set[str]) -> tuple[Run, Larger]:
        larger = _enlarged(scope, inputs, found.sizes, varied)
        return _run(scope, larger.copies), larger

    try:
        second, larger = run_with(vary)
        if second.error is None or found.first.error is not None:
            found.second, found.larger = second, larger
        else:
            found.remark = _blame(second.error, found.sizes, larger.sizes, run_with)
    except UnclearAxisError as unclear:
        found.remark = f"Sizes stay numbers: {unclear}."
        return
    if larger.left:
        found.remark = f"{found.remark} Not enlarged: {', '.join(larger.left)}.".lstrip()
    elif found.first.error is None and found.second is not None:
        _confirm_more(scope, inputs, found, vary, maybe)


def _enlarged(scope: Scope, inputs: Inputs, sizes: Sizes, varied: set[str]) -> Larger:
    new = other_sizes(sizes, varied, scope.numbers)
    enlarged: set[str] = set()

    def enlarge(given: Shaped) -> Shaped:
        enlarged.update(_growing(given, sizes, new))
        return resized(given, sizes, new)

    copies = Copies(scope.layer, inputs, enlarge)
    left = inputs.holding(lambda given: bool(_growing(given, sizes, new)))
    return Larger(copies, new, enlarged, left)


def _growing(given: Shaped, sizes: Sizes, new: Sizes) -> set[str]:
    return enlarging(given if isinstance(given, torch.Size) else shape_of(given), sizes, new)


def _confirm_more(
    scope: Scope, inputs: Inputs, found: Comparison, vary: set[str], maybe: set[str]
) -> None:
    """Try another size for each name that may be free: most are fixed by parameters."""
    for name in [name for name in found.sizes if name in maybe - vary]:
        with contextlib.suppress(UnclearAxisError):
            larger = _enlarged(scope, inputs, found.sizes, vary | {name})
            if name not in larger.enlarged or larger.left:
                continue
            run = _run(scope, larger.copies)
            if run.error is None and _reached(run) == _reached(found.first):
                found.second, found.larger, vary = run, larger, vary | {name}


def _reached(run: Run) -> list[set[Site]]:
    return [{*section.made} for section in run.sections]


def _blame(
    error: Exception, sizes: Sizes, new: Sizes, run_with: Callable[[set[str]], tuple[Run, Larger]]
) -> str:
    """Say which size the layer cannot do without, by changing one at a time."""
    culprits = {name: (size, error) for name, size in new.items() if size != sizes[name]}
    for name in [*culprits]:
        run, alone = run_with({name})
        if run.error is not None:
            culprits = {name: (alone.sizes[name], run.error)}
            break
    before = ", ".join(f"{name}={sizes[name]}" for name in culprits)
    after = ", ".join(f"{name}={size}" for name, (size, _) in culprits.items())
    said = " ".join(message(next(iter(culprits.values()))[1]))
    return f"Runs with {before}, but not with {after}: {said}"
