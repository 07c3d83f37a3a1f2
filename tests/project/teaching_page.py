"""What the page for teachers tells people to type, taken from its text word for word."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tools import ROOT

PAGE = ROOT / "chapters" / "teaching.md"
BLOCK = re.compile(
    r"^```\{code-block\} \w+\n:caption: ([^\n]*)\n\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


def blocks() -> dict[str, str]:
    """Each block of code that has a caption, by it."""
    return {found[1]: found[2] for found in BLOCK.finditer(PAGE.read_text("utf-8"))}


def cell() -> str:
    """What a chapter runs."""
    return blocks()["in a chapter"]


def package_with_the_figure(folder: Path) -> Path:
    """A copy of the package to which a reader has added the page's files."""
    shutil.copytree(
        ROOT / "attnbook", folder / "attnbook", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, text in blocks().items():
        if name.startswith("attnbook/"):
            assert not (folder / name).exists(), f"{name} is part of the package by now"
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, "utf-8")
    return folder
