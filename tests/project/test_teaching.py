"""The page for teachers and maintainers keeps its word: its figure is sound, its names exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from attnbook import figures
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
SCRIPTS = Path(sys.executable).parent  # a link to another Python stays one


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return package_with_the_figure(tmp_path_factory.mktemp("teaching"))


def run(package, *command, **options):
    """What a command says that finds the copied package before the installed one."""
    environment = os.environ | {"PYTHONPATH": str(package)}
    done = subprocess.run(
        command, cwd=package, env=environment, capture_output=True, text=True, check=False,
        **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_holds_the_files_of_a_figure_and_a_cell():
    names = "__init__.py", "figure.py", "figure.js", "style.css"
    files = [f"attnbook/figures/share/{name}" for name in names]
    assert [*blocks()] == [CALL, *files, "in a chapter"]
    assert TEXT.count("```{code-block}") == 6


MODULE = "--- module ---"
PROGRAM = f"""
print(figure)
figure.temperature = 0.5
print(figure)
for scores in (torch.ones(9), torch.ones(0), torch.tensor([1.0, torch.nan])):
    try:
        ShareFigure(scores)
    except ValueError as error:
        print(error)
print("{MODULE}")
print(ShareFigure._esm)
"""


@pytest.fixture(scope="module")
def output(package):
    """What the page's cell prints of its figure, of wrong scores, and the figure's module."""
    program = cell().replace("\nShareFigure(", "\nfigure = ShareFigure(") + PROGRAM
    return run(package, sys.executable, "-c", program)


def test_the_cell_prints_the_figures_numbers_and_refuses_what_its_docstring_names(output):
    action = "Drag `temperature` to 0.1: which key gets nearly all the weight?"
    assert output.partition(MODULE)[0].splitlines() == [
        action,
        "ShareFigure: temperature 1",
        "weights [0.090, 0.245, 0.665]",
        action,
        "ShareFigure: temperature 0.5",
        "weights [0.016, 0.117, 0.867]",
        "a figure shows at most 8 of keys, got 9; show a part of it",
        "a figure needs at least 1 of keys, got 0",
        "scores must be finite, got nan at index (1,)",
    ]


def test_it_lists_each_figure_and_where_it_is_shown():
    rows = re.findall(r"^\| \{py:class\}`~attnbook\.figures\.(\w+)` \|(.*?)\|", TEXT, re.MULTILINE)
    assert sorted(name for name, _ in rows) == figures.__all__
    for name, chapters in rows:
        files = re.findall(r"\(([a-z-]+\.ipynb)\)", chapters)
        assert files
        for file in files:
            assert f"{name}(" in (PAGE.parent / file).read_text("utf-8"), f"no {name} in {file}"


def test_the_prediction_that_it_shows_can_be_asked():
    scope = {}
    exec(prediction().replace("\nPrediction(", "\nasked = Prediction("), scope)  # noqa: S102 - our own page
    assert repr(scope["asked"]).splitlines()[1] == "right: first 0.269, second 0.731"


def test_its_module_computes_the_same_weights_in_node(package, output):
    (package / "share.mjs").write_text(output.partition(MODULE)[2], "utf-8")
    ask = (
        'import { sharesOf } from "./share.mjs";'
        "const state = { scores: [1, 2, 3], temperature: 0.5 };"
        "console.log(sharesOf({ get: (name) => state[name] }).map((w) => w.toFixed(3)).join());"
    )
    assert run(package, NODE, "--input-type=module", "-e", ask) == "0.016,0.117,0.867\n"


@pytest.mark.slow
def test_its_python_passes_the_projects_own_checks(package):
    config, file = ROOT / "pyproject.toml", "attnbook/figures/share/figure.py"
    if (known := ROOT / ".mypy_cache").exists():  # what mypy knows of torch it need not read again
        shutil.copytree(known, package / known.name)
    run(package, SCRIPTS / "ruff", "check", "--no-cache", "--config", config, file)
    run(package, SCRIPTS / "ruff", "format", "--check", "--config", config, file)
    run(package, SCRIPTS / "mypy", "--config-file", config, file)


@pytest.mark.slow
def test_its_javascript_passes_the_projects_own_checks_and_a_wrong_name_does_not(package):
    for name in ("jsconfig.json", "biome.jsonc"):
        shutil.copy(ROOT / name, package)
    checkers = ROOT / "tools" / "node_modules" / ".bin"
    types = [NODE, checkers / "tsc", "--project", "jsconfig.json"]
    run(package, *types)
    run(package, NODE, checkers / "biome", "check", "--error-on-warnings")

    figure = package / "attnbook" / "figures" / "share" / "figure.js"
    text = figure.read_text("utf-8")
    figure.write_text(text.replace('get("scores")', 'get("score")', 1), "utf-8")
    with pytest.raises(AssertionError, match="score"):
        run(package, *types)
    figure.write_text(text, "utf-8")


COMMAND = re.compile(r"`((?:make|python3?|pytest|pip|jupyter|\.venv/bin/[\w-]+) [^`]*)`")


def test_each_command_of_the_page_can_be_typed_in_a_fresh_checkout():
    commands = [found.split() for found in COMMAND.findall(TEXT)]
    assert len(commands) > 15
    for program, *words in commands:
        if program == "make":
            run(ROOT, "make", "--dry-run", *words)
        elif program.startswith(".venv/bin/"):
            assert (SCRIPTS / program.removeprefix(".venv/bin/")).exists(), program
            if words[0] == "-m":
                assert find_spec(words[1]), words
        else:  # what students install, in an environment of their own
            assert [program, *words] == ["pip", "install"]


@pytest.mark.slow
def test_the_chapter_and_the_figure_of_the_page_pass_the_checks_that_it_names(tmp_path):
    project = project_with_the_chapter(tmp_path)
    chapters = [sys.executable, "-m", "tools.book.notebooks"]
    run(project, *chapters, "execute", "your-topic")
    run(project, SCRIPTS / "ruff", "check", "--no-cache", "chapters")
    run(project, SCRIPTS / "ruff", "format", "--no-cache", "--check", "chapters")
    run(project, *chapters, "check")
    run(project, *chapters, "compare", "your-topic")
    run(project, SCRIPTS / "lint-imports", "--no-cache", "--no-logo")
    tests = ["tests/practice/test_chapters.py", "tests/core/test_shown_lines.py"]
    asked = "every_chapter or chapters_show or your-topic"
    run(project, sys.executable, "-m", "pytest", *tests, "-k", asked)


def test_each_file_that_the_page_names_exists():
    named = set(re.findall(r"`([\w./-]+\.(?:yml|md|cff|txt|py|ipynb|css|js))`", TEXT))
    folders = [ROOT, ROOT / "attnbook" / "figures"]
    missing = [n for n in named if not any((folder / n).exists() for folder in folders)]
    assert {*missing} <= {"chapters/your-topic.ipynb"}  # who follows the page has it


def test_the_names_that_a_fork_changes_stand_where_the_page_says():
    config = (ROOT / "_config.yml").read_text("utf-8")
    title = re.search(r"^title: (.*)$", config, re.MULTILINE)[1]
    assert f"\n        text: {title}\n" in config
    assert re.search(r"^author: .", config, re.MULTILINE)
    assert f'"# {title}\\n"' in (ROOT / "chapters" / "welcome.ipynb").read_text("utf-8")
    assert f"# {title}\n" in (ROOT / "README.md").read_text("utf-8")
    assert title in (ROOT / "CITATION.cff").read_text("utf-8")
