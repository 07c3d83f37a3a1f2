"""Counting what attention costs: parameters and bytes from the shapes, numbers from a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from attnbook.checks import check_sizes
from attnbook.torch_private import SHOWS_OPERATIONS, DispatchMode, schema_of

BYTES = 4  # of a number in float32


def projection_parameters(
    size: int,
    num_heads: int,
    head_size: int,
    num_kv_heads: int | None = None,
    *,
    bias: bool = False,
) -> int:
    """Count the parameters of `MultiHeadAttention`, where all inputs and outputs have one size.

    Raises:
        TypeError, ValueError: a size is no whole number from 1 on.

    Example:
        >>> from attnbook.costs.counting import projection_parameters
        >>> projection_parameters(4096, num_heads=32, head_size=128)
        67108864
        >>> projection_parameters(4096, num_heads=32, head_size=128, num_kv_heads=8)
        41943040
    """
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    heads = {"num_heads": num_heads, "head_size": head_size, "num_kv_heads": num_kv_heads}
    check_sizes({"size": size} | heads)
    rows = (num_heads + 2 * num_kv_heads) * head_size
    return size * rows + num_heads * head_size * size + (rows + size if bias else 0)


def key_value_bytes(
    positions: int, num_kv_heads: int, head_size: int, *, layers: int = 1, bytes_each: int = BYTES
) -> int:
    """Count the bytes of the keys and values of some positions: they shrink with shared heads.

    Raises:
        TypeError, ValueError: a number is no whole number from 1 on.

    Example:
        >>> from attnbook.costs.counting import key_value_bytes
        >>> key_value_bytes(1, num_kv_heads=8, head_size=128, layers=32, bytes_each=2)
        131072
    """
    heads = {"num_kv_heads": num_kv_heads, "head_size": head_size}
    check_sizes({"positions": positions, "layers": layers, "bytes_each": bytes_each} | heads)
    return 2 * positions * num_kv_heads * head_size * layers * bytes_each


class _WriteCounter(DispatchMode or object):  # type: ignore[misc]  # torch's
    """Counts the numbers of all tensors that operations fill; views and new memory are not."""

    numbers = 0

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - torch's own signature
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        if "empty" in func.overloadpacket.__name__:
            return func(*args, **(kwargs or {}))
        filled = _tensors(_changed(schema_of(func), args, kwargs or {}))
        given = {_storage(tensor) for tensor in _tensors([args, kwargs])}
        result = func(*args, **(kwargs or {}))
        filled += [made for made in _tensors(result) if _storage(made) not in given]
        self.numbers += sum(tensor.numel() for tensor in filled)
        return result


def _changed(
    schema: Any,  # noqa: ANN401 - torch has no type for it
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> list[object]:
    """The arguments that an operation fills, such as those of `add_` and of `out`."""
    by_name = dict(zip((each.name for each in schema.arguments), args, strict=False)) | {**kwargs}
    writes = [
        each.name for each in schema.arguments if each.alias_info and each.alias_info.is_write
    ]
    return [by_name[name] for name in writes if name in by_name]


def _tensors(value: object) -> list[torch.Tensor]:
    """The tensors among the arguments or the results of an operation."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    if not isinstance(value, list | tuple):
        return []
    return [tensor for each in value for tensor in _tensors(each)]


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def numbers_written(program: Callable[..., object], *args: object) -> int:
    """Count the numbers that torch writes into memory while `program(*args)` runs.

    Every step of a formula writes its result, and fetching and storing is what large formulas
    spend their time on. So this compares programs without a clock, and gives the same count on
    each machine that runs the same operations: a layer may choose other ones on another
    processor, and torch on a GPU. What happens inside one operation, as in a matrix product, is
    not counted, nor is a tensor that is made of Python's numbers.

    Raises:
        RuntimeError: this version of torch does not show its operations.

    Example:
        >>> from attnbook.costs.counting import numbers_written
        >>> numbers_written(lambda x, y: torch.tanh(x + y), torch.ones(3, 1), torch.ones(1, 5))
        30
    """
    if not SHOWS_OPERATIONS:
        raise RuntimeError(
            "numbers_written needs a torch that shows its operations, by a TorchDispatchMode, got "
            f"torch {torch.__version__}"
        )
    counter = _WriteCounter()
    with counter:
        program(*args)
    return counter.numbers
