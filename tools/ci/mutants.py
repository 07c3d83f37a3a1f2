"""Measure how well the tests protect the code: make one fault at a time, and run its tests.

python -m tools.ci.mutants [--jobs 2] [--only TEXT ...]

`tools/ci/faults/*.toml` lists the faults: a file, a line that occurs once in it, and what replaces
that line. Each fault is made in a scratch copy of the files that git tracks, and the tests of the
file run there until one fails. A fault that no test detects is a survivor. It runs weekly, because
it takes an hour; a fault whose line is gone fails a test in `make test`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import IO

from tools import BUDGETS, ROOT, project_files
from tools.book.state import ONE_THREAD

FAULTS = Path(__file__).with_name("faults")
# A fault may make a loop endless; a test that does not end has detected it.
LIMIT = 600  # seconds
PASSED, FAILED, NONE = 0, 1, 5  # pytest's exit codes; the last means that there are no tests
# The file's own tests come first, and slow ones last: most faults are detected within seconds.
QUICK = "not book and not engines and not browser and not slow"
SLOW = "not book and not engines and (browser or slow)"
# Folders that git ignores and a scratch copy needs: linters and KaTeX.
BORROWED = ("tools/node_modules",)
# The tests of a folder are in the folder of the same name in tests/; these have more.
MORE_TESTS = {
    "attnbook/fused": ["tests/core", "tests/cache"],
    "attnbook/masking": ["tests/core"],
    "attnbook/practice/tasks": ["tests/practice", "tests/figures/code"],
    "attnbook/models/transformer": ["tests/models/test_messages.py", "tests/figures/heads"],
    "attnbook/models/translator": ["tests/models/test_messages.py", "tests/figures/translator"],
    "attnbook/figures/attention": ["tests/figures/code"],  # reader_function.js
    "attnbook/figures/shared": ["tests/figures"],
    "attnbook/figures/tokens": [f"tests/figures/{k}" for k in ("heads", "translator")],
    "attnbook": ["tests/cache", "tests/fused", "tests/masking"],
    "tools/site/python_in_page": ["tests/figures/code"],
}


@dataclass(frozen=True)
class Mutant:
    """One fault: a line of a file, and what replaces it."""

    file: str
    fault: str
    line: str
    replacement: str

    def apply_to(self, text: str) -> str:
        """The file's text with the fault.

        Raises:
            ValueError: the line does not occur exactly once.
        """
        lines = text.split("\n")
        if lines.count(self.line) != 1:
            count = lines.count(self.line)
            raise ValueError(f"{self.file}: must hold {self.line!r} once, holds it {count} times")
        lines[lines.index(self.line)] = self.replacement
        return "\n".join(lines)


def read_faults(folder: Path = FAULTS) -> list[Mutant]:
    """Read all faults, in the order of their files."""
    tables = (tomllib.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.toml")))
    return [Mutant(**mutant) for table in tables for mutant in table["mutant"]]


def find_tests(file: str) -> list[str]:
    """The tests of a file: its own module, those of its folder, and `MORE_TESTS`."""
    source = Path(file)
    folder = source.parent.as_posix()
    mirror = Path(
        "tests/core" if folder == "attnbook" else f"tests/{folder}".replace("/attnbook", "")
    )
    while not (ROOT / mirror).is_dir():
        mirror = mirror.parent
    own = "engine" if source.suffix == ".js" else source.stem
    shared = ["tests/figures/shared"] if folder.startswith("attnbook/figures/") else []
    paths = [f"{mirror}/test_{own}.py", f"tests/test_{own}.py", str(mirror), *shared]
    paths += MORE_TESTS.get(folder, [])
    return list(dict.fromkeys(path for path in paths if (ROOT / path).exists()))


def copy_project(root: Path, folder: Path) -> None:
    """Copy the files that git tracks or would track, and link the other files that tests need."""
    for path in project_files(root):
        copy = folder / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    for name in BORROWED:
        if (root / name).exists():
            (folder / name).symlink_to(root / name)


def run_tests(copy: Path, tests: Sequence[str], log: IO[str]) -> int:
    """Run tests in a copy until one fails; pytest's exit code, or 1 if they do not end."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line"]
    command += ["-p", "no:cacheprovider"]
    # The copy's own package is imported, not the one that is installed.
    variables = {
        **os.environ,
        **ONE_THREAD,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    stages = [(tests[:1], QUICK), (tests, QUICK), (tests, SLOW)]
    codes = []
    for paths, kind in stages:
        code = run_one_stage([*command, *paths, "-m", kind], copy, variables, log)
        if code not in (PASSED, NONE):
            return code
        codes.append(code)
    return min(codes)


def run_one_stage(
    command: Sequence[str], copy: Path, variables: Mapping[str, str], log: IO[str]
) -> int:
    """Run pytest; its exit code, or 1 if it does not end."""
    with subprocess.Popen(
        command, cwd=copy, env=variables, stdout=log, stderr=log, start_new_session=True
    ) as process:
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return FAILED


@contextmanager
def apply_fault(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Make the fault in a copy, and remove it afterwards."""
    file = copy / mutant.file
    text = file.read_text("utf-8")
    file.write_text(mutant.apply_to(text), "utf-8")
    try:
        yield
    finally:
        file.write_text(text, "utf-8")


class Trials:
    """Scratch copies, each used by one trial at a time."""

    def __init__(self, root: Path, folder: Path, jobs: int) -> None:
        self.copies: Queue[Path] = Queue()
        self.folder = folder
        for number in range(jobs):
            copy = folder / f"copy-{number}"
            copy.mkdir()
            copy_project(root, copy)
            self.copies.put(copy)

    def control(self, tests: tuple[str, ...]) -> str:
        """Run tests without any fault; gives a message if they do not pass."""
        copy = self.copies.get()
        try:
            with (self.folder / "control.log").open("a") as log:
                code = run_tests(copy, tests, log)
        finally:
            self.copies.put(copy)
        return "" if code == PASSED else f"{' '.join(tests)}: exit code {code} without any fault"

    def survives(self, mutant: Mutant) -> bool:
        """Whether the tests pass with the fault.

        Raises:
            RuntimeError: pytest neither passed nor failed.
        """
        copy, start = self.copies.get(), time.monotonic()
        try:
            with apply_fault(mutant, copy), (self.folder / "trials.log").open("a") as log:
                code = run_tests(copy, find_tests(mutant.file), log)
        finally:
            self.copies.put(copy)
        if code not in (PASSED, FAILED):
            raise RuntimeError(f"{mutant.file}: pytest's exit code is {code} with: {mutant.fault}")
        result = "SURVIVES" if code == PASSED else "detected"
        print(
            f"{result} {time.monotonic() - start:4.0f} s  {mutant.file}: {mutant.fault}", flush=True
        )
        return code == PASSED


def select(mutants: list[Mutant], only: Sequence[str]) -> list[Mutant]:
    """The faults whose file or description contains one of these texts; all if there is none."""
    return [m for m in mutants if not only or any(t in f"{m.file}: {m.fault}" for t in only)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults; 1 if more survive than may."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trials at a time")
    parser.add_argument("--only", nargs="*", default=[], help="texts of files or faults to try")
    options = parser.parse_args(arguments)
    mutants = select(read_faults(), options.only)
    selections = sorted({tuple(find_tests(mutant.file)) for mutant in mutants})
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        trials = Trials(ROOT, Path(folder), options.jobs)
        tried = zip(mutants, pool.map(trials.survives, mutants), strict=True)
        survivors = [mutant for mutant, survives in tried if survives]
        # A test that fails without any fault detects nothing.
        wrong = [text for text in pool.map(trials.control, selections) if text]
    print(f"\n{len(mutants)} faults, {len(survivors)} survivors")
    print("\n".join([*(f"  {m.file}: {m.fault}" for m in survivors), *wrong]))
    return int(len(survivors) > BUDGETS["faults"]["survivors"] or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
