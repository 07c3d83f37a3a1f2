"""One browser and one local server for all tests of the built book."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Error, Locator, Page, sync_playwright

from tests.tools.site.jupyterlab import jupyterlab, write_notebook
from tools import ROOT
from tools.book.server import QuietHandler, start_server
from tools.chromium import launch
from tools.table_of_contents import pages

SITE = ROOT / "_build" / "html"
PICTURES = ROOT / "_build" / "screenshots"
PAGES = [*pages(), "search"]
# One page of each kind. The tests that open each page open the others weekly.
USUAL = {f"chapters/{name}" for name in ("welcome", "attention-from-nothing", "api", "notation")}
USUAL |= {f"chapters/{name}" for name in ("api-layers", "mask-table", "cheat-sheet")} | {"search"}
# Names the file where tools/ci/run_tests.py writes how the book's build ended.
BOOK_EXIT_CODE = "ATTNBOOK_BOOK_EXIT_CODE"


def pytest_addoption(parser):
    parser.addoption(
        "--pictures",
        action="store_true",
        help="save a picture of each page and figure that a test opens, in _build/screenshots",
    )


def pytest_generate_tests(metafunc):
    if {"name", "site"} <= {*metafunc.fixturenames}:
        weekly = {page: [] if page in USUAL else [pytest.mark.weekly] for page in PAGES}
        names = [pytest.param(page, marks=marks) for page, marks in weekly.items()]
        metafunc.parametrize("name", names)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests that open pages, in which browser, and tests that need the built book."""
    for item in items:
        if "engine" in item.fixturenames:
            item.add_marker("engines")
        elif {"browser", "site"} & {*item.fixturenames}:
            item.add_marker("browser")
        if "site" in item.fixturenames:
            item.add_marker("book")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Wait for the book, which `make test` builds meanwhile, before the time of a test begins."""
    exit_code = os.environ.get(BOOK_EXIT_CODE)
    while exit_code and item.get_closest_marker("book") and not Path(exit_code).exists():
        time.sleep(0.2)
    return (yield)


@pytest.fixture(scope="session")
def site():
    """The built book."""
    if (exit_code := os.environ.get(BOOK_EXIT_CODE)) and Path(exit_code).read_text() != "0":
        pytest.exit("The book could not be built, so no page of it was opened.", 1)
    if not (SITE.parent / ".made-from").exists():
        pytest.exit("There is no finished book in _build/html: run `make book` first.", 1)
    return SITE


@pytest.fixture(scope="session")
def serve():
    """A function that serves a folder with a handler, and returns its address."""
    servers = []

    def start(folder: Path, handler: type[QuietHandler] = QuietHandler) -> str:
        servers.append(start_server(folder, handler))
        return f"http://127.0.0.1:{servers[-1].server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def home(serve, site):
    return serve(site)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        try:
            chromium = launch(playwright.chromium)
        except Error:
            pytest.exit(
                "No Chromium starts: install one (`apt-get install chromium`, or "
                "`.venv/bin/playwright install chromium`).",
                1,
            )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory):
    """One JupyterLab for all notebooks that are opened there: its address and its folder."""
    folder = tmp_path_factory.mktemp("lab")
    with jupyterlab(folder) as address:
        yield address, folder


@pytest.fixture
def lab(lab_server, request):
    """The address of a notebook with these cells, in a JupyterLab workspace of its own."""
    address, folder = lab_server
    name = request.node.callspec.id
    write_notebook(folder / f"{name}.ipynb", *request.param)
    return f"{address}/lab/workspaces/{name}/tree/{name}.ipynb"


@pytest.fixture(scope="session")
def save_picture(request) -> Callable[[Page | Locator, str], None]:
    """A function that saves a picture under a name with `--pictures`."""

    def save(part: Page | Locator, name: str) -> None:
        if request.config.getoption("--pictures"):
            whole = {"full_page": True} if isinstance(part, Page) else {}
            part.screenshot(path=PICTURES / f"{name}.png", animations="disabled", **whole)

    return save
