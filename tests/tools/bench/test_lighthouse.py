"""The table of Lighthouse's reports; no score is asserted."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools.bench import lighthouse
from tools.bench.lighthouse import CATEGORIES, TIMES, run_lighthouse

REPORT = {
    "categories": {name: {"score": 0.5 + i / 10} for i, name in enumerate(CATEGORIES)},
    "audits": {name: {"numericValue": 10.0 * i} for i, name in enumerate(TIMES)},
}


@pytest.fixture
def program(tmp_path):
    """A function that writes a program which prints this text instead of Lighthouse."""

    def write(text: str) -> object:
        path = tmp_path / "lighthouse.mjs"
        path.write_text(f"console.log({json.dumps(text)})")
        return path

    return write


def test_a_report_becomes_four_scores_and_its_times(program):
    found = run_lighthouse(program(json.dumps(REPORT)), "chrome", "http://127.0.0.1/")
    assert [round(found[name]) for name in CATEGORIES] == [50, 60, 70, 80]
    assert [found[name] for name in TIMES.values()] == [0, 10, 20, 30]


@pytest.mark.parametrize(
    "text",
    [
        "no report",
        json.dumps(REPORT | {"categories": {}}),
        json.dumps({**REPORT, "categories": {name: {"score": None} for name in CATEGORIES}}),
    ],
)
def test_a_run_without_scores_is_no_result(program, text):
    with pytest.raises(RuntimeError, match=r"^Lighthouse gives no scores for http://x/: "):
        run_lighthouse(program(text), "chrome", "http://x/")


@pytest.mark.usefixtures("site")
def test_every_page_and_the_search_are_measured_in_each_round(monkeypatch):
    requested = []

    def fake(_program, _chrome, address):
        requested.append(address.partition("/chapters/")[2] or address.rpartition("/")[2])
        return dict.fromkeys([*CATEGORIES, *TIMES.values()], 100.0)

    monkeypatch.setattr(lighthouse, "require_book", lambda: None)
    monkeypatch.setattr(lighthouse, "fetch", lambda: "program")
    monkeypatch.setattr(lighthouse, "run_lighthouse", fake)
    # In a new thread, because a browser of other tests may run a loop in this one.
    with ThreadPoolExecutor(1) as pool:
        row = pool.submit(lighthouse.lighthouse_row, lambda _: None).result()
    assert requested[: len(requested) // 3] * 3 == requested
    assert {"welcome.html", "search.html"} <= {*requested}
    assert {"welcome", "search"} <= row["scores"].keys()
