"""The lines of torch give what our layers give; no time is asserted."""

import pytest
import torch

from tools.bench import plain


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(plain, "SHAPES", ((2, 5, 16),))
    monkeypatch.setattr(plain, "LAYER", (6, 2, 4))
    monkeypatch.setattr(plain, "LENGTHS", (5,))
    monkeypatch.setattr(plain, "ROUNDS", 2)


def test_rows_have_a_ratio_for_each_way_to_call_a_layer():
    calls, steps = (row() for row in plain.rows().values())
    assert len(calls) == 3 * 2 * 2
    assert len(steps) == 2 * 2 * 2
    assert "5 tokens, keep_weights=True, ours takes times as long as plain torch" in steps


def test_a_program_that_computes_something_else_is_refused():
    programs = {"six lines": lambda: torch.ones(2), "ours": lambda: torch.zeros(2)}
    with pytest.raises(AssertionError, match=r"^ours computes something else"):
        plain.compare("here", programs)
