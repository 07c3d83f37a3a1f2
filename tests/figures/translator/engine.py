"""The translator figure's module, run in node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from attnbook.figures.translator.packing import packed
from tests.figures.shared.node import in_bulk, in_node, written

PROGRAM = """
const model = figure.opened(task.packed);
const outputs = [];
for (const [text, hidden] of task.given) {
    const reading = figure.translated(model, text, hidden);
    outputs.push(reading.output.join(""));
    for (const row of [...reading.scores, ...reading.weights]) numbers.push(...row);
}
tell(outputs);
"""
WORDS = """
import { readFileSync } from "node:fs";
const task = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(task.module);
const reading = ([text, hidden, output]) => ({ text: [...text], hidden, output: [...output] });
process.stdout.write(JSON.stringify({
    names: Object.keys(figure),
    read: task.typed.map((text) => figure.textOf(text, task.characters)),
    refused: task.typed.map((text) => figure.refusal(text, task.characters)),
    verdicts: task.answers.map((given) => figure.verdict(reading(given), [...given[3]])),
    without: task.rows.map(([weights, hidden]) => figure.without(weights, hidden)),
    stored: task.stored.map((shown) => figure.readingOf(shown).weights),
    looked: task.looked.map(([given, step]) => figure.looked(
        { text: [...given.text], output: [...given.output], weights: given.weights }, step)),
}));
"""

Given = Sequence[tuple[str, Sequence[int]]]


class Written(NamedTuple):
    """What the page makes of one text without some characters."""

    output: str
    scores: Tensor
    weights: Tensor


def translated(module: str, folder: Path, name: str, given: Given) -> list[Written]:
    """The page's translations of texts, each with its hidden places."""
    outputs, numbers = in_bulk(PROGRAM, module, folder, packed=packed(name), given=given)
    sizes = [(len(out), len(text)) for out, (text, _) in zip(outputs, given, strict=True)]
    parts = iter(numbers.split([rows * keys for rows, keys in sizes for _ in "ab"]))
    return [
        Written(output, next(parts).reshape(size), next(parts).reshape(size))
        for output, size in zip(outputs, sizes, strict=True)
    ]


def words(module: str, folder: Path, **asked: Any) -> dict[str, Any]:
    """What the page's sentences are."""
    empty: dict[str, Any] = {key: [] for key in ("typed", "answers", "rows", "stored", "looked")}
    return in_node(WORDS, written(module, folder), **(empty | {"characters": "ab 1"} | asked))
