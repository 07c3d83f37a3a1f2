"""One Firefox, one WebKit and one Chromium, and what each of them sees of the built book."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.browsing import PICTURES
from tests.engines import firefox, webkit
from tests.engines.chromium import Chromium
from tests.engines.engine import NARROW, WIDE, Engine, choose
from tests.engines.figures import SHOW_FIRST
from tests.engines.looking import Look, looked, touched
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


@pytest.fixture(scope="session", params=OTHERS)
def engine(request, tmp_path_factory):
    """Each engine that this machine has."""
    installed, start, sentence = OTHERS[request.param]
    if not installed():
        pytest.skip(sentence)
    started = start(tmp_path_factory.mktemp(request.param))
    yield started
    started.close()


@pytest.fixture(scope="session")
def chromium(browser):
    started = Chromium(browser)
    yield started
    started.close()


@pytest.fixture(scope="session")
def keep_pictures(request) -> Callable[[Engine, str], None]:
    """A function that keeps what an engine shows, each kind of figure in turn."""

    def keep(engine: Engine, name: str) -> None:
        if not request.config.getoption("--pictures"):
            return
        PICTURES.mkdir(parents=True, exist_ok=True)
        kinds = engine.evaluate(SHOW_FIRST, "")
        for kind in ["", *kinds]:
            engine.evaluate(SHOW_FIRST, kind)
            file = "-".join(filter(None, [engine.name.lower(), name, kind]))
            (PICTURES / f"{file}.png").write_bytes(engine.picture())

    return keep


@pytest.fixture(scope="session")
def see(watched_home, keep_pictures) -> Callable[..., Look]:
    """A function that looks at a page of the book in an engine, once: light and wide or not.

    A light page is touched, too. Each page has a seed of its own.
    """
    chosen: dict[str, str] = {}

    @cache
    def once(engine: Engine, name: str, scheme: str) -> Look:
        if chosen.get(engine.name) != scheme:
            choose(engine, watched_home, scheme)
            chosen[engine.name] = scheme
        url, short = f"{watched_home}{name}.html", name.rpartition("/")[2]
        if scheme == "light":
            look = touched(engine, url, seed=len(name))
            keep_pictures(engine, f"{short}-{WIDE}-{scheme}")
        else:
            look = looked(engine, url, NARROW)
            keep_pictures(engine, f"{short}-{NARROW}-{scheme}")
        return look

    def go(engine: Engine, name: str, scheme: str = "light") -> Look:
        return once(engine, name, scheme)

    return go
