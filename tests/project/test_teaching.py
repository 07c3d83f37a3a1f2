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

import nbformat
import pytest
import torch
from nbformat import v4

from attnbook import figures
from attnbook.figures.shared import base
from tools import ROOT
from tools.book.cells import EDITOR
from tools.site.assets.node import NODE

PAGE = ROOT / "chapters" / "teaching.md"
TEXT = PAGE.read_text("utf-8")
SCRIPTS = Path(sys.executable).parent  # not resolved: the Python may be a link
CHECKERS = ROOT / "tools" / "node_modules" / ".bin"
NOTEBOOKS = [sys.executable, "-m", "tools.book.notebooks"]
CALL = "in CALLS of tests/core/test_shown_lines.py"
# What the checks of a chapter read, next to the package.
PROJECT = ["_toc.yml", "pyproject.toml", "chapters", "tests", "tools"]
BLOCK = re.compile(
    r"^```\{code-block\} \w+\n:caption: ([^\n]*)\n\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


def blocks() -> dict[str, str]:
    """Each block of code with a caption, by its caption."""
    return {match[1]: match[2] for match in BLOCK.finditer(TEXT)}


def cell() -> str:
    """The cell for a chapter."""
    return blocks()["in a chapter"]


def package_with_the_figure(folder: Path) -> Path:
    """A copy of the package to which a reader has added the page's files."""
    ignored = shutil.ignore_patterns("__pycache__", "share")  # a fork may have it already
    shutil.copytree(ROOT / "attnbook", folder / "attnbook", ignore=ignored)
    for name, text in blocks().items():
        if name.startswith("attnbook/"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, "utf-8")
    return folder


def prediction() -> str:
    """The prediction on the page."""
    (program,) = re.findall(r"^```python\n(.*?)\n```", TEXT, re.S | re.M)
    return program


def chapter() -> nbformat.NotebookNode:
    """A chapter with the parts that the page lists: a prediction, a layer, a figure, practice."""
    practice = "**1.** Which is larger?\n\n:::{dropdown} Hint\nLook.\n:::"
    answer = ":::{dropdown} Answer\nThe second.\n:::"
    tagged = {tag: {"tags": [tag]} for tag in ("predict", "answer")}
    cells = [
        v4.new_markdown_cell("# Your topic\n\nWhich key gets more weight?\n\n**Predict.**"),
        v4.new_code_cell(prediction(), metadata=tagged["predict"]),
        v4.new_code_cell("print(masked_softmax(scores))", metadata=tagged["answer"]),
        v4.new_markdown_cell("## The layer"),
        v4.new_code_cell("from attnbook.display import show_source\n\nshow_source(masked_softmax)"),
        v4.new_code_cell(cell().strip().removeprefix("import torch\n")),
        v4.new_markdown_cell(f"## Practice\n\n{practice}\n\n{answer}\n\n## Summary\n\nThe end."),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def add_lines(file: Path, after: str, lines: str) -> None:
    """Add lines to a file, as the page says, after some other lines."""
    text = file.read_text("utf-8")
    assert text.count(after) == 1, f"{file.name} no longer has {after!r}"
    file.write_text(text.replace(after, after + lines), "utf-8")


def project_with_the_chapter(folder: Path) -> Path:
    """A copy of the project to which a teacher has added the page's figure and chapter."""
    package_with_the_figure(folder)
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".ipynb_checkpoints")
    for name in PROJECT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)
    nbformat.write(chapter(), folder / "chapters" / "your-topic.ipynb")
    entry = "      - file: chapters/your-topic\n"
    add_lines(folder / "_toc.yml", "- file: chapters/bug-clinic\n", entry)
    tests = folder / "tests" / "core" / "test_shown_lines.py"
    add_lines(tests, "\nCALLS = {\n", blocks()[CALL])
    add_lines(folder / "pyproject.toml", "| scaling | shape ", "| share ")
    return folder


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
    with pytest.raises(ValueError, match="a figure shows at most 8 of keys, got 9"):
        figure_module.ShareFigure(torch.ones(9))


def test_it_lists_each_figure_with_the_chapters_that_show_it():
    rows = re.findall(r"^\| \{py:class\}`~attnbook\.figures\.(\w+)` \|(.*?)\|", TEXT, re.MULTILINE)
    assert sorted(name for name, _ in rows) == figures.__all__
    for name, chapters in rows:
        files = re.findall(r"\(([a-z-]+\.ipynb)\)", chapters)
        assert files
        shown = f'"{EDITOR}"' if name == "CodeTask" else f"{name}("  # a page shows it for the tag
        for file in files:
            assert shown in (PAGE.parent / file).read_text("utf-8"), f"no {name} in {file}"
        showing = [f for f in PAGE.parent.glob("*.ipynb") if shown in f.read_text("utf-8")]
        assert "many others" in chapters or {*files} == {file.name for file in showing}


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


FIGURE = "attnbook/figures/share/figure"


@pytest.mark.weekly
def test_its_code_passes_the_linters_and_the_type_checkers_of_the_project(package):
    for name in ("pyproject.toml", "biome.jsonc"):
        shutil.copy(ROOT / name, package)
    run(package, SCRIPTS / "ruff", "check", "--no-cache", f"{FIGURE}.py")
    run(package, NODE, CHECKERS / "biome", "check", "--error-on-warnings", f"{FIGURE}.js")
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


@pytest.mark.weekly
def test_the_chapter_of_the_page_passes_the_linters_and_the_tests_that_it_names(tmp_path):
    project = project_with_the_chapter(tmp_path)
    run(project, SCRIPTS / "ruff", "check", "--no-cache", "chapters")
    run(project, SCRIPTS / "lint-imports", "--no-cache", "--no-logo")
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
