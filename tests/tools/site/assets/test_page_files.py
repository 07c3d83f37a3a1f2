"""The files that a page loads; `test_page_start.py` tests when."""

from __future__ import annotations

import pytest
from sphinx.builders.html._assets import _JavaScript

from tools.site.assets.page_files import choose_files


def file(name: str) -> _JavaScript:
    """A script or a style sheet as Sphinx represents it."""
    return _JavaScript(f"_static/{name}")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<details class="sd-dropdown sd-card">', []),
        ('<div class="dropdown admonition">', ["togglebutton.js"]),
        ('<div class="sd-tab-set">', ["design-tabs.js"]),
        ('<a href="#term-x" data-meaning="x">', ["terms.js"]),
    ],
)
def test_a_page_loads_the_scripts_that_it_needs_and_styles_outside_the_one(body, expected):
    scripts = [file("design-tabs.js"), file("togglebutton.js"), file("terms.js")]
    styles = [file("mystnb.11b39860.css"), file("styles/sphinx-book-theme.css"), file("other.css")]
    context = {"body": body, "script_files": scripts, "css_files": styles}
    choose_files(context)
    assert [script.filename[8:] for script in context["script_files"]] == expected
    assert context["css_files"] == styles[-1:]
