"""What the tests ask of a browser, whichever engine it has, and how they wait for a page."""

from __future__ import annotations

from typing import Any, Protocol

WIDE, NARROW = 1280, 360
HEIGHT = 800

# What WebDriver calls the keys that write nothing.
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
    """One browser with one tab. It prefers the dark: a light page is the reader's choice."""

    name: str

    def open(self, url: str, width: int = WIDE) -> None:
        """Show a page, at its load event; what was complained of before is forgotten."""

    def reload(self) -> None:
        """Load the page again, to its load event."""

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """What a function of JavaScript gives in the page, or what it promises; both are JSON."""

    def press(self, keys: str) -> None:
        """Press a key, or several together, as in "Control+a"."""

    def write(self, text: str) -> None:
        """Press one key after the other."""

    def point(self, x: float, y: float) -> None:
        """Move the mouse there, press and let go."""

    def complaints(self) -> list[str]:
        """Warnings, errors and exceptions since the page was opened."""

    def picture(self) -> bytes:
        """What is to be seen of the page, as PNG."""

    def close(self) -> None:
        """End all that was started."""


class Hand:
    """Keys and mouse of an engine that takes actions as WebDriver writes them."""

    def perform(self, source: dict[str, Any]) -> None:
        """What one device does, in turn."""
        raise NotImplementedError

    def keys(self, *actions: tuple[str, str]) -> None:
        """Keys that go down and up."""
        done = [{"type": f"key{way}", "value": key} for way, key in actions]
        self.perform({"type": "key", "id": "keys", "actions": done})

    def press(self, keys: str) -> None:
        held = [KEYS.get(key, key) for key in keys.split("+")]
        self.keys(*(("Down", key) for key in held), *(("Up", key) for key in reversed(held)))

    def write(self, text: str) -> None:
        self.keys(*((way, key) for key in text for way in ("Down", "Up")))

    def point(self, x: float, y: float) -> None:
        there = {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}
        click = [{"type": f"pointer{way}", "button": 0} for way in ("Down", "Up")]
        self.perform({"type": "pointer", "id": "mouse", "actions": [there, *click]})


PATIENCE = 30  # seconds until something that should come is said not to have come
WAIT = """async (end, ...given) => {
    for (const start = performance.now(); performance.now() - start < 1000 * end;) {
        const got = await (%s)(...given);
        if (got) return got;
        await new Promise(done => setTimeout(done, 20));
    }
    return null;
}"""


def until(engine: Engine, function: str, *arguments: Any, patience: float = PATIENCE) -> Any:
    """Wait in the page until a function gives something; None where it never does."""
    return engine.evaluate(WAIT % function, patience, *arguments)


# A page that has looked for its reader's choice shows it in `data-mode`.
CHOOSE = """scheme => {
    for (const name of ['mode', 'theme'])
        if (scheme === 'dark') localStorage.removeItem(name);
        else localStorage.setItem(name, scheme);
}"""


def choose(engine: Engine, home: str, scheme: str) -> None:
    """Choose light for all pages of a site, as its button does, or leave it to the browser."""
    engine.open(f"{home}phone.html")
    engine.evaluate(CHOOSE, scheme)
