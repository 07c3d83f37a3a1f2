"""Measure one case in this process: check, race, count memory.

layers.py starts a new process for each case and each setting of the allocator, because earlier
programs of a process change ratios by a factor of two. It takes a task as JSON and prints a result
as JSON in its last line.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook.timing import Program, race
from tools.bench.cases import Case, Setting, textbook_additive, textbook_dot
from tools.bench.memory import measure_memory, resident
from tools.bench.programs import PROGRAMS, NotMeasurableError

CHECKED = 2**24  # elements of the formula in float64: 128 MiB a tensor
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2, "float16": 1e-2}
RESULTS = ("output", "gradient of queries", "gradient of keys", "gradient of values")
LEAST_TIME = 0.05  # seconds of a program in a round
FLOOR = "tanh floor"  # it computes no attention


def compute_expected(setting: Setting, examples: int) -> list[Tensor]:
    """The formula in float64 for the first examples: output, gradients of q, k and v."""
    tensors = [tensor[:examples].detach().double() for tensor in setting.inputs[:3]]
    for tensor in tensors:
        tensor.requires_grad_(setting.case.training)
    queries, keys, values = tensors
    lens = setting.lens[:examples]
    if setting.case.layer == "additive":
        layer = copy.deepcopy(setting.layer).double()
        output = textbook_additive(layer, queries, keys, values, lens)
    else:
        output = textbook_dot(queries, keys, values, lens)
    if not setting.case.training:
        return [output]
    upstream = setting.upstream[:examples].double()
    return [output.detach(), *torch.autograd.grad(output, tensors, upstream)]


def check(setting: Setting, name: str, program: Program) -> None:
    """Refuse a program whose result differs from the formula in float64."""
    case = setting.case
    examples = min(case.batch, max(1, CHECKED * case.batch // case.elements))
    result = program()
    results = result if isinstance(result, list) else [result]
    right = compute_expected(setting, examples)
    for what, ours, theirs in zip(RESULTS, results, right, strict=False):
        refuse_difference(f"{name}: {what}", ours[:examples], theirs, TOLERANCE[case.dtype])


def refuse_difference(what: str, ours: Tensor, right: Tensor, tolerance: float) -> None:
    """Raise unless two tensors agree, relative to the largest number of the right one."""
    off = (ours.double() - right).abs().max().item()
    limit = tolerance * max(1.0, right.abs().max().item())
    if not off <= limit:
        raise AssertionError(
            f"{what} differs from the formula in float64 by {off:.1e}, more than {limit:.1e}; "
            "its time would mean nothing"
        )


def make_programs(
    setting: Setting, names: Sequence[str], *, checked: bool = True
) -> tuple[dict[str, Program], dict[str, str]]:
    """The programs that can run here, checked; and why the others cannot."""
    programs, reasons = {}, {}
    for name in names:
        try:
            program = setting.program(PROGRAMS[setting.case.layer][name](setting))
        except NotMeasurableError as error:
            reasons[name] = str(error)
            continue
        if checked and name != FLOOR:
            check(setting, name, program)
        programs[name] = program
    return programs, reasons


def affordable(a_round: float, seconds: float, least: int, most: int) -> int:
    """How many rounds fit into some seconds, less one, which finds the calls of a round."""
    fitting = seconds / a_round - 1
    return most if fitting >= most else max(least, int(fitting))


def race_programs(
    programs: Mapping[str, Program], device: str, task: Mapping[str, Any]
) -> dict[str, Any]:
    """Times and memory of programs, the ratios against the first and some that matter more."""
    start = time.time()
    memory = {name: measure_memory(program, device) for name, program in programs.items()}
    now = time.time()
    # A short program is repeated for at least this long.
    a_round = max(now - start, LEAST_TIME * len(programs))
    rounds = affordable(a_round, task["until"] - now, *task["rounds"])
    result = race(programs, rounds, LEAST_TIME)

    def figures(name: str) -> dict[str, Any]:
        ratios = {f"times as fast as {r}": [*result.times_as_fast(name, r)] for r in others}
        return {
            "times as fast": [*result.times_as_fast(name)],
            **ratios,
            "seconds": result.one_call(name).median,
            "bytes": memory[name],
            "rounds": rounds,
        }

    others = [name for name in ("sdpa", FLOOR, "textbook, kept keys") if name in programs]
    return {name: figures(name) for name in programs}


def measure(task: Mapping[str, Any]) -> dict[str, Any]:
    """Run a task: race its programs, or measure how much the process grows with one."""
    case = Case(**task["case"])
    setting = Setting(case)
    with torch.set_grad_enabled(case.training):
        # A program whose growth is measured was checked in its race.
        programs, reasons = make_programs(setting, task["programs"], checked=task["what"] == "race")
        if task["what"] == "resident":
            results: dict[str, Any] = {
                name: {"resident bytes": resident(program)} for name, program in programs.items()
            }
        else:
            results = race_programs(programs, case.device, task)
    return results | {name: {"not measured": reason} for name, reason in reasons.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(measure(json.loads(sys.argv[1]))))
