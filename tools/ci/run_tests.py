"""Run everything that CI runs, with all cores busy until the end, and print the results.

python -m tools.ci.run_tests [--full]

The book is built while tests run that do not need it, and executes its chapters; a test compares
their outputs with those that they store. Then two Colab copies run in a clean environment.
`tests/schedule.py` orders the tests. The output of a part is in `_build/test-logs`, and is printed
if the part fails.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import ROOT, interrupts
from tools.ci.size import PROCESSOR
from tools.repository_address import changed_files, git

LOGS = ROOT / "_build" / "test-logs"
PROGRESS = LOGS / "progress.json"
# Contains the exit code of the book's build once it ends; see the fixture `site`.
BOOK = LOGS / "book-exit-code"
# The commit for which all parts passed last, with nothing changed; `make release` reads it.
PASSED = ROOT / "_build" / "passed-commit"
PYTHON = sys.executable
NOT_RUN = -1000  # no exit code is that low
FULL = ("--full", "-o", "faulthandler_timeout=7200")
EVERY = 20  # seconds between two status lines
LONG = 60  # seconds after which a status line names a test
# The command that runs one part again.
AGAIN = {
    "lint": "make lint",
    "book": "make book",
    "copies": "make colab-test",
    "tests": "make unit browser other-browsers",
}


@dataclass
class Part:
    """One command, the part that it waits for, and its result."""

    name: str
    command: Sequence[str]
    after: str = ""
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    seconds: float = 0.0
    code: int | None = field(default=None)

    @property
    def log(self) -> Path:
        """The file of its output."""
        return LOGS / f"{self.name}.log"

    def start(self, variables: dict[str, str]) -> None:
        """Start it in its own session, so that all its processes can be ended."""
        self.began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        """Whether it has ended since the last call."""
        if self.process is None or self.code is not None or self.process.poll() is None:
            return False
        self.code, self.seconds = self.process.returncode, time.monotonic() - self.began
        return True

    def stop(self) -> None:
        """End it and all processes that it has started, some of which may run longer than it."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)


def parts(workers: int, *, full: bool) -> list[Part]:
    """All parts of `make test`."""
    pytest = [PYTHON, "-m", "pytest", "tests", f"-n={workers}", "--dist=loadfile", "-q"]
    copies = [PYTHON, "-m", "tools.colab.end_to_end"]
    return [
        Part("book", [PYTHON, "-m", "tools.book.build", "build"]),
        Part("lint", ["make", "--no-print-directory", "lint"]),
        Part("tests", [*pytest, *(FULL if full else [])]),
        Part("copies", [*copies, *([] if full else ["--two"])], after="book"),
    ]


def progress() -> dict[str, Any]:
    """The progress of the tests, as tests/schedule.py writes it."""
    try:
        state: dict[str, Any] = json.loads(PROGRESS.read_text("utf-8"))
    except FileNotFoundError:
        empty: dict[str, list[str]] = {"failed": [], "again": []}
        return {"done": 0, "total": 0, "running": {}, "seconds_left": 0.0, **empty}
    return state


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def status(all_parts: Sequence[Part], start: float, workers: int) -> str:
    """One line with the running parts, the progress of the tests, and the time left."""
    now, state = time.monotonic(), progress()
    running = [
        f"{part.name} {clock(now - part.began)}"
        for part in all_parts
        if part.process is not None and part.code is None
    ]
    tests = f"{state['done']} of {state['total']} tests, {len(state['failed'])} failed"
    left = f"about {clock(state['seconds_left'] / workers)} of tests left"
    times = {test: time.time() - began for test, began in state["running"].items()}
    long = [f"{test} for {clock(seconds)}" for test, seconds in times.items() if seconds > LONG]
    return f"{clock(now - start)}  {'; '.join([', '.join(running), tests, left, *long])}"


def report(part: Part) -> str:
    """The result of a part that has ended, with all its output if it failed."""
    text = part.log.read_text("utf-8", "replace").strip()
    if part.code:
        return f"\n--- {part.name} failed after {clock(part.seconds)}:\n{text}\n---\n"
    return f"{part.name} passed in {clock(part.seconds)}: {text.splitlines()[-1] if text else ''}"


def table(all_parts: Sequence[Part], seconds: float) -> str:
    """The parts with their results and times."""
    results: dict[int | None, str] = {NOT_RUN: "not run", 0: "passed"}
    rows = [
        f"{part.name:10}{results.get(part.code, 'FAILED'):10}{clock(part.seconds):>6}"
        for part in all_parts
    ]
    return "\n".join(["", *rows, f"{'total':20}{clock(seconds):>6}"])


def processor_time() -> str:
    """Store and describe the processor's time of all programs that have ended by themselves."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    PROCESSOR.write_text(f"{seconds:.0f}\n")
    return f"{'processor':20}{clock(seconds):>6}, without programs that were killed"


def failures(all_parts: Sequence[Part]) -> Iterator[str]:
    """The commands that run only what failed or was not run."""
    for part in all_parts:
        if part.code:
            tests = progress()["failed"] if part.name == "tests" else []
            yield from (f"  .venv/bin/pytest '{test}'" for test in dict.fromkeys(tests))
            if not tests:
                yield f"  {AGAIN[part.name]}"


def run(all_parts: Sequence[Part], workers: int) -> int:
    """Run the parts in parallel; gives the number that failed or were not run."""
    start = last_status = time.monotonic()
    variables = {
        **os.environ,
        "ATTNBOOK_TEST_PROGRESS": str(PROGRESS),
        "ATTNBOOK_BOOK_EXIT_CODE": str(BOOK),
        "PYTHONDONTWRITEBYTECODE": "",  # or each process would compile all modules and tests
    }
    by_name = {part.name: part for part in all_parts}
    while any(part.code is None for part in all_parts):
        for part in all_parts:
            previous = by_name.get(part.after)
            if part.process is None and part.code is None:
                if previous is None or previous.code == 0:
                    part.start(variables)
                elif previous.code is not None:
                    part.code = NOT_RUN  # the part that it needs has failed
            elif part.has_ended():
                print(report(part), flush=True)
                if part.name == "book":
                    BOOK.write_text(str(part.code))
        if time.monotonic() - last_status > EVERY:
            last_status = time.monotonic()
            print(status(all_parts, start, workers), flush=True)
        time.sleep(0.2)
    print(table(all_parts, time.monotonic() - start))
    print(processor_time())
    if again := progress()["again"]:
        print("\n".join([f"\nRun again, because they ended their process (see {LOGS}):", *again]))
    if commands := list(failures(all_parts)):
        print("\n".join(["\nTo run only what failed or was not run:", *commands]))
    return sum(bool(part.code) for part in all_parts)


def clean_commit(root: Path = ROOT) -> str:
    """The commit that is checked out; empty if a file differs from it."""
    return "" if changed_files(root) else git(root, "rev-parse", "HEAD")


def passed_commit() -> str:
    """The commit for which the last `make test` passed; empty if it failed."""
    return PASSED.read_text() if PASSED.exists() else ""


@interrupts.listening()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 1 if anything failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="every combination, every Colab copy")
    options = parser.parse_args(arguments)
    LOGS.mkdir(parents=True, exist_ok=True)
    for file in LOGS.iterdir():
        file.unlink()
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    # One more, because a test that waits for a browser does not use its core.
    workers = cores + 1 if cores > 1 else cores
    all_parts, commit = parts(workers, full=options.full), clean_commit()
    PASSED.unlink(missing_ok=True)
    try:
        failed = run(all_parts, workers)
        if not failed and commit == clean_commit():
            PASSED.write_text(commit)
        return min(failed, 1)
    except KeyboardInterrupt as interrupt:
        print("\nInterrupted.")
        return interrupts.status(interrupt)
    finally:
        for part in all_parts:
            part.stop()


if __name__ == "__main__":
    sys.exit(main())
