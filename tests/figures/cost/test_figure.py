"""The cost figure's Python half: its refusals, its traits and its text."""

from __future__ import annotations

import pytest

from attnbook.costs.counting import operations, peak_bytes
from attnbook.costs.predicting import measured
from attnbook.figures import CostFigure
from tests.figures.cost.cases import exact, make_settings, set_all


@pytest.fixture(scope="module")
def figure():
    return CostFigure(exact())


def test_it_starts_at_sizes_that_were_measured():
    figure = CostFigure()
    own = [p for p in measured().points if p.layer == "additive" and p.mode == "inference"]
    assert figure.sizes in {point.sizes for point in own}
    assert figure.machine == measured().machine


def test_it_counts_like_the_costs_module_at_every_setting(figure):
    for setting in make_settings()[::3]:
        set_all(figure, setting)
        for way in ("formula", "ours"):
            arguments = (setting["layer"], way, figure.sizes, setting["mode"])
            assert figure.operations(way) == operations(*arguments)
            assert figure.bytes(way) == peak_bytes(*arguments)


def test_every_point_has_its_sizes_seconds_and_bytes(figure):
    for point in exact().points:
        name = f"{point.layer} {point.way} {point.mode}"
        assert [*point.sizes, point.seconds, point.bytes] in figure.points[name]
    assert sum(map(len, figure.points.values())) == len(exact().points)


def test_the_text_equals_one_by_hand():
    figure = CostFigure(exact(), batch=16, size=256)
    assert repr(figure) == (
        "CostFigure: additive attention, inference\n"
        "16 × 256 × 256 pairs × 256 hidden units: the formula needs 2.01 GiB, ours 20 MiB: "
        "100 times less. Predicted time 1.1 s, ours 1.1 s: just as fast.\n"
        "the formula: 1,612,709,888 operations, 2,155,872,256 bytes, 1.1 s\n"
        "ours: 1,614,807,040 operations, 20,971,520 bytes, 1.1 s"
    )


def test_more_memory_than_a_laptop_has_is_reported():
    figure = CostFigure(exact(), queries=4096, keys=4096, size=64)
    need = "the formula needs 32 GiB (more than most laptops have), ours 20 MiB: 1600 times less"
    assert need in repr(figure)
    figure.size = 32  # 16 GiB, and the projections
    assert "16 GiB (more than most laptops have)" in repr(figure)
    figure.num_queries = 2048
    assert "laptops" not in repr(figure)
