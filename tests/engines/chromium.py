"""Chromium, with which the other engines are compared."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser

from tests.engines.engine import HEIGHT, WIDE


class Chromium:
    """A tab of the Chromium in which the other tests run."""

    name = "Chromium"

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(color_scheme="dark", reduced_motion="reduce")
        self.tab = self.context.new_page()

    def open(self, url: str, width: int = WIDE) -> None:
        self.tab.set_viewport_size({"width": width, "height": HEIGHT})
        self.tab.goto(url)

    def evaluate(self, function: str, *arguments: Any) -> Any:
        return self.tab.evaluate(f"values => ({function})(...values)", list(arguments))

    def reload(self) -> None:
        self.tab.reload()

    def press(self, keys: str) -> None:
        self.tab.keyboard.press(keys)

    def write(self, text: str) -> None:
        self.tab.keyboard.type(text)

    def complaints(self) -> list[str]:
        return list(self.evaluate("() => window.complaints"))  # of a page of a watched site

    def close(self) -> None:
        self.context.close()
