"""A figure in a real JupyterLab with a real kernel."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest
from nbformat import v4
from playwright.sync_api import expect

START = 60  # seconds
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
READ = "print('lens', figure.valid_lens, 'output', figure.output[0, 0].tolist())"
OTHERS = """
import torch
from attnbook.figures import PoolingFigure, ScalingFigure

column = lambda *numbers: torch.tensor(numbers).reshape(1, -1, 1)
curve = PoolingFigure(column(0.0, 4.0, 8.0), column(1.0, 3.0, 5.0), query=4.0)
curve
"""
SCALING = """
scaling = ScalingFigure(torch.ones(1, 2, 8), torch.eye(8)[None, :4])
scaling
"""
ASKING = """
from attnbook.figures import Prediction

asked = Prediction("Both:", [0.5, 2.0], {"The other way round.": [2.0, 0.5]}, labels=["a", "b"])
asked
"""
READ_OTHERS = """
print('query', curve.query, 'output', round(curve.output.item(), 3), 'd', scaling.d)
print(asked.tried, asked.done)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(server: subprocess.Popen, address: str) -> None:
    """Wait until the server answers; its end or its silence is a failure."""
    limit = time.monotonic() + START
    while time.monotonic() < limit:
        assert server.poll() is None, "jupyter lab ended"
        try:
            urlopen(address, timeout=5).close()  # noqa: S310 - our own server
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"jupyter lab did not answer within {START} s")


@pytest.fixture
def lab(tmp_path, request):
    """The address of a JupyterLab in a folder with one notebook, apart from any settings here."""
    cells = [v4.new_code_cell(source.strip()) for source in request.param]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, tmp_path / "figure.ipynb")
    port = free_port()
    options = [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--no-browser"]
    options += ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", "--allow-root"]
    options += ["--ServerApp.root_dir=.", "--log-level=ERROR"]
    own = {
        name: str(tmp_path / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", *options], cwd=tmp_path, env=os.environ | own
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(server, f"{address}/api/status")
        yield f"{address}/lab/tree/figure.ipynb"
    finally:
        server.terminate()
        server.wait(30)


def printed(tab):
    """What the last cell has printed."""
    return tab.locator(".jp-Cell").last.locator(".jp-OutputArea-output")


def run_all(tab, address):
    """Open the notebook and run its cells."""
    tab.goto(address)
    # Before the kernel is there, a menu closes again and cells are not run.
    tab.get_by_text(re.compile(r"\| Idle$")).wait_for(timeout=START * 1000)
    tab.get_by_role("menuitem", name="Run", exact=True).click()
    tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def run_last(tab):
    """Run the last cell again."""
    tab.locator(".jp-Cell").last.locator(".cm-content").click()
    tab.keyboard.press("Control+Enter")


@pytest.mark.slow
@pytest.mark.parametrize("lab", [(FIGURE, CONTROL, READ)], indirect=True, ids=["attention"])
def test_a_figure_in_jupyterlab_speaks_with_python(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 1400})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure]")
    first, second = (figure.get_by_role("slider", name=f"valid_lens[{i}]") for i in (0, 1))
    expect(first).to_have_value("2", timeout=START * 1000)
    expect(printed(tab)).to_have_text(
        re.compile(r"lens \[2, 6\] output \[2\.0, 3\.0, 4\.0, 5\.0\]")
    )

    first.press("ArrowRight")
    run_last(tab)
    expect(printed(tab)).to_have_text(
        re.compile(r"lens \[3, 6\] output \[4\.0, 5\.0, 6\.0, 7\.0\]")
    )

    control = tab.locator(".widget-slider [role=slider], .widget-slider .noUi-handle").first
    control.press("ArrowLeft")
    expect(second).to_have_value("5")
    second.press("ArrowRight")
    expect(tab.locator(".widget-readout").first).to_have_text("6")
    tab.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "lab", [(OTHERS, SCALING, ASKING, READ_OTHERS)], indirect=True, ids=["others"]
)
def test_the_other_figures_speak_with_python_too(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 1800})
    run_all(tab, lab)
    query, d = (tab.get_by_role("slider", name=name, exact=True) for name in ("query", "d"))
    expect(d).to_have_attribute("aria-valuetext", "8", timeout=START * 1000)
    expect(printed(tab)).to_have_text(re.compile(r"query 4\.0 output 3\.0 d 8\s+\[\]"))

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
    expect(tab.locator(".tried").get_by_text("The other way round.")).to_be_visible()
    run_last(tab)
    expect(printed(tab)).to_have_text(
        re.compile(rf"query {re.escape(str(start))} .* d 4\s+\[\[2, 0\.5\]\] right")
    )
    tab.close()
