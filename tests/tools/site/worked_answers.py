"""Searches a site for the worked answers of the practice: their code and their prose."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from nbformat import NotebookNode

from tools import ROOT
from tools.book.notebooks import chapters, read

SHORTEST = 16  # letters and digits; anything shorter is in many texts
FOLD = re.compile(r":::\{dropdown\} Answer\n(.*?)\n:::", re.DOTALL)
MARKUP = re.compile(r"[`$*_{}\[\]<>|\\()\n]+")
ESCAPED = re.compile(r"\\+(?:n|u([0-9a-fA-F]{4}))")
TAG = re.compile(r"<[^>]*>")


def normalize(text: str) -> str:
    """Letters and digits only, whether the text is from a page, JSON or a program."""
    plain = ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", unescape(text))
    return re.sub(r"[\W_]+", "", plain).lower()


def pieces_of(text: str, *, code: bool) -> tuple[str, ...]:
    """The texts to search for: each line of code, or each run of words between two marks."""
    parts = text.splitlines() if code else MARKUP.split(text)
    found = (normalize(part) for part in parts)
    return (*(piece for piece in found if len(piece) >= SHORTEST), normalize(text))


def worked_cells(notebook: NotebookNode) -> set[int]:
    """The cells that answer, and are not part of a prediction's answer."""
    found, predicted = set(), False
    for number, cell in enumerate(notebook.cells):
        tags = cell.metadata.get("tags", [])
        if "answer" not in tags:
            predicted = "predict" in tags
        elif not predicted:
            found.add(number)
    return found


def answers_of(path: Path) -> tuple[list[tuple[str, ...]], str]:
    """The pieces of each answer of a chapter, and the rest of its text."""
    found, rest, notebook = [], [], read(path)
    worked = worked_cells(notebook)
    for number, cell in enumerate(notebook.cells):
        if number in worked:
            found.append(pieces_of(cell.source, code=cell.cell_type == "code"))
            continue
        found += [pieces_of(text, code=False) for text in FOLD.findall(cell.source)]
        rest += [FOLD.sub("", cell.source), *(str(output) for output in cell.get("outputs", []))]
    return found, "\n".join(rest)


def answers() -> list[tuple[str, ...]]:
    """Of each worked answer of the book, the pieces that are nowhere else in book or package."""
    read_chapters = [answers_of(path) for path in chapters()]
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "chapters").glob("*.md"))]
    package = [path.read_text("utf-8") for path in sorted((ROOT / "attnbook").rglob("*.py"))]
    public = "\n".join(map(normalize, [*(rest for _, rest in read_chapters), *pages, *package]))
    return [
        tuple(piece for piece in pieces if piece not in public)
        for found, _ in read_chapters
        for pieces in found
    ]


def find_answers(site: Path, searched: list[tuple[str, ...]]) -> list[str]:
    """The pieces of answers that can be read in the files of a site, with or without tags."""
    found = []
    for path in sorted(path for path in site.rglob("*") if path.is_file()):
        text = path.read_bytes().decode("utf-8", "ignore")
        text = f"{normalize(text)}\n{normalize(TAG.sub('', text))}"
        for pieces in searched:
            found += [f"{piece!r} in {path}" for piece in pieces if piece in text]
    return found
