"""The heads figure's module, run in node; what it reads and writes in bulk goes through files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnbook.figures.heads.packing import packed
from tests.figures.shared.node import in_node, written

PROGRAM = """
import { readFileSync, writeFileSync } from "node:fs";
const task = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(task.module);
const engine = figure.opened(JSON.parse(readFileSync(task.packed, "utf-8")));
const model = engine.at(task.step);
const numbers = [], guesses = [];
for (const removed of task.removals) for (const text of task.texts) {
    const reading = figure.follow(model, text, removed);
    guesses.push(reading.guesses);
    for (const head of reading.heads.flat()) for (const row of head.weights) numbers.push(...row);
    numbers.push(...reading.chances);
}
writeFileSync(task.answer, new Float64Array(numbers));
process.stdout.write(JSON.stringify(guesses));
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
    (folder / "packed.json").write_text(json.dumps(packed(name)), "utf-8")
    task = {"packed": str(folder / "packed.json"), "answer": str(folder / "answer.bin")}
    guesses = in_node(
        PROGRAM, written(module, folder), step=step, texts=texts, removals=removals, **task
    )
    numbers = torch.from_numpy(np.fromfile(folder / "answer.bin", dtype="<f8"))
    heads = packed(name)["num_layers"] * packed(name)["num_heads"]
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
