"""Each decimal in a chapter's text is printed by its code or is computed here."""

from __future__ import annotations

import math
import re
from functools import cache

import pytest
import torch

from tools import ROOT
from tools.book.notebooks import read

CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb"))
DECIMAL = re.compile(r"(?<![\d.\w])(\d+\.\d+)(?![\d.])")
NUMBER = re.compile(r"(?<![\d.])\d+(?:\.\d+)?(?!\d)")
PICTURE, TAG = re.compile(r"\.\./img/([\w-]+\.svg)"), re.compile("<[^>]*>")
NO_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)|https?://\S+")

E, TWO_PI = math.e, 2 * math.pi

# Numbers that are worked out in the text, each with its computation.
COMPUTED = {
    "attention-from-nothing": {
        "2.5": (2**2 + 1**2) / 2,
        "4.5": 3**2 / 2,
        "0.135": E**-2,
        "2.135": 2 + E**-2,
    },
    "attention-pooling": {"3.2": 0.32 * 10, "12.8": 0.64 * 20, "2.8": 0.04 * 70},
    "bahdanau-attention": {"7.6": 10 * math.tanh(1), "9.9": 10 * math.tanh(2.5)},
    "heads-that-copy": {"20.1": E**3, "26.1": E**3 + 6},
    "masked-softmax": {"6.25": 50 / 8, "3.4": torch.finfo(torch.float32).max / 1e38},
    "masks": {"2.7": E},
    "multi-head-attention": {"0.44": (1 + 5 / 3) / 6},
    "position": {"6.283": TWO_PI, "43.98": 7 * TWO_PI},
    "queries-keys-values": {"2.718": E, "0.0003": E**-8},
    "scaled-dot-product-attention": {"7.389": E**2, "54.6": E**4, "2.7": E},
    "scoring-functions": {
        "0.25": 1 / (1 + math.exp(1.1)),
        "0.73": 1 / (1 + math.exp(-1)),
        "0.75": 1 / (1 + math.exp(-1.1)),
        "3.6": math.log2(12),
        "7.4": E**2,
    },
}
# Numbers that nobody computes: an author chose them.
CHOSEN = {
    "attention-pooling": {"23.5"},  # an hour
    "bahdanau-attention": {"2.5"},  # where the tanh is taken
    "bug-clinic": {"5.9", "5.17"},  # versions of transformers: test_transformers.py
    "mask-table": {"2.13", "5.23"},  # versions of torch and transformers: test_mask_table.py
    "recipes": {"2.13", "3.13"},  # versions of torch (tests/masking/test_interop.py) and of Python
    "queries-keys-values": {"2.5"},  # a query
}


@cache
def decimals(chapter: str) -> tuple[tuple[str, str], ...]:
    """Each decimal of the chapter's Markdown, with the words around it."""
    cells = read(ROOT / "chapters" / f"{chapter}.ipynb").cells
    texts = [NO_PROSE.sub("", cell.source) for cell in cells if cell.cell_type == "markdown"]
    return tuple(
        (match[1], text[max(0, match.start() - 40) : match.end() + 20])
        for text in texts
        for match in DECIMAL.finditer(text)
    )


@cache
def printed(chapter: str) -> frozenset[float]:
    """Each number in the chapter's code, in what it prints, and in the pictures of `img/`."""
    texts = []
    for cell in read(ROOT / "chapters" / f"{chapter}.ipynb").cells:
        if cell.cell_type == "markdown":
            files = [ROOT / "img" / name for name in PICTURE.findall(cell.source)]
            texts += [TAG.sub(" ", file.read_text("utf-8")) for file in files]
        if cell.cell_type == "code":
            data = [output.get("data", {}) for output in cell.outputs]
            lines = [text for each in data for kind, text in each.items() if kind[:5] == "text/"]
            texts += [cell.source, *lines, *(output.get("text", "") for output in cell.outputs)]
    return frozenset(float(number) for text in texts for number in NUMBER.findall(text))


def rounds_to(number: float, text: str) -> bool:
    """Whether a number, or its percentage, is written so."""
    places = len(text.partition(".")[2])
    return float(text) in (round(number, places), round(100 * number, places))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_decimal_of_the_text_comes_from_a_cell_or_is_computed(chapter):
    computed, chosen = COMPUTED.get(chapter, {}), CHOSEN.get(chapter, set())
    unknown = [
        words
        for text, words in decimals(chapter)
        if not any(rounds_to(number, text) for number in printed(chapter))
        and not (text in computed and rounds_to(computed[text], text))
        and text not in chosen
    ]
    assert unknown == []
