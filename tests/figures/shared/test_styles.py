"""The styles of a figure do not change figures of another kind on the same page."""

from __future__ import annotations

import pytest

from attnbook.figures.shared.base import FOLDER
from tests.tools.site.site_checks import NARROW, open_page
from tools.bench.interaction import CHAPTERS_BY_FIGURE

PAGES = CHAPTERS_BY_FIGURE | {"prediction": "queries-keys-values", "story": "welcome"}
SHARED = [
    (FOLDER / "shared" / f"{name}.css").read_text("utf-8")
    for name in ("theme", "style", "question", "axes", "heatmap")
]

# The computed styles of each part of a figure that differ after `styles` are added. Its own style
# is first added last, so that other kinds on the page do not matter.
CHANGES = """([kind, own, styles]) => {
  const figure = document.querySelector(`figure[data-attnbook-figure="${kind}"]`);
  figure.querySelectorAll("details").forEach((fold) => (fold.open = true));
  const nameOf = (e) => `${e.tagName} ${e.getAttribute("class")}`;
  const kindOf = (part) => `${nameOf(part)} in ${nameOf(part.parentElement)}`;
  const all = [figure, ...figure.querySelectorAll("*")];
  const parts = [...new Map(all.map((part) => [kindOf(part), part])).values()];
  const computedStyles = () => parts.map((part) => ["", "::before"].map((piece) => {
    const style = getComputedStyle(part, piece || null);
    // Without variables: the page's are minified, and what they change is seen in other properties.
    const names = [...style].filter((name) => !name.startsWith("--"));
    return names.map((name) => `${name}: ${style.getPropertyValue(name)}`);
  }).flat());
  const add = (textContent) =>
    document.head.append(Object.assign(document.createElement("style"), { textContent }));
  add(own);
  const before = computedStyles();
  styles.forEach(add);
  const after = computedStyles();
  return parts.flatMap((part, i) =>
    before[i].flatMap((rule, k) => (rule === after[i][k] ? [] : [`${kindOf(part)}: ${rule}`])));
}"""


def style_of(kind: str) -> str:
    room = "tokens" if kind in ("heads", "story", "translator") else kind
    return (FOLDER / room / "style.css").read_text("utf-8")


# On a phone the rules for narrow figures apply, too.
@pytest.mark.few(2)
@pytest.mark.parametrize("kind", PAGES)
def test_styles_of_other_kinds_do_not_change_a_figure(browser, site, kind):
    others = sorted({*map(style_of, PAGES)} - {style_of(kind)})
    page = (site / "chapters" / f"{PAGES[kind]}.html").as_uri()
    with open_page(browser, page, NARROW) as (tab, _):
        tab.locator(f"figure[data-attnbook-figure={kind}]").first.wait_for()
        assert tab.evaluate(CHANGES, [kind, style_of(kind), SHARED + others]) == []
        if kind == "attention":  # a style that changes something is noticed
            style = ".attnbook-figure .stage-name span { color: red }"
            changes = tab.evaluate(CHANGES, [kind, style_of(kind), [style]])
            assert any("color: " in change for change in changes)
