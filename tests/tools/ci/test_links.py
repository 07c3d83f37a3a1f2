"""The weekly check of outside links: which responses are reported, with a local server."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools import ROOT
from tools.ci.links import describe, has_moved, is_broken, report

LINK = {"filename": "chapters/a.md", "lineno": 7, "uri": "https://example.org/a"}


def respond(status, code=0, info=""):
    return {**LINK, "status": status, "code": code, "info": info}


GONE = respond("broken", info="404 Client Error: Not Found for url: https://example.org/a")
MOVED = respond("redirected", 301, "https://example.org/b")


@pytest.mark.parametrize(
    "response",
    [
        respond("working"),
        respond("redirected", 302, "https://example.org/today"),
        respond("timeout", info="read timeout=30"),
        respond("broken", info="403 Client Error: Forbidden for url: https://example.org/a"),
        respond("broken", info="429 Client Error: Too Many Requests"),
        respond("ignored"),
    ],
    ids=lambda each: f"{each['status']} {each['info'][:3]}",
)
def test_a_link_that_works_or_a_server_that_turns_robots_away_is_not_reported(response):
    assert not is_broken(response)
    assert not has_moved(response)
    assert report([response]) == ""


def test_a_link_that_leads_nowhere_or_has_moved_is_named_with_its_position():
    assert report([GONE, respond("working"), MOVED]).splitlines() == [
        describe(GONE),
        describe(MOVED),
    ]
    assert describe(GONE).startswith("- `chapters/a.md:7` <https://example.org/a>: 404 Client")
    assert describe(MOVED).endswith("moved to https://example.org/b")


STATUSES = {"/good": 200, "/gone": 404, "/moved": 301, "/closed": 403}


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(STATUSES[self.path])
        if self.path == "/moved":
            self.send_header("Location", "/good")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.weekly
def test_every_link_of_a_page_with_this_books_settings_is_requested(server, tmp_path):
    shutil.copy(ROOT / "_config.yml", tmp_path)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/first\n")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "references.bib").touch()
    links = [f"[{path}]({server}{path})" for path in STATUSES]
    (tmp_path / "chapters" / "first.md").write_text("# First\n\n" + "\n\n".join(links) + "\n")

    done = subprocess.run(
        [sys.executable, "-m", "tools.ci.links", "--root", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "4 links were requested." in done.stderr
    gone, moved = sorted(done.stdout.splitlines())
    assert f"`chapters/first.md:5` <{server}/gone>: 404" in gone
    assert f"<{server}/moved>: moved to {server}/good" in moved
