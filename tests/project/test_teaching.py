"""The page for teachers and maintainers: its figure works, and the names on it exist."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from attnbook import figures
from attnbook.figures.shared import base
from tests.project.teaching_page import (
    CALL,
    PAGE,
    blocks,
    cell,
    package_with_the_figure,
    prediction,
    project_with_the_chapter,
)
from tools import ROOT
from tools.site.formulas import NODE

TEXT = PAGE.read_text("utf-8")
SCRIPTS = Path(sys.executable).parent  # not resolved: the Python may be a link
CHECKERS = ROOT / "tools" / "node_modules" / ".bin"
NOTEBOOKS = [sys.executable, "-m", "tools.book.notebooks"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return package_with_the_figure(tmp_path_factory.mktemp("teaching"))


def run(package, *command, **options):
    """The output of a command that finds the copied package before the installed one."""
    environment = os.environ | {"PYTHONPATH": str(package)}
    done = subprocess.run(
        command, cwd=package, env=environment, capture_output=True, text=True, check=False,
        **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_shows_the_files_of_a_figure_and_a_cell():
    names = "__init__.py", "figure.py", "figure.js", "style.css"
    files = [f"attnbook/figures/share/{name}" for name in names]
    assert [*blocks()] == [CALL, *files, "in a chapter"]
    assert TEXT.count("```{code-block}") == 6


@pytest.fixture(scope="module")
def figure_module(package):
    """The page's figure, imported from the copied package."""
    folder = package / "attnbook" / "figures"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "FOLDER", folder)
        patch.setattr(figures, "__path__", [*figures.__path__, str(folder)])
        yield importlib.import_module("attnbook.figures.share.figure")
    for name in [name for name in sys.modules if name.startswith("attnbook.figures.share.")]:
        del sys.modules[name]


def test_the_cell_prints_the_figures_numbers_and_refuses_wrong_scores(figure_module):
    action = "Drag `temperature` to 0.1: which key gets nearly all the weight?"
    scope = {}
    exec(cell().replace("\nShareFigure(", "\nfigure = ShareFigure("), scope)  # noqa: S102 - our own page
    figure = scope["figure"]
    first = [action, "ShareFigure: temperature 1", "weights [0.090, 0.245, 0.665]"]
    assert repr(figure).splitlines() == first
    figure.temperature = 0.5
    assert repr(figure).splitlines()[2] == "weights [0.016, 0.117, 0.867]"
    for scores, message in (
        (torch.ones(9), "a figure shows at most 8 of keys, got 9; show a part of it"),
        (torch.ones(0), "a figure needs at least 1 of keys, got 0"),
        (torch.tensor([1.0, torch.nan]), r"scores must be finite, got nan at index \(1,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            figure_module.ShareFigure(scores)


def test_it_lists_each_figure_with_the_chapters_that_show_it():
    rows = re.findall(r"^\| \{py:class\}`~attnbook\.figures\.(\w+)` \|(.*?)\|", TEXT, re.MULTILINE)
    assert sorted(name for name, _ in rows) == figures.__all__
    for name, chapters in rows:
        files = re.findall(r"\(([a-z-]+\.ipynb)\)", chapters)
        assert files
        for file in files:
            assert f"{name}(" in (PAGE.parent / file).read_text("utf-8"), f"no {name} in {file}"


def test_the_prediction_on_the_page_works():
    scope = {}
    exec(prediction().replace("\nPrediction(", "\nprediction = Prediction("), scope)  # noqa: S102 - our own page
    assert repr(scope["prediction"]).splitlines()[1] == "right: first 0.269, second 0.731"


def test_its_module_computes_the_same_weights_in_node(package, figure_module):
    (package / "share.mjs").write_text(figure_module.ShareFigure._esm, "utf-8")
    ask = (
        'import { sharesOf } from "./share.mjs";'
        "const state = { scores: [1, 2, 3], temperature: 0.5 };"
        "console.log(sharesOf({ get: (name) => state[name] }).map((w) => w.toFixed(3)).join());"
    )
    assert run(package, NODE, "--input-type=module", "-e", ask) == "0.016,0.117,0.867\n"


def check_style(folder, *paths):
    run(folder, SCRIPTS / "ruff", "check", "--no-cache", *paths)
    run(folder, SCRIPTS / "ruff", "format", "--no-cache", "--check", *paths)


FIGURE = "attnbook/figures/share/figure"


@pytest.mark.slow
def test_its_code_passes_the_linters_of_the_project(package):
    for name in ("pyproject.toml", "biome.jsonc"):
        shutil.copy(ROOT / name, package)
    check_style(package, f"{FIGURE}.py")
    run(package, NODE, CHECKERS / "biome", "check", "--error-on-warnings", f"{FIGURE}.js")


@pytest.mark.weekly
def test_its_code_passes_the_type_checkers_of_the_project(package):
    run(package, SCRIPTS / "mypy", "--config-file", ROOT / "pyproject.toml", f"{FIGURE}.py")
    shutil.copy(ROOT / "jsconfig.json", package)
    run(package, NODE, CHECKERS / "tsc", "--project", "jsconfig.json")


COMMAND = re.compile(r"`((?:make|python3?|pytest|pip|jupyter|\.venv/bin/[\w-]+) [^`]*)`")


def test_each_command_of_the_page_can_be_typed_in_a_fresh_checkout():
    commands = [found.split() for found in COMMAND.findall(TEXT)]
    assert len(commands) > 15
    words_for_make = [word for program, *words in commands if program == "make" for word in words]
    run(ROOT, "make", "--dry-run", *words_for_make)
    for program, *words in commands:
        if program == "make":
            continue
        if program.startswith(".venv/bin/"):
            assert (SCRIPTS / program.removeprefix(".venv/bin/")).exists(), program
            if words[0] == "-m":
                assert find_spec(words[1]), words
        else:  # what students install in their own environment
            assert [program, *words] == ["pip", "install"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return project_with_the_chapter(tmp_path_factory.mktemp("project"))


@pytest.mark.weekly
def test_the_chapter_and_the_figure_of_the_page_pass_the_linters_that_it_names(project):
    check_style(project, "chapters")
    run(project, SCRIPTS / "lint-imports", "--no-cache", "--no-logo")


@pytest.mark.weekly
def test_the_chapter_of_the_page_passes_the_tests_that_it_names(project):
    run(project, *NOTEBOOKS, "execute", "your-topic")
    run(project, *NOTEBOOKS, "check")
    run(project, *NOTEBOOKS, "compare", "your-topic")
    tests = ["tests/practice/test_chapters.py", "tests/core/test_shown_lines.py"]
    selected = "every_chapter or chapters_show or your-topic"
    run(project, sys.executable, "-m", "pytest", *tests, "-k", selected)


def test_each_file_that_the_page_names_exists():
    names = set(re.findall(r"`([\w./-]+\.(?:yml|md|cff|txt|py|ipynb|css|js))`", TEXT))
    folders = [ROOT, ROOT / "attnbook" / "figures"]
    missing = [n for n in names if not any((folder / n).exists() for folder in folders)]
    assert {*missing} <= {"chapters/your-topic.ipynb"}  # the reader writes it


def test_the_names_that_a_fork_changes_are_where_the_page_says():
    config = (ROOT / "_config.yml").read_text("utf-8")
    title = re.search(r"^title: (.*)$", config, re.MULTILINE)[1]
    assert f"\n        text: {title}\n" in config
    assert re.search(r"^author: .", config, re.MULTILINE)
    assert f'"# {title}\\n"' in (ROOT / "chapters" / "welcome.ipynb").read_text("utf-8")
    assert f"# {title}\n" in (ROOT / "README.md").read_text("utf-8")
    assert title in (ROOT / "CITATION.cff").read_text("utf-8")
