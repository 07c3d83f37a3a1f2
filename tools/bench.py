"""Measure ratios that can be compared between machines, and store them with the machine.

python tools/bench.py            every row
python tools/bench.py toy-dot    one row

Times on a busy machine mean little, so nothing here is a time alone: each row runs two
programs in turn, many rounds in one process with one thread, and gives the ratio of their
processor time, round by round.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from bench_pages import rows as page_rows

import attnbook

RESULTS = Path(__file__).resolve().parent.parent / "_build" / "bench.json"
ROUNDS = 21
CALLS = 300

Program = Callable[[], object]
Row = dict[str, float | str]


def textbook_dot(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, lens: torch.Tensor
) -> torch.Tensor:
    """Compute dot-product attention as textbooks do: fill with -1e6, check nothing."""
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
    padding = torch.arange(keys.shape[1])[None, None] >= lens[:, None, None]
    return torch.softmax(scores.masked_fill(padding, -1e6), dim=-1) @ values


def textbook_additive(layer: attnbook.AdditiveAttention, *inputs: torch.Tensor) -> torch.Tensor:
    """Compute additive attention as textbooks do, with the parameters of ours."""
    queries, keys, values, lens = inputs
    features = torch.tanh(layer.W_q(queries).unsqueeze(2) + layer.W_k(keys).unsqueeze(1))
    padding = torch.arange(keys.shape[1])[None, None] >= lens[:, None, None]
    scores = layer.w_v(features).squeeze(-1).masked_fill(padding, -1e6)
    return torch.softmax(scores, dim=-1) @ values


def toy_inputs(size: int = 2) -> tuple[torch.Tensor, ...]:
    """Make the inputs of the book's toy example: 2 examples, 1 query, 10 keys."""
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    return torch.randn(2, 1, size), torch.ones(2, 10, size), values, torch.tensor([2, 6])


def toy_dot() -> tuple[Program, Program]:
    """Our layer and the textbook's at toy size, where checks weigh most."""
    inputs, layer = toy_inputs(), attnbook.DotProductAttention().eval()
    return lambda: layer(*inputs), lambda: textbook_dot(*inputs)


def toy_additive() -> tuple[Program, Program]:
    """The same for additive attention."""
    inputs, layer = toy_inputs(), attnbook.AdditiveAttention(2, 2, 8).eval()
    return lambda: layer(*inputs), lambda: textbook_additive(layer, *inputs)


def processor_time(program: Program, calls: int) -> float:
    """Processor time of one call, in seconds."""
    start = time.process_time()
    for _ in range(calls):
        program()
    return (time.process_time() - start) / calls


def against(pair: Callable[[], tuple[Program, Program]]) -> Row:
    """Run ours and theirs in turn: the ratio per round, as median and quartiles."""
    ours, theirs = pair()
    if not torch.allclose(torch.as_tensor(ours()), torch.as_tensor(theirs()), atol=1e-5):
        raise AssertionError("the two programs compute different things; no time is worth taking")
    rounds = [(processor_time(ours, CALLS), processor_time(theirs, CALLS)) for _ in range(ROUNDS)]
    low, middle, high = statistics.quantiles([a / b for a, b in rounds], n=4)
    extra = statistics.median(a - b for a, b in rounds)
    return {"ratio": middle, "quartiles": f"{low:.2f} to {high:.2f}", "extra µs": extra * 1e6}


def import_time() -> Row:
    """What `import attnbook` adds to `import torch`, in a fresh process each time."""
    code = (
        "import time, torch; start = time.perf_counter(); import attnbook; "
        "print(time.perf_counter() - start)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return {"milliseconds": statistics.median(runs) * 1e3}


ROWS: dict[str, Callable[[], Row]] = {
    "toy-dot": lambda: against(toy_dot),
    "toy-additive": lambda: against(toy_additive),
    "import": import_time,
    **page_rows(),
}


def machine() -> dict[str, str | int | None]:
    """Name what the numbers belong to."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "attnbook": attnbook.__version__,
    }


def main() -> int:
    """Measure the rows that the command line names, or all."""
    names = sys.argv[1:] or list(ROWS)
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"no row named {unknown[0]}; there are: {', '.join(ROWS)}")
        return 1
    torch.set_num_threads(1)
    with torch.no_grad():
        results = {name: ROWS[name]() for name in names}
    for name, row in results.items():
        cells = (f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
        print(f"{name:{max(map(len, results))}}", ", ".join(cells))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": machine(), "rows": results}, indent=2) + "\n")
    print(f"stored in {RESULTS.relative_to(Path.cwd())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
