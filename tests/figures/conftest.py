"""Fixtures of all figures: pages with figures, and books from a server and from a folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from attnbook.figures.shared.base import Figure
from tests.figures.attention.cases import traits
from tests.figures.shared.page import FRAMES, View, harness, open_figure
from tests.tools.site.site_checks import WIDE
from tools.site.figures.gallery import gallery


@pytest.fixture(scope="module")
def open_figures(browser, serve, tmp_path_factory):
    """A function that opens a page with figures, and gives the tab and the figures."""
    folder = tmp_path_factory.mktemp("figures")
    address = serve(folder)

    @contextmanager
    def go(*figures: Figure, scheme: str = "light", way: str = "http", **options: Any):
        page = folder / "page.html"
        page.write_text(harness(figures, scheme), "utf-8")
        url = f"{address}page.html" if way == "http" else page.as_uri()
        options = {"width": WIDE, "color_scheme": scheme, "reduced_motion": "reduce"} | options
        with open_figure(browser, url, **options) as (tab, record):
            tab.evaluate("ready")
            yield tab, tab.locator("figure[data-attnbook-figure]")
            assert record.complaints == []

    return go


@pytest.fixture(scope="session")
def book_gallery(site, tmp_path_factory):
    """The address of a page with all figures of the book."""
    page = tmp_path_factory.mktemp("gallery") / "gallery.html"
    page.write_text(gallery(site, []), "utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def stage(open_figures):
    """A function that puts named figures on one page; returns a function that shows one of them.

    It resets the figure to its first state, and gives the page its width.
    """
    with ExitStack() as pages:

        def go(figures: dict[str, Figure]) -> Callable[..., View]:
            states = [traits(figure) for figure in figures.values()]
            tab, found = pages.enter_context(open_figures(*figures.values(), has_touch=True))
            parts = zip(found.all(), states, strict=True)
            on_page = [View(tab, *both, index) for index, both in enumerate(parts)]
            named = dict(zip(figures, on_page, strict=True))

            def show(name: str, width: int = WIDE) -> View:
                if tab.viewport_size["width"] != width:
                    tab.set_viewport_size({"width": width, "height": 800})
                    tab.evaluate(FRAMES)
                tab.mouse.move(0, 0)
                return named[name].reset()

            return show

        yield go


@pytest.fixture(scope="module")
def over_http(pages, serve):
    """The page "tasks" of the module's book, from a server."""
    return f"{serve(pages.html)}tasks.html"


@pytest.fixture(scope="module", params=["http", "file"])
def address(request, pages, serve):
    """The address of a small book, `pages` of the test module, on a server and in a folder."""
    return serve(pages.html) if request.param == "http" else f"{pages.html.as_uri()}/"
