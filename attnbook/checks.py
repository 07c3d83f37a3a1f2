"""Checks of arguments: each message names the argument, the rule and what was passed.

No check here reads a tensor's values, so none makes a GPU wait.
"""

from __future__ import annotations

import functools
import inspect
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from types import MethodType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attnbook.torch_private import is_traced, may_change_arguments

Init = TypeVar("Init", bound=Callable[..., None])

QUERIES = "(batch, [heads,] num_queries, query_size)"
KEYS = "(batch, [heads,] num_keys, key_size)"
VALUES = "(batch, [heads,] num_keys, value_size)"
SCORES = "(batch, [heads,] num_queries, num_keys)"

# The recipe that makes an argument, or that helps with a rule counted from the last key.
RECIPES = {
    "valid_lens": "pad a batch",
    "starts": "left padding",
    "mask": "convert a mask",
    "bias": "bias",
    "causal": "causal",
    "a window": "window",
    "documents": "packed documents",
    "key_padding_mask": "convert a mask",
    "attn_mask": "convert a mask",
    "attention_mask": "convert a mask",
    "need_weights": "weights per head",
    "average_attn_weights": "weights per head",
}

CALL = "call layer(x, x, x) for self-attention, layer(x, y, y) for cross-attention to y"
# What to do instead, for each argument of torch's attention that a layer does not take, and for
# those that are often left out.
INSTEAD = {
    "embed_dim": "pass key_size, query_size, value_size and num_hiddens to MultiHeadAttention",
    "num_heads": "use MultiHeadAttention, or give queries, keys and values an axis of heads",
    "kdim": "pass key_size",
    "vdim": "pass value_size to MultiHeadAttention; other layers take values of any size",
    "batch_first": "leave it out, as the batch comes first",
    "add_bias_kv": "leave it out, append a learned vector to keys and to values, and show it in "
    "mask",
    "add_zero_attn": "leave it out, append a vector of zeros to keys and to values, and show it "
    "in mask, which is the same if bias=False",
    "device": "create the layer, and call layer.to(device)",
    "dtype": "create the layer, and call layer.to(dtype)",
    "query": "pass queries=query",
    "key": "pass keys=key",
    "value": "pass values=value",
    "key_padding_mask": "pass mask=from_key_padding_mask(key_padding_mask) of "
    "attnbook.masking.interop; join masks by &",
    "attn_mask": 'pass mask=from_attn_mask(attn_mask, true_means="hidden") of '
    'attnbook.masking.interop, or true_means="visible" for a mask of '
    "scaled_dot_product_attention; join masks by &",
    "attention_mask": "pass mask=from_attention_mask(attention_mask) of attnbook.masking.interop",
    "is_causal": "pass causal=is_causal, which counts from the last key, not from the first",
    "need_weights": "leave it out: a call returns only the output, and layer.attention_weights "
    "are its weights; set layer.keep_weights = False to store none",
    "average_attn_weights": "leave it out, and read layer.attention_weights.mean(dim=1)",
    "dropout_p": "pass dropout to the constructor; layer.eval() turns it off",
    "keys": CALL,
    "values": CALL,
}


def see_recipe(name: str) -> str:
    """The end of a message that has a recipe in the book, by the recipe's short name."""
    return f'; see: recipes, "{name}"'


def see_recipe_of(name: str) -> str:
    """The end of a message about an argument or a rule; empty if it has no recipe."""
    return see_recipe(RECIPES[name]) if name in RECIPES else ""


class _Brief(reprlib.Repr):
    """Write a value in one short line, and a tensor or an array by its shape and dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 60, 60

    def repr_instance(self, x: Any, level: int) -> str:  # noqa: ANN401 - of any other class
        """Write what is not built into Python; a tensor of one number is written as it is."""
        shape = getattr(x, "shape", None)
        if isinstance(shape, tuple) and shape:
            return f"{type(x).__name__} of shape {tuple(shape)} and dtype {x.dtype}"
        return " ".join(super().repr_instance(x, level).split())


describe_value = _Brief().repr
"""Write the value that a message is about, in one short line."""


class ExplainedModule(nn.Module):
    """A module that explains the arguments of a call that its `forward` does not take."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as in nn.Module
        """Call `forward` and the hooks, as `nn.Module` does."""
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            # A hook may have changed the arguments, and torch.compile cannot trace `inspect`.
            if not (may_change_arguments(self) or torch.compiler.is_compiling()):
                explain_arguments(self, self.forward, args, kwargs)
            raise


def explained(order: str = "") -> Callable[[Init], Init]:
    """Decorate an `__init__`: explain arguments that it does not take.

    Args:
        order: what another order, such as that of later d2l editions, leaves out.
    """

    def decorate(init: Init) -> Init:
        @functools.wraps(init)
        def wrapper(self: object, /, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - of init
            try:
                init(self, *args, **kwargs)
            except TypeError:
                explain_arguments(self, MethodType(init, self), args, kwargs, order)
                raise

        return wrapper  # type: ignore[return-value]

    return decorate


def explain_arguments(
    layer: object,
    method: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    order: str = "",
) -> None:
    """Raise a TypeError with advice if a method does not take these arguments; else do nothing."""
    parameters = inspect.signature(method).parameters
    if any(it.kind in (it.VAR_POSITIONAL, it.VAR_KEYWORD) for it in parameters.values()):
        return  # another function takes them
    ordered = [it for it in parameters.values() if it.kind is it.POSITIONAL_OR_KEYWORD]
    takes = f"{type(layer).__name__} takes ({', '.join(it.name for it in ordered)})"
    for name in kwargs:
        if name not in parameters:
            fix = f"its arguments are {', '.join(parameters)}"
            if name in INSTEAD:
                see = see_recipe_of(name) or see_recipe("replace nn.MultiheadAttention")
                fix = INSTEAD[name] + see
            raise TypeError(f"{type(layer).__name__} takes no {name}: {fix}") from None
    if len(args) > len(ordered):
        raise TypeError(f"{takes} by position, got {len(args)}; pass others by name") from None
    for it in ordered[len(args) :]:
        if it.default is it.empty and it.name not in kwargs:
            advice = order or INSTEAD.get(it.name, "pass it")
            raise TypeError(f"{takes}; {it.name} is missing: {advice}") from None


def check_tensor(name: str, tensor: Tensor, axes: str) -> None:
    """Refuse what is not a floating-point tensor with 3 or 4 axes."""
    check_dense(name, tensor)
    if not tensor.is_floating_point():
        fix = "" if tensor.is_complex() else f": pass {name}.float()"
        raise TypeError(f"{name} must hold floating-point numbers, got {tensor.dtype}{fix}")
    if tensor.dim() not in (3, 4):
        raise _shape_error(name, tensor, axes, least=3)


def _shape_error(name: str, tensor: Tensor, axes: str, least: int) -> ValueError:
    """Make the error for a wrong number of axes; it shows how one example becomes a batch."""
    unbatched = axes.startswith("(batch, ") and tensor.dim() == least - 1
    how = f"; of one example without a batch pass {name}[None], and take output[0]"
    end = how + see_recipe("unbatched") if unbatched else ""
    return ValueError(f"{name} must have shape {axes}, got {tuple(tensor.shape)}{end}")


def check_dense(name: str, tensor: Tensor, what: str = "a tensor") -> None:
    """Refuse what is no tensor, and tensors that do not store every number."""
    if not isinstance(tensor, Tensor):
        numbers = isinstance(tensor, list | tuple) or type(tensor).__name__ == "ndarray"
        fix = f": pass torch.tensor({name})" if numbers else ""
        kind = type(tensor).__name__
        raise TypeError(f"{name} must be {what}, got {kind}{fix}{see_recipe_of(name)}")
    if tensor.is_nested or tensor.layout != torch.strided:
        kind = "a nested tensor" if tensor.is_nested else tensor.layout
        raise TypeError(f"{name} must be a dense tensor, padded to one length, got {kind}")


def check_positions(name: str, positions: Tensor) -> None:
    """Refuse positions that are no real numbers, or that their dtype has rounded."""
    check_dense(name, positions, "a tensor of numbers")
    dtype = positions.dtype
    if dtype == torch.bool or dtype.is_complex:
        raise TypeError(f"{name} must hold real numbers, got {dtype}")
    if dtype.is_floating_point and dtype.itemsize < 4:
        most = int(2 / torch.finfo(dtype).eps)  # further whole numbers are rounded
        raise TypeError(
            f"{name} must hold whole numbers, float32 or float64, got {dtype}, in which "
            f"{most + 1} is {most}: make them in torch.int64"
        )


def check_numbers(name: str, tensor: Tensor, device: torch.device | str | None) -> None:
    """Refuse a tensor without numbers, on the device "meta", where they are needed elsewhere."""
    if tensor.is_meta and device is not None and torch.device(device).type != "meta":
        raise ValueError(f"{name} must hold numbers to be used on {device}, got a meta tensor")


def check_pair(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse two tensors that differ in batch, heads, dtype or device: nothing is broadcast."""
    if tensor.shape[:-2] != other.shape[:-2]:
        raise ValueError(
            f"{name} must have the batch and heads of {other_name}, {tuple(other.shape[:-2])}, "
            f"got {tuple(tensor.shape[:-2])} in shape {tuple(tensor.shape)}{see_recipe('shapes')}"
        )
    check_device(name, tensor, other_name, other)
    check_dtype(name, tensor, other_name, other)


def check_device(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse tensors on different devices."""
    if tensor.device != other.device:
        raise ValueError(
            f"{name} must be on the device of {other_name}, {other.device}, got {tensor.device}"
        )


def check_dtype(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse mixed dtypes, unless autocast is on, which exists to mix them."""
    if tensor.dtype != other.dtype and not autocast_is_on(tensor.device.type):
        half = min(tensor.dtype.itemsize, other.dtype.itemsize) == 2
        see = see_recipe("half precision") if half else ""
        raise TypeError(
            f"{name} must have the dtype of {other_name}, {other.dtype}, got {tensor.dtype}: "
            f"use {name}.to({other.dtype}){see}"
        )


def autocast_is_on(device_type: str) -> bool:
    """Whether torch mixes dtypes on these devices."""
    # For a device without autocast, like "meta", is_autocast_enabled raises.
    return torch.amp.is_autocast_available(device_type) and torch.is_autocast_enabled(device_type)


def check_queries_and_keys(queries: Tensor, keys: Tensor, keys_name: str = "keys") -> None:
    """Refuse queries and keys (or what else keys are called) that no score function can compare."""
    check_tensor("queries", queries, QUERIES)
    if keys is not queries:
        check_tensor(keys_name, keys, KEYS)
        check_pair(keys_name, keys, "queries", queries)


def check_inputs(queries: Tensor, keys: Tensor, values: Tensor, keys_name: str = "keys") -> None:
    """Refuse queries, keys (or what else they are called) and values that do not fit together."""
    check_queries_and_keys(queries, keys, keys_name)
    if values is not keys:
        check_values(values, keys.shape[-2])
        check_pair("values", values, keys_name, keys)


def check_shared_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Refuse queries, keys and values that do not fit together, where heads share keys."""
    check_tensor("queries", queries, QUERIES)
    check_tensor("keys", keys, KEYS)
    (batch, num_heads), (keys_batch, num_shared) = queries.shape[:2], keys.shape[:2]
    if keys_batch != batch or num_shared == 0 or num_heads % num_shared != 0:
        raise ValueError(
            f"keys must have the batch of queries, {batch}, and heads that divide their "
            f"{num_heads}, got {tuple(keys.shape[:2])} in shape {tuple(keys.shape)}"
            + see_recipe("shared keys")
        )
    check_device("keys", keys, "queries", queries)
    check_dtype("keys", keys, "queries", queries)
    check_values(values, keys.shape[-2])
    check_pair("values", values, "keys", keys)


def check_last_axis(name: str, tensor: Tensor, size_name: str, size: int) -> None:
    """Refuse a tensor whose vectors have another size than the one they are used with."""
    if tensor.shape[-1] != size:
        raise ValueError(
            f"{name} must have {size_name}={size} numbers in the last axis, "
            f"got {tensor.shape[-1]} in shape {tuple(tensor.shape)}{see_recipe('shapes')}"
        )


def check_axes(name: str, tensor: Tensor, axes: str) -> None:
    """Refuse a tensor with another number of axes than are named."""
    check_dense(name, tensor)
    if tensor.dim() != axes.count(",") + 1:
        raise _shape_error(name, tensor, axes, least=axes.count(",") + 1)


def check_projected(name: str, vectors: Tensor, size_name: str, projection: nn.Module) -> None:
    """Refuse vectors that a learned projection cannot take: another size or dtype.

    A module that replaces a layer's `nn.Linear` has its own checks.
    """
    if type(projection) is nn.Linear:
        size, weight = projection.in_features, projection.weight
        if vectors.shape[-1] != size or vectors.dtype != weight.dtype:
            check_last_axis(name, vectors, size_name, size)
            check_dtype(name, vectors, "the layer's weights", weight)


def own_score_error(layer: nn.Module) -> TypeError:
    """Make the error for projected keys, which a subclass's own score would not get."""
    return TypeError(
        f"{type(layer).__name__} must score as AdditiveAttention does to attend to "
        "projected keys, but it defines its own score; call the layer instead"
    )


def check_values(values: Tensor, num_keys: int) -> None:
    """Refuse values that are not one vector per key."""
    check_tensor("values", values, VALUES)
    if values.shape[-2] != num_keys:
        raise ValueError(
            f"values must have one row per key, num_keys={num_keys}, "
            f"got {values.shape[-2]} in shape {tuple(values.shape)}" + see_recipe("shapes")
        )


def check_weight(weight: Tensor, axes: str, expected: tuple[int, ...], queries: Tensor) -> None:
    """Refuse a learned weight of another shape or dtype than the queries need."""
    check_dense("weight", weight)
    if tuple(weight.shape) != expected:
        raise ValueError(f"weight must have shape {axes} = {expected}, got {tuple(weight.shape)}")
    check_device("weight", weight, "queries", queries)
    check_dtype("weight", weight, "queries", queries)


def check_scores(scores: Tensor, queries: Tensor, keys: Tensor) -> None:
    """Refuse what a score function returned if it is not one number per query and key."""
    check_tensor("scores", scores, SCORES)
    expected = (*queries.shape[:-1], keys.shape[-2])
    if tuple(scores.shape) != expected:
        raise ValueError(
            f"scores must have shape {SCORES} = {expected}, got {tuple(scores.shape)}"
            + see_recipe("own score")
        )
    check_dtype("scores", scores, "queries", queries)


def check_broadcasts(
    name: str, tensor: Tensor, shape: Sequence[int], num_heads: int | None = None
) -> None:
    """Refuse a mask or a bias that does not broadcast to the scores, or has no axis of heads.

    With `num_heads`, the shape has no axis of heads, but the tensor may have one.
    """
    if tensor.dim() == 3 and len(shape) == 4:
        raise ValueError(
            f"{name} must have an axis of heads where scores have one, got three axes in "
            f"{tuple(tensor.shape)}: write {name}[:, None] if its first is the batch, "
            f"{name}[None] if it is the heads"
        )
    batch, *_, num_queries, num_keys = shape
    allowed = {2: (num_queries, num_keys), len(shape): tuple(shape)}
    if num_heads is not None:
        allowed[4] = (batch, num_heads, num_queries, num_keys)
    sizes = allowed.get(tensor.dim(), ())
    fits = len(sizes) > 0 and tensor.shape[-1] == num_keys
    # Not `has in (1, size)`, of which torch.compile makes an untrue constant for some open sizes.
    fits = fits and all(
        has == 1 or has == size  # noqa: PLR1714
        for has, size in zip(tensor.shape, sizes, strict=True)
    )
    if not fits:
        of_examples = tuple(tensor.shape) == (batch, num_keys)
        index = ", ".join([":", *["None"] * (len(shape) - 2)])
        how = f": write {name}[{index}] if its first axis is the batch" if of_examples else ""
        raise ValueError(
            f"{name} must have shape {_list_shapes(allowed.values())}, each axis but the last that "
            f"long or 1, got {tuple(tensor.shape)}{how}{see_recipe_of(name)}"
        )


def _list_shapes(allowed: Iterable[tuple[int, ...]]) -> str:
    """List the shapes that a mask may have, with the names of their axes."""
    axes = {2: "", 3: "batch, ", 4: "batch, num_heads, "}
    *others, last = [f"({axes[len(shape)]}num_queries, num_keys) = {shape}" for shape in allowed]
    return f"{', '.join(others)} or {last}"


def is_whole(number: object) -> bool:
    """Whether it is a whole number, or a size of a program that is being made."""
    if type(number) is int:  # the usual case, in every call
        return True
    if is_traced() and isinstance(number, Tensor):
        return number.dim() == 0
    return isinstance(number, Integral | torch.SymInt) and not isinstance(number, bool)


def check_whole_number(name: str, number: int, rule: str = "a whole number") -> None:
    """Refuse what is not a whole number."""
    if not is_whole(number):
        raise TypeError(f"{name} must be {rule}, got {describe_value(number)}")


def check_size(name: str, size: int) -> None:
    """Refuse a size that is not a whole number of at least 1."""
    check_whole_number(name, size)
    if size < 1:
        raise ValueError(f"{name} must be at least 1, got {size}")


def check_sizes(sizes: dict[str, int]) -> None:
    """Refuse sizes, each by its name, that are not whole numbers of at least 1."""
    for name, size in sizes.items():
        check_size(name, size)


def check_heads(name: str, size: int, num_heads: int) -> None:
    """Refuse heads that do not divide a size."""
    if size % num_heads != 0:
        raise ValueError(
            f"{name} must be a multiple of num_heads={num_heads}, so that heads are equal, "
            f"got {size}"
        )


def check_flag(name: str, flag: bool) -> None:
    """Refuse what is neither True nor False, such as lengths or a mask in the wrong position."""
    if not isinstance(flag, bool):
        raise TypeError(f"{name} must be True or False, got {describe_value(flag)}")


def check_dropout(dropout: float) -> None:
    """Refuse a dropout that is not a probability."""
    if isinstance(dropout, bool) or not isinstance(dropout, Real):
        raise TypeError(f"dropout must be a number in [0, 1], got {describe_value(dropout)}")
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout must lie in [0, 1], got {dropout}")


def check_scale(scale: float) -> None:
    """Refuse a scale that is not one positive number."""
    if isinstance(scale, bool) or not isinstance(scale, Real):
        raise TypeError(f"scale must be a number above 0, got {describe_value(scale)}")
    if not 0 < scale < math.inf:
        raise ValueError(f"scale must be positive and finite, got {scale}")


def check_width(width: float | Tensor) -> None:
    """Refuse a kernel width that is not one positive number; a tensor's value is not read."""
    if isinstance(width, Tensor):
        if width.dim() != 0:
            raise ValueError(f"width must be one number, got shape {tuple(width.shape)}")
        return
    if isinstance(width, bool) or not isinstance(width, Real):
        raise TypeError(f"width must be a number or a tensor, got {describe_value(width)}")
    if not 0 < width < math.inf:
        raise ValueError(f"width must be positive and finite, got {width}")


def check_vectors(vectors: Tensor) -> None:
    """Refuse what is not rows of floating-point vectors."""
    check_dense("vectors", vectors)
    if not vectors.is_floating_point():
        raise TypeError(f"vectors must hold floating-point numbers, got {vectors.dtype}")
    if vectors.dim() < 2:
        raise ValueError(
            f"vectors must have shape (…, num_positions, size), got {tuple(vectors.shape)}"
        )


def labels(kind: str, given: Sequence[str] | None, count: int) -> list[str]:
    """Use the given labels, or `query 0`, `query 1` and so on.

    Raises:
        ValueError: their number is not `count`.
    """
    if given is None:
        return [f"{kind} {index}" for index in range(count)]
    if len(given) != count:
        raise ValueError(
            f"{kind}_labels must name {count}, got {len(given)}: {describe_value(list(given))}"
        )
    return [str(label) for label in given]
