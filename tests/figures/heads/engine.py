"""The heads figure's module, run in node."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from attnbook.figures.heads.packing import packed
from tests.figures.shared.node import in_bulk, in_node, written

PROGRAM = """
const model = figure.opened(task.packed).at(task.step);
const guesses = [];
for (const removed of task.removals) for (const text of task.texts) {
    const reading = figure.follow(model, text, removed);
    guesses.push(reading.guesses);
    for (const head of reading.heads.flat()) for (const row of head.weights) numbers.push(...row);
    numbers.push(...reading.chances);
}
tell(guesses);
"""
WORDS = """
import { readFileSync } from "node:fs";
const task = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(task.module);
process.stdout.write(JSON.stringify({
    names: Object.keys(figure),
    refused: task.typed.map((text) => figure.refusal(text, "abcdefghijklmnop")),
    warned: task.typed.map((text) => figure.warning(text, 24)),
    foreseen: task.texts.map(figure.foreseen),
    counted: task.counts.map((given) => figure.counted(...given)),
    verdicts: task.counts.map(([text, guesses]) => Array.from(
        text, (_, i) => figure.verdictOn({ text, guesses }, i))),
    read: task.typed.map(figure.symbolsOf),
    sinusoids: task.positions.map((position) => figure.sinusoidal(position, task.size)),
}));
"""


class Read(NamedTuple):
    """What the page makes of one text without some heads."""

    guesses: str
    weights: list[Tensor]  # of each head, all layers: rows as long as the keys they see
    chances: Tensor


def follow(
    module: str, folder: Path, name: str, step: int, texts: list[str], removals: list[Any]
) -> list[Read]:
    """The page's readings, for each removal all texts."""
    model = packed(name)
    task = {"packed": model, "step": step, "texts": texts, "removals": removals}
    guesses, numbers = in_bulk(PROGRAM, module, folder, **task)
    heads = model["num_layers"] * model["num_heads"]
    readings, at = [], 0
    for guessed in guesses:
        n = len(guessed)
        pairs = n * (n + 1) // 2
        parts = numbers[at : at + heads * pairs + n]
        *weights, _ = parts.split([pairs] * heads + [n])
        readings.append(Read(guessed, weights, parts[-n:]))
        at += len(parts)
    assert at == len(numbers)
    return readings


def words(module: str, folder: Path, **asked: Any) -> dict[str, Any]:
    """What the page's sentences are."""
    task = {"typed": [], "texts": [], "counts": [], "positions": [], "size": 2} | asked
    return in_node(WORDS, written(module, folder), **task)
