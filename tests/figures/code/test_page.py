"""Python on the page: written, run, told what is wrong, mended; over http and from a folder."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import contextmanager

import pytest
import torch
from bs4 import BeautifulSoup
from playwright.sync_api import expect

import attnbook
from attnbook.figures import AttentionFigure, CodeTask
from attnbook.practice import LIST_TASKS
from tests.figures.code.interpreters import as_typed
from tests.figures.shared.page import DENY, ill_shown, notebook, read_in_a_book
from tests.tools.site.live_pages import book, page
from tests.tools.site.site_checks import JUDGED, NARROW, OF_LOOK, WIDE, axe_findings, watched
from tools.site.live import in_script

SOFTMAX, MASKED = LIST_TASKS["softmax-by-hand"], LIST_TASKS["masked-softmax-by-hand"]
LATE_KB = 350  # editor and Python together, each packed by gzip -6
WRONG = as_typed(SOFTMAX, SOFTMAX.bugs["never divided"].function)
RIGHT = as_typed(SOFTMAX, SOFTMAX.reference)


def figures():
    rng = torch.Generator().manual_seed(1)
    queries, keys, values = (torch.randn(1, n, 1, generator=rng) for n in (2, 4, 4))
    drawn = AttentionFigure(
        attnbook.dot_score,
        queries,
        keys,
        values,
        torch.tensor([3]),
        written="masked-softmax-by-hand",
    )
    return CodeTask("softmax-by-hand"), CodeTask("masked-softmax-by-hand"), drawn


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The built pages of a small book: one with two tasks and a figure, one with neither."""
    whole = book(tmp_path_factory.mktemp("code"), tasks=notebook(*figures()), none=page())
    assert whole.build().warnings == ""
    return whole


@pytest.fixture(scope="module")
def address(address):
    """The page with the tasks, from a server and from a folder."""
    return f"{address}tasks.html"


@pytest.fixture(scope="module")
def over_http(built, serve):
    return f"{serve(built.html)}tasks.html"


@contextmanager
def tasks(browser, url, width=WIDE, script="", **options):
    """The page and its first task."""
    with read_in_a_book(browser, url, width, script, **options) as (tab, _, _):
        yield tab, tab.locator("figure.code").first


def write(figure, code):
    """Touch the field, and put this in place of all that is there."""
    touch(figure)
    editor = figure.locator(".cm-content")
    editor.press("ControlOrMeta+a")
    figure.page.keyboard.insert_text(code)
    return editor


def touch(figure):
    figure.locator("textarea, .cm-content").click()
    figure.locator(".cm-content").wait_for()


def verdict(figure):
    return figure.locator(".verdict")


def run(figure, code, told):
    """Write this, run it by the button, and see the sentence."""
    write(figure, code)
    figure.get_by_role("button", name="Run").click()
    expect(verdict(figure)).to_contain_text(told)


def late(record):
    return [url for url in record if "live/python.js" in url or "live/editor.js" in url]


def test_a_wrong_answer_is_told_its_fault_and_mended(browser, address):
    with tasks(browser, address) as (tab, figure):
        asked = []
        tab.on("request", lambda request: asked.append(request.url))
        run(figure, WRONG, "✗ softmax-by-hand: not yet. Case: three scores.")
        expect(verdict(figure)).to_contain_text("when the powers are not divided by their sum")
        expect(verdict(figure)).to_contain_text("To fix it: divide each power by the sum")
        write(figure, RIGHT).press("ControlOrMeta+Enter")
        expect(verdict(figure)).to_contain_text("✓ softmax-by-hand: right.")
        # All that was asked for since the page was there; the modules that it opens are its own.
        own = [url for url in asked if not url.startswith("blob:")]
        assert sorted(url.rsplit("/", 1)[1].split("?")[0] for url in own) == [
            "editor.js",
            "python.js",
        ]


def test_nothing_of_it_is_loaded_before_the_first_touch(browser, over_http, built):
    context = browser.new_context()
    tab, record = watched(context)
    tab.goto(over_http, wait_until="networkidle")
    tab.locator("figure.code").first.hover()
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    tab.evaluate("new Promise(done => requestIdleCallback(done))")
    assert late(record.requests) == []
    context.close()
    live = built.html / "_static" / "live"
    packed = {
        name: len(gzip.compress((live / name).read_bytes(), 6))
        for name in ("editor.js", "python.js")
    }
    assert sum(packed.values()) < LATE_KB * 1000, packed
    assert "at-touch" not in built.read("none")


def test_by_keyboard_alone(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        figure.locator("textarea").focus()
        expect(figure.locator(".cm-content")).to_be_focused()
        keys = tab.keyboard
        keys.press("ControlOrMeta+a")
        keys.type("def softmax(scores):\n")  # the editor indents
        keys.type("return scores  # /")  # no key of the book's own
        keys.press("Tab")
        assert figure.locator(".cm-line").all_inner_texts()[1] == "        return scores  # /"
        keys.press("Shift+Tab")
        keys.press("Escape")
        expect(figure.get_by_role("button", name="Run")).to_be_focused()
        keys.press("Enter")
        expect(verdict(figure)).to_contain_text("3 of 3 numbers are wrong")
        keys.press("Tab")
        expect(figure.get_by_role("button", name="Start again")).to_be_focused()
        keys.press("Shift+Tab")
        keys.press("Shift+Tab")
        expect(figure.locator(".cm-content")).to_be_focused()


def test_by_touch_on_a_phone(browser, over_http):
    with tasks(browser, over_http, NARROW, has_touch=True, is_mobile=True) as (tab, figure):
        figure.locator("textarea").tap()
        expect(figure.locator(".cm-content")).to_be_focused()
        assert figure.locator(".cm-content").evaluate("e => getComputedStyle(e).fontSize") == "16px"
        tab.keyboard.press("ControlOrMeta+a")
        tab.keyboard.insert_text(WRONG)
        figure.get_by_role("button", name="Run").tap()
        expect(verdict(figure)).to_contain_text("not divided by their sum")


ENDLESS = "def softmax(scores):\n    while True:\n        pass\n"


@pytest.mark.few(1)
def test_what_never_ends_is_stopped_and_all_goes_on(browser, address):
    with tasks(browser, address) as (tab, figure):
        write(figure, ENDLESS)
        started = tab.evaluate("performance.now()")
        figure.get_by_role("button", name="Run").click()
        expect(verdict(figure)).to_contain_text("did not end within two seconds")
        assert tab.evaluate("performance.now()") - started > 1900
        run(figure, RIGHT, "✓ softmax-by-hand: right.")


def test_a_hand_can_stop_it_sooner_and_keeps_its_place(browser, over_http):
    with tasks(browser, over_http) as (_, figure):
        run(figure, RIGHT, "✓")  # so that Python is ready
        write(figure, ENDLESS)
        figure.get_by_role("button", name="Run").click()
        figure.get_by_role("button", name="Stop").press("Enter")
        expect(verdict(figure)).to_have_text("Stopped.")
        expect(figure.get_by_role("button", name="Run")).to_be_focused()
        expect(figure.get_by_role("button", name="Stop")).to_be_hidden()


def test_what_floods_the_page_is_cut(browser, over_http):
    flood = "while True:\n    print('again and again')\n"
    with tasks(browser, over_http) as (_, figure):
        run(figure, flood, "did not end within two seconds")
        printed = figure.locator(".said").inner_text()
        assert printed.startswith("again and again")
        assert printed.rstrip().endswith("… and more")
        assert len(printed) < 6000


def test_an_error_marks_its_line_until_the_next_change(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        run(figure, "print('so far')\nx = 1\ny = x / 0\n", "Line 3: ZeroDivisionError: ")
        expect(figure.locator(".cm-line.marked")).to_have_text("y = x / 0")
        assert figure.locator(".said").inner_text().strip() == "so far"
        figure.locator(".cm-content").press("End")
        tab.keyboard.type(" ")
        expect(figure.locator(".cm-line.marked")).to_have_count(0)
        run(figure, "def softmax(scores):\n    return scores[7]\n", "Line 2. It raises IndexError")
        expect(figure.locator(".cm-line.marked")).to_have_text("    return scores[7]")


@pytest.mark.few(1)
def test_a_reload_loses_nothing_and_one_can_start_again(browser, address):
    with tasks(browser, address) as (tab, figure):
        write(figure, "# mine\n")
        tab.reload()
        assert figure.locator("textarea").input_value() == "# mine\n"
        touch(figure)
        figure.get_by_role("button", name="Start again").click()
        lines = figure.locator(".cm-line")
        assert "\n".join(lines.all_text_contents()) == SOFTMAX.starter
        figure.locator(".cm-content").press("ControlOrMeta+z")
        assert lines.first.text_content() == "# mine"
        figure.get_by_role("button", name="Start again").click()
        tab.reload()
        assert figure.locator("textarea").input_value() == SOFTMAX.starter


def test_what_start_again_takes_can_be_brought_back_after_a_reload_too(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        again, back = (
            figure.get_by_role("button", name=name) for name in ("Start again", "Bring back")
        )
        expect(back).to_be_hidden()
        write(figure, "# mine\n")
        again.click()
        again.click()
        tab.reload()
        assert figure.locator("textarea").input_value() == SOFTMAX.starter
        back.press("Enter")
        expect(verdict(figure)).to_have_text("Your code is back.")
        expect(again).to_be_focused()
        expect(back).to_be_hidden()
        tab.reload()
        assert figure.locator("textarea").input_value() == "# mine\n"
        again.click()
        write(figure, "# new\n")
        back.click()
        back.click()
        tab.reload()
        assert figure.locator("textarea").input_value() == "# new\n"


def test_two_tabs_show_the_same_code_and_neither_loses_any(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        other = tab.context.new_page()
        other.goto(over_http)
        second = other.locator("figure.code").first
        write(second, "# from the second tab\n")
        expect(figure.locator("textarea")).to_have_value("# from the second tab\n")
        write(figure, "# from both tabs\n")
        expect(second.locator(".cm-line").first).to_have_text("# from both tabs")
        figure.get_by_role("button", name="Start again").click()
        expect(second.get_by_role("button", name="Bring back")).to_be_visible()
        other.close()


def test_a_tab_that_missed_a_change_shows_it_when_it_comes_to_the_front(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        write(figure, "# older\n")
        # As another tab does it; a tab's own storage sends it no event.
        [key] = [key for key in tab.evaluate("Object.keys(localStorage)") if "/code/" in key]
        tab.evaluate("key => localStorage.setItem(key, '# newer')", key)
        tab.evaluate("dispatchEvent(new Event('focus'))")
        expect(figure.locator(".cm-line").first).to_have_text("# newer")
        tab.evaluate("localStorage.clear()")
        tab.evaluate("dispatchEvent(new Event('focus'))")
        assert figure.locator(".cm-line").first.text_content() == "# newer"


def test_a_task_shows_that_it_was_solved(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        solved = figure.get_by_text("✓ Solved")
        run(figure, WRONG, "✗")
        expect(solved).to_be_hidden()
        run(figure, RIGHT, "✓ softmax-by-hand: right.")
        expect(solved).to_be_visible()
        run(figure, WRONG, "✗")
        tab.reload()
        expect(solved).to_be_visible()
        expect(tab.locator("figure.code").nth(1).get_by_text("✓ Solved")).to_be_hidden()


PASTE = """(editor, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const options = { clipboardData, bubbles: true, cancelable: true };
    editor.dispatchEvent(new ClipboardEvent("paste", options));
}"""


def test_quotes_and_spaces_of_a_copied_text_become_pythons(browser, over_http):
    with tasks(browser, over_http) as (_, figure):
        editor = write(figure, "#")
        editor.press("ControlOrMeta+a")
        editor.evaluate(PASTE, "print(“it’s”,\u00a0‘a’)")
        assert figure.locator(".cm-line").first.text_content() == "print(\"it’s\", 'a')"
        figure.get_by_role("button", name="Run").click()
        # The log is there before anything is printed, so that a screen reader reads what is added.
        expect(figure.get_by_role("log", name="What the code printed")).to_have_text("it’s a")


def test_what_this_python_lacks_is_one_click_away(browser, chapter):
    with tasks(browser, chapter) as (tab, figure):
        run(figure, "match 3:\n    case 3:\n        pass\n", "has no match: write if")
        figure.get_by_role("link", name="What this Python lacks.").click()
        expect(tab.get_by_role("heading", level=1)).to_contain_text("Python on the page")


def test_ctrl_enter_runs_and_types_nothing(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        write(figure, RIGHT)
        figure.locator(".cm-content").press("ControlOrMeta+Enter")
        expect(verdict(figure)).to_contain_text("✓ softmax-by-hand: right.")
        tab.reload()
        assert figure.locator("textarea").input_value() == RIGHT


def test_two_tasks_on_a_page_stay_apart(browser, over_http):
    with tasks(browser, over_http) as (tab, first):
        second = tab.locator("figure.code").nth(1)
        run(first, RIGHT, "✓ softmax-by-hand")
        run(
            second,
            as_typed(MASKED, MASKED.bugs["shared evenly"].function),
            "share the weight evenly",
        )
        expect(verdict(first)).to_contain_text("✓ softmax-by-hand: right.")
        tab.reload()
        texts = [field.input_value() for field in tab.locator("figure.code textarea").all()]
        assert texts[0] == RIGHT
        assert "def shared_evenly" in texts[1]


@pytest.mark.few(1)
def test_a_browser_that_keeps_nothing_says_so_and_works(browser, address):
    with tasks(browser, address, script=DENY) as (tab, figure):
        run(figure, RIGHT, "✓ softmax-by-hand: right.")
        expect(tab.get_by_role("alert")).to_contain_text("a reload loses what you do here")


@pytest.mark.few(3)
@pytest.mark.parametrize("missing", ["WebAssembly", "DecompressionStream", "Worker"])
def test_without_what_python_needs_the_task_stays_readable(browser, address, missing):
    with tasks(browser, address, script=f"delete window.{missing}") as (_, figure):
        touch(figure)
        expect(verdict(figure)).to_contain_text("Nothing can run here: ")
        assert verdict(figure).locator("p").count() == 1
        assert "math.exp(score)" in figure.inner_text()
        figure.get_by_role("button", name="Run").click()
        expect(verdict(figure)).to_contain_text("can be solved in Colab or Jupyter")


def test_a_script_that_does_not_come_is_asked_for_again(browser, over_http):
    context = browser.new_context()
    tab = context.new_page()
    tab.route("**/python.js*", lambda route: route.abort(), times=1)
    tab.goto(over_http)
    figure = tab.locator("figure.code").first
    figure.locator("textarea").click()
    expect(verdict(figure)).to_contain_text("cannot be loaded")
    run(figure, RIGHT, "✓ softmax-by-hand: right.")
    context.close()


def weights(tab):
    """All numbers below the bars of the weights."""
    row = tab.locator("figure.attention .numbers.of-weights").first
    return [float(text) for text in row.locator("span").all_inner_texts()]


def expect_weights(tab, numbers):
    tab.wait_for_function(
        """numbers => {
            const row = document.querySelector("figure.attention .numbers.of-weights");
            const shown = [...row.querySelectorAll("span")].map(span => Number(span.innerText));
            return JSON.stringify(shown) === JSON.stringify(numbers);
        }""",
        arg=numbers,
    )


def test_what_is_written_is_drawn_at_once_and_at_each_move(browser, address):
    bug = MASKED.bugs["shared evenly"].function
    with tasks(browser, address) as (tab, _):
        second, drawn = tab.locator("figure.code").nth(1), tab.locator("figure.attention")
        before = weights(tab)
        expect(drawn.locator(".own")).to_contain_text("is drawn here, as soon as it runs")
        run(second, as_typed(MASKED, bug), "✗")
        expect(drawn.get_by_label("draw what your masked_softmax gives")).to_be_checked()
        expect_weights(tab, [0.333, 0.333, 0.333, 0])
        drawn.locator("input[type=range]").first.press("ArrowLeft")
        expect_weights(tab, [0.5, 0.5, 0, 0])
        drawn.get_by_label("draw what your").uncheck()
        drawn.locator("input[type=range]").first.press("ArrowRight")
        expect_weights(tab, before)


def test_what_cannot_be_drawn_is_said_and_the_layers_is_shown(browser, over_http):
    with tasks(browser, over_http) as (tab, _):
        second, drawn = tab.locator("figure.code").nth(1), tab.locator("figure.attention")
        before = weights(tab)
        run(second, "def masked_softmax(scores, valid_len):\n    return 1 / 0\n", "ZeroDivision")
        expect(drawn.locator(".own .note")).to_contain_text(
            "so this is the book’s: ZeroDivisionError"
        )
        expect_weights(tab, before)
        run(
            second, "def masked_softmax(scores, valid_len):\n    return [float('nan')] * 4\n", "NaN"
        )
        expect(drawn.locator(".own .note")).to_contain_text("so this is the book’s: it gives NaN.")
        run(second, as_typed(MASKED, MASKED.reference), "✓")
        expect(drawn.locator(".own .note")).to_be_empty()
        expect_weights(tab, before)


@pytest.fixture(scope="module")
def chapter(home):
    """A page of the book with a task and a figure that draws its answer."""
    return f"{home}chapters/masked-softmax.html"


ALONE = """figure => {
    for (let node = figure; node !== document.body; node = node.parentElement)
        for (const other of [...node.parentElement.children])
            // Not removed: scripts of the theme may still look for it.
            if (other !== node && other.tagName !== "SCRIPT") other.style.display = "none";
}"""


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
def test_it_is_legible_and_accessible_with_the_editor_open(
    browser, chapter, keep_picture, width, scheme
):
    with tasks(browser, chapter, width, color_scheme=scheme) as (tab, figure):
        figure.evaluate(ALONE)  # axe takes many seconds for a whole chapter
        code = "def masked_softmax(scores, valid_len):\n    # how\n    return [1.0] * 4 + 'text'"
        for state in ("still", "wrong", "error"):
            if state == "wrong":
                run(figure, as_typed(MASKED, MASKED.bugs["shared evenly"].function), "✗")
            elif state == "error":
                run(figure, code, "Line 3. It raises TypeError")
            assert axe_findings(tab, None if scheme == "light" else OF_LOOK) == [], state
            assert ill_shown(figure) == [], state
            keep_picture(figure, f"code-{state}-{width}-{scheme}")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert figure.get_by_role("textbox", name="Your masked_softmax, in Python").is_visible()


MEASURE = """() => [...document.querySelectorAll('[data-attnbook-view]')]
    .filter(view => view.querySelector('.attnbook-code, figure.code'))
    .map(view => view.firstElementChild.getBoundingClientRect().height)"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_moves_when_a_task_comes_alive_and_when_its_editor_does(browser, chapter, width):
    still = f"addEventListener('DOMContentLoaded', () => {{ window.still = ({MEASURE})() }})"
    with tasks(browser, chapter, width, script=still) as (tab, figure):
        before = tab.evaluate("still")
        assert before
        assert tab.evaluate(MEASURE) == pytest.approx(before, abs=1)
        touch(figure)
        assert tab.evaluate(MEASURE) == pytest.approx(before, abs=1)


HAS_TASKS = re.compile(r'"kind":\s*"code"')


def packed(text):
    return len(gzip.compress(text.encode(), 6))


def growth(site, html):
    """The bytes that tasks add to a page's first load, packed by gzip -6, and how many tasks."""
    page = BeautifulSoup(html, "html.parser")
    script = page.find("script", class_="attnbook-state")
    known = json.loads(script.string)
    asked = {name: state for name, state in known.items() if state["kind"] == "code"}
    modules = {state["module"] for state in asked.values()}
    before = packed(str(page))
    script.string = in_script({name: it for name, it in known.items() if name not in asked})
    for name in asked:
        page.find(attrs={"data-attnbook-view": name}).decompose()
    for late_one in page.find_all("script", attrs={"data-attnbook-late": True}):
        late_one.decompose()
    files = [site / "_static" / "live" / f"{name}.js" for name in modules]
    own = sum(packed(file.read_text("utf-8")) for file in files)
    return before - packed(str(page)) + own, len(asked)


def test_the_first_load_grows_by_thirteen_kilobytes_at_most(site):
    pages = [path.read_text("utf-8") for path in site.glob("chapters/*.html")]
    grown = [growth(site, html) for html in pages if HAS_TASKS.search(html)]
    assert sum(count for _, count in grown) == len(LIST_TASKS)
    assert max(size for size, _ in grown) < 13_000  # of three tasks, two with their parts
