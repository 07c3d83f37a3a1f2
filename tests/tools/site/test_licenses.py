"""The works of others on the site: each file has its author, and each licence its full text."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from importlib.metadata import distribution
from pathlib import Path

from fontTools.ttLib import TTFont

from tests.browsing import PAGES
from tools import ROOT
from tools.site.icons import NAME, RESERVED

ADDRESS = "_static/licenses.txt"
FILE = ROOT / "tools" / "site" / "static" / "licenses.txt"
OURS = "2026 The attention book's authors"
# Installed packages whose files the build copies.
INSTALLED = (
    "accessible-pygments",
    "myst-nb",
    "pydata-sphinx-theme",
    "pygments",
    "sphinx",
    "sphinx-book-theme",
    "sphinx-copybutton",
    "sphinx-design",
    "sphinx-togglebutton",
)
EDITOR = ("crelt", "style-mod", "w3c-keyname")  # of its packages, those without a scope
NODE_MODULES = ROOT / "tools" / "node_modules"
# What the build writes of the book's own, next to its pages.
WRITTEN = """_images/* _sources/* _static/favicon.svg _static/live/* _static/logo.svg
    _static/answers.js _static/table_of_contents.js _static/focus.js _static/place.js _static/site.*
    _static/storage.js _static/reading.js _static/path.js _static/your_progress.js
    _static/terms.* _static/licenses.txt .buildinfo excerpts.js
    index.html objects.inv""".split()


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


def installed_licences():
    """Each licence that is installed with a package, and the paragraph's text that must name it."""
    all_holders = "".join(paragraph.get("Copyright", "") for paragraph in paragraphs())
    for name in INSTALLED:
        files = [path for path in distribution(name).files or [] if "LICENSE" in path.name]
        (licence,) = (path for path in files if ".dist-info" in str(path))
        yield name, licence.read_text(), all_holders
    for name in ("katex", "@codemirror/*", "@lezer/*", "@marijn/*", *EDITOR):
        file = "_static/katex/katex.css" if name == "katex" else "_static/live/editor.js"
        for folder in NODE_MODULES.glob(name):
            if "streamparser" not in folder.name:
                licence = (folder / "LICENSE").read_text("utf-8")
                yield folder.name, licence, claims(file)[-1]["Copyright"]


def test_every_file_of_others_is_attributed(site):
    names = [str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()]
    others = [name for name in names if not any(fnmatchcase(name, own) for own in WRITTEN)]

    assert len(others) > 60
    assert [name for name in others if claims(name)[-1]["Copyright"].strip() == OURS] == []


def test_every_attributed_file_is_on_the_site(site):
    names = [str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()]
    patterns = {pattern for each in paragraphs() for pattern in each.get("Files", "").split()}

    found = {one for one in patterns if any(fnmatchcase(name, one) for name in names)}
    assert patterns - found == set()


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


def test_the_copyright_holder_of_a_package_is_named_for_its_files():
    found = list(installed_licences())
    assert len(found) > len(INSTALLED) + 9
    for name, licence, named in found:
        holder = re.search(r"Copyright \(c\) (.+)", licence, re.IGNORECASE)[1].strip()
        assert holder in named, name


def test_the_author_named_in_a_file_is_named_for_it(site):
    banners = [
        (str(path.relative_to(site)), found)
        for path in site.glob("_static/**/*")
        if path.suffix in (".css", ".js", ".txt") and path.name != Path(ADDRESS).name
        for found in re.findall(r"Copyright (\d{4}[-\d]* [\w ]*\w)", path.read_text("utf-8"))
    ]
    assert len(banners) > 3
    assert [(name, who) for name, who in banners if who not in claims(name)[-1]["Copyright"]] == []


def test_every_page_leads_to_the_file(site):
    for name in PAGES:
        link = f'href="{"../" * name.count("/")}{ADDRESS}"'
        assert link in (site / f"{name}.html").read_text("utf-8"), name
    assert (site / ADDRESS).read_bytes() == FILE.read_bytes()


def test_a_part_of_a_font_does_not_have_the_name_of_the_whole(site):
    fonts = [*(site / "_static" / "vendor" / "fontawesome").rglob("*.woff2")]
    names = {
        record.toUnicode()
        for font in fonts
        for record in TTFont(font)["name"].names
        if record.nameID in RESERVED
    }
    assert names == {NAME}
