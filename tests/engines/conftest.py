"""One Firefox, one WebKit and one Chromium, and what each of them sees of the built book."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest

from tests.browsing import PAGES, PICTURES
from tests.engines import firefox, webkit
from tests.engines.chromium import Chromium
from tests.engines.engine import NARROW, Engine, choose
from tests.engines.looking import Look, looked, moved, touched
from tests.engines.watching import watched_copy

OTHERS = {
    "firefox": (
        firefox.installed,
        firefox.Firefox,
        "Firefox is not installed, so no page was opened in it: `apt-get install firefox-esr`.",
    ),
    "webkit": (
        webkit.installed,
        webkit.WebKit,
        "WebKit is not installed, so no page was opened in it: "
        "`apt-get install webkit2gtk-driver xvfb`.",
    ),
}
# Of the pages without figures, the glossary and the search are enough.
LEFT_OUT = [
    f"chapters/{name}"
    for name in ("summary", "mask-table", "api", "bibliography", "teaching", "your-progress")
]


class Reading(NamedTuple):
    """A page as one engine opens it, wide and then narrow: light or dark."""

    page: str
    scheme: str


def readings(*, full: bool) -> list[tuple[str, Reading]]:
    """Each page in one engine, the next one in the other, half of each light; or each in both.

    What is light in one engine is dark in the other.
    """
    pages = [page for page in PAGES if page not in LEFT_OUT]
    return [
        (engine, Reading(page, ("light", "dark")[(place // 2 + turn) % 2]))
        for turn, engine in enumerate(OTHERS)
        for place, page in enumerate(pages)
        if full or place % 2 == turn
    ]


def pytest_generate_tests(metafunc):
    if "reading" in metafunc.fixturenames:
        # Of the session, or pytest would start the browser for each test.
        all_of_them = readings(full=metafunc.config.getoption("--full"))
        ids = ["-".join([engine, *reading]) for engine, reading in all_of_them]
        metafunc.parametrize(
            ("engine", "reading"), all_of_them, ids=ids, indirect=["engine"], scope="session"
        )
    elif "engine" in metafunc.fixturenames:
        names = getattr(metafunc.module, "ENGINES", OTHERS)
        metafunc.parametrize("engine", names, indirect=True, scope="session")


def pytest_terminal_summary(terminalreporter):
    """Say once what was left out, and how to have it."""
    skipped = {str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])}
    for _, _, sentence in OTHERS.values():
        if any(sentence in why for why in skipped):
            terminalreporter.write_line(sentence)


@pytest.fixture(scope="session")
def watched(site, tmp_path_factory):
    return watched_copy(site, tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="session")
def watched_home(serve, watched):
    return serve(watched)


@pytest.fixture(scope="session")
def engine(request, tmp_path_factory):
    """Each engine that this machine has; Chromium only where a module's `ENGINES` names it."""
    if request.param == "chromium":
        chromium = Chromium(request.getfixturevalue("browser"))
        yield chromium
        chromium.close()
        return
    installed, start, sentence = OTHERS[request.param]
    if not installed():
        pytest.skip(sentence)
    started = start(tmp_path_factory.mktemp(request.param))
    yield started
    started.close()


@pytest.fixture(scope="session")
def in_chromium(browser, watched_home) -> Callable[[str], Look]:
    """A function that gives what figures of a page show in Chromium."""
    chromium = Chromium(browser)
    yield cache(lambda page: moved(chromium, f"{watched_home}{page}.html"))
    chromium.close()


@pytest.fixture(scope="session")
def see(request, watched_home) -> Callable[[Engine, Reading], Look]:
    """A function that opens a page in an engine, does what a reader does, and makes it narrow."""
    keep = request.config.getoption("--pictures")

    @cache
    def go(engine: Engine, reading: Reading) -> Look:
        page, scheme = reading
        choose(engine, watched_home, scheme)
        url = f"{watched_home}{page}.html"
        look = touched(engine, url)
        narrow = looked(engine, url, NARROW)
        look.still += narrow.still
        look.complaints += engine.complaints()
        if narrow.sideways > 0:
            look.sideways, look.overflow = narrow.sideways, narrow.overflow
        if keep:
            PICTURES.mkdir(parents=True, exist_ok=True)
            file = f"{engine.name}-{page.rpartition('/')[2]}-{NARROW}-{scheme}.png"
            (PICTURES / file.lower()).write_bytes(engine.picture())
        return look

    return go
