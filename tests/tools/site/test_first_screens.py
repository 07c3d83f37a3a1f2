"""How a chapter opens: one row of header, a question and its figure; and what the header does."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browsing import PAGES
from tests.tools.site.site_checks import NARROW, READY, WIDE, open_page
from tools import BUDGETS

LIMITS = BUDGETS["opening"]
CHAPTER = "chapters/masked-softmax.html"
# Of a chapter that begins with a figure: what is above it, and at which height it begins.
OPENING = """() => {
    const [title, view, next] = ['h1', '.attnbook-view', 'h2']
        .map(selector => document.querySelector(`article ${selector}`));
    if (!view || view.compareDocumentPosition(next) & Node.DOCUMENT_POSITION_PRECEDING) return null;
    const range = document.createRange();
    range.setStartAfter(title);
    range.setEndBefore(view);
    const header = document.querySelector('.bd-header-article');
    const middles = [...header.querySelectorAll('p, button, summary')]
        .filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())
        .map(({ top, bottom }) => (top + bottom) / 2);
    return {
        words: range.toString().match(/\\S*[\\p{L}\\p{N}]\\S*/gu).length,
        questions: range.cloneContents().querySelectorAll('strong').length,
        top: view.getBoundingClientRect().top,
        drawing: Math.max(...[...view.querySelectorAll('svg')].map(e => e.clientHeight)),
        slope: Math.max(...middles) - Math.min(...middles),
        header: header.offsetHeight,
        beyond: Math.max(document.documentElement.scrollWidth, header.scrollWidth) - innerWidth,
    };
}"""


def test_each_chapter_opens_with_one_row_a_question_and_its_figure(browser, home):
    openings = {}
    with open_page(browser, "about:blank", closed=True) as (tab, _):
        for name in PAGES:
            tab.set_viewport_size({"width": WIDE, "height": 800})
            tab.goto(f"{home}{name}.html")
            tab.evaluate(READY)
            if wide := tab.evaluate(OPENING):
                tab.set_viewport_size({"width": NARROW, "height": 740})
                openings[name] = wide, tab.evaluate(OPENING)
    assert len(openings) > 12
    faults = {
        name: (wide, phone)
        for name, (wide, phone) in openings.items()
        if wide["words"] > LIMITS["words"]
        or wide["questions"] == 0
        or wide["top"] > LIMITS["top"]
        or wide["drawing"] > LIMITS["drawing"]
        or phone["top"] > LIMITS["phone_top"]
        or any(view["slope"] > 4 or view["beyond"] > 0 for view in (wide, phone))
        or max(wide["header"], phone["header"]) > LIMITS["header"]
    }
    assert faults == {}


def test_the_menu_works_by_keyboard_and_closes_by_escape_and_by_a_click_elsewhere(browser, home):
    with open_page(browser, home + CHAPTER, NARROW) as (tab, record):
        menu, folds = tab.locator(".attnbook-menu"), tab.locator("details.sd-dropdown")
        button = menu.locator("summary")
        answers = menu.get_by_role("button", name="Show all answers")
        button.press("Enter")
        for pressed in (True, False):
            tab.keyboard.press("Tab") if pressed else None
            expect(answers).to_be_focused()
            answers.press("Enter")
            expect(answers).to_have_attribute("aria-pressed", str(pressed).lower())
            assert {fold.evaluate("fold => fold.open") for fold in folds.all()} == {pressed}
        tab.keyboard.press("Escape")
        expect(button).to_be_focused()
        expect(answers).to_be_hidden()
        button.click()
        expect(answers).to_be_visible()
        tab.mouse.click(8, 500)
        expect(answers).to_be_hidden()
        assert record.complaints == []


def test_f_shows_the_figure_in_view_in_full_screen_and_is_a_letter_in_a_field(browser, home):
    with open_page(browser, home + CHAPTER) as (tab, record):
        view = tab.locator(".attnbook-view").first
        size = "view => view.firstElementChild.getBoundingClientRect().width"
        before = view.evaluate(size)
        tab.keyboard.press("f")
        tab.wait_for_function("document.fullscreenElement?.style.getPropertyValue('--zoom') > 1")
        assert view.evaluate("view => view.matches(':fullscreen')")
        assert view.evaluate(size) > 1.2 * before
        slider = view.get_by_role("slider").first
        box = slider.bounding_box()
        tab.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
        expect(slider).to_have_value("5")
        tab.keyboard.press("f")
        tab.wait_for_function("!document.fullscreenElement")
        tab.locator("[data-attnbook-kind=prediction] input").first.press("f")
        assert tab.evaluate("document.fullscreenElement") is None
        assert record.complaints == []
