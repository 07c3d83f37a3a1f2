"""The shape figures of all cases on one page, for the tests that change their step."""

from __future__ import annotations

import pytest

from attnbook.figures import ShapeFigure
from tests.figures.shape.cases import CASES, state_of, trace_case
from tests.figures.shape.page import step_slider
from tests.tools.site.site_checks import WIDE


@pytest.fixture(scope="module")
def show(alone):
    """A function that sets the width of the page and the step of a case.

    It returns the tab, the figure, its trace and its traits.
    """
    made = [ShapeFigure(trace_case(name), caption="A caption.") for name in CASES]
    with alone(*made, has_touch=True) as (tab, figures):

        def go(case: str = "heads", step: int = 0, width: int = WIDE):
            figure = figures.nth([*CASES].index(case))
            tab.set_viewport_size({"width": width, "height": 800})
            tab.mouse.move(0, 0)
            step_slider(figure).fill(str(step))
            return tab, figure, trace_case(case), state_of(case)

        yield go
