"""The divider of a chapter, the minutes of its halves, and the limits of its core."""

from __future__ import annotations

import re
from collections import Counter

import nbformat
import pytest
from nbformat import v4
from playwright.sync_api import expect

from attnbook.practice.registry import find_list_task
from tests.tools.site.published_book import build, write
from tests.tools.site.site_checks import JUDGED, OF_LOOK, WIDE, axe_findings, change_view, opened
from tools.site.deeper import core_problems
from tools.site.minutes import SECONDS, Parts

TOC = """format: jb-book
root: chapters/welcome
parts:
  - caption: The idea
    chapters: [{file: chapters/divided}, {file: chapters/last}]
  - caption: More
    chapters: [{file: chapters/outside}, {file: chapters/plain}]
"""
TASK = "look-up-by-hand"
DIVIDER = ":::{deeper}\n:::"
SETUP = (
    "import torch\nfrom attnbook.figures import CodeTask, Prediction, ScalingFigure\n"
    "q, k = torch.ones(1, 2, 4), torch.ones(1, 3, 4)\n" + "_ = 1\n" * 20
)
PRACTICE = "**1.** Why?\n\n:::{dropdown} Answer\nBecause.\n:::"


def text(source, *tags):
    return v4.new_markdown_cell(source, metadata={"tags": list(tags)})


def code(source, *tags):
    return v4.new_code_cell(source, metadata={"tags": list(tags)})


# The cells of a divided chapter, and the words of its core in each, counted by hand.
CELLS = [
    (text("# Divided\n\nOne, two, three $x^2$."), 5),
    (code(SETUP, "setup"), 0),
    (text("## Core\n\nFour words of **text**."), 5),
    (code('Prediction("Two and two:", 4)', "predict"), 3),
    (text("It is four.", "answer"), 3),
    (code("2 + 2"), 2),
    (code('ScalingFigure(q, k, caption="A caption here.")'), 5 + 3),
    (code(f'CodeTask("{TASK}")'), 1),
    (text(":::{dropdown} Hint\nThink.\n:::"), 0),
    (code("def look_up(query, keys, values): ...", "answer"), 0),
    (text(f"### Inside\n\nAn end.\n\n{DIVIDER}\n\n## Why\n\nBecause."), 3),
    (text("## How\n\nSo."), 0),
    (text(f"## Practice\n\n{PRACTICE}"), 0),
    (code("def mine():\n    # your code\n    ..."), 0),
    (text("## Summary\n\nAll."), 0),
]


def notebook(*cells):
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    numbered = [
        nbformat.from_dict(cell | {"id": f"c{number}"}) for number, cell in enumerate(cells)
    ]
    return nbformat.writes(v4.new_notebook(cells=numbered, metadata={"kernelspec": spec}))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site of a book with divided chapters, and what its build printed."""
    divided = f"A link to [how](divided.ipynb).\n\n{DIVIDER}\n\n## Why\n\nSo.\n"
    pages = {
        "welcome.md": f"# Welcome\n\nHere.\n\n## Practice\n\n{PRACTICE}\n",
        "divided.ipynb": notebook(*(cell for cell, _ in CELLS)),
        "last.md": f"# Last\n\n{divided}\n[more about this](divided.ipynb#how)\n",
        "outside.md": f"# Outside\n\n[more about this](divided.ipynb#how)\n\n{divided}",
        "plain.ipynb": notebook(text("# Plain\n\nText."), code("1"), CELLS[12][0]),
    }
    book = write(tmp_path_factory.mktemp("divided"))
    for name in ("first.ipynb", "second.md"):
        (book / "chapters" / name).unlink()
    for name, content in pages.items():
        (book / "chapters" / name).write_text(content, "utf-8")
    (book / "_toc.yml").write_text(TOC)
    status, output = build(book)
    assert status == 0, output
    return book / "_build" / "html", output


def read(built, name):
    return (built[0] / "chapters" / f"{name}.html").read_text("utf-8")


def times(html):
    """The numbers that scripts read below a title, and the text there."""
    (found,) = re.findall(r'</h1>\s*<p class="attnbook-minutes" (.*?)>(.*?)</p>', html, re.DOTALL)
    return [int(number) for number in re.findall(r'"(\d+)"', found[0])], found[1]


# Minutes


def test_words_are_counted_as_by_hand_and_times_are_added(built):
    task = find_list_task(TASK)
    task_words = [
        word for word in f"{task.statement} {task.starter}".split() if re.search(r"\w", word)
    ]
    words = sum(count for _, count in CELLS) + len(task_words)
    (row,) = re.findall(r"^divided +(.*)$", built[1], re.MULTILINE)
    assert row.split()[:2] == [str(words), "900"]

    seconds_of_words = words * SECONDS["word"]
    seconds_of_tasks = SECONDS["prediction"] + SECONDS["editor"] + SECONDS["figure"]
    practice = SECONDS["question"] + SECONDS["code"]
    minutes = [round((seconds_of_words + seconds_of_tasks) / 60), 1, round(practice / 60)]
    assert times(read(built, "divided"))[0] == minutes
    assert row.split()[4:] == [str(number) for number in minutes]


def test_each_chapter_shows_its_minutes_and_other_pages_do_not(built):
    (core, deeper, practice), text = times(read(built, "divided"))
    assert text == f"Core {core} min · Deeper {deeper} min · Practice {practice} min"
    assert times(read(built, "plain"))[1] == "Reading 1 min · Practice 6 min"
    assert "attnbook-minutes" not in read(built, "welcome")


def test_each_section_below_the_divider_shows_its_minutes_and_no_other_does(built):
    html = read(built, "divided").partition("<article")[2].partition("</article>")[0]
    pattern = r"<h([23])>([^<]*).*?</h\1>\s*(?:<p class=\"attnbook-section-minutes\">(.*?)</p>)?"
    found = {title: time for _, title, time in re.findall(pattern, html)}
    practice = times(html)[0][2]
    assert found == {
        "Core": "",
        "Inside": "",
        "Why": "1 min",
        "How": "1 min",
        "Practice": f"{practice} min",
        "Summary": "1 min",
    }


def test_the_sidebar_shows_minutes_of_the_core_on_the_path_and_of_all_else_elsewhere(built):
    for page in ("divided", "welcome"):
        entries = re.findall(
            r"toctree-l1.*?<a[^>]*>(.*?)(?: <small>(.*?)</small>)?</a>", read(built, page)
        )
        core = times(read(built, "divided"))[0][0]
        assert dict(entries) == {
            "Divided": f"{core} min",
            "Last": "1 min",
            "Outside": "2 min",
            "Plain": "1 min",
        }


# The divider


def test_the_divider_is_between_two_sections_wherever_it_was_written(built):
    before, after = read(built, "divided").split('<div class="attnbook-divider"')
    assert before.count("<section") - before.count("</section>") == 1
    assert [*re.findall(r"<h\d>([^<]*)", before)][-1] == "Inside"
    assert after.partition("</div>")[2].lstrip().startswith('<section id="why">')


@pytest.mark.parametrize(
    ("page", "address", "text"),
    [
        ("divided", "last.html", "Next on the short path: Last"),
        ("last", "welcome.html", "Back to Welcome"),
        ("outside", "plain.html", "Next: Plain"),
    ],
)
def test_the_divider_leads_on(built, page, address, text):
    divider = read(built, page).partition('<div class="attnbook-divider"')[2].partition("</div>")[0]
    assert f'href="{address}">{text}</a>' in divider
    assert "You can stop here.</strong> Below: why and how, 1 minute." in divider


def test_search_finds_no_minutes_and_no_divider(built):
    text = (built[0] / "excerpts.js").read_text("utf-8")
    assert "because" in text.lower()
    for each in (text, (built[0] / "searchindex.js").read_text("utf-8")):
        assert "stop here" not in each
        assert '"min"' not in each
        assert "min:" not in each


@pytest.mark.parametrize("script", [True, False])
def test_no_reader_can_miss_the_divider(browser, built, script):
    url = (built[0] / "chapters" / "divided.html").as_uri()
    with opened(browser, url, java_script_enabled=script) as (tab, record):
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
                assert axe_findings(tab, None if width == WIDE else OF_LOOK) == []
                assert tab.evaluate("document.body.scrollWidth") <= width
        assert record.complaints + record.failures == []
        link.click()
        expect(tab).to_have_title(re.compile("^Last"))


# Limits


@pytest.mark.parametrize(
    ("name", "what", "most"),
    [
        ("queries-keys-values", "word", 800),
        ("self-attention", "word", 600),
        ("any", "prediction", 2),
        ("any", "word", 900),
        ("any", "editor", 1),
        ("attention-from-nothing", "editor", 2),
    ],
)
def test_a_core_may_reach_its_limit_but_not_exceed_it(name, what, most):
    def problems(count):
        return [*core_problems(f"chapters/{name}", Parts(core=Counter({what: count})))]

    assert problems(most) == []
    assert problems(most + 1) == [f"the core has {most + 1} {what}s, and may have {most}"]
