"""The rows about decoding compare programs that give the same. No time is asserted."""

import pytest
import torch

from attnbook.costs.generation import ModelSizes
from tools.bench import decoding
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


def test_a_row_of_steps_has_each_program_and_ratios_with_quartiles():
    row = decoding.measure_steps()
    assert {"3 × 5, ours: µs", "3 × 5, memory: quartiles"} <= row.keys()
    assert sum("is times as fast as memory" in name for name in row) == 1


def test_a_program_that_computes_something_else_is_refused(monkeypatch):
    wrong = Step(lambda: torch.zeros(3, 1, 10), lambda _: None)
    monkeypatch.setattr(decoding, "their_steps", lambda *_: {"dynamic": wrong})
    with pytest.raises(AssertionError, match=r"^dynamic computes something else"):
        decoding.step_programs(3, 5)


def test_a_text_is_the_same_with_a_cache_and_without():
    writer, prompt = Writer().eval(), torch.randint(256, (2, 3))
    texts = [writer.write(prompt, cached=cached) for cached in (True, False)]
    assert torch.equal(*texts)
    assert texts[0].shape == (2, 10)
    assert {"cached: ms", "cached is times as fast", "quartiles"} <= decoding.measure_texts().keys()
