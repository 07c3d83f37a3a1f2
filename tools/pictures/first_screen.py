"""The README's picture: the first screen of Welcome, from the built book.

python -m tools.pictures.first_screen    (make first-screen)
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

from tools import ROOT, chromium

PAGE = ROOT / "_build" / "html" / "chapters" / "welcome.html"
PICTURE = ROOT / "img" / "first-screen.png"
# As wide as GitHub shows it, and no higher than what invites: the figure and its first sentences.
WIDTH, HEIGHT, SHARPNESS = 830, 545, 2
# Around the picture, which would otherwise look like a part of the page that shows it.
FRAME = (
    "html::after {content: ''; position: fixed; inset: 0; border: 2px solid #8c959f; z-index: 9999}"
)


def take(page: Path, picture: Path) -> None:
    """Store what a reader sees of a page before scrolling, once its figure is drawn."""
    with sync_playwright() as playwright, chromium.launch(playwright.chromium) as browser:
        tab = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            device_scale_factor=SHARPNESS,
            color_scheme="light",
        )
        tab.goto(page.absolute().as_uri())
        tab.locator(".attnbook-figure").first.wait_for()
        tab.evaluate("document.fonts.ready")
        tab.add_style_tag(content=FRAME)
        tab.screenshot(path=picture)


if __name__ == "__main__":
    take(PAGE, PICTURE)
