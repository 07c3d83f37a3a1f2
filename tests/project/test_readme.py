"""The README: its code runs, its commands exist, and its links lead to files."""

from __future__ import annotations

import re
import runpy

import pytest
import torch

from tools import BUDGETS, ROOT

README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
MOST_WORDS = BUDGETS["words"]


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", README, re.DOTALL)


def test_its_python_runs_from_top_to_bottom_and_prints_the_output_of_the_page(tmp_path, capsys):
    program = tmp_path / "readme.py"  # shape tracing reads a layer's source
    program.write_text("\n".join(blocks("python")), "utf-8")
    scope = runpy.run_path(str(program))

    printed, outputs = capsys.readouterr().out, blocks("text")
    assert outputs
    assert [output for output in outputs if output not in printed] == []
    assert scope["output"].shape == (2, 3, 4)
    assert torch.equal(scope["output"][1], torch.zeros(3, 4))
    assert scope["NearestAttention"]()(*(torch.ones(1, 2, 2).half(),) * 3).shape == (1, 2, 2)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_each_make_target_that_a_page_names_exists(page):
    text = (ROOT / page).read_text("utf-8")
    targets = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))

    assert "test" in targets
    assert all(re.search(rf"^{name}:", MAKEFILE, re.MULTILINE) for name in targets)


@pytest.mark.parametrize(("page", "most"), MOST_WORDS.items())
def test_what_is_read_before_the_code_is_short(page, most):
    assert len((ROOT / page).read_text("utf-8").split()) <= most


@pytest.mark.parametrize("page", ["attnbook/figures/README.md", *MOST_WORDS])
def test_each_link_to_a_file_leads_to_one(page):
    file = ROOT / page
    links = re.findall(r"\]\((?!https?:)([^)#]+)", file.read_text("utf-8"))

    assert [link for link in links if not (file.parent / link).exists()] == []
