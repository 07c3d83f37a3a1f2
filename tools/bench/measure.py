"""Measure ratios that can be compared between machines, and store them with the machine.

python -m tools.bench.measure                  every row (an hour); `make bench` builds the book
python -m tools.bench.measure additive-large   one row; or `make bench ROW=additive-large`
python -m tools.bench.measure --plot           draw the results, in _build/bench.png
python -m tools.bench.measure --store          write tools/bench/measured.json

Times on a busy machine mean little, so a row of layers runs its programs in turn, many rounds,
and compares their processor time round by round, on a GPU the GPU's time (see
attnbook/timing.py). For pages, wall-clock time counts (see pages.py and interaction.py).
After each row the results are in _build/bench.json, by processor; the output has the results of
other processors, too. A row of layers takes at most three minutes and prints its rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

import attnbook
from attnbook.timing import Program, race
from tools import ROOT, interrupts
from tools.bench import decoding, grouped, interaction, layers, lighthouse, pages, plain, python
from tools.bench.cases import textbook_additive, textbook_dot
from tools.bench.plot import plot
from tools.bench.results import (
    RESULTS,
    by_name,
    publish,
    read_published,
    read_results,
    side_by_side,
    store,
)

Result = dict[str, Any]
Report = Callable[[str], None]
ROUNDS = 21


def toy_inputs(size: int = 2) -> tuple[torch.Tensor, ...]:
    """Make the inputs of the book's toy example: 2 examples, 1 query, 10 keys."""
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    return torch.randn(2, 1, size), torch.ones(2, 10, size), values, torch.tensor([2, 6])


def toy_dot() -> dict[str, Program]:
    """The textbook's layer and ours at toy size, where checks weigh most."""
    inputs, layer = toy_inputs(), attnbook.DotProductAttention().eval()
    return {"textbook": lambda: textbook_dot(*inputs), "ours": lambda: layer(*inputs)}


def toy_additive() -> dict[str, Program]:
    """The same for additive attention."""
    inputs, layer = toy_inputs(), attnbook.AdditiveAttention(2, 2, 8).eval()
    return {
        "textbook": lambda: textbook_additive(layer, *inputs),
        "ours": lambda: layer(*inputs),
    }


def toy_row(programs: dict[str, Program]) -> Result:
    """How much longer a call of ours takes, as a ratio and in microseconds."""
    theirs, ours = (torch.as_tensor(program()) for program in programs.values())
    if not torch.allclose(theirs, ours, atol=1e-5):
        raise AssertionError("the two programs compute different things; their times mean nothing")
    result = race(programs, ROUNDS)
    low, middle, high = result.times_as_fast("textbook", than="ours")
    extra = result.seconds_more("ours").median
    return {"ratio": middle, "quartiles": f"{low:.2f} to {high:.2f}", "extra µs": extra * 1e6}


def import_row() -> Result:
    """The time of `import attnbook` after `import torch`, in a new process each time."""
    code = (
        "import time, torch; start = time.process_time(); import attnbook; "
        "print(time.process_time() - start)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return {"processor ms": statistics.median(runs) * 1e3}


def without_progress(row: Callable[[], Result]) -> Callable[[Report], Result]:
    """A row that does not report its progress."""
    return lambda _: row()


ROWS: dict[str, Callable[[Report], Result]] = {
    "toy-dot": without_progress(lambda: toy_row(toy_dot())),
    "toy-additive": without_progress(lambda: toy_row(toy_additive())),
    "import": without_progress(import_row),
    **layers.rows(),
    "grouped": without_progress(grouped.grouped_row),
    **{name: without_progress(row) for name, row in decoding.rows().items()},
    **{name: without_progress(row) for name, row in plain.rows().items()},
    **{name: without_progress(row) for name, row in pages.rows().items()},
    "page-repaint": without_progress(interaction.repaint_row),
    "page-hands": without_progress(interaction.response_row),
    "page-python": without_progress(python.python_row),
    "lighthouse": lighthouse.lighthouse_row,
}


class Progress:
    """One line on the terminal: the number of finished rows, and the current one."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.start = total, 0, time.monotonic()

    def report(self, what: str) -> None:
        """Replace the line, or add one if there is no terminal."""
        bar = ("█" * round(20 * self.done / self.total)).ljust(20, "░")
        minutes, seconds = divmod(int(time.monotonic() - self.start), 60)
        line = f"{bar} {self.done}/{self.total} {minutes}:{seconds:02} {what}"
        if sys.stderr.isatty():
            line = f"\r\033[K{line}"
            print(line, end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Delete the line before other output."""
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def measure(names: Sequence[str]) -> None:
    """Measure rows; each is printed and stored as soon as it is measured."""
    progress = Progress(len(names))
    for name in names:
        progress.report(name)
        row = ROWS[name](progress.report)
        on_device = name in layers.rows() and layers.device() != "cpu"
        full_name = f"{name} on {layers.device()}" if on_device else name
        store(full_name, row)
        progress.clear()
        texts = (
            lighthouse.table(row)
            if "scores" in row
            else side_by_side(full_name, read_results(), read_published())
        )
        print("\n".join(texts), flush=True)
        progress.done += 1
        print(f"stored in {RESULTS.relative_to(ROOT)}")


def read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; the error about an unknown row lists all rows."""
    parser = argparse.ArgumentParser(description="Measure ratios and store them with the machine.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="default: ATTNBOOK_DEVICE, or cpu"
    )
    parser.add_argument("--plot", action="store_true", help="draw the results")
    parser.add_argument("--store", action="store_true", help="publish the ratios")
    options = parser.parse_args(words)
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row named {unknown[0]}; there are: {', '.join(ROWS)}")
    return options


@interrupts.listening()
def main(words: Sequence[str] | None = None) -> int:
    """Measure the rows of the command line, or all rows if it has no other task."""
    options = read_arguments(words)
    if options.device:
        os.environ["ATTNBOOK_DEVICE"] = options.device
    torch.set_num_threads(1)
    names = options.rows or ([] if options.plot or options.store else list(ROWS))
    with torch.no_grad():
        measure(names)
    if names or options.plot:
        plot(by_name(read_results()))
    if options.store:
        publish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
