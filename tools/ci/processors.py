"""Run every chapter as if on other processors, and compare each stored output.

python -m tools.ci.processors [--seeds 10] [NAME ...]

A digit that turns here is one that turns before some reader's eyes. What is shown is then to
be computed in float64, said with fewer digits, or stated as a fact with a margin.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tools import ROOT
from tools.book.notebooks import CELL_TIMEOUT, chapters, compare, find_chapter

TIMEOUT = 3 * CELL_TIMEOUT  # to move every result takes time, too
# What each kernel does first; it leaves a file, because IPython goes on where this fails.
START = """
import os, pathlib, sys
sys.path.append({root!r})
from tools.ci.rounding_noise import Jitter
sys.path.remove({root!r})
Jitter({seed}).__enter__()
pathlib.Path({folder!r}, str(os.getpid())).touch()
"""


class NotTriedError(Exception):
    """Chapters ran as they always do, so that nothing is known of another processor."""


def turned(paths: list[Path], seed: int) -> bool:
    """Whether an output of these chapters is another one on the processor with this seed.

    Raises:
        NotTriedError: fewer kernels than chapters rounded as that processor does.
    """
    with tempfile.TemporaryDirectory(prefix="processor-") as folder:
        startup, started = Path(folder, "profile_default", "startup"), Path(folder, "started")
        startup.mkdir(parents=True)
        started.mkdir()
        first = START.format(root=str(ROOT), seed=seed, folder=str(started))
        (startup / "another-processor.py").write_text(first, "utf-8")
        found = compare(paths, "cpu", {"IPYTHONDIR": folder}, TIMEOUT) != 0
        tried = len(list(started.iterdir()))
    if tried < len(paths):
        raise NotTriedError(f"{len(paths)} chapters ran, and {tried} of them on processor {seed}")
    return found


def main() -> int:
    """Try each seed; 1 if a digit turned."""
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
        if turned(arguments.chapters or chapters(), seed):
            wrong.append(seed)
        print(f"processor {seed}: {time.monotonic() - start:.0f} s", flush=True)
    print(
        f"OUTPUTS TURNED on processors {wrong}: see above"
        if wrong
        else f"The outputs are the same on {arguments.seeds} other processors."
    )
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
