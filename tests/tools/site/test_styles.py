"""The one style sheet, and what it leaves out."""

from __future__ import annotations

import pytest

from tools.site.styles import BUNDLE, STYLES, one_style, used, without_icons, write_styles

BUTTON = ".button{color:red}"


@pytest.fixture
def static(tmp_path):
    """A site's styles, each with one rule of its own."""
    folder = tmp_path / "_static"
    for number, pattern in enumerate(STYLES):
        path = folder / pattern.replace("*", "0f")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f".rule{number} {{}}")
    return folder


@pytest.fixture
def keeps(tmp_path):
    """A function that says what stays of a style on a site with this page and this script."""

    def left(style: str, page: str = "", script: str = "") -> str:
        (tmp_path / "page.html").write_text(f"<!DOCTYPE html><html><body>{page}</body></html>")
        (tmp_path / "_static").mkdir(exist_ok=True)
        (tmp_path / "_static" / "script.js").write_text(script)
        return used(style, tmp_path).strip()

    return left


def test_the_one_style_sheet_holds_all_in_their_order(static):
    style = write_styles(static.parent, whole=True)
    places = [style.index(f".rule{number} ") for number in range(len(STYLES))]
    assert places == sorted(places)


def test_a_style_that_is_missing_stops_the_build(static):
    (static / "pygments.css").unlink()
    with pytest.raises(FileNotFoundError, match=r"must hold pygments\.css, got none in "):
        write_styles(static.parent, whole=True)


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


# What no page can use


@pytest.mark.parametrize(
    ("style", "page"),
    [
        (BUTTON, '<a class="small button">'),
        (BUTTON, "<a class='button'>"),
        ("#menu{color:red}", '<div data-a="1" id=menu>'),
        ("dialog[open]{color:red}", "<dialog open>"),
        ("a:hover:before{color:red}", "<a href='#'>"),
        ("body:has(.button) a:not(.gone){color:red}", '<a class="button">'),
        ('a[href^="http"]{color:red}', '<a href="https://example.org">'),
        ("@media print{p{color:red}}", "<p>"),
        ("svg .axis{color:red}", '<svg viewBox="0 0 1 1"><path class="axis"/></svg>'),
    ],
)
def test_a_rule_for_what_stands_in_a_page_stays(keeps, style, page):
    assert keeps(style, page) == style.replace('"http"', "http")


@pytest.mark.parametrize(
    "script",
    ["menu.classList.add('button')", 'el.className = "small button"', "`<a class=button>`"],
)
def test_a_rule_for_what_a_script_may_add_stays(keeps, script):
    assert keeps(BUTTON, script=script) == BUTTON


def test_a_rule_for_a_name_that_a_script_joins_from_parts_stays(keeps):
    style = ".bs-tooltip-auto .tooltip-arrow{color:red}"
    assert keeps(style, script="prefix + '-auto'; 'tooltip-arrow'") == style


@pytest.mark.parametrize("page", ["button", "<p>a button</p>", '<p title="x">.button</p>'])
def test_a_rule_for_what_is_only_spoken_of_goes(keeps, page):
    assert keeps(BUTTON, page) == ""


def test_of_a_list_of_selectors_the_used_ones_stay(keeps):
    assert keeps(".button, .carousel { color: red }", '<a class="button">') == BUTTON


def test_a_variable_stays_as_long_as_something_takes_it(keeps):
    style = ":root{--ours:red;--theirs:blue;--left:tan}p{color:var(--ours)}"
    left = keeps(style, "<p>", "const css = 'i { color: var(--theirs) }'")
    assert left == ":root{--ours:red;--theirs:blue}p{color:var(--ours)}"


def test_a_style_in_which_nothing_is_meant_for_the_page_is_empty(keeps):
    assert keeps('@charset "UTF-8"; /* words */ .gone { color: red }') == ""


def test_a_draft_keeps_every_rule(static):
    assert ".rule3" in write_styles(static.parent, whole=True)
    assert ".rule3" not in write_styles(static.parent)
    assert (static / BUNDLE).read_text("utf-8") == write_styles(static.parent)
