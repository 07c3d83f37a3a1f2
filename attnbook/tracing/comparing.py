"""Two runs of a layer, the second with other sizes, which confirm the names of sizes."""

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
    enlarged_names,
    named_shape,
    other_sizes,
    resize,
)
from attnbook.tracing.recorder import Made, Section, shape_of
from attnbook.tracing.rendering import format_error, format_shape
from attnbook.tracing.running import observe, without_output

NOT_PYTHON = "did not run as Python, as when it is compiled: no shapes are known."


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
        not_enlarged: the inputs whose modules have tensors that would have to be larger.
    """

    copies: Copies
    sizes: Sizes
    enlarged: set[str]
    not_enlarged: list[str]


@dataclass
class Comparison:
    """The run that is shown, the sizes' names, and the run that confirms them.

    Args:
        larger: what the second run was given.
        remark: what the second run showed.
    """

    first: Run
    sizes: Sizes
    second: Run | None = None
    larger: Larger | None = None
    remark: str = ""

    def shape(self, section: Section, site: Site, index: int, made: Made) -> str:
        """Write the n-th shape that a site made, with names where both runs agree."""
        return format_shape(self.symbols(section, site, index, made))

    def symbols(self, section: Section, site: Site, index: int, made: Made) -> tuple[str, ...]:
        """Name the sizes of the n-th shape that a site made, where both runs agree."""
        if self.second is None or self.larger is None:
            return tuple(map(str, made.shape))
        position = next(n for n, it in enumerate(self.first.sections) if it is section)
        others = self.second.sections[position].made.get(site, [])
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
        found.remark = f"{found.first.sections[0].title} {NOT_PYTHON}"
    elif sizes:
        with without_output():
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
            found.remark = _explain_failure(second.error, found.sizes, larger.sizes, run_with)
    except UnclearAxisError as unclear:
        found.remark = f"Sizes stay numbers: {unclear}."
        return
    if larger.not_enlarged:
        found.remark = f"{found.remark} Not enlarged: {', '.join(larger.not_enlarged)}.".lstrip()
    elif found.first.error is None and found.second is not None:
        _confirm_more(scope, inputs, found, vary, maybe)


def _enlarged(scope: Scope, inputs: Inputs, sizes: Sizes, varied: set[str]) -> Larger:
    new = other_sizes(sizes, varied, scope.numbers)
    enlarged: set[str] = set()

    def enlarge(given: Shaped) -> Shaped:
        enlarged.update(_enlarged_names(given, sizes, new))
        return resize(given, sizes, new)

    copies = Copies(scope.layer, inputs, enlarge)
    not_enlarged = inputs.name_with_modules(lambda given: bool(_enlarged_names(given, sizes, new)))
    return Larger(copies, new, enlarged, not_enlarged)


def _enlarged_names(given: Shaped, sizes: Sizes, new: Sizes) -> set[str]:
    return enlarged_names(given if isinstance(given, torch.Size) else shape_of(given), sizes, new)


def _confirm_more(
    scope: Scope, inputs: Inputs, found: Comparison, vary: set[str], maybe: set[str]
) -> None:
    """Try another size for each name that may be free: most are fixed by parameters."""
    for name in [name for name in found.sizes if name in maybe - vary]:
        with contextlib.suppress(UnclearAxisError):
            larger = _enlarged(scope, inputs, found.sizes, vary | {name})
            if name not in larger.enlarged or larger.not_enlarged:
                continue
            run = _run(scope, larger.copies)
            if run.error is None and _reached_sites(run) == _reached_sites(found.first):
                found.second, found.larger, vary = run, larger, vary | {name}


def _reached_sites(run: Run) -> list[set[Site]]:
    return [{*section.made} for section in run.sections]


def _explain_failure(
    error: Exception, sizes: Sizes, new: Sizes, run_with: Callable[[set[str]], tuple[Run, Larger]]
) -> str:
    """Name the size that the layer needs, by changing one at a time."""
    culprits = {name: (size, error) for name, size in new.items() if size != sizes[name]}
    for name in [*culprits]:
        run, alone = run_with({name})
        if run.error is not None:
            culprits = {name: (alone.sizes[name], run.error)}
            break
    before = ", ".join(f"{name}={sizes[name]}" for name in culprits)
    after = ", ".join(f"{name}={size}" for name, (size, _) in culprits.items())
    reason = " ".join(format_error(next(iter(culprits.values()))[1]))
    return f"Runs with {before}, but not with {after}: {reason}"
