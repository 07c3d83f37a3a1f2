"""The cost figure's page counts and formats numbers like Python."""

from __future__ import annotations

import pytest

from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import format_bytes, format_count, format_ratio
from tests.figures.cost.cases import MAKERS, counts_of, set_all, settings_at_random, sizes_of
from tests.figures.shared.node import ask_module

COUNT = """
return all.map((sizes) => [
  [sizes.length, 1].flatMap((tokens) => {
    const { attention, matrices } = figure.countPass(sizes, tokens);
    return [matrices, attention].map(({ products, bytes }) => [products, bytes, products / bytes]);
  }),
  figure.cacheBytes(sizes),
]);
"""
FORMAT = """
return [figure.formatBytes, figure.formatCount, figure.formatRatio].map((f) => numbers.map(f));
"""
# Where units change, and halves that Python would round to the even digit.
NUMBERS = [0.5, 1.125, 99.95, 100, 100.5, 999, 1000, 1023, 1024, 1152, 2**20 - 1, 2**20, 1e6]
NUMBERS += [4101.6, 2**30 - 1, 999_999_999, 1e9, 2**34, 2**53, 1e15]


@pytest.mark.parametrize("name", MAKERS)
def test_the_page_counts_like_python(name):
    figures = [set_all(MAKERS[name](), setting) for setting in [{}, *settings_at_random()]]
    found = ask_module(CostFigure, COUNT, all=[sizes_of(figure) for figure in figures])
    for (counts, cache), figure in zip(found, figures, strict=True):
        for row, expected in zip(counts, counts_of(figure), strict=True):
            assert row == pytest.approx(expected, rel=1e-12)
        assert cache == figure.cache_bytes


def test_the_page_formats_numbers_like_python():
    found = ask_module(CostFigure, FORMAT, numbers=NUMBERS)
    formats = (format_bytes, format_count, format_ratio)
    assert found == [[each(number) for number in NUMBERS] for each in formats]


def test_numbers_have_suitable_units():
    sizes = [format_bytes(number) for number in (1, 1023, 1152, 2**34, 2**60)]
    assert sizes == ["1 bytes", "1,020 bytes", "1.13 KiB", "16 GiB", "1,050,000 TiB"]
    assert [format_count(n) for n in (999, 1500, 6.6e13)] == ["999", "1.5 thousand", "66 trillion"]
    assert [format_ratio(n) for n in (0.4996, 31.96, 4101.6)] == ["0.5", "32", "4,102"]
