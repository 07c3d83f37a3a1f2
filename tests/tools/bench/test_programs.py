"""The measured cases and programs, and the check before a race. No time is asserted."""

import math

import pytest
import torch

from attnbook.selftest import oracle
from tools.bench import worker
from tools.bench.cases import Case, Setting, textbook_dot
from tools.bench.programs import PROGRAMS

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


@pytest.mark.parametrize(("layer", "name"), RUN_HERE)
def test_each_program_computes_what_the_oracle_does(layer, name):
    example = setting(layer)
    with torch.no_grad():
        output = PROGRAMS[layer][name](example)(*example.inputs)
    torch.testing.assert_close(output.double(), expected_output(example), atol=1e-5, rtol=1e-5)


# Keys are stored in inference only.
@pytest.mark.parametrize(
    ("layer", "name"), [each for each in RUN_HERE if "kept keys" not in each[1]]
)
def test_each_program_has_the_gradients_of_the_formula_in_float64(layer, name):
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


# Workers


def test_a_worker_gives_time_memory_and_ratios_of_each_program(monkeypatch):
    monkeypatch.setattr(worker, "LEAST_TIME", 0.001)
    case = {"layer": "additive", "batch": 2, "queries": 3, "keys": 5, "size": 7}
    task = {"case": case, "programs": ["textbook", "ours", "tanh floor", "ours, kept keys"]}
    found = worker.measure(task | {"what": "race", "rounds": [2, 2], "until": math.inf})
    assert list(found)[:3] == ["textbook", "ours", "tanh floor"]
    assert found["textbook"]["times as fast"] == [1.0, 1.0, 1.0]
    names = {"times as fast", "times as fast as tanh floor", "seconds", "bytes", "rounds"}
    assert set(found["ours"]) == names
    assert found["textbook"]["bytes"] >= 2 * 4 * 2 * 3 * 5 * 7  # sums, then their tanh
    assert found["tanh floor"]["bytes"] == 0
