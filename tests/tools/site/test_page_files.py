"""What a page loads, and when."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.site.page_files import (
    BUNDLE,
    STYLES,
    choose_files,
    is_bundled,
    one_style,
    version,
    without_icons,
    write_styles,
)


class Script(SimpleNamespace):
    """A script as Sphinx holds it: a file, or a line of code as its `body`."""

    def __init__(self, filename: str | None, *, priority: int = 500, **attributes: str) -> None:
        super().__init__(filename=filename, priority=priority, attributes=attributes)


@pytest.fixture
def static(tmp_path):
    """A site's styles, each with one rule of its own."""
    folder = tmp_path / "_static"
    for number, pattern in enumerate(STYLES):
        path = folder / pattern.replace("*", "0f")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f".rule{number} {{}}")
    return folder


def finish(static: Path, error: Exception | None = None) -> str:
    """The one style sheet, as the end of a build writes it."""
    write_styles(SimpleNamespace(outdir=static.parent), error)
    return (static / BUNDLE).read_text("utf-8")


def files_of(static: Path, page: str = "chapter", body: str = "", scripts=(), styles=()) -> dict:
    """What is left of a page's files."""
    context = {"body": body, "script_files": scripts, "css_files": styles}
    choose_files(context, page, static)
    return context


# Scripts


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("<p>x</p>", ["site.js"]),
        ('<details class="sd-dropdown sd-card">', ["site.js"]),
        ('<div class="dropdown admonition">', ["togglebutton.js", "", "site.js"]),
        ('<div class="sd-tab-set">', ["design-tabs.js", "site.js"]),
        ('<a href="#term-x" data-meaning="x">', ["site.js", "terms.js"]),
    ],
)
def test_a_page_loads_what_it_has_use_for(static, body, kept):
    scripts = [
        Script("_static/design-tabs.js"),
        Script("_static/togglebutton.js"),
        Script(None, body="let toggleHintShow = 'Click to show';"),
        Script("_static/site.js"),
        Script("_static/terms.js"),
    ]
    left = files_of(static, body=body, scripts=scripts)["script_files"]
    assert [Path(script.filename or "").name for script in left] == kept


def test_data_that_speaks_of_toggles_stays(static):
    data = Script(None, type="application/json", body='{"caption":"let toggle togglebutton.js"}')
    assert files_of(static, scripts=[data])["script_files"] == [data]


def test_scripts_for_the_readers_hand_start_late_and_the_others_as_they_ask(static):
    scripts = [
        Script("_static/doctools.js", priority=100),
        Script("_static/live/host.js", defer="defer"),
        Script("_static/other.js"),
    ]
    left = files_of(static, scripts=scripts)["script_files"]
    assert [script.attributes for script in left] == [{"type": "text/late"}, {"defer": "defer"}, {}]
    assert [script.priority for script in left] == [100, 500, 500]
    assert scripts[0].attributes == {}  # Sphinx gives the same object to the next page


def test_the_search_page_starts_everything_at_once(static):
    left = files_of(static, "search", scripts=[Script("_static/doctools.js")])["script_files"]
    assert left[0].attributes == {}


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
def test_a_page_keeps_links_to_styles_of_its_own_only(static, name, is_part):
    style = SimpleNamespace(filename=name)
    assert is_bundled(style) is is_part
    assert files_of(static, styles=[style])["css_files"] == ([] if is_part else [style])


def test_the_one_style_sheet_holds_all_in_their_order(static):
    style = finish(static)
    places = [style.index(f".rule{number} ") for number in range(len(STYLES))]
    assert places == sorted(places)


def test_a_style_that_is_missing_stops_the_build(static):
    (static / "pygments.css").unlink()
    with pytest.raises(FileNotFoundError, match=r"must hold pygments\.css, got none in "):
        finish(static)


def test_a_build_that_failed_writes_no_style(static):
    write_styles(SimpleNamespace(outdir=static.parent), RuntimeError("before"))
    assert not (static / BUNDLE).exists()


def test_what_a_style_imports_stands_in_its_place(static):
    (static / "basic.css").write_text(".basic { background: url(file.png) }")
    (static / "styles" / "theme.css").write_text('@import "../basic.css";')
    assert one_style(static).startswith(".basic { background: url(file.png) }\n.rule1")


@pytest.mark.parametrize(
    ("given", "moved"),
    [
        ("url(../fonts/a.woff2)", "url(fonts/a.woff2)"),
        ('url("b.png")', "url(styles/b.png)"),
        ("url('b.png#part')", "url(styles/b.png#part)"),
        ('url("data:image/svg+xml,%3Csvg/%3E")', 'url("data:image/svg+xml,%3Csvg/%3E")'),
        ("url(#part)", "url(#part)"),
        ("/*# sourceMappingURL=theme.css.map*/", ""),
    ],
)
def test_addresses_lead_to_the_same_files_from_the_new_place(static, given, moved):
    (static / "styles" / "theme.css").write_text(given)
    assert one_style(static).partition("\n")[0] == moved


def test_icons_that_the_fonts_do_not_hold_have_no_rules():
    rules = r'.fa-sun:before{content:"\f185"}.fa-gear:before,.fa-cog:before{content:"\f013"}'
    assert without_icons(rules, {0xF185}) == r'.fa-sun:before{content:"\f185"}'


def test_another_style_has_another_version(static):
    before = version(static)
    assert files_of(static)["book_styles"] == f"{BUNDLE}?v={before}"
    (static / "site.css").write_text(".new {}")
    assert version(static) != before
