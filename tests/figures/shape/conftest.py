"""The shape figures of all cases on one page, for the tests that move them."""

from __future__ import annotations

import pytest

from attnbook.figures import ShapeFigure
from tests.figures.attention.cases import traits
from tests.figures.shape.cases import CASES
from tests.figures.shape.page import step_slider
from tests.tools.site.site_checks import WIDE


@pytest.fixture(scope="module")
def shown(alone):
    """A page with all cases: its tab, and of each case the figure, its trace and its traits."""
    traces = {name: case() for name, case in CASES.items()}
    made = [ShapeFigure(x_ray, caption="A caption.") for x_ray in traces.values()]
    with alone(*made, has_touch=True) as (tab, figures):
        tab.evaluate("ready")
        parts = zip(figures.all(), traces.values(), map(traits, made), strict=True)
        yield tab, dict(zip(traces, parts, strict=True))


@pytest.fixture
def show(shown):
    """A function that sets the width of the page and the step of a case."""

    def go(case: str = "heads", step: int = 0, width: int = WIDE):
        tab, (figure, x_ray, state) = shown[0], shown[1][case]
        tab.set_viewport_size({"width": width, "height": 800})
        tab.mouse.move(0, 0)
        step_slider(figure).fill(str(step))
        return tab, figure, x_ray, state

    return go
