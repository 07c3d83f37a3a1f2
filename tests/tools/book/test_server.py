"""What the server adds to the pages of a draft, and that it serves other files unchanged."""

from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tools.book.server import BUILD, address, show, start_server

PAGE = "<!DOCTYPE html>\n<html><body><p>Ω</p></body></html>\n"


@pytest.fixture
def server(tmp_path):
    """A server of the second of two builds."""
    for build in ("1", "2"):
        (tmp_path / build).mkdir()
        (tmp_path / build / "index.html").write_text(f"{PAGE}<!-- {build} -->", "utf-8")
    (tmp_path / "2" / "site.css").write_text("p {}")
    server = start_server(tmp_path / "1")
    show(server, tmp_path / "2")
    yield server
    server.shutdown()
    server.server_close()


def request(server, path):
    """The text and the headers of the response to a path."""
    start = address(server).removesuffix("/index.html")
    with urlopen(f"{start}{path}", timeout=10) as reply:  # noqa: S310 - our own server
        return reply.read().decode(), reply.headers


def test_a_served_page_asks_for_its_build_but_its_file_is_unchanged(server, tmp_path):
    page, headers = request(server, "/index.html")
    assert page.startswith(PAGE)
    assert '<script data-build="2">' in page
    assert f'fetch("{BUILD}")' in page
    assert int(headers["Content-Length"]) == len(page.encode())
    assert "<script" not in (tmp_path / "2" / "index.html").read_text("utf-8")

    # An open page is informed of each new build.
    assert request(server, BUILD)[0] == "2"
    show(server, tmp_path / "1")
    assert request(server, BUILD)[0] == "1"
    assert "<!-- 1 -->" in request(server, "/index.html")[0]


def test_other_files_are_served_unchanged_and_nothing_is_cached(server):
    for path in ("/index.html", "/site.css", BUILD):
        assert request(server, path)[1]["Cache-Control"] == "no-cache"
    assert request(server, "/site.css")[0] == "p {}"
    with pytest.raises(HTTPError, match="404"):
        request(server, "/nowhere.html")


def test_the_finished_book_is_served_without_a_script(tmp_path):
    (tmp_path / "index.html").write_text(PAGE, "utf-8")
    server = start_server(tmp_path)
    assert server.server_address[0] == "127.0.0.1"  # no other machine can connect
    assert request(server, "/index.html")[0] == PAGE
    server.shutdown()
    server.server_close()
