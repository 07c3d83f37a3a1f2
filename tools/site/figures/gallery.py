"""Put all figures of the book on one page, as their source is now: `make gallery`.

The figures' numbers are those of the last built book. Their JavaScript and CSS are those of
this tree, so a change of these is seen without building the book again. The page is made for
those who change figures. It is never published.
"""

from __future__ import annotations

import argparse
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnbook import figures
from attnbook.figures.shared.base import Figure
from tools import ROOT
from tools.site.assets.minify import minify, read_script
from tools.site.figures.live import HOST, name_of, registration

BOOK = ROOT / "_build" / "html"
STATE = re.compile(r'<script class="attnbook-state" type="application/json">(.*?)</script>', re.S)
ARTICLE = re.compile(r"(<article[^>]*>).*?(</article>)", re.S)
LIVE = re.compile(r"<script[^>]*(?:attnbook-state.*?|_static/live/[^>]*)>.*?</script>\n?", re.S)
LATE = re.compile(r"<script data-attnbook-late=[^>]*></script>")
MOST = {"prediction": 1, "code": 1}  # in a chapter: the book has about eighty, all alike


def classes() -> dict[str, type[Figure]]:
    """Each kind of figure by its name: the folder that it is in."""
    found = (getattr(figures, name) for name in figures.__all__)
    return {each.__module__.split(".")[-2]: each for each in found}


def states(book: Path, kinds: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures of a built book that the page shows: a name and the traits of each."""
    for page in sorted((book / "chapters").glob("*.html")):
        found = STATE.search(page.read_text("utf-8"))
        counts: dict[str, int] = {}
        for name, state in json.loads(found[1]).items() if found else ():
            kind = state["kind"]
            counts[kind] = counts.get(kind, 0) + 1
            if counts[kind] <= MOST.get(kind, 99) and (not kinds or kind in kinds):
                yield f"{page.stem}/{name}", state


def gallery(book: Path, kinds: list[str]) -> str:
    """The page: one of the book's own, with all figures in place of its text."""
    modules = {
        kind: {"esm": str(each._esm), "css": str(each._css)} for kind, each in classes().items()
    }
    traits = {
        name: state | {"module": name_of(modules[state["kind"]])}
        for name, state in states(book, kinds)
    }
    if not traits:
        raise SystemExit(f"no figure of {', '.join(kinds) or 'any kind'} in {book}; run make book")
    views = "".join(
        f'<h2 id="{name.replace("/", "-")}">{name} ({state["kind"]})</h2>'
        f'<div class="attnbook-view" data-attnbook-view="{name}" '
        f'data-attnbook-kind="{state["kind"]}"></div>'
        for name, state in traits.items()
    )
    data = json.dumps(traits).replace("<", r"\u003c")
    used = {state["module"]: modules[state["kind"]] for state in traits.values()}
    registered = "".join(registration(*each) for each in used.items()).replace("</", r"<\/")
    host = minify([("js", read_script(HOST))])[0]
    scripts = (
        f'<script class="attnbook-state" type="application/json">{data}</script>'
        f"<script>{registered}</script><script>{host}</script>"
    )
    pages = {name.partition("/")[0] for name in traits}
    texts = [(book / "chapters" / f"{page}.html").read_text("utf-8") for page in sorted(pages)]
    late = "".join(dict.fromkeys(script for text in texts for script in LATE.findall(text)))
    shell = texts[0]
    shell = ARTICLE.sub(r"\1GALLERY\2", LIVE.sub("", shell))
    shell = re.sub(r"<title>.*?</title>", "<title>Gallery of figures</title>", shell, flags=re.S)
    page = shell.replace("GALLERY", f"<h1>Gallery of figures</h1>{views}")
    page = page.replace("</body>", f"{late}{scripts}</body>")
    address = html.escape(f"{book.resolve().as_uri()}/_static/")
    return page.replace("../_static/", address)


def main() -> None:
    """Write the page and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="such as mask or heads; without one, all")
    parser.add_argument("--book", type=Path, default=BOOK, help="a built book")
    options = parser.parse_args()
    target = ROOT / "_build" / "gallery.html"
    target.parent.mkdir(exist_ok=True)
    target.write_text(gallery(options.book, options.kinds), "utf-8")
    print(target.as_uri())


if __name__ == "__main__":
    main()
