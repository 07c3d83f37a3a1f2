"""The description of each page for search engines and previews."""

from __future__ import annotations

from html.parser import HTMLParser
from types import SimpleNamespace

from docutils import nodes

from tests.browsing import PAGES
from tools.site.descriptions import LEAST, MOST, add_description, description, shorten

BOOK = "The book"


def document(*parts: nodes.Node) -> nodes.document:
    """A page with a title and these parts."""
    tree = nodes.document(None, None)
    tree += nodes.section("", nodes.title("", "Title"), *parts)
    return tree


def description_tag(page: str, tree: nodes.document | None) -> str:
    """The tag in a page's head."""
    context = {}
    add_description(
        SimpleNamespace(config=SimpleNamespace(html_title=BOOK)), page, "", context, tree
    )
    return context.get("metatags", "")


def test_a_page_is_described_by_its_first_paragraphs_and_not_by_its_tables():
    tree = document(
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


def test_a_page_without_sentences_is_named_with_its_book():
    assert 'content="Title, a page of “The book”."' in description_tag("a", document(nodes.table()))
    assert BOOK in description_tag("search", None)
    assert description_tag("genindex", None) == ""


class Description(HTMLParser):
    """The descriptions in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "meta" and dict(attrs).get("name") == "description":
            self.found.append(dict(attrs)["content"])


def test_every_page_has_one_description_of_its_own(site):
    texts = {name: (site / f"{name}.html").read_text("utf-8") for name in PAGES}
    found = {name: Description(html).found for name, html in texts.items()}
    assert {name: texts for name, texts in found.items() if len(texts) != 1} == {}
    texts = [one for (one,) in found.values()]
    assert len({*texts}) == len(PAGES)
    assert [one for one in texts if not 40 <= len(one) <= MOST or "\\" in one] == []
