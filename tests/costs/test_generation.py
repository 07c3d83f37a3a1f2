"""What generation costs: counted by hand, against a real cache, and against counted products."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attnbook import KeyValueCache, MultiHeadAttention, rotary_encoding
from attnbook.costs.generation import (
    GPT_OSS_20B,
    LLAMA_3_8B,
    LLAMA_3_70B,
    MISTRAL_7B,
    QWEN3_8B,
    ModelSizes,
    Work,
    cache_bytes,
    count_pass,
    parameters,
)

SMALL = ModelSizes(3, 6, 2, 5, 7, 11, 13)
ALL = (SMALL, LLAMA_3_8B, LLAMA_3_70B, MISTRAL_7B, QWEN3_8B, GPT_OSS_20B)
BATCH = 2


class Network(nn.Module):
    """A feed-forward network with a gate."""

    def __init__(self, model):
        super().__init__()
        self.gate, self.up = (
            nn.Linear(model.num_hiddens, model.ffn_hiddens, bias=False) for _ in range(2)
        )
        self.down = nn.Linear(model.ffn_hiddens, model.num_hiddens, bias=False)

    def forward(self, vectors):
        return self.down(nn.functional.silu(self.gate(vectors)) * self.up(vectors))


class Model(nn.Module):
    """A small model with our attention, without norms; it computes logits of the last token."""

    def __init__(self, model):
        super().__init__()
        sizes = (model.num_hiddens,) * 4
        heads = {"num_kv_heads": model.num_kv_heads, "head_size": model.head_size}
        rotary = partial(rotary_encoding, layout="halves")
        self.embed = nn.Embedding(model.vocabulary, model.num_hiddens)
        self.attentions = nn.ModuleList(
            MultiHeadAttention(*sizes, model.num_heads, rotary=rotary, **heads)
            for _ in range(model.num_layers)
        )
        self.networks = nn.ModuleList(Network(model) for _ in range(model.num_layers))
        self.output = nn.Linear(model.num_hiddens, model.vocabulary, bias=False)

    def forward(self, tokens, cache):
        x = self.embed(tokens)
        with cache.step(tokens.shape[1]):
            for i, (attention, network) in enumerate(
                zip(self.attentions, self.networks, strict=True)
            ):
                x = x + attention(x, x, x, cache=cache.layer(i))
                x = x + network(x)
        return self.output(x[:, -1:])


def cache_of(model, **options):
    sizes = (model.num_layers, BATCH, model.num_kv_heads, model.head_size, model.head_size)
    return KeyValueCache(*sizes, **options)


def products_of(network, tokens, cache):
    """The products that torch counts in one pass; one is two operations there."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(torch.zeros(BATCH, tokens, dtype=torch.long), cache)
    return counter.get_total_flops() // 2


# By hand


def test_a_token_of_llama_3_8b_needs_131072_bytes_in_16_bits():
    # keys and values, 32 layers, 8 heads of 128, 2 bytes
    assert cache_bytes(LLAMA_3_8B, 1) == 2 * 32 * 8 * 128 * 2 == 131_072
    assert cache_bytes(LLAMA_3_8B, 8192, batch=4) == 4 * 2**30
    assert cache_bytes(LLAMA_3_70B, 1) == 2 * 80 * 8 * 128 * 2 == 327_680


def test_layers_with_a_window_hold_the_window_and_the_sinks():
    assert cache_bytes(MISTRAL_7B, 4096) == cache_bytes(MISTRAL_7B, 100_000) == 2**29
    # 12 layers hold all positions, 12 only 128; a layer's position has 2 · 8 · 64 numbers
    assert cache_bytes(GPT_OSS_20B, 1000) == 12 * (1000 + 128) * 2 * 8 * 64 * 2
    model = ModelSizes(3, 6, 2, 5, 7, 11, 13, window=17, windowed_layers=1, sinks=4)
    assert cache_bytes(model, 100, bytes_each=1) == (2 * 100 + 21) * 2 * 2 * 5
    assert cache_bytes(model, 19, bytes_each=1) == 3 * 19 * 2 * 2 * 5


def test_a_step_equals_the_one_counted_by_hand():
    found = count_pass(SMALL, 10, batch=2, bytes_each=4)
    # 3 layers, 2 texts, 6 heads, 10 keys of 5 numbers: compared, and their values weighed
    assert found.attention.products == 2 * 3 * 2 * 6 * 10 * 5
    assert found.attention.bytes == 4 * 2 * 3 * 2 * 2 * 10 * 5
    # W_q and W_o 7 · 30, W_k and W_v 7 · 10; three matrices 7 · 11; the output 7 · 13
    weights = 3 * (2 * 210 + 2 * 70 + 3 * 77) + 91
    assert found.matrices == Work(2 * weights, 4 * weights)
    assert found.total == Work(3600 + 2 * weights, 4 * (1200 + weights))
    assert found.matrices.products_per_byte == 0.5


def test_prefill_uses_each_weight_for_all_tokens_and_half_of_the_pairs():
    found = count_pass(SMALL, 10, 10, bytes_each=4)
    assert found.attention.products == 2 * 3 * 6 * 5 * 55
    assert found.matrices == Work(3 * 10 * (2 * 210 + 2 * 70 + 3 * 77) + 91, 4 * (3 * 791 + 91))


def test_a_token_reads_only_the_experts_that_it_chooses():
    model = ModelSizes(1, 1, 1, 2, 3, 5, 7, gated=False, experts=11, active_experts=2)
    attention, router, network, logits = 4 * 6, 33, 30, 21
    assert parameters(model) == attention + router + 11 * network + 2 * logits
    one = count_pass(model, 1, bytes_each=1).matrices
    assert one == Work(*(attention + router + 2 * network + logits,) * 2)
    many = count_pass(model, 8, 8, bytes_each=1).matrices
    assert many.bytes == attention + router + 11 * network + logits
    assert many.products == 8 * (attention + router + 2 * network) + logits


# Numbers of all matrices of the models that transformers 5.23 makes of these sizes.
PARAMETERS = {
    LLAMA_3_8B: 8_029_995_008,
    LLAMA_3_70B: 70_552_387_584,
    MISTRAL_7B: 7_241_465_856,
    QWEN3_8B: 8_190_427_136,
    GPT_OSS_20B: 20_907_786_240,
}


@pytest.mark.parametrize("model", PARAMETERS)
def test_published_models_have_the_published_number_of_parameters(model):
    assert parameters(model) == PARAMETERS[model]


def test_gpt_oss_reads_its_3_6_billion_active_parameters_in_a_step():
    assert round(count_pass(GPT_OSS_20B, 1).matrices.bytes / 2 / 1e9, 2) == 3.61


# Against tensors


def test_the_bytes_are_those_of_a_real_cache_with_a_slot_for_padding():
    for length in (3, 8):
        cache = cache_of(SMALL, max_length=length, dtype=torch.bfloat16)
        assert cache.nbytes == cache_bytes(SMALL, length + 1, batch=BATCH)
    assert cache_of(SMALL, max_length=7).nbytes == cache_bytes(SMALL, 8, batch=BATCH, bytes_each=4)


@pytest.mark.parametrize("sinks", [0, 2])
def test_a_real_cache_with_a_window_holds_as_many_positions_as_are_counted(sinks):
    model = ModelSizes(**asdict(SMALL) | {"window": 5, "windowed_layers": 3, "sinks": sinks})
    cache, network = cache_of(model, window=5, sinks=sinks), Model(model)
    for length in range(1, 12):
        with torch.no_grad():
            network(torch.zeros(BATCH, 1, dtype=torch.long), cache)
        # After a step, the oldest key of the window is evicted: no later token sees it.
        later = cache_bytes(model, length + 1, batch=BATCH)
        a_position = cache_bytes(model, 1, batch=BATCH)
        assert int(cache.lengths[0]) == min(length, later // a_position - 1)


def test_the_parameters_are_those_of_real_matrices():
    assert parameters(SMALL) == sum(it.numel() for it in Model(SMALL).parameters())


@pytest.mark.parametrize("max_length", [None, 23])
def test_the_products_of_prefill_and_of_a_step_are_those_that_torch_counts(max_length):
    network, cache = Model(SMALL), cache_of(SMALL, max_length=max_length)
    slots = 8 if max_length is None else 24  # one is for padding
    counted = count_pass(SMALL, 7, 7, batch=BATCH)
    # The layer computes hidden pairs, too: 7 queries with all slots instead of 1 + 2 + … + 7.
    all_pairs = counted.attention.products * 7 * slots // 28
    assert products_of(network, 7, cache) == counted.matrices.products + all_pairs
    step = count_pass(SMALL, slots + (max_length is None), batch=BATCH)
    assert products_of(network, 1, cache) == step.total.products


@pytest.mark.parametrize(("window", "sinks"), [(1, 0), (4, 0), (4, 3), (30, 2)])
@pytest.mark.parametrize("tokens", [1, 3, 13])
def test_pairs_are_those_that_a_cache_makes_visible(window, sinks, tokens):
    changes = {"window": window, "windowed_layers": 3, "sinks": sinks}
    model = ModelSizes(**asdict(SMALL) | changes)
    cache = cache_of(model, window=window, sinks=sinks)
    zeros = partial(torch.zeros, BATCH, model.num_kv_heads)
    for new in (13 - tokens, tokens) if tokens < 13 else (13,):
        with cache.step(new) as step:
            for i in range(3):
                cache.layer(i).append(zeros(new, 5), zeros(new, 5))
    counted = count_pass(model, 13, tokens, batch=BATCH).attention
    pairs, keys = step.visible.sum(), step.visible.any(dim=-2).sum()
    assert counted.products == 2 * 3 * 6 * 5 * pairs
    assert counted.bytes == 2 * 2 * 3 * 2 * 5 * keys


@pytest.mark.parametrize("model", ALL)
def test_chunks_compute_as_many_products_with_keys_as_prefill(model):
    whole = count_pass(model, 300, 300).attention
    chunks = [count_pass(model, end, 50).attention for end in range(50, 301, 50)]
    assert sum(it.products for it in chunks) == whole.products
    assert sum(it.bytes for it in chunks) >= whole.bytes


# Refusals


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 0}, "num_layers must be at least 1, got 0"),
        ({"head_size": 2.0}, "head_size must be a whole number, got 2.0"),
        ({"num_kv_heads": 4}, "num_kv_heads must divide num_heads=6, got 4"),
        ({"window": 0, "windowed_layers": 1}, "window must be at least 1, got 0"),
        ({"window": 5, "windowed_layers": 4}, "windowed_layers must lie in [0, 3], got 4"),
        (
            {"window": 5, "windowed_layers": None},
            "windowed_layers must be a whole number, got None",
        ),
        (
            {"window": 5},
            "window and windowed_layers must be given together, got window=5 and windowed_layers=0",
        ),
        ({"sinks": 1}, "sinks must be 0 without a window, got 1"),
        ({"sinks": -1}, "sinks must be at least 0, got -1"),
        ({"active_experts": 2}, "active_experts must lie in [0, 1], got 2"),
    ],
)
def test_impossible_sizes_of_a_model_are_refused(changes, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        ModelSizes(**asdict(SMALL) | changes)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (lambda: cache_bytes(SMALL, 0), "length must be at least 1, got 0"),
        (lambda: cache_bytes(SMALL, 1, batch=1.5), "batch must be a whole number, got 1.5"),
        (lambda: count_pass(SMALL, 3, 0), "tokens must be at least 1, got 0"),
        (lambda: count_pass(SMALL, 3, 4), "tokens must be at most length=3, got 4"),
    ],
)
def test_impossible_lengths_are_refused(count, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        count()
