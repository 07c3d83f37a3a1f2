"""The book without a network: stored by the browser below a project's path, and as one zip."""

from __future__ import annotations

import json
import re
import shutil
from itertools import count
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from playwright.sync_api import expect

from tests.tools.site.site_checks import NARROW, dead_links, open_page, watch_page
from tests.tools.site.test_policy import Strict, use_figures
from tools import ROOT
from tools.site import TEXT
from tools.site.publish import take_along
from tools.table_of_contents import short_path

PATH = [f"{page}.html" for page in short_path()]
KEEP, CONTINUE, REMOVE = (TEXT(key) for key in ("keep_offline", "keep_continue", "keep_remove"))
STORED = "async () => (await caches.keys()).map(decodeURI)"
WORKERS = "async () => (await navigator.serviceWorker.getRegistrations()).length"
# Looks for a new build, as a browser does when a page is opened; how its worker ends.
UPDATE = """async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    await registration.update();
    const worker = registration.installing ?? registration.waiting;
    while (worker?.state === 'installing') await new Promise((done) => setTimeout(done, 20));
    return worker?.state;
}"""


class Network(Strict):
    """Sends the policy that the book gives, and is lost after some answers."""

    answers = count()
    asked: list[str]

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        """Answer, or close the connection."""
        self.asked.append(self.path)
        if next(self.answers, None) is not None:
            super().do_GET()

    def end_headers(self) -> None:
        """Let the browser ask for each page, even for one that it has seen."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


@pytest.fixture
def host(site, serve, tmp_path):
    """A copy of the site below a project's path: its folder, its address and its network."""
    folder = tmp_path / "project"
    shutil.copytree(site, folder, ignore=shutil.ignore_patterns("*.map", "locales"))
    network = type("Network", (Network,), {"answers": count(), "asked": []})
    return folder, f"{serve(tmp_path, network)}project/", network


def book_of(folder):
    """The list of files in a site's worker, and the number of those that come first."""
    line = (folder / take_along.WORKER).read_text("utf-8").partition("\n")[0]
    first, files = re.fullmatch(r'.*"first": (\d+)\}, files: (\[.*\])\};', line).groups()
    return json.loads(files), int(first)


def lose(network, after=0):
    network.answers = iter(range(after))
    network.asked.clear()


def unfold(tab):
    """Open the part at the foot of a page; what it says of the book."""
    tab.locator(".attnbook-along").evaluate("fold => { fold.open = true }")
    return tab.locator(".attnbook-along [role=status]")


def press(tab, name):
    button = tab.locator(".attnbook-along").get_by_role("button", name=name)
    button.evaluate("button => button.click()")  # a pointer may miss it while the page scrolls


def test_an_interrupted_book_is_continued_works_without_a_network_and_is_removed(browser, host):
    folder, address, network = host
    files, first = book_of(folder)
    size = f"{sum(bytes_ for *_, bytes_ in files) / 1e6:.1f}"
    with open_page(browser, f"{address}{PATH[0]}", NARROW) as (tab, record):
        status = unfold(tab)
        expect(status).to_have_text(TEXT("keep_offer", size=size))
        tab.evaluate("caches.open('attnbook of a neighbour')")
        assert take_along.WORKER not in " ".join(network.asked)

        lose(network, after=1 + first + 20)
        press(tab, KEEP)
        expect(status).to_have_text(TEXT("keep_lost"), timeout=60_000)
        lose(network)
        for page in PATH[3::4]:  # two pages that are whole, although the book is not
            tab.goto(address + page)
            use_figures(tab, page[9:-5], folder)
        network.answers = count()
        status = unfold(tab)
        expect(status).to_contain_text("the short path among them")
        network.asked.clear()
        press(tab, CONTINUE)
        expect(status).to_have_text(TEXT("book_is_stored"), timeout=60_000)
        assert len(network.asked) <= len(files) - first  # each once, and none that was there

        lose(network)
        tab.goto(address)
        tab.wait_for_url("**/welcome.html")
        for chapter in ("what-attention-costs", "heads-that-copy"):
            tab.goto(f"{address}chapters/{chapter}.html")
            use_figures(tab, chapter, folder)
        tab.goto(f"{address}search.html?q=softmax")
        tab.locator("#search-results li p.context").first.wait_for()
        status = unfold(tab)
        expect(status).to_have_text(TEXT("book_is_stored"))
        assert {*network.asked} <= {f"/project/{take_along.WORKER}"}  # the browser's own question

        network.answers = count()
        press(tab, REMOVE)
        expect(status).to_have_text(TEXT("keep_offer", size=size))
        assert (tab.evaluate(STORED), tab.evaluate(WORKERS)) == (["attnbook of a neighbour"], 0)
        tab.goto(address + PATH[0])
        assert f"/project/{PATH[0]}" in network.asked
        assert record.complaints + record.failures == []


def write_version(folder, name, pages):
    for page in pages:
        file = folder / page
        text = re.sub(r"<h1>(Version \w+: )?", f"<h1>Version {name}: ", file.read_text("utf-8"))
        file.write_text(text, "utf-8")
    take_along.write_worker(folder, PATH)


def test_a_new_build_replaces_the_old_one_only_once_it_is_complete(browser, host):
    folder, address, network = host
    changed = [*PATH[1:3], "chapters/masks.html"]
    write_version(folder, "one", changed)
    with open_page(browser, address + changed[0], NARROW) as (tab, _):
        status, title = unfold(tab), tab.locator("article h1").first
        press(tab, KEEP)
        expect(status).to_have_text(TEXT("book_is_stored"), timeout=60_000)
        (one,) = tab.evaluate(STORED)
        write_version(folder, "two", changed)
        lose(network, after=2)  # the worker and one page
        assert tab.evaluate(UPDATE) == "redundant"
        for page in changed:
            tab.goto(address + page)
            expect(title).to_contain_text("Version one")

        network.asked.clear()
        network.answers = count()
        assert tab.evaluate(UPDATE) == "installed"
        pages = {f"/project/{page}" for page in changed}
        assert len(pages & {*network.asked}) == 2  # the third one is there
        assert {*network.asked} - pages <= {f"/project/{take_along.WORKER}"}
        lose(network)
        for page in changed:
            tab.goto(address + page)
            expect(title).to_contain_text("Version two", timeout=30_000)
        (two,) = tab.evaluate(STORED)
        assert one != two


def test_a_full_storage_is_reported_and_the_page_works(browser, host):
    folder, address, _ = host
    with open_page(browser, f"{address}{PATH[3]}", NARROW) as (tab, _):
        quota = {"origin": address.removesuffix("/project/"), "quotaSize": 300_000}
        tab.context.new_cdp_session(tab).send("Storage.overrideQuotaForOrigin", quota)
        status = unfold(tab)
        press(tab, KEEP)
        expect(status).to_have_text(TEXT("keep_refused"), timeout=60_000)
        assert (tab.evaluate(STORED), tab.evaluate(WORKERS)) == ([], 0)
        use_figures(tab, PATH[3][9:-5], folder)


def test_nothing_is_offered_in_a_folder_or_where_no_page_can_be_stored(browser, site, home):
    for script, address in (
        ("", site.as_uri() + "/"),
        ("delete Navigator.prototype.serviceWorker", home),
    ):
        context = browser.new_context()
        tab, record = watch_page(context)
        tab.add_init_script(script)
        tab.goto(f"{address}{PATH[0]}")
        expect(tab.locator(".attnbook-along")).to_be_hidden()
        assert record.failures + [it for it in record.requests if "take_along" in it] == []
        context.close()


@pytest.fixture
def zipped(site, tmp_path):
    """A copy of the site with its zip, which was built twice, and the bytes of both."""
    folder = tmp_path / "html"
    shutil.copytree(site, folder, ignore=shutil.ignore_patterns("locales"))
    config = {"book_draft": False, "book_zip": True, "external_toc_path": "_toc.yml"}
    config = SimpleNamespace(**config, project="Attention, a book")
    app = SimpleNamespace(outdir=folder, srcdir=ROOT, config=config)
    both = []
    for _ in range(2):
        take_along.forget_zip(app)
        (folder / PATH[0]).touch()
        take_along.finish(app)
        (path,) = folder.glob("*.zip")
        both.append(path.read_bytes())
    return folder, path, both


def test_the_zip_is_the_whole_book_always_the_same_and_opens_from_a_folder(
    browser, zipped, tmp_path
):
    folder, path, (first, again) = zipped
    assert first == again
    assert re.fullmatch(r"attention-a-book-[\w.-]+\.zip", path.name)
    with ZipFile(path) as book:
        names = [name.removeprefix(f"{path.stem}/") for name in book.namelist()]
        book.extractall(tmp_path)
    pages = [page for page in take_along.pages(folder) if page.stem != take_along.LOST]
    assert {page.relative_to(folder).as_posix() for page in pages} <= {*names}
    assert not [name for name in names if name.endswith((".zip", ".map")) or name[0] in "./"]
    assert names == sorted([name for name, *_ in book_of(folder)[0]] + [take_along.WORKER])

    for page in pages:
        html = page.read_text("utf-8")
        assert html.count(f'{path.name}">') == ('class="attnbook-along"' in html)
        assert dead_links(folder, page) == []
    unzipped = tmp_path / path.stem
    for page in take_along.pages(unzipped):
        assert ".zip" not in page.read_text("utf-8")
        assert dead_links(unzipped, page) == []
    with open_page(browser, (unzipped / "index.html").as_uri(), NARROW) as (tab, record):
        tab.wait_for_url("**/welcome.html")
        for chapter in ("multi-head-attention", "attention-from-nothing", "heads-that-copy"):
            tab.goto((unzipped / "chapters" / f"{chapter}.html").as_uri())
            use_figures(tab, chapter, unzipped)
        assert record.failures + record.complaints + record.foreign("file:") == []
