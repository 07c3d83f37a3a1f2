"""Public ways to compute attention, and their conventions as their own source has them.

Each answer was read in the library's code or documentation, in the version named. What is not
installed is skipped; the weekly run installs the newest of two.
"""

# ruff: noqa: PLC0415 - each function imports a library that may not be installed

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attnbook import DotProductAttention, MultiHeadAttention

# Read when the library is imported, and a test imports it before `make` does.
os.environ |= {"KERAS_BACKEND": "torch", "JAX_PLATFORMS": "cpu"}

USUAL = {
    "scale": "one_over_root_of_size",
    "soft_cap": "none",
    "order_of_keys": "does_not_matter",
    "row_sum": "one",
    "boolean_mask": "true_keeps",
    "float_mask": "added",
    "hidden_value": "spreads",
    "hidden_key": "spreads",
    "hidden_weight": "exactly_zero",
    "half_scores": "rounded",
    "half_weights": "rounded",
    **dict.fromkeys(("key_padding_mask", "lengths", "causal", "window", "dropout"), "no_argument"),
}
ZERO = {"empty_row": "zero", "empty_row_gradient": "finite"}
NAN = {"empty_row": "nan", "empty_row_gradient": "nan"}
MEAN = {"empty_row": "mean_of_values", "empty_row_gradient": "finite"}
SHARED = {"grouped_heads": "interleaved"}
ALONE = {"grouped_heads": "refused"}
DROPS = {"dropout": "on_weights"}
FROM_FIRST, FROM_LAST = {"causal": "from_first_key"}, {"causal": "from_last_key"}
STAYS_OUT = {"hidden_key": "stays_out"}
OURS = {"hidden_value": "stays_out"} | STAYS_OUT | FROM_LAST | ZERO | SHARED | DROPS
# torch's kernel on a CPU sums in float32, and rounds exponentials before it divides.
KERNEL = {"half_scores": "in_float32"}


class Library(NamedTuple):
    """A function of a library, and what its source says."""

    make: Callable[[], Any]
    needs: str
    expected: dict[str, str]


LIBRARIES: dict[str, Library] = {}


def library(name: str, needs: str, *expected: dict[str, str]) -> Callable[..., Any]:
    """Add a way to compute attention: the function imports it and returns what is called."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        answers = USUAL.copy()
        for more in expected:
            answers |= more
        LIBRARIES[name] = Library(make, needs, answers)
        return make

    return add


# torch 2.13: its documentation says that True takes part and that `is_causal` is `tril`.
library("torch", "torch", ZERO, FROM_FIRST, SHARED, DROPS, KERNEL)(
    lambda: scaled_dot_product_attention
)
# "True: not allowed to attend". With need_weights, bmm and softmax; else the kernel.
HIDES = {"boolean_mask": "true_hides", "key_padding_mask": "true_hides"}
library("torch's layer", "torch", HIDES, NAN, ALONE, DROPS)(lambda: nn.MultiheadAttention(8, 2))
library("attnbook", "torch", {"lengths": "first_keys"}, OURS)(DotProductAttention)
library("attnbook's layer", "torch", {"lengths": "first_keys"}, OURS)(
    lambda: MultiHeadAttention(8, 8, 8, 8, 2)
)


@library(
    "flex",
    "torch",
    {"empty_row": "zero", "empty_row_gradient": "undecided"},
    SHARED,
    STAYS_OUT,
    KERNEL,
)  # no gradient on a CPU; hidden scores are replaced by -inf
def flex():
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention


# transformers 5.24: `attn_weights + attention_mask`, softmax in float32, then `.to(query.dtype)`.
EAGER = NAN | DROPS | {"boolean_mask": "added_as_numbers"}


@library("transformers, llama", "transformers", EAGER, SHARED, {"scale": "given_by_caller"})
def llama():
    from transformers.models.llama.modeling_llama import eager_attention_forward

    return eager_attention_forward


@library("transformers, bert", "transformers", EAGER, ALONE)
def bert():
    from transformers.models.bert.modeling_bert import eager_attention_forward

    return eager_attention_forward


@library("transformers, gemma2", "transformers", EAGER, SHARED)
def gemma2():
    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    return eager_attention_forward


@library("transformers, gemma2 with its cap", "transformers", EAGER, SHARED, {"soft_cap": "capped"})
def gemma2_capped():
    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    def function(module, query, key, value, attention_mask, dropout=0.0):
        return eager_attention_forward(
            module, query, key, value, attention_mask, dropout, softcap=50.0
        )

    return function


@library("transformers, sdpa", "transformers", ZERO, FROM_FIRST, SHARED, DROPS, KERNEL)
def sdpa():
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    return sdpa_attention_forward


# x-transformers 2.31: `repeat(t, 'b kvh n d -> b (r kvh) n d')` tiles; a row that is entirely
# masked becomes 0; a filled mask keeps NaN of hidden keys out.
TILED = {"grouped_heads": "tiled"}


@library("x-transformers", "x_transformers", ZERO, FROM_LAST, STAYS_OUT, TILED, DROPS)
def x_transformers():
    from x_transformers.attend import Attend

    return Attend()


# `forward` does not pass its own `causal` on to `flash_attn`: only the constructor's counts.
@library(
    "x-transformers, flash", "x_transformers", ZERO, {"causal": "ignored"}, TILED, DROPS, KERNEL
)
def x_transformers_flash():
    from x_transformers.attend import Attend

    return Attend(flash=True)


# labml-nn 0.5: `scores.masked_fill(mask == 0, float('-inf'))`, axes (n, batch, width).
@library("labml", "labml_nn", NAN, STAYS_OUT, ALONE, {"float_mask": "read_as_boolean"})
def labml():
    from labml_nn.transformers.mha import MultiHeadAttention as Layer

    def adapter(queries, keys, values, mask=None):
        heads, size = queries.shape[1], queries.shape[-1]
        layer = Layer(heads, heads * size, bias=False).to(queries.dtype).eval()
        nn.init.zeros_(layer.value.linear.bias)
        nn.init.zeros_(layer.output.bias)
        for each in (layer.query.linear, layer.key.linear, layer.value.linear, layer.output):
            nn.init.eye_(each.weight)
        query, key, value = (it.permute(2, 0, 1, 3).flatten(2) for it in (queries, keys, values))
        mask = None if mask is None else mask[:, 0].permute(1, 2, 0)
        output = layer(query=query, key=key, value=value, mask=mask)
        return output.unflatten(2, (heads, size)).permute(1, 2, 0, 3)

    return adapter


# keras 3.15 on torch: `torch.where(mask, 0.0, _get_large_negative(dtype))` for the kernel, with
# `convert_to_tensor(mask, dtype="bool")`; the causal mask is `tril`.
KERAS = MEAN | FROM_FIRST | KERNEL | {"float_mask": "read_as_boolean"}


@library("keras, function", "keras", KERAS, SHARED)
def keras_function():
    from keras import ops

    def adapter(query, key, value, *, mask=None, is_causal=False):
        return ops.dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)

    return adapter


# A layer of float32, whatever it is given; `GroupedQueryAttention` is another one.
@library("keras, layer", "keras", KERAS, ALONE, {"half_weights": "in_float32"})
def keras_layer():
    from keras.layers import MultiHeadAttention as Layer

    def adapter(query, value, key, attention_mask=None, use_causal_mask=False):
        heads, size = query.shape[2:]
        query, value, key = (it.flatten(2) for it in (query, value, key))
        layer = Layer(heads, size, use_bias=False)
        layer.build(query.shape, value.shape, key.shape)
        eye = torch.eye(heads * size)
        into, back = eye.unflatten(1, (heads, size)), eye.unflatten(0, (heads, size))
        layer.set_weights([*[into.numpy()] * 3, back.numpy()])
        options = {"attention_mask": attention_mask, "use_causal_mask": use_causal_mask}
        return layer(query, value, key, **options).unflatten(2, (heads, size))

    return adapter


# jax 0.10: `jnp.where` with a large negative number; `_get_causal_mask` is `tril`; a window of 3
# shows 3 keys before the own; logits in float32, `softmax(…).astype(key.dtype)`.
@library(
    "jax",
    "jax",
    MEAN | {"empty_row_gradient": "undecided"},
    FROM_FIRST,
    SHARED,
    STAYS_OUT,
    {"lengths": "first_keys", "window": "own_key_not_counted", "half_scores": "in_float32"},
)
def jax():
    import jax
    import numpy as np

    def convert(tensor):
        array = (tensor.float() if tensor.is_floating_point() else tensor).detach().numpy()
        return jax.numpy.asarray(
            array, dtype="bfloat16" if tensor.dtype == torch.bfloat16 else None
        )

    def adapter(  # noqa: PLR0913
        query, key, value, bias=None, mask=None, *, is_causal=False, valid_lens=None, window=None
    ):
        options = {"bias": bias, "mask": mask, "key_value_seq_lengths": valid_lens}
        given = {name: convert(it) for name, it in options.items() if it is not None}
        if valid_lens is not None:
            given["key_value_seq_lengths"] = given["key_value_seq_lengths"].astype("int32")
        output = jax.nn.dot_product_attention(
            *map(convert, (query, key, value)),
            is_causal=is_causal,
            local_window_size=window,
            **given,
        )
        return torch.from_numpy(np.array(output.astype("float32"))).to(query.dtype)

    return adapter


NO_MASK = dict.fromkeys(("boolean_mask", "float_mask"), "no_argument")


# d2l 1.0.3, `masked_softmax`: `_sequence_mask(X.reshape(…), valid_lens, value=-1e6)`; three axes.
@library(
    "d2l",
    "d2l.torch",
    NO_MASK | MEAN | STAYS_OUT,
    {"lengths": "first_keys", "hidden_weight": "finite_fill", "grouped_heads": "undecided"},
)
def d2l():
    from d2l.torch import DotProductAttention as Layer

    def adapter(queries, keys, values, valid_lens=None):
        return Layer(dropout=0.0)(queries, keys, values, valid_lens)

    return adapter


# vit-pytorch 1.26, `vit.Attention`: `matmul(q, k^T) * dim_head ** -0.5`, softmax, no mask.
HIDING = ("empty_row", "empty_row_gradient", "hidden_value", "hidden_key", "hidden_weight")


@library("vit-pytorch", "vit_pytorch", NO_MASK | dict.fromkeys(HIDING, "undecided"), ALONE)
def vit_pytorch():
    from vit_pytorch.vit import Attention

    def adapter(queries, keys, values):
        heads, size = queries.shape[1], queries.shape[3]
        layer = Attention(heads * size, heads, size).eval()
        parts = tuple(it.transpose(1, 2).flatten(2) for it in (queries, keys, values))
        layer.norm = layer.to_out = nn.Identity()
        del layer.to_qkv
        layer.to_qkv = lambda _: SimpleNamespace(chunk=lambda *_, **__: parts)
        return layer(parts[0]).unflatten(2, (heads, size)).transpose(1, 2)

    return adapter
