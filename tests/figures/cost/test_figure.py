"""The cost figure's Python half: its model, its traits and its text."""

from __future__ import annotations

from attnbook.costs.generation import LLAMA_3_8B, QWEN3_8B
from attnbook.figures import CostFigure
from tests.figures.cost.cases import MAKERS, SMALL


def test_the_model_is_the_one_that_was_given():
    assert CostFigure().model == LLAMA_3_8B
    assert MAKERS["small"]().model == SMALL
    assert MAKERS["Qwen3 8B"]().model == QWEN3_8B


def test_the_text_equals_one_by_hand():
    # In each of 3 layers: 2 · 7 · 32 · (4 + 2) weights of projections and 2 · 7 · 11 of the network
    # make 2,842. 7 · 13 make logits: 8,617 weights in all. Prefill: 2 texts times (32 tokens times
    # 8,526 and 91 logits), and 2 · 2 · 3 · 528 pairs · 4 heads · 32; decode: 2 · 8,617 and
    # 2 · 2 · 3 · 32 pairs · 4 · 32. The cache: 2 · 2 · 32 · 3 · 2 · 32 numbers of 4 bytes.
    assert repr(MAKERS["small"]()) == (
        "CostFigure: num_layers=3, num_heads=4, num_kv_heads=2, head_size=32\n"
        "length 32, batch 2, bytes_each 4\n"
        "Prefill: 1.36 million products, 33.7 KiB of weights and 96 KiB of keys and values read, "
        "10.2 products per byte\n"
        "Decode step: 66.4 thousand products, 33.7 KiB of weights and 96 KiB of keys and "
        "values read, 0.5 products per byte\n"
        "The KV cache holds 96 KiB (1.5 KiB for each token), the weights of the matrices 33.7 KiB."
    )


def test_fewer_kv_heads_need_fewer_bytes():
    figure = CostFigure()
    before = figure.cache_bytes
    figure.num_kv_heads = 1
    assert figure.cache_bytes == before // 8
    assert "The KV cache holds 128 MiB (16 KiB for each token)" in repr(figure)
