"""Measure the layers: rows of one size each, and how time and memory grow.

Each size and each setting of the allocator gets a fresh process with one thread, one at a time.
"default" is the unchanged allocator. "neutral" is glibc with settings that keep freed memory:
otherwise each large block is new to the process, and clearing its pages takes about two thirds of
the textbook's time. Which of the two applies to a program depends on what else it does.

A row takes `BUDGET` seconds: each race makes as many rounds as its share of them allows, and their
number is stored. It makes at least `LEAST`, which may take longer on a busy machine; then races are
left out, and the row states it. keras, as slow as the textbook, runs once, where it is fastest:
inference, neutral. The growth of processes is measured while there is time.

On a GPU (`ATTNBOOK_DEVICE=cuda`) the same rows are measured there.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from tools import ROOT
from tools.bench.cases import Case
from tools.bench.memory import RETURNING
from tools.bench.programs import GPU_ONLY

Result = dict[str, Any]
PEERS = ROOT / "_build" / "bench-peers"
PACKAGES = {"keras": "3.15.1", "transformers": "5.23.0"}
LEAST, ROUNDS = 3, 7
BUDGET, RESIDENT = 140.0, 10.0  # seconds of a row, and of a process whose growth is measured
MODES = ("inference", "training")
MEASURED = ("seconds", "bytes", "rounds")
KEEP_MEMORY = "glibc.malloc.mmap_threshold=34359738368:glibc.malloc.trim_threshold=34359738368"
ALLOCATORS = {"default": None, "neutral": KEEP_MEMORY}

CASES = {
    "additive-large": Case("additive", 16, 256, 256, 256),
    "additive-medium": Case("additive", 32, 64, 64, 128),
    "additive-decode": Case("additive", 64, 1, 512, 512),
    "dot-large": Case("dot", 64, 1024, 1024, 64),
    "dot-medium": Case("dot", 32, 64, 64, 64),
    "dot-large-half": Case("dot", 64, 1024, 1024, 64, dtype="bfloat16"),
}
ADDITIVE = ("textbook", "ours", "ours, weights kept", "compiled")
STORED_KEYS = ("textbook, kept keys", "ours, kept keys")
DOT = ("textbook", "ours", "ours, weights kept", "compiled", "sdpa", "multihead")

BATCH, SIZE, FEW = 4, 64, 64
TOGETHER = (16, 32, 64, 128, 256, 512, 1024)  # the textbook's training takes 3 GiB at the last
KEYS_ALONE = (128, 256, 512, 1024)  # with `FEW` queries
GROWN_FROM = 128  # below, calls cost more than arithmetic
GROWING = ("textbook", "ours")
DECODING = (*GROWING, "compiled")


def device() -> str:
    """The device of the rows: cpu, unless `ATTNBOOK_DEVICE` names another."""
    return os.environ.get("ATTNBOOK_DEVICE", "cpu")


def missing(case: Case) -> str | None:
    """Why a case cannot be measured on this machine."""
    wants_gpu = case.device == "cuda" or case.dtype != "float32"
    if wants_gpu and not torch.cuda.is_available():
        return "no GPU"
    return (
        "the row is for a GPU: set ATTNBOOK_DEVICE=cuda"
        if wants_gpu and case.device == "cpu"
        else None
    )


def contestants(name: str, case: Case, allocator: str = "default") -> tuple[str, ...]:
    """The programs of a row."""
    if case.layer == "dot":
        return (*DOT, *sorted(GPU_ONLY))
    if name == "additive-decode":
        return (*DECODING, *STORED_KEYS) if case.mode == "inference" else DECODING
    if case.training:
        return ADDITIVE
    return (*ADDITIVE, "tanh floor", *(() if allocator == "default" else ("keras",)))


def settings() -> dict[str, str | None]:
    """The allocators to measure with, and the tunables of each."""
    if device() == "cuda":
        return {"gpu": None}
    if platform.libc_ver()[0] != "glibc":
        return {"default": None}
    return dict(ALLOCATORS)


def environment(tunables: str | None) -> dict[str, str]:
    """The environment of a worker: one thread, and the allocator with these tunables."""
    ours = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(PEERS)}
    others = {name: text for name, text in os.environ.items() if name != "GLIBC_TUNABLES"}
    return others | ours | ({"GLIBC_TUNABLES": tunables} if tunables else {})


def measure_case(
    case: Case,
    programs: Sequence[str],
    tunables: str | None = None,
    what: str = "race",
    until: float = math.inf,
) -> Result:
    """Measure one case in a new process: a race, or the growth of the process ("resident").

    `until` is the time at which a race should be over, by `time.time`.
    """
    possible = [name for name in programs if case.device == "cuda" or name not in GPU_ONLY]
    if "keras" in possible:
        install_peers()
    about = {"rounds": [LEAST, ROUNDS], "until": until}
    task = {"case": asdict(case), "programs": possible, "what": what, **about}
    command = [sys.executable, "-m", "tools.bench.worker", json.dumps(task)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(tunables), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{case} could not be measured:\n{done.stderr[-3000:]}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    left_out = [name for name in programs if name not in possible]
    return result | {name: {"not measured": "no GPU"} for name in left_out}


def install_peers() -> None:
    """Install packages of others outside of this environment, if there is a network."""
    missing = [
        f"{name}=={number}"
        for name, number in PACKAGES.items()
        if not (PEERS / f"{name}-{number}.dist-info").exists()
    ]
    if missing:
        uv = Path(sys.executable).parent / "uv"
        options = ["--python", sys.executable, "--target", str(PEERS)]
        subprocess.run([str(uv), "pip", "install", "--quiet", *options, *missing], check=False)


def layer_row(name: str, report_progress: Callable[[str], None]) -> Result:
    """One size: inference and training, with each allocator."""
    case = replace(CASES[name], device=device())
    reason = missing(case)
    if reason:
        return {"not measured": reason}
    row: Result = {"case": asdict(case)}
    end = time.time() + BUDGET
    races = [(allocator, mode) for allocator in settings() for mode in MODES]
    for i, (allocator, mode) in enumerate(races):
        report_progress(f"{name}: {mode}, {allocator} allocator")
        one = replace(case, mode=mode)
        names, until = contestants(name, one, allocator), share(end, len(races) - i)
        row.setdefault(allocator, {})[mode] = (
            measure_case(one, names, settings()[allocator], until=until)
            if time.time() < end
            else {program: {"not measured": "the row's time was over"} for program in names}
        )
    if device() == "cpu":
        add_resident(row, case, name, report_progress, end)
    return row


def share(end: float, parts: int) -> float:
    """The time at which the first of some parts should be over, if all end at `end`."""
    now = time.time()
    return now + max(0.0, end - now) / parts


def add_resident(
    row: Result,
    case: Case,
    name: str,
    report_progress: Callable[[str], None],
    end: float = math.inf,
) -> None:
    """Add the growth of a new process for each program, to compare with torch's count."""
    if not Path("/proc/self/clear_refs").exists():
        return
    for mode in MODES:
        results = row["default"][mode]
        one = replace(case, mode=mode)
        for program in [name for name, result in results.items() if "bytes" in result]:
            if time.time() > end - RESIDENT:
                return
            report_progress(f"{name}: {mode}, memory of {program}")
            results[program] |= measure_case(one, [program], RETURNING, "resident")[program]


def growth_row(layer: str, report_progress: Callable[[str], None]) -> Result:
    """Time and memory at many sizes, and the exponents of their growth."""
    points = []
    end, cases = time.time() + BUDGET, list(growing_cases(layer))
    for i, (axis, case) in enumerate(cases):
        report_progress(f"growth-{layer}: {case.mode}, {case.queries} queries, {case.keys} keys")
        until = share(end, len(cases) - i)
        for program, result in measure_case(case, GROWING, until=until).items():
            if "seconds" in result:
                point = {"program": program, "axis": axis, **asdict(case)}
                points.append(point | {what: result[what] for what in MEASURED})
    return {"points": points, "exponents": exponents(points)}


def growing_cases(layer: str) -> Iterator[tuple[str, Case]]:
    """The cases of a growth row, each with the axis that grows."""
    for mode in MODES:
        case = Case(layer, BATCH, FEW, FEW, SIZE, mode, device())
        for size in TOGETHER:
            yield "queries = keys", replace(case, queries=size, keys=size)
        for size in KEYS_ALONE:
            yield "keys", replace(case, keys=size)


def exponents(points: Sequence[Mapping[str, Any]]) -> Result:
    """The exponent of time and memory for each program, mode and axis."""
    series: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for point in points:
        if point["keys"] >= GROWN_FROM:
            key = (point["axis"], point["mode"], point["program"])
            series.setdefault(key, []).append(point)
    return {
        ", ".join(key): {
            what: exponent([p["keys"] for p in line], [p[what] for p in line])
            for what in ("seconds", "bytes")
        }
        for key, line in series.items()
    }


def exponent(sizes: Sequence[float], amounts: Sequence[float]) -> float:
    """The power of the size that fits the amounts best: least squares on logarithms."""
    x, y = ([math.log(number) for number in numbers] for numbers in (sizes, amounts))
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    product = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return product / sum((a - middle_x) ** 2 for a in x)


def rows() -> dict[str, Callable[[Callable[[str], None]], Result]]:
    """The rows of this file by name; each takes a function that reports its progress."""

    def one(name: str) -> Callable[[Callable[[str], None]], Result]:
        return lambda report_progress: layer_row(name, report_progress)

    def growth(layer: str) -> Callable[[Callable[[str], None]], Result]:
        return lambda report_progress: growth_row(layer, report_progress)

    return {name: one(name) for name in CASES} | {
        f"growth-{layer}": growth(layer) for layer in ("additive", "dot")
    }
