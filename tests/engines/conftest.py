"""One Firefox, one WebKit and one Chromium, and the reports of the pages that they open."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest

from attnbook import figures
from tests.browsing import PAGES, PICTURES
from tests.engines import firefox, webkit
from tests.engines.chromium import Chromium
from tests.engines.engine import NARROW, Engine, choose_scheme
from tests.engines.page_report import PageReport, open_page, read_figures, use_figures
from tests.engines.watched_site import watched_copy
from tests.sampling import choose_cases
from tools import ROOT

OTHERS = {
    "firefox": (
        firefox.find_installed,
        firefox.Firefox,
        "Firefox is not installed, so no page was opened in it: `apt-get install firefox-esr`.",
    ),
    "webkit": (
        webkit.find_installed,
        webkit.WebKit,
        "WebKit is not installed, so no page was opened in it: "
        "`apt-get install webkit2gtk-driver xvfb`.",
    ),
}
# Pages without figures, of which the glossary and the search are enough.
LEFT_OUT = [f"chapters/{name}" for name in ("cheat-sheet", "recipes", "symptoms", "api")]
LEFT_OUT += [f"chapters/{name}" for name in ("bibliography", "teaching", "your-progress")]
LEFT_OUT += [page for page in PAGES if page.startswith("chapters/api-")]


class View(NamedTuple):
    """A page that one engine opens, wide and then narrow, in a light or a dark scheme."""

    page: str
    scheme: str


def pages_with_every_figure(pages: list[str]) -> list[str]:
    """A few of these pages: together they have figures of all kinds, and one has none."""
    files = [ROOT / f"{page}.ipynb" for page in pages]
    texts = [file.read_text("utf-8") if file.exists() else "" for file in files]
    names = [tuple(n for n in figures.__all__ if f"{n}(" in text) or ("none",) for text in texts]
    return [pages[i] for i in choose_cases(names, budget=1, seed=0)]


def list_views(*, full: bool) -> list[tuple[str, View]]:
    """Each page in both engines, or a few pages in one engine each, in turn.

    A page is light in one engine and dark in the other, and so is every other page of an engine.
    """
    pages = [page for page in PAGES if page not in LEFT_OUT]
    chosen_pages = pages if full else pages_with_every_figure(pages)
    return [
        (engine, View(page, ("light", "dark")[(i // 2 + turn) % 2]))
        for turn, engine in enumerate(OTHERS)
        for i, page in enumerate(chosen_pages)
        if full or i % 2 == turn
    ]


def pytest_generate_tests(metafunc):
    if "view" in metafunc.fixturenames:
        # Of the session, or pytest would start the browser for each test.
        views = list_views(full=metafunc.config.getoption("--full"))
        ids = ["-".join([engine, *view]) for engine, view in views]
        metafunc.parametrize(
            ("engine", "view"), views, ids=ids, indirect=["engine"], scope="session"
        )
    elif "engine" in metafunc.fixturenames:
        names = [*getattr(metafunc.module, "ENGINES", OTHERS)]
        if "one_engine" in metafunc.fixturenames:
            turn = zlib.crc32(metafunc.function.__name__.encode()) % len(names)
            others = {*names} - {names[turn]}
            names = [pytest.param(n, marks=pytest.mark.weekly) if n in others else n for n in names]
        metafunc.parametrize("engine", names, indirect=True, scope="session")


@pytest.fixture
def one_engine():
    """Marks a test that depends little on the engine: without `--full`, it runs in one of them."""


def pytest_terminal_summary(terminalreporter):
    """Print once which engine is missing, and how to install it."""
    skipped = {str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])}
    for _, _, sentence in OTHERS.values():
        if any(sentence in why for why in skipped):
            terminalreporter.write_line(sentence)


@pytest.fixture(scope="session")
def watched_site(site, tmp_path_factory):
    return watched_copy(site, tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="session")
def watched_url(serve, watched_site):
    return serve(watched_site)


@pytest.fixture(scope="session")
def engine(request, tmp_path_factory):
    """Each installed engine; Chromium only if a module's `ENGINES` names it."""
    if request.param == "chromium":
        chromium = Chromium(request.getfixturevalue("browser"))
        yield chromium
        chromium.close()
        return
    find_installed, start, sentence = OTHERS[request.param]
    if not find_installed():
        pytest.skip(sentence)
    started = start(tmp_path_factory.mktemp(request.param))
    yield started
    started.close()


@pytest.fixture(scope="session")
def in_chromium(browser, watched_url) -> Callable[..., PageReport]:
    """A function that reports some figures of a page in Chromium."""
    chromium = Chromium(browser)

    @cache
    def report(page: str, *used: int) -> PageReport:
        return read_figures(chromium, f"{watched_url}{page}.html", lambda _: [*used])

    yield report
    chromium.close()


@pytest.fixture(scope="session")
def visit_page(request, watched_url) -> Callable[[Engine, View], PageReport]:
    """A function that opens a page, does what a reader does, and then opens it narrow.

    Unless there is `--full`, only dark pages are also opened narrow, and one figure of each kind is
    used in an engine.
    """
    keep_pictures = request.config.getoption("--pictures")
    every = request.config.getoption("--full")
    kinds_used: dict[str, set[str]] = defaultdict(set)

    @cache
    def go(engine: Engine, view: View) -> PageReport:
        page, scheme = view
        choose_scheme(engine, watched_url, scheme)
        url = f"{watched_url}{page}.html"
        used = kinds_used[engine.name]

        def choose(kinds: list[str]) -> list[int]:
            new = [i for i, kind in enumerate(kinds) if i == kinds.index(kind) and kind not in used]
            return [*range(len(kinds))] if every else new

        report = use_figures(engine, url, choose)
        used |= {*report.kinds}
        if scheme == "light" and not (every or keep_pictures):
            return report
        narrow = open_page(engine, url, NARROW)
        report.still += narrow.still
        report.complaints += engine.complaints()
        if narrow.sideways > 0:
            report.sideways, report.overflow = narrow.sideways, narrow.overflow
        if keep_pictures:
            PICTURES.mkdir(parents=True, exist_ok=True)
            file = f"{engine.name}-{page.rpartition('/')[2]}-{NARROW}-{scheme}.png"
            (PICTURES / file.lower()).write_bytes(engine.screenshot())
        return report

    return go
