"""Counting what a language model costs while it generates: bytes of its cache, bytes, products.

A model processes a prompt in one pass (prefill), then each new token in a pass of its own
(decode). Every pass reads all weights. Prefill uses each weight for many tokens, so arithmetic
limits it; decode uses it for one token of each text, so reading memory limits it.

Left out are embeddings (a lookup), norms, biases and activations: small next to the matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attnbook.checks import check_size, check_sizes, check_whole_number
from attnbook.costs.counting import key_value_bytes, projection_parameters

HALF = 2  # bytes of a number in 16 bits


def _check_count(name: str, count: int, most: int | None = None) -> None:
    check_whole_number(name, count)
    if count < 0 or (most is not None and count > most):
        limit = "be at least 0" if most is None else f"lie in [0, {most}]"
        raise ValueError(f"{name} must {limit}, got {count}")


@dataclass(frozen=True)
class ModelSizes:
    """The sizes of a decoder-only Transformer, as its configuration has them.

    Args:
        num_layers: blocks of attention and feed-forward network.
        num_heads, num_kv_heads: heads of queries, and of keys and values in the cache.
        head_size: of a query, a key and a value.
        num_hiddens: the size of a token's vector between the blocks.
        ffn_hiddens: hidden units of a feed-forward network.
        vocabulary: how many tokens the output can be.
        window: how many positions a token sees in a layer that has a window, its own included.
        windowed_layers: how many layers have the window; the others see all.
        sinks: how many first positions stay visible in layers with a window.
        gated: whether a feed-forward network has a third matrix, for a gate.
        experts: how many feed-forward networks a layer has, if a router chooses among them.
        active_experts: how many of them process a token.

    Raises:
        TypeError, ValueError: a size is out of its range.

    Example:
        >>> from attnbook.costs.generation import ModelSizes, parameters
        >>> sizes = {"num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "head_size": 8}
        >>> model = ModelSizes(**sizes, num_hiddens=32, ffn_hiddens=64, vocabulary=100)
        >>> parameters(model)
        24832
    """

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_size: int
    num_hiddens: int
    ffn_hiddens: int
    vocabulary: int
    window: int | None = None
    windowed_layers: int = 0
    sinks: int = 0
    gated: bool = True
    experts: int = 1
    active_experts: int = 1

    def __post_init__(self) -> None:
        names = ("num_layers", "num_heads", "num_kv_heads", "head_size", "num_hiddens")
        more = ("ffn_hiddens", "vocabulary", "experts", "active_experts")
        check_sizes({name: getattr(self, name) for name in (*names, *more)})
        if self.num_heads % self.num_kv_heads != 0:
            rule = f"num_kv_heads must divide num_heads={self.num_heads}"
            raise ValueError(f"{rule}, got {self.num_kv_heads}")
        most = {"windowed_layers": self.num_layers, "active_experts": self.experts}
        for name, limit in most.items():
            _check_count(name, getattr(self, name), limit)
        _check_count("sinks", self.sinks)
        if self.window is not None:
            check_size("window", self.window)
        if (self.window is None) != (self.windowed_layers == 0):
            raise ValueError(
                "window and windowed_layers must be given together, got "
                f"window={self.window} and windowed_layers={self.windowed_layers}"
            )
        if self.window is None and self.sinks > 0:
            raise ValueError(f"sinks must be 0 without a window, got {self.sinks}")


# Published sizes. The configurations are `config.json` on each model's page of huggingface.co.

# Llama Team (2024), The Llama 3 Herd of Models, table 3; 128,256 tokens with the special ones, as
# in the configurations meta-llama/Meta-Llama-3-8B and -70B and in torchtune's `llama3_8b`.
LLAMA_3_8B = ModelSizes(32, 32, 8, 128, 4096, 14_336, 128_256)
LLAMA_3_70B = ModelSizes(80, 64, 8, 128, 8192, 28_672, 128_256)

# Jiang et al. (2023), Mistral 7B, table 1; the defaults of `MistralConfig` of transformers.
MISTRAL_7B = ModelSizes(32, 32, 8, 128, 4096, 14_336, 32_000, window=4096, windowed_layers=32)

# The configuration Qwen/Qwen3-8B; Qwen Team (2025), Qwen3 Technical Report, table 1.
QWEN3_8B = ModelSizes(36, 32, 8, 128, 4096, 12_288, 151_936)

# The configuration openai/gpt-oss-20b; OpenAI (2025), gpt-oss model card, section 2. Every second
# layer has the window. Its sinks are learned scores, not positions: they need no cache. The
# published weights of its experts have 4.25 bits each, fewer bytes than are counted here.
GPT_OSS_20B = ModelSizes(
    *(24, 64, 8, 64, 2880, 2880, 201_088),
    window=128,
    windowed_layers=12,
    experts=32,
    active_experts=4,
)


class Work(NamedTuple):
    """What a part of a pass computes and reads; a product is a multiplication and its addition.

    Example:
        >>> from attnbook.costs.generation import Work
        >>> Work(products=600, bytes=200).products_per_byte
        3.0
    """

    products: int
    bytes: int

    @property
    def products_per_byte(self) -> float:
        """How many products share a byte that is read: few means that memory is the limit."""
        return self.products / self.bytes


class Pass(NamedTuple):
    """The work of a pass: attention, which grows with the length of a text, and matrices.

    Example:
        >>> from attnbook.costs.generation import LLAMA_3_8B, count_pass
        >>> step = count_pass(LLAMA_3_8B, length=8192)
        >>> step.total.bytes == step.attention.bytes + step.matrices.bytes
        True
    """

    attention: Work  # scores and pooling: reads keys and values
    matrices: Work  # projections, feed-forward networks, logits: reads weights

    @property
    def total(self) -> Work:
        """Both parts together."""
        return Work(*(sum(parts) for parts in zip(*self, strict=True)))


def parameters(model: ModelSizes) -> int:
    """Count the weights of all matrices, the embeddings and the output matrix included.

    Example:
        >>> from attnbook.costs.generation import GPT_OSS_20B, LLAMA_3_8B, parameters
        >>> round(parameters(LLAMA_3_8B) / 1e9, 2), round(parameters(GPT_OSS_20B) / 1e9, 1)
        (8.03, 20.9)
    """
    layer = _attention_weights(model) + _router(model) + model.experts * _network(model)
    return model.num_layers * layer + 2 * model.vocabulary * model.num_hiddens


def cache_bytes(model: ModelSizes, length: int, *, batch: int = 1, bytes_each: int = HALF) -> int:
    """Count the bytes of the keys and values of some texts.

    A layer with a window holds at most `window` positions and its sinks.

    Args:
        model: its sizes.
        length: tokens of each text.
        batch: how many texts.
        bytes_each: of a number, 2 in 16 bits.

    Raises:
        TypeError, ValueError: a number is no whole number from 1 on.

    Example:
        >>> from attnbook.costs.generation import LLAMA_3_8B, MISTRAL_7B, cache_bytes
        >>> cache_bytes(LLAMA_3_8B, 1), cache_bytes(LLAMA_3_8B, 8192)
        (131072, 1073741824)
        >>> cache_bytes(MISTRAL_7B, 32_768) == cache_bytes(MISTRAL_7B, 4096)
        True
    """
    check_sizes({"length": length, "batch": batch, "bytes_each": bytes_each})
    return _key_value_bytes(model, batch * length, batch * _held(model, length), bytes_each)


def count_pass(
    model: ModelSizes, length: int, tokens: int = 1, *, batch: int = 1, bytes_each: int = HALF
) -> Pass:
    """Count the products and the bytes read of a pass with a cache: prefill, decode, or a chunk.

    With one token it is a step of decoding, with `tokens=length` it is prefill. A batch shares the
    weights, but each text has its own cache.

    Counted are products with visible keys, logits of the last token of each text, and each weight,
    key and value once, as if it were read only once in a pass. Experts are as many as the tokens
    could choose if they all chose different ones.

    Args:
        model: its sizes.
        length: tokens of each text, those of this pass included.
        tokens: how many of them this pass processes, the last ones.
        batch: how many texts.
        bytes_each: of a number, 2 in 16 bits.

    Raises:
        TypeError, ValueError: a number is no whole number from 1 on, or there are more tokens than
            `length`.

    Example:
        >>> from attnbook.costs.generation import LLAMA_3_8B, count_pass
        >>> step, prefill = count_pass(LLAMA_3_8B, 8192), count_pass(LLAMA_3_8B, 8192, 8192)
        >>> round(step.total.products_per_byte, 2), round(prefill.total.products_per_byte)
        (0.6, 4102)
        >>> steps = count_pass(LLAMA_3_8B, 8192, batch=64)
        >>> round(steps.matrices.products_per_byte), round(steps.attention.products_per_byte)
        (32, 2)
    """
    sizes = {"length": length, "tokens": tokens, "batch": batch, "bytes_each": bytes_each}
    check_sizes(sizes)
    if tokens > length:
        raise ValueError(f"tokens must be at most length={length}, got {tokens}")
    full = model.num_layers - model.windowed_layers
    pairs = full * _visible_pairs(length, tokens, length)
    pairs += model.windowed_layers * _visible_pairs(length, tokens, _held(model, length))
    seen = _held(model, length, tokens)
    attention = Work(
        2 * batch * pairs * model.num_heads * model.head_size,
        _key_value_bytes(model, batch * length, batch * seen, bytes_each),
    )
    every = _attention_weights(model) + _router(model)
    read = min(model.experts, batch * tokens * model.active_experts)
    logits = model.vocabulary * model.num_hiddens
    for_a_token = model.num_layers * (every + model.active_experts * _network(model))
    weights = model.num_layers * (every + read * _network(model)) + logits
    matrices = Work(batch * (tokens * for_a_token + logits), bytes_each * weights)
    return Pass(attention, matrices)


def _held(model: ModelSizes, length: int, tokens: int = 1) -> int:
    """Count the positions that the last tokens of a text see in a layer with a window."""
    if model.window is None:
        return length
    return min(length, model.sinks + model.window + tokens - 1)


def _visible_pairs(length: int, tokens: int, most: int) -> int:
    """Count the keys that all last tokens see, each its own and those before, at most `most`."""
    last, first = (
        min(n, most) * (min(n, most) + 1) // 2 + max(0, n - most) * most
        for n in (length, length - tokens)
    )
    return last - first


def _key_value_bytes(model: ModelSizes, full: int, windowed: int, bytes_each: int) -> int:
    of_layers = (full, model.num_layers - model.windowed_layers), (windowed, model.windowed_layers)
    sizes = model.num_kv_heads, model.head_size
    return sum(
        key_value_bytes(positions, *sizes, layers=layers, bytes_each=bytes_each)
        for positions, layers in of_layers
        if layers > 0
    )


def _attention_weights(model: ModelSizes) -> int:
    sizes = model.num_hiddens, model.num_heads, model.head_size, model.num_kv_heads
    return projection_parameters(*sizes)


def _network(model: ModelSizes) -> int:
    return (3 if model.gated else 2) * model.num_hiddens * model.ffn_hiddens


def _router(model: ModelSizes) -> int:
    return model.num_hiddens * model.experts if model.experts > 1 else 0
