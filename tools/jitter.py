"""Torch as if on another processor, whose results differ in the last place.

Processors round exponentials, sums and matrix products differently. `Jitter` moves each such
result by a few units of its last place, and each seed stands for a processor of its own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# Of the last place, up or down. Two makes of processor were seen to differ by one, and sums add
# up; the rest is margin for those that were not seen.
UNITS = 8

# What is left out is rounded alike everywhere: adding, multiplying, dividing two numbers, √.
ROUNDED = frozenset(
    # one number each
    "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh atan2 sigmoid silu gelu erf softplus "
    "log_sigmoid_forward pow rsqrt special_entr xlogy logaddexp addcmul addcdiv lerp "
    # sums
    "sum mean var std var_mean norm linalg_vector_norm prod cumsum cumprod logsumexp "
    "logcumsumexp _softmax _log_softmax native_layer_norm native_batch_norm native_group_norm "
    "_cdist_forward _euclidean_dist mse_loss nll_loss_forward "
    # products of matrices
    "mm bmm mv dot vdot addmm addmv addbmm baddbmm convolution mkldnn_rnn_layer "
    # random numbers: drawn alike, then shaped by logarithm and cosine
    "randn normal normal_functional exponential".split()
)
FAMILIES = re.compile(r"_scaled_dot_product_|.*_backward(_data|_input|_weight)?$")

# How a number's bits are laid out: an integer of its size, its exponent's place and largest
# value, and how many of its last bits are 0 by exact arithmetic and hardly ever by chance.
LAYOUTS = {
    torch.float64: (torch.int64, 52, 0x7FF, 26),
    torch.float32: (torch.int32, 23, 0xFF, 12),
    torch.bfloat16: (torch.int16, 7, 0xFF, 4),
    torch.float16: (torch.int16, 10, 0x1F, 4),
}
# A 16-bit result is rounded from 32 bits: it differs where those lie at an edge, so seldom.
SELDOM = 64


def is_rounded(name: str) -> bool:
    """Whether processors may differ in the last place of what an operation gives."""
    name = name if name.startswith("_") else name.removesuffix("_")  # exp_ is exp, in place
    return name in ROUNDED or FAMILIES.match(name) is not None


def scatter(bits: Tensor, salt: int) -> Tensor:
    """A whole number from each of these and the salt, as if drawn; the same for the same."""
    mixed = (bits.long() ^ salt) * 0x9E3779B97F4A7C1
    mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B
    return (mixed ^ (mixed >> 32)) & 0x7FFFFFFF


def move(result: Tensor, salt: int) -> None:
    """Move numbers, in place, by up to `UNITS` of their last place; exact ones stay."""
    integer, place, most, zeros = LAYOUTS[result.dtype]
    bits = result.view(integer)
    exponent = (bits >> place) & most
    inexact = (bits & ((1 << zeros) - 1)) != 0
    movable = inexact & (exponent > 0) & (exponent < most - 1)
    # Without the sign, because a number and its negative are rounded alike.
    drawn = scatter(bits & torch.iinfo(integer).max, salt)
    steps = drawn % (2 * UNITS + 1) - UNITS
    if integer is torch.int16:
        steps = steps.sign() * (drawn // SELDOM % SELDOM == 0)
    bits += (steps * movable).to(integer)


class Jitter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types here
    """While it is open, torch rounds as some other processor might: the one with this seed.

    What moves a result is its operation, its value and the seed, as on a real processor, so
    equal computations stay equal.
    """

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
        """Run one operation, and move what it gives if it is rounded."""
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if is_rounded(name):
            salt = zlib.crc32(f"{name.removesuffix('_')} {self.seed}".encode())
            for tensor in result if isinstance(result, tuple | list) else [result]:
                if type(tensor) is Tensor and tensor.dtype in LAYOUTS:
                    move(tensor, salt)
        return result
