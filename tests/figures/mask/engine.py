"""The mask figure's module, run in node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attnbook.figures.mask.figure import LIBRARIES
from tests.figures.shared.node import in_node, written

# Runs the figure's own module. JSON in, JSON out.
PROGRAM = """
import { readFileSync } from "node:fs";
const task = JSON.parse(readFileSync(0, "utf-8"));
const { module, settings, libraries, judged, texts, answers, programs } = task;
const figure = await import(module);
const shown = settings.map(({ rules, own }) => {
    const mine = own && { ...own, vectorized: figure.isVectorized(own.text) };
    const mask = figure.joined(figure.visibleOf(rules), own && own.table);
    return {
        mask,
        counted: figure.counted(mask),
        emptied: figure.emptied(rules, mask),
        snippets: libraries.map((library) => figure.snippet(library, rules, mine)),
    };
});
process.stdout.write(JSON.stringify({
    shown,
    judged: judged.map(({ mask, rules }) => figure.judged(mask, rules)),
    named: judged.map(({ mask, rules }) => figure.nameOf(rules, mask)),
    vectorized: texts.map(figure.isVectorized),
    tables: answers.map(({ text, rules, answer }) => figure.tableFrom(text, rules, answer)),
    programs: programs.map(({ text, rules }) => figure.programOf(text, rules)),
    mistakes: settings.map(({ rules }) => figure.commonMistakes(rules)),
    resized: settings.map(({ rules }) =>
        [1, 2, 5, 13].map((num_keys) => figure.resized(rules, { num_keys }))),
}));
"""


def run(module: str, folder: Path, **asked: Any) -> dict[str, Any]:
    task = {"settings": [], "judged": [], "texts": [], "answers": [], "programs": []} | asked
    return in_node(PROGRAM, written(module, folder), libraries=LIBRARIES, **task)
