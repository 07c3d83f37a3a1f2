"""What is done to the site when all of it is written: fewer bytes, and nothing that jumps.

Each of these needs the whole site, or what only its template writes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

from tools.site.minify import minified
from tools.site.styles import BUNDLE, write_styles

STYLE = re.compile(re.escape(BUNDLE) + r'(?:\?v=\w*)?(?=")')
IMAGE = re.compile(r"<img\b[^>]*>")
ATTRIBUTE = re.compile(r'\s([\w-]+)="([^"]*)"')


def pages(site: Path) -> Iterator[Path]:
    """The pages of a site; those of the theme's own files are none."""
    return (path for path in site.rglob("*.html") if "_static" not in path.parts)


def size_of(tag: str, folder: Path) -> tuple[int, int] | None:
    """How large a picture is, in pixels; None if its tag says it, or nobody can."""
    given = dict(ATTRIBUTE.findall(tag))
    source = urlsplit(unescape(given.get("src", "")))
    if {"width", "height"} & given.keys() or "width:" in given.get("style", "") or source.scheme:
        return None
    return get_image_size(str(folder / unquote(source.path)))


def sized(html: str, folder: Path) -> str:
    """A page of this folder, whose pictures keep their places free until they are there."""

    def with_size(found: re.Match[str]) -> str:
        tag, size = found[0], size_of(found[0], folder)
        return f'<img width="{size[0]}" height="{size[1]}"{tag[4:]}' if size else tag

    return IMAGE.sub(with_size, html)


def finish_pages(site: Path, style: str) -> None:
    """Name the style sheet by what it holds, so that no browser keeps an old one; size pictures."""
    name = f"{BUNDLE}?v={zlib.crc32(style.encode()):08x}"
    for page in pages(site):
        html = page.read_text("utf-8")
        finished = sized(STYLE.sub(name, html), page.parent)
        if finished != html:
            page.write_text(finished, "utf-8")


def finish_scripts(static: Path) -> None:
    """Leave what the site's scripts do, in fewer bytes; those of figures are so from the start."""
    scripts = sorted(static.glob("*.js"))
    texts = minified([("js", script.read_text("utf-8")) for script in scripts])
    for script, text in zip(scripts, texts, strict=True):
        script.write_text(text, "utf-8")


def finish(app: Sphinx, error: Exception | None) -> None:
    """Finish a site; the style of a draft, whose pages change all the time, stays whole."""
    if error:
        return
    site = Path(app.outdir)
    finish_scripts(site / "_static")
    finish_pages(site, write_styles(site, whole=app.config.book_draft))


def setup(app: Sphinx) -> None:
    """Come after all others: the theme writes its colours for code at the end, too."""
    app.connect("build-finished", finish, priority=900)
