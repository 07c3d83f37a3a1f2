"""The README: its code runs, its commands exist, and its links lead to files."""

from __future__ import annotations

import re
import runpy

import pytest
import torch

from tools import BUDGETS, ROOT
from tools.repository_address import COPIES

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

    assert [
        link for link in links if link not in ON_GITHUB and not (file.parent / link).exists()
    ] == []


# What GitHub makes of a README's relative links, for any owner: pages of the repository itself.
ON_GITHUB = {
    "../../deployments/github-pages": ("publish", "deploy", "name: github-pages"),
    f"../../tree/{COPIES}": ("publish", "copies", "tools.ci.deploy copies"),
}


@pytest.mark.parametrize("link", ON_GITHUB)
def test_a_link_to_a_page_of_the_repository_leads_to_what_a_workflow_makes(link):
    workflow, job, made = ON_GITHUB[link]
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8")
    assert made in text.partition(f"\n  {job}:\n")[2].partition("\n\n  ")[0]
    assert f"({link}" in README


def test_each_link_within_the_readme_leads_to_a_heading():
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#([^)]+)\)", README)
    assert links
    assert {*links} <= anchors


def test_the_first_screen_is_a_sentence_links_and_a_picture_with_a_text():
    title, sentence, links, picture, *_ = README.split("\n\n")
    assert title.startswith("# ")
    assert sentence.count(". ") == 0
    assert re.findall(r"\[([A-Z]\w+)", links) == ["Read", "Run", "Install"]
    assert re.fullmatch(r"\[!\[.{80,}\]\(img/first-screen\.png\)\]\(\S+\)", picture)


def test_the_table_of_what_was_seen_has_its_place():
    start, end = "\n<!-- seen -->\n", "\n<!-- /seen -->\n"
    assert README.index("## What you can rely on") < README.index(start) < README.index(end)
