"""WebKit as GTK has it: its MiniBrowser on a screen that nobody sees, driven by WebDriver."""

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
from typing import Any, TextIO

import requests

from tests.engines.engine import HEIGHT, PATIENCE, WIDE, Hand

LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/libexec")
NARROWEST = 450  # px; narrower its window does not get
# Nothing is drawn by a graphics card, and the web process is caged by nothing but us: containers
# forbid the cage, and it shows our own pages.
ENVIRONMENT = {
    "GTK_A11Y": "none",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "NO_AT_BRIDGE": "1",
    "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
}


def mini_browser() -> str | None:
    """Where Debian and others put it, if it is there."""
    found = (path for top in LIBRARIES for path in Path(top).glob("**/webkit2gtk-4.1/MiniBrowser"))
    return next(map(str, found), None)


def installed() -> str | None:
    """Where its driver is, if all that it needs is there."""
    needed = shutil.which("Xvfb") and mini_browser()
    return shutil.which("WebKitWebDriver") if needed else None


@contextmanager
def unseen_screen() -> Iterator[str]:
    """The name of a screen that nobody sees."""
    out, into = os.pipe()
    size = f"{WIDE + 120}x{HEIGHT + 200}x24"
    command = ["Xvfb", "-displayfd", str(into), "-nolisten", "tcp", "-screen", "0", size]
    with subprocess.Popen(command, pass_fds=[into], stderr=subprocess.DEVNULL) as screen:
        os.close(into)
        try:
            with os.fdopen(out) as told:
                yield f":{told.readline().strip()}"
        finally:
            screen.terminate()


@contextmanager
def running(environment: dict[str, str], log: TextIO) -> Iterator[str]:
    """Where a WebKitWebDriver listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(installed()), f"--port={port}"]
    with subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            end = time.monotonic() + PATIENCE
            while not answers(f"{url}/status") and time.monotonic() < end:
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()


def answers(url: str) -> bool:
    """Whether a server is there."""
    try:
        return requests.get(url, timeout=PATIENCE).ok
    except requests.ConnectionError:
        return False


class WebKit(Hand):
    """A MiniBrowser that keeps nothing.

    In this mode it writes no console messages, so its pages are those of a site that
    `watching.watched_copy` made, and tell themselves.

    Args:
        folder: Where its driver writes what it has to say.
    """

    name = "WebKit"

    def __init__(self, folder: Path) -> None:
        with ExitStack() as ends:
            display = ends.enter_context(unseen_screen())
            log = ends.enter_context((folder / "driver.log").open("w", encoding="utf-8"))
            environment = {**os.environ, **ENVIRONMENT, "DISPLAY": display}
            self.session = ends.enter_context(requests.Session())
            self.session.trust_env = False
            self.url = ends.enter_context(running(environment, log))
            options = {
                "binary": mini_browser(),
                "args": ["--automation", "--dark-mode"],
            }
            wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
            self.url += f"/session/{self.ask('session', capabilities=wanted)['sessionId']}"
            ends.callback(self.leave)
            self.ask("timeouts", script=120_000)
            self.ask("window/rect", width=WIDE, height=HEIGHT)
            beside = self.evaluate(f"() => [{WIDE} - innerWidth, {HEIGHT} - innerHeight]")
            self.ask("window/rect", width=WIDE + beside[0], height=HEIGHT + beside[1])
            self.ends = ends.pop_all()

    def leave(self) -> None:
        """End the browser, if its driver did not end before it."""
        with suppress(requests.ConnectionError):
            self.session.delete(self.url, timeout=PATIENCE)

    def ask(self, command: str, **parameters: Any) -> Any:
        """The answer to a command of WebDriver."""
        answer = self.session.post(f"{self.url}/{command}", json=parameters, timeout=180)
        value = answer.json()["value"]
        if not answer.ok:
            raise RuntimeError(f"{command}: {value['error']}: {value['message']}")
        return value

    def open(self, url: str, width: int = WIDE) -> None:
        self.ask("frame", id=None)
        if width >= NARROWEST:
            self.ask("url", url=url)
            return
        self.ask("url", url=f"{url[: url.index('/', 8)]}/phone.html")
        self.evaluate(SHOW_IN_FRAME, url, width, HEIGHT)
        self.ask("frame", id=0)

    def reload(self) -> None:
        self.ask("refresh")

    def evaluate(self, function: str, *arguments: Any) -> Any:
        # A promise is awaited by the driver, which would sort the names in an object.
        called = f"Promise.resolve(({function})(...arguments))"
        script = f"return {called}.then(got => JSON.stringify(got ?? null))"
        return json.loads(self.ask("execute/sync", script=script, args=arguments))

    def perform(self, source: dict[str, Any]) -> None:
        self.ask("actions", actions=[source])

    def complaints(self) -> list[str]:
        return list(self.evaluate("() => window.complaints"))

    def picture(self) -> bytes:
        return base64.b64decode(
            self.session.get(f"{self.url}/screenshot", timeout=60).json()["value"]
        )

    def close(self) -> None:
        self.ends.close()


SHOW_IN_FRAME = """(url, width, height) => new Promise(done => {
    const frame = document.querySelector('iframe');
    Object.assign(frame, { width, height, onload: () => done() });
    frame.src = url;
})"""
