"""The description of each page for search engines and previews."""

from __future__ import annotations

import re
from html import unescape

from docutils import nodes

from tests.browsing import PAGES
from tools.site.publish.descriptions import LEAST, MOST, description, shorten


def test_a_page_is_described_by_its_first_paragraphs_and_not_by_its_tables():
    tree = nodes.document(None, None)
    tree += nodes.section(
        "",
        nodes.title("", "Title"),
        nodes.paragraph("", "How it begins."),
        nodes.table("", nodes.paragraph("", "in a table")),
        nodes.paragraph("", "More " * 80),
    )
    assert description(tree).startswith("How it begins. More More")
    assert description(tree).endswith("More …")
    assert len(description(tree)) <= MOST


def test_a_description_ends_with_a_sentence_where_one_is_long_enough():
    first, second = f"{'a' * (LEAST - 1)}.", f"{'b' * MOST}?"
    assert shorten(f"{first} {second}") == first
    assert shorten(first) == first
    assert shorten("Short. " + "long " * 80).endswith("long …")
    assert shorten("Short.") == "Short."
    assert shorten("") == ""


DESCRIPTION = re.compile(r'<meta [^>]*\bname="description"[^>]*>')


def test_every_page_has_one_description_of_its_own(site):
    texts = {name: (site / f"{name}.html").read_text("utf-8") for name in PAGES}
    found = {name: DESCRIPTION.findall(html) for name, html in texts.items()}
    assert {name: tags for name, tags in found.items() if len(tags) != 1} == {}
    described = [re.search(r'content="(.*?)"', tag)[1] for (tag,) in found.values()]
    assert len({*described}) == len(PAGES)
    described = [unescape(text) for text in described]
    assert [one for one in described if not 40 <= len(one) <= MOST or "\\" in one] == []
