"""WebKit of GTK: its MiniBrowser on a virtual screen, controlled by WebDriver."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from select import select
from typing import Any, TextIO

import requests

from tests.engines.engine import (
    HEIGHT,
    PATIENCE,
    WIDE,
    PageHasLeftError,
    WebDriverActions,
    end_process,
    until,
)

LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/libexec")
NARROWEST = 450  # px; the least width of its window
# No graphics card, and no sandbox: containers forbid it, and only our own pages are shown.
ENVIRONMENT = {
    "GTK_A11Y": "none",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "NO_AT_BRIDGE": "1",
    "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
}


def mini_browser() -> str | None:
    """The path of the MiniBrowser, if it is installed."""
    paths = (path for top in LIBRARIES for path in Path(top).glob("**/webkit2gtk-4.1/MiniBrowser"))
    return next(map(str, paths), None)


def find_installed() -> str | None:
    """The path of its driver, if everything that it needs is installed."""
    needed = shutil.which("Xvfb") and mini_browser()
    return shutil.which("WebKitWebDriver") if needed else None


@contextmanager
def virtual_screen() -> Iterator[str]:
    """Start a virtual screen; gives its name."""
    out, into = os.pipe()
    size = f"{WIDE + 120}x{HEIGHT + 200}x24"
    command = ["Xvfb", "-displayfd", str(into), "-nolisten", "tcp", "-screen", "0", size]
    with subprocess.Popen(command, pass_fds=[into], stderr=subprocess.DEVNULL) as screen:
        os.close(into)
        try:
            with os.fdopen(out) as name:
                if not select([out], [], [], PATIENCE)[0]:
                    raise TimeoutError("Xvfb did not start.")
                yield f":{name.readline().strip()}"
        finally:
            end_process(screen)


@contextmanager
def running(environment: dict[str, str], log: TextIO) -> Iterator[str]:
    """Start a WebKitWebDriver; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(find_installed()), f"--port={port}"]
    with subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            end = time.monotonic() + PATIENCE
            while not answers(f"{url}/status") and time.monotonic() < end:
                time.sleep(0.05)
            yield url
        finally:
            end_process(process)


def answers(url: str) -> bool:
    """Whether a server responds."""
    try:
        return requests.get(url, timeout=PATIENCE).ok
    except requests.ConnectionError:
        return False


class WebKit(WebDriverActions):
    """A MiniBrowser without stored data.

    In this mode it writes no console messages, so it opens pages of a site that
    `watched_site.watched_copy` made, which store their errors.

    Args:
        folder: The folder for the log of its driver.
    """

    name = "WebKit"

    def __init__(self, folder: Path) -> None:
        with ExitStack() as ends:
            display = ends.enter_context(virtual_screen())
            log = ends.enter_context((folder / "driver.log").open("w", encoding="utf-8"))
            environment = {**os.environ, **ENVIRONMENT, "DISPLAY": display}
            self.session = ends.enter_context(requests.Session())
            self.session.trust_env = False
            self.url = ends.enter_context(running(environment, log))
            options = {
                "binary": mini_browser(),
                "args": ["--automation", "--dark-mode"],
            }
            capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
            self.url += f"/session/{self.ask('session', capabilities=capabilities)['sessionId']}"
            ends.callback(self.leave)
            self.ask("timeouts", script=120_000)
            self.ask("window/rect", width=WIDE, height=HEIGHT)
            frame = self.evaluate(f"() => [{WIDE} - innerWidth, {HEIGHT} - innerHeight]")
            self.ask("window/rect", width=WIDE + frame[0], height=HEIGHT + frame[1])
            self.ends = ends.pop_all()

    def leave(self) -> None:
        """End the browser, unless its driver has ended already."""
        with suppress(requests.ConnectionError):
            self.session.delete(self.url, timeout=PATIENCE)

    def ask(self, command: str, **parameters: Any) -> Any:
        """Send a command of WebDriver and return its result."""
        response = self.session.post(f"{self.url}/{command}", json=parameters, timeout=180)
        value = response.json()["value"]
        if not response.ok:
            error = PageHasLeftError if "unload event" in value["message"] else RuntimeError
            raise error(f"{command}: {value['error']}: {value['message']}")
        return value

    def open(self, url: str, width: int = WIDE) -> None:
        self.ask("frame", id=None)
        if width >= NARROWEST:
            self.load("url", url=url)
            return
        self.load("url", url=f"{url[: url.index('/', 8)]}/phone.html")
        self.evaluate(SHOW_IN_FRAME, url, width, HEIGHT)
        self.ask("frame", id=0)

    def reload(self) -> None:
        self.load("refresh")

    def load(self, command: str, **parameters: Any) -> None:
        """Load a page. After a command the page before, which is marked, may still respond."""
        self.evaluate("() => { window.isBefore = true; }")
        self.ask(command, **parameters)
        if not until(self, LOADED):
            raise TimeoutError(f"{command} did not end: {parameters}")

    def evaluate(self, function: str, *arguments: Any) -> Any:
        # As JSON, because the driver would sort the names in an object.
        called = f"Promise.resolve(({function})(...arguments))"
        script = f"return {called}.then(got => JSON.stringify(got ?? null))"
        return json.loads(self.ask("execute/sync", script=script, args=arguments))

    def perform(self, source: dict[str, Any]) -> None:
        self.ask("actions", actions=[source])

    def complaints(self) -> list[str]:
        return list(self.evaluate("() => window.complaints"))

    def screenshot(self) -> bytes:
        return base64.b64decode(
            self.session.get(f"{self.url}/screenshot", timeout=60).json()["value"]
        )

    def close(self) -> None:
        self.ends.close()


LOADED = "() => !window.isBefore && document.readyState === 'complete'"
SHOW_IN_FRAME = """(url, width, height) => new Promise(done => {
    const frame = document.querySelector('iframe');
    Object.assign(frame, { width, height, onload: () => done() });
    frame.src = url;
})"""
