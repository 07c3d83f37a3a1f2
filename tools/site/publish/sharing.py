"""What names the address of the published site: canonical links, cards, sitemap, lost page.

Where the environment does not name that address, nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from tools.site import TEXT
from tools.site.page_tree import add_metatags, title_text
from tools.site.publish.descriptions import description
from tools.site.publish.publishing import CARDS, HEIGHT, LOST, ROBOTS, SITEMAP, WIDTH, site_address


def describe_site(config: Config) -> None:
    """Set the site's address for Sphinx and for its extension that writes the page “not found”."""
    if address := site_address():
        config.html_baseurl, config.notfound_urls_prefix = address, urlsplit(address).path


def card_of(page: str) -> str:
    """The path of a page's card on the site."""
    return f"{CARDS}/{page.replace('/', '-')}.png"


def tags(site: str, book: str, page: str, tree: nodes.document) -> dict[str, str]:
    """The tags of a page at `site` for previews (Open Graph)."""
    title, begins = title_text(tree), description(tree)
    named = {
        "og:title": title,
        "og:type": "website",
        "og:url": f"{site}{page}.html",
        "og:site_name": book,
        "og:description": begins,
        "og:image": site + card_of(page),
        "og:image:width": str(WIDTH),
        "og:image:height": str(HEIGHT),
        "og:image:alt": TEXT("card_shows", page=title),
        "twitter:card": "summary_large_image",
    }
    return {name: text for name, text in named.items() if text}


def as_html(named: dict[str, str]) -> str:
    """Such tags as HTML."""
    return "".join(
        f'<meta {"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{escape(text)}" />\n'
        for name, text in named.items()
    )


def introduce(app: Sphinx, page: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    """Draw a page's card, and add the tags for previews to its head."""
    address, book = site_address(), app.config.html_title
    if tree is None or not address:
        return
    from tools.site.publish import cards  # noqa: PLC0415 - with matplotlib, which takes seconds

    named = tags(address, book, page, tree)
    cards.write_card(Path(app.outdir, card_of(page)), named["og:title"], book, address)
    add_metatags(context, as_html(named))


def fill_lost_page(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Let the page “not found” work at any address, without an address of its own."""
    if page != LOST:
        return
    root = app.config.notfound_urls_prefix
    first = app.builder.get_target_uri(app.config.root_doc)
    context["title"] = TEXT("page_not_found")
    search, start = TEXT("search"), TEXT("the_first_page")
    links = {
        "search": f'<a href="{root}search.html">{search}</a>',
        "first": f'<a href="{root}{first}">{start}</a>',
    }
    context["body"] = f"<h1>{context['title']}</h1>\n<p>{TEXT('no_such_page', **links)}</p>\n"
    context["content_root"] = root
    context["pageurl"] = None


def sitemap(addresses: Iterable[str]) -> str:
    """The list of a site's pages, as search engines read it."""
    entries = "".join(f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )


def write_lists(app: Sphinx) -> None:
    """Write the files for search engines; they list every page, even those not built just now."""
    address, out = site_address(), Path(app.outdir)
    if not address:
        return
    pages = [address + app.builder.get_target_uri(page) for page in sorted(app.env.found_docs)]
    (out / SITEMAP).write_text(sitemap(pages), "utf-8")
    (out / ROBOTS).write_text(f"User-agent: *\nAllow: /\nSitemap: {address}{SITEMAP}\n", "utf-8")
