"""What the tests require of a browser, and how they wait for a page."""

from __future__ import annotations

import subprocess
import time
from typing import Any, Protocol

WIDE, NARROW = 1280, 360
HEIGHT = 800

# The names of keys in WebDriver that write no character.
KEYS = {
    "Control": "\ue009",
    "Enter": "\ue006",
    "Escape": "\ue00c",
    "Tab": "\ue004",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}


class Engine(Protocol):
    """One browser with one tab. It prefers dark pages; a reader may choose light."""

    name: str

    def open(self, url: str, width: int = WIDE) -> None:
        """Open a page, and wait for its load event; earlier complaints are deleted."""

    def reload(self) -> None:
        """Reload the page, and wait for its load event."""

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """Call a function of JavaScript in the page, await its promise, and pass JSON."""

    def press(self, keys: str) -> None:
        """Press a key, or several together, as in "Control+a"."""

    def write(self, text: str) -> None:
        """Type a text."""

    def click(self, x: float, y: float) -> None:
        """Click at a point."""

    def complaints(self) -> list[str]:
        """Warnings, errors and exceptions since the page was opened."""

    def screenshot(self) -> bytes:
        """The visible part of the page, as PNG."""

    def close(self) -> None:
        """End the browser and its helper programs."""


class WebDriverActions:
    """Keyboard and mouse of an engine that accepts the actions of WebDriver."""

    def perform(self, source: dict[str, Any]) -> None:
        """Perform the actions of one device in order."""
        raise NotImplementedError

    def keys(self, *actions: tuple[str, str]) -> None:
        """Press and release keys."""
        each = [{"type": f"key{way}", "value": key} for way, key in actions]
        self.perform({"type": "key", "id": "keys", "actions": each})

    def press(self, keys: str) -> None:
        pressed = [KEYS.get(key, key) for key in keys.split("+")]
        self.keys(*(("Down", key) for key in pressed), *(("Up", key) for key in reversed(pressed)))

    def write(self, text: str) -> None:
        self.keys(*((way, key) for key in text for way in ("Down", "Up")))

    def click(self, x: float, y: float) -> None:
        move = {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}
        click = [{"type": f"pointer{way}", "button": 0} for way in ("Down", "Up")]
        self.perform({"type": "pointer", "id": "mouse", "actions": [move, *click]})


PATIENCE = 30  # seconds until waiting fails
WAIT = """async (end, ...values) => {
    for (const start = performance.now(); performance.now() - start < 1000 * end;) {
        const got = await (%s)(...values);
        if (got) return got;
        await new Promise(done => setTimeout(done, 20));
    }
    return null;
}"""


def end_process(process: subprocess.Popen) -> None:
    """End a program, even one that does not react to the usual signal."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


class PageHasLeftError(RuntimeError):
    """The page in which a function waited was replaced by the next one."""


def until(engine: Engine, function: str, *arguments: Any, patience: float = PATIENCE) -> Any:
    """Wait in the page until a function gives a true value; None if it never does.

    After a reload WebKit may still run it in the page before; then the new page is asked.
    """
    end = time.monotonic() + patience
    while True:
        try:
            return engine.evaluate(WAIT % function, patience, *arguments)
        except PageHasLeftError:
            if time.monotonic() > end:
                raise


# A page that has open_page for its reader's choice shows it in `data-mode`.
CHOOSE = """scheme => {
    for (const name of ['mode', 'theme'])
        if (scheme === 'dark') localStorage.removeItem(name);
        else localStorage.setItem(name, scheme);
}"""


def choose_scheme(engine: Engine, site_url: str, scheme: str) -> None:
    """Choose light for all pages of a site, as its button does, or delete the choice."""
    engine.open(f"{site_url}phone.html")
    engine.evaluate(CHOOSE, scheme)
