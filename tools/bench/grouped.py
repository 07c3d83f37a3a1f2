"""Heads that share keys: ours, against repeated keys and against torch's own call."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.timing import Program, race
from tools.bench.memory import measure_memory

HEADS, SIZE, LENGTH, ROUNDS = 32, 64, 2048, 5
SHARED = (32, 8, 1)  # heads of keys


def programs(kv_heads: int) -> dict[str, Program]:
    """Causal attention of 32 heads of queries by three programs that give the same."""
    rng = torch.Generator().manual_seed(0)
    queries = torch.randn(1, HEADS, LENGTH, SIZE, generator=rng)
    keys, values = torch.randn(2, 1, kv_heads, LENGTH, SIZE, generator=rng)
    layer = attnbook.DotProductAttention(keep_weights=False).eval()

    def repeated() -> torch.Tensor:
        shared = HEADS // kv_heads
        k, v = (it.repeat_interleave(shared, dim=1) for it in (keys, values))
        return layer(queries, k, v, causal=True)

    def torchs() -> torch.Tensor:
        return scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=kv_heads != HEADS
        )

    return {
        "ours": lambda: layer(queries, keys, values, causal=True),
        "repeated": repeated,
        "torch": torchs,
    }


def grouped_row() -> dict[str, Any]:
    """How many times as fast ours is, and how much memory each program allocates."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    row: dict[str, Any] = {}
    try:
        for kv_heads in SHARED:
            each = programs(kv_heads)
            outputs = [torch.as_tensor(program()) for program in each.values()]
            if not all(torch.allclose(outputs[0], other, atol=1e-4) for other in outputs):
                raise AssertionError("the programs compute different things")
            result = race(each, ROUNDS)
            for name, program in each.items():
                about = f"{kv_heads} heads of keys, {name}"
                row[f"{about}: MiB"] = measure_memory(program) / 2**20
                if name != "ours":
                    low, middle, high = result.times_as_fast("ours", than=name)
                    row[f"{about}: ours is times as fast"] = middle
                    row[f"{about}: quartiles"] = f"{low:.2f} to {high:.2f}"
    finally:
        torch.set_num_threads(threads)
    return row
