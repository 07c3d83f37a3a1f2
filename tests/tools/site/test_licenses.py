"""The works of others on the site: each file has its author, and each licence its full text."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tests.browsing import PAGES
from tools import ROOT

ADDRESS = "_static/licenses.txt"
FILE = ROOT / "tools" / "site" / "static" / "licenses.txt"
OURS = "2026 The attention book's authors"
# What the build writes of the book's own, next to its pages.
WRITTEN = """_images/* _sources/* _static/favicon.svg _static/live/* _static/logo.svg
    _static/folds.js _static/table_of_contents.js _static/focus.js _static/place.js _static/site.*
    _static/found.js _static/storage.js _static/reading.js _static/path.js _static/your_progress.js
    _static/cheat_sheet.css chapters/cheat-sheet.pdf
    _static/header.js _static/take_along.js service_worker.js *.zip index.html objects.inv
    _static/terms.* _static/licenses.txt .buildinfo search/*.js searchindex.js""".split()


@cache
def paragraphs() -> list[dict[str, str]]:
    """The fields of each paragraph, by name."""
    texts = FILE.read_text("utf-8").split("\n\n")
    return [dict(re.findall(r"^([A-Z]\w*):((?:.*\n?)(?: .*\n?)*)", text, re.M)) for text in texts]


def claims(name: str) -> list[dict[str, str]]:
    """The paragraphs that name a file, the most particular one last."""
    named = [paragraph for paragraph in paragraphs() if "Files" in paragraph]
    return [
        paragraph
        for paragraph in named
        if any(fnmatchcase(name, pattern) for pattern in paragraph["Files"].split())
    ]


def test_every_file_of_others_is_attributed(site):
    names = [str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()]
    others = [name for name in names if not any(fnmatchcase(name, own) for own in WRITTEN)]

    assert len(others) > 60
    assert [name for name in others if claims(name)[-1]["Copyright"].strip() == OURS] == []


def test_every_licence_has_its_full_text():
    named = {
        licence
        for paragraph in paragraphs()
        if "Files" in paragraph
        for licence in re.split(r"\s+and\s+", paragraph["License"].strip())
    }
    texts = {
        first.strip(): text
        for paragraph in paragraphs()
        if "Files" not in paragraph and "License" in paragraph
        for first, _, text in [paragraph["License"].partition("\n")]
    }
    assert named == texts.keys()
    assert all(len(text) > 600 for name, text in texts.items() if name != "CC-BY-4.0")


def test_the_author_named_in_a_file_is_named_for_it(site):
    banners = [
        (str(path.relative_to(site)), found)
        for path in site.glob("_static/**/*")
        if path.suffix in (".css", ".js", ".txt") and path.name != Path(ADDRESS).name
        for found in re.findall(r"Copyright (\d{4}[-\d]* [\w ]*\w)", path.read_text("utf-8"))
    ]
    assert len(banners) > 3
    assert [(name, who) for name, who in banners if who not in claims(name)[-1]["Copyright"]] == []
    for name in PAGES:
        link = f'href="{"../" * name.count("/")}{ADDRESS}"'
        assert link in (site / f"{name}.html").read_text("utf-8"), name
    assert (site / ADDRESS).read_bytes() == FILE.read_bytes()
