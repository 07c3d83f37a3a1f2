"""Which path does this call take? The formulas, or a fast path.

The sizes are those from which on a fast path was faster than the formula in `make bench`. Below
them, and where `needs_fallback` is true, layers run the formulas. An exported program serves all
sizes, so it does not depend on any.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from attnbook.checks import autocast_is_on
from attnbook.fused.blocks import BLOCK
from attnbook.reading import needs_fallback

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

# How many scores it takes for `fast_weigh`.
SCORES = 2**16
# How many scores a dot-product layer weighs by the formula, and stores the weights of. With more,
# torch's kernel runs, and weights are computed when they are read. The same on all devices.
SCORES_STORED = 2**16
# How many numbers keys have, for additive attention to look whether padding must be cleared.
NUMBERS_CLEARED = 2**16
# How many hidden units it takes for blocks: in inference, in training, and with one query,
# where nothing is multiplied up.
UNITS, UNITS_TRAINING, UNITS_OF_ONE = 2**16, 2**18, 2**21
# Whether torch computes tanh so fast that one query takes the formula at any size.
FAST_TANH = torch.backends.cpu.get_cpu_capability() == "AVX512"
# How many multiplications an example takes, for torch's kernel to get queries, keys and
# values padded to one width, as it requires; and for one call of it per example.
PRODUCTS_WIDENED, PRODUCTS_SLICED = 2**22, 2**23
# How many times as many scores as their queries and keys have numbers (or as a block has hidden
# units, if these are more) it takes for additive attention without stored weights to stream. With
# fewer, whole scores and weights hardly need memory, and are computed faster.
STREAMED = 1


def runs_steps(layer: object, own: type, *steps: str) -> bool:
    """Whether these methods of a layer are those of a layer of the book."""
    kind = type(layer)
    return kind is own or all(getattr(kind, step) is getattr(own, step) for step in steps)


def fast_weigh_pays(scores: Tensor) -> bool:
    """Whether `fast_weigh` takes these masked scores, and is faster than `weighting.weigh`."""
    if torch.compiler.is_compiling() or scores.numel() < max(SCORES, 1):
        return False
    return not needs_fallback(scores)


def blocks_pay(queries: Tensor, keys: Tensor, hiddens: int, others: Iterable[Tensor]) -> bool:
    """Whether additive scores are faster in blocks.

    Args:
        queries, keys: projected or not.
        others: the other tensors that may need gradients: values and parameters.
    """
    if torch.compiler.is_exporting():
        return False
    units = math.prod(queries.shape[:-1]) * keys.shape[-2] * hiddens
    is_one = queries.shape[-2] == 1
    if units < max(UNITS_OF_ONE if is_one else UNITS, 1) or (is_one and FAST_TANH):
        return False
    tensors = [queries, keys, *others]
    return units >= (UNITS_TRAINING if needs_gradient(*tensors) else 0) and not needs_fallback(
        *tensors
    )


def streaming_pays(queries: Tensor, keys: Tensor) -> bool:
    """Whether the scores of projected queries and keys are so many that streaming saves memory."""
    scores = math.prod(queries.shape[:-1]) * keys.shape[-2]
    return scores > STREAMED * max(BLOCK, queries.numel() + keys.numel())


def needs_gradient(*tensors: Tensor) -> bool:
    """Whether a gradient may be computed."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def kernel_pays(queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Whether torch's own kernel takes these, and is faster than the formula."""
    widened = queries.shape[-1] != values.shape[-1]
    if torch.compiler.is_exporting():
        return not widened
    if widened and products(queries, keys, values) < PRODUCTS_WIDENED:
        return False
    return queries.numel() * keys.numel() > 0 and not needs_fallback(queries, keys, values)


def kernel_takes(bias: Tensor | None, queries: Tensor) -> bool:
    """Whether torch's kernel adds such a bias as the formula does: no gradient, not rounded."""
    if bias is None:
        return True
    if autocast_is_on(queries.device.type):
        return False  # it would round the bias
    exact = isinstance(bias, torch.Tensor) and bias.dtype in (torch.float32, torch.float64)
    return exact and bias.dtype == queries.dtype and not needs_gradient(bias)


def looking_pays(keys: Tensor) -> bool:
    """Whether it costs less to look for large numbers among keys than to clear padding.

    In half precision, products of ordinary numbers may overflow.
    """
    return keys.numel() > NUMBERS_CLEARED and keys.dtype.itemsize >= 4


def has_many_scores(queries: Tensor, keys: Tensor) -> bool:
    """Whether weights are so many that they are computed only when they are read."""
    tensors = isinstance(queries, torch.Tensor) and isinstance(keys, torch.Tensor)
    if not tensors or keys.dim() < 2 or torch.compiler.is_exporting():
        return False
    return math.prod(queries.shape[:-1]) * keys.shape[-2] > SCORES_STORED


def slices_pay(queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Whether a call for each example, up to its length, is worth many calls."""
    return products(queries, keys, values) >= PRODUCTS_SLICED


def products(queries: Tensor, keys: Tensor, values: Tensor) -> int:
    """Count the multiplications of one example's scores, or of its output if these are more."""
    return queries.shape[-2] * keys.shape[-2] * max(queries.shape[-1], values.shape[-1])
