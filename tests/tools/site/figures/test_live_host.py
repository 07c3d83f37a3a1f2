"""Small pages with live figures, whole and damaged, in a real browser."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager

import pytest
from nbformat import v4
from playwright.sync_api import expect

from tests.tools.site.live_pages import Book, book, cell, figure, page, printed, view
from tests.tools.site.site_checks import open_page
from tools.chromium import launch

STOPPED = "This figure could not start:"

# Modules that fail, and the reason.
FAILING = [
    ("export default { render() { throw new Error('no room') } }", "no room"),
    ("export default { draw() {} }", "its program draws nothing"),
    ("throw Error('broken')", "broken"),
]

# Scripts of modules, and what each passes to `note`; the model has size 3.
SCRIPTS = {
    "set notifies listeners of changes only": (
        """model.on("change:size", () => note("size", model.get("size")));
        model.on("change", () => note("any"));
        model.set("size", 3); model.set("size", 4); model.set("size", 4);
        model.set("lens", [1, 2]); model.set("lens", [1, 2]);""",
        [["size", 4], ["any"]],
    ),
    "a list with another number is a change": (
        """model.on("change:lens", (changed, value) => note(changed.get("size"), value));
        model.set("lens", [1, 3]);""",
        [[3, [1, 3]]],
    ),
    "a listener may remove itself": (
        """const once = () => { note("once"); model.off("change:size", once); };
        model.on("change:size", once); model.on("change:size", () => note("always"));
        model.set("size", 4); model.set("size", 5);""",
        [["once"], ["always"], ["always"]],
    ),
    "nobody receives what is saved or sent": (
        "model.save_changes(); model.send({ a: 1 }); note(0);",
        [[0]],
    ),
}
REMOVING = {
    'off("change:size", one)': ["two", "other"],
    'off("change:size")': ["other"],
    "off(null, one)": ["two", "other"],
    "off()": [],
}
for call, left in REMOVING.items():
    SCRIPTS[call] = (
        f"""const one = () => note("one"), two = () => note("two");
        model.on("change:size", one); model.on("change:size", two);
        model.on("change:lens", () => note("other"));
        model.{call}; model.set("size", 4); model.set("lens", [2]);""",
        [[name] for name in left],
    )
# A figure that writes how many were drawn in its task, itself included.
IN_TURN = """export default { render({ el }) {
    window.inTask = (window.inTask ?? 0) + 1;
    setTimeout(() => { window.inTask = 0; });
    const output = document.createElement("output");
    output.value = window.inTask;
    el.append(output);
} }"""


def noting(script: str) -> str:
    """A module that runs a script and shows its notes."""
    return f"""export default {{ render({{ model, el }}) {{
        const notes = [], note = (...words) => notes.push(words);
        {script}
        el.textContent = JSON.stringify(notes);
    }} }}"""


def page_of(*figures: dict, cells: int = 1):
    """A page that shows each of these figures so many times."""
    models = {f"m{i}": each for i, each in enumerate(figures)}
    views = [view(name, each["state"]["static_text"]) for name, each in models.items()]
    return page(*[cell(each) for each in views for _ in range(cells)], models=models)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Book:
    """A book of all these pages."""
    noted = [figure(_esm=noting(script), lens=[1, 2]) for script, _ in SCRIPTS.values()]
    pages = {
        "two": page_of(figure(), figure(5)),
        "same": page_of(figure(), cells=2),
        "plain": page(cell(printed("1"))),
        "failing": page_of(*(figure(_esm=module) for module, _ in FAILING), figure()),
        "in turn": page_of(*(figure(size, _esm=IN_TURN) for size in range(5))),
        "noting": page_of(*noted),
        "folded": page(
            v4.new_markdown_cell(
                "<script>document.documentElement.dataset.deeper = location.hash.slice(1)</script>"
                "<details class='attnbook-section' open><summary>More</summary>"
            ),
            cell(view("m0", "StandIn: size 0")),
            v4.new_markdown_cell("<details><summary>An answer</summary>"),
            cell(view("m1", "StandIn: size 1")),
            v4.new_markdown_cell("</details></details>"),
            cell(view("m2", "StandIn: size 2")),
            models={f"m{i}": figure(i) for i in range(3)},
        ),
    }
    live_book = book(tmp_path_factory.mktemp("live"), **pages).build()
    assert live_book.warnings == ""
    return live_book


@pytest.fixture(scope="module")
def home(serve, whole):
    return serve(whole.html)


@pytest.fixture
def show(browser, home):
    """A function that opens a page, and in the end asserts that the console is silent."""

    @contextmanager
    def go(name: str = "two", *, url: str = "", silent: bool = True, **options):
        with open_page(browser, url or f"{home}{name}.html", **options) as (tab, record):
            yield tab, record
            assert not silent or record.complaints + record.failures == []

    return go


def sliders(tab):
    return tab.get_by_role("slider", name="size")


def numbers(tab) -> list[str]:
    return tab.locator("output").all_text_contents()


# Whole pages


def test_two_figures_share_a_module_and_nothing_else(show):
    leave = "persisted => dispatchEvent(new PageTransitionEvent('pagehide', { persisted }))"
    with show() as (tab, record):
        fetched = [url for url in record.requests if "/live/" in url and "host" not in url]
        assert len(fetched) == 1
        assert tab.evaluate("loaded") == 1
        styles = [style.strip() for style in tab.locator("style").all_text_contents()]
        assert styles.count("[data-attnbook-view] output{color:#0072b2}") == 1
        color = tab.locator("output").first.evaluate("e => getComputedStyle(e).color")
        assert color == "rgb(0, 114, 178)"
        # A figure is on the page while it is drawn.
        assert tab.locator("[data-attnbook-view] > div").first.evaluate("e => e.wide") > 100
        assert numbers(tab) == ["3", "5"]
        sliders(tab).first.press("ArrowRight")
        assert numbers(tab) == ["4", "5"]
        # A page in the cache still has its figures, and one that ends cleans up.
        tab.evaluate(leave, True)
        assert numbers(tab) == ["4", "5"]
        tab.evaluate(leave, False)
        assert numbers(tab) == []


def test_two_views_of_one_figure_move_together_in_a_folder_without_a_server(whole, show):
    with show(url=(whole.html / "same.html").as_uri()) as (tab, record):
        sliders(tab).first.press("ArrowRight")
        assert numbers(tab) == ["4", "4"]
        assert not [url for url in record.requests if url.startswith("http")]
        tab.reload()
        sliders(tab).last.wait_for()
        sliders(tab).last.press("ArrowLeft")
        assert numbers(tab) == ["2", "2"]


@pytest.mark.weekly  # the test of two figures has the same events in every run
def test_back_shows_figures_in_their_last_state(browser, home):
    # Playwright turns off the cache of pages that one leaves.
    own = launch(
        browser.browser_type, whole=True, ignore_default_args=["--disable-back-forward-cache"]
    )
    tab = own.new_page()
    tab.goto(f"{home}two.html")
    sliders(tab).last.wait_for()
    sliders(tab).first.press("ArrowRight")
    tab.evaluate("addEventListener('pageshow', event => { window.wasCached = event.persisted })")
    tab.goto(f"{home}plain.html")
    tab.go_back(wait_until="commit")
    tab.wait_for_function("window.wasCached")
    assert numbers(tab) == ["4", "5"]
    sliders(tab).first.press("ArrowRight")
    assert numbers(tab) == ["5", "5"]
    own.close()


def test_no_task_draws_two_figures_and_a_printer_does_not_wait(browser, show, home):
    with show("in turn") as (tab, _):
        assert numbers(tab) == ["1"] * 5
    context = browser.new_context()
    context.add_init_script("window.setTimeout = () => 0")  # no turn ever comes
    tab = context.new_page()
    tab.goto(f"{home}two.html")
    tab.wait_for_function("window.loaded")
    assert numbers(tab) == []
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert numbers(tab) == ["3", "5"]
    context.close()


@pytest.mark.parametrize(("deeper", "first"), [("closed", "2"), ("open", "02")])
def test_a_folded_figure_starts_when_it_is_unfolded_or_a_reader_is_there(
    browser, home, deeper, first
):
    set_all = """state => {
        delete document.documentElement.dataset.deeper;
        document.querySelectorAll('details').forEach(fold => { fold.open = state });
    }"""
    for act, later in [
        (f"({set_all})(false)", first),
        ("document.querySelector('details').dispatchEvent(new Event('toggle'))", first),
        (f"({set_all})(false); ({set_all})(true)", "012"),
        ("dispatchEvent(new Event('attnbook-reader'))", "012"),
    ]:
        tab = browser.new_page()
        tab.goto(f"{home}folded.html#{deeper}")
        expect(tab.locator("output")).to_have_text([*first])
        tab.evaluate(act)
        tab.evaluate("new Promise(done => setTimeout(done))")
        expect(tab.locator("output")).to_have_text([*later])
        tab.close()


def test_without_javascript_the_numbers_are_shown(show):
    with show(java_script_enabled=False) as (tab, _):
        still = tab.locator(".attnbook-static:visible").all_text_contents()
        assert still == ["StandIn: size 3", "StandIn: size 5"]


# Damaged pages


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (r'{"figure-0":{', '{"figure-0":', "its saved state cannot be read"),
        (r'{"figure-0":{', '{"elsewhere":{', "its saved state is missing"),
        (r"_static/live/", "_static/gone/", ""),  # the module and the host
        (r"_static/live/(?!host)\w+", "gone", "its program is missing"),
    ],
)
def test_a_damaged_page_shows_the_numbers_and_the_reason(whole, home, show, old, new, reason):
    damaged, changes = re.subn(old, new, whole.read("two"))
    assert changes
    (whole.html / "damaged.html").write_text(damaged, "utf-8")
    count = 1 if "elsewhere" in new else 2
    with show(url="about:blank", silent="gone" not in new) as (tab, record):
        tab.goto(f"{home}damaged.html")
        lines = [f"{STOPPED} {reason}."] * count if reason else []
        expect(tab.locator("p[role=status]")).to_have_text(lines)
        assert tab.locator(".attnbook-static:visible").count() == count
        # Only the browser's own line for a missing file.
        assert [line for line in record.complaints if "404" not in line] == []


def test_a_module_that_fails_leaves_the_numbers_the_reason_and_other_figures(show):
    with show("failing") as (tab, _):
        for index, (_, reason) in enumerate(FAILING):
            mounted = tab.locator("[data-attnbook-view]").nth(index)
            line = mounted.locator("p[role=status]").text_content()
            assert line.startswith(f"{STOPPED} {reason}")
            assert mounted.locator(".attnbook-static").is_visible()
            assert mounted.locator("> *").count() == 2  # nothing half-drawn
        sliders(tab).press("ArrowRight")
        assert numbers(tab) == ["4"]


# The model


def test_the_model_has_the_interface_of_anywidget(show):
    with show("noting") as (tab, _):
        notes = tab.locator("[data-attnbook-view]").all_text_contents()
    found = dict(zip(SCRIPTS, map(json.loads, notes), strict=True))
    assert found == {name: expected for name, (_, expected) in SCRIPTS.items()}
