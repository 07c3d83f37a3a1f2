"""The self-test: what it compares is right, and a fault in each path is found."""

from __future__ import annotations

import ast
import json
import platform
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from attnbook import __main__ as command
from attnbook import attention, layers, multihead, position, scoring, weighting
from attnbook.cache import key_value
from attnbook.fused import blocks, dot_product, on_demand, softmax, streaming
from attnbook.masking import rules
from attnbook.selftest import environment, oracle
from attnbook.selftest.comparisons import PARTS, TOLERANCE, Draw
from attnbook.selftest.environment import describe_environment
from attnbook.selftest.run import describe, run

ONCE = 0.001  # seconds


def run_once(*parts):
    return run("cpu", ONCE, parts, with_ratios=False)


def test_the_formulas_import_nothing_of_this_package():
    nodes = ast.walk(ast.parse(Path(oracle.__file__).read_text("utf-8")))
    imported = {it.name for node in nodes if isinstance(node, ast.Import) for it in node.names}
    nodes = ast.walk(ast.parse(Path(oracle.__file__).read_text("utf-8")))
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} <= {"torch", *sys.stdlib_module_names}


@pytest.mark.slow
def test_every_part_compares_something_and_finds_no_fault():
    receipt = run_once(*PARTS)
    assert receipt["faults"] == 0, describe(receipt)
    assert all(row["comparisons"] >= 5 for row in receipt["parts"].values())
    for row in receipt["parts"].values():
        assert {str(dtype).removeprefix("torch.") for dtype in TOLERANCE} <= {
            *row["largest errors"]
        }


# Faults, one in each path


def ignores_empty_rows(scores, visible):
    hidden = torch.zeros((), dtype=torch.bool) if visible is None else ~visible
    return scores.masked_fill(hidden, -1e4).softmax(dim=-1)


def scale_twice(run_kernel, inputs):
    return run_kernel(inputs._replace(scale=1.0))


def with_next_key(see, *arguments, **options):
    return see(arguments[0] + 1, *arguments[1:], **options)


def neighbouring_heads(share, tensor, heads):
    return share(tensor.roll(1, dims=1), heads)


# For each: the part that must find it, and the attribute that is replaced, by what.
FAULTS = {
    "scores are not divided by the root of the size": (
        "scores",
        (scoring, "scaled_products", lambda _: lambda q, k, _: q @ k.mT),
    ),
    "an empty row gets uniform weights": (
        "dot product, plain",
        (attention, "weigh", lambda _: ignores_empty_rows),
    ),
    "masked softmax has no zeros": ("weights", (weighting, "weigh", lambda _: ignores_empty_rows)),
    "the gradient of softmax lacks its mean": (
        "additive, fast",
        (softmax, "softmax_gradient", lambda _: lambda grad, weights: grad * weights),
    ),
    "a window shows one key too many": (
        "masks",
        (rules, "window_mask", lambda right: lambda s, w, *more: right(s, w + 1, *more)),
    ),
    "torch's kernel gets another scale": (
        "dot product, fast",
        (dot_product, "run_kernel", lambda right: partial(scale_twice, right)),
    ),
    "weights that are read later lack the mask": (
        "multi-head, fast",
        (on_demand, "formula_weights", lambda right: lambda it: right(it._replace(visible=None))),
    ),
    "a block sums r as if it were tanh": (
        "additive, fast",
        (blocks, "block_scores", lambda _: lambda block, weight: block.numbers @ weight),
    ),
    "streaming forgets the mask": (
        "additive, fast in large blocks",
        (streaming, "_flat_mask", lambda _: lambda *_: None),
    ),
    "rotary angles have another base": (
        "positions",
        (position, "angles", lambda right: lambda at, size, *_: right(at, size, 500.0)),
    ),
    "heads share the keys of their neighbours": (
        "multi-head, plain",
        (dot_product, "share_keys", lambda right: partial(neighbouring_heads, right)),
    ),
    "with a cache a token sees the next one": (
        "caches",
        (key_value, "visible_positions", lambda right: partial(with_next_key, right)),
    ),
    "a compiled layer ignores lengths": (
        "compiled",
        (
            attention,
            "visible_keys",
            lambda right: lambda shape, _, *more: right(shape, None, *more),
        ),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_one_path_is_found(name, monkeypatch):
    part, (owner, attribute, fault) = FAULTS[name]
    right = getattr(owner, attribute)
    for module in (owner, layers, multihead, dot_product, attention):
        if getattr(module, attribute, None) is right:
            monkeypatch.setattr(module, attribute, fault(right))
    receipt = run_once(part)
    assert receipt["parts"][part]["faults"] > 0
    assert f"FAULT in {part}: " in describe(receipt)


def test_an_exception_is_a_fault_and_the_others_are_still_compared(monkeypatch):
    def fail(_):
        raise RuntimeError("no kernel")

    monkeypatch.setitem(PARTS, "weights", fail)
    receipt = run_once("weights", "masks")
    assert receipt["parts"]["weights"]["faults"] == len(TOLERANCE)
    assert "RuntimeError: no kernel" in receipt["parts"]["weights"]["described"][0]
    assert receipt["parts"]["masks"]["comparisons"] > 0


def test_a_device_without_float64_is_compared_in_its_own_dtypes():
    draw = Draw(0, torch.device("cpu"), torch.float32)
    assert all(each.found.dtype != torch.float64 for each in PARTS["scores"](draw))


# The receipt and the command


def test_a_receipt_is_json_and_names_no_machine():
    receipt = run_once("masks")
    text = json.dumps(receipt) + describe(receipt)
    assert json.loads(json.dumps(receipt)) == receipt
    assert str(Path.home()) not in text
    assert str(Path.cwd()) not in text
    assert platform.node() not in text.replace("\n", " ").split()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("meta", 1), r"device must be one that torch can use here \(cpu.*\), got meta"),
        (("cpu", 0), r"seconds must be positive, got 0"),
    ],
)
def test_what_the_selftest_cannot_run_with_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        run(*arguments)


def test_the_command_prints_versions(capsys):
    assert command.main([]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines() == [f"{name}: {it}" for name, it in describe_environment().items()]
    assert f"torch: {torch.__version__}" in printed


def test_the_command_stores_its_receipt_and_fails_for_a_fault(tmp_path, capsys, monkeypatch):
    few = {name: PARTS[name] for name in ("masks", "pooling")}
    monkeypatch.setattr("attnbook.selftest.run.run", partial(run, parts=few, with_ratios=False))
    stored = tmp_path / "receipt.json"
    assert command.main(["selftest", "--seconds", "0.001", "--json", str(stored)]) == 0
    assert json.loads(stored.read_text())["faults"] == 0
    assert "no fault" in capsys.readouterr().out

    monkeypatch.setattr(rules, "window_mask", lambda *_: torch.ones(5, 7).bool())
    assert command.main(["selftest", "--seconds", "0.001"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["faults"] > 0

    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert command.main(["selftest", "--device", "cuda"]) == 1
    assert "device must be one" in capsys.readouterr().out


def test_names_that_torch_lacks_are_printed_with_what_happens_instead(monkeypatch):
    lacks = ["torch.autograd.forward_ad:_current_level", "_forward_hooks"]
    monkeypatch.setattr(environment, "missing_names", lambda: lacks)
    monkeypatch.setattr(environment, "COPIES", False)
    found = describe_environment()
    assert found["names of torch"] == "; ".join(
        f"no {it}: layers run their formulas" for it in lacks
    )
    assert "must be stopped by hand" in found["judge"]
    assert environment.version_of("no-such-package") == "not installed"
