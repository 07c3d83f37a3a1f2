"""How each page is described to those who have not opened it."""

from __future__ import annotations

from html.parser import HTMLParser
from types import SimpleNamespace

from docutils import nodes

from tests.browsing import PAGES
from tools.site.descriptions import LEAST, MOST, describe, description, shortened

BOOK = "The book"


def document(*parts: nodes.Node) -> nodes.document:
    """A page with a title and these parts."""
    tree = nodes.document(None, None)
    tree += nodes.section("", nodes.title("", "Title"), *parts)
    return tree


def described(page: str, tree: nodes.document | None) -> str:
    """What is added to a page's head."""
    context = {}
    describe(SimpleNamespace(config=SimpleNamespace(html_title=BOOK)), page, "", context, tree)
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


def test_a_description_ends_with_a_sentence_where_one_says_enough():
    first, second = f"{'a' * (LEAST - 1)}.", f"{'b' * MOST}?"
    assert shortened(f"{first} {second}") == first
    assert shortened(first) == first
    assert shortened("Short. " + "long " * 80).endswith("long …")
    assert shortened("Short.") == "Short."
    assert shortened("") == ""


def test_a_description_may_hold_any_sign():
    tag = described("a", document(nodes.paragraph("", 'Is a < b & "c"?')))
    assert tag == '<meta name="description" content="Is a &lt; b &amp; &quot;c&quot;?" />\n'


def test_a_page_without_sentences_is_named_with_its_book():
    assert 'content="Title, a page of “The book”."' in described("a", document(nodes.table()))
    assert BOOK in described("search", None)
    assert described("genindex", None) == ""


class Description(HTMLParser):
    """What a page says of itself."""

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
    assert {name: told for name, told in found.items() if len(told) != 1} == {}
    told = [one for (one,) in found.values()]
    assert len({*told}) == len(PAGES)
    assert [one for one in told if not 40 <= len(one) <= MOST or "\\" in one] == []
