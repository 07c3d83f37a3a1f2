"""Searches a site for the worked answers of the practice: their code and their prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Answer:
    """One cell, or one fold, of a worked answer."""

    chapter: str
    text: str
    pieces: tuple[str, ...]  # its lines of code or runs of words, and all of it, normalized


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


def answers_of(path: Path) -> tuple[list[Answer], str]:
    """The answers of a chapter, and the rest of its text."""
    found, rest, notebook = [], [], read(path)
    worked = worked_cells(notebook)
    for number, cell in enumerate(notebook.cells):
        if number in worked:
            pieces = pieces_of(cell.source, code=cell.cell_type == "code")
            found.append(Answer(path.stem, cell.source, pieces))
            continue
        found += [
            Answer(path.stem, text, pieces_of(text, code=False))
            for text in FOLD.findall(cell.source)
        ]
        rest += [FOLD.sub("", cell.source), *(str(output) for output in cell.get("outputs", []))]
    return found, "\n".join(rest)


def answers() -> list[Answer]:
    """All worked answers of the book, by pieces that are nowhere else in book or package."""
    read_chapters = [answers_of(path) for path in chapters()]
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "chapters").glob("*.md"))]
    package = [path.read_text("utf-8") for path in sorted((ROOT / "attnbook").rglob("*.py"))]
    public = "\n".join(map(normalize, [*(rest for _, rest in read_chapters), *pages, *package]))
    return [
        Answer(a.chapter, a.text, tuple(piece for piece in a.pieces if piece not in public))
        for found, _ in read_chapters
        for a in found
    ]


def texts(site: Path) -> Iterator[tuple[Path, str]]:
    """Each file of a site as one text: as it is, and without tags."""
    for path in sorted(site.rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "ignore")
            yield path.relative_to(site), f"{normalize(text)}\n{normalize(TAG.sub('', text))}"


def find_answers(site: Path, searched: list[Answer]) -> dict[int, str]:
    """The answers, by number, that can be read in a site, each with a file that holds it."""
    found: dict[int, str] = {}
    for path, text in texts(site):
        for number, answer in enumerate(searched):
            if number not in found and (piece := next((p for p in answer.pieces if p in text), "")):
                found[number] = f"{answer.chapter}: {piece!r} in {path}"
    return found
