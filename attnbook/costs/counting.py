"""Counting what attention costs: operations and numbers in memory follow from the shapes.

Two ways of each layer are counted: "formula", the formula as it is written, each step a
tensor of its own; and "ours", what the layers of attnbook do with `keep_weights=False`
(but for small sizes, where they take the formula: that is not counted). Values are as wide
as queries and keys, no key is hidden, and there are no heads. `numbers_written` counts while a
program runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

BYTES = 4  # of a number in float32
BLOCK = 2**20  # hidden units that our additive layer holds at once
MODES = ("inference", "training")

Counts = Mapping[str, int]


class Sizes(NamedTuple):
    """The sizes of an attention layer's inputs: batch, queries, keys, and size of a vector.

    `size` is num_hiddens of additive attention, or d of a dot product.

    Example:
        >>> from attnbook.costs.counting import Sizes
        >>> Sizes(batch=1, queries=2, keys=3, size=5)
        Sizes(batch=1, queries=2, keys=3, size=5)
    """

    batch: int
    queries: int
    keys: int
    size: int


# Operations. A "product" is a multiplication with its addition inside a matrix product,
# where a processor does many at a time; a "multiply-add" is one outside.


def additive_formula(sizes: Sizes) -> Counts:
    """Count the operations of additive attention as its formula says."""
    batch, queries, keys, hiddens = sizes
    pairs = batch * queries * keys
    return {
        # W_q q and W_k k; then w_v · tanh(…), and the values times their weights
        "product": batch * (queries + keys) * hiddens**2 + 2 * pairs * hiddens,
        "addition": pairs * hiddens,
        "tanh": pairs * hiddens,
        "exponential": pairs,  # of the softmax
        "division": pairs,
    }


def additive_ours(sizes: Sizes) -> Counts:
    """Count the same with tanh(q + k) = 1 - 2 / (1 + e^(2q) · e^(2k)): no tanh for a pair."""
    batch, queries, keys, hiddens = sizes
    pairs = batch * queries * keys
    return {
        "product": batch * (queries + keys) * hiddens**2 + 2 * pairs * hiddens,
        "multiply-add": pairs * hiddens,
        "division": pairs * hiddens + pairs,
        "exponential": batch * (queries + keys) * hiddens + pairs,
    }


def dot_product(sizes: Sizes) -> Counts:
    """Count the operations of dot-product attention: the same both ways."""
    batch, queries, keys, size = sizes
    pairs = batch * queries * keys
    # q · k, and the values times their weights; then the softmax
    return {"product": 2 * pairs * size, "exponential": pairs, "division": pairs}


def additive_formula_backward(sizes: Sizes) -> Counts:
    """Count what gradients add: two products for each, and the slope of tanh, 1 - tanh²."""
    batch, queries, keys, hiddens = sizes
    pairs = batch * queries * keys
    return {
        "product": 2 * additive_formula(sizes)["product"],
        "multiply-add": 2 * pairs * hiddens + 2 * pairs,  # the slope, times what comes back
        "addition": 2 * pairs * hiddens,  # over all keys, over all queries
    }


def additive_ours_backward(sizes: Sizes) -> Counts:
    """Count what gradients add where each block is recomputed instead of stored."""
    batch, queries, keys, hiddens = sizes
    pairs = batch * queries * keys
    return {
        "product": 2 * additive_ours(sizes)["product"],
        "multiply-add": 3 * pairs * hiddens + 2 * pairs,  # the block, its slope, times the rest
        "division": pairs * hiddens,
        "addition": pairs * hiddens,
        "exponential": batch * (queries + keys) * hiddens,
    }


def dot_formula_backward(sizes: Sizes) -> Counts:
    """Count what gradients add: two products for each, and the slope of the softmax."""
    pairs = sizes.batch * sizes.queries * sizes.keys
    return {"product": 2 * dot_product(sizes)["product"], "multiply-add": 2 * pairs}


def dot_ours_backward(sizes: Sizes) -> Counts:
    """Count what gradients add where the weights are recomputed instead of stored."""
    pairs = sizes.batch * sizes.queries * sizes.keys
    again = {"product": pairs * sizes.size, "exponential": pairs}
    return Counter(dot_formula_backward(sizes)) + Counter(again)


# Memory: the most numbers that exist at one time in addition to the inputs.


def additive_formula_numbers(sizes: Sizes, training: bool) -> int:
    """Count the projections, and for each pair the sum and its tanh; in training a gradient."""
    batch, queries, keys, hiddens = sizes
    units = batch * queries * keys * hiddens
    return batch * (queries + keys) * hiddens + (3 if training else 2) * units


def additive_ours_numbers(sizes: Sizes, training: bool) -> int:
    """Count the projections, the output, and one block with what it is made of.

    In training also the gradients of projections and values. Few scores and weights are whole
    (`attnbook.fused.choose.streaming_pays` has the limit); many never need more memory than
    a block.
    """
    batch, queries, keys, hiddens = sizes
    pairs, output = batch * queries * keys, batch * queries * hiddens
    units, sides = pairs * hiddens, batch * (queries + keys) * hiddens
    together = min(batch, max(1, BLOCK // (queries * keys * hiddens)))  # examples in a block
    block = min(units, max(BLOCK, keys * hiddens))
    exponentials = 2 * together * (queries + keys) * hiddens  # those of the block before, too
    work, values = block + exponentials, batch * keys * hiddens
    if pairs > max(BLOCK, sides):
        return sides + output + work + (sides + values if training else 0)
    # While blocks are made the scores are there, or their gradient; before or after, weights too.
    if training:
        return sides + output + values + max(sides + work + pairs, 3 * pairs)
    return sides + max(work + pairs, 2 * pairs + output)


def dot_formula_numbers(sizes: Sizes, training: bool) -> int:
    """Count the scores, masked and as weights; in training also the gradients."""
    batch, queries, keys, size = sizes
    pairs, output = batch * queries * keys, batch * queries * size
    sides = batch * (queries + keys) * size
    return max(3 * pairs + sides, pairs + 2 * sides) if training else 2 * pairs + max(pairs, output)


def dot_ours_numbers(sizes: Sizes, training: bool) -> int:
    """Count the output of each example and all of them joined; in training also the gradients.

    Of the pairs torch's kernel holds a few at a time, here left out.
    """
    batch, queries, keys, size = sizes
    gradients = batch * (queries + 2 * keys) * size
    return 2 * batch * queries * size + (gradients if training else 0)


class Counted(NamedTuple):
    """What is known of one layer computed in one way."""

    forward: Callable[[Sizes], Counts]
    backward: Callable[[Sizes], Counts]
    numbers: Callable[[Sizes, bool], int]


PROGRAMS = {
    ("additive", "formula"): Counted(
        additive_formula, additive_formula_backward, additive_formula_numbers
    ),
    ("additive", "ours"): Counted(additive_ours, additive_ours_backward, additive_ours_numbers),
    ("dot", "formula"): Counted(dot_product, dot_formula_backward, dot_formula_numbers),
    ("dot", "ours"): Counted(dot_product, dot_ours_backward, dot_ours_numbers),
}


def operations(layer: str, way: str, sizes: Sizes, mode: str = "inference") -> dict[str, int]:
    """Count operations by kind, in training with those that gradients add.

    Args:
        layer: "additive" or "dot".
        way: "formula" or "ours".
        sizes: each at least 1.
        mode: "inference" or "training".

    Raises:
        ValueError: a name is none of these, or a size is no whole number from 1 on.

    Example:
        >>> from attnbook.costs.counting import Sizes, operations
        >>> operations("dot", "formula", Sizes(batch=1, queries=2, keys=3, size=5))
        {'product': 60, 'exponential': 6, 'division': 6}
    """
    counted = _counted(layer, way, sizes, mode)
    backward = counted.backward(sizes) if mode == "training" else {}
    return dict(Counter(counted.forward(sizes)) + Counter(backward))


def peak_bytes(layer: str, way: str, sizes: Sizes, mode: str = "inference") -> int:
    """Count the bytes at the peak, without the inputs; arguments as in `operations`.

    Raises:
        ValueError: as in `operations`.

    Example:
        >>> from attnbook.costs.counting import Sizes, peak_bytes
        >>> peak_bytes("dot", "formula", Sizes(batch=1, queries=2, keys=3, size=5))
        88
    """
    counted = _counted(layer, way, sizes, mode)
    return BYTES * counted.numbers(sizes, mode == "training")


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
        ValueError: a size is no whole number from 1 on.

    Example:
        >>> from attnbook.costs.counting import projection_parameters
        >>> projection_parameters(4096, num_heads=32, head_size=128)
        67108864
        >>> projection_parameters(4096, num_heads=32, head_size=128, num_kv_heads=8)
        41943040
    """
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    _check_sizes(size=size, num_heads=num_heads, head_size=head_size, num_kv_heads=num_kv_heads)
    rows = (num_heads + 2 * num_kv_heads) * head_size
    return size * rows + num_heads * head_size * size + (rows + size if bias else 0)


def key_value_bytes(
    positions: int, num_kv_heads: int, head_size: int, *, layers: int = 1, bytes_each: int = BYTES
) -> int:
    """Count the bytes of the keys and values of some positions: they shrink with shared heads.

    Raises:
        ValueError: a number is no whole number from 1 on.

    Example:
        >>> from attnbook.costs.counting import key_value_bytes
        >>> key_value_bytes(1, num_kv_heads=8, head_size=128, layers=32, bytes_each=2)
        131072
    """
    _check_sizes(
        positions=positions,
        num_kv_heads=num_kv_heads,
        head_size=head_size,
        layers=layers,
        bytes_each=bytes_each,
    )
    return 2 * positions * num_kv_heads * head_size * layers * bytes_each


def _counted(layer: str, way: str, sizes: Sizes, mode: str) -> Counted:
    if (layer, way) not in PROGRAMS:
        known = ", ".join(" ".join(name) for name in PROGRAMS)
        raise ValueError(f"layer and way must be one of {known}, got {layer} {way}")
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode}")
    _check_sizes(**dict(zip(Sizes._fields, sizes, strict=True)))
    return PROGRAMS[layer, way]


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {size!r}")


class _WriteCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's
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
        filled = _tensors(_changed(func._schema, args, kwargs or {}))
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
    return [each for each in tree_leaves(value) if isinstance(each, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def numbers_written(program: Callable[..., object], *args: object) -> int:
    """Count the numbers that torch writes into memory while `program(*args)` runs.

    Every step of a formula writes its result, and fetching and storing is what large formulas
    spend their time on. So this compares programs without a clock, and gives the same count on
    each machine. What happens inside one operation, as in a matrix product, is not counted; on
    a GPU the count may differ where torch uses other operations.

    Example:
        >>> from attnbook.costs.counting import numbers_written
        >>> numbers_written(lambda x, y: torch.tanh(x + y), torch.ones(3, 1), torch.ones(1, 5))
        30
    """
    counter = _WriteCounter()  # type: ignore[no-untyped-call]  # torch's own class has no types
    with counter:
        program(*args)
    return counter.numbers
