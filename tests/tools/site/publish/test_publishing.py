"""A published book: its addresses, its tags and its pages, and a book whose address is unknown."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib as mpl
import pytest

from tests.tools.site.published_book import (
    PAGES,
    PUBLISHED,
    REPOSITORY,
    SITE,
    TITLE,
    build,
    build_site,
    published_site,
    write,
)
from tests.tools.site.site_checks import (
    JUDGED,
    WIDE,
    axe_findings,
    change_view,
    layout_faults,
    open_page,
)
from tools.repository_address import colab_address, site_address
from tools.site.publish.cards import HEIGHT, WIDTH, write_card

COLAB = "https://colab.research.google.com/github/ada/a-fork/blob/colab/chapters/plain.ipynb"
LOST = "chapters/not/there.html"
ADDRESS = re.compile(r'(?:href|src|action|content|data-content_root)="((?:https?:)?/[^"]*)"')


class Head(HTMLParser):
    """The head of a page: its `<meta>` by name, and its canonical address."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.meta: dict[str, str] = {}
        self.canonical: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "meta" and (name := values.get("property") or values.get("name")):
            assert name not in self.meta or name == "viewport", name  # the theme has two
            self.meta[name] = values["content"]
        if tag == "link" and values.get("rel") == "canonical":
            self.canonical.append(values["href"])


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The site of a small book whose repository and address are known."""
    return published_site(tmp_path_factory)


def read(site, name):
    return (site / name).read_text("utf-8")


# Addresses


def test_the_site_has_the_address_that_the_environment_names():
    assert site_address({}) == site_address({"BOOK_SITE": " "}) == ""
    address = "https://book.example.org:8443"
    assert site_address({"BOOK_SITE": address}) == f"{address}/"
    for wrong in (
        "http://example.org/",
        "https://ada:secret@example.org/",
        'https://a.org/"><script>',
    ):
        with pytest.raises(
            ValueError, match=r"BOOK_SITE must be an address like https://.*, got '"
        ):
            site_address({"BOOK_SITE": wrong})


def test_only_a_repository_on_github_has_copies_that_colab_shows():
    assert colab_address(f"{REPOSITORY}.git/", "plain") == COLAB
    for repository in ("", "https://github.example.org/ada/a-fork", f"{REPOSITORY}/wiki"):
        assert colab_address(repository, "plain") == ""


# What is shared


def test_a_card_has_the_size_in_its_tags_and_always_the_same_bytes(tmp_path):
    write_card(tmp_path / "a.png", "Masked softmax", "The book", SITE)
    with mpl.rc_context({"font.size": 30, "savefig.dpi": 50, "figure.facecolor": "red"}):
        write_card(tmp_path / "b.png", "Masked softmax", "The book", SITE)
    write_card(tmp_path / "c.png", "Another title", "The book", SITE)
    first, again, other = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert first == again != other
    assert [int.from_bytes(first[at : at + 4], "big") for at in (16, 20)] == [WIDTH, HEIGHT]


# A site whose address is known


@pytest.mark.slow
def test_every_page_has_its_own_address_title_and_beginning(published):
    titles = {"welcome": "Welcome", "plain": "Plain & “simple”"}
    for name, title in titles.items():
        head = Head(read(published, f"chapters/{name}.html"))
        address = f"{SITE}chapters/{name}.html"
        assert (head.canonical, head.meta["og:url"]) == ([address], address)
        assert (head.meta["og:site_name"], head.meta["og:title"]) == (TITLE, title)
        card = head.meta["og:image"].removeprefix(SITE)
        assert (published / card).read_bytes().startswith(b"\x89PNG")
    front, first = (Head(read(published, name)) for name in ("index.html", "chapters/welcome.html"))
    assert first.meta["og:description"] == first.meta["description"]
    assert first.meta["description"] == "How a page begins. 1. Why?"
    assert front.canonical == first.canonical
    assert front.meta["og:url"] == first.meta["og:url"]
    # Robots find the sitemap, and in it every page.
    assert f"Sitemap: {SITE}sitemap.xml" in read(published, "robots.txt")
    pages = {f"{SITE}chapters/{Path(name).stem}.html" for name in PAGES}
    assert {*re.findall("<loc>(.*)</loc>", read(published, "sitemap.xml"))} == pages


@pytest.mark.slow
def test_a_known_site_and_repository_are_the_only_ones_that_its_pages_name(published):
    own = (SITE, REPOSITORY, COLAB.removesuffix("plain.ipynb"), "/a-fork/")
    pages = sorted(path for path in published.glob("**/*.html") if "_static" not in path.parts)
    assert len(pages) == len(PAGES) + 3
    for page in pages:
        found = ADDRESS.findall(page.read_text("utf-8"))
        assert found, page
        assert [address for address in found if not address.startswith(own)] == [], page


@pytest.mark.slow
def test_edit_and_report_lead_to_the_source_and_only_a_notebook_leads_to_colab(published):
    notebook, text = (read(published, f"chapters/{name}.html") for name in ("plain", "last"))
    assert f'href="{COLAB}"' in notebook
    assert f'href="{REPOSITORY}/edit/main/chapters/plain.ipynb"' in notebook
    assert f'href="{REPOSITORY}/issues/new?title=' in notebook
    assert f'href="{REPOSITORY}/edit/main/chapters/last.md"' in text
    assert "colab" not in text


@pytest.mark.slow
def test_the_page_for_lost_readers_works_from_any_address_and_has_none(published):
    page = read(published, "404.html")
    assert Head(page).canonical == []
    assert "<title>Page not found" in page
    assert 'data-content_root="/a-fork/"' in page
    targets = re.findall(r'(?:href|src|action)="([^"]*)"', page)
    local = [target for target in targets if not urlsplit(target).scheme and target[0] != "#"]
    assert len(local) > 10
    for target in local:
        assert target.startswith("/a-fork/"), target
        assert (published / urlsplit(target).path.removeprefix("/a-fork/")).is_file(), target


# The same site in a browser


@pytest.fixture(scope="module")
def address(serve, published, tmp_path_factory):
    """Where the site is served: below the folder that its address names, as on Pages.

    Its page for lost readers is where no other page is, as a server would show it.
    """
    served = tmp_path_factory.mktemp("served")
    shutil.copytree(published, served / "a-fork")
    lost = served / "a-fork" / LOST
    lost.parent.mkdir()
    shutil.copy(published / "404.html", lost)
    return serve(served) + "a-fork/"


@pytest.mark.slow
def test_a_published_page_is_quiet_and_accessible_and_its_menu_is_within_the_window(
    browser, address
):
    with open_page(browser, f"{address}chapters/plain.html", *JUDGED[0]) as (page, record):
        for width, scheme in JUDGED:
            change_view(page, width, scheme)
            check_buttons(page, width)
            page.reload()  # closes their menu
        check_page(page, width)
        assert record.complaints + record.failures + record.foreign(address) == []


def check_page(page, width):
    assert layout_faults(page, width) == []
    assert axe_findings(page) == []


def check_buttons(page, width):
    menu = page.locator(".attnbook-menu")
    menu.locator("summary").click()
    for name in ("Colab", "Suggest edit", "Open an issue"):
        link = menu.get_by_role("link", name=name)
        box = link.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        assert min(box["width"], box["height"]) >= 24
        link.click(trial=True)  # not hidden behind another
    assert menu.get_by_role("link", name="Colab").get_attribute("href") == COLAB


@pytest.mark.slow
def test_a_lost_reader_finds_the_first_page_and_can_search(browser, address):
    with open_page(browser, address + LOST, *JUDGED[0]) as (page, record):
        check_page(page, WIDE)
        page.get_by_role("link", name="the first page").click()
        page.wait_for_url("**/a-fork/chapters/welcome.html")
        page.goto(address + LOST)
        page.locator(".search-button-field:visible").click()
        page.locator("input[name=q]:focus").wait_for()
        page.keyboard.type("begins")
        page.keyboard.press("Enter")
        page.wait_for_url("**/a-fork/search.html?q=begins")
        page.locator("#search-results li a").first.wait_for()
        assert record.complaints + record.failures + record.foreign(address) == []


# Other builds of the book


@pytest.mark.weekly
def test_a_later_build_keeps_the_sitemap_and_one_without_addresses_leaves_none(tmp_path):
    book = write(tmp_path)
    site = build_site(book, **PUBLISHED)

    def files():
        return {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}

    sitemap_text, before = read(site, "sitemap.xml"), files()
    with (book / "chapters" / "last.md").open("a") as page:
        page.write("\nMore.\n")
    build_site(book, **PUBLISHED)
    assert read(site, "sitemap.xml") == sitemap_text
    status, output = build(book, BOOK_SITE="ftp://example.org/")
    assert status != 0
    assert "BOOK_SITE must be an address like" in output
    assert "Traceback" not in output
    build_site(book)
    gone = before - files()
    assert {"404.html", "robots.txt", "sitemap.xml"} < gone
    assert all(name.startswith("_static/cards/") for name in gone if "/" in name)
    check_pages_without_addresses(site)


def check_pages_without_addresses(site):
    for page in site.glob("**/*.html"):
        if "_static" in page.parts:
            continue
        text = page.read_text("utf-8")
        assert ADDRESS.findall(text) == [], page
        assert Head(text).canonical == []
        assert not {"og:url", "og:image", "twitter:card"} & Head(text).meta.keys()
        assert re.findall(r"a-fork|example\.org|github", text) == []
