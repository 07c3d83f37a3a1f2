"""The one style sheet: the theme's and its extensions' ten, without rules that no page can use.

Of half a megabyte of rules a page uses a tenth, and waits for all of it before it is drawn. Which
rules the site can use is known at the end of a build, when all its pages and scripts are there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from attnbook.colors import KEYS, css_variables
from tools.site.assets import icons, node

PROGRAM = Path(__file__).with_name("purge.mjs")
BUNDLE = "book.css"  # below _static, as are these, in the order in which they overrule each other
STYLES = (
    "styles/theme.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "togglebutton.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "sphinx-design.min.css",
    "katex/katex.css",
    "site.css",
)
KEY_CLASS = "attnbook-key"  # of a key in prose; with its number, that of its colour
IMPORT = re.compile(r'@import "([^"]+)";')
ADDRESS = re.compile(r"""url\((["']?)(?!["']?data:|#)([^"')]+)\1\)""")
# Rules of the theme for what follows a `legend`, and for a `div` after a caption. They name no
# class of the element they change, so a browser computes the style of the whole page again whenever
# an element is added. No legend of the book floats; site.css has the other rule, with a class.
COSTLY = re.compile(r"(?:legend ?\+ ?\*|div\.code-block-caption ?\+ ?div) ?\{[^}]*\}")
# From this width on the theme shows the contents of a page next to it. Here a figure of 940 pixels
# must fit between them and the sidebar.
BREAKPOINT = re.compile(r"(?<=-width:)(1200|1199)(?=(?:\.98)?px)")
SOURCE_MAP = re.compile(r"/\*# sourceMappingURL=.*?\*/")


def color_keys() -> str:
    """The colours of keys in prose, which are those of figures."""
    rules = (f".{KEY_CLASS}-{i} {{ --paint: var(--key-{i}); }}\n" for i in range(len(KEYS)))
    return css_variables(f".{KEY_CLASS}") + "".join(rules)


def join_styles(static: Path, patterns: Iterable[str] = STYLES) -> str:
    """The style sheets of the site as one, in their order."""
    paths = [path for pattern in patterns for path in sorted(static.glob(pattern))]
    return "\n".join(read_style(path, static) for path in paths)


def read_style(path: Path, static: Path) -> str:
    """A style sheet with its imports; its addresses are relative to `static`."""
    folder = path.parent.relative_to(static).as_posix()

    def move_address(found: re.Match[str]) -> str:
        return f"url({posixpath.normpath(posixpath.join(folder, found[2]))})"

    text = SOURCE_MAP.sub("", ADDRESS.sub(move_address, path.read_text("utf-8")))
    text = IMPORT.sub(lambda found: read_style(path.parent / found[1], static), text)
    if path.name != "site.css":
        text = BREAKPOINT.sub(lambda found: f"{int(found[1]) + 340}", text)
    return COSTLY.sub("", text)


def without_icons(style: str, glyphs: set[int]) -> str:
    """A style sheet without the rules for icons that are not in the site's fonts."""
    return icons.NAMED.sub(lambda rule: rule[0] if int(rule[2], 16) in glyphs else "", style)


def remove_unused(style: str, site: Path) -> str:
    """A style sheet without the rules that no page and no script of the site can use, minified."""
    return node.run(PROGRAM, site, stdin=style)


def write_styles(site: Path, *, whole: bool = False) -> str:
    """Write the one style sheet, once all pages and scripts are written.

    Args:
        site: the folder of the built pages.
        whole: Whether rules stay that no page uses.

    Returns:
        the style sheet.

    Raises:
        FileNotFoundError: a part of it is missing.
    """
    static = site / "_static"
    for pattern in STYLES:
        if not any(static.glob(pattern)):
            raise FileNotFoundError(f"the site's styles must hold {pattern}, got none in {static}")
    style = color_keys() + without_icons(join_styles(static), icons.glyphs_used(site))
    style = style if whole else remove_unused(style, site)
    (static / BUNDLE).write_text(style, "utf-8")
    return style
