"""Run every chapter as if on other processors, and compare each stored output.

python tools/processors.py [--seeds 10] [NAME ...]

A digit that turns here is one that turns before some reader's eyes. What is shown is then to
be computed in float64, said with fewer digits, or stated as a fact with a margin.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from notebooks import CELL_TIMEOUT, chapters, compare

TOOLS = Path(__file__).resolve().parent
TIMEOUT = 3 * CELL_TIMEOUT  # to move every result takes time, too
STARTUP = ("profile_default", "startup")
# What each kernel does first; it leaves a file, because IPython goes on where this fails.
START = """
import pathlib, sys
sys.path.append({tools!r})
from jitter import Jitter
sys.path.remove({tools!r})
Jitter({seed}).__enter__()
pathlib.Path({folder!r}, str(__import__("os").getpid())).touch()
"""


class NotTriedError(Exception):
    """Chapters ran as they always do, so that nothing is known of another processor."""


@contextmanager
def another(seed: int, kernels: int) -> Iterator[dict[str, str]]:
    """Give the variables with which kernels round as the processor with this seed.

    Raises:
        NotTriedError: fewer than so many kernels did, once the block has ended.
    """
    with tempfile.TemporaryDirectory(prefix="processor-") as folder:
        startup, started = (Path(folder, *parts) for parts in (STARTUP, ["started"]))
        startup.mkdir(parents=True)
        started.mkdir()
        first = START.format(tools=str(TOOLS), seed=seed, folder=str(started))
        (startup / "another-processor.py").write_text(first, "utf-8")
        yield {"IPYTHONDIR": folder, "OMP_NUM_THREADS": "1"}
        tried = len(list(started.iterdir()))
    if tried < kernels:
        raise NotTriedError(f"{kernels} chapters ran, and {tried} of them on processor {seed}")


def turned(paths: list[Path], seed: int) -> bool:
    """Whether an output of these chapters is another one on the processor with this seed."""
    with another(seed, len(paths)) as variables:
        return compare(paths, "cpu", variables, TIMEOUT) != 0


def main() -> int:
    """Try each seed; 1 if a digit turned."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="how many processors")
    parser.add_argument("names", nargs="*", help="chapters, such as masked-softmax; default all")
    arguments = parser.parse_args()
    known = {path.stem: path for path in chapters()}
    unknown = set(arguments.names) - set(known)
    if unknown or arguments.seeds < 1:
        parser.error(f"there are 1 seed and more, and the chapters {', '.join(known)}")
    paths = [known[name] for name in arguments.names or known]
    wrong = []
    for seed in range(1, arguments.seeds + 1):
        start = time.monotonic()
        if turned(paths, seed):
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
