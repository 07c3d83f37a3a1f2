"""The text of all pages, which the search page searches and quotes, in a script of its own.

No other page loads it. `synonyms.toml` lists other words for what the book explains.
"""

from __future__ import annotations

import json
import tomllib
from html.parser import HTMLParser
from pathlib import Path

from sphinx.application import Sphinx

from tools.site.assets.minify import minify, read_script

SCRIPT = Path(__file__).with_suffix(".js")
PROGRAM = (SCRIPT.with_name("find.js"), SCRIPT)
SYNONYMS = SCRIPT.with_name("synonyms.toml")
# Tags and classes; an excerpt is below its page's title already, and printed output is mostly
# numbers, also in the examples of docstrings, which begin with prompts. The code of worked answers,
# and where a section was before, are of no use here.
SKIPPED = {
    "h1",
    "cell_output",
    "go",
    "gp",
    "headerlink",
    "katex-mathml",
    "noscript",
    "script",
    "style",
    "svg",
}
SKIPPED |= {
    "tag_answer",
    "attnbook-divider",
    "attnbook-shapes",
    "attnbook-minutes",
    "attnbook-section-minutes",
}
WITHOUT_END = set("br hr img input source wbr".split())
WITHIN_A_LINE = set("a b code em i mark small span strong sub sup wbr".split())

Parts = list[tuple[str, str]]


class Reader(HTMLParser):
    """Collects the text of a piece of HTML, cut at each id."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tuple[str, list[str]]] = [("", [])]
        self.skipped = 0  # depth within an element that is not read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Process one opening tag."""
        names = dict(attrs)
        if tag not in WITHIN_A_LINE:
            self.handle_data(" ")
        if tag in WITHOUT_END:
            return
        if self.skipped or SKIPPED & {tag, *(names.get("class") or "").split()}:
            self.skipped += 1
        elif anchor := names.get("id"):
            self.parts.append((anchor, []))

    def handle_endtag(self, tag: str) -> None:
        """Process one closing tag."""
        if tag not in WITHOUT_END:
            self.skipped = max(0, self.skipped - 1)

    def handle_data(self, data: str) -> None:
        """Add one piece of text."""
        if not self.skipped:
            self.parts[-1][1].append(data)


def text_by_id(html: str) -> Parts:
    """The text of a page's article, cut at each id; the first part has the id ''."""
    reader = Reader()
    reader.feed(html.partition("<article")[2].partition(">")[2].partition("</article>")[0])
    reader.close()
    return [(anchor, " ".join("".join(texts).split())) for anchor, texts in reader.parts]


def shrink_index(file: Path) -> None:
    """Leave Sphinx's index its titles and objects: all words are in the pages' texts."""
    start, end = "Search.setIndex(", ")"
    index = json.loads(file.read_text("utf-8").removeprefix(start).removesuffix(end))
    index |= {part: {} for part in ("terms", "titleterms", "indexentries")}
    file.write_text(start + json.dumps(index, separators=(",", ":")) + end, "utf-8")


def read_synonyms(file: Path = SYNONYMS) -> dict[str, list[str]]:
    """By what people type, the phrases of the book that mean it."""
    return {
        typed: phrases
        for table in tomllib.loads(file.read_text("utf-8")).values()
        for typed, phrases in table.items()
    }


def write_excerpts(app: Sphinx) -> None:
    """Write the script, once all pages are there."""
    site = Path(app.outdir)
    names = [f"{page}.html" for page in sorted(app.env.found_docs)]
    pages = {name: text_by_id((site / name).read_text("utf-8")) for name in names}
    data = {"attnbookPages": pages, "attnbookSynonyms": read_synonyms()}
    script = "".join(
        f"window.{name} = {json.dumps(value, ensure_ascii=False, separators=(',', ':'))};\n"
        for name, value in data.items()
    )
    script += "".join(minify([("js", read_script(part)) for part in PROGRAM]))
    (site / SCRIPT.name).write_text(script, "utf-8")
    shrink_index(site / "searchindex.js")
