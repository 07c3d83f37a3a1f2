"""One way to call any attention function.

A `Caller` takes queries, keys and values of shape `(batch, heads, n, size)`, and the options that
`NAMES` lists, whatever the function calls them and in whatever order its axes are.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.messages import Messages

TEXT = Messages(__file__)
# An option, and what libraries call it.
NAMES = {
    "queries": ("queries", "query", "q"),
    "keys": ("keys", "key", "k"),
    "values": ("values", "value", "v"),
    "mask": ("mask", "attn_mask", "attention_mask"),
    "bias": ("bias", "attn_bias", "attention_bias"),
    "lengths": ("valid_lens", "lengths", "valid_lengths", "seq_lens"),
    "padding": ("key_padding_mask", "padding_mask", "key_mask"),
    "causal": ("causal", "is_causal", "use_causal_mask"),
    "window": ("window", "window_size", "sliding_window", "local_window_size"),
    "dropout": ("dropout_p", "dropout", "attention_dropout"),
    "grouped": ("enable_gqa",),
}
TENSORS = ("queries", "keys", "values")
# The axes of tensors, how ours are turned into them, and back.
LAYOUTS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "(batch, heads, n, size)": (lambda x: x, lambda y: y),
    "(batch, n, heads, size)": (lambda x: x.transpose(1, 2), lambda y: y.transpose(1, 2)),
    "(batch, n, size)": (lambda x: x[:, 0], lambda y: y[:, None]),
    "(n, size)": (lambda x: x[0, 0], lambda y: y[None, None]),
}
HEADS_FIRST = "(batch, heads, n, size)"
HAS_HEADS = (HEADS_FIRST, "(batch, n, heads, size)")
# The axes of a mask, each made of (batch, heads, n, m).
MASKS: dict[str, Callable[[Tensor], Tensor]] = {
    "(batch, heads, n, m)": lambda mask: mask,
    "(batch, 1, n, m)": lambda mask: mask[:, :1],
    "(batch, n, m)": lambda mask: mask[:, 0],
    "(n, m)": lambda mask: mask[0, 0],
    "(batch, 1, 1, m)": lambda mask: mask[:, :1, -1:],
    "(batch, m)": lambda mask: mask[:, 0, -1],
    "(m)": lambda mask: mask[0, 0, -1],
}
Function = Callable[..., Any]


class RefusedError(Exception):
    """A function raised an error, or gave no output of the expected shape."""


@dataclass(frozen=True)
class Caller:
    """A function, and how it is called."""

    function: Function  # of tensors in the function's own layout
    layout: str
    names: Mapping[str, str]  # the function's name of each option that it has
    shown: str  # how it is called, for readers
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of arguments that it requires
    mask_axes: Mapping[tuple[str, bool], str] = field(default_factory=dict)  # by option, is boolean
    float_problem: str = ""  # why no mask of numbers is taken
    dtype: torch.dtype = torch.float32
    device: torch.device | str = "cpu"
    sizes: tuple[int, ...] = (16, 64)
    takes_scale: str = ""  # an argument without a default that the scores are multiplied by

    @property
    def has_heads(self) -> bool:
        """Whether it takes several heads at once."""
        return self.layout in HAS_HEADS

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor, **options: Any) -> Tensor:  # noqa: ANN401
        """Attend, `(batch, heads, n, value_size)`.

        Raises:
            RefusedError: the function did, or its output has another shape.
        """
        inside, outside = LAYOUTS[self.layout]
        given = dict(self.defaults)
        for name, value in options.items():
            if name not in self.names:
                raise RefusedError(TEXT("without_argument", name=name))
            if name in ("mask", "bias"):
                value = self._shape_mask(name, value)  # noqa: PLW2901
            given[self.names[name]] = value
        # Copies, in case the function changes them in place.
        copies = (
            torch.clone(inside(each), memory_format=torch.contiguous_format)
            for each in (queries, keys, values)
        )
        tensors = [*copies]
        if all(name in self.names for name in TENSORS):
            given |= {self.names[name]: it for name, it in zip(TENSORS, tensors, strict=True)}
            tensors = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                output = self.function(*tensors, **given)
            output = output[0] if isinstance(output, tuple | list) else output
            if not isinstance(output, Tensor):
                raise TypeError(TEXT("no_tensor", kind=type(output).__name__))
            output = outside(output)
        except Exception as error:
            raise RefusedError(describe_error(error)) from error
        expected = (*queries.shape[:-1], values.shape[-1])
        if tuple(output.shape) != expected:
            raise RefusedError(TEXT("other_shape", shape=tuple(output.shape), expected=expected))
        return output

    def _shape_mask(self, name: str, mask: Tensor) -> Tensor:
        axes = self.mask_axes.get((name, mask.dtype == torch.bool))
        if axes is None:
            raise RefusedError(TEXT("mask_refused", dtype=mask.dtype))
        return MASKS[axes](mask)

    @property
    def adds_by(self) -> str:
        """The option that takes a mask of numbers; "" without one."""
        return next((name for name in ("mask", "bias") if (name, False) in self.mask_axes), "")

    def to(self, dtype: torch.dtype) -> Caller:
        """The same in another dtype."""
        return replace(self, function=in_dtype(self.function, dtype), dtype=dtype)

    def in_training(self) -> Caller:
        """A copy of the layer that drops half of what it drops.

        Raises:
            RefusedError: it has no dropout.
        """
        trained = copy.deepcopy(self.function)
        modules = trained.train().modules() if isinstance(trained, nn.Module) else ()
        drops = [it for it in modules if isinstance(it, nn.Dropout)]
        for module in drops:
            module.p = 0.5
        if not drops:
            raise RefusedError(TEXT("without_argument", name="dropout"))
        return replace(self, function=trained)


def describe_error(error: Exception) -> str:
    """The type and the first line of an error."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:100]}"


def in_dtype(function: Function, dtype: torch.dtype) -> Function:
    """A layer with its parameters in a dtype; functions as they are."""
    return copy.deepcopy(function).to(dtype) if isinstance(function, nn.Module) else function


def name_of(function: Function) -> str:
    """The name of a function, or of a layer's class."""
    if isinstance(function, partial):
        return name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)


def random_inputs(
    caller: Caller, num_queries: int = 4, num_keys: int = 4, heads: int = 3, batch: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Random queries, keys and values; one head or example where the layout has no axis of them."""
    generator = torch.Generator().manual_seed(0)
    heads = heads if caller.has_heads else 1
    batch = batch if "batch" in caller.layout else 1
    size = caller.sizes[0]
    queries, keys, values = (
        torch.randn(batch, heads, n, size, generator=generator).to(caller.device, caller.dtype)
        for n in (num_queries, num_keys, num_keys)
    )
    return queries, keys, values
