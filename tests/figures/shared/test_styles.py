"""Figures of several kinds are on one page, and each brings the look that all share."""

from __future__ import annotations

import pytest

from attnbook.figures.shared.base import FOLDER
from tests.tools.site.site_checks import NARROW, opened
from tools.bench.interaction import PLACES

PAGES = PLACES | {"prediction": "queries-keys-values"}
SHARED = [
    (FOLDER / "shared" / f"{name}.css").read_text("utf-8")
    for name in ("theme", "style", "axes", "steps")
]

# How each part of a figure looks when its own style comes last, whatever other kinds the page
# holds and mounted before it; then which parts look otherwise once more style has come.
LOOK = """([kind, own, styles]) => {
  const figure = document.querySelector(`figure[data-attnbook-figure="${kind}"]`);
  figure.querySelectorAll("details").forEach((fold) => (fold.open = true));
  const nameOf = (e) => `${e.tagName} ${e.getAttribute("class")}`;
  const kindOf = (part) => `${nameOf(part)} in ${nameOf(part.parentElement)}`;
  const all = [figure, ...figure.querySelectorAll("*")];
  const parts = [...new Map(all.map((part) => [kindOf(part), part])).values()];
  const look = () => parts.map((part) => ["", "::before"].map((piece) => {
    const style = getComputedStyle(part, piece || null);
    return [...style].map((name) => `${name}: ${style.getPropertyValue(name)}`);
  }).flat());
  const add = (textContent) =>
    document.head.append(Object.assign(document.createElement("style"), { textContent }));
  add(own);
  const before = look();
  styles.forEach(add);
  const after = look();
  return parts.flatMap((part, i) =>
    before[i].flatMap((said, k) => (said === after[i][k] ? [] : [`${kindOf(part)}: ${said}`])));
}"""


def style_of(kind: str) -> str:
    return (FOLDER / kind / "style.css").read_text("utf-8")


# On a phone the rules for narrow figures hold, too.
@pytest.mark.few(4)
@pytest.mark.parametrize("kind", PAGES)
def test_a_figure_looks_the_same_whichever_kind_comes_after_it(browser, site, kind):
    others = [style_of(other) for other in PAGES if other != kind]
    page = (site / "chapters" / f"{PAGES[kind]}.html").as_uri()
    with opened(browser, page, NARROW) as (tab, _):
        tab.locator(f"figure[data-attnbook-figure={kind}]").first.wait_for()
        assert tab.evaluate(LOOK, [kind, style_of(kind), SHARED + others]) == []
        if kind == "attention":  # a style that changes something would be noticed
            style = ".attnbook-figure .stage-name span { color: red }"
            found = tab.evaluate(LOOK, [kind, style_of(kind), [style]])
            assert any("color: " in change for change in found)
