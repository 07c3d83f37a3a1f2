"""The end-to-end test: run every Colab copy in a clean environment, from its first cell on.

The copies install the package from the repository's address, which git redirects to this
checkout. So this tests only what is committed.

All copies install the same into one environment. The first starts without the package, the second
with it; the others skip the installation.
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
from tools.book.cells import TO_WRITE, has_tag
from tools.book.notebooks import read
from tools.book.state import KERNELS
from tools.colab import write
from tools.colab.clean_environment import (
    StepFailedError,
    list_changes,
    list_installed,
    make_environment,
    prove_absent,
    without_project,
)
from tools.colab.leftovers import ADDED
from tools.colab.versions import COLAB
from tools.colab.write import CopyError, Origin, commit_to_pin
from tools.repository_address import colab_address, git, repository_address, site_address

CELL_TIMEOUT = 300  # the first cell builds the package
NOWHERE = "https://github.com/reader/attention-book"  # git never connects to this address

# For `make test`: one chapter with many figures, and one that loads a trained model and trains a
# small one. The differences between a copy and its chapter are tested for all copies, without
# running them.
TWO = ("masked-softmax", "queries-keys-values")
INSTALLED = 2  # how often the same installation is run

COLOUR = re.compile(r"\x1b\[[\d;]*m")
# pip's warnings are about its index; a conflict is an ERROR.
EXPECTED = ("WARNING:", "Note: you may need to restart the kernel")


@dataclass(frozen=True)
class Reader:
    """A reader's machine: a Python, a folder for all files, and environment variables."""

    python: Path
    folder: Path
    variables: dict[str, str]


def git_redirection(repository: str, root: Path) -> dict[str, str]:
    """Variables that redirect git from the repository to a folder of any owner."""
    settings = [(f"url.{root.as_uri()}.insteadOf", repository), ("safe.directory", str(root))]
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def reader_environment(origin: Origin, folder: Path) -> dict[str, str]:
    """The variables of a reader's kernel."""
    reader = {
        "IPYTHONDIR": str(folder / "ipython"),
        "ATTNBOOK_DEVICE": "cpu",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # or each kernel warns about its debugger
    }
    return (
        without_project(dict(os.environ))
        | KERNELS
        | reader
        | git_redirection(origin.repository, origin.root)
    )


def kernel(reader: Reader) -> AsyncKernelManager:
    """The environment's own kernel."""
    folder = reader.folder / "kernels" / "reader"
    folder.mkdir(parents=True, exist_ok=True)
    start = [str(reader.python), "-m", "ipykernel_launcher", "--log-level=ERROR", "-f"]
    spec = {"argv": [*start, "{connection_file}"], "display_name": "reader", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    specs = KernelSpecManager(kernel_dirs=[str(folder.parent)], ensure_native_kernel=False)
    return AsyncKernelManager(kernel_name="reader", kernel_spec_manager=specs)


def run_copy(copied: NotebookNode, reader: Reader) -> NotebookNode:
    """Run a copy from top to bottom in an empty folder; a failing cell raises."""
    folder = Path(tempfile.mkdtemp(dir=reader.folder))
    client = NotebookClient(
        copied,
        km=kernel(reader),
        timeout=CELL_TIMEOUT,
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        coalesce_streams=True,
    )
    return client.execute(env=reader.variables)


def texts(cell: NotebookNode) -> list[str]:
    """The printed text of a cell, and the text of its displayed results."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append(f"{output.name}: {output.text}")
        elif output.output_type == "error":
            found.append(f"{output.ename}: {output.evalue}")
        elif "text/plain" in output.data:
            found.append(output.data["text/plain"])
    return found


def differences(chapter: NotebookNode, executed: NotebookNode) -> Iterator[str]:
    """Yield the cells whose outputs differ from those that the chapter stores."""
    cells = executed.cells[ADDED:]
    if len(cells) != len(chapter.cells):
        yield f"has {len(cells)} cells, the chapter {len(chapter.cells)}"
    for number, (stored, fresh) in enumerate(zip(chapter.cells, cells, strict=False)):
        if not has_tag(stored, TO_WRITE) and texts(stored) != texts(fresh):
            printed = "\n".join(texts(fresh)) or "nothing"
            expected = "\n".join(texts(stored))
            yield f"cell {number} prints\n{printed}\nand the chapter stores\n{expected}"


def needless_output(executed: NotebookNode) -> Iterator[str]:
    """Yield the output of the installation that a reader does not expect."""
    for output in executed.cells[ADDED - 1].outputs:
        lines = [COLOUR.sub("", line).strip() for line in output.get("text", "").split("\n")]
        unexpected = [line for line in lines if line and not line.startswith(EXPECTED)]
        if unexpected:
            yield "the installation prints\n" + "\n".join(unexpected)


def without_repeated_installation(copied: NotebookNode, runs: Counter[str]) -> NotebookNode:
    """A copy without an installation that has been run often enough."""
    installation = copied.cells[ADDED - 1]
    runs[installation.source] += 1
    if runs[installation.source] > INSTALLED:
        installation.source = ""
    return copied


def run_one(copied: NotebookNode, chapter: NotebookNode, reader: Reader) -> list[str]:
    """Run one copy; gives its problems."""
    try:
        executed = run_copy(copied, reader)
    except CellExecutionError as error:
        return [f"fails:\n{error}"]
    return [*needless_output(executed), *differences(chapter, executed)]


def run_all(origin: Origin, reader: Reader, names: Sequence[str] = ()) -> int:
    """Make all copies and run them, or those of some chapters; gives the number of failures."""
    failed, runs = 0, Counter[str]()
    copies = write.write_copies(origin, reader.folder / "copies")
    for path in [copy for copy in copies if not names or copy.stem in names]:
        start = time.monotonic()
        chapter = read(origin.root / "chapters" / path.name)
        wrong = run_one(without_repeated_installation(read(path), runs), chapter, reader)
        seconds = f"{time.monotonic() - start:.0f} s"
        print(f"{path.stem}: {seconds}, {'as in the chapter' if not wrong else 'DIFFERS'}")
        print("".join(f"{path.stem}: {problem}\n" for problem in wrong), end="", flush=True)
        failed += bool(wrong)
    return failed


def end_to_end_test(origin: Origin, folder: Path, names: Sequence[str] = ()) -> int:
    """Run the copies of all chapters, or of some, in a new environment; gives the failures."""
    python = make_environment(folder)
    prove_absent(python, folder)
    before = list_installed(python)
    versions = ", ".join(f"{name} {before[name]}" for name in COLAB)
    print(f"A clean environment without attnbook: {versions}", flush=True)
    reader = Reader(python, folder, reader_environment(origin, folder))
    failed = run_all(origin, reader, names)
    after = list_installed(python)
    changes = list_changes(before, after)
    added = sorted(f"{name} {after[name]}" for name in after.keys() - before.keys())
    print(f"Installed: {', '.join(added) or 'nothing'}")
    print(f"Changed versions: {', '.join(changes) or 'none'}")
    pinned = f"git+{origin.repository}@{origin.commit}"
    if after.get("attnbook") != pinned:
        raise StepFailedError(f"attnbook must come from {pinned}, got {after.get('attnbook')}")
    return failed + len(changes)


def check_history(root: Path) -> None:
    """Refuse a shallow checkout, because cloning it with pip would never end."""
    if git(root, "rev-parse", "--is-shallow-repository") == "true":
        raise StepFailedError("pip cannot clone a shallow checkout; run git fetch --unshallow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the end-to-end test; 1 and the reason if it fails or cannot run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _toc.yml")
    parser.add_argument("--two", action="store_true", help=f"run {' and '.join(TWO)} only")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    try:
        repository = repository_address(root)
        address = repository if colab_address(repository, "any") else NOWHERE
        origin = Origin(root, address, commit_to_pin(root), site_address())
        check_history(root)
        with tempfile.TemporaryDirectory(prefix="reader-") as folder:
            failed = end_to_end_test(origin, Path(folder), TWO if options.two else ())
    except (CopyError, StepFailedError, ValueError) as error:
        print(f"THE END-TO-END TEST WAS NOT DONE, or not to its end: {error}")
        return 1
    print(
        f"FAILED: {failed}, see above"
        if failed
        else "Every copy that ran gave its chapter's outputs."
    )
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
