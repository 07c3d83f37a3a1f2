"""Measure ratios that can be compared between machines, and store them with the machine.

python -m tools.bench.measure                  every row (an hour); `make bench` builds the book
python -m tools.bench.measure additive-large   one row; or `make bench ROW=additive-large`
python -m tools.bench.measure --plot           draw what was measured, in _build/bench.png
python -m tools.bench.measure --store          write attnbook/costs/measured.json, which is shown

Times on a busy machine mean little, so a row of layers runs its programs in turn, many rounds,
and compares their processor time round by round, on a GPU the GPU's own (see
attnbook/timing.py). Pages take the time that a reader waits (see pages.py and interaction.py).
What was measured is in _build/bench.json after each row, by processor: a row shows what others
measured, too. A row of layers takes three minutes at most, and says how many rounds it made.
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
from tools.bench import interaction, layers, lighthouse, pages, python
from tools.bench.cases import textbook_additive, textbook_dot
from tools.bench.plot import plot
from tools.bench.results import (
    RESULTS,
    by_name,
    shown_before,
    side_by_side,
    store,
    stored,
    write_shown,
)

Result = dict[str, Any]
Say = Callable[[str], None]
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
        raise AssertionError("the two programs compute different things; no time is worth taking")
    result = race(programs, ROUNDS)
    low, middle, high = result.times_as_fast("textbook", than="ours")
    extra = result.seconds_more("ours").median
    return {"ratio": middle, "quartiles": f"{low:.2f} to {high:.2f}", "extra µs": extra * 1e6}


def import_row() -> Result:
    """What `import attnbook` adds to `import torch`, in a fresh process each time."""
    code = (
        "import time, torch; start = time.process_time(); import attnbook; "
        "print(time.process_time() - start)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return {"processor ms": statistics.median(runs) * 1e3}


def silent(row: Callable[[], Result]) -> Callable[[Say], Result]:
    """A row that does not say what it is doing."""
    return lambda _: row()


ROWS: dict[str, Callable[[Say], Result]] = {
    "toy-dot": silent(lambda: toy_row(toy_dot())),
    "toy-additive": silent(lambda: toy_row(toy_additive())),
    "import": silent(import_row),
    **layers.rows(),
    **{name: silent(row) for name, row in pages.rows().items()},
    "page-repaint": silent(interaction.repaint_row),
    "page-hands": silent(interaction.hands_row),
    "page-python": silent(python.python_row),
    "lighthouse": lighthouse.lighthouse_row,
}


class Progress:
    """One line on the terminal: how many rows are done, and what runs now."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.start = total, 0, time.monotonic()

    def say(self, what: str) -> None:
        """Replace the line, or add one where there is no terminal."""
        bar = ("█" * round(20 * self.done / self.total)).ljust(20, "░")
        minutes, seconds = divmod(int(time.monotonic() - self.start), 60)
        line = f"{bar} {self.done}/{self.total} {minutes}:{seconds:02} {what}"
        if sys.stderr.isatty():
            line = f"\r\033[K{line}"
            print(line, end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for what is printed."""
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def measure(names: Sequence[str]) -> None:
    """Measure rows; each is printed and stored as soon as it is there."""
    progress = Progress(len(names))
    for name in names:
        progress.say(name)
        row = ROWS[name](progress.say)
        elsewhere = name in layers.rows() and layers.device() != "cpu"
        own = f"{name} on {layers.device()}" if elsewhere else name
        store(own, row)
        progress.clear()
        told = (
            lighthouse.table(row)
            if "scores" in row
            else side_by_side(own, stored(), shown_before())
        )
        print("\n".join(told), flush=True)
        progress.done += 1
        print(f"stored in {RESULTS.relative_to(ROOT)}")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; an unknown row is named with those that there are."""
    parser = argparse.ArgumentParser(description="Measure ratios and store them with the machine.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="default: ATTNBOOK_DEVICE, or cpu"
    )
    parser.add_argument("--plot", action="store_true", help="draw what was measured")
    parser.add_argument("--store", action="store_true", help="write what the book shows")
    found = parser.parse_args(given)
    unknown = [name for name in found.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row named {unknown[0]}; there are: {', '.join(ROWS)}")
    return found


@interrupts.listening()
def main(given: Sequence[str] | None = None) -> int:
    """Measure the rows that the command line names; all, when it asks for nothing else."""
    asked = arguments(given)
    if asked.device:
        os.environ["ATTNBOOK_DEVICE"] = asked.device
    torch.set_num_threads(1)
    names = asked.rows or ([] if asked.plot or asked.store else list(ROWS))
    with torch.no_grad():
        measure(names)
    if names or asked.plot:
        plot(by_name(stored()))
    if asked.store:
        write_shown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
