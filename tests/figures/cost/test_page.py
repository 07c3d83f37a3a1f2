"""The cost figure in a browser: at every setting it shows Python's numbers."""

from __future__ import annotations

import pytest

from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import PASSES, VALUES, format_bytes, format_count, format_ratio
from tests.figures.cost.cases import MAKERS, counts_of, set_all, settings_at_random
from tests.figures.shared.page import reading, slider
from tests.tools.site.site_checks import UNFOLD

READ = reading("""
    sizes: Object.fromEntries(all('input[type=range]').map(
        (input) => [input.ariaLabel, Number(input.ariaValueText.replaceAll(',', ''))])),
    numbers: texts('.pass b'),
    widths: all('.bar i').map((part) => part.style.width),
    table: bodies()[0],
    readout: figure.querySelector('.readout > span').textContent,
""")


@pytest.fixture(scope="module")
def show(stage):
    """A function that gives a figure as shown, with its controls unfolded, and its Python half."""
    first = stage({name: make() for name, make in MAKERS.items()})

    def show_both(name="Llama 3 8B"):
        view = first(name)
        view.tab.evaluate(UNFOLD)
        return view, MAKERS[name]()

    return show_both


def differences(found, python: CostFigure) -> list[str]:
    """The parts of the figure that differ from Python's."""
    passes = [python.count(name) for name in PASSES]
    products, sizes = (
        [[getattr(part, what) for part in (each.matrices, each.attention)] for each in passes]
        for what in ("products", "bytes")
    )
    widths = [
        part / max(map(sum, all_)) for all_ in (products, sizes) for one in all_ for part in one
    ]
    expected = {
        "sizes": {name: getattr(python, name) for name in VALUES},
        "numbers": [
            *(" + ".join(map(format_count, one)) for one in products),
            *(" + ".join(map(format_bytes, one)) for one in sizes),
            *(format_ratio(each.total.products_per_byte) for each in passes),
        ],
        "readout": repr(python).splitlines()[-1],
    }
    wrong = [name for name, value in expected.items() if found[name] != value]
    fractions = [float(width.removesuffix("%")) / 100 for width in found["widths"]]
    wrong += ["widths"] if fractions != pytest.approx(widths, abs=1e-4) else []
    rows = [row for row, true in zip(found["table"], counts_of(python), strict=True)
            if row != pytest.approx(true, rel=1e-12)]  # fmt: skip
    return wrong + ["table"] * bool(rows)


@pytest.mark.parametrize("trait", VALUES)
def test_at_the_ends_of_each_slider_it_shows_pythons_numbers(show, trait):
    view, python = show("small")
    for key, size in (("End", VALUES[trait][-1]), ("Home", VALUES[trait][0])):
        slider(view.figure, trait).press(key)
        heads = {"num_heads": python.num_heads, "num_kv_heads": python.num_kv_heads} | {trait: size}
        if trait == "num_heads":  # KV heads are never more than query heads
            heads["num_kv_heads"] = min(heads.values())
        if trait == "num_kv_heads":
            heads["num_heads"] = max(heads.values())
        set_all(python, {trait: size} | heads)
        assert differences(view.figure.evaluate(READ), python) == []


@pytest.mark.parametrize("case", ["Llama 3 8B", "small"])
def test_at_many_settings_it_shows_pythons_numbers(show, case):
    view, python = show(case)
    settings = settings_at_random(20)
    for setting, found in zip(settings, view.read_all(READ, settings), strict=True):
        assert differences(found, set_all(python, setting)) == [], setting


def test_both_numbers_of_heads_are_saved_at_once(show):
    view, _ = show()
    saves = view.saves()
    slider(view.figure, "num_heads").press("Home")
    assert view.saves() == saves + 1
    assert view.figure.evaluate(READ)["sizes"]["num_kv_heads"] == 1
