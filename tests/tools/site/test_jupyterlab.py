"""A figure in a real JupyterLab with a real kernel."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.tools.site.jupyterlab import START, last_output, printed, run_all

WAIT = START * 1000  # milliseconds: what goes through a kernel may wait for a busy machine

FIGURE = """
import ipywidgets, torch
from attnbook import DotProductAttention
from attnbook.figures import AttentionFigure

queries, keys = torch.ones(2, 1, 4), torch.ones(2, 10, 4)
values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
layer, lens = DotProductAttention(dropout=0), torch.tensor([2, 6])
figure = AttentionFigure(layer, queries, keys, values, lens)
figure
"""
CONTROL = """
control = ipywidgets.IntSlider(value=6, max=10)
ipywidgets.link(
    (control, "value"),
    (figure, "valid_lens"),
    transform=(lambda length: [figure.valid_lens[0], length], lambda lens: lens[1]),
)
control
"""
OTHERS = """
from attnbook.figures import PoolingFigure, ScalingFigure

column = lambda *numbers: torch.tensor(numbers).reshape(1, -1, 1)
curve = PoolingFigure(column(0.0, 4.0, 8.0), column(1.0, 3.0, 5.0), query=4.0)
curve
"""
SCALING = """
scaling = ScalingFigure(torch.ones(1, 2, 8), torch.eye(8)[None, :4])
scaling
"""
PREDICTION = """
from attnbook.figures import Prediction

swapped = {"The other way round.": [2.0, 0.5]}
prediction = Prediction("Both:", [0.5, 2.0], swapped, labels=["a", "b"])
prediction
"""
TASK = """
from attnbook.figures import CodeTask

CodeTask("softmax-by-hand")
"""
READ = """
print('lens', figure.valid_lens, 'output', figure.output[0, 0].tolist())
print('query', curve.query, 'output', round(curve.output.item(), 3), 'd', scaling.d)
print(prediction.tried, prediction.done)
"""


CELLS = (FIGURE, CONTROL, OTHERS, SCALING, PREDICTION, TASK, READ)


@pytest.mark.slow
@pytest.mark.parametrize("lab", [CELLS], indirect=True, ids=["figures"])
def test_figures_in_jupyterlab_are_synchronized_with_python(browser, lab):
    # So high that JupyterLab draws every cell.
    tab = browser.new_page(viewport={"width": 1280, "height": 4000})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure=attention]")
    first, second = (figure.get_by_role("slider", name=f"valid_lens[{i}]") for i in (0, 1))
    query, d = (tab.get_by_role("slider", name=name, exact=True) for name in ("query", "d"))
    expect(first).to_have_value("2", timeout=WAIT)
    expect(d).to_have_attribute("aria-valuetext", "8", timeout=WAIT)
    expect(printed(tab)).to_have_text(
        re.compile(
            r"lens \[2, 6\] output \[2\.0, 3\.0, 4\.0, 5\.0\]\s+"
            r"query 4\.0 output 3\.0 d 8\s+\[\]"
        ),
        timeout=WAIT,
    )

    first.press("ArrowRight")
    last_output(tab, re.compile(r"lens \[3, 6\] output \[4\.0, 5\.0, 6\.0, 7\.0\]"))
    control = tab.locator(".widget-slider [role=slider], .widget-slider .noUi-handle").first
    control.press("ArrowLeft")
    expect(second).to_have_value("5", timeout=WAIT)
    second.press("ArrowRight")
    expect(tab.locator(".widget-readout").first).to_have_text("6", timeout=WAIT)

    # A notebook has its own Python, so the task only shows what to write.
    task = tab.locator("figure.code")
    expect(task.locator("pre")).to_have_text("import math\n\ndef softmax(scores):\n    ...")
    expect(task).to_contain_text('check("softmax-by-hand", softmax)')
    expect(task.get_by_role("button")).to_have_count(0)

    query.press("Home")
    d.press("ArrowLeft")
    start = tab.evaluate("Number(document.querySelector('input[aria-label=query]').dataset.value)")
    assert start < 0
    first, second = (tab.get_by_role("textbox", name=name, exact=True) for name in "ab")
    for a, b in (("2", "0.5"), ("0.5", "2")):
        first.click()
        first.fill("")
        tab.keyboard.type(a)
        second.fill(b)
        second.press("Enter")
    expect(tab.locator(".tried").get_by_text("The other way round.")).to_be_visible(timeout=WAIT)
    last_output(tab, re.compile(rf"query {re.escape(str(start))} .* d 4\s+\[\[2, 0\.5\]\] right"))
    tab.close()
