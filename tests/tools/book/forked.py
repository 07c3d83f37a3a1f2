"""Build small books, each in a fork of one process that has imported the third-party code.

Nothing here imports this project's tools: a fork imports those of its book, like `python -m`.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path

LIMIT = 240  # seconds


def build(book: Path, *task: str, env: Mapping[str, str]) -> tuple[int | None, str]:
    """The exit status and the output of `python -m tools.book.build` in a book's folder."""
    from tools.book.build import IMPORTED  # noqa: PLC0415 - not in the fork

    forks = get_context("forkserver")
    forks.set_forkserver_preload([*IMPORTED])
    with tempfile.NamedTemporaryFile("r") as output:
        fork = forks.Process(target=run, args=(book, task, dict(env), output.name))
        fork.start()
        fork.join(LIMIT)
        if fork.is_alive():
            fork.kill()
            fork.join()
        return fork.exitcode, output.read()


def run(book: Path, task: tuple[str, ...], env: dict[str, str], log: str) -> None:
    """Run the command in this process."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(book)
    with Path(log).open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdin.close()
    sys.path.insert(0, str(book))
    sys.argv = ["build", *task]
    runpy.run_module("tools.book.build", run_name="__main__", alter_sys=True)
