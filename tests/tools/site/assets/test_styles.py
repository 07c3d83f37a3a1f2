"""The one style sheet, and what it leaves out."""

from __future__ import annotations

import re

import pytest

from tools import ROOT
from tools.site.assets.styles import (
    BUNDLE,
    STYLES,
    join_styles,
    remove_unused,
    write_styles,
)

# Rules for a name, a page with it, and a script with it: X is another name in each.
USED = [
    (".X", '<a class="small X">', ""),
    (".X", "<a class='X'>", ""),
    ("#X", '<div data-a="1" id=X>', ""),
    ("dialog[open] .X", "<dialog open class=X>", ""),
    (".X:hover:before", "<a class=X>", ""),
    ("body:has(.X) a:not(.gone)", '<a class="X">', ""),
    ("a[href^=X]", '<a href="Xs://example.org">', ""),
    ("svg .X", '<svg viewBox="0 0 1 1"><path class="X"/></svg>', ""),
    (".X", "", "menu.classList.add('X')"),
    (".X", "", 'el.className = "small X"'),
    (".X", "", "`<a class=X>`"),
    # A script may join a name from parts, as Bootstrap does for its tooltips.
    (".bs-tooltip-auto .X", "", "prefix + '-auto'; 'X'"),
]
UNUSED = [(".X", "X", ""), (".X", "<p>a X</p>", ""), (".X", '<p title="x">.X</p>', "")]
OTHERS = """@charset "UTF-8"; /* words */ .gone { color: red }
@media print { p { order: 99 } }
.n0, .carousel { order: 98 }
:root{--ours:red;--theirs:blue;--left:tan} p { color: var(--ours) }
"""


@pytest.fixture
def static(tmp_path):
    """A site's styles, each with one rule of its own."""
    folder = tmp_path / "_static"
    for number, pattern in enumerate(STYLES):
        path = folder / pattern.replace("*", "0f")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f".rule{number} {{}}")
    return folder


def test_the_one_style_sheet_has_all_in_their_order_and_only_a_draft_has_every_rule(static):
    style = write_styles(static.parent, whole=True)
    positions = [style.index(f".rule{number} ") for number in range(len(STYLES))]
    assert positions == sorted(positions)
    assert ".rule3" not in write_styles(static.parent)
    assert (static / BUNDLE).read_text("utf-8") == write_styles(static.parent)


def test_an_import_is_replaced_and_rules_for_whatever_follows_an_element_are_left_out(static):
    (static / "basic.css").write_text(".basic { background: url(file.png) }")
    costly = "legend+*{clear:left}\ndiv.code-block-caption + div {\n margin-top: 0 }"
    theme = f'@import "../basic.css";legend {{}}{costly}p + p {{}}'
    (static / "styles" / "theme.css").write_text(theme)
    style = ".basic { background: url(file.png) }legend {}\np + p {}\n.rule1"
    assert join_styles(static).startswith(style)


def test_addresses_lead_to_the_same_files_from_the_new_folder(static):
    for address, expected in (
        ("url(../fonts/a.woff2)", "url(fonts/a.woff2)"),
        ("url('b.png#part')", "url(styles/b.png#part)"),
        ('url("data:image/svg+xml,%3Csvg/%3E")', 'url("data:image/svg+xml,%3Csvg/%3E")'),
        ("url(#part)", "url(#part)"),
        ("/*# sourceMappingURL=theme.css.map*/", ""),
    ):
        (static / "styles" / "theme.css").write_text(address)
        assert join_styles(static).partition("\n")[0] == expected


# Rules that no page can use


@pytest.fixture(scope="module")
def remaining(tmp_path_factory):
    """The rules that remain on a site with all these pages and scripts."""
    site = tmp_path_factory.mktemp("site")
    (site / "_static").mkdir()
    rules = ""
    for number, case in enumerate([*USED, *UNUSED]):
        selector, page, script = (re.sub(r"\bX", f"n{number}", text) for text in case)
        rules += f"{selector}{{order:{number}}}"
        html = f"<!DOCTYPE html><html><body><p>{page}</body></html>"
        (site / f"page{number}.html").write_text(html)
        (site / "_static" / f"script{number}.js").write_text(script)
    (site / "_static" / "figure.js").write_text("const css = 'i { color: var(--theirs) }'")
    return remove_unused(OTHERS + rules, site)


def test_a_rule_for_a_name_in_a_page_or_in_a_script_stays_and_one_in_text_goes(remaining):
    for number, (selector, *_) in enumerate(USED):
        assert f"{selector.replace('X', f'n{number}')}{{order:{number}}}" in remaining
    for number in range(len(USED), len(USED) + len(UNUSED)):
        assert f"n{number}" not in remaining
        assert f"order:{number}}}" not in remaining


def test_no_state_that_purgecss_drops_is_within_is():
    sheet = (ROOT / "tools" / "site" / "static" / "site.css").read_text("utf-8")
    assert re.findall(r":is\([^()]*:(?:hover|focus).*", sheet) == []
