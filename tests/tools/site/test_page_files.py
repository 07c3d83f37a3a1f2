"""The files that a page loads, and when."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.site.page_files import choose_files, is_bundled


class Script(SimpleNamespace):
    """A script as Sphinx represents it: a file, or a line of code as its `body`."""

    def __init__(self, filename: str | None, *, priority: int = 500, **attributes: str) -> None:
        super().__init__(filename=filename, priority=priority, attributes=attributes)


def files_of(page: str = "chapter", body: str = "", scripts=(), styles=()) -> dict:
    """The files that remain on a page."""
    context = {"body": body, "script_files": scripts, "css_files": styles}
    choose_files(context, page)
    return context


# Scripts


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>x</p>", ["site.js"]),
        ('<details class="sd-dropdown sd-card">', ["site.js"]),
        ('<div class="dropdown admonition">', ["togglebutton.js", "", "site.js"]),
        ('<div class="sd-tab-set">', ["design-tabs.js", "site.js"]),
        ('<a href="#term-x" data-meaning="x">', ["site.js", "terms.js"]),
    ],
)
def test_a_page_loads_the_scripts_that_it_needs(body, expected):
    scripts = [
        Script("_static/design-tabs.js"),
        Script("_static/togglebutton.js"),
        Script(None, body="let toggleHintShow = 'Click to show';"),
        Script("_static/site.js"),
        Script("_static/terms.js"),
    ]
    files = files_of(body=body, scripts=scripts)["script_files"]
    assert [Path(script.filename or "").name for script in files] == expected


def test_scripts_that_react_to_the_reader_start_late_and_others_as_set():
    scripts = [
        Script("_static/doctools.js", priority=100),
        Script("_static/live/host.js", defer="defer"),
        Script("_static/other.js"),
    ]
    files = files_of(scripts=scripts)["script_files"]
    assert [script.attributes for script in files] == [
        {"type": "text/late"},
        {"defer": "defer"},
        {},
    ]
    assert [script.priority for script in files] == [100, 500, 500]
    assert scripts[0].attributes == {}  # Sphinx gives the same object to the next page


# Styles


@pytest.mark.parametrize(
    ("name", "is_part"),
    [
        ("_static/pygments.css", True),
        ("_static/mystnb.11b39860.css", True),
        ("_static/styles/sphinx-book-theme.css", True),
        ("_static/other.css", False),
    ],
)
def test_a_page_links_only_to_styles_outside_the_bundle(name, is_part):
    style = SimpleNamespace(filename=name)
    assert is_bundled(style) is is_part
    assert files_of(styles=[style])["css_files"] == ([] if is_part else [style])
