"""Execute the chapters, guard what they store, and compare it with a fresh run.

python -m tools.book.notebooks execute [NAME ...]   run and store the outputs
python -m tools.book.notebooks check                the guards: what nbval does not see
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
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

import attnbook
from tools import ROOT
from tools.book.state import ONE_THREAD
from tools.table_of_contents import pages

CELL_TIMEOUT = 600  # seconds; on a busy machine a training of 15 seconds takes two minutes
# A chapter per worker, each on one thread: more would wait for one another.
SIDE_BY_SIDE = ["--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile"]
# Names whose answer is another at every run; the last three are those of a finished race.
CLOCKS = {"time", "timeit", "perf_counter", "process_time", "now", "today"}
CLOCKS |= {"times_as_fast", "seconds_more", "one_call"}
# What each kernel does first: a layer that keeps its weights has no fast path left. A chapter that
# shows a layer's lines and runs others then fails.
NO_FAST_PATHS = """
import attnbook.attention, attnbook.layers
attnbook.attention.fast_weigh = attnbook.layers.fast_additive_score = None
"""
# One says where the fast paths begin; one trains beyond that, and shows no line of a layer's.
WITH_FAST_PATHS = ("what-attention-costs", "heads-that-copy")
PEAK_MEMORY = "import torch; print(torch.cuda.max_memory_allocated())"


def chapters(root: Path = ROOT) -> list[Path]:
    """List the notebooks of the table of contents, in the book's order."""
    return [path for name in pages(root) if (path := root / f"{name}.ipynb").exists()]


def named(name: str) -> Path:
    """Find the notebook of a chapter, for a command line."""
    known = {path.stem: path for path in chapters()}
    if name not in known:
        raise argparse.ArgumentTypeError(f"no chapter named {name}; there are: {', '.join(known)}")
    return known[name]


def read(path: Path) -> NotebookNode:
    """Read a notebook as format 4."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def run(notebook: NotebookNode, folder: Path, device: str = "cpu") -> NotebookNode:
    """Run a notebook from top to bottom in a fresh kernel; a failing cell raises."""
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,  # a slow print is not two outputs
        # Errors only: each kernel would warn that it speaks over a local socket.
        extra_arguments=["--log-level=ERROR"],
    )
    return client.execute(env=os.environ | {"ATTNBOOK_DEVICE": device} | ONE_THREAD)


def name_cells(notebook: NotebookNode, chapter: str) -> None:
    """Name cells after their chapter, where Jupyter has drawn a name; other names stay."""
    taken = {cell.id for cell in notebook.cells}
    free = (name for number in count() if (name := f"{chapter}-{number}") not in taken)
    for cell in notebook.cells:
        if not cell.id.startswith(chapter):
            cell.id = next(free)


def execute(path: Path) -> None:
    """Run a chapter and store its outputs; nothing of this machine or moment is stored."""
    notebook = run(read(path), path.parent)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        # A view names a widget of this run; the text beside it says the same for good.
        output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    name_cells(notebook, path.stem)
    unfinished = path.with_suffix(".unfinished")
    nbformat.write(notebook, unfinished)
    unfinished.replace(path)


# Guards: each takes a code cell and says what is wrong with it, or nothing.


def cell_was_never_run(cell: NotebookNode) -> str | None:
    """Nbval compares nothing in a cell without an execution count."""
    return "has no stored output: run make notebooks" if cell.execution_count is None else None


def cell_stores_an_error(cell: NotebookNode) -> str | None:
    """An error is welcome only where the cell announces it."""
    wanted = "raises-exception" in cell.metadata.get("tags", [])
    failed = any(output.output_type == "error" for output in cell.outputs)
    if failed and not wanted:
        return "stores an error, and is not tagged raises-exception"
    if wanted and not failed:
        return "is tagged raises-exception, and raised none"
    return None


def cell_stores_a_warning(cell: NotebookNode) -> str | None:
    """What a cell wrote to stderr is a warning, or should not be there."""
    lines = [output.text for output in cell.outputs if output.get("name") == "stderr"]
    return f"stores a warning: {lines[0].strip().splitlines()[-1]}" if lines else None


def cell_is_kept_from_nbval(cell: NotebookNode) -> str | None:
    """A tag for nbval would let an output go unchecked."""
    tags = [tag for tag in cell.metadata.get("tags", []) if tag.lower().startswith("nbval")]
    return f"is tagged {tags[0]}: every output is compared" if tags else None


def cell_copies_the_package(cell: NotebookNode) -> str | None:
    """A chapter imports from attnbook and shows its source; it never copies it."""
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
    """What hangs on a time may hold on a quiet machine only."""
    tokens = tokenize.generate_tokens(io.StringIO(cell.source).readline)
    read = [token.string for token in tokens if token.type == tokenize.NAME]
    found = [name for name in read if name in CLOCKS]
    return f"reads a clock ({found[0]}): count instead, as numbers_written does" if found else None


GUARDS: list[Callable[[NotebookNode], str | None]] = [
    cell_was_never_run,
    cell_stores_an_error,
    cell_stores_a_warning,
    cell_is_kept_from_nbval,
    cell_copies_the_package,
    cell_reads_a_clock,
]


def problems(notebook: NotebookNode) -> Iterator[str]:
    """Say what the guards find in a notebook, cell by cell."""
    if "widgets" in notebook.metadata:
        yield "stores widget state"
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip():
            found = (guard(cell) for guard in GUARDS)
            yield from (f"cell {number} {problem}" for problem in found if problem)


def problems_of_book(root: Path = ROOT) -> Iterator[str]:
    """Say what the guards find in all chapters, and which notebooks no reader can reach."""
    listed = chapters(root)
    if not listed:
        yield "_toc.yml: lists no notebook"
    for path in sorted((root / "chapters").glob("*.ipynb")):
        if path not in listed:
            yield f"{path.relative_to(root)}: is missing from _toc.yml"
        yield from (f"{path.relative_to(root)}: {problem}" for problem in problems(read(path)))


def compare(
    paths: list[Path],
    device: str,
    variables: Mapping[str, str] | None = None,
    timeout: int = CELL_TIMEOUT,
) -> int:
    """Run nbval: every stored output against a fresh run on the device, with these variables."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env"]
    command += [f"--nbval-cell-timeout={timeout}", "-p", "no:cacheprovider", *SIDE_BY_SIDE]
    chosen = {**os.environ, "ATTNBOOK_DEVICE": device, **ONE_THREAD, **(variables or {})}
    return subprocess.run([*command, *map(str, paths)], env=chosen, check=False).returncode


def compare_as_shown(paths: list[Path]) -> int:
    """Compare on the CPU; layers that keep their weights must run the lines that the book shows."""
    shown = [path for path in paths if path.stem not in WITH_FAST_PATHS]
    others = [path for path in paths if path.stem in WITH_FAST_PATHS]
    with TemporaryDirectory(prefix="ipython-") as folder:
        startup = Path(folder, "profile_default", "startup")
        startup.mkdir(parents=True)
        (startup / "no-fast-paths.py").write_text(NO_FAST_PATHS, "utf-8")
        failed = compare(shown, "cpu", {"IPYTHONDIR": folder}) if shown else 0
    return (compare(others, "cpu") if others else 0) or failed


def works_on(path: Path, device: str, measure: str = PEAK_MEMORY) -> bool:
    """Run a chapter and one more cell, which prints how many bytes the device has held."""
    notebook = read(path)
    notebook.cells.append(nbformat.v4.new_code_cell(measure))
    return int(run(notebook, path.parent, device).cells[-1].outputs[0].text) > 0


def main() -> int:
    """Do what the command line asks for; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["execute", "check", "compare"])
    about = "a chapter, such as masked-softmax; default all"
    parser.add_argument("chapters", nargs="*", type=named, metavar="NAME", help=about)
    arguments = parser.parse_args()
    do = {"execute": _execute_all, "check": _check_all, "compare": _compare_all}[arguments.task]
    return do(arguments.chapters or chapters())


def _execute_all(paths: list[Path]) -> int:
    for path in paths:
        start = time.monotonic()
        try:
            execute(path)
        except CellExecutionError as error:
            print(f"{path.stem}: a cell failed, so the stored chapter stays as it was.\n{error}")
            return 1
        print(f"{path.stem}: {time.monotonic() - start:.0f} s")
    return 0


def _check_all(_paths: list[Path]) -> int:
    found = list(problems_of_book())
    print("\n".join(found) or "every cell of every chapter is stored and clean")
    return min(len(found), 1)


def _compare_all(paths: list[Path]) -> int:
    if compare_as_shown(paths):
        return 1
    if not torch.cuda.is_available():
        print("CUDA: torch finds none here, so the chapters were compared on the CPU alone")
        return 0
    if compare(paths, "cuda"):
        return 1
    idle = [path.stem for path in paths if not works_on(path, "cuda")]
    print(f"the GPU did nothing in: {', '.join(idle)}" if idle else "CUDA: the GPU did the work")
    return min(len(idle), 1)


if __name__ == "__main__":
    sys.exit(main())
