"""Firefox over WebDriver BiDi, which it supports without a driver."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import websocket

from tests.engines.engine import HEIGHT, PATIENCE, WIDE, WebDriverActions, end_process

PROGRAMS = ("firefox-esr", "firefox")
# No requests to other hosts; 0 is dark.
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "layout.css.prefers-color-scheme.content-override": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.active-protocols": 1,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
    "ui.prefersReducedMotion": 1,
}
# Firefox's message about an element of a formula, and how many children each must have.
IN_PIECES = re.compile(r"Invalid markup: Incorrect number of children for <(m\w+)/> tag")
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2}
CHILDREN |= {"msubsup": 3, "munderover": 3}
IS_WHOLE = """(tag, count) =>
    [...document.getElementsByTagName(tag)].every(e => e.children.length === count)"""
# The page is the requested one, and not the marked one that is being reloaded.
ARRIVED = "url => !window.isBefore && location.href.split('#')[0] === url.split('#')[0]"
LOADED = f"""url => ({ARRIVED})(url) && document.readyState === 'complete'
    && performance.getEntriesByType('navigation').every(it => it.loadEventEnd > 0)"""
MARK = "() => { window.isBefore = true; return location.href; }"
LOST = 10  # seconds until a page that has not begun to load is requested again
LONGEST = 120  # seconds until loading a page or waiting for Firefox fails
LISTENING = re.compile(r"WebDriver BiDi listening on (\S+)\n")
EVENTS = ["log.entryAdded", "network.fetchError"]


def find_installed() -> str | None:
    """The path of Firefox, if it is installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def running(command: list[str], log: Path) -> Iterator[str]:
    """Start a Firefox; gives the address of its WebDriver BiDi.

    Its messages go to a file: a pipe that nobody empties would stop it.
    """
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file) as process,
    ):
        try:
            yield read_address(process, log)
        finally:
            end_process(process)


def read_address(process: subprocess.Popen, log: Path) -> str:
    """Wait until Firefox has written its address."""
    limit = time.monotonic() + LONGEST
    while time.monotonic() < limit and process.poll() is None:
        if address := LISTENING.search(log.read_text("utf-8", "replace")):
            return address[1]
        time.sleep(0.05)
    raise TimeoutError(f"Firefox did not start:\n{log.read_text('utf-8', 'replace')}")


class Firefox(WebDriverActions):
    """A Firefox without a window, with its own profile.

    Args:
        folder: An empty one, for the profile.
    """

    name = "Firefox"

    def __init__(self, folder: Path) -> None:
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()]
        (folder / "user.js").write_text("\n".join(lines), "utf-8")
        command = [str(find_installed()), "--headless", "--no-remote", "--profile", str(folder)]
        self.numbers = count()
        self.messages: list[str] = []
        self.width = 0
        with ExitStack() as ends:
            address = ends.enter_context(
                running([*command, "--remote-debugging-port=0"], folder / "messages.log")
            )
            self.socket = websocket.create_connection(
                f"{address}/session", timeout=LONGEST, suppress_origin=True
            )
            ends.callback(self.socket.close)
            self.ask("session.new", capabilities={})
            # In the first tab the address bar has the focus, and keys press no buttons.
            self.tab = self.ask("browsingContext.create", type="tab")["context"]
            self.ask("session.subscribe", events=EVENTS)
            self.ends = ends.pop_all()

    def ask(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result; events that arrive meanwhile are noted."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (message := json.loads(self.socket.recv())).get("id") != number:
            self.note(message)
        if message["type"] == "error":
            raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
        return message["result"]

    def note(self, event: dict[str, Any]) -> None:
        """Store the message of an event, if it is a complaint of the page."""
        details = event.get("params", {})
        # Warnings that no script of the page logs are Firefox's own, about how slow it was.
        levels = ("warn", "error") if details.get("type") == "console" else ("error",)
        if event.get("method") == "log.entryAdded" and details["level"] in levels:
            self.messages.append(f"{details['level']}: {details['text']}")
        elif event.get("method") == "network.fetchError" and "ABORT" not in details["errorText"]:
            self.messages.append(f"{details['errorText']}: {details['request']['url']}")

    def open(self, url: str, width: int = WIDE) -> None:
        self.go_to("about:blank")
        self.resize(width)
        self.messages = []
        self.go_to(url)

    def reload(self) -> None:
        address = self.evaluate(MARK)
        self.load(address, "browsingContext.reload")

    def go_to(self, url: str) -> None:
        """Open a page that is not open already."""
        self.load(url, "browsingContext.navigate", {"url": url})

    def load(self, url: str, command: str, parameters: dict[str, str] | None = None) -> None:
        """Load a page, and poll the page itself until it has loaded.

        Of a thousand pages after a blank one, Firefox silently never loads one or two.
        So a page that does not begin to load is requested again.
        """
        last = -math.inf

        def loaded() -> bool:
            nonlocal last
            if time.monotonic() - last > LOST and not self.evaluate(ARRIVED, url):
                last = time.monotonic()
                self.ask(command, context=self.tab, wait="none", **(parameters or {}))
            return bool(self.evaluate(LOADED, url))

        self.repeat(loaded, f"{url} did not load")

    def repeat(self, action: Callable[[], Any], failure: str) -> None:
        """Repeat an action until it gives a true value; Firefox refuses some while pages change."""
        refusal, end = None, time.monotonic() + LONGEST
        self.socket.settimeout(PATIENCE)
        try:
            while time.monotonic() < end:
                try:
                    if action():
                        return
                except (RuntimeError, websocket.WebSocketTimeoutException) as error:
                    refusal = error
                time.sleep(0.02)
        finally:
            self.socket.settimeout(LONGEST)
        raise TimeoutError(f"{failure} within {LONGEST} s") from refusal

    def resize(self, width: int) -> None:
        """Set the width of the tab, which stays for the next pages."""
        if width == self.width:
            return

        def resized() -> bool:
            size = {"width": width, "height": HEIGHT}
            return self.ask("browsingContext.setViewport", context=self.tab, viewport=size) == {}

        self.repeat(resized, f"the tab did not become {width} px wide")
        self.width = width

    def evaluate(self, function: str, *arguments: Any) -> Any:
        called = f"Promise.resolve(({function})(...{json.dumps(arguments)}))"
        result = self.ask(
            "script.evaluate",
            expression=f"{called}.then(got => JSON.stringify(got ?? null))",
            target={"context": self.tab},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def perform(self, source: dict[str, Any]) -> None:
        self.ask("input.performActions", context=self.tab, actions=[source])

    def complaints(self) -> list[str]:
        self.evaluate("() => new Promise(done => setTimeout(done))")  # messages may be on their way
        return [message for message in self.messages if not self.is_about_pieces(message)]

    def is_about_pieces(self, message: str) -> bool:
        """Whether a message is about MathML that was incomplete when parsed and is complete now.

        Firefox logs this on a busy machine about a page that is correct once it is loaded.
        """
        match = IN_PIECES.search(message)
        return bool(match) and self.evaluate(IS_WHOLE, match[1], CHILDREN[match[1]])

    def screenshot(self) -> bytes:
        result = self.ask("browsingContext.captureScreenshot", context=self.tab)
        return base64.b64decode(result["data"])

    def close(self) -> None:
        self.ends.close()
