"""Torch as if on another processor, whose results differ in the last place.

Processors round exponentials, sums and matrix products differently. `Jitter` moves each such
result by a few units of its last place; each seed represents another processor.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# Of the last place, up or down. Two kinds of processors differed by one, and the differences of a
# sum add up; the rest is margin for other processors.
UNITS = 8  # a power of two

# Other operations are rounded equally everywhere: adding, multiplying, dividing two numbers, √.
ROUNDED = frozenset(
    # elementwise
    "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh atan2 sigmoid silu gelu erf softplus "
    "log_sigmoid_forward pow rsqrt special_entr xlogy logaddexp addcmul addcdiv lerp "
    # sums
    "sum mean var std var_mean norm linalg_vector_norm prod cumsum cumprod logsumexp "
    "logcumsumexp _softmax _log_softmax native_layer_norm native_batch_norm native_group_norm "
    "_cdist_forward _euclidean_dist mse_loss nll_loss_forward "
    # products of matrices
    "mm bmm mv dot vdot addmm addmv addbmm baddbmm convolution mkldnn_rnn_layer flex_attention "
    # random numbers: the same bits, then transformed by logarithm and cosine
    "randn normal normal_functional exponential".split()
)
FAMILIES = re.compile(r"_scaled_dot_product_|.*_backward(_data|_input|_weight)?$")


class Layout(NamedTuple):
    """The bits of a dtype, as a whole number of its size."""

    bits: torch.dtype
    unsigned: type[np.unsignedinteger]
    least: int  # the smallest number with all its digits
    most: int  # twice this one is infinite
    zeros: int  # last bits that are 0 by exact arithmetic, and hardly ever by chance


LAYOUTS = {
    torch.float64: Layout(torch.int64, np.uint64, 1 << 52, 0x7FE << 52, (1 << 26) - 1),
    torch.float32: Layout(torch.int32, np.uint32, 1 << 23, 0xFE << 23, (1 << 12) - 1),
    torch.bfloat16: Layout(torch.int16, np.uint16, 1 << 7, 0xFE << 7, (1 << 4) - 1),
    torch.float16: Layout(torch.int16, np.uint16, 1 << 10, 0x1E << 10, (1 << 4) - 1),
}


@cache
def is_rounded(name: str) -> bool:
    """Whether processors may differ in the last place of an operation's result."""
    return name in ROUNDED or FAMILIES.match(name) is not None


def hash_bits(magnitudes: Any, salt: int) -> Any:  # noqa: ANN401 - numpy's arrays of any size
    """32 pseudo-random bits for each number; the same for the same number and salt."""
    if magnitudes.itemsize == 8:
        magnitudes = magnitudes ^ (magnitudes >> np.uint64(32))
    mixed = (magnitudes.astype(np.uint32) ^ np.uint32(salt)) * np.uint32(0x9E3779B1)
    mixed ^= mixed >> np.uint32(15)
    mixed *= np.uint32(0x85EBCA77)
    return mixed ^ (mixed >> np.uint32(13))


def move(result: Tensor, salt: int) -> None:
    """Move numbers, in place, by up to `UNITS` of their last place; exact ones stay."""
    layout = LAYOUTS[result.dtype]
    bits = np.atleast_1d(result.view(layout.bits).numpy().view(layout.unsigned))
    # Without the sign, because a number and its negative are rounded equally.
    magnitudes = bits & layout.unsigned(torch.iinfo(layout.bits).max)
    random_bits = hash_bits(magnitudes, salt)
    steps = (random_bits & np.uint32(2 * UNITS - 1)).astype(layout.unsigned) - layout.unsigned(
        UNITS
    )
    if layout.bits is torch.int16:
        # It is rounded from 32 bits, so it differs only where those are near the middle.
        steps = np.sign(steps.view(np.int16)).view(np.uint16) * (random_bits >> np.uint32(26) == 0)
    inexact = (bits & layout.unsigned(layout.zeros)) != 0
    bits += steps * (inexact & (magnitudes >= layout.least) & (magnitudes < layout.most))


class Jitter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types here
    """A context in which torch rounds like another processor, which the seed selects.

    The change of a result depends on its operation, its value and the seed only, as on a real
    processor, so equal computations stay equal.
    """

    supports_higher_order_operators = True  # such as flex_attention

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Allow torch to compile, which flex_attention does by itself."""
        return True

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - torch's own signature
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """Run one operation, and move its result if it is rounded."""
        result = func(*args, **(kwargs or {}))
        # exp_ is exp, in place; an operator of higher order has no overloads
        name = getattr(func, "overloadpacket", func).__name__.removesuffix("_")
        if is_rounded(name):
            salt = zlib.crc32(f"{name} {self.seed}".encode())
            for each in result if isinstance(result, tuple | list) else [result]:
                # torch.export runs operations on tensors of its own, which have no numbers.
                if type(each) is Tensor and each.dtype in LAYOUTS and each.is_cpu:
                    move(each, salt)
        return result
