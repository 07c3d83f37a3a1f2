"""Execute the chapters, check what they store, and compare it with a fresh run.

python -m tools.book.notebooks execute [NAME ...]   run and store the outputs
python -m tools.book.notebooks check                the checks that nbval does not make
python -m tools.book.notebooks compare              nbval, on the CPU and on CUDA if there is one
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import subprocess
import sys
import time
import tokenize
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import torch
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

import attnbook
from tools import ROOT
from tools.book import editors, kernels
from tools.book.cells import ANSWER, PREDICT, SETUP, TO_WRITE, has_tag
from tools.book.client import NO_FAST_PATHS, WITH_FAST_PATHS, ChapterClient
from tools.book.state import KERNELS
from tools.table_of_contents import pages

FOLDED = (SETUP, PREDICT, ANSWER)  # in JupyterLab: no code of an answer is seen before it is opened
CELL_TIMEOUT = 600  # seconds; on a busy machine a training of 15 seconds takes two minutes
# One chapter for each worker, each on one thread: more threads would wait for each other.
SIDE_BY_SIDE = ["--numprocesses=auto", "--dist=loadfile"]
MOST_WORKERS = 4
# Names whose values differ between runs; the last three are results of `attnbook.timing`.
CLOCKS = {"time", "timeit", "perf_counter", "process_time", "now", "today"}
CLOCKS |= {"times_as_fast", "seconds_more", "one_call"}
PEAK_MEMORY = "import torch; print(torch.cuda.max_memory_allocated())"


def chapters(root: Path = ROOT) -> list[Path]:
    """List the notebooks of the table of contents, in the book's order."""
    return [path for name in pages(root) if (path := root / f"{name}.ipynb").exists()]


def find_chapter(name: str) -> Path:
    """Find the notebook of a chapter, for a command line."""
    paths = {path.stem: path for path in chapters()}
    if name not in paths:
        raise argparse.ArgumentTypeError(f"no chapter named {name}; there are: {', '.join(paths)}")
    return paths[name]


def read(path: Path) -> NotebookNode:
    """Read a notebook as format 4."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def run(notebook: NotebookNode, folder: Path, device: str = "cpu") -> NotebookNode:
    """Run a notebook from top to bottom in a fresh kernel; a failing cell raises."""
    client = ChapterClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
    )
    if device != "cpu":
        client.fast_paths = True
    return client.execute(env=os.environ | {"ATTNBOOK_DEVICE": device} | KERNELS)


def name_cells(notebook: NotebookNode, chapter: str) -> None:
    """Name the cells that have a random id after their chapter; other ids stay."""
    used = {cell.id for cell in notebook.cells}
    free = (name for number in count() if (name := f"{chapter}-{number}") not in used)
    for cell in notebook.cells:
        if not cell.id.startswith(chapter):
            cell.id = next(free)


def execute(path: Path) -> None:
    """Run a chapter and store its outputs, but nothing that depends on the machine or the time."""
    notebook = read(path)
    editors.refresh(notebook)
    notebook = run(notebook, path.parent)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        if has_tag(cell, TO_WRITE):
            cell.outputs = []  # a verdict on code that the reader has not written yet
        if cell.cell_type == "code" and any(has_tag(cell, tag) for tag in FOLDED):
            cell.metadata["jupyter"] = {"source_hidden": True}
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        # A view refers to a widget of this run; the text next to it is complete.
        output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    name_cells(notebook, path.stem)
    unfinished = path.with_suffix(".unfinished")
    nbformat.write(notebook, unfinished)
    unfinished.replace(path)


# Each check takes a code cell and returns what is wrong with it, or None.


def cell_was_never_run(cell: NotebookNode) -> str | None:
    """Nbval skips a cell without an execution count."""
    return "has no stored output: run make notebooks" if cell.execution_count is None else None


def cell_stores_an_error(cell: NotebookNode) -> str | None:
    """A cell may store an error only if it is tagged so."""
    expected = "raises-exception" in cell.metadata.get("tags", [])
    failed = any(output.output_type == "error" for output in cell.outputs)
    if failed and not expected:
        return "stores an error, and is not tagged raises-exception"
    if expected and not failed:
        return "is tagged raises-exception, and raised none"
    return None


def cell_stores_a_warning(cell: NotebookNode) -> str | None:
    """All that a cell writes to stderr counts as a warning."""
    lines = [output.text for output in cell.outputs if output.get("name") == "stderr"]
    return f"stores a warning: {lines[0].strip().splitlines()[-1]}" if lines else None


def cell_is_skipped_by_nbval(cell: NotebookNode) -> str | None:
    """With a tag for nbval, an output would not be compared."""
    tags = [tag for tag in cell.metadata.get("tags", []) if tag.lower().startswith("nbval")]
    return f"is tagged {tags[0]}: every output is compared" if tags else None


def cell_copies_the_package(cell: NotebookNode) -> str | None:
    """A chapter imports and shows the package's code; it never copies it."""
    if cell.source.lstrip().startswith("%"):
        return None
    defined = (
        node.name
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    )
    copied = sorted(set(defined) & set(attnbook.__all__))
    return f"defines {copied[0]} again: import it from attnbook" if copied else None


def cell_reads_a_clock(cell: NotebookNode) -> str | None:
    """A result that depends on time may differ on a busy machine."""
    tokens = tokenize.generate_tokens(io.StringIO(cell.source).readline)
    read = [token.string for token in tokens if token.type == tokenize.NAME]
    found = [name for name in read if name in CLOCKS]
    return f"reads a clock ({found[0]}): count instead, as numbers_written does" if found else None


CHECKS: list[Callable[[NotebookNode], str | None]] = [
    cell_was_never_run,
    cell_stores_an_error,
    cell_stores_a_warning,
    cell_is_skipped_by_nbval,
    cell_copies_the_package,
    cell_reads_a_clock,
]


def problems(notebook: NotebookNode) -> Iterator[str]:
    """Yield the problems of a notebook, cell by cell."""
    if "widgets" in notebook.metadata:
        yield "stores widget state"
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip():
            found = (check(cell) for check in CHECKS)
            yield from (f"cell {number} {problem}" for problem in found if problem)


def problems_of_book(root: Path = ROOT) -> Iterator[str]:
    """Yield the problems of all chapters, and the notebooks that are missing from the contents."""
    paths = chapters(root)
    if not paths:
        yield "_toc.yml: lists no notebook"
    for path in sorted((root / "chapters").glob("*.ipynb")):
        if path not in paths:
            yield f"{path.relative_to(root)}: is missing from _toc.yml"
        yield from (f"{path.relative_to(root)}: {problem}" for problem in problems(read(path)))


def compare(
    paths: list[Path],
    device: str,
    variables: Mapping[str, str] | None = None,
    timeout: int = CELL_TIMEOUT,
) -> int:
    """Run nbval, which compares every stored output with a fresh run on the device."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env"]
    command += [f"--nbval-cell-timeout={timeout}", "-p", "no:cacheprovider", *SIDE_BY_SIDE]
    command += ["-p", kernels.__name__]
    command += [f"--maxprocesses={min(MOST_WORKERS, len(paths))}"]
    environment = {**os.environ, "ATTNBOOK_DEVICE": device, **KERNELS, **(variables or {})}
    return subprocess.run([*command, *map(str, paths)], env=environment, check=False).returncode


def compare_as_shown(paths: list[Path]) -> int:
    """Compare on the CPU; layers that keep their weights must run the lines that the book shows."""
    plain = [path for path in paths if path.stem not in WITH_FAST_PATHS]
    others = [path for path in paths if path.stem in WITH_FAST_PATHS]
    with TemporaryDirectory(prefix="ipython-") as folder:
        startup = Path(folder, "profile_default", "startup")
        startup.mkdir(parents=True)
        (startup / "no-fast-paths.py").write_text(NO_FAST_PATHS, "utf-8")
        failed = compare(plain, "cpu", {"IPYTHONDIR": folder}) if plain else 0
    return (compare(others, "cpu") if others else 0) or failed


def works_on(path: Path, device: str, measure: str = PEAK_MEMORY) -> bool:
    """Run a chapter on a device, and whether a last cell reports memory in use there."""
    notebook = read(path)
    notebook.cells.append(nbformat.v4.new_code_cell(measure))
    return int(run(notebook, path.parent, device).cells[-1].outputs[0].text) > 0


def main() -> int:
    """Run the task of the command line; 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["execute", "check", "compare"])
    about = "a chapter, such as masked-softmax; default all"
    parser.add_argument("chapters", nargs="*", type=find_chapter, metavar="NAME", help=about)
    arguments = parser.parse_args()
    do = {"execute": _execute_all, "check": _check_all, "compare": _compare_all}[arguments.task]
    with kernels.forked_kernels():
        return do(arguments.chapters or chapters())


def _execute_all(paths: list[Path]) -> int:
    for path in paths:
        start = time.monotonic()
        try:
            execute(path)
        except CellExecutionError as error:
            print(f"{path.stem}: a cell failed, so the stored chapter is unchanged.\n{error}")
            return 1
        print(f"{path.stem}: {time.monotonic() - start:.0f} s")
    editors.write_asked({path.stem: editors.asked_in(read(path)) for path in chapters()})
    return 0


def _check_all(_paths: list[Path]) -> int:
    found = list(problems_of_book())
    print("\n".join(found) or "Every cell of every chapter is stored, and no check fails.")
    return min(len(found), 1)


def _compare_all(paths: list[Path]) -> int:
    if compare_as_shown(paths):
        return 1
    if not torch.cuda.is_available():
        print("torch finds no CUDA device, so the chapters were compared on the CPU only.")
        return 0
    if compare(paths, "cuda"):
        return 1
    idle = [path.stem for path in paths if not works_on(path, "cuda")]
    print(
        f"The GPU was idle in: {', '.join(idle)}" if idle else "The GPU was used in each chapter."
    )
    return min(len(idle), 1)


if __name__ == "__main__":
    sys.exit(main())
