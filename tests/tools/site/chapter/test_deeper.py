"""The divider of a chapter, the minutes of its halves, and the limits of its core."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from playwright.sync_api import expect

from attnbook.practice.registry import find_list_task
from tests.tools.site.published_book import CELLS, OUTPUT, TASK, published_site
from tests.tools.site.site_checks import JUDGED, change_view, open_page
from tools.site.chapter.deeper import core_problems
from tools.site.chapter.minutes import CORE_SECONDS, SECONDS, Parts


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The site of a book with divided chapters, and what its build printed."""
    site = published_site(tmp_path_factory)
    return site, (site.parents[1] / OUTPUT).read_text("utf-8")


def read(pages, name):
    return (pages[0] / "chapters" / f"{name}.html").read_text("utf-8")


def times(html):
    """The minutes of core, deeper half and practice, and the line of the menu that names them."""
    ((core, shown),) = re.findall(r'class="attnbook-minutes" data-core="(\d+)">(.*?)<', html)
    (line,) = re.findall(r"<ul><li><span>(.*?)</span>", html)
    minutes = [int(number) for number in re.findall(r"\d+", line)]
    assert (int(core), shown) == (minutes[0], line.split(" · ")[0])
    return minutes, line


# Minutes


def test_words_are_counted_as_by_hand_and_times_are_added(pages):
    task = find_list_task(TASK)
    task_words = [
        word for word in f"{task.full_statement} {task.starter}".split() if re.search(r"\w", word)
    ]
    words = sum(count for _, count in CELLS) + len(task_words)
    (row,) = re.findall(r"^divided +(.*)$", pages[1], re.MULTILINE)
    assert row.split()[:2] == [str(words), "900"]

    seconds_of_words = words * CORE_SECONDS["word"]
    seconds_of_tasks = sum(CORE_SECONDS[each] for each in ("prediction", "editor", "figure"))
    practice = SECONDS["question"] + 2 * SECONDS["code"]  # one of them above the practice
    minutes = [round((seconds_of_words + seconds_of_tasks) / 60), 1, round(practice / 60)]
    assert times(read(pages, "divided"))[0] == minutes
    assert row.split()[4:] == [str(number) for number in minutes]


def test_each_chapter_shows_its_minutes_and_so_does_each_section_below_the_divider(pages):
    (core, deeper, practice), text = times(read(pages, "divided"))
    assert text == f"Core {core} min · Deeper {deeper} min · Practice {practice} min"
    assert times(read(pages, "plain"))[1] == "Reading 1 min · Practice 6 min"
    assert "attnbook-minutes" not in read(pages, "welcome")
    html = read(pages, "divided").partition("<article")[2].partition("</article>")[0]
    pattern = r"<h([23])>([^<]*).*?</h\1>\s*(?:<details[^>]* open><summary[^>]*>(.*?)</summary>)?"
    found = {title: time.rpartition(">")[2] for _, title, time in re.findall(pattern, html)}
    assert found == {
        "Core": "",
        "Inside": "",
        "Why": "1 min",
        "How": "15 min",
        "Practice": f"{practice - 15} min",
        "Summary": "1 min",
    }


# The divider


def test_the_divider_is_between_two_sections_and_leads_on_and_no_search_finds_it(pages):
    before, after = read(pages, "divided").split('<div class="attnbook-divider"')
    assert before.count("<section") - before.count("</section>") == 1
    assert [*re.findall(r"<h\d>([^<]*)", before)][-1] == "Inside"
    assert after.partition("</div>")[2].lstrip().startswith('<section id="why">')
    # It leads on.
    for page, address, text in (
        ("divided", "last.html", "Next on the short path: Last"),
        ("outside", "plain.html", "Next: Plain &amp; “simple”"),
    ):
        html = read(pages, page).partition('<div class="attnbook-divider"')[2]
        divider = html.partition("</div>")[0]
        assert f'href="{address}">{text}</a>' in divider
        assert "You can stop here.</strong> Below: why and how, 1 minute." in divider
    end = read(pages, "last").partition('<div class="attnbook-divider"')[2].partition("</div>")[0]
    assert "<a " not in end  # the path's last chapter says itself what comes next
    # The search finds no minutes and no divider.
    text = "".join(part.read_text("utf-8") for part in (pages[0] / "search").glob("*-*.js"))
    assert "because" in text.lower()
    assert [each for each in ("stop here", '"min"', "min:") if each in text] == []


@pytest.mark.parametrize("script", [True, False])
def test_no_reader_can_miss_the_divider(browser, pages, script):
    url = (pages[0] / "chapters" / "divided.html").as_uri()
    with open_page(browser, url, java_script_enabled=script) as (tab, record):
        divider = tab.get_by_role("region", name="End of the core")
        link = divider.get_by_role("link", name="Next on the short path: Last")
        for width, scheme in JUDGED:
            change_view(tab, width, scheme, script=script)
            for medium in ("print", "screen"):
                tab.emulate_media(media=medium)
                expect(divider).to_be_visible()
                expect(link).to_be_visible()
                assert divider.evaluate("e => parseFloat(getComputedStyle(e).borderTopWidth)") >= 3
            box, target = divider.bounding_box(), link.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert target["height"] >= 24
            if script:
                assert tab.evaluate("document.body.scrollWidth") <= width
        assert record.complaints + record.failures == []
        link.press("Enter")  # a pointer may miss it while the page gets its new width
        expect(tab).to_have_title(re.compile("^Last"), timeout=30_000)


STATES = "[...document.querySelectorAll('.attnbook-section')].map((each) => each.open)"


def test_sections_below_the_divider_are_closed_until_a_reader_asks_for_them(browser, pages):
    url = (pages[0] / "chapters" / "divided.html").as_uri()
    with open_page(browser, "about:blank", 1600, closed=True) as (tab, record):
        # Before any script of the page has run, too.
        tab.route("**/_static/*.js*", lambda route: route.abort())
        tab.goto(url)
        expect(tab.get_by_text("Because.").first).to_be_hidden()
        tab.unroute_all()
        record.failures.clear(), record.complaints.clear()
        for ask, opened in (
            ("", None),
            ("#how", 1),  # a link to a section
            ("#:~:text=Because", 0),  # as Ctrl+F does
        ):
            tab.goto("about:blank")
            tab.goto(url + ask)
            tab.wait_for_function(f"{STATES}.toString() === '{wanted(opened)}'")
        # By its heading or its minutes, and by a link within the page.
        tab.get_by_role("heading", name="Summary").click()
        tab.locator("#how summary").first.press("Enter")
        tab.locator("nav.page-toc a[href='#practice']").click()
        assert tab.evaluate(STATES) == [True] * 4
        tab.get_by_role("heading", name="Summary").click()
        assert tab.evaluate(STATES) == [True, True, True, False]
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert tab.evaluate(STATES) == [True] * 4
        tab.evaluate("dispatchEvent(new Event('afterprint'))")
        assert tab.evaluate(STATES) == [True, True, True, False]
        # All of them, which the browser remembers.
        for pressed in (True, False):
            button = tab.get_by_role("button", name="Open all sections", pressed=not pressed)
            button.click()
            assert tab.evaluate(STATES) == [pressed] * 4
            tab.goto("about:blank")
            tab.goto(url)
            assert tab.evaluate(STATES) == [pressed] * 4
        assert record.complaints + record.failures == []
    with open_page(browser, url, java_script_enabled=False) as (tab, _):
        expect(tab.get_by_text("Because.").first).to_be_visible()
        expect(tab.get_by_role("button", name="Open all sections")).to_be_hidden()


def wanted(opened):
    """The states of the sections, as JavaScript prints them, with one open."""
    return ",".join(str(i == opened).lower() for i in range(4))


# Limits


@pytest.mark.parametrize(
    ("name", "what", "most"),
    [
        ("queries-keys-values", "word", 800),
        ("any", "prediction", 2),
        ("any", "editor", 1),
        ("attention-from-nothing", "editor", 3),
    ],
)
def test_a_core_may_reach_its_limit_but_not_exceed_it(name, what, most):
    at_most, more = (Parts(core=Counter({what: count})) for count in (most, most + 1))
    assert [*core_problems(f"chapters/{name}", at_most)] == []
    problem = f"the core has {most + 1} {what}s, and may have {most}"
    assert [*core_problems(f"chapters/{name}", more)] == [problem]
