"""Chromium, with which the others are compared."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser

from tests.engines.engine import HEIGHT, WIDE
from tests.tools.site.site_checks import Visit, watched


class Chromium:
    """A tab of the Chromium in which the other tests run."""

    name = "Chromium"

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(color_scheme="dark", reduced_motion="reduce")
        self.tab, self.record = watched(self.context)
        self.home = ""

    def open(self, url: str, width: int = WIDE) -> None:
        self.tab.set_viewport_size({"width": width, "height": HEIGHT})
        vars(self.record).update(vars(Visit()))
        self.home = url[: url.index("/", 8) + 1]
        self.tab.goto(url)

    def evaluate(self, function: str, *arguments: Any) -> Any:
        return self.tab.evaluate(f"given => ({function})(...given)", list(arguments))

    def press(self, keys: str) -> None:
        self.tab.keyboard.press(keys)

    def write(self, text: str) -> None:
        self.tab.keyboard.type(text)

    def point(self, x: float, y: float) -> None:
        self.tab.mouse.click(x, y)

    def complaints(self) -> list[str]:
        return [*self.record.complaints, *self.record.failures]

    def foreign(self) -> list[str]:
        return self.record.foreign(self.home)

    def picture(self) -> bytes:
        return self.tab.screenshot(animations="disabled")

    def close(self) -> None:
        self.context.close()
