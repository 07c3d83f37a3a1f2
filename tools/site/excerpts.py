"""What the search page quotes: the text of all pages in one script, which no other page loads."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

from sphinx.application import Sphinx

SCRIPT = Path(__file__).with_suffix(".js")
# Tags and classes; an excerpt stands below its page's title already, and what a cell printed is
# mostly numbers.
UNREAD = {"h1", "cell_output", "headerlink", "katex-mathml", "script", "style", "svg"}
UNREAD |= {"attnbook-divider", "attnbook-minutes", "attnbook-section-minutes"}
WITHOUT_END = set("br hr img input source wbr".split())
WITHIN_A_LINE = set("a b code em i mark small span strong sub sup".split())

Parts = list[tuple[str, str]]


class Reader(HTMLParser):
    """Collects what a piece of HTML says, cut at each id."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tuple[str, list[str]]] = [("", [])]
        self.unread = 0  # depth within an element that is not read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one opening tag."""
        names = dict(attrs)
        if tag not in WITHIN_A_LINE:
            self.handle_data(" ")
        if tag in WITHOUT_END:
            return
        if self.unread or UNREAD & {tag, *(names.get("class") or "").split()}:
            self.unread += 1
        elif place := names.get("id"):
            self.parts.append((place, []))

    def handle_endtag(self, tag: str) -> None:
        """Leave one element."""
        if tag not in WITHOUT_END:
            self.unread = max(0, self.unread - 1)

    def handle_data(self, data: str) -> None:
        """Keep one piece of text."""
        if not self.unread:
            self.parts[-1][1].append(data)


def text_by_place(html: str) -> Parts:
    """What the article of a page says, cut at each id; before the first, the place is ''."""
    reader = Reader()
    reader.feed(html.partition("<article")[2].partition(">")[2].partition("</article>")[0])
    reader.close()
    return [(place, " ".join("".join(texts).split())) for place, texts in reader.parts]


def write_excerpts(app: Sphinx, error: Exception | None) -> None:
    """Write the script, once all pages are there."""
    if error:
        return
    site = Path(app.outdir)
    names = [f"{page}.html" for page in sorted(app.env.found_docs)]
    pages = {name: text_by_place((site / name).read_text("utf-8")) for name in names}
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    script = f"window.attnbookPages = {text};\n{SCRIPT.read_text('utf-8')}"
    (site / SCRIPT.name).write_text(script, "utf-8")


def setup(app: Sphinx) -> None:
    """Write at the end what the template `search.html` asks for."""
    app.connect("build-finished", write_excerpts)
