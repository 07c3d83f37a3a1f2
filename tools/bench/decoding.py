"""Decoding: a step with a cache against transformers' Llama, and texts with and without a cache.

A row runs in a process of its own, with one thread, where transformers can be imported. Both
models have the same matrices, and the caches the same keys and values. A step stores a token, so
after some steps the caches are set back, outside of the measured time.

"memory" copies half as many bytes as a step must read, weights and cache, so that as many bytes
move: no step can be much faster.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook import KeyValueCache, MultiHeadAttention, rotary_encoding
from attnbook.costs.generation import ModelSizes, count_pass
from attnbook.timing import Program, race
from tools import ROOT
from tools.bench import layers

Result = dict[str, Any]
MODEL = ModelSizes(2, 8, 2, 64, 512, 1408, vocabulary=1)  # without embeddings and logits
WRITER = ModelSizes(2, 4, 2, 64, 256, 704, vocabulary=256)
CASES = ((1, 1024), (1, 8192), (8, 1024), (8, 8192))  # texts, and tokens of each
STEPS = 16  # until the caches are set back
CHUNK = 512  # tokens that are stored at a time before a race
PROMPT, WRITTEN = 16, 256
ROUNDS, TEXT_ROUNDS = 21, 5
TOLERANCE = 1e-4


class Norm(nn.Module):
    """The root mean square norm as Llama computes it in float32; torch's own layer is slower."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        """Divide each vector by the root of its mean square, and weigh its components."""
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6))


class Block(nn.Module):
    """A block of Llama with our attention."""

    def __init__(self, model: ModelSizes) -> None:
        super().__init__()
        size = model.num_hiddens
        self.attention = MultiHeadAttention(
            *(size, size, size, size, model.num_heads),
            keep_weights=False,
            num_kv_heads=model.num_kv_heads,
            head_size=model.head_size,
            rotary=partial(rotary_encoding, layout="halves"),
        )
        self.attention_norm, self.network_norm = (Norm(size) for _ in range(2))
        self.gate = nn.Linear(size, model.ffn_hiddens, bias=False)
        self.up = nn.Linear(size, model.ffn_hiddens, bias=False)
        self.down = nn.Linear(model.ffn_hiddens, size, bias=False)

    def forward(self, x: Tensor, **options: Any) -> Tensor:  # noqa: ANN401 - the attention's
        """Attend, with a cache or causally, then process each position."""
        normed = self.attention_norm(x)
        x = x + self.attention(normed, normed, normed, **options)
        normed = self.network_norm(x)
        output: Tensor = x + self.down(F.silu(self.gate(normed)) * self.up(normed))
        return output


class Stack(nn.Module):
    """Blocks and a last norm; with a cache, one step."""

    def __init__(self, model: ModelSizes) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(model) for _ in range(model.num_layers))
        self.norm = Norm(model.num_hiddens)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """Process the vectors of new tokens, or those of a whole text."""
        if cache is None:
            for block in self.blocks:
                x = block(x, causal=True)
        else:
            with cache.step(x.shape[1]):
                for i, block in enumerate(self.blocks):
                    x = block(x, cache=cache.layer(i))
        output: Tensor = self.norm(x)
        return output


# A step


class Step:
    """A program that decodes a token, and how to take steps back."""

    def __init__(self, run: Program, back: Callable[[int], object]) -> None:
        self.run, self.back = run, back

    def __call__(self) -> object:
        """Decode."""
        return self.run()


def step_seconds(program: Program, calls: int) -> float:
    """Processor time of so many calls, without that of taking steps back."""
    total = 0.0
    for first in range(0, calls, STEPS):
        steps = min(STEPS, calls - first)
        start = time.process_time()
        for _ in range(steps):
            program()
        total += time.process_time() - start
        if isinstance(program, Step):
            program.back(steps)
    return total


def keys_and_values(batch: int, length: int) -> list[tuple[Tensor, Tensor]]:
    """What the caches hold: the same random keys and values for all."""
    rng = torch.Generator().manual_seed(1)
    shape = (2, batch, MODEL.num_kv_heads, length, MODEL.head_size)
    pairs = [torch.randn(shape, generator=rng) for _ in range(MODEL.num_layers)]
    return [(keys, values) for keys, values in pairs]


def our_step(
    stack: Stack, x: Tensor, stored: list[tuple[Tensor, Tensor]], max_length: int | None
) -> Step:
    """Decode with our cache; without `max_length`, it grows."""
    batch, kv_heads, length, size = stored[0][0].shape
    cache = KeyValueCache(len(stored), batch, kv_heads, size, size, max_length=max_length)
    for first in range(0, length, CHUNK):
        with cache.step(min(CHUNK, length - first)):
            for i, pair in enumerate(stored):
                cache.layer(i).append(*(it[:, :, first : first + CHUNK] for it in pair))
    return Step(lambda: stack(x, cache), cache.rewind)


def their_steps(
    stack: Stack, x: Tensor, stored: list[tuple[Tensor, Tensor]], max_length: int
) -> dict[str, Program]:
    """Decode with transformers' Llama, which gets our weights, with both of its caches."""
    from transformers import (  # type: ignore[import-not-found]  # noqa: PLC0415 - only in a worker
        DynamicCache,
        LlamaConfig,
        LlamaModel,
        StaticCache,
    )

    config = LlamaConfig(
        vocab_size=MODEL.vocabulary,
        hidden_size=MODEL.num_hiddens,
        intermediate_size=MODEL.ffn_hiddens,
        num_hidden_layers=MODEL.num_layers,
        num_attention_heads=MODEL.num_heads,
        num_key_value_heads=MODEL.num_kv_heads,
        max_position_embeddings=2 * max_length,
        pad_token_id=None,
        attn_implementation="sdpa",
    )
    llama = LlamaModel(config).eval()
    copy_weights(stack, llama)
    dynamic, static = DynamicCache(config=config), StaticCache(config, max_length)
    for i, pair in enumerate(stored):
        dynamic.update(*pair, i)
        static.update(*pair, i)

    def take_back(steps: int) -> None:
        for layer in static.layers:
            layer.cumulative_length.sub_(steps)

    def run(cache: Any) -> Tensor:  # noqa: ANN401 - of transformers
        output: Tensor = llama(inputs_embeds=x, past_key_values=cache).last_hidden_state
        return output

    return {
        "dynamic": Step(lambda: run(dynamic), lambda steps: dynamic.crop(-steps)),
        "static": Step(lambda: run(static), take_back),
    }


@torch.no_grad()
def copy_weights(stack: Stack, llama: Any) -> None:  # noqa: ANN401 - of transformers
    """Give Llama the weights of our stack."""
    llama.norm.weight.copy_(stack.norm.weight)
    for block, theirs in zip(stack.blocks, llama.layers, strict=True):
        attention, network = theirs.self_attn, theirs.mlp
        pairs = {
            "attention.W_q": attention.q_proj,
            "attention.W_k": attention.k_proj,
            "attention.W_v": attention.v_proj,
            "attention.W_o": attention.o_proj,
            "attention_norm": theirs.input_layernorm,
            "network_norm": theirs.post_attention_layernorm,
            "gate": network.gate_proj,
            "up": network.up_proj,
            "down": network.down_proj,
        }
        for name, module in pairs.items():
            module.weight.copy_(block.get_submodule(name).weight)


def memory(batch: int, length: int) -> Program:
    """Move as many bytes as a step must read: read half of them, and write the other half."""
    numbers = count_pass(MODEL, length, batch=batch, bytes_each=4).total.bytes // 4
    source, target = torch.ones(numbers // 2), torch.empty(numbers // 2)
    return lambda: target.copy_(source)


def step_programs(batch: int, length: int) -> dict[str, Program]:
    """The programs of one case, checked: all give the same output."""
    torch.manual_seed(0)
    stack, stored = Stack(MODEL).eval(), keys_and_values(batch, length)
    x = torch.randn(batch, 1, MODEL.num_hiddens)
    max_length = length + STEPS
    steps: dict[str, Program] = {
        "ours": our_step(stack, x, stored, None),
        "ours, max_length": our_step(stack, x, stored, max_length),
    }
    try:
        steps |= their_steps(stack, x, stored, max_length)
    except ImportError:
        print("transformers could not be installed for the benchmark", file=sys.stderr)
    right = torch.as_tensor(steps["ours"]())
    for name, step in steps.items():
        output = right if name == "ours" else torch.as_tensor(step())
        if not torch.allclose(output, right, rtol=0, atol=TOLERANCE):
            raise AssertionError(f"{name} computes something else; its time would mean nothing")
        if isinstance(step, Step):
            step.back(1)
    return steps | {"memory": memory(batch, length)}


def measure_steps() -> Result:
    """Race the programs of each case; ratios are those of our faster cache."""
    row: Result = {}
    for batch, length in CASES:
        programs = step_programs(batch, length)
        result = race(programs, ROUNDS, stopwatch=step_seconds)
        best = min(("ours", "ours, max_length"), key=lambda name: result.one_call(name).median)
        about = f"{batch} × {length:,}"
        for name in programs:
            row[f"{about}, {name}: µs"] = result.one_call(name).median * 1e6
            if name != best:
                low, middle, high = result.times_as_fast(best, than=name)
                row[f"{about}, {best} is times as fast as {name}"] = middle
                row[f"{about}, {name}: quartiles"] = f"{low:.2f} to {high:.2f}"
    return row


# A text


class Writer(nn.Module):
    """A small language model that writes its likeliest token each time."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WRITER.vocabulary, WRITER.num_hiddens)
        self.stack = Stack(WRITER)

    def write(self, prompt: Tensor, *, cached: bool) -> Tensor:
        """Write `WRITTEN` tokens after the prompt."""
        cache = None
        if cached:
            sizes = WRITER.num_kv_heads, WRITER.head_size, WRITER.head_size
            cache = KeyValueCache(WRITER.num_layers, len(prompt), *sizes)
        text, new = prompt, prompt
        for _ in range(WRITTEN):
            hiddens = self.stack(self.embed(new if cached else text), cache)
            new = (hiddens[:, -1:] @ self.embed.weight.T).argmax(dim=-1)
            text = torch.cat([text, new], dim=1)
        return text


def measure_texts() -> Result:
    """Race a text written with a cache against one without: equal tokens, less work."""
    torch.manual_seed(0)
    writer, prompt = Writer().eval(), torch.randint(WRITER.vocabulary, (1, PROMPT))
    programs: dict[str, Callable[[], Tensor]] = {
        "recomputed": lambda: writer.write(prompt, cached=False),
        "cached": lambda: writer.write(prompt, cached=True),
    }
    first, second = (program() for program in programs.values())
    if not torch.equal(first, second):
        raise AssertionError("the two texts differ; their times mean nothing")
    result = race(programs, TEXT_ROUNDS)
    low, middle, high = result.times_as_fast("cached")
    seconds = {f"{name}: ms": result.one_call(name).median * 1e3 for name in programs}
    return seconds | {
        "cached is times as fast": middle,
        "quartiles": f"{low:.2f} to {high:.2f}",
    }


MEASURES = {"cached-step": measure_steps, "generation": measure_texts}


def row(name: str) -> Result:
    """Measure one row in a new process, where transformers can be imported."""
    layers.install_peers()
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench.decoding", name],
        cwd=ROOT,
        env=layers.environment(None),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name} could not be measured:\n{done.stderr[-3000:]}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def rows() -> dict[str, Callable[[], Result]]:
    """The rows of this file by name."""
    return {name: partial(row, name) for name in MEASURES}


if __name__ == "__main__":
    torch.set_num_threads(1)
    with torch.no_grad():
        print(json.dumps(MEASURES[sys.argv[1]]()))
