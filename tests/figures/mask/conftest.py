"""The mask figure's module, run in node."""

from __future__ import annotations

import pytest

from attnbook.figures import MaskFigure
from attnbook.figures.mask.figure import LIBRARIES
from tests.figures.mask.cases import all_settings
from tests.figures.shared.node import ask_module

PROGRAM = """
const results = settings.map(({ rules, own }) => {
    const ownRule = own && { ...own, vectorized: figure.isVectorized(own.text) };
    const mask = figure.intersection(figure.visibleOf(rules), own && own.table);
    return {
        mask,
        positions: figure.positionsOf(rules),
        counts: figure.describeCounts(mask),
        emptyRows: figure.describeEmptyRows(rules, mask),
        pairs: mask.map((row, i) => [null, ...row.keys()].map((key) => figure.describePair(
            rules, own && own.table, { query: i + rules.num_keys - rules.num_queries, key }))),
        snippets: libraries.map((library) => figure.snippet(library, rules, ownRule)),
        resized: [1, 2, 5, 13].map((num_keys) => figure.resizeRules(rules, { num_keys })),
    };
});
return {
    results,
    verdicts: compared.map(({ traits, mask, other }) => figure.compareMasks(
        { get: (name) => traits[name] }, mask, other)),
    written: written.map((traits) => figure.describeOwnRule({ get: (name) => traits[name] })),
    names: masks.map(({ mask, rules }) => figure.nameOf(rules, mask)),
    vectorized: texts.map(figure.isVectorized),
    tables: answers.map(({ text, rules, answer }) => figure.tableFrom(text, rules, answer)),
    programs: programs.map(({ text, rules }) => figure.programOf(text, rules)),
};
"""
NOTHING = {
    "settings": [],
    "masks": [],
    "compared": [],
    "written": [],
    "texts": [],
    "answers": [],
    "programs": [],
}


@pytest.fixture(scope="session")
def run_module():
    """A function that runs the shipped module with these inputs."""
    return lambda **inputs: ask_module(MaskFigure, PROGRAM, libraries=LIBRARIES, **NOTHING | inputs)


@pytest.fixture(scope="session")
def settings():
    return all_settings()


@pytest.fixture(scope="session")
def results(run_module, settings):
    """What the page shows for each setting."""
    return run_module(settings=settings)["results"]
