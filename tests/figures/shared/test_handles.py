"""The handle of a slider below a picture is at the part of the picture that it chooses."""

from __future__ import annotations

import pytest

from attnbook.figures import ScalingFigure
from tests.figures.attention.cases import CASES
from tests.figures.pooling.cases import CASES as POOLING
from tests.figures.position.cases import CASES as POSITION
from tests.figures.scaling.cases import CASES as SCALING
from tests.figures.shared.page import handle_centre
from tests.tools.site.site_checks import NARROW, WIDE

# A figure, its slider, the part with the handle, and the handle's place on that part, 0 to 1.
HANDLES = {
    "attention": (CASES["toy"]().figure, "valid_lens[0]", ".axis .padding", 0),
    "pooling": (POOLING["few"], "query", ".marker", 0.5),
    "position": (POSITION["sinusoidal"], "distance", ".marker", 0.5),
    "scaling": (lambda: ScalingFigure(*SCALING["a chapter's"]()), "d", ".marker", 0.5),
}
# What else is drawn above the track.
HIDDEN = """.padding, .keys { visibility: hidden }
    :focus-visible { outline: 0 !important }"""


@pytest.fixture(scope="module")
def show(stage):
    return stage({name: make() for name, (make, *_) in HANDLES.items()})


@pytest.mark.few(4)
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", HANDLES)
def test_a_handle_is_at_the_part_that_it_chooses(show, name, width):
    tab, figure, *_ = show(name, width)
    _, label, part, share = HANDLES[name]
    added = tab.add_style_tag(content=HIDDEN)
    slider = figure.get_by_role("slider", name=label, exact=True).first
    slider.scroll_into_view_if_needed()
    low, high = (int(slider.get_attribute(end)) for end in ("min", "max"))
    for value in (low, (2 * low + high) // 3, high - 1):
        slider.fill(str(value))
        box = figure.locator(part).first.evaluate("part => part.getBoundingClientRect()")
        place = box["left"] + box["width"] * share
        assert handle_centre(tab, slider) == pytest.approx(place, abs=1.5)
    added.evaluate("style => style.remove()")
