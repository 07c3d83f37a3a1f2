"""Counts, on the built pages, what is asked and what can be read without having answered.

python -m tests.tools.site.questions
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

from tools import ROOT

SITE = ROOT / "_build" / "html"
TOLD = re.compile(r"^right:", re.MULTILINE)  # as a prediction's stored text has it
ASKED = re.compile(r"\d+\.")
SECTIONS = re.compile(r"^(write-it|find-it|patient-\d+)")


@dataclass
class Count:
    """What one page asks."""

    predictions: int = 0
    hidden: int = 0
    seen: list[str] = field(default_factory=list)  # predictions whose answer stands open
    questions: int = 0
    unanswered: list[str] = field(default_factory=list)
    without_hint: list[str] = field(default_factory=list)


def count(html: str) -> Count:
    """Count on one page."""
    page, found = BeautifulSoup(html, "html.parser"), Count()
    views = predictions(page)
    for view in views:
        found.predictions += 1
        cell = view.find_parent(class_="cell")
        fold = cell.find_next_sibling() if cell else None
        found.hidden += bool(fold and "attnbook-hidden-answer" in fold.get("class", []))
        if not is_shut(fold) or TOLD.search(view.get_text()) or cell.find(class_="cell_input"):
            found.seen.append(" ".join(view.get_text().split()))
    found.seen += [words(part) for part in promises(page, views)]
    for asked, parts in questions(page):
        found.questions += 1
        titles = [fold.summary.get_text().strip() for part in parts for fold in folds(part)]
        open_folds = [fold for part in parts for fold in folds(part) if fold.has_attr("open")]
        if open_folds or not any(title.startswith("Answer") for title in titles):
            found.unanswered.append(asked)
        if "Hint" not in titles:
            found.without_hint.append(asked)
    return found


def states(html: str) -> dict[str, Any]:
    """What the figures of a page are made from, by their places."""
    return states_on(BeautifulSoup(html, "html.parser"))


def states_on(page: BeautifulSoup) -> dict[str, Any]:
    """The same of a page that has been read."""
    script = page.find("script", class_="attnbook-state")
    return dict(json.loads(script.string)) if script else {}


def predictions(page: BeautifulSoup) -> list[Tag]:
    """The places of a page's predictions."""
    known = states_on(page)
    return [
        view
        for view in page.find_all(attrs={"data-attnbook-view": True})
        if known[view["data-attnbook-view"]]["kind"] == "prediction"
    ]


def promises(page: BeautifulSoup, views: list[Tag]) -> Iterator[Tag]:
    """The paragraphs that ask for a prediction, and no prediction comes before the next one."""
    places = {id(view.find_parent(class_="cell")) for view in views}
    for strong in page.find_all("strong", string="Predict."):
        paragraph = strong.find_parent("p")
        if paragraph is None or paragraph.find_parent("details"):
            continue
        for after in paragraph.find_next_siblings():
            if id(after) in places:
                break
            if after.name in ("section", "details") or after.find("strong", string="Predict."):
                yield paragraph
                break
        else:
            yield paragraph


def questions(page: BeautifulSoup) -> Iterator[tuple[str, list[Tag]]]:
    """Each question of the practice, and what stands between it and the next one."""
    for practice in page.find_all("section", id=re.compile("^practice")):
        parts = [part for part in practice.children if isinstance(part, Tag)]
        starts = [i for i, part in enumerate(parts) if is_question(part)]
        for start, end in zip(starts, [*starts[1:], len(parts)], strict=True):
            yield words(parts[start]), parts[start + 1 : end]
    for section in page.find_all("section", id=SECTIONS):
        yield section["id"], [section]


def is_question(part: Tag) -> bool:
    """Whether a paragraph begins with its bold number; a list would hide one from its fold."""
    strong = part.find("strong") if part.name == "p" else None
    return part.name == "ol" or bool(strong and ASKED.fullmatch(strong.get_text()))


def folds(part: Tag) -> list[Tag]:
    """The folds that a part of a page is or holds."""
    return [part] if part.name == "details" else part.find_all("details")


def is_shut(fold: Tag | None) -> bool:
    """Whether something is an answer's fold, and is not open."""
    return bool(fold and fold.name == "details" and not fold.has_attr("open"))


def words(part: Tag) -> str:
    """The beginning of a text."""
    return " ".join(part.get_text().split())[:60]


def counts(site: Path = SITE) -> dict[str, Count]:
    """Count on all pages of a site."""
    return {
        path.stem: count(path.read_text("utf-8")) for path in sorted(site.glob("chapters/*.html"))
    }


def report(found: dict[str, Count]) -> str:
    """The table, with all that is open or unanswered below its page."""
    row = "{:30}{:>12}{:>7}{:>6}{:>11}{:>12}{:>10}".format
    lines = [row("", "predictions", "hidden", "seen", "questions", "unanswered", "no hint")]
    for name, it in found.items():
        if it.predictions or it.questions:
            lists = (len(it.seen), it.questions, len(it.unanswered), len(it.without_hint))
            lines.append(row(name, it.predictions, it.hidden, *lists))
            lines += [f"    {each}" for each in [*it.seen, *it.unanswered, *it.without_hint]]
    asked = [
        sum(n) for n in zip(*((it.predictions, it.questions) for it in found.values()), strict=True)
    ]
    wrong = sum(len(it.seen + it.unanswered) for it in found.values())
    lines.append(f"{asked[0]} predictions, {asked[1]} questions: {wrong} open or unanswered.")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(counts()))  # noqa: T201 - what a command is for
