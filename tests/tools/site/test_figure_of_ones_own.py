"""The example figure of “For teachers and maintainers”, on a page that a kernel ran."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from tests.project import teaching_page
from tests.tools.site.live_pages import Book, book, cell, page
from tests.tools.site.site_checks import opened

# Its own process: a kernel leaves sockets that pytest would call a leak.
BUILD = """
import sys
from pathlib import Path
sys.path.insert(0, "")
from tests.tools.site.live_pages import Book
print(Book(Path(sys.argv[1])).build(nb_execution_mode="force").warnings)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Book:
    folder = tmp_path_factory.mktemp("teaching")
    package = teaching_page.package_with_the_figure(folder)
    built_book = book(folder, index=page(cell(source=teaching_page.cell())))
    run = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=teaching_page.ROOT, env=os.environ | {"PYTHONPATH": str(package)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "WARNING" not in run.stdout
    return built_book


def read_weights(tab) -> list[float]:
    cells = tab.locator("figure td[data-value]").all()
    return [float(one.get_attribute("data-value")) for one in cells]


@pytest.mark.weekly  # tests/project types it, too
def test_the_pages_own_figure_moves_without_a_kernel(browser, serve, built):
    with opened(browser, f"{serve(built.html)}index.html") as (tab, record):
        slider = tab.get_by_role("slider", name="temperature")
        slider.wait_for()
        for temperature in (1.0, 0.1, 2.5, 10.0):
            slider.fill(str(temperature))
            scores = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
            expected = torch.softmax(scores / temperature, dim=-1).tolist()
            assert read_weights(tab) == pytest.approx(expected, abs=1e-6)
            widths = [bar.bounding_box()["width"] for bar in tab.locator(".share-bar").all()]
            shares = [width / sum(widths) for width in widths]
            assert shares == pytest.approx(expected, abs=0.01)
        action = tab.locator("figure > .action")
        assert action.text_content().startswith("Drag temperature to 0.1: ")
        assert action.locator("code").text_content() == "temperature"
        assert record.complaints + record.failures == []
