"""What a page loads: one style sheet at once, its figures, then scripts that react to the reader.

The theme and its extensions bring ten style sheets, a dozen scripts and the rules of two
thousand icons. A page is read and its figures are moved before any of the scripts is missed.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tools.site.assets.styles import BUNDLE, STYLES

# Scripts, whole files or lines of code, and what a page must contain to need them.
IDLE_WITHOUT = {
    re.compile(r"design-tabs\.js$"): re.compile(r"sd-tab-set"),
    re.compile(r"togglebutton\.js$|^(let|var) toggle"): re.compile(
        r'class="(?:[^"]* )?(?:toggle|dropdown)[ "]'
    ),
    re.compile(r"folds\.js$"): re.compile(r"<details"),
    re.compile(r"^path\.js$"): re.compile(r'class="(?:[^"]* )?attnbook-path[ "]'),
    re.compile(r"your_progress\.js$"): re.compile(r'class="attnbook-your-progress"'),
    re.compile(r"terms\.js$"): re.compile(r"<a [^>]*data-meaning="),
}

# `site.js` starts the late ones at the first sign of a reader; each of them can start at any time,
# but in this order.
DEFERRED, LATE = {"defer": "defer"}, {"type": "text/late"}
NEEDED = LATE | {"data-needed": ""}  # by others, which come after all of these
LOADED = (
    dict.fromkeys(
        (
            "storage.js",
            "reading.js",
            "path.js",
            "your_progress.js",
            "site.js",
            "folds.js",
            "header.js",
            "place.js",
            "terms.js",
            "table_of_contents.js",
            "found.js",
        ),
        DEFERRED,
    )
    | dict.fromkeys(("documentation_options.js", "doctools.js", "clipboard.min.js"), NEEDED)
    | dict.fromkeys(
        ("sphinx_highlight.js", "copybutton.js", "sphinx-book-theme.js", "focus.js"), LATE
    )
)


def name_of(file: Any) -> str:  # noqa: ANN401 - of a private class of Sphinx
    """The name of a script or style sheet; empty if it is written in the page."""
    return Path(str(file.filename)).name if file.filename else ""


def is_idle(script: Any, body: str) -> bool:  # noqa: ANN401 - as above
    """Whether a script would find nothing to do on a page with this body."""
    text = name_of(script) or script.attributes.get("body", "")
    needs = [need for some, need in IDLE_WITHOUT.items() if some.search(text)]
    return any(not need.search(body) for need in needs)


def with_loading(script: Any) -> Any:  # noqa: ANN401 - as above
    """The same script, with the attributes that say when it is loaded."""
    attributes = script.attributes | LOADED.get(name_of(script), {})
    return type(script)(script.filename, priority=script.priority, **attributes)


def choose_files(context: dict[str, Any]) -> None:
    """Leave a page the scripts that have something to do, and one style sheet."""
    body = context.get("body", "")
    scripts = [script for script in context["script_files"] if not is_idle(script, body)]
    context["script_files"] = [with_loading(script) for script in scripts]
    context["css_files"] = [file for file in context["css_files"] if not is_bundled(file)]
    context["book_styles"] = BUNDLE  # its version is known at the end, see finish.py


def is_bundled(style: Any) -> bool:  # noqa: ANN401 - as above
    """Whether a style sheet is part of the one."""
    return any(fnmatch(name_of(style), Path(pattern).name) for pattern in STYLES)
