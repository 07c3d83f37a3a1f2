"""The last steps of a build: fewer bytes, and pictures with sizes, so that no text moves.

Each step needs the whole site, or what only its template writes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.images import get_image_size

from tools.site.assets.minify import minify, read_script
from tools.site.assets.styles import BUNDLE, write_styles

STYLE = re.compile(re.escape(BUNDLE) + r'(?:\?v=\w*)?(?=")')
IMAGE = re.compile(r"<img\b[^>]*>")
ATTRIBUTE = re.compile(r'\s([\w-]+)="([^"]*)"')
THEME = Path("scripts", "pydata-sphinx-theme.js")
# The list, in the theme's script, of elements that may scroll; it measures them after each change.
MEASURED = re.compile(r'\["pre",[^\]]*\](?=\.join\(", "\))')
NOTHING = '[":not(*)"]'  # site.js does it


def pages(site: Path) -> Iterator[Path]:
    """The pages of a site; those of the theme's own files are none."""
    return (path for path in site.rglob("*.html") if "_static" not in path.parts)


def size_of(tag: str, folder: Path) -> tuple[int, int] | None:
    """The size of a picture in pixels; None if its tag has a size, or none can be read."""
    attributes = dict(ATTRIBUTE.findall(tag))
    source = urlsplit(unescape(attributes.get("src", "")))
    if (
        {"width", "height"} & attributes.keys()
        or "width:" in attributes.get("style", "")
        or source.scheme
    ):
        return None
    return get_image_size(str(folder / unquote(source.path)))


def add_sizes(html: str, folder: Path) -> str:
    """Add the size of each picture to its tag, so that the page reserves the space."""

    def with_size(found: re.Match[str]) -> str:
        tag, size = found[0], size_of(found[0], folder)
        return f'<img width="{size[0]}" height="{size[1]}"{tag[4:]}' if size else tag

    return IMAGE.sub(with_size, html)


def finish_pages(site: Path, style: str) -> None:
    """Version the style sheet by its content, for browsers' caches, and add sizes of pictures."""
    name = f"{BUNDLE}?v={zlib.crc32(style.encode()):08x}"
    for page in pages(site):
        html = page.read_text("utf-8")
        finished = add_sizes(STYLE.sub(name, html), page.parent)
        if finished != html:
            page.write_text(finished, "utf-8")


def finish_scripts(static: Path) -> None:
    """Minify the site's scripts; those of figures are minified already."""
    scripts = sorted(static.glob("*.js"))
    texts = minify([("js", read_script(script)) for script in scripts])
    for script, text in zip(scripts, texts, strict=True):
        script.write_text(text, "utf-8")


def measure_nothing(script: str) -> str:
    """The theme's script, which no longer measures what may scroll.

    Raises:
        ExtensionError: the script has no such place.
    """
    if NOTHING in script:
        return script  # of the build before
    finished, count = MEASURED.subn(NOTHING, script)
    if count != 1:
        raise ExtensionError(f"{THEME} must list once what may scroll, got {count} lists")
    return finished


def finish(app: Sphinx) -> None:
    """Finish a site; the style of a draft, whose pages change all the time, stays whole."""
    site = Path(app.outdir)
    finish_scripts(site / "_static")
    theme = site / "_static" / THEME
    theme.write_text(measure_nothing(theme.read_text("utf-8")), "utf-8")
    finish_pages(site, write_styles(site, whole=app.config.book_draft))
