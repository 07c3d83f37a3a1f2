"""Small pages with live figures, whole and damaged, in a real browser."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager

import pytest
from sphinx.errors import ExtensionError

from tests.tools.site.live_pages import Book, book, cell, figure, page, printed, view
from tests.tools.site.site_checks import opened
from tools.chromium import launch

STOPPED = "This figure could not start, so it stands still:"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Book:
    """Two pages with figures and one without, as they are built."""
    two = page(
        cell(view("a")),
        cell(view("b", "StandIn: size 5")),
        models={"a": figure(), "b": figure(5)},
    )
    same = page(cell(view("a")), cell(view("a")), models={"a": figure()})
    pages = {"two": two, "same": same, "plain": page(cell(printed("1")))}
    return book(tmp_path_factory.mktemp("live"), **pages).build()


@pytest.fixture(scope="module")
def address(serve, tmp_path_factory):
    """A function that tells where one server for all these books has a page."""
    top = tmp_path_factory.getbasetemp()
    home = serve(top)
    return lambda built, name: f"{home}{built.html.relative_to(top)}/{name}.html"


@pytest.fixture
def show(browser, address):
    """A function that opens a page of a small book, and at its end asks for a silent console."""

    @contextmanager
    def go(built: Book, name: str = "two", *, silent: bool = True, url: str = ""):
        with opened(browser, url or address(built, name)) as (tab, record):
            yield tab, record
            assert not silent or record.complaints + record.failures == []

    return go


@pytest.fixture
def damaged(whole, tmp_path):
    """A function that copies the site and replaces a text in one of its files."""

    def go(old: str, new: str, file: str = "two.html") -> Book:
        copy = Book(shutil.copytree(whole.folder, tmp_path / "copy"))
        for path in copy.html.glob(file):
            text = path.read_text("utf-8")
            assert old in text
            path.write_text(text.replace(old, new), "utf-8")
        return copy

    return go


@pytest.fixture
def mounted(tmp_path, show):
    """A function that opens a page with one figure of a module of its own."""

    @contextmanager
    def go(module: str, **traits):
        model = figure(_esm=module, **traits)
        built = book(tmp_path, two=page(cell(view("a")), models={"a": model})).build()
        with show(built) as (tab, _):
            yield tab

    return go


def sliders(tab):
    return tab.get_by_role("slider", name="size")


def numbers(tab) -> list[str]:
    return tab.locator("output").all_text_contents()


# Whole pages


def test_figures_move_by_keyboard_and_leave_each_other_alone(whole, show):
    with show(whole) as (tab, _):
        assert numbers(tab) == ["3", "5"]
        sliders(tab).first.press("ArrowRight")
        assert numbers(tab) == ["4", "5"]
        assert tab.locator(".attnbook-static").count() == 0


def test_figures_live_in_a_folder_without_a_server(whole, show):
    with show(whole, url=(whole.html / "two.html").as_uri()) as (tab, record):
        sliders(tab).last.press("ArrowLeft")
        assert numbers(tab) == ["3", "4"]
        assert not [url for url in record.requests if url.startswith("http")]


def test_a_module_is_fetched_and_run_once_for_two_figures(whole, show):
    with show(whole) as (tab, record):
        fetched = [url for url in record.requests if "/live/" in url and "host" not in url]
        assert len(fetched) == 1
        assert tab.evaluate("loaded") == 1
        styles = [style.strip() for style in tab.locator("style").all_text_contents()]
        assert styles.count("[data-attnbook-view] output{color:#0072b2}") == 1
        assert tab.locator("output").first.evaluate("e => getComputedStyle(e).color") == (
            "rgb(0, 114, 178)"
        )


def test_two_views_of_one_figure_move_together(whole, show):
    with show(whole, "same") as (tab, _):
        sliders(tab).first.press("ArrowRight")
        assert numbers(tab) == ["4", "4"]


def test_a_page_without_figures_loads_nothing_of_them(whole, show):
    with show(whole, "plain") as (tab, record):
        assert not [url for url in record.requests if "/live/" in url]
        assert tab.evaluate("'attnbookModules' in window") is False


def test_a_figure_is_on_the_page_while_it_is_drawn(whole, show):
    with show(whole) as (tab, _):
        assert tab.locator("[data-attnbook-view] > div").first.evaluate("e => e.wide") > 100


def test_figures_start_anew_after_a_reload(whole, show):
    with show(whole) as (tab, _):
        sliders(tab).first.press("ArrowRight")
        tab.reload(wait_until="networkidle")
        assert numbers(tab) == ["3", "5"]
        sliders(tab).first.press("ArrowRight")
        assert numbers(tab) == ["4", "5"]


def test_figures_come_back_as_they_were_left(browser, whole, address):
    # Playwright turns off the cache in which a browser keeps the page one leaves.
    own = launch(
        browser.browser_type, whole=True, ignore_default_args=["--disable-back-forward-cache"]
    )
    tab = own.new_page()
    tab.goto(address(whole, "two"))
    sliders(tab).first.press("ArrowRight")
    tab.evaluate("addEventListener('pageshow', event => { window.kept = event.persisted })")
    tab.goto(address(whole, "plain"))
    tab.go_back(wait_until="commit")
    tab.wait_for_function("window.kept")
    assert numbers(tab) == ["4", "5"]
    sliders(tab).first.press("ArrowRight")
    assert numbers(tab) == ["5", "5"]
    own.close()


def test_figures_live_when_going_back_loads_the_page_anew(whole, show):
    with show(whole) as (tab, _):
        sliders(tab).first.press("ArrowRight")
        tab.goto(tab.url.replace("two", "plain"), wait_until="networkidle")
        tab.go_back(wait_until="networkidle")
        sliders(tab).last.press("ArrowRight")
        assert numbers(tab)[1] == "6"


def test_a_page_that_may_come_back_keeps_its_figures_and_one_that_ends_cleans_up(whole, show):
    leave = "persisted => dispatchEvent(new PageTransitionEvent('pagehide', { persisted }))"
    with show(whole) as (tab, _):
        tab.evaluate(leave, True)
        assert numbers(tab) == ["3", "5"]
        tab.evaluate(leave, False)
        assert numbers(tab) == []


def test_print_shows_the_figures(whole, show):
    with show(whole) as (tab, _):
        tab.emulate_media(media="print")
        assert sliders(tab).first.is_visible()
        assert tab.get_by_text("StandIn").count() == 0


def test_without_javascript_the_numbers_stand(browser, whole):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((whole.html / "two.html").as_uri())
    assert tab.locator(".attnbook-static:visible").all_text_contents() == [
        "StandIn: size 3",
        "StandIn: size 5",
    ]
    context.close()


# Damaged pages


def assert_still(tab, reason: str, count: int = 2):
    """The numbers stand, and below each one readable line."""
    lines = tab.locator("p[role=status]").all_text_contents()
    assert lines == [f"{STOPPED} {reason}."] * count
    assert tab.locator(".attnbook-static:visible").count() == count


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('{"figure-0":{', '{"figure-0":', "its saved state cannot be read"),
        ('class="attnbook-state"', "", "its saved state cannot be read"),
        ('{"figure-0":{', '{"elsewhere":{', "its saved state is missing"),
        ('"module":"', '"module":"x', "its program is missing"),
        ('"module":', '"modul":', "its program is missing"),
    ],
)
def test_a_damaged_state_leaves_the_numbers_and_says_why(damaged, show, old, new, reason):
    count = 1 if '"elsewhere"' in new else 2
    with show(damaged(old, new)) as (tab, _):
        assert_still(tab, reason, count)


def test_a_missing_module_leaves_the_numbers_and_says_why(damaged, show):
    copy = damaged("Page", "Page")
    next(file for file in copy.modules if file.stem != "host").unlink()
    with show(copy, silent=False) as (tab, record):
        assert_still(tab, "its program is missing")
        # The browser's own line for a missing file; from us there is nothing.
        assert [line for line in record.complaints if "404" not in line] == []


def test_a_missing_host_leaves_the_numbers(damaged, show):
    copy = damaged("Page", "Page")
    (copy.html / "_static" / "live" / "host.js").unlink()
    with show(copy, silent=False) as (tab, _):
        assert tab.locator(".attnbook-static:visible").count() == 2


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("export default { render() { throw new Error('no room') } }", "no room"),
        ("export default { async render() { throw 'no room.' } }", "no room"),
        ("export default { render({ model }) { model.get('gone').map(String) } }", "Cannot read"),
        ("export default { initialize() { throw Error('not ready') }, render() {} }", "not ready"),
        ("export default () => { throw Error('no factory') }", "no factory"),
        ("export default { draw() {} }", "its program draws nothing"),
        ("export const draw = 1", "its program draws nothing"),
        ("throw Error('broken')", "broken"),
        ("import './other.js'; export default { render() {} }", "Failed to resolve"),
    ],
)
def test_a_module_that_fails_leaves_the_numbers_and_says_why(mounted, module, reason):
    with mounted(module) as tab:
        (line,) = tab.locator("p[role=status]").all_text_contents()
        assert line.startswith(f"{STOPPED} {reason}")
        assert tab.locator(".attnbook-static").is_visible()
        assert tab.locator("[data-attnbook-view] > *").count() == 2  # nothing half-drawn


def test_a_module_that_nobody_can_read_stops_the_build(tmp_path):
    model = figure(_esm="export default {")
    with pytest.raises(ExtensionError, match=r"^minify\.mjs fails: .*but found end of file$"):
        book(tmp_path, two=page(cell(view("a")), models={"a": model})).build()


def test_a_failing_figure_leaves_the_others_alive(damaged, show):
    with show(damaged('{"figure-0":{', '{"elsewhere":{')) as (tab, _):
        sliders(tab).press("ArrowRight")
        assert numbers(tab) == ["6"]


# The model


def heard(mounted, script: str, **traits) -> list:
    """What a module that runs this script, with `note` to hear with, has noted."""
    module = f"""export default {{ render({{ model, el }}) {{
        const notes = [], note = (...words) => notes.push(words);
        {script}
        el.textContent = JSON.stringify(notes);
    }} }}"""
    with mounted(module, **traits) as tab:
        return json.loads(tab.locator("[data-attnbook-view] > div").text_content() or "")


def test_set_tells_only_of_changes(mounted):
    script = """model.on("change:size", () => note("size", model.get("size")));
        model.on("change", () => note("any"));
        model.set("size", 3); model.set("size", 4); model.set("size", 4);
        model.set("lens", [1, 2]); model.set("lens", [1, 2]);"""
    assert heard(mounted, script, lens=[1, 2]) == [["size", 4], ["any"]]


def test_set_tells_of_a_list_that_is_another(mounted):
    script = """model.on("change:lens", (given, value) => note(given.get("size"), value));
        model.set("lens", [1, 3]);"""
    assert heard(mounted, script, lens=[1, 2]) == [[3, [1, 3]]]


def test_a_listener_hears_of_its_trait_only(mounted):
    script = """model.on("change:lens", note); model.set("size", 4); note(model.get("size"));"""
    assert heard(mounted, script, lens=[1, 2]) == [[4]]


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ('off("change:size", one)', ["two", "other"]),
        ('off("change:size")', ["other"]),
        ("off(null, one)", ["two", "other"]),
        ("off()", []),
        ('off("change:size", () => {})', ["one", "two", "other"]),
    ],
)
def test_off_takes_away_what_it_names(mounted, call, left):
    script = f"""const one = () => note("one"), two = () => note("two");
        model.on("change:size", one); model.on("change:size", two);
        model.on("change:lens", () => note("other"));
        model.{call}; model.set("size", 4); model.set("lens", [2]);"""
    assert [words[0] for words in heard(mounted, script, lens=[1])] == left


def test_a_listener_may_take_itself_away(mounted):
    script = """const once = () => { note("once"); model.off("change:size", once); };
        model.on("change:size", once); model.on("change:size", () => note("always"));
        model.set("size", 4); model.set("size", 5);"""
    assert heard(mounted, script) == [["once"], ["always"], ["always"]]


def test_saving_and_sending_have_nobody_at_the_other_end(mounted):
    assert heard(mounted, "note(model.save_changes() ?? 0, model.send({ a: 1 }) ?? 0)") == [[0, 0]]


def test_a_module_may_be_made_by_an_async_function_and_be_initialized(mounted):
    module = """export default async () => {
        await null;
        return {
            async initialize({ model }) { await null; model.set("size", 7); },
            async render({ model, el }) { el.textContent = await `size is ${model.get("size")}`; },
        };
    }"""
    with mounted(module) as tab:
        assert tab.get_by_text("size is 7").is_visible()
        assert tab.locator(".attnbook-static").count() == 0
