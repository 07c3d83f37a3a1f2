"""A book of a few lines with the settings of the real one."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from nbformat import v4

from tools import ROOT
from tools.colab.write import Origin

REPOSITORY = "https://github.com/reader/attention-book"
SITE = "https://reader.github.io/attention-book/"
COLAB = "https://colab.research.google.com/github/reader/attention-book/blob/colab/chapters"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

PAGES = {
    "notation.md": "# Notation\n\n:::{glossary}\nquery\n  asks\n\nvalid length\n  counts\n\n"
    "Transformer\n  a model\n:::\n",
    "bibliography.md": "# Works\n\n```{bibliography}\n```\n",
    "api.md": "# Names\n\n```{py:module} attnbook\n```\n```{py:class} Attention\n```\n"
    "```{py:function} pool()\n```\n",
}


def notebook(*texts: str) -> str:
    """A chapter with these cells of text."""
    cells = [v4.new_markdown_cell(text, id=f"text-{i}") for i, text in enumerate(texts)]
    return nbformat.writes(v4.new_notebook(cells=cells))


def small_book(root: Path, chapters: dict[str, str], site: str = "") -> Origin:
    """Write a book of these chapters, the first one first, and pages to refer to."""
    shutil.copytree(ROOT / "img", root / "img")
    for name in ("_config.yml", "LICENSE", "requirements.txt"):
        shutil.copy(ROOT / name, root)
    folder = root / "chapters"
    folder.mkdir()
    shutil.copy(ROOT / "chapters" / "references.bib", folder)
    pages = {f"{name}.ipynb": text for name, text in chapters.items()} | PAGES
    for name, text in pages.items():
        (folder / name).write_text(text, "utf-8")
    first, *others = (f"chapters/{name.partition('.')[0]}" for name in pages)
    toc = [
        "format: jb-book",
        f"root: {first}",
        "chapters:",
        *(f"- file: {name}" for name in others),
    ]
    (root / "_toc.yml").write_text("\n".join(toc))
    return Origin(root, REPOSITORY, COMMIT, site)
