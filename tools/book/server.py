"""Serve a built site to this machine; the page of a draft reloads after each build."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BUILD = "/the-build"  # no page of the site has this address
SCRIPT = Path(__file__).parent / "draft.js"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def handle(self) -> None:
        """Answer, and ignore a client that closed the connection early."""
        with suppress(ConnectionError):
            super().handle()


class DraftHandler(QuietHandler):
    """Serves pages that load themselves again once another build is shown.

    The folder's name is the name of the build. The script is only in the response, never in a file.
    """

    def do_GET(self) -> None:
        """Respond with the name of the build, with a page and its script, or with a file."""
        build, file = Path(self.directory).name, Path(self.translate_path(self.path))
        if self.path == BUILD:
            self.respond("text/plain", build)
        elif file.suffix == ".html" and file.is_file():
            script = f'<script data-build="{build}">\n{SCRIPT.read_text("utf-8")}</script>\n'
            self.respond("text/html", file.read_text("utf-8") + script)
        else:
            super().do_GET()

    def respond(self, kind: str, text: str) -> None:
        """Send a text."""
        content = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        """Forbid the browser to show an earlier build."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def start_server(
    site: Path, handler: type[SimpleHTTPRequestHandler] = QuietHandler
) -> ThreadingHTTPServer:
    """Serve a folder in the background, on a free port that only this machine can reach."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def show(server: ThreadingHTTPServer, build: Path) -> None:
    """Serve this build from now on, also to open pages."""
    server.RequestHandlerClass = partial(DraftHandler, directory=str(build))


def address(server: ThreadingHTTPServer, page: str = "index") -> str:
    """The address of a page."""
    return f"http://127.0.0.1:{server.server_port}/{page}.html"
