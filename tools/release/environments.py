"""Empty environments on each promised Python, in which a reader's steps are done.

The oldest Python gets the oldest torch that is promised, and the others what pip chooses: the
newest: each environment is some 6 GB, and faults of one pair alone are rare. In each, the wheel is
installed first and then the sdist, and the README's examples run.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.ci.pythons import find, oldest_torch, promised_versions, version_of
from tools.colab.clean_environment import (
    StepFailedError,
    prove_absent,
    run,
    without_project,
)
from tools.release.distributions import Distributions

EXTRA = "figures"
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)
TORCH = "import torch; print(torch.__version__)"


class Environment(NamedTuple):
    """One Python with one torch; `torch` is a further requirement of pip, or empty."""

    folder: Path
    python: Path
    torch: str


def examples(readme: str) -> tuple[str, list[str]]:
    """The program that the README's Python makes, and the outputs that it shows."""
    found = BLOCK.findall(readme)
    program = "\n".join(text for kind, text in found if kind == "python")
    return program, [text for kind, text in found if kind == "text"]


def run_alone(*command: str | Path, folder: Path) -> str:
    """Run a command without this project's variables; gives what it prints."""
    return run([*command], cwd=folder, env=without_project(dict(os.environ)))


def find_pythons() -> dict[str, str]:
    """The program of each promised Python.

    Raises:
        StepFailedError: one is not found.
    """
    found = {series: find(series, []) for series in promised_versions()}
    missing = [series for series, program in found.items() if not program]
    if missing:
        raise StepFailedError(f"a release is tried on each Python; not found: {missing}")
    return {series: program[0] for series, program in found.items() if program}


def make_environments(root: Path, folder: Path, *, reuse: bool = False) -> Iterator[Environment]:
    """Yield an environment for each promised Python, and remove it after its use.

    Args:
        root: The project.
        folder: Where the environments are made.
        reuse: Whether those that are there are used, and none is removed.
    """
    torch = oldest_torch(root)
    for series, program in find_pythons().items():
        environment = Environment(folder / series, folder / series / "bin" / "python", torch)
        torch = ""
        if not (reuse and environment.python.exists()):
            shutil.rmtree(environment.folder, ignore_errors=True)
            run_alone(program, "-m", "venv", environment.folder, folder=root)
            prove_absent(environment.python, environment.folder)
        yield environment
        if not reuse:
            shutil.rmtree(environment.folder)


def try_release(environment: Environment, built: Distributions, version: str) -> str:
    """Install each file as a reader would and run the README's examples; gives times and size."""
    python, folder = environment.python, environment.folder
    pip = [str(python), "-m", "pip", "install", "--quiet", *os.environ.get("PIP_ARGS", "").split()]
    index = ["--find-links", str(built.wheel.parent)]
    by_name = [f"attnbook[{EXTRA}]=={version}", *filter(None, [environment.torch])]
    steps = {
        "wheel": [*pip, *index, *by_name],
        "sdist": [*pip, "--force-reinstall", "--no-deps", str(built.sdist)],
    }
    run_alone(python, "-m", "pip", "uninstall", "--quiet", "--yes", "attnbook", folder=folder)
    seconds = {}
    for name, command in steps.items():
        start = time.monotonic()
        run_alone(*command, folder=folder)
        seconds[name] = f"{name} {time.monotonic() - start:.0f} s"
        run_examples(python, folder, (built.source / "README.md").read_text("utf-8"))
    torch = run_alone(python, "-P", "-c", TORCH, folder=folder).strip()
    times = ", ".join(seconds.values())
    size = f"{size_of(folder) / 1e9:.1f} GB"
    return f"Python {version_of(str(python)):8} torch {torch:14} {times}, together {size}"


def run_examples(python: Path, folder: Path, readme: str) -> None:
    """Run the README's Python; its outputs must be those of the page.

    Raises:
        StepFailedError: it fails, or prints something else.
    """
    program, outputs = examples(readme)
    file = folder / "readme.py"
    file.write_text(program, "utf-8")
    printed = run_alone(python, "-P", file, folder=folder)
    missing = [text for text in outputs if text not in printed]
    if missing or not outputs:
        raise StepFailedError(f"the README's examples must print {missing}, got {printed}")


def size_of(folder: Path) -> int:
    """The bytes of all files of a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and not f.is_symlink())
