"""The translator figure's module, run in node; what comes in bulk goes through files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnbook.figures.translator.packing import packed
from tests.figures.shared.node import in_node, written

PROGRAM = """
import { readFileSync, writeFileSync } from "node:fs";
const task = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(task.module);
const model = figure.opened(JSON.parse(readFileSync(task.packed, "utf-8")));
const given = JSON.parse(readFileSync(task.given, "utf-8"));
const numbers = [], outputs = [];
for (const [text, hidden] of given) {
    const reading = figure.translated(model, text, hidden);
    outputs.push(reading.output.join(""));
    for (const row of [...reading.scores, ...reading.weights]) numbers.push(...row);
}
writeFileSync(task.answer, new Float64Array(numbers));
process.stdout.write(JSON.stringify({ outputs }));
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
    (folder / "packed.json").write_text(json.dumps(packed(name)), "utf-8")
    (folder / "given.json").write_text(json.dumps(given), "utf-8")
    paths = {key: str(folder / f"{key}.json") for key in ("packed", "given")}
    answer = folder / "answer.bin"
    said = in_node(PROGRAM, written(module, folder), answer=str(answer), **paths)
    numbers = torch.from_numpy(np.fromfile(answer, dtype="<f8"))
    sizes = [(len(out), len(text)) for out, (text, _) in zip(said["outputs"], given, strict=True)]
    parts = iter(numbers.split([rows * keys for rows, keys in sizes for _ in "ab"]))
    return [
        Written(output, next(parts).reshape(size), next(parts).reshape(size))
        for output, size in zip(said["outputs"], sizes, strict=True)
    ]


def words(module: str, folder: Path, **asked: Any) -> dict[str, Any]:
    """What the page's sentences are."""
    empty: dict[str, Any] = {key: [] for key in ("typed", "answers", "rows", "stored", "looked")}
    return in_node(WORDS, written(module, folder), **(empty | {"characters": "ab 1"} | asked))
