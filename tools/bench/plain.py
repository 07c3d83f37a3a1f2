"""Multi-head attention against the few lines of torch that compute the same.

"multihead" is a whole call, causal: four products and torch's own kernel, as a default call, with
`keep_weights=False`, in training, and with a bias. "cached-layer" is one step of one layer with a
cache, against tensors that are preallocated and filled by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import KeyValueCache, MultiHeadAttention
from attnbook.timing import Program, race
from tools.bench.decoding import STEPS, Step, step_seconds

Result = dict[str, Any]
SHAPES = ((4, 512, 256), (1, 2048, 512))  # batch, tokens, size of a vector
HEADS, ROUNDS = 8, 15
LAYER = (16, 4, 64)  # heads, heads of keys, size of a head: of a step
LENGTHS = (1024,)
TOLERANCE = 1e-4


def six_lines(layer: MultiHeadAttention, x: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute what the layer does with `causal=True`; a bias has -inf in the future."""
    q, k, v = (
        F.linear(x, part.weight).view(*x.shape[:2], layer.num_heads, -1).transpose(1, 2)
        for part in (layer.W_q, layer.W_k, layer.W_v)
    )
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=bias is None)
    return F.linear(heads.transpose(1, 2).flatten(2), layer.W_o.weight)


def alibi(length: int) -> tuple[Tensor, Tensor]:
    """Make a bias for each head that falls with the distance, without and with -inf ahead."""
    distance = torch.arange(length)[:, None] - torch.arange(length)
    bias = -(2.0 ** -torch.arange(1, HEADS + 1))[None, :, None, None] * distance
    return bias, bias.masked_fill(distance < 0, -torch.inf)


def calls(shape: tuple[int, int, int], mode: str) -> dict[str, Program]:
    """The programs of one case: "inference", "training" or "bias"."""
    torch.manual_seed(0)
    size = shape[-1]
    layers = {
        name: MultiHeadAttention(size, size, size, size, HEADS, keep_weights=keep)
        for name, keep in (("ours", True), ("ours, keep_weights=False", False))
    }
    first, *others = layers.values()
    for other in others:
        other.load_state_dict(first.state_dict())
    x = torch.randn(shape, requires_grad=mode == "training")
    bias, masked = alibi(shape[1]) if mode == "bias" else (None, None)

    def program(attend: Callable[[], Tensor]) -> Program:
        def run() -> Tensor:
            learns = mode == "training"
            with torch.set_grad_enabled(learns):
                output = attend()
                if learns:
                    output.sum().backward()  # type: ignore[no-untyped-call]
            return output.detach()

        return run

    programs = {
        name: program(partial(layer, x, x, x, causal=True, bias=bias))
        for name, layer in layers.items()
    }
    return {"six lines": program(lambda: six_lines(first, x, masked)), **programs}


def steps(length: int, *, keep_weights: bool) -> dict[str, Program]:
    """One step at this length: a fixed cache, one that grows, and tensors filled by hand."""
    heads, kv_heads, size = LAYER
    width = heads * size
    torch.manual_seed(0)
    layer = MultiHeadAttention(
        *(width, width, width, width, heads),
        keep_weights=keep_weights,
        num_kv_heads=kv_heads,
        head_size=size,
    ).eval()
    stored, token = torch.randn(2, 1, kv_heads, length, size), torch.randn(1, 1, width)

    def ours(max_length: int | None) -> Step:
        cache = KeyValueCache(1, 1, kv_heads, size, size, max_length=max_length)
        with cache.step(length):
            cache.layer(0).append(*stored)

        def run() -> Tensor:
            with cache.step(1):
                return layer(token, token, token, cache=cache.layer(0))

        return Step(run, cache.rewind)

    filled = torch.zeros(2, 1, kv_heads, length + STEPS, size)
    filled[:, :, :, :length] = stored
    end = [length]

    def by_hand() -> Tensor:
        q, k, v = (
            F.linear(token, part.weight).view(1, 1, -1, size).transpose(1, 2)
            for part in (layer.W_q, layer.W_k, layer.W_v)
        )
        filled[0, :, :, end[0] : end[0] + 1] = k
        filled[1, :, :, end[0] : end[0] + 1] = v
        end[0] += 1
        keys, values = filled[:, :, :, : end[0]]
        heads = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        return F.linear(heads.transpose(1, 2).flatten(2), layer.W_o.weight)

    def back(count: int) -> None:
        end[0] -= count

    return {
        "plain torch": Step(by_hand, back),
        "ours, max_length": ours(length + STEPS),
        "ours": ours(None),
    }


def compare(about: str, programs: dict[str, Program], **options: Any) -> Result:  # noqa: ANN401 - of `race`
    """Race programs that give the same: how many times as long ours take as the first."""
    first, *others = programs
    right = torch.as_tensor(programs[first]())
    for name in others:
        if not torch.allclose(torch.as_tensor(programs[name]()), right, rtol=0, atol=TOLERANCE):
            raise AssertionError(f"{name} computes something else; its time would mean nothing")
    for program in programs.values():
        if isinstance(program, Step):
            program.back(1)
    result = race(programs, ROUNDS, **options)
    row: Result = {}
    for name in others:
        low, middle, high = result.times_as_fast(first, than=name)
        row[f"{about}, {name} takes times as long as {first}"] = middle
        row[f"{about}, {name}: quartiles"] = f"{low:.2f} to {high:.2f}"
    return row


def on_one_thread(measure: Callable[[], Result]) -> Callable[[], Result]:
    """Measure with one thread, and without gradients but where a program takes them."""

    def run() -> Result:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.no_grad():
                return measure()
        finally:
            torch.set_num_threads(threads)

    return run


def measure_calls() -> Result:
    """Race whole calls."""
    row: Result = {}
    for shape in SHAPES:
        for mode in ("inference", "training", "bias"):
            row |= compare(f"{' × '.join(map(str, shape))}, {mode}", calls(shape, mode))
    return row


def measure_steps() -> Result:
    """Race steps with a cache."""
    row: Result = {}
    for length in LENGTHS:
        for keep in (True, False):
            about = f"{length:,} tokens, keep_weights={keep}"
            row |= compare(about, steps(length, keep_weights=keep), stopwatch=step_seconds)
    return row


def rows() -> dict[str, Callable[[], Result]]:
    """The rows of this file by name."""
    return {
        "multihead": on_one_thread(measure_calls),
        "cached-layer": on_one_thread(measure_steps),
    }
