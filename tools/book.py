"""Execute and render the book, or one chapter of it, and serve the result."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TextIO

from book_state import Workshop, digest
from jupyter_book.sphinx import build_sphinx
from sphinx.util.console import nocolor, strip_colors
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).parent.parent.absolute()
INTERRUPTED = 130


class Echo(io.TextIOBase):
    """A stream that passes on what it is given and remembers it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.heard = ""

    def write(self, text: str) -> int:
        """Pass on and remember."""
        self.heard += strip_colors(text)
        return self.stream.write(text)

    def flush(self) -> None:
        """Pass on."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Colours are for people."""
        return self.stream.isatty()


def pages(root: Path) -> list[str]:
    """The book's pages in reading order, as the table of contents names them."""
    return list(parse_toc_yaml(root / "_toc.yml"))


def chapters(root: Path) -> dict[str, str]:
    """The pages by the name that `make chapter` takes."""
    return {Path(page).name: page for page in pages(root)}


def render(workshop: Workshop, **settings: object) -> int:
    """Build what is out of date; any warning fails, and is repeated at the end."""
    echo = Echo(sys.stderr)
    with redirect_stderr(echo):
        result = build_sphinx(
            workshop.root,
            workshop.html,
            doctreedir=workshop.doctrees,
            path_config=workshop.root / "_config.yml",
            noconfig=True,
            confoverrides={
                "external_toc_path": str(workshop.root / "_toc.yml"),
                "latex_individualpages": False,
                **settings,
            },
            warningiserror=True,
            keep_going=True,
        )
    if isinstance(result, KeyboardInterrupt):
        return INTERRUPTED
    if result:
        print(f"\nWhat stands in the way, once more:\n\n{echo.heard.strip()}", file=sys.stderr)
    return result if isinstance(result, int) else 1


def build(workshop: Workshop, **settings: object) -> int:
    """Bring the site up to date. A build that does not finish leaves no stamp."""
    with workshop.alone():
        start = time.monotonic()
        ingredients = workshop.prepare()
        code = render(workshop, **settings)
        if code:
            print("\nThe book is not built.", file=sys.stderr)
            return code
        workshop.stamp.write_text(ingredients)
    seconds, door = time.monotonic() - start, workshop.html / "index.html"
    print(f"\nBuilt in {seconds:.0f} s: {door.as_uri()} (or `make serve`)")
    return 0


def build_chapter(root: Path, name: str) -> int:
    """Execute one chapter and render it among the others as they are stored."""
    others = [f"{page}.*" for page in pages(root) if Path(page).name != name]
    return build(Workshop(root, "chapter"), nb_execution_excludepatterns=others)


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def start_server(site: Path) -> ThreadingHTTPServer:
    """Serve a folder in the background, on a free port that only this machine reaches."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def address(server: ThreadingHTTPServer, page: str = "index") -> str:
    """Where to look at a page."""
    return f"http://127.0.0.1:{server.server_port}/{page}.html"


def serve(root: Path) -> int:
    """Serve the built book until Ctrl-C."""
    workshop = Workshop(root)
    if not workshop.stamp.exists():
        print("There is no finished book to serve: run `make book` first.", file=sys.stderr)
        return 1
    print(f"The book: {address(start_server(workshop.html))} (Ctrl-C ends it)", flush=True)
    threading.Event().wait()
    return 0


def write_chapter(root: Path, name: str) -> int:
    """Serve one chapter and render it again whenever it or `attnbook` changes."""
    site = Workshop(root, "chapter").html
    sources = [root / "chapters", root / "attnbook"]
    server = start_server(site)
    seen = ""
    while True:
        now = digest(root, sources)
        if now != seen:
            # Its own process, so that a changed attnbook is imported afresh.
            command = [sys.executable, __file__, "--root", str(root), "chapter", name, "--once"]
            subprocess.run(command, check=False)
            print(f"{address(server, chapters(root)[name])} (Ctrl-C ends it)", flush=True)
        seen = now
        time.sleep(0.5)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _config.yml")
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("build", help="execute what changed and render the book")
    tasks.add_parser("serve", help="serve the built book")
    chapter = tasks.add_parser("chapter", help="execute, render and serve one chapter")
    chapter.add_argument("name")
    chapter.add_argument("--once", action="store_true", help="render only")
    return parser.parse_args(arguments)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    root = arguments.root.absolute()
    if arguments.task == "build":
        return build(Workshop(root))
    if arguments.task == "serve":
        return serve(root)
    known = chapters(root)
    if arguments.name not in known:
        print(f"No chapter is named {arguments.name!r}; there are {', '.join(known)}.")
        return 1
    return (build_chapter if arguments.once else write_chapter)(root, arguments.name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one task; Ctrl-C ends any of them without a traceback."""
    if not sys.stdout.isatty():
        nocolor()
    try:
        return run(read_arguments(arguments))
    except KeyboardInterrupt:
        print()
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
