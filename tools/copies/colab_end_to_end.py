"""What a reader lives through: every Colab copy, in a clean environment, from its first cell on.

The copies install the package from the repository's address; git is told to find it in
this checkout instead. So this tests what is committed, and nothing else.

All copies install the same, into one environment. The first finds it clean, the second finds the
package there; the others need not ask for it a third time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools import ROOT
from tools.book.notebooks import read
from tools.book.state import ONE_THREAD
from tools.copies import colab
from tools.copies.clean_environment import (
    NotLikeColabError,
    apart,
    changed,
    installed,
    make_environment,
    prove_absent,
)
from tools.copies.colab import CopyError, Origin, commit_to_pin
from tools.copies.colab_versions import COLAB
from tools.copies.leftovers import ADDED
from tools.repository_address import colab_address, git, repository_address, site_address

CELL_TIMEOUT = 300  # the first cell builds the package
NOWHERE = "https://github.com/reader/attention-book"  # made up; git never goes there

# One chapter with many figures, and one that trains a model: for `make test`. What a copy changes
# of its chapter is tested for all copies, without running them.
TWO = ("masked-softmax", "heads-that-copy")
INSTALLED = 2  # times that one line of installation is run

COLOUR = re.compile(r"\x1b\[[\d;]*m")
# pip's warnings are about the index that it was told to use; what it breaks is an ERROR.
EXPECTED = ("WARNING:", "Note: you may need to restart the kernel")


@dataclass(frozen=True)
class Reader:
    """Somebody's machine: a Python, a folder for all that it writes, and its variables."""

    python: Path
    folder: Path
    variables: dict[str, str]


def redirected(repository: str, root: Path) -> dict[str, str]:
    """Variables that make git take the repository from a folder, whoever owns that."""
    settings = [(f"url.{root.as_uri()}.insteadOf", repository), ("safe.directory", str(root))]
    told = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        told |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return told


def surroundings(origin: Origin, folder: Path) -> dict[str, str]:
    """The variables of a reader's kernel."""
    reader = {
        "IPYTHONDIR": str(folder / "ipython"),
        "ATTNBOOK_DEVICE": "cpu",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # else each kernel warns of its debugger
    }
    return (
        apart(dict(os.environ)) | ONE_THREAD | reader | redirected(origin.repository, origin.root)
    )


def kernel(reader: Reader) -> AsyncKernelManager:
    """The environment's own kernel."""
    home = reader.folder / "kernels" / "reader"
    home.mkdir(parents=True, exist_ok=True)
    start = [str(reader.python), "-m", "ipykernel_launcher", "--log-level=ERROR", "-f"]
    spec = {"argv": [*start, "{connection_file}"], "display_name": "reader", "language": "python"}
    (home / "kernel.json").write_text(json.dumps(spec))
    known = KernelSpecManager(kernel_dirs=[str(home.parent)], ensure_native_kernel=False)
    return AsyncKernelManager(kernel_name="reader", kernel_spec_manager=known)


def run_copy(copied: NotebookNode, reader: Reader) -> NotebookNode:
    """Run a copy from top to bottom in an empty folder; a failing cell raises."""
    desk = Path(tempfile.mkdtemp(dir=reader.folder))
    client = NotebookClient(
        copied,
        km=kernel(reader),
        timeout=CELL_TIMEOUT,
        resources={"metadata": {"path": str(desk)}},
        store_widget_state=False,
        coalesce_streams=True,
    )
    return client.execute(env=reader.variables)


def texts(cell: NotebookNode) -> list[str]:
    """What a cell says in words: what it printed, and the text of what it showed."""
    said = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            said.append(f"{output.name}: {output.text}")
        elif output.output_type == "error":
            said.append(f"{output.ename}: {output.evalue}")
        elif "text/plain" in output.data:
            said.append(output.data["text/plain"])
    return said


def differences(chapter: NotebookNode, executed: NotebookNode) -> Iterator[str]:
    """Say in which cells a reader was told something else than the chapter stores."""
    cells = executed.cells[ADDED:]
    if len(cells) != len(chapter.cells):
        yield f"has {len(cells)} cells, the chapter {len(chapter.cells)}"
    for number, (stored, fresh) in enumerate(zip(chapter.cells, cells, strict=False)):
        if texts(stored) != texts(fresh):
            told = "\n".join(texts(fresh)) or "nothing"
            yield f"cell {number} says\n{told}\nand the chapter\n" + "\n".join(texts(stored))


def quiet(executed: NotebookNode) -> Iterator[str]:
    """Say what the installation wrote that no reader needs."""
    for output in executed.cells[ADDED - 1].outputs:
        lines = [COLOUR.sub("", line).strip() for line in output.get("text", "").split("\n")]
        said = [line for line in lines if line and not line.startswith(EXPECTED)]
        if said:
            yield "the installation says\n" + "\n".join(said)


def without_needless(copied: NotebookNode, asked: Counter[str]) -> NotebookNode:
    """A copy that asks for no installation which others have asked for often enough."""
    installation = copied.cells[ADDED - 1]
    asked[installation.source] += 1
    if asked[installation.source] > INSTALLED:
        installation.source = ""
    return copied


def live_one(copied: NotebookNode, chapter: NotebookNode, reader: Reader) -> list[str]:
    """Run one copy; what went wrong in it."""
    try:
        executed = run_copy(copied, reader)
    except CellExecutionError as error:
        return [f"fails:\n{error}"]
    return [*quiet(executed), *differences(chapter, executed)]


def run_all(origin: Origin, reader: Reader, names: Sequence[str] = ()) -> int:
    """Make all copies and run them, or those of some chapters; how many of them went wrong."""
    failed, asked = 0, Counter[str]()
    copies = colab.write_copies(origin, reader.folder / "copies")
    for path in [copy for copy in copies if not names or copy.stem in names]:
        start = time.monotonic()
        chapter = read(origin.root / "chapters" / path.name)
        found = live_one(without_needless(read(path), asked), chapter, reader)
        seconds = f"{time.monotonic() - start:.0f} s"
        print(f"{path.stem}: {seconds}, {'as in the chapter' if not found else 'DIFFERS'}")
        print("".join(f"{path.stem}: {problem}\n" for problem in found), end="", flush=True)
        failed += bool(found)
    return failed


def end_to_end_test(origin: Origin, folder: Path, names: Sequence[str] = ()) -> int:
    """Run the copies of all chapters, or of some, in a new environment; how much went wrong."""
    python = make_environment(folder)
    prove_absent(python, folder)
    before = installed(python)
    versions = ", ".join(f"{name} {before[name]}" for name in COLAB)
    print(f"A clean environment without attnbook: {versions}", flush=True)
    reader = Reader(python, folder, surroundings(origin, folder))
    failed = run_all(origin, reader, names)
    after = installed(python)
    moved = changed(before, after)
    gained = sorted(f"{name} {after[name]}" for name in after.keys() - before.keys())
    print(f"Installed: {', '.join(gained) or 'nothing'}")
    print(f"Changed of what was there: {', '.join(moved) or 'nothing'}")
    pinned = f"git+{origin.repository}@{origin.commit}"
    if after.get("attnbook") != pinned:
        raise NotLikeColabError(f"attnbook must come from {pinned}, got {after.get('attnbook')}")
    return failed + len(moved)


def check_history(root: Path) -> None:
    """Refuse a shallow checkout: git, asked by pip to clone it, would never come to an end."""
    if git(root, "rev-parse", "--is-shallow-repository") == "true":
        raise NotLikeColabError("pip cannot clone a shallow checkout; run git fetch --unshallow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the end-to-end test; 1 and the reason if it fails or cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _toc.yml")
    parser.add_argument("--two", action="store_true", help=f"run {' and '.join(TWO)} only")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    try:
        repository = repository_address(root)
        known = repository if colab_address(repository, "any") else NOWHERE
        origin = Origin(root, known, commit_to_pin(root), site_address())
        check_history(root)
        with tempfile.TemporaryDirectory(prefix="reader-") as folder:
            failed = end_to_end_test(origin, Path(folder), TWO if options.two else ())
    except (CopyError, NotLikeColabError, ValueError) as error:
        print(f"THE LIVED TEST WAS NOT DONE, or not to its end: {error}")
        return 1
    print(
        f"WENT WRONG: {failed}, see above"
        if failed
        else "Every copy that ran gave its chapter's outputs."
    )
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
