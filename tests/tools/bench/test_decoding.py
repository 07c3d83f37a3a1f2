"""The rows about decoding compare programs that give the same. No time is asserted."""

import json
import subprocess

import pytest
import torch

from attnbook.costs.generation import ModelSizes, count_pass
from tools.bench import decoding, measure
from tools.bench.decoding import Stack, Step, Writer

SMALL = ModelSizes(2, 6, 2, 8, 10, 14, vocabulary=1)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(decoding, "MODEL", SMALL)
    monkeypatch.setattr(decoding, "CASES", ((3, 5),))
    monkeypatch.setattr(decoding, "CHUNK", 2)
    monkeypatch.setattr(decoding, "WRITTEN", 7)
    for name in ("ROUNDS", "TEXT_ROUNDS"):
        monkeypatch.setattr(decoding, name, 2)
    with torch.no_grad():
        yield


def test_a_step_is_repeated_from_the_same_place():
    stack, x = Stack(SMALL).eval(), torch.randn(3, 1, 10)
    for max_length in (None, 5 + decoding.STEPS):
        step = decoding.our_step(stack, x, decoding.keys_and_values(3, 5), max_length)
        first = step()
        assert not torch.allclose(step(), first)
        step.back(2)
        torch.testing.assert_close(step(), first)


def test_steps_are_taken_back_outside_of_the_measured_time(monkeypatch):
    clock, calls = iter(range(100)), []
    monkeypatch.setattr(decoding.time, "process_time", lambda: next(clock))
    step = Step(lambda: calls.append("run"), calls.append)
    assert decoding.step_seconds(step, decoding.STEPS + 3) == 2
    assert calls == ["run"] * decoding.STEPS + [decoding.STEPS] + ["run"] * 3 + [3]


def test_a_row_of_steps_has_each_program_and_ratios_with_quartiles():
    row = decoding.measure_steps()
    assert {"3 × 5, ours: µs", "3 × 5, memory: quartiles"} <= row.keys()
    assert sum("is times as fast as memory" in name for name in row) == 1


def test_a_program_that_computes_something_else_is_refused(monkeypatch):
    wrong = Step(lambda: torch.zeros(3, 1, 10), lambda _: None)
    monkeypatch.setattr(decoding, "their_steps", lambda *_: {"dynamic": wrong})
    with pytest.raises(AssertionError, match=r"^dynamic computes something else"):
        decoding.step_programs(3, 5)


def test_without_transformers_a_row_has_our_steps_only(monkeypatch, capsys):
    def fail(*_):
        raise ImportError

    monkeypatch.setattr(decoding, "their_steps", fail)
    assert [*decoding.step_programs(3, 5)] == ["ours", "ours, max_length", "memory"]
    assert "transformers could not be installed" in capsys.readouterr().err


def test_memory_moves_as_many_bytes_as_a_step_reads():
    counted = count_pass(SMALL, 5, batch=3, bytes_each=4).total.bytes
    assert 2 * decoding.memory(3, 5)().nbytes == pytest.approx(counted, abs=8)


def test_a_text_is_the_same_with_a_cache_and_without():
    writer, prompt = Writer().eval(), torch.randint(256, (2, 3))
    texts = [writer.write(prompt, cached=cached) for cached in (True, False)]
    assert torch.equal(*texts)
    assert texts[0].shape == (2, 10)
    assert {"cached: ms", "cached is times as fast", "quartiles"} <= decoding.measure_texts().keys()


def test_a_row_runs_in_a_process_of_its_own_with_one_thread(monkeypatch):
    def respond(command, env, **_):
        assert command[-2:] == ["tools.bench.decoding", "generation"]
        assert env["OMP_NUM_THREADS"] == "1"
        return subprocess.CompletedProcess(command, code, 'noise\n{"ms": 1.5}', "no memory")

    monkeypatch.setattr(decoding.layers, "install_peers", lambda: None)
    monkeypatch.setattr(decoding.subprocess, "run", respond)
    code = 0
    assert measure.ROWS["generation"](print) == json.loads('{"ms": 1.5}')
    code = 1
    with pytest.raises(RuntimeError, match=r"^generation could not be measured:\nno memory"):
        measure.ROWS["generation"](print)
