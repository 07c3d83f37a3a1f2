"""The numbers and words of the cost figure that are made in the page, against Python's."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import WAYS, say_bytes, say_seconds
from tests.figures.attention.cases import traits
from tests.figures.cost.cases import exact, positions, set_all
from tests.figures.shared.node import in_node, with_fault, written

CLOSE = 1e-12
# Runs the figure's own module at every position of its controls. JSON in, JSON out.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, state, settings, bytes, seconds } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
const shown = settings.map((setting) => {
    const model = { get: (name) => ({ ...state, ...setting })[name] };
    const costs = figure.costsOf(model, figure.sizesOf(model));
    return { costs, sweep: figure.sweepOf(model), sentence: figure.sentence(model) };
});
process.stdout.write(JSON.stringify({
    names: Object.keys(figure), shown,
    bytes: bytes.map(figure.sayBytes), seconds: seconds.map(figure.saySeconds),
}));
"""
# Where words change, and halves that Python alone would round to the even digit.
BYTES = [1, 999, 1000, 1023, 1024, 1152, 1030.5, 1160, 2**20 - 1, 2**20, 2**30 - 1, 2**34, 2**53]
SECONDS = [0.000000999, 1e-6, 1.25e-4, 2.5e-4, 0.00099999, 0.001, 0.125, 0.999, 1, 1.25, 119.9]
SECONDS += [120, 150, 7199, 7200, 9000, 1e6]


def run(module: str, folder: Path, figure: CostFigure, settings: list[dict]) -> dict:
    task = {"state": traits(figure), "settings": settings, "bytes": BYTES, "seconds": SECONDS}
    return in_node(PROGRAM, written(module, folder), **task)


def of_python(figure: CostFigure) -> list[dict]:
    """What both ways cost at the sizes chosen."""
    return [
        {
            "counts": figure.operations(way),
            "operations": sum(figure.operations(way).values()),
            "bytes": figure.bytes(way),
            "seconds": figure.seconds(way),
        }
        for way in WAYS
    ]


def differ(page: list[dict], python: list[dict]) -> bool:
    """Whether any count is another, or any time farther off than rounding."""
    times = [[cost.pop("seconds") for cost in side] for side in (page, python)]
    close = all(math.isclose(a, b, rel_tol=CLOSE) for a, b in zip(*times, strict=True))
    return page != python or not close


def wrong(figure: CostFigure, settings: list[dict], shown: list[dict]) -> list[dict]:
    """The settings of the controls where the page differs from Python."""
    found = []
    for setting, page in zip(settings, shown, strict=True):
        set_all(figure, setting)
        if differ(page["costs"], of_python(figure)) or page["sentence"] not in repr(figure):
            found.append(setting)
    return found


@pytest.fixture(scope="module")
def figure():
    return CostFigure(exact())


@pytest.fixture(scope="module")
def answers(figure, tmp_path_factory):
    """What the shipped file says at all positions."""
    return run(str(CostFigure._esm), tmp_path_factory.mktemp("shipped"), figure, positions())


def test_every_number_and_the_sentence_equal_pythons_at_every_position(figure, answers):
    assert len(positions()) == 4 * (7 + 9 + 9 + 7) + 200
    assert wrong(figure, positions(), answers["shown"]) == []


def test_the_same_holds_for_the_points_that_are_stored(tmp_path):
    figure, settings = CostFigure(), positions()[::5]
    answers = run(str(CostFigure._esm), tmp_path, figure, settings)
    assert wrong(figure, settings, answers["shown"]) == []


def test_the_curves_are_pythons_at_as_many_queries_as_keys(figure, answers):
    for setting, page in list(zip(positions(), answers["shown"], strict=True))[::7]:
        set_all(figure, setting)
        for power, both in zip(range(4, 13), page["sweep"], strict=True):
            set_all(figure, {"num_queries": 2**power, "num_keys": 2**power})
            assert not differ(both, of_python(figure))


def test_page_and_python_say_numbers_alike(answers):
    assert answers["bytes"] == [say_bytes(number) for number in BYTES]
    assert answers["seconds"] == [say_seconds(number) for number in SECONDS]


def test_numbers_are_said_in_the_unit_that_suits_them(answers):
    told = dict(zip(BYTES, answers["bytes"], strict=True))
    assert [told[n] for n in (1, 1152, 2**20, 2**34)] == ["1 bytes", "1.13 KiB", "1 MiB", "16 GiB"]
    told = dict(zip(SECONDS, answers["seconds"], strict=True))
    assert [told[n] for n in (1.25e-4, 0.125, 1.25, 150, 9000)] == [
        *("130 µs", "130 ms", "1.3 s", "2.5 minutes", "2.5 hours"),
    ]


def test_the_module_hides_the_drawing_from_anywidget(answers):
    assert "render" not in answers["names"]


MUTANTS = {
    "the projections are left out": ("{ product: sides * size +", "{ product:"),
    "a tanh is counted once for a pair": ("tanh: units", "tanh: pairs"),
    "the softmax of ours divides nothing": ("division: units + pairs", "division: units"),
    "ours forgets to make blocks again": ('"multiply-add": 3 *', '"multiply-add": 2 *'),
    "the formula trains in two tensors": ("training ? 3 : 2", "training ? 2 : 2"),
    "a block is twice as large": ("const BLOCK = 2 ** 20", "const BLOCK = 2 ** 21"),
    "ours needs no room for its output": ("sides + output + work", "sides + work"),
    "ours never has whole weights": ("2 * pairs + output", "output"),
    "ours trains without them, too": ("3 * pairs)", "pairs)"),
    "ours keeps no scores": ("work + pairs, 2", "work, 2"),
    "ours always streams": ("pairs > Math.max(BLOCK, sides)", "pairs > 0"),
    "ours keeps one output": ("2 * output +", "output +"),
    "numbers have two bytes": ("const BYTES = 4", "const BYTES = 2"),
    "a product costs as much as the rest": ("product * counts.product", "other * counts.product"),
    "a call costs nothing": ("return call +", "return 0 +"),
    "keys are queries": (
        '"num_queries", "num_keys", "size"].map(',
        '"num_keys", "num_queries", "size"].map(',
    ),
    "gradients take no products": ("2 * counts.product +", "counts.product +"),
    "all laptops are large": ("LAPTOP = 16", "LAPTOP = 1024"),
    "slower is faster": ("second < first ?", "second > first ?"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, figure, mutant):
    shown = run(with_fault(CostFigure, MUTANTS[mutant]), tmp_path, figure, positions())["shown"]
    assert wrong(figure, positions(), shown)
