"""Serve a built site to this machine; a chapter in the writing comes anew with each build."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BUILD = "/the-build"  # no page of the site has this address
SCRIPT = Path(__file__).parent / "draft.js"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def handle(self) -> None:
        """Answer, and say nothing of a reader who went on before all had come."""
        with suppress(ConnectionError):
            super().handle()


class DraftHandler(QuietHandler):
    """Serves pages that load themselves again once another build is shown.

    The folder's name is the build's. The script is in the answer alone, never in a file.
    """

    def do_GET(self) -> None:
        """Answer with the name of the build, with a page and its script, or with a file."""
        build, file = Path(self.directory).name, Path(self.translate_path(self.path))
        if self.path == BUILD:
            self.answer("text/plain", build)
        elif file.suffix == ".html" and file.is_file():
            script = f'<script data-build="{build}">\n{SCRIPT.read_text("utf-8")}</script>\n'
            self.answer("text/html", file.read_text("utf-8") + script)
        else:
            super().do_GET()

    def answer(self, kind: str, text: str) -> None:
        """Send a text."""
        content = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        """Let no browser show what an earlier build made."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def start_server(
    site: Path, handler: type[SimpleHTTPRequestHandler] = QuietHandler
) -> ThreadingHTTPServer:
    """Serve a folder in the background, on a free port that only this machine reaches."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def show(server: ThreadingHTTPServer, build: Path) -> None:
    """Serve this build from now on, to the pages that are open, too."""
    server.RequestHandlerClass = partial(DraftHandler, directory=str(build))


def address(server: ThreadingHTTPServer, page: str = "index") -> str:
    """Where to look at a page."""
    return f"http://127.0.0.1:{server.server_port}/{page}.html"
