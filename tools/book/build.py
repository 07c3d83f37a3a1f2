"""Execute and render the book, or one chapter of it, and serve the result."""

from __future__ import annotations

import argparse
import asyncio
import gc
import io
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TextIO
from unittest.mock import patch

from jupyter_book.sphinx import build_sphinx
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.util.console import nocolor, strip_colors
from sphinx_external_toc import collectors

from tools import ROOT, interrupts
from tools.book import without_answers
from tools.book.kernels import forked_kernels
from tools.book.server import address, show, start_server
from tools.book.state import QUESTIONS, REPORT, BuildFolder, digest
from tools.table_of_contents import pages

UNFINISHED = 2  # the exit code of a build that did not write all pages
SUMMARY = "These warnings and errors stop the build:"  # printed before they are repeated
# The sources of a page; `make chapter` watches them.
SOURCES = ("chapters", "attnbook", "img", "_config.yml", "_toc.yml")
# Third-party code; a build spends more than half of its time importing it.
IMPORTED = (
    "fontTools.subset",
    "jupyter_book.sphinx",
    "jupyter_cache.cache.main",
    "myst_nb.sphinx_ext",
    "sphinx.ext.autodoc",
    "sphinx_book_theme",
    "sphinx_design",
    "sphinxcontrib.bibtex",
)


async def leave_alone(_kernel: KernelManager) -> None:
    """Send no SIGINT, which jupyter_client does before it ends a kernel."""


def end_kernels_at_once() -> None:
    """Kill kernels instead of interrupting them: a busy one would print a traceback."""
    NotebookClient.shutdown_kernel = "immediate"  # type: ignore[assignment] # a trait
    KernelManager._async_interrupt_kernel = leave_alone  # type: ignore[assignment, method-assign]


class Echo(io.TextIOBase):
    """A stream that passes on all text and stores it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.text = ""

    def write(self, text: str) -> int:
        """Pass on and store."""
        self.text += strip_colors(text)
        return self.stream.write(text)

    def flush(self) -> None:
        """Pass on, unless the stream has been closed first, as at the end of a program."""
        if not self.stream.closed:
            self.stream.flush()

    def isatty(self) -> bool:
        """Whether colours may be written."""
        return self.stream.isatty()


def chapters(root: Path) -> dict[str, str]:
    """The pages by their names on the command line of `make chapter`."""
    return {Path(page).name: page for page in pages(root)}


def render(
    folder: BuildFolder, target: Path, settings: Mapping[str, object], builder: str = "html"
) -> int:
    """Build what is out of date; any warning fails, and is repeated at the end."""
    echo = Echo(sys.stderr)
    # sphinx-external-toc reads `__class__` of every object; a dead weak reference would raise.
    safe_gc = SimpleNamespace(get_objects=table_collectors)
    # nbclient would replace our handlers of signals by its own.
    handlers = patch.object(asyncio.SelectorEventLoop, "add_signal_handler")
    with redirect_stderr(echo), patch.object(collectors, "gc", safe_gc), handlers:
        result = build_sphinx(
            folder.source,
            target,
            builder=builder,
            quiet=builder != "html",
            doctreedir=folder.doctrees,
            path_config=folder.root / "_config.yml",
            noconfig=True,
            confoverrides={
                "external_toc_path": str(folder.root / "_toc.yml"),
                "latex_individualpages": False,
                **settings,
            },
            warningiserror=True,
            keep_going=True,
        )
    if isinstance(result, KeyboardInterrupt):
        raise result
    if result:
        print(f"\n{SUMMARY}\n\n{echo.text.strip()}", file=sys.stderr)
    return result if isinstance(result, int) else UNFINISHED


def table_collectors() -> list[object]:
    """The objects that sphinx-external-toc needs, found without reading `__class__`."""
    return [each for each in gc.get_objects() if issubclass(type(each), TocTreeCollector)]


def build(folder: BuildFolder, copy: Path | None = None, **settings: object) -> int:
    """Bring the site up to date, and copy it if all pages were written, even with warnings.

    A build that does not finish or that warns leaves no stamp.
    """
    with folder.lock():
        start = time.monotonic()
        sources = folder.prepare()
        if folder.name == QUESTIONS:
            without_answers.prepare(folder)
        with forked_kernels():
            code = render(folder, folder.html, settings)
        if copy and code < UNFINISHED:
            shutil.copytree(folder.html, copy)
        if code:
            print("\nThe book is not built.", file=sys.stderr)
            return code
        folder.stamp.write_text(sources)
    if not folder.name:
        print(f"\n{(folder.doctrees / REPORT).read_text('utf-8')}", end="")
    seconds, entry = time.monotonic() - start, folder.html / "index.html"
    serving = "make serve ANSWERS=no" if folder.name == QUESTIONS else "make serve"
    print(f"\nBuilt in {seconds:.0f} s: {entry.as_uri()} (or `{serving}`)")
    return 0


def build_without_answers(root: Path, *, book_zip: bool) -> int:
    """Build the whole book, and from its outputs the book without answers."""
    folder = BuildFolder(root, QUESTIONS)
    return build(BuildFolder(root)) or build(folder, book_answers=False, book_zip=book_zip)


def build_chapter(root: Path, name: str, copy: Path | None = None) -> int:
    """Execute one chapter, and render it with the stored outputs of the others."""
    others = [f"{page}.*" for page in pages(root) if Path(page).name != name]
    folder = BuildFolder(root, "chapter")
    return build(folder, copy, book_draft=True, nb_execution_excludepatterns=others)


def serve(folder: BuildFolder) -> int:
    """Serve a built book until Ctrl-C."""
    if not folder.stamp.exists():
        print("There is no finished book to serve: run `make book` first.", file=sys.stderr)
        return 1
    print(f"The book: {address(start_server(folder.html))} (Ctrl-C ends it)", flush=True)
    threading.Event().wait()
    return 0


def changes(root: Path) -> Iterator[int]:
    """Yield the number of each new state of the sources, once no file is being saved."""
    latest = before = ""
    number = 0
    while True:
        with suppress(FileNotFoundError):  # an editor's temporary file
            now = digest(root, [root / name for name in SOURCES])
            if now == before != latest:
                latest, number = now, number + 1
                yield number
            before = now
        time.sleep(0.2)


def write_chapter(root: Path, name: str) -> int:
    """Serve one chapter, and render it again whenever one of its sources changes."""
    # Each build is a fork of a process that has imported the third-party code.
    forks = get_context("forkserver")
    forks.set_forkserver_preload([*IMPORTED])
    page, task = chapters(root)[name], ["--root", str(root), "chapter", name, "--once", "--copy"]
    with TemporaryDirectory() as folder:
        server = start_server(Path(folder))
        for number in changes(root):
            site = Path(folder, str(number))
            fork = forks.Process(target=main, args=([*task, str(site)],))
            fork.start()
            try:
                fork.join()
            finally:
                fork.terminate()
            if fork.exitcode == 0 and site.exists():
                show(server, site)
                for old in {*Path(folder).iterdir()} - {site}:
                    shutil.rmtree(old)
            print(f"{address(server, page)} (Ctrl-C ends it)", flush=True)
    return 0


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _config.yml")
    tasks = parser.add_subparsers(dest="task", required=True)
    build_task = tasks.add_parser("build", help="execute changed chapters and render the book")
    serve_task = tasks.add_parser("serve", help="serve the built book")
    about = "the book for a class, without the answers to the practice, in _build/questions"
    for task in (build_task, serve_task):
        task.add_argument("--without-answers", action="store_true", help=about)
    zip_help = "and write the book as a zip, too"
    build_task.add_argument("--zip", dest="book_zip", action="store_true", help=zip_help)
    chapter = tasks.add_parser("chapter", help="execute, render and serve one chapter")
    chapter.add_argument("name")
    chapter.add_argument("--once", action="store_true", help="render only")
    chapter.add_argument("--copy", type=Path, help="the folder of a copy of the site")
    return parser.parse_args(arguments)


def run(arguments: argparse.Namespace) -> int:
    """Run the task of the command line."""
    root = arguments.root.absolute()
    if arguments.task == "build" and arguments.without_answers:
        return build_without_answers(root, book_zip=arguments.book_zip)
    if arguments.task == "build":
        return build(BuildFolder(root), book_zip=arguments.book_zip)
    if arguments.task == "serve":
        return serve(BuildFolder(root, QUESTIONS if arguments.without_answers else ""))
    names = chapters(root)
    if arguments.name not in names:
        print(f"There is no chapter {arguments.name!r}. The chapters are: {', '.join(names)}.")
        return 1
    if arguments.once:
        return build_chapter(root, arguments.name, arguments.copy)
    return write_chapter(root, arguments.name)


@interrupts.listening(end_kernels_at_once)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run one task; Ctrl-C and SIGTERM end any of them without a traceback."""
    if not sys.stdout.isatty():
        nocolor()
    try:
        return run(read_arguments(arguments))
    except KeyboardInterrupt as interrupt:
        print()
        return interrupts.status(interrupt)


if __name__ == "__main__":
    sys.exit(main())
