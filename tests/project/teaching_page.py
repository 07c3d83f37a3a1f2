"""The code that the page for teachers shows, taken from its text."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
from nbformat import v4

from tools import ROOT

PAGE = ROOT / "chapters" / "teaching.md"
CALL = "in CALLS of tests/core/test_shown_lines.py"
# What the checks of a chapter read, next to the package.
PROJECT = ["_toc.yml", "pyproject.toml", "chapters", "tests", "tools"]
BLOCK = re.compile(
    r"^```\{code-block\} \w+\n:caption: ([^\n]*)\n\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


def blocks() -> dict[str, str]:
    """Each block of code with a caption, by its caption."""
    return {match[1]: match[2] for match in BLOCK.finditer(PAGE.read_text("utf-8"))}


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
    (program,) = re.findall(r"^```python\n(.*?)\n```", PAGE.read_text("utf-8"), re.S | re.M)
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
