"""The measured cases and programs, and the check before a race. No time is asserted."""

import math
import sys

import pytest
import torch

from tests import oracle
from tools.bench import programs, worker
from tools.bench.cases import Case, Setting, lengths, textbook_dot
from tools.bench.programs import PROGRAMS, NotMeasurableError

SMALL = {
    "additive": Case("additive", batch=3, queries=5, keys=7, size=11),
    "dot": Case("dot", batch=3, queries=5, keys=7, size=11),
}
RUN_HERE = [
    ("additive", name)
    for name in ("textbook", "ours", "ours, weights kept", "textbook, kept keys", "ours, kept keys")
]
RUN_HERE += [
    ("dot", name)
    for name in ("textbook", "ours", "ours, weights kept", "sdpa", "multihead", "sdpa math")
]


def setting(layer, mode="inference"):
    case = SMALL[layer]
    return Setting(Case(layer, case.batch, case.queries, case.keys, case.size, mode))


def expected_output(example):
    """The output of the tests' oracle for a setting."""
    if example.case.layer == "dot":
        return oracle.dot_product_attention(*example.inputs)
    return oracle.additive_attention(example.layer.state_dict(), *example.inputs)


@pytest.mark.parametrize(("batch", "keys"), [(64, 1024), (4, 1024)])
def test_lengths_average_two_thirds_of_the_keys(batch, keys):
    lens = lengths(batch, keys)
    assert lens.double().mean().item() / keys == pytest.approx(0.66, abs=0.005)
    assert lens.max() == keys
    assert lens.tolist() == lengths(batch, keys).tolist()
    assert lens.tolist() != sorted(lens.tolist())


@pytest.mark.parametrize(("layer", "name"), RUN_HERE)
def test_each_program_computes_what_the_oracle_does(layer, name):
    example = setting(layer)
    with torch.no_grad():
        output = PROGRAMS[layer][name](example)(*example.inputs)
    torch.testing.assert_close(output.double(), expected_output(example), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("layer", "name"), RUN_HERE)
def test_each_program_has_the_gradients_of_the_formula_in_float64(layer, name):
    if "kept keys" in name:
        pytest.skip("keys are stored in inference only")
    example = setting(layer, "training")
    program = example.program(PROGRAMS[layer][name](example))
    worker.check(example, name, program)
    assert len(program()) == 1 + len(example.leaves)


def zero_hidden(queries, keys, values, _):
    return torch.softmax(queries @ keys.transpose(1, 2) / math.sqrt(11), dim=-1) @ values


def wrong_gradient(queries, keys, values, lens):
    return textbook_dot(queries.detach() * 0.5 + queries * 0.5, keys, values, lens)


@pytest.mark.parametrize(
    ("wrong", "mode", "what"),
    [
        (zero_hidden, "inference", "output"),
        (lambda *t: textbook_dot(*t) * 1.001, "inference", "output"),
        (lambda *t: textbook_dot(*t) * math.nan, "inference", "output"),
        (wrong_gradient, "training", "gradient of queries"),
    ],
)
def test_a_wrong_program_is_refused_before_it_is_timed(wrong, mode, what):
    example = setting("dot", mode)
    with pytest.raises(AssertionError, match=f"wrong: {what} differs from the formula in float64"):
        worker.check(example, "wrong", example.program(wrong))


@pytest.mark.parametrize("layer", ["additive", "dot"])
def test_our_layers_keep_weights_only_in_their_row(layer):
    example = setting(layer)
    layers = [PROGRAMS[layer][name](example) for name in ("ours", "ours, weights kept")]
    assert [each.keep_weights for each in layers] == [False, True]
    if layer == "additive":
        assert layers[0].W_q is layers[1].W_q is example.layer.W_q


def test_without_keras_its_program_is_not_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(NotMeasurableError, match="keras could not be installed"):
        PROGRAMS["additive"]["keras"](setting("additive"))


def test_a_backend_that_refuses_is_not_measured():
    with pytest.raises(NotMeasurableError, match="torch reports: "):
        PROGRAMS["dot"]["sdpa cudnn"](setting("dot"))


# Workers


LIMITS = {"rounds": [2, 2], "until": math.inf}


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    monkeypatch.setattr(worker, "LEAST_TIME", 0.001)


def task(**changes):
    case = {"layer": "additive", "batch": 2, "queries": 3, "keys": 5, "size": 7}
    programs = ["textbook", "ours", "tanh floor", "ours, kept keys"]
    return {"case": case, "programs": programs, "what": "race", **LIMITS} | changes


def test_a_worker_gives_time_memory_and_ratios_of_each_program():
    found = worker.measure(task())
    assert list(found)[:3] == ["textbook", "ours", "tanh floor"]
    assert found["textbook"]["times as fast"] == [1.0, 1.0, 1.0]
    assert set(found["ours"]) == {
        "times as fast",
        "times as fast as tanh floor",
        "seconds",
        "bytes",
        "rounds",
    }
    assert found["textbook"]["bytes"] >= 2 * 4 * 2 * 3 * 5 * 7  # sums, then their tanh
    assert found["tanh floor"]["bytes"] == 0


def test_a_race_makes_as_many_rounds_as_fit_and_reports_them():
    assert worker.affordable(2.0, 15.0, 3, 7) == 6  # one round counts calls
    assert worker.affordable(2.0, 100.0, 3, 7) == worker.affordable(2.0, math.inf, 3, 7) == 7
    assert worker.affordable(2.0, 1.0, 3, 7) == worker.affordable(2.0, -9.0, 3, 7) == 3
    found = worker.measure(task(rounds=[2, 4], until=0.0))
    assert {program["rounds"] for program in found.values()} == {2}


def test_a_worker_reports_why_a_program_was_not_measured(monkeypatch):
    def fail(_):
        raise NotMeasurableError("not installed")

    monkeypatch.setitem(programs.ADDITIVE, "keras", fail)
    found = worker.measure(task(programs=["textbook", "keras"]))
    assert found["keras"] == {"not measured": "not installed"}
    assert "seconds" in found["textbook"]
