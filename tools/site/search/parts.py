"""The index of the search and the texts of all pages, in small scripts that are loaded when needed.

`synonyms.toml` lists other words for what the book explains.
"""

from __future__ import annotations

import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tools.site.assets import node
from tools.site.assets.minify import minify, read_script

HERE = Path(__file__).parent
PROGRAM = tuple(HERE / name for name in ("words.js", "find.js", "results.js"))
SYNONYMS = HERE / "synonyms.toml"
FOLDER = "search"  # of the site
STEMMER = Path("_static", "language_data.js")  # Sphinx's
# Tags and classes; an excerpt is below its page's title already, and printed output is mostly
# numbers, also in the examples of docstrings, which begin with prompts. The code of worked answers,
# and where a section was before, are of no use here.
SKIPPED = {
    "h1",
    "cell_output",
    "go",
    "gp",
    "headerlink",
    "annotation",
    "katex-html",
    "noscript",
    "script",
    "style",
    "svg",
}
SKIPPED |= {
    "tag_answer",
    "attnbook-divider",
    "attnbook-shapes",
    "attnbook-section-minutes",
}
# What a glossary entry ends with: links alone.
FURTHER = re.compile(r"<p>(?:<a\b[^>]*>(?:(?!</a>|</p>).)*</a>[\s,]*)+</p>(?=\s*</dd>)", re.DOTALL)
WITHOUT_END = set("br hr img input source wbr".split())
WITHIN_A_LINE = set("a b code em i mark math small span strong sub sup wbr".split())

# What MathML only draws, by the tag around it: before its first, second and third child.
SIGNS = {
    "mfrac": ("", "/"),
    "msqrt": ("√",),
    "msub": ("", "_"),
    "msubsup": ("", "_", "^"),
    "msup": ("", "^"),
    "munder": ("", "_"),
    "munderover": ("", "_", "^"),
}

Parts = list[tuple[str, str]]


class Reader(HTMLParser):
    """Collects the text of a piece of HTML, cut at each id."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tuple[str, list[str]]] = [("", [])]
        self.skipped = 0  # depth within an element that is not read
        self.formula: list[tuple[str, int]] = []  # open tags of MathML, and their children so far

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Process one opening tag."""
        names = dict(attrs)
        if tag not in WITHIN_A_LINE and not self.formula:
            self.handle_data(" ")
        if tag in WITHOUT_END:
            return
        if not self.skipped and (self.formula or tag == "math"):
            self.open_in_formula(tag)
        if self.skipped or SKIPPED & {tag, *(names.get("class") or "").split()}:
            self.skipped += 1
        elif anchor := names.get("id"):
            self.parts.append((anchor, []))

    def handle_endtag(self, tag: str) -> None:
        """Process one closing tag."""
        if tag not in WITHOUT_END:
            self.skipped = max(0, self.skipped - 1)
            if self.formula and not self.skipped:
                self.formula.pop()

    def open_in_formula(self, tag: str) -> None:
        """Write the sign before an element of a formula."""
        if self.formula:
            around, before = self.formula[-1]
            self.handle_data("".join(SIGNS.get(around, ())[before : before + 1]))
            self.formula[-1] = around, before + 1
        self.formula.append((tag, 0))

    def handle_data(self, data: str) -> None:
        """Add one piece of text."""
        if not self.skipped:
            self.parts[-1][1].append(data)


def text_by_id(html: str) -> Parts:
    """The text of a page's article, cut at each id; the first part has the id ''."""
    reader = Reader()
    article = html.partition("<article")[2].partition(">")[2].partition("</article>")[0]
    reader.feed(FURTHER.sub("", article))
    reader.close()
    return [(anchor, " ".join("".join(texts).split())) for anchor, texts in reader.parts]


def read_index(file: Path) -> dict[str, Any]:
    """Sphinx's index, of which only titles and objects are left: words are in the pages' texts.

    No page loads it; Sphinx reads it where it builds some pages only.
    """
    start, end = "Search.setIndex(", ")"
    index: dict[str, Any] = json.loads(
        file.read_text("utf-8").removeprefix(start).removesuffix(end)
    )
    index |= {part: {} for part in ("terms", "titleterms", "indexentries")}
    file.write_text(start + json.dumps(index, separators=(",", ":")) + end, "utf-8")
    return index


def read_synonyms(file: Path = SYNONYMS) -> dict[str, list[str]]:
    """By what people type, the phrases of the book that mean it."""
    return {
        typed: phrases
        for table in tomllib.loads(file.read_text("utf-8")).values()
        for typed, phrases in table.items()
    }


def write_parts(app: Sphinx) -> None:
    """Write the parts of the index and the program, once all pages are there."""
    site = Path(app.outdir)
    names = [f"{page}.html" for page in sorted(app.env.found_docs)]
    task = {
        "pages": {name: text_by_id((site / name).read_text("utf-8")) for name in names},
        "index": read_index(site / "searchindex.js"),
        "synonyms": read_synonyms(),
    }
    parts = node.run(HERE / "index.mjs", site / STEMMER, stdin=json.dumps(task))
    folder = site / FOLDER
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.js"):
        old.unlink()
    for name, part in json.loads(parts).items():
        data = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
        script = f'(window.attnbookParts ??= {{}})["{name}"] = {data};\n'
        (folder / f"{name}.js").write_text(script, "utf-8")
    program = [(site / STEMMER).read_text("utf-8"), *map(read_script, PROGRAM)]
    text = "".join(minify([("js", part) for part in program]))
    (folder / "search.js").write_text(text, "utf-8")
