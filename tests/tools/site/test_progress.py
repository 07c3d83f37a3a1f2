"""Progress in Chromium: what counts as read, its appearance, and the list without JavaScript."""

from __future__ import annotations

import re
import shutil

import pytest
from playwright.sync_api import expect

from tests.tools.site import progress_book
from tests.tools.site.publish.test_publishing import check_pages_without_addresses
from tests.tools.site.published_book import TITLE
from tests.tools.site.site_checks import JUDGED, WIDE, axe_findings, change_view, open_page

HIDE = """state => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
    document.dispatchEvent(new Event('visibilitychange'));
}"""
FULL = """() => {
    const set = Storage.prototype.setItem;
    Storage.prototype.setItem = function (key, text) {
        if (key.startsWith('attnbook')) throw Error('full');
        set.call(this, key, text);
    };
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress") / "html"
    shutil.copytree(progress_book.build_site(tmp_path_factory), folder)
    second = folder / "chapters" / "second.html"
    timed = re.sub(r'data-core="\d+"', 'data-core="3"', second.read_text("utf-8"))
    second.with_stem("timed").write_text(timed, "utf-8")
    return folder


@pytest.fixture(scope="module")
def home(serve, site):
    return f"{serve(site)}chapters/"


@pytest.fixture
def timed(browser, home):
    """A page whose core takes three minutes, with a clock that the test controls."""
    context = browser.new_context(viewport={"width": WIDE, "height": 800})
    tab = context.new_page()
    tab.clock.install()
    tab.goto(f"{home}timed.html")
    tab.locator(".attnbook-read").wait_for(state="attached")
    yield tab
    context.close()


def reach_the_end(tab):
    """Scroll to the end of the core, and wait until the page has noticed."""
    tab.evaluate(
        """() => new Promise(done => {
            const end = document.querySelector('.attnbook-read');
            new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && done())
                .observe(end);
            end.scrollIntoView();
        })"""
    )


def test_a_core_is_read_after_a_fifth_of_its_minutes_while_it_is_shown(timed):
    button = timed.locator(".attnbook-read button")
    reach_the_end(timed)
    timed.clock.fast_forward(20_000)
    timed.evaluate(HIDE, "hidden")
    timed.clock.fast_forward(600_000)
    timed.evaluate(HIDE, "visible")
    timed.clock.fast_forward(10_000)
    expect(button).to_have_text("Mark as read")
    timed.clock.fast_forward(40_000)
    expect(button).to_have_text("Read ✓")
    expect(timed.locator(".attnbook-read [role=status]")).to_have_text(
        "This chapter is marked as read."
    )
    timed.reload()
    expect(button).to_have_text("Read ✓")


def test_a_core_whose_end_was_not_in_sight_is_not_read(timed):
    timed.clock.fast_forward(600_000)
    expect(timed.locator(".attnbook-read button")).to_have_text("Mark as read")
    reach_the_end(timed)
    expect(timed.locator(".attnbook-read button")).to_have_text("Read ✓")


def test_the_path_says_how_long_it_takes_together(site):
    first, second = (
        (site / "chapters" / f"{name}.html").read_text("utf-8") for name in ("first", "second")
    )
    (core,) = re.findall(r'data-core="(\d+)"', second)
    assert f"Together: {int(core) + 1} minutes." in first  # the first page takes one


def test_without_javascript_the_path_is_an_ordered_list_of_links(browser, home):
    with open_page(browser, f"{home}first.html", java_script_enabled=False) as (tab, _):
        links = tab.locator("ol li a")
        assert links.all_inner_texts() == ["First", "Second"]
        links.last.click()
        expect(tab.get_by_role("heading", level=1)).to_contain_text("Second")
    with open_page(browser, f"{home}your-progress.html", java_script_enabled=False) as (tab, _):
        expect(tab.get_by_text("the book stores nothing")).to_be_visible()
        links = tab.locator("article ul").filter(has_text="Third").get_by_role("link")
        assert links.all_inner_texts() == ["Third"]


def test_pages_load_the_scripts_that_they_use_and_without_addresses_name_none(site):
    for page, scripts in (
        ("first", {"storage", "reading", "path"}),
        ("second", {"storage", "reading"}),
        ("your-progress", {"storage", "reading", "path", "your_progress"}),
    ):
        html = (site / "chapters" / f"{page}.html").read_text("utf-8")
        assert {*re.findall(r"/(storage|reading|path|your_progress)\.js", html)} == scripts
    assert not any((site / name).exists() for name in ("404.html", "robots.txt", "sitemap.xml"))
    check_pages_without_addresses(site)


def test_progress_is_legible_and_accessible(browser, home, save_picture):
    def check_page(name: str, *views: tuple[int, str]) -> None:
        for width, scheme in views:
            change_view(tab, width, scheme)
            assert axe_findings(tab) == [], name
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            save_picture(tab, f"progress-{name}-{width}-{scheme}")

    with open_page(browser, f"{home}second.html") as (tab, record):
        tab.locator(".option", has_text="four").click()
        tab.evaluate(
            "attnbookProgress.write(document.querySelector('[data-attnbook-item^=task]')"
            ".dataset.attnbookItem, '1')"
        )
        tab.locator(".attnbook-read button").click()
        tab.evaluate(FULL)
        tab.locator("figure.code textarea").fill("# mine")
        expect(tab.get_by_text("✓ Solved")).to_be_visible()
        expect(tab.get_by_role("alert")).to_be_visible()
        check_page("second", *JUDGED)
        tab.goto(f"{home}first.html")
        expect(tab.locator(".attnbook-done")).to_contain_text(["", "✓ read · 1 of 1 prediction"])
        tab.goto(f"{home}your-progress.html")
        controls = tab.locator(".attnbook-your-progress :is(button, input)")
        boxes = [box.bounding_box() for box in controls.all() if box.is_visible()]
        assert all(box["height"] >= 24 for box in boxes)
        check_page("your-progress", JUDGED[0])
        tab.get_by_role("button", name="Delete everything …").click()
        expect(tab.get_by_role("button", name="Cancel")).to_be_focused()
        expect(tab.get_by_role("dialog", name="Delete all progress")).to_be_visible()
        check_page("dialog", JUDGED[1])
        tab.keyboard.press("Escape")
        expect(tab.get_by_role("button", name="Delete everything …")).to_be_focused()
        assert record.complaints + record.failures == []


COPIED = f"""Your progress — {TITLE}

What you have done
1 of 3 chapters read · 1 of 2 predictions · 0 of 1 task
Second · Core N min · ✓ read · 1 of 2 predictions · 0 of 1 task

What is left
First
Third"""


def test_what_is_done_comes_first_and_is_copied_as_text(browser, site):
    """From a folder, and where the browser refuses the clipboard."""
    url = (site / "chapters" / "your-progress.html").as_uri()
    with open_page(browser, url, permissions=["clipboard-read", "clipboard-write"]) as (
        tab,
        record,
    ):
        expect(tab.locator(".attnbook-totals")).to_have_text(
            "0 of 3 chapters read · 0 of 2 predictions · 0 of 1 task"
        )
        tab.evaluate(
            """() => {
                const { second } = JSON.parse(document.querySelector('.attnbook-path script').text);
                attnbookProgress.write(second[0], '{"tried":[],"done":"right"}');
                attnbookProgress.write('read/second/-', '1');
            }"""
        )
        link = tab.locator("#what-is-left").get_by_role("link", name="Third")
        link.focus()
        tab.evaluate("dispatchEvent(new Event('focus'))")
        expect(link).to_be_focused()
        expect(tab.get_by_text("The idea", exact=True).and_(tab.locator("strong"))).to_be_hidden()
        copy = tab.get_by_role("button", name="Copy as text")
        copy.click()
        expect(tab.get_by_text("Your progress is copied.")).to_be_visible()
        text = tab.evaluate("navigator.clipboard.readText()")
        assert re.sub(r"\d+ min", "N min", text) == COPIED
        tab.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(Error()); }")
        copy.click()
        expect(tab.get_by_text("copy it yourself")).to_be_visible()
        shown = tab.get_by_role("textbox", name="Your progress, as text")
        expect(shown).to_be_focused()
        assert tab.evaluate("getSelection().toString()") == text
        assert axe_findings(tab) == []
        assert record.complaints + record.failures == []


def test_a_file_is_saved(browser, home):
    with open_page(browser, f"{home}your-progress.html", accept_downloads=True) as (tab, _):
        tab.evaluate("attnbookProgress.write('read/second/-', '1')")
        with tab.expect_download() as saving:
            tab.get_by_role("button", name="Save to a file").click()
        assert saving.value.suggested_filename == "attention-progress.json"
        path = saving.value.path()
        tab.evaluate("attnbookProgress.clear()")
        tab.get_by_label("Load from a file").set_input_files(path)
        expect(tab.get_by_text("Loaded: 1 item was added.")).to_be_visible()
        assert tab.evaluate("attnbookProgress.items()") == ["read/second/-"]
