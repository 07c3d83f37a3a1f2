"""The theme's icons as fonts of a few kilobytes, in place of a script of half a megabyte."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

NAME = "book-icons"  # the part of a font must not bear the name of the whole
FONTS = Path("vendor/fontawesome/webfonts")
NAMED = re.compile(r'((?:\.fa-[\w-]+:+before,?)+)\{content:"\\([0-9a-f]{4})"\}')
RESERVED = {1, 3, 4, 6}  # family, identifier, full name and PostScript name
ICON = re.compile(r"\bfa-[a-z0-9-]+")
ESCAPED = re.compile(r'"\\([ef][0-9a-f]{3})"')
PRIVATE_USE = re.compile("[\ue000-\uf8ff]")


def theme_static() -> Path:
    """The folder of the theme's own, complete files."""
    spec = find_spec("pydata_sphinx_theme")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("pydata_sphinx_theme is not installed")
    return Path(spec.origin).parent / "theme" / "pydata_sphinx_theme" / "static"


def glyphs_by_name(style: str) -> dict[str, int]:
    """Code points by icon name, as the theme's style sheet gives them."""
    return {
        name: int(code, 16)
        for selectors, code in NAMED.findall(style)
        for name in ICON.findall(selectors)
    }


def glyphs_in_style(style: str) -> set[int]:
    """Code points that a style sheet draws by itself, without a named icon."""
    rest = NAMED.sub("", style)
    escaped = {int(code, 16) for code in ESCAPED.findall(rest)}
    return escaped | {ord(character) for character in PRIVATE_USE.findall(rest)}


def glyphs_used(site: Path) -> set[int]:
    """Every code point that some page, script or style sheet of the built site can show."""
    styles = [path.read_text("utf-8") for path in site.glob("_static/**/*.css")]
    users = [*site.glob("**/*.html"), *site.glob("_static/**/*.js")]
    names = {name for path in users for name in ICON.findall(path.read_text("utf-8"))}
    codes = glyphs_by_name("".join(styles))
    named = {codes[name] for name in names & codes.keys()}
    return named.union(*map(glyphs_in_style, styles))


def write_subset(source: Path, target: Path, glyphs: Iterable[int]) -> None:
    """Write the part of a font that holds these code points."""
    font = TTFont(source, recalcTimestamp=False)  # the time of a build belongs on no page
    options = subset.Options(flavor="woff2", notdef_outline=False)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=sorted(glyphs))
    chosen.subset(font)
    for record in font["name"].names:
        if record.nameID in RESERVED:
            record.string = NAME
    subset.save_font(font, str(target), options)


def shrink_icons(app: Sphinx) -> None:
    """Remove from the icon fonts what the site does not show, and remove the icon script."""
    static = Path(app.outdir) / "_static"
    if not (static / FONTS).is_dir():
        return
    for script in (static / "scripts").glob("fontawesome.js*"):
        script.unlink()
    glyphs = glyphs_used(static.parent)
    for source in (theme_static() / FONTS).glob("*.woff2"):
        write_subset(source, static / FONTS / source.name, glyphs)
