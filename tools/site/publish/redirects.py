"""Old addresses lead to the new ones, sections included: `chapters/redirects.toml` lists them.

A script in the head redirects before anything is drawn. A page that no longer exists is written
again, with nothing else on it; a page that still exists gets the script for its moved sections.
The site's own address leads to the first page in the same way.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

from tools.site import TEXT
from tools.site.publish import publishing

FILE = "chapters/redirects.toml"
FRONT_DOOR = "index"
NAMES = "attnbook.*"  # a key of the table: the entries of all names of the package
# The text is the same on all pages, so that one hash allows it in a Content-Security-Policy.
SCRIPT = """{
  const moved = new Map(Object.entries(JSON.parse(document.currentScript.dataset.moved)));
  const follow = () => {
    const target = moved.get(location.hash.slice(1)) ?? moved.get("");
    document.documentElement.hidden = Boolean(target) && document.readyState === "loading";
    if (!target) return;
    const address = new URL(target, location.href);
    address.search = location.search;
    address.hash ||= location.hash;
    location.replace(address);
  };
  addEventListener("hashchange", follow);
  follow();
}"""
PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
{script}
<noscript><meta http-equiv="refresh" content="0; url={address}"></noscript>
<link rel="icon" href="{root}_static/{icon}">
{shared}</head>
<body><a href="{address}">{title}</a></body>
</html>
"""
SECTION = (
    '<noscript><p class="attnbook-moved" id="{anchor}">'
    + TEXT("section_moved", page='<a href="{address}">{title}</a>')
    + "</p></noscript>"
)

# The new addresses of a page's sections, by anchor; "" is the page itself.
Moved = dict[str, str]

logger = logging.getLogger(__name__)


def read_redirects(app: Sphinx, config: Config) -> None:
    """Read the table; pages are written again when it has changed."""
    file = Path(app.srcdir, FILE)
    config.book_redirects = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


def moved_from(app: Sphinx, page: str) -> Moved:
    """The new addresses of a page's sections, and of the names of the package if the table says so.

    Sphinx knows where each name is described.
    """
    moved: Moved = app.config.book_redirects[page]
    if NAMES not in moved:
        return moved
    entries = {
        anchor: f"{other.removeprefix('chapters/')}#{anchor}"
        for _, _, _, other, anchor, _ in app.env.get_domain("py").get_objects()
        if other != f"chapters/{page}"
    }
    return entries | {anchor: new for anchor, new in moved.items() if anchor != NAMES}


def docname(target: str) -> str:
    """The page that a target of the table is on, as Sphinx names it."""
    return f"chapters/{target.partition('#')[0]}"


def address(target: str) -> str:
    """The address of a target, from another page in its folder."""
    page, mark, anchor = target.partition("#")
    return f"{page}.html{mark}{anchor}"


def script(moved: Moved) -> str:
    """The element that redirects, for the head of a page."""
    addresses = {anchor: address(target) for anchor, target in moved.items()}
    return f'<script data-moved="{escape(json.dumps(addresses))}">{SCRIPT}</script>'


def title_of(app: Sphinx, page: str) -> str:
    """The title of a page, as HTML."""
    return escape(app.env.titles[page].astext())


def redirect_sections(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Give a page that still exists the script, and links for readers without JavaScript."""
    name = page.removeprefix("chapters/")
    if name not in app.config.book_redirects or page not in app.env.all_docs:
        return
    moved = moved_from(app, name)
    context["metatags"] = script(moved) + context.get("metatags", "")
    context["body"] += "".join(
        SECTION.format(anchor=anchor, address=address(target), title=title_of(app, docname(target)))
        for anchor, target in moved.items()
        if docname(target) in app.env.all_docs
    )


def write_page(app: Sphinx, old: str, moved: Moved, new: str) -> None:
    """Write a page at an old address, which leads to a new page."""
    path = Path(app.outdir, f"{old}.html")
    html = Path(app.outdir, f"{new}.html").read_text("utf-8")
    text = PAGE.format(
        language=app.config.language,
        title=title_of(app, new),
        script=script(moved),
        address=address(moved[""]),
        root="../" * (len(PurePosixPath(old).parts) - 1),
        icon=Path(app.config.html_favicon).name,
        shared=publishing.shared_tags(html),
    )
    path.write_text(text, "utf-8")


def faults(app: Sphinx, page: str, moved: Moved) -> Iterator[str]:
    """The faults in the table of one old page."""
    exists = f"chapters/{page}" in app.env.all_docs
    if exists and "" in moved:
        yield f"{page} exists, so only its sections can lead elsewhere"
    if not exists and "" not in moved:
        yield f'{page} does not exist, so the key "" must name its new page'
    for target in moved.values():
        file, (_, _, anchor) = Path(app.outdir, f"{docname(target)}.html"), target.partition("#")
        if docname(target) == f"chapters/{page}" and (not anchor or anchor in moved):
            yield f"{page} leads to itself by {target}, and would stay hidden"
        is_there = docname(target) in app.env.all_docs
        if not is_there or (anchor and f' id="{anchor}"' not in file.read_text("utf-8")):
            yield f"{page} leads to {target}, which does not exist"


def write_pages(app: Sphinx) -> None:
    """Write a page at each old address and at the site's own; warn of an address without target."""
    first = app.config.root_doc
    write_page(app, FRONT_DOOR, {"": first}, first)
    for page in app.config.book_redirects:
        moved = moved_from(app, page)
        wrong = [*faults(app, page, moved)]
        for fault in wrong:
            logger.warning("%s: %s", FILE, fault)
        if "" in moved and not wrong:
            write_page(app, f"chapters/{page}", moved, docname(moved[""]))
