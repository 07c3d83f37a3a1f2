"""How the cost figure's page formats numbers; a browser reads what it computes."""

from __future__ import annotations

from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import format_bytes, format_seconds
from tests.figures.shared.node import ask_module

PROGRAM = """
return [bytes.map(figure.formatBytes), seconds.map(figure.formatSeconds)];
"""
# Where units change, and halves that Python would round to the even digit.
BYTES = [1, 999, 1000, 1023, 1024, 1152, 1030.5, 1160, 2**20 - 1, 2**20, 2**30 - 1, 2**34, 2**53]
SECONDS = [0.000000999, 1e-6, 1.25e-4, 2.5e-4, 0.00099999, 0.001, 0.125, 0.999, 1, 1.25, 119.9]
SECONDS += [120, 150, 7199, 7200, 9000, 1e6]


def test_the_page_formats_numbers_like_python():
    sizes, times = ask_module(CostFigure, PROGRAM, bytes=BYTES, seconds=SECONDS)
    assert sizes == [format_bytes(number) for number in BYTES]
    assert times == [format_seconds(number) for number in SECONDS]


def test_numbers_have_suitable_units():
    sizes = [format_bytes(number) for number in (1, 1152, 2**20, 2**34)]
    assert sizes == ["1 bytes", "1.13 KiB", "1 MiB", "16 GiB"]
    times = [format_seconds(number) for number in (1.25e-4, 0.125, 1.25, 150, 9000)]
    assert times == ["130 µs", "130 ms", "1.3 s", "2.5 minutes", "2.5 hours"]
