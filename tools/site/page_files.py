"""What a page loads: one style sheet at once, its figures, then what waits for the reader's hand.

The theme and its extensions bring ten style sheets, a dozen scripts and the rules of two
thousand icons. A page is read and its figures are moved before any of the scripts is missed.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tools.site import icons

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

# Scripts, whole files or lines of code, and what a page needs for them to have anything to do.
IDLE_WITHOUT = {
    re.compile(r"design-tabs\.js$"): re.compile(r"sd-tab-set"),
    re.compile(r"togglebutton\.js$|^(let|var) toggle"): re.compile(
        r'class="(?:[^"]* )?(?:toggle|dropdown)[ "]'
    ),
    re.compile(r"answers\.js$"): re.compile(r"<details"),
    re.compile(r"terms\.js$"): re.compile(r"<a [^>]*data-meaning="),
}

# `site.js` starts the late ones; each of them can start at any time, but in this order.
DEFERRED, LATE = {"defer": "defer"}, {"type": "text/late"}
LOADED = {"site.js": DEFERRED, "answers.js": DEFERRED} | dict.fromkeys(
    (
        "documentation_options.js",
        "doctools.js",
        "sphinx_highlight.js",
        "clipboard.min.js",
        "copybutton.js",
        "sphinx-book-theme.js",
        "terms.js",
    ),
    LATE,
)

IMPORT = re.compile(r'@import "([^"]+)";')
ADDRESS = re.compile(r"""url\((["']?)(?!["']?data:|#)([^"')]+)\1\)""")
SOURCE_MAP = re.compile(r"/\*# sourceMappingURL=.*?\*/")


def name_of(file: Any) -> str:  # noqa: ANN401 - of a class that Sphinx keeps to itself
    """The name of a script or style sheet; nothing if it is written in the page."""
    return Path(str(file.filename)).name if file.filename else ""


def is_idle(script: Any, body: str) -> bool:  # noqa: ANN401 - as above
    """Whether a script would find nothing to do on a page with this body."""
    text = name_of(script) or script.attributes.get("body", "")
    needs = [need for some, need in IDLE_WITHOUT.items() if some.search(text)]
    return any(not need.search(body) for need in needs)


def loaded(script: Any) -> Any:  # noqa: ANN401 - as above
    """The same script, loaded in the way that suits it."""
    attributes = script.attributes | LOADED.get(name_of(script), {})
    return type(script)(script.filename, priority=script.priority, **attributes)


def choose_files(context: dict[str, Any], page: str, static: Path) -> None:
    """Leave a page the scripts that have something to do, and one style sheet."""
    body = context.get("body", "")
    scripts = [script for script in context["script_files"] if not is_idle(script, body)]
    # The search page is what its scripts make of it.
    context["script_files"] = scripts if page == "search" else [loaded(s) for s in scripts]
    context["css_files"] = [file for file in context["css_files"] if not is_bundled(file)]
    context["book_styles"] = f"{BUNDLE}?v={version(static)}"


def is_bundled(style: Any) -> bool:  # noqa: ANN401 - as above
    """Whether a style sheet is part of the one."""
    return any(fnmatch(name_of(style), Path(pattern).name) for pattern in STYLES)


def one_style(static: Path, patterns: Iterable[str] = STYLES) -> str:
    """The style sheets of the site as one, in their order."""
    paths = [path for pattern in patterns for path in sorted(static.glob(pattern))]
    return "\n".join(read_style(path, static) for path in paths)


def version(static: Path) -> str:
    """A name for what the style sheets hold, so that no browser keeps old ones."""
    # Those with a digest for a name come after the pages are written.
    early = [pattern for pattern in STYLES if "*" not in pattern]
    return f"{zlib.crc32(one_style(static, early).encode()):08x}"


def read_style(path: Path, static: Path) -> str:
    """A style sheet with what it imports, its addresses as they read in `static`."""
    folder = path.parent.relative_to(static).as_posix()

    def moved(found: re.Match[str]) -> str:
        return f"url({posixpath.normpath(posixpath.join(folder, found[2]))})"

    text = SOURCE_MAP.sub("", ADDRESS.sub(moved, path.read_text("utf-8")))
    return IMPORT.sub(lambda found: read_style(path.parent / found[1], static), text)


def without_icons(style: str, glyphs: set[int]) -> str:
    """A style sheet less the rules for icons that the site's fonts do not hold."""
    return icons.NAMED.sub(lambda rule: rule[0] if int(rule[2], 16) in glyphs else "", style)


def write_styles(app: Sphinx, error: Exception | None) -> None:
    """Write the one style sheet, once all pages are there to say which icons they show.

    Raises:
        FileNotFoundError: a part of it is missing.
    """
    static = Path(app.outdir) / "_static"
    if error:
        return
    for pattern in STYLES:
        if not any(static.glob(pattern)):
            raise FileNotFoundError(f"the site's styles must hold {pattern}, got none in {static}")
    glyphs = icons.glyphs_used(static.parent)
    (static / BUNDLE).write_text(without_icons(one_style(static), glyphs), "utf-8")


def setup(app: Sphinx) -> None:
    """Choose for each page, and write what they share at the end."""
    app.connect(
        "html-page-context",
        lambda app, page, _, context, _tree: choose_files(
            context, page, Path(app.outdir, "_static")
        ),
    )
    # After all others: the theme writes its colours for code at the end, too.
    app.connect("build-finished", write_styles, priority=900)
