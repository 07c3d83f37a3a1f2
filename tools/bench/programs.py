"""The programs that compete, each made for one setting.

The only other package is `keras`: keras 3 on torch, whose AdditiveAttention is the only maintained
layer of queries by keys on PyPI. It does not project, so our projections run before it.
Toolkits for speech score one query at a time with the textbook's formula, and project the keys
once: that is "textbook, kept keys". d2l's layers are the textbook's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnbook
from tools.bench.cases import (
    Attend,
    Setting,
    padding_of,
    textbook_additive,
    textbook_dot,
    textbook_projected,
)

Maker = Callable[[Setting], Attend]
CACHED = {"cpu": 2**16, "cuda": 2**21}  # how many numbers fit into the second-level cache twice


class NotMeasurableError(Exception):
    """The reason why a program cannot run here."""


# Additive attention


def ours_additive(setting: Setting, *, keep_weights: bool = False) -> Attend:
    """Our layer; both kinds share their parameters."""
    size = setting.case.size
    layer = attnbook.AdditiveAttention(size, size, size, keep_weights=keep_weights)
    layer.W_q, layer.W_k, layer.w_v = setting.layer.W_q, setting.layer.W_k, setting.layer.w_v
    return layer.train(setting.case.training)


def ours_with_stored_keys(setting: Setting) -> Attend:
    """Our layer with keys that were projected before: a decoder's step."""
    layer, keys = setting.layer, setting.inputs[1]
    if not hasattr(layer, "project_keys"):
        raise NotMeasurableError("this version of the layer cannot store projected keys")
    projected = layer.project_keys(keys)
    return lambda queries, _, values, lens: layer.attend(queries, projected, values, lens)


def textbook_with_stored_keys(setting: Setting) -> Attend:
    """The textbook's formula with keys that were projected before."""
    layer = setting.layer
    projected = layer.W_k(setting.inputs[1])
    return lambda queries, _, values, lens: textbook_projected(
        layer, layer.W_q(queries), projected, values, lens
    )


def keras_additive(setting: Setting) -> Attend:
    """Let keras attend with what our layer projected."""
    os.environ["KERAS_BACKEND"] = "torch"
    try:
        import keras  # type: ignore[import-not-found]  # noqa: PLC0415 - only one row needs it
    except ImportError:
        raise NotMeasurableError("keras could not be installed for the benchmark") from None
    layer, theirs = setting.layer, keras.layers.AdditiveAttention()
    theirs.scale = layer.w_v.weight[0]
    theirs.built = True

    def attend(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor) -> Tensor:
        all_queries = torch.ones(queries.shape[:2], dtype=torch.bool, device=queries.device)
        masks = [all_queries, ~padding_of(keys, lens).squeeze(1)]
        output: Tensor = theirs([layer.W_q(queries), values, layer.W_k(keys)], mask=masks)
        return output

    return attend


def tanh_floor(setting: Setting) -> Attend:
    """Compute as many tanh as the textbook's score, of numbers that stay in the cache."""
    elements = setting.case.elements
    numbers = torch.randn(min(CACHED[setting.case.device], elements), device=setting.case.device)
    result = torch.empty_like(numbers)

    def run(*_: Tensor) -> Tensor:
        for _times in range(elements // len(numbers)):
            torch.tanh(numbers, out=result)
        return result

    return run


# Dot products


def ours_dot(setting: Setting, *, keep_weights: bool = False) -> Attend:
    """Our layer."""
    layer = attnbook.DotProductAttention(keep_weights=keep_weights)
    return layer.train(setting.case.training)


def sdpa(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor) -> Tensor:
    """Call torch's function in its fastest form: with an axis of heads, and the smallest mask."""
    visible = ~padding_of(keys, lens).unsqueeze(1)
    q, k, v = (tensor.unsqueeze(1) for tensor in (queries, keys, values))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible).squeeze(1)


def multihead(setting: Setting) -> Attend:
    """Make `nn.MultiheadAttention` of one head compute the same, without weights.

    It projects inputs and outputs with the identity, at the cost of four matrix products.
    """
    case = setting.case
    layer = nn.MultiheadAttention(case.size, 1, bias=False, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(case.size).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(case.size))
    layer = layer.to(case.device, getattr(torch, case.dtype)).train(case.training)

    def attend(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor) -> Tensor:
        padding = padding_of(keys, lens).squeeze(1)
        output: Tensor
        output, _ = layer(queries, keys, values, key_padding_mask=padding, need_weights=False)
        return output

    return attend


# Compiled, and on the GPU only


def compile_layer(layer: Attend) -> Attend:
    """The same layer under `torch.compile`."""
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        raise NotMeasurableError("there is no C++ compiler")
    program: Attend = torch.compile(layer, dynamic=False)
    return program


def flex(setting: Setting) -> Attend:
    """Compile torch's flex_attention with a mask of lengths; blocks of padding are skipped."""
    from torch.nn.attention.flex_attention import (  # noqa: PLC0415 - slow to import
        create_block_mask,
        flex_attention,
    )

    case, lens = setting.case, setting.lens

    def visible(batch: Tensor, _head: Tensor, _query: Tensor, key: Tensor) -> Tensor:
        return key < lens[batch]

    mask = create_block_mask(visible, case.batch, None, case.queries, case.keys, device=case.device)
    program = torch.compile(flex_attention, dynamic=False)

    def attend(queries: Tensor, keys: Tensor, values: Tensor, _: Tensor) -> Tensor:
        q, k, v = (tensor.unsqueeze(1) for tensor in (queries, keys, values))
        output = program(q, k, v, block_mask=mask)
        return output.squeeze(1)

    return attend


def sdpa_by(name: str) -> Maker:
    """Torch's function with one of its backends; flash accepts no mask."""
    from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: PLC0415 - slow to import

    backend = getattr(SDPBackend, name)

    def attend(*tensors: Tensor) -> Tensor:
        with sdpa_kernel(backend):
            return sdpa(*tensors)

    def make(setting: Setting) -> Attend:
        try:
            attend(*setting.inputs)
        except RuntimeError as error:
            raise NotMeasurableError(f"torch reports: {str(error).splitlines()[0]}") from None
        return attend

    return make


def varlen(setting: Setting) -> Attend:
    """Torch's attention over packed sequences; packing the keys is timed, too."""
    if setting.case.dtype == "float32":
        raise NotMeasurableError("torch's varlen attention supports half precision only")
    try:
        from torch.nn.attention.varlen import varlen_attn  # noqa: PLC0415 - not in every torch
    except ImportError:
        raise NotMeasurableError("this torch has no varlen attention") from None
    case = setting.case
    starts = torch.arange(case.batch + 1, device=case.device, dtype=torch.int32) * case.queries

    def attend(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor) -> Tensor:
        visible = ~padding_of(keys, lens).squeeze(1)
        ends = F.pad(lens.cumsum(0), (1, 0)).int()
        packed = (queries.flatten(0, 1), keys[visible], values[visible])
        q, k, v = (tensor.unsqueeze(1) for tensor in packed)  # one head
        output = varlen_attn(q, k, v, starts, ends, case.queries, case.keys)
        return output.view(queries.shape)  # type: ignore[union-attr] # a pair only on request

    return attend


ADDITIVE: dict[str, Maker] = {
    "textbook": lambda setting: lambda *inputs: textbook_additive(setting.layer, *inputs),
    "ours": ours_additive,
    "ours, weights kept": lambda setting: ours_additive(setting, keep_weights=True),
    "compiled": lambda setting: compile_layer(ours_additive(setting)),
    "keras": keras_additive,
    "textbook, kept keys": textbook_with_stored_keys,
    "ours, kept keys": ours_with_stored_keys,
    "tanh floor": tanh_floor,
}
DOT: dict[str, Maker] = {
    "textbook": lambda _: textbook_dot,
    "ours": ours_dot,
    "ours, weights kept": lambda setting: ours_dot(setting, keep_weights=True),
    "compiled": lambda setting: compile_layer(ours_dot(setting)),
    "sdpa": lambda _: sdpa,
    "multihead": multihead,
    "sdpa efficient": sdpa_by("EFFICIENT_ATTENTION"),
    "sdpa cudnn": sdpa_by("CUDNN_ATTENTION"),
    "sdpa math": sdpa_by("MATH"),
    "flex": flex,
    "varlen": varlen,
}
PROGRAMS: Mapping[str, Mapping[str, Maker]] = {"additive": ADDITIVE, "dot": DOT}
GPU_ONLY = {"sdpa efficient", "sdpa cudnn", "sdpa math", "flex", "varlen"}
