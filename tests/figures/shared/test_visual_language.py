"""The visual language: parts of figures of all kinds have the same order, place and size."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Locator

from attnbook.figures import HeadsFigure
from attnbook.figures.shared.base import Figure
from tests.figures.attention.cases import CASES
from tests.figures.pooling.cases import CASES as POOLING
from tests.figures.prediction.cases import CASES as PREDICTION
from tests.figures.shared.collisions import IN_ALL_STATES
from tests.figures.shared.page import FRAMES, TOO_WIDE, harness, open_figure, open_in_book
from tests.figures.shared.test_every_figure import EXAMPLES
from tests.figures.story.page import make as story
from tests.figures.story.page import random_stories
from tools import BUDGETS

PHONE, NARROW, WIDE = 360, 652, 654  # px: NARROW is the widest page with names above
MOST_HIGH, MOST_GAP = BUDGETS["figure"]["height"], BUDGETS["figure"]["gap"]
SUMMARIES = {"Show numbers", "Show all weights", "More", "More controls", "Code"} | {
    "Which heads?",
    "Show the stories",
}
OLD_WORDS = ("looks at", "look at", "take away", "taken away", "Point at")

# Those of `test_every_figure`, and figures that have other parts.
FIGURES: dict[str, Callable[[], Figure]] = {
    **{name: example.make for name, example in EXAMPLES.items()},
    "attention, two examples": lambda: CASES["toy"]().figure(),
    "attention, a vector in a plane": lambda: CASES["planar"]().figure(movable="vectors"),
    "heads, one head removed": lambda: HeadsFigure(removed=[(0, 1)], focus=(0, 1)),
    "pooling, with the true curve": POOLING["noisy"],
    "prediction, numbers": PREDICTION["numbers"],
    "story, the longest": lambda: story(**random_stories(1, sentences=8)[0]),
}

# The elements of a figure that a reader sees, and boxes on the page.
TO_SEE = """
    const isSeen = (e) => e.checkVisibility({ visibilityProperty: true })
        && e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().height > 1;
    const seen = (selector, root = figure) => [...root.querySelectorAll(selector)].filter(isSeen);
    const describe = (e) => `<${e.tagName.toLowerCase()} class="${e.getAttribute('class') ?? ''}"> `
        + `“${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 40)}”`;
    const folded = 'details > :not(summary), details > :not(summary) *';
"""

# A letter for each part, from the top down.
ORDER = f"""figure => {{ {TO_SEE}
    const parts = {{
        A: '.action', S: '.stage', R: '.readout',
        M: '.more-controls', N: '.data-tables', C: 'figcaption',
    }};
    const found = seen(Object.values(parts).join()).map((e) => [
        Object.keys(parts).find((letter) => e.matches(parts[letter])),
        e.getBoundingClientRect().top,
    ]);
    return found.sort((a, b) => a[1] - b[1]).map(([letter]) => letter).join('');
}}"""
# Readouts above a band of their own block.
EARLY_READOUTS = f"""figure => {{ {TO_SEE}
    return seen('.readout').filter((readout) => seen('.stage', readout.parentElement).some((band) =>
        band.getBoundingClientRect().top > readout.getBoundingClientRect().top)).map(describe);
}}"""
# The names of the three stages, in each block of bands.
STAGES = f"""figure => {{ {TO_SEE}
    const blocks = new Map();
    for (const band of seen('.stage')) {{
        const name = band.querySelector('.stage-name b')?.textContent;
        if (!['Scoring', 'Weighting', 'Pooling'].includes(name)) continue;
        blocks.set(band.parentElement, [...(blocks.get(band.parentElement) ?? []), name]);
    }}
    return [...blocks.values()];
}}"""
# Empty space between two parts, one below the other: everything that is drawn or written is a part.
GAPS = f"""figure => {{ {TO_SEE}
    const leaves = seen('*').filter((e) => !e.closest('svg > *') && (e.matches('svg, input, button')
        || [...e.childNodes].every((node) => node.nodeType !== 1)
        || [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())));
    const boxes = leaves.map((e) => [e.getBoundingClientRect(), e])
        .sort(([a], [b]) => a.top - b.top);
    const gaps = [];
    let [bottom, above] = [figure.getBoundingClientRect().top, null];
    for (const [box, e] of boxes) {{
        if (box.top - bottom > {MOST_GAP})
            gaps.push(`${{Math.round(box.top - bottom)}} px above ${{describe(e)}}`);
        bottom = Math.max(bottom, box.bottom);
    }}
    return gaps;
}}"""
# What a finger uses: the height of the control, or of the label around it.
SMALL_CONTROLS = f"""figure => {{ {TO_SEE}
    const main = 'input[type=range], input[type=text], input:not([type]), select, .stepper button, '
        + '.tabs button, .option';
    const all = `button, a, summary, input, select, textarea, ${{main}}`;
    return seen(all).flatMap((e) => {{
        const target = e.matches('[type=radio], [type=checkbox]') ? e.closest('label') ?? e : e;
        const least = e.matches(main) && !e.closest(`${{folded}}, .small`) ? 40 : 24;
        const {{ height }} = target.getBoundingClientRect();
        const text = `${{height.toFixed(1)}} px of ${{least}}: ${{describe(e)}}`;
        return height > least - 0.5 ? [] : [text];
    }});
}}"""
# Bands whose name is not left of the picture, or, on a narrow page, not above it.
MISPLACED = f"""([figure, wide]) => {{ {TO_SEE}
    return seen('.stage').flatMap((band) => {{
        const [name, picture] = ['.stage-name', '.stage-picture'].map((s) => band.querySelector(s));
        if (!name?.querySelector('b') || !picture || !isSeen(picture)) return [];
        const [a, b] = [name.getBoundingClientRect(), picture.getBoundingClientRect()];
        const right = wide ? a.right <= b.left + 0.5 && a.top < b.bottom : a.bottom <= b.top + 0.5;
        return right ? [] : [describe(name)];
    }});
}}"""
# The heights of what is closed: one row.
CLOSED_ROWS = f"""figure => {{ {TO_SEE}
    const closed = seen('.data-tables:not([open]), .more-controls:not([open])');
    return closed.map((e) => Math.round(e.getBoundingClientRect().top));
}}"""
SUMMARY_TEXTS = "figure => [...figure.querySelectorAll('summary')].map((e) => e.textContent)"
MOTION = """figure => [...figure.querySelectorAll('*')].flatMap((e) => {
    const style = getComputedStyle(e);
    const [long, what] = [style.transitionDuration, style.transitionProperty];
    if (style.animationName !== 'none') return [`${e.tagName} ${style.animationName}`];
    if (long.split(', ').every((each) => each === '0s')) return [];
    const isBar = e.matches(
        '.token-line, .curve, :is(.bars, .total, .sum, .stack) :is(rect, polygon)');
    const isFine = isBar && long.split(', ').every((each) => each === '0.15s');
    return isFine ? [] : [`${e.tagName} ${e.getAttribute('class')}: ${what} ${long}`];
})"""
CAPTION = """figure => {
    const [own, whole] = [getComputedStyle(figure.lastElementChild), getComputedStyle(figure)];
    return [own.fontSize, own.color === whole.color, own.opacity];
}"""
# Maps without titles of their axes, weights without their scale or in another colour.
HEATMAPS = f"""figure => {{ {TO_SEE}
    const swatch = figure.appendChild(document.createElement('i'));
    swatch.style.color = 'var(--weight)';
    const weight = getComputedStyle(swatch).color;
    swatch.remove();
    const bare = seen('.heat-picture, .heat-cells').filter((e) => {{
        if (e.closest('label, button')) return false; // a small one, which chooses the large one
        const map = e.closest('.stage:has(.heat-titles)') ?? e.closest('.heatmap');
        const isWeights = seen('.shade-path', e).some(({{ dataset }}) => dataset.shade !== '100');
        return !map?.querySelector('.heat-titles')
            || (isWeights && !map.querySelector('.weight-scale'));
    }});
    const other = seen('.shade-path').filter((e) => getComputedStyle(e).fill !== weight);
    return [...bare.map(describe), ...other.map((e) => `fill ${{getComputedStyle(e).fill}}`)];
}}"""
# Sliders of steps without their buttons.
STEPS = f"""figure => {{ {TO_SEE}
    return seen('input[type=range]').filter((e) => /step/i.test(e.getAttribute('aria-label'))
        && !e.closest('.stepper')).map(describe);
}}"""


class Page(NamedTuple):
    """A page with all figures: its tab, and each figure by its name."""

    tab: Any
    figures: dict[str, Locator]

    def figure(self, name: str, width: int) -> Locator:
        """A figure on a page of this width."""
        if self.tab.viewport_size["width"] != width:
            self.tab.set_viewport_size({"width": width, "height": 800})
            self.tab.evaluate(FRAMES)
        return self.figures[name]


@pytest.fixture(scope="module")
def every(browser, serve, tmp_path_factory):
    made = [make() for make in FIGURES.values()]
    for figure in made:
        figure.action = figure.action or "Change one number: what happens?"
        figure.caption = "A caption says what the figure shows."
    folder = tmp_path_factory.mktemp("language")
    (folder / "page.html").write_text(harness(made), "utf-8")
    with open_figure(browser, f"{serve(folder)}page.html") as (tab, record):
        tab.evaluate("ready")
        figures = tab.locator("figure[data-attnbook-figure]").all()
        yield Page(tab, dict(zip(FIGURES, figures, strict=True)))
        assert record.complaints == []


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_parts_are_in_one_order_without_wide_gaps(every, width):
    for name in FIGURES:
        figure = every.figure(name, width)
        order = figure.evaluate(ORDER)
        assert re.fullmatch(r"A(S*R?)*M?N?C", order), (name, order)
        assert figure.evaluate(EARLY_READOUTS) == [], name
        for stages in figure.evaluate(STAGES):
            assert stages == [s for s in ("Scoring", "Weighting", "Pooling") if s in stages], name
        assert figure.evaluate(GAPS) == [], name


def test_on_a_phone_it_is_lower_than_the_screen_and_every_control_is_large_enough(every):
    for name in FIGURES:
        figure = every.figure(name, PHONE)
        assert figure.bounding_box()["height"] <= MOST_HIGH, name
        assert figure.evaluate(SMALL_CONTROLS) == [], name
        assert figure.evaluate(TOO_WIDE) == [], name


@pytest.mark.parametrize("width", [PHONE, NARROW, WIDE])
def test_names_of_bands_are_to_the_left_on_wide_pages_and_above_on_narrow_ones(every, width):
    script = f"(figure, wide) => ({MISPLACED})([figure, wide])"
    for name in FIGURES:
        assert every.figure(name, width).evaluate(script, width == WIDE) == [], name


def test_captions_folds_motion_and_heatmaps_are_alike_and_steps_have_buttons(every):
    for name in FIGURES:
        figure = every.figure(name, WIDE)
        assert figure.evaluate(CAPTION) == ["14px", True, "1"], name
        assert {*figure.evaluate(SUMMARY_TEXTS)} <= SUMMARIES, name
        assert len({*figure.evaluate(CLOSED_ROWS)}) <= 1, name
        for script in (MOTION, HEATMAPS, STEPS):
            assert figure.evaluate(script) == [], name
        text = figure.inner_text()
        assert [word for word in OLD_WORDS if word in text] == [], name


HEIGHTS = """() => [...document.querySelectorAll('[data-attnbook-view]')].map((view) =>
    [view.dataset.attnbookView, view.querySelector('figure').getBoundingClientRect().height])"""
EACH = f"""async () => {{
    const found = {{}};
    for (const view of document.querySelectorAll('[data-attnbook-view]')) {{
        const faults = await ({IN_ALL_STATES})(view.querySelector('figure'));
        if (faults.length) found[view.dataset.attnbookView] = faults;
    }}
    return found;
}}"""


def test_on_a_phone_each_figure_of_the_book_is_lower_than_the_screen(browser, book_gallery):
    with open_in_book(browser, book_gallery, PHONE) as (tab, figures, _):
        assert figures.count() > 50
        assert {name: height for name, height in tab.evaluate(HEIGHTS) if height > MOST_HIGH} == {}
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_nothing_overlaps_or_is_cut_off_in_any_figure_of_the_book(browser, book_gallery, width):
    with open_in_book(browser, book_gallery, width, reduced_motion="reduce") as (tab, _, _):
        assert tab.evaluate(EACH) == {}


def test_nothing_overlaps_or_is_cut_off_in_a_figure_of_any_kind(every):
    for name in FIGURES:
        assert every.figure(name, WIDE).evaluate(IN_ALL_STATES) == [], name
