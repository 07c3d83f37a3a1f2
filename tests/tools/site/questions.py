"""Counts the questions of built pages, and the answers that can be read before answering."""

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
RIGHT = re.compile(r"^right:", re.MULTILINE)  # in a prediction's stored text
STATE = re.compile(r'<script class="attnbook-state"[^>]*>(.*?)</script>', re.DOTALL)
NUMBER = re.compile(r"\d+\.")
# More than half of a page; without it a page is parsed in half the time.
UNREAD = re.compile(
    r'<svg\b.*?</svg>|<math\b.*?</math>|<div class="highlight">.*?</div>', re.DOTALL
)
ASKS = re.compile(r'data-attnbook-view|id="(?:practice|write-it|find-it|patient)|Predict\.')
SECTIONS = re.compile(r"^(write-it|find-it|patient-\d+)")


@dataclass
class Count:
    """The questions of one page."""

    predictions: int = 0
    hidden: int = 0
    seen: list[str] = field(default_factory=list)  # predictions whose answer is visible
    questions: int = 0
    unanswered: list[str] = field(default_factory=list)
    without_hint: list[str] = field(default_factory=list)


def count(html: str) -> Count:
    """Count on one page."""
    page, found = BeautifulSoup(UNREAD.sub("", html), "html.parser"), Count()
    for section in page.select("details.attnbook-section"):  # no answer, and closed by a script
        section.unwrap()
    figures = states(html)
    views = [
        view
        for view in page.find_all(attrs={"data-attnbook-view": True})
        if figures[view["data-attnbook-view"]]["kind"] == "prediction"
    ]
    for view in views:
        found.predictions += 1
        cell = view.find_parent(class_="cell")
        fold = cell.find_next_sibling() if cell else None
        found.hidden += bool(fold and "attnbook-hidden-answer" in fold.get("class", []))
        if not is_shut(fold) or RIGHT.search(view.get_text()) or cell.find(class_="cell_input"):
            found.seen.append(" ".join(view.get_text().split()))
    texts = page.find_all("strong", string="Predict.")
    asking = [text for text in texts if not text.find_parent("details")]
    if len(asking) > found.predictions:
        found.seen.append(f"{len(asking)} texts ask for {found.predictions} predictions")
    for question, parts in questions(page):
        found.questions += 1
        titles = [fold.summary.get_text().strip() for part in parts for fold in folds(part)]
        open_folds = [fold for part in parts for fold in folds(part) if fold.has_attr("open")]
        if open_folds or not any(title.startswith("Answer") for title in titles):
            found.unanswered.append(question)
        if "Hint" not in titles:
            found.without_hint.append(question)
    return found


def states(html: str) -> dict[str, Any]:
    """The states of a page's figures, by their names."""
    script = STATE.search(html)
    return dict(json.loads(script[1])) if script else {}


def questions(page: BeautifulSoup) -> Iterator[tuple[str, list[Tag]]]:
    """Each question of the practice, and the elements between it and the next one."""
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
    return part.name == "ol" or bool(strong and NUMBER.fullmatch(strong.get_text()))


def folds(part: Tag) -> list[Tag]:
    """The folds in a part of a page, or the part itself."""
    return [part] if part.name == "details" else part.find_all("details")


def is_shut(fold: Tag | None) -> bool:
    """Whether something is an answer's fold, and is not open."""
    return bool(fold and fold.name == "details" and not fold.has_attr("open"))


def words(part: Tag) -> str:
    """The beginning of a text."""
    return " ".join(part.get_text().split())[:60]


def counts(site: Path = SITE) -> dict[str, Count]:
    """Count on all pages of a site that ask anything."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(site.glob("chapters/*.html"))}
    return {name: count(html) for name, html in texts.items() if ASKS.search(html)}
