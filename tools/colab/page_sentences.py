"""Sentences of chapters that speak of the page, and what a notebook says instead.

`page_sentences.json` has both forms of each, the first as the chapter's Markdown has it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

SENTENCES: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text("utf-8")
)
LINK = re.compile(r"\]\([^)]*\)")
# Words that make no sense outside of the page.
OF_THE_PAGE = re.compile(r"\*Run\*|\beditor\b|\bbrowser\b|\bthis page\b|⋯", re.IGNORECASE)


def pattern_of(sentence: str) -> re.Pattern[str]:
    """Finds a sentence wherever its links lead, or without them, and with any apostrophe."""
    parts = (
        re.escape(part).replace(r"\[", r"\[?").replace("'", "['’]") for part in LINK.split(sentence)
    )
    return re.compile(f"(?:{LINK.pattern})?".join(parts))


def in_notebook(text: str) -> str:
    """A text whose sentences about the page have their form for notebooks."""
    for forms in SENTENCES.values():
        text = pattern_of(forms["page"]).sub(lambda _: forms["notebook"], text)  # noqa: B023
    return text
