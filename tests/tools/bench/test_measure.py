"""`make bench`: its command line, its stored rows, and exponents. No time is asserted."""

import json
import subprocess
from pathlib import Path

import pytest
import torch

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


# Stored results, and the published ones


def read_published(results_file):
    return json.loads((results_file.parents[1] / "measured.json").read_text("utf-8"))["processors"]


def test_ratios_are_published_with_the_machine(results_file):
    measure.store("growth-additive", growth())
    measure.store("dot-large", LAYER_ROW)
    measure.store("dot-large-half", {"not measured": "no GPU"})
    measure.main(["--store"])
    published = read_published(results_file)["abacus"]
    assert published["machine"] == {"processor": "abacus", "threads": 1}
    assert [*published["rows"]] == ["dot-large"]
    assert published["rows"]["dot-large"]["neutral"]["inference"] == {
        "ours": {"times as fast": [2.0, 3.0, 4.0], "bytes": 3150000}
    }
    assert "one" not in rows_in(results_file)  # nothing was measured for it


def test_published_ratios_of_one_processor_stay_when_another_adds_its_own(
    results_file, monkeypatch
):
    measure.store("growth-additive", growth())  # it has no ratios
    with pytest.raises(SystemExit, match="nothing to publish yet: measure a row of layers first"):
        measure.main(["--store"])
    measure.store("dot-large", LAYER_ROW)
    measure.main(["--store"])
    before = read_published(results_file)
    results_file.unlink()  # another machine has no rows of this one
    monkeypatch.setattr(results, "machine", lambda: {"processor": "quipu"})
    measure.store("dot-large", LAYER_ROW)
    measure.main(["--store"])
    assert [*read_published(results_file)] == ["abacus", "quipu"]
    assert read_published(results_file)["abacus"] == before["abacus"]

    # A single row is added to those of its processor.
    results_file.unlink()
    measure.store("dot-medium", LAYER_ROW)
    measure.main(["--store"])
    here = read_published(results_file)["quipu"]
    assert [*here["rows"]] == ["dot-large", "dot-medium"]
    assert here["rows"]["dot-large"] == results.round_numbers(results.ratios_of(LAYER_ROW))


def test_published_rows_are_printed_next_to_those_measured_here():
    known = {"quipu": {"rows": {"dot-large": results.ratios_of(LAYER_ROW)}}}
    here = {"abacus": {"dot-large": {"measured": LAYER_ROW}}}
    texts = results.side_by_side("dot-large", here, known)
    ours = "dot-large, neutral, inference, ours, on"
    assert f"{ours} abacus: 3.00 times as fast (2.00 to 4.00), 1.23 ms, 3.0 MiB" in texts
    assert f"{ours} quipu: 3.00 times as fast (2.00 to 4.00), 3.0 MiB" in texts
    assert results.side_by_side("dot-large", here, here | {"abacus": known["quipu"]}) == (
        results.side_by_side("dot-large", here, {})
    )


def test_each_published_processor_has_rows_with_ratios_and_its_own_name():
    for processor, published in results.read_published().items():
        assert published["machine"]["processor"] == processor
        for name in published["rows"]:
            assert any(
                "times as fast" in text
                for text in results.side_by_side(name, {}, {processor: published})
            )


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
