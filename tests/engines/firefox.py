"""Firefox over WebDriver BiDi, which it speaks itself: no program stands between."""

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

from tests.engines.engine import HEIGHT, PATIENCE, WIDE, Hand

PROGRAMS = ("firefox-esr", "firefox")
# Nothing is asked of other hosts; 0 is dark.
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
# Firefox's own message about a formula's element, and how many children each must have.
IN_PIECES = re.compile(r"Invalid markup: Incorrect number of children for <(m\w+)/> tag")
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2}
CHILDREN |= {"msubsup": 3, "munderover": 3}
IS_WHOLE = """(tag, count) =>
    [...document.getElementsByTagName(tag)].every(e => e.children.length === count)"""
# The page is the one that was asked for; one that is to be reloaded is marked.
ARRIVED = "url => !window.isBefore && location.href.split('#')[0] === url.split('#')[0]"
LOADED = f"""url => ({ARRIVED})(url) && document.readyState === 'complete'
    && performance.getEntriesByType('navigation').every(it => it.loadEventEnd > 0)"""
MARK = "() => { window.isBefore = true; return location.href; }"
LOST = 10  # seconds until a page is asked for again that has not even begun to come
LONGEST = 120  # seconds until a page is said not to have loaded, or Firefox not to answer
LISTENING = "WebDriver BiDi listening on "
TOLD = ["log.entryAdded", "network.fetchError"]


def installed() -> str | None:
    """Where it is, if it is there."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def running(command: list[str]) -> Iterator[str]:
    """Where a Firefox listens that this command starts."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **quiet) as process:
        try:
            said = process.stderr
            yield next(line.partition(LISTENING)[2].strip() for line in said if LISTENING in line)
        finally:
            process.terminate()


class Firefox(Hand):
    """A Firefox without a window, with a profile of its own.

    Args:
        folder: An empty one, for the profile.
    """

    name = "Firefox"

    def __init__(self, folder: Path) -> None:
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()]
        (folder / "user.js").write_text("\n".join(lines), "utf-8")
        command = [str(installed()), "--headless", "--no-remote", "--profile", str(folder)]
        self.numbers = count()
        self.messages: list[str] = []
        self.width = 0
        with ExitStack() as ends:
            address = ends.enter_context(running([*command, "--remote-debugging-port=0"]))
            self.socket = websocket.create_connection(
                f"{address}/session", timeout=LONGEST, suppress_origin=True
            )
            ends.callback(self.socket.close)
            self.ask("session.new", capabilities={})
            # In the first tab the focus is on the field for addresses: keys press no buttons.
            self.tab = self.ask("browsingContext.create", type="tab")["context"]
            self.ask("session.subscribe", events=TOLD)
            self.ends = ends.pop_all()

    def ask(self, method: str, **parameters: Any) -> Any:
        """The answer to a command; what happens meanwhile is noted."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (said := json.loads(self.socket.recv())).get("id") != number:
            self.note(said)
        if said["type"] == "error":
            raise RuntimeError(f"{method}: {said['error']}: {said['message']}")
        return said["result"]

    def note(self, event: dict[str, Any]) -> None:
        """Keep what a page complains of."""
        given = event.get("params", {})
        if event.get("method") == "log.entryAdded" and given["level"] in ("warn", "error"):
            self.messages.append(f"{given['level']}: {given['text']}")
        elif event.get("method") == "network.fetchError" and "ABORT" not in given["errorText"]:
            self.messages.append(f"{given['errorText']}: {given['request']['url']}")

    def open(self, url: str, width: int = WIDE) -> None:
        self.go_to("about:blank")
        self.resize(width)
        self.messages = []
        self.go_to(url)

    def reload(self) -> None:
        address = self.evaluate(MARK)
        self.load(address, "browsingContext.reload")

    def go_to(self, url: str) -> None:
        """Show another page than the one that is shown."""
        self.load(url, "browsingContext.navigate", {"url": url})

    def load(self, url: str, command: str, parameters: dict[str, str] | None = None) -> None:
        """Have a page loaded, and ask the page itself when it is there.

        Of a thousand pages that follow a blank one, one or two never come, and no answer either:
        Firefox stays with the blank page. So a page that does not begin to come is asked for again.
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
        """Do again what gives nothing yet, or what Firefox refuses while pages change."""
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
        """Give the tab another width, which it keeps."""
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
        self.evaluate("() => new Promise(done => setTimeout(done))")  # what was said is on its way
        return [message for message in self.messages if not self.is_about_pieces(message)]

    def is_about_pieces(self, message: str) -> bool:
        """Whether Firefox speaks of MathML that it parsed in pieces, and that is whole by now.

        It logs this on a busy machine, of a page that is correct once it is loaded.
        """
        found = IN_PIECES.search(message)
        return bool(found) and self.evaluate(IS_WHOLE, found[1], CHILDREN[found[1]])

    def picture(self) -> bytes:
        taken = self.ask("browsingContext.captureScreenshot", context=self.tab)
        return base64.b64decode(taken["data"])

    def close(self) -> None:
        self.ends.close()
