"""What the measurements of pages share: a browser, a server, and the time to the first response."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tools.book.server import QuietHandler, start_server
from tools.chromium import launch

# A typical phone connection: 10 Mbit/s, 50 ms to the server and back.
PHONE = {"offline": False, "latency": 50, "downloadThroughput": 1.25e6, "uploadThroughput": 6e5}

# Searches each frame for a slider of a figure, gives the key that moves it, and notes the time when
# the numbers on the screen change. `alive` counts from the start of the navigation.
WATCH = """
window.slider = new Promise((resolve) => {
  const find = () => {
    const figure = document.querySelector("figure[data-attnbook-figure]");
    const slider = [...(figure?.querySelectorAll("input[type=range]") ?? [])]
      .find((input) => input.checkVisibility());
    if (!slider) return requestAnimationFrame(find);
    const cells = () => [...figure.querySelectorAll("td[data-value]")];
    const numbers = () => cells().map((cell) => cell.dataset.value).join();
    const before = numbers();
    slider.addEventListener("input", () => requestAnimationFrame(() => setTimeout(() => {
      if (numbers() !== before) window.alive ??= performance.now();
    })));
    slider.focus({ preventScroll: true });
    resolve(slider.value === slider.min ? "ArrowRight" : "ArrowLeft");
  };
  requestAnimationFrame(find);
});
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that can reach only this machine."""
    with sync_playwright() as playwright:
        browser = launch(playwright.chromium, whole=True)
        yield browser
        browser.close()


@cache
def compress(file: Path) -> bytes:
    """The compressed content of a file."""
    return gzip.compress(file.read_bytes(), 6)


class CompressingHandler(QuietHandler):
    """Serves files like a web server: compressed, over connections that stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # as web servers do; otherwise each response may wait for 40 ms

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        """Send a file, or the status 404."""
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        body = compress(file)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(file)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # the page may be closed
            self.wfile.write(body)


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder to this machine; gives its address."""
    server = start_server(folder, CompressingHandler)
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@contextmanager
def open_new_page(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page without a cache, and the addresses that it requests."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page, requested = context.new_page(), list[str]()
    page.on("request", lambda request: requested.append(request.url))
    page.add_init_script(WATCH)
    yield page, requested
    context.close()


def time_to_response(
    browser: Browser, address: str, network: dict[str, Any] | None = None
) -> float:
    """Milliseconds from navigation until a key press has moved the first figure."""
    with open_new_page(browser) as (page, _):
        if network:
            session = page.context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", network)
        page.goto(address, wait_until="commit", timeout=60_000)
        page.keyboard.press(page.evaluate("window.slider"))
        page.wait_for_function("window.alive")
        return float(page.evaluate("window.alive"))
