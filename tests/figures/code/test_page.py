"""Code tasks in a browser: written, run, checked and fixed; on a server and in a folder."""

from __future__ import annotations

import gzip
from contextlib import contextmanager

import pytest
import torch
from playwright.sync_api import Route, TimeoutError, expect  # noqa: A004 - Playwright's own

import attnbook
from attnbook.figures import AttentionFigure, CodeTask
from attnbook.practice import LIST_TASKS
from tests.figures.code.interpreters import as_typed
from tests.figures.code.reader import Reader
from tests.figures.shared.page import DENY, layout_problems, notebook, open_in_book
from tests.tools.site.live_pages import book, page
from tests.tools.site.site_checks import (
    JUDGED,
    NARROW,
    OF_LOOK,
    WIDE,
    axe_findings,
    change_view,
    watch_page,
)
from tools import BUDGETS

SOFTMAX, MASKED = LIST_TASKS["softmax-by-hand"], LIST_TASKS["masked-softmax-by-hand"]
STEPS, ALL_STEPS = 16, 5000  # random actions of a reader
WRONG = as_typed(SOFTMAX, SOFTMAX.bugs["never divided"].function)
RIGHT = as_typed(SOFTMAX, SOFTMAX.reference)


def figures():
    rng = torch.Generator().manual_seed(1)
    queries, keys, values = (torch.randn(1, n, 1, generator=rng) for n in (2, 4, 4))
    lens, name = torch.tensor([3]), "masked-softmax-by-hand"
    drawn = AttentionFigure(attnbook.dot_score, queries, keys, values, lens, written=name)
    return CodeTask("softmax-by-hand"), CodeTask(name), drawn


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A small book: a page with two tasks and a figure, and one with neither."""
    whole = book(tmp_path_factory.mktemp("code"), tasks=notebook(*figures()), none=page())
    assert whole.build().warnings == ""
    return whole


@pytest.fixture(scope="module")
def address(address):
    """The page with the tasks, on a server and in a folder."""
    return f"{address}tasks.html"


@contextmanager
def tasks(browser, url, width=WIDE, script="", **options):
    """Open the page; gives the tab and the first task."""
    with open_in_book(browser, url, width, script, **options) as (tab, _, _):
        yield tab, tab.locator("figure.code").first


@pytest.fixture(scope="module")
def shared(browser, over_http):
    """One page for tests that begin by writing code: its tab and its first task."""
    with tasks(browser, over_http) as tab_and_task:
        yield tab_and_task


def write(figure, code):
    """Replace the code in the editor."""
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


def press(figure, name):
    figure.get_by_role("button", name=name).click()


def run(figure, code, message):
    """Replace the code, run it with the button, and wait for the message."""
    write(figure, code)
    press(figure, "Run")
    expect(verdict(figure)).to_contain_text(message)


def scripts_of(urls):
    return sorted(url.rsplit("/", 1)[1].split("?")[0] for url in urls if "live/" in url)


def test_a_wrong_answer_gets_a_message_and_a_right_one_is_marked_as_solved(browser, address):
    with tasks(browser, address) as (tab, figure):
        requests, solved = [], figure.get_by_text("✓ Solved")
        tab.on("request", lambda request: requests.append(request.url))
        run(figure, WRONG, "✗ softmax-by-hand: not yet. Case: three scores.")
        expect(verdict(figure)).to_contain_text(
            "when the exponentials are not divided by their sum"
        )
        expect(verdict(figure)).to_contain_text("To fix it: divide each exponential by the sum")
        expect(solved).to_be_hidden()
        write(figure, RIGHT).press("ControlOrMeta+Enter")
        expect(verdict(figure)).to_contain_text("✓ softmax-by-hand: right.")
        expect(solved).to_be_visible()
        # All requests since the page was loaded; the page opens blobs itself.
        own = [url for url in requests if not url.startswith("blob:")]
        assert scripts_of(own) == ["editor.js", "python.js"]
        assert len(own) == 2
        # From a folder, Chromium may start a new process without the storage of the page before.
        if not address.startswith("http"):
            return
        tab.reload()
        assert figure.locator("textarea").input_value() == RIGHT  # Ctrl+Enter types nothing
        run(figure, WRONG, "✗")
        expect(solved).to_be_visible()
        other = tab.locator("figure.code").nth(1)
        expect(other.get_by_text("✓ Solved")).to_be_hidden()
        expect(verdict(other)).to_be_empty()


def test_editor_and_python_are_loaded_at_the_first_touch_or_at_cmd_enter(browser, over_http, pages):
    context = browser.new_context()
    tab, record = watch_page(context)
    tab.goto(over_http)
    figure = tab.locator("figure.code").first
    figure.hover()
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    tab.evaluate("new Promise(done => requestIdleCallback(done))")
    assert not {"editor.js", "python.js"} & {*scripts_of(record.requests)}
    figure.locator("textarea").dispatch_event("keydown", {"key": "Enter", "metaKey": True})
    expect(verdict(figure)).to_contain_text("✗ softmax-by-hand: not yet.")
    context.close()
    live = pages.html / "_static" / "live"
    files = [(live / name).read_bytes() for name in ("editor.js", "python.js")]
    sizes = [len(gzip.compress(data, 6)) for data in files]
    assert sum(sizes) < BUDGETS["kilobytes"]["editor_and_python"] * 1000, sizes
    assert "at-touch" not in pages.read("none")


# Whether an element comes after the one with the focus.
IS_AFTER = """element => Boolean(document.activeElement.compareDocumentPosition(element) &
    Node.DOCUMENT_POSITION_FOLLOWING) && document.activeElement !== document.body"""


def test_a_task_can_be_solved_with_the_keyboard_only(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        editor, run_button = figure.locator(".cm-content"), figure.get_by_role("button", name="Run")
        figure.locator("textarea").focus()
        expect(editor).to_be_focused()
        keys = tab.keyboard
        before = editor.inner_text()
        keys.press("Tab")  # who passes changes nothing, in both directions
        expect(run_button).to_be_focused()
        keys.press("Shift+Tab")
        expect(editor).to_be_focused()
        keys.press("Escape")  # on, where the reader was going
        assert run_button.evaluate(IS_AFTER)
        keys.press("Tab")
        expect(editor).to_be_focused()
        assert editor.inner_text() == before
        keys.press("ControlOrMeta+a")
        keys.type("def softmax(scores):\n")  # the editor indents
        keys.type("return scores  # /")  # no key of the book's own
        keys.press("Tab")
        assert figure.locator(".cm-line").all_inner_texts()[1] == "        return scores  # /"
        keys.press("Shift+Tab")
        keys.press("Escape")
        expect(run_button).to_be_focused()
        keys.press("Enter")
        expect(verdict(figure)).to_contain_text("3 of 3 numbers are wrong")
        keys.press("Tab")
        expect(figure.get_by_role("button", name="Start again")).to_be_focused()
        keys.press("Shift+Tab")
        keys.press("Shift+Tab")
        expect(figure.locator(".cm-content")).to_be_focused()


SET = """(field, text) => {
    field.value = text;
    field.dispatchEvent(new Event("input"));
}"""
# A phone whose keyboard leaves 340 px.
KEYBOARD = """Object.defineProperty(window, "visualViewport", {
    value: Object.assign(new EventTarget(), { height: 340, width: innerWidth, offsetTop: 0 }) })"""


def test_a_task_can_be_solved_by_touch_on_a_phone(browser, over_http):
    phone = {"has_touch": True, "is_mobile": True}
    with tasks(browser, over_http, NARROW, KEYBOARD, **phone) as (tab, figure):
        assert "Ctrl" not in figure.inner_text()
        plain, numbered = figure.locator("textarea"), figure.locator(".numbered")
        plain.evaluate(SET, f"if a:\n    # {'word ' * 40}")
        heights = [each.bounding_box()["height"] for each in (plain, numbered)]
        assert heights[0] == pytest.approx(heights[1], abs=1)
        assert figure.locator(".numbered > span").count() == 2
        plain.tap()
        expect(figure.locator(".cm-content")).to_be_focused()
        rows = figure.locator(".cm-line .c1").evaluate("e => [...e.getClientRects()].map(r => r.x)")
        assert len(rows) > 2
        assert rows == pytest.approx([rows[0]] * len(rows), abs=0.5)  # not below the indentation
        keys = figure.get_by_role("toolbar", name="Keys for code")
        boxes = [key.bounding_box() for key in keys.get_by_role("button").all()]
        assert min(min(box["width"], box["height"]) for box in boxes) >= 24
        assert max(box["y"] + box["height"] for box in boxes) <= 340
        assert max(box["x"] + box["width"] for box in boxes) <= tab.evaluate("innerWidth")
        tab.keyboard.press("ControlOrMeta+a")
        for name in ("(", "_", ")", "Indent", "Undo"):
            keys.get_by_role("button", name=name, exact=True).tap()
        expect(figure.locator(".cm-content")).to_be_focused()
        assert figure.locator(".cm-content").inner_text().strip() == "(_)"
        expect(figure.locator(".cm-content")).to_be_focused()
        assert figure.locator(".cm-content").evaluate("e => getComputedStyle(e).fontSize") == "16px"
        tab.keyboard.press("ControlOrMeta+a")
        tab.keyboard.insert_text(WRONG)
        keys.get_by_role("button", name="Run").tap()
        expect(verdict(figure)).to_contain_text("not divided by their sum")
        expect(keys).to_be_hidden()


ENDLESS = "def softmax(scores):\n    while True:\n        pass\n"


def test_endless_code_is_stopped_by_a_limit_or_by_the_reader(shared):
    tab, figure = shared
    write(figure, "while True:\n    print('again and again')\n")
    started = tab.evaluate("performance.now()")
    press(figure, "Run")
    expect(verdict(figure)).to_contain_text("did not end within two seconds")
    assert tab.evaluate("performance.now()") - started > 1900
    printed = figure.locator(".printed").inner_text()
    assert printed.startswith("again and again")
    assert printed.rstrip().endswith("… and more")
    assert len(printed) < 6000
    run(figure, RIGHT, "✓ softmax-by-hand: right.")
    run(figure, "print('x' * 4000)\nprint('after')\nsoftmax = max\n", "✗")
    assert figure.locator(".printed").inner_text().endswith("xxx …\nafter\n")
    write(figure, ENDLESS)
    press(figure, "Run")
    figure.get_by_role("button", name="Stop").press("Enter")
    expect(verdict(figure)).to_have_text("Stopped.")
    expect(figure.get_by_role("button", name="Run")).to_be_focused()
    expect(figure.get_by_role("button", name="Stop")).to_be_hidden()
    press(figure, "Run")
    press(figure, "Start again")  # what it says stays when the run ends
    expect(figure.get_by_role("button", name="Stop")).to_be_hidden()
    expect(verdict(figure)).to_contain_text("Started again.")


def test_an_error_marks_its_line_until_the_next_change(shared):
    tab, figure = shared
    run(figure, "print('so far')\nx = 1\ny = x / 0\n", "Line 3: ZeroDivisionError: ")
    expect(figure.locator(".cm-line.marked")).to_have_text("y = x / 0")
    assert figure.locator(".printed").inner_text().strip() == "so far"
    figure.locator(".cm-content").press("End")
    tab.keyboard.type(" ")
    expect(figure.locator(".cm-line.marked")).to_have_count(0)
    run(figure, "def softmax(scores):\n    return scores[7]\n", "Line 2. It raises IndexError")
    expect(figure.locator(".cm-line.marked")).to_have_text("    return scores[7]")


def test_what_is_selected_before_the_editor_arrives_stays_selected(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        delayed: list[Route] = []
        tab.route("**/editor.js*", lambda route: delayed.append(route))  # noqa: PLW0108 - a function
        with tab.expect_request("**/editor.js*"):
            figure.locator("textarea").press("ControlOrMeta+a")
        delayed[0].continue_()
        expect(figure.locator(".cm-content")).to_be_focused()
        tab.keyboard.insert_text("# new")
        assert figure.locator(".cm-content").inner_text().strip() == "# new"


def test_code_and_what_start_again_replaces_survive_a_reload(browser, over_http):
    with tasks(browser, over_http) as (tab, figure):
        again, back = (
            figure.get_by_role("button", name=name) for name in ("Start again", "Bring back")
        )
        plain, lines = figure.locator("textarea"), figure.locator(".cm-line")
        expect(back).to_be_hidden()
        write(figure, "# mine\n")
        tab.reload()
        assert plain.input_value() == "# mine\n"
        touch(figure)
        again.click()
        assert "\n".join(lines.all_text_contents()) == SOFTMAX.starter
        figure.locator(".cm-content").press("ControlOrMeta+z")
        assert lines.first.text_content() == "# mine"
        again.click()
        again.click()
        tab.reload()
        assert plain.input_value() == SOFTMAX.starter
        back.press("Enter")
        expect(verdict(figure)).to_have_text("Your code is back.")
        expect(again).to_be_focused()
        expect(back).to_be_hidden()
        tab.reload()
        assert plain.input_value() == "# mine\n"
        again.click()
        write(figure, "# new\n")
        back.click()
        back.click()
        tab.reload()
        assert plain.input_value() == "# new\n"


def test_a_tab_that_missed_a_change_shows_it_when_it_comes_to_the_front(shared):
    tab, figure = shared
    write(figure, "# older\n")
    # As another tab does it; a tab's own storage sends it no event.
    keys = tab.evaluate("Object.keys(localStorage)")
    [key] = [key for key in keys if "/code/softmax-by-hand/" in key]
    tab.evaluate("key => localStorage.setItem(key, '# newer')", key)
    tab.evaluate("dispatchEvent(new Event('focus'))")
    expect(figure.locator(".cm-line").first).to_have_text("# newer")
    tab.evaluate("localStorage.clear()")
    tab.evaluate("dispatchEvent(new Event('focus'))")
    assert figure.locator(".cm-line").first.text_content() == "# newer"


PASTE = """(editor, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const options = { clipboardData, bubbles: true, cancelable: true };
    editor.dispatchEvent(new ClipboardEvent("paste", options));
}"""


def test_quotes_and_spaces_of_pasted_text_are_converted_for_python(shared):
    _, figure = shared
    editor = write(figure, "#")
    editor.press("ControlOrMeta+a")
    editor.evaluate(PASTE, "print(“it’s”,\u00a0‘a’)")
    assert figure.locator(".cm-line").first.text_content() == "print(\"it’s\", 'a')"
    press(figure, "Run")
    # The log exists before anything is printed, so that a screen reader reads new lines.
    expect(figure.get_by_role("log", name="What the code printed")).to_have_text("it’s a")


def test_advice_links_to_the_page_about_this_python(shared):
    _, figure = shared
    run(figure, "match 3:\n    case 3:\n        pass\n", "has no match: write if")
    link = figure.get_by_role("link", name="What this Python lacks.")
    assert link.get_attribute("href").endswith("python-on-the-page.html")


@pytest.mark.few(1)
def test_without_storage_the_task_works_and_the_page_warns(browser, address):
    with tasks(browser, address, script=DENY) as (tab, figure):
        run(figure, RIGHT, "✓ softmax-by-hand: right.")
        expect(tab.get_by_role("alert")).to_contain_text("a reload loses what you do here")


@pytest.mark.few(1)
@pytest.mark.parametrize("missing", ["WebAssembly", "DecompressionStream", "Worker"])
def test_without_a_feature_that_python_needs_the_task_can_be_read(browser, over_http, missing):
    with tasks(browser, over_http, script=f"delete window.{missing}") as (_, figure):
        touch(figure)
        expect(verdict(figure)).to_contain_text("Nothing can run here: ")
        assert verdict(figure).locator("p").count() == 1
        assert "math.exp(score)" in figure.inner_text()
        press(figure, "Run")
        expect(verdict(figure)).to_contain_text("You can still solve the task in Colab or Jupyter")


def test_a_script_that_cannot_be_loaded_is_requested_again(browser, over_http):
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
    """The numbers below the bars of the weights."""
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


@pytest.mark.few(1)
def test_the_results_of_the_readers_code_are_drawn_after_a_run_and_after_each_change(
    browser, address
):
    bug = MASKED.bugs["shared evenly"].function
    with tasks(browser, address) as (tab, _):
        second, drawn = tab.locator("figure.code").nth(1), tab.locator("figure.attention")
        before = weights(tab)
        expect(drawn.locator(".reader-function")).to_contain_text("is drawn here once it runs")
        run(second, as_typed(MASKED, bug), "✗")
        expect(drawn.get_by_label("draw what your masked_softmax gives")).to_be_checked()
        expect_weights(tab, [0.333, 0.333, 0.333, 0])
        drawn.locator("input[type=range]").first.press("ArrowLeft")
        expect_weights(tab, [0.5, 0.5, 0, 0])
        drawn.get_by_label("draw what your").uncheck()
        drawn.locator("input[type=range]").first.press("ArrowRight")
        expect_weights(tab, before)


def test_results_that_cannot_be_drawn_get_a_message_and_the_books_are_shown(shared):
    tab, _ = shared
    second = tab.locator("figure.code").nth(1)
    note, before = tab.locator("figure.attention .reader-function .note"), weights(tab)
    define = "def masked_softmax(scores, valid_len):\n    return"
    run(second, f"{define} 1 / 0\n", "ZeroDivision")
    expect(note).to_contain_text("so this is the book’s: ZeroDivisionError")
    expect_weights(tab, before)
    run(second, f"{define} [float('nan')] * 4\n", "NaN")
    expect(note).to_contain_text("so this is the book’s: it gives NaN.")
    run(second, as_typed(MASKED, MASKED.reference), "✓")
    expect(note).to_be_empty()
    expect_weights(tab, before)


@pytest.fixture(scope="module")
def chapter(home):
    """A page of the book with a task and a figure that draws its results."""
    return f"{home}chapters/masked-softmax.html"


HIDE_OTHERS = """figure => {
    for (let node = figure; node !== document.body; node = node.parentElement)
        for (const other of [...node.parentElement.children])
            if (other !== node && other.tagName !== "SCRIPT") {
                other.style.display = "none"; // scripts of the theme still find it
                if (other.closest("article"))
                    other.querySelectorAll("p, li, pre, table, figure").forEach(e => e.remove());
            }
}"""


def test_it_is_legible_and_accessible_with_the_editor_open(browser, chapter, save_picture):
    with tasks(browser, chapter) as (tab, figure):
        figure.evaluate(HIDE_OTHERS)  # axe takes many seconds for a whole chapter
        code = "def masked_softmax(scores, valid_len):\n    # how\n    return [1.0] * 4 + 'text'"
        for state, (width, scheme) in zip(("still", "error"), JUDGED, strict=True):
            change_view(tab, width, scheme)
            rules = OF_LOOK  # the tests of all pages run the others on the still form
            if state == "error":
                run(figure, code, "Line 3. It raises TypeError")
                rules = None
            assert axe_findings(tab, rules) == [], state
            assert layout_problems(figure) == [], state
            save_picture(figure, f"code-{state}-{width}-{scheme}")
            assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert figure.get_by_role("textbox", name="Your masked_softmax, in Python").is_visible()


MEASURE = """() => [...document.querySelectorAll('[data-attnbook-view]')]
    .filter(view => view.querySelector('.attnbook-code, figure.code'))
    .map(view => view.firstElementChild.getBoundingClientRect().height)"""


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_moves_when_a_task_and_its_editor_are_loaded(browser, chapter, width):
    still = f"addEventListener('DOMContentLoaded', () => {{ window.still = ({MEASURE})() }})"
    with tasks(browser, chapter, width, script=still) as (tab, figure):
        before = tab.evaluate("still")
        assert before
        assert tab.evaluate(MEASURE) == pytest.approx(before, abs=1)
        touch(figure)
        assert tab.evaluate(MEASURE) == pytest.approx(before, abs=1)


def test_in_two_tabs_random_actions_lose_no_code(browser, over_http, pytestconfig):
    context = browser.new_context()
    context.set_default_timeout(60_000)
    reader = Reader(context, over_http, seed=39)
    done = []
    for _ in range(ALL_STEPS if pytestconfig.getoption("--full") else STEPS):
        done.append(reader.step())
        try:
            reader.wait()
        except TimeoutError:
            pytest.fail(f"after {done[-8:]}: {reader.code_in_tabs()} instead of {reader.texts}")
    assert reader.typed > len(done) / 10
    assert [record.complaints + record.failures for record in reader.records] == [[], []]
    context.close()
