"""`make bench`: its command line, its stored rows, and exponents. No time is asserted."""

import json
import subprocess
from itertools import product
from pathlib import Path

import pytest
import torch

from tools import BUDGETS
from tools.bench import layers, measure, plot, results
from tools.bench.layers import KEEP_MEMORY, exponent, exponents

RACED = {"times as fast": [2.0, 3.0, 4.0], "seconds": 0.00123456, "bytes": 3 * 2**20}


def point(program, keys, seconds, axis="queries = keys", layer="additive"):
    return {
        "program": program, "axis": axis, "layer": layer, "batch": 4, "queries": keys,
        "keys": keys, "size": 64, "mode": "inference", "device": "cpu", "dtype": "float32",
        "seconds": seconds, "bytes": 4 * keys**2,
    }  # fmt: skip


def growth(layer="additive"):
    points = [point("ours", keys, keys**1.5, layer=layer) for keys in (64, 128, 256, 512)]
    points.append(point("ours", 256, 1.0, "keys", layer))
    return {"points": points, "exponents": exponents(points[:4])}


LAYER_ROW = {
    "case": {"layer": "dot"},
    "default": {"inference": {"ours": RACED, "flex": {"not measured": "no GPU"}}},
    "neutral": {"inference": {"ours": RACED}},
}


@pytest.fixture
def results_file(tmp_path, monkeypatch):
    """The file of results, in a folder of this test; the tools write nowhere else."""
    path = tmp_path / "_build" / "bench.json"
    monkeypatch.setattr(results, "machine", lambda: {"processor": "abacus"})
    store, read_results, publish = measure.store, measure.read_results, measure.publish
    monkeypatch.setattr(measure, "read_published", dict)
    monkeypatch.setattr(measure, "store", lambda name, row: store(name, row, path))
    monkeypatch.setattr(measure, "read_results", lambda: read_results(path))
    monkeypatch.setattr(measure, "plot", lambda rows: plot.plot(rows, tmp_path / "bench.png"))
    monkeypatch.setattr(
        measure, "publish", lambda: publish(tmp_path / "measured.json", read_results(path))
    )
    monkeypatch.setattr(measure, "ROWS", {"one": lambda _: {"ms": 1.5}, "two": lambda _: growth()})
    return path


def rows_in(path, processor="abacus"):
    return json.loads(path.read_text("utf-8"))["processors"][processor]


def test_without_a_name_every_row_is_measured_and_drawn_and_the_progress_is_shown(
    results_file, capsys
):
    measure.main([])
    assert rows_in(results_file)["one"] == {
        "machine": {"processor": "abacus"},
        "measured": {"ms": 1.5},
    }
    assert [*rows_in(results_file)] == ["one", "two"]
    assert results_file.parents[1].joinpath("bench.png").stat().st_size > 10_000
    output = capsys.readouterr()
    assert "one, on abacus: ms 1.50" in output.out
    first, second, *_ = output.err.splitlines()
    assert "0/2" in first
    assert first.endswith(" one")
    assert second.startswith("█" * 10 + "░" * 10 + " 1/2")


def test_an_interruption_while_writing_leaves_the_old_file_unchanged(results_file, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    measure.main(["one"])
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure.main(["two"])
    assert [*rows_in(results_file)] == ["one"]


def test_a_toy_row_refuses_programs_that_differ():
    wrong = {"textbook": lambda: torch.zeros(2), "ours": lambda: torch.ones(2)}
    with pytest.raises(AssertionError, match="compute different things"):
        measure.toy_row(wrong)


# Stored results, and those in the book


def store_growth():
    for row in results.GROWTH:
        measure.store(row, growth(row.removeprefix("growth-")))


def read_book_results(results_file):
    return json.loads((results_file.parents[1] / "measured.json").read_text("utf-8"))["processors"]


def test_the_book_gets_points_ratios_and_the_machine(results_file):
    store_growth()
    measure.store("dot-large", LAYER_ROW)
    measure.store("dot-large-half", {"not measured": "no GPU"})
    measure.main(["--store"])
    published = read_book_results(results_file)["abacus"]
    assert published["machine"]["processor"] == "abacus"
    assert [p["keys"] for p in published["points"]] == [64, 128, 256, 512] * 2
    assert published["points"][0] == {
        "layer": "additive", "program": "ours", "mode": "inference", "batch": 4, "queries": 64,
        "keys": 64, "size": 64, "seconds": 512.0, "bytes": 16400,
    }  # fmt: skip
    assert [*published["rows"]] == ["dot-large"]
    assert published["rows"]["dot-large"]["neutral"]["inference"] == {
        "ours": {"times as fast": [2.0, 3.0, 4.0], "bytes": 3150000}
    }
    assert "one" not in rows_in(results_file)  # nothing was measured for it


def test_the_results_of_one_processor_in_the_book_stay_when_another_adds_its_own(
    results_file, monkeypatch
):
    store_growth()
    measure.main(["--store"])
    before = read_book_results(results_file)
    results_file.unlink()  # another machine has no rows of this one
    monkeypatch.setattr(results, "machine", lambda: {"processor": "quipu"})
    measure.store("dot-large", LAYER_ROW)
    with pytest.raises(
        SystemExit, match="the book has nothing of quipu yet: measure growth-additive"
    ):
        measure.main(["--store"])
    assert read_book_results(results_file) == before
    store_growth()
    measure.main(["--store"])
    assert [*read_book_results(results_file)] == ["abacus", "quipu"]
    assert read_book_results(results_file)["abacus"] == before["abacus"]

    # A single row is added to those of its processor.
    results_file.unlink()
    measure.store("dot-medium", LAYER_ROW)
    measure.main(["--store"])
    here = read_book_results(results_file)["quipu"]
    assert [*here["rows"]] == ["dot-large", "dot-medium"]
    assert len(here["points"]) == 8
    assert here["rows"]["dot-large"] == results.round_numbers(results.ratios_of(LAYER_ROW))


def test_rows_of_the_book_are_printed_next_to_those_measured_here():
    book = {"quipu": {"rows": {"dot-large": results.ratios_of(LAYER_ROW)}}}
    here = {"abacus": {"dot-large": {"measured": LAYER_ROW}}}
    texts = results.side_by_side("dot-large", here, book)
    ours = "dot-large, neutral, inference, ours, on"
    assert f"{ours} abacus: 3.00 times as fast (2.00 to 4.00), 1.23 ms, 3.0 MiB" in texts
    assert f"{ours} quipu: 3.00 times as fast (2.00 to 4.00), 3.0 MiB" in texts
    assert results.side_by_side("dot-large", here, here | {"abacus": book["quipu"]}) == (
        results.side_by_side("dot-large", here, {})
    )


def test_the_stored_points_are_small_and_complete():
    text = results.MEASURED.read_text("utf-8")
    by_processor = json.loads(text)["processors"]
    assert len(text) < BUDGETS["kilobytes"]["measured"] * 1000 * len(by_processor)
    for processor, layer, mode in product(by_processor, ("additive", "dot"), layers.MODES):
        points = by_processor[processor]["points"]
        own = [p for p in points if (p["layer"], p["mode"]) == (layer, mode)]
        textbook = [p["keys"] for p in own if p["program"] == "textbook"]
        assert textbook == [*layers.TOGETHER]
        assert [p["keys"] for p in own if p["program"] == "ours"] == textbook
        assert by_processor[processor]["machine"]["processor"] == processor


def test_the_exponent_of_a_power_law_is_its_power():
    sizes = (128, 256, 512, 1024)
    assert exponent(sizes, [3.5 * size**1.2 for size in sizes]) == pytest.approx(1.2)


def test_each_mode_and_allocator_gets_a_new_process_with_one_thread(monkeypatch):
    workers = []

    def respond(command, env, **_):
        task = json.loads(command[-1])
        workers.append((task, env))
        results = {name: {**RACED, "rounds": 3, "resident bytes": 7} for name in task["programs"]}
        return subprocess.CompletedProcess(command, 0, "noise\n" + json.dumps(results), "")

    monkeypatch.setattr(layers.subprocess, "run", respond)
    monkeypatch.setattr(layers, "install_peers", lambda: None)
    monkeypatch.setattr(layers.platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.delenv("ATTNBOOK_DEVICE", raising=False)
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=3")
    row = layers.layer_row("additive-medium", lambda _: None)
    races = [
        (task["case"]["mode"], env.get("GLIBC_TUNABLES"))
        for task, env in workers
        if task["what"] == "race" and "ours" in task["programs"]
    ]
    modes = "inference", "training"
    assert races == [(mode, memory) for memory in (None, KEEP_MEMORY) for mode in modes]
    assert [*row] == ["case", "default", "neutral"]
    assert row["neutral"]["training"]["ours"]["times as fast"] == [2.0, 3.0, 4.0]
    assert all(env["OMP_NUM_THREADS"] == "1" for _, env in workers)
    assert all(task["rounds"] == [3, 7] for task, _ in workers)
