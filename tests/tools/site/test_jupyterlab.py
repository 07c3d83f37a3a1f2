"""A figure in a real JupyterLab with a real kernel."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.tools.site.jupyterlab import START, last_output, printed, run_all

WAIT = START * 1000  # milliseconds: what goes through a kernel may wait for a busy machine

FIGURE = """
import torch
from attnbook import DotProductAttention
from attnbook.figures import AttentionFigure

queries, keys = torch.ones(2, 1, 4), torch.ones(2, 10, 4)
values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
layer, lens = DotProductAttention(dropout=0), torch.tensor([2, 6])
figure = AttentionFigure(layer, queries, keys, values, lens)
figure
"""
# Python moves the figure, too.
READ = """
figure.valid_lens = [figure.valid_lens[0], 5]
print('lens', figure.valid_lens, 'output', figure.output[0, 0].tolist())
"""


@pytest.mark.weekly  # it depends on JupyterLab, anywidget and what all figures share
@pytest.mark.parametrize("lab", [(FIGURE, READ)], indirect=True, ids=["figures"])
def test_figures_in_jupyterlab_are_synchronized_with_python(browser, lab):
    # So high that JupyterLab draws every cell.
    tab = browser.new_page(viewport={"width": 1280, "height": 4000})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure=attention]")
    first, second = (figure.get_by_role("slider", name=f"valid_lens[{i}]") for i in (0, 1))
    expect(first).to_have_value("2", timeout=WAIT)
    start = "lens [2, 5] output [2.0, 3.0, 4.0, 5.0]"
    expect(printed(tab)).to_have_text(start, timeout=WAIT)
    expect(second).to_have_value("5", timeout=WAIT)
    first.press("ArrowRight")
    last_output(tab, re.compile(r"lens \[3, 5\] output \[4\.0, 5\.0, 6\.0, 7\.0\]"))
    tab.close()


WRITTEN = """
import torch
from attnbook import gaussian_score
from attnbook.figures import AttentionFigure
from attnbook.practice import check

vectors = torch.tensor([[[2.0, 0.0], [0.0, 2.0]]])
figure = AttentionFigure(gaussian_score, vectors, vectors, vectors, written="score-by-hand")
figure
"""
MINE = """
def my_score(query, key):
    return 7 + key[0]

print(check("score-by-hand", my_score).held)
"""


@pytest.mark.weekly
@pytest.mark.parametrize("lab", [(WRITTEN, MINE)], indirect=True, ids=["written"])
def test_a_figure_in_jupyterlab_draws_what_the_reader_writes_below_it(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 4000})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure=attention]")
    expect(figure).to_contain_text("draw what your my_score gives", timeout=WAIT)
    scores = figure.locator("[data-value='9']")  # 7 + 2, for the first key
    expect(scores.first).to_be_attached(timeout=WAIT)
    # 1 / (1 + exp(-2 / T)) at temperature 1 and 10
    cool, warm = (figure.locator(f"[data-value^='{share}']") for share in ("0.88079", "0.54983"))
    expect(cool.first).to_be_attached()
    figure.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    figure.get_by_role("slider", name="temperature").press("End")
    expect(warm.first).to_be_attached()
    figure.get_by_role("checkbox").uncheck()
    expect(scores).to_have_count(0)
    tab.close()
