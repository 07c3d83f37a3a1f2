"""The page about the marks of figures: its files exist, and the figure that it shows works."""

from __future__ import annotations

import re

import pytest
import traitlets

from attnbook.figures.shared.base import FOLDER, Figure, module, stylesheet
from tests.figures.shared.page import layout_problems
from tests.tools.pictures.test_draw import written

PAGE = (FOLDER / "README.md").read_text("utf-8")
FILES = set(re.findall(r"\(shared/(\w+\.js)\)", PAGE))


def test_the_page_and_its_picture_name_the_same_files_and_all_of_them_exist():
    assert {text for text in written("marks") if text.endswith(".js")} == FILES
    assert all((FOLDER / "shared" / file).exists() for file in FILES)


@pytest.fixture(scope="module")
def marks_figure(tmp_path_factory):
    """The class of the figure on the page, from its JavaScript."""
    folder = tmp_path_factory.mktemp("marks")
    (folder / "shared").symlink_to(FOLDER / "shared")
    (folder / "sum").mkdir()
    file = folder / "sum" / "figure.js"
    file.write_text(re.findall(r"```js\n(.*?)```", PAGE, flags=re.DOTALL)[0], "utf-8")

    class SumFigure(Figure):
        _esm = module(str(file))
        _css = stylesheet("shared/theme.css", "shared/style.css")
        weights = traitlets.List([0.5, 0.3, 0.2]).tag(sync=True)
        values = traitlets.List([8.0, 5.0, 6.0]).tag(sync=True)

    return SumFigure


def test_the_figure_on_the_page_shows_a_sum_and_answers_pointing(marks_figure, open_figures):
    made = marks_figure(kind="sum", action="Point: what changes?", caption="A sum.")
    with open_figures(made, width=360) as (_, figures):
        figure = figures.first
        assert figure.locator(".sum-text").inner_text() == (
            "0.500 · 8 + 0.300 · 5 + 0.200 · 6 = 6.700"
        )
        assert figure.locator(".readout").inner_text() == "key 0: weight 0.500"
        figure.get_by_role("button", name="key 2").focus()
        assert figure.locator(".readout").inner_text() == "key 2: weight 0.200"
        assert figure.locator(".lit").count() >= 2
        assert layout_problems(figure) == []
        figure.get_by_text("Show numbers").click()
        cells = figure.locator("td[data-value]")
        assert [float(cell.get_attribute("data-value")) for cell in cells.all()] == made.weights
