"""Run every chapter as if on other processors, and compare each stored output.

python -m tools.ci.processors [--seeds 10] [NAME ...]

A digit that changes here also changes for some reader. Then compute the number in float64, print
fewer digits, or state a fact with a margin.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tools import ROOT
from tools.book.notebooks import CELL_TIMEOUT, chapters, compare, find_chapter

TIMEOUT = 3 * CELL_TIMEOUT  # moving every result takes time
# Each kernel starts with this, and writes a file, because IPython continues if it fails.
START = """
import os, pathlib, sys
sys.path.append({root!r})
from tools.ci.rounding_noise import Jitter
sys.path.remove({root!r})
Jitter({seed}).__enter__()
pathlib.Path({folder!r}, str(os.getpid())).touch()
"""


class NotTriedError(Exception):
    """Chapters ran with the usual rounding, so another processor was not tried."""


def outputs_change(paths: list[Path], seed: int) -> bool:
    """Whether an output of these chapters changes on the processor with this seed.

    Raises:
        NotTriedError: fewer kernels than chapters rounded as that processor does.
    """
    with tempfile.TemporaryDirectory(prefix="processor-") as folder:
        startup, started = Path(folder, "profile_default", "startup"), Path(folder, "started")
        startup.mkdir(parents=True)
        started.mkdir()
        first = START.format(root=str(ROOT), seed=seed, folder=str(started))
        (startup / "another-processor.py").write_text(first, "utf-8")
        changed = compare(paths, "cpu", {"IPYTHONDIR": folder}, TIMEOUT) != 0
        tried = len(list(started.iterdir()))
    if tried < len(paths):
        raise NotTriedError(f"{len(paths)} chapters ran, and {tried} of them on processor {seed}")
    return changed


def main() -> int:
    """Try each seed; 1 if an output changed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="how many processors")
    about = "a chapter, such as masked-softmax; default all"
    parser.add_argument("chapters", nargs="*", type=find_chapter, metavar="NAME", help=about)
    arguments = parser.parse_args()
    if arguments.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {arguments.seeds}")
    wrong = []
    for seed in range(1, arguments.seeds + 1):
        start = time.monotonic()
        if outputs_change(arguments.chapters or chapters(), seed):
            wrong.append(seed)
        print(f"processor {seed}: {time.monotonic() - start:.0f} s", flush=True)
    print(
        f"OUTPUTS CHANGED on processors {wrong}: see above"
        if wrong
        else f"The outputs are the same on {arguments.seeds} other processors."
    )
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
