"""Turn a mask that was made for another library into one of this book, True = visible.

A mask holds no numbers but those that show and hide. What else is added to scores is a bias, and
what this book has another argument for is refused with its name.

Sources: the documentation of what each docstring names, in torch 2.13 and transformers 5.23.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch

from attnbook.checks import check_dense, check_size, describe_value, see_recipe
from attnbook.masking.masks import explain_numbers
from attnbook.reading import numbers_to_refuse

if TYPE_CHECKING:
    from jaxtyping import Bool, Shaped
    from torch import Tensor

FOUR_AXES = "(batch, num_heads or 1, num_queries, num_keys)"
ATTN = ("(num_queries, num_keys)", "(batch * num_heads, num_queries, num_keys)", FOUR_AXES)
SEE = see_recipe("convert a mask")


def from_key_padding_mask(mask: Shaped[Tensor, "batch keys"]) -> Bool[Tensor, "batch 1 keys"]:
    """Convert the `key_padding_mask` of torch's `nn.MultiheadAttention` to this book's `mask`.

    Pass the result as `mask=`. It takes padding on either side, so it also replaces
    `valid_lens`. The `src_key_padding_mask` of `nn.TransformerEncoderLayer` is the same.

    Where all keys of an example are hidden, torch's layer gives NaN or its output bias; ours
    gives zeros.

    Args:
        mask: `(batch, num_keys)`; booleans, True = *hidden*, or numbers that are added to the
            scores, 0 = visible and -inf = hidden.

    Returns:
        `(batch, 1, num_keys)`, True = visible. Join it with other masks by `&`; to one of four
        axes, as `padding[:, None]`.

    Raises:
        TypeError: it holds whole numbers.
        ValueError: it has another number of axes, or another number than 0 and -inf. Numbers
            are read if they are on the CPU and nothing is being compiled or exported, or
            inside `checked()`. Unread, whatever is not 0 hides.

    Example:
        >>> from attnbook.masking.interop import from_key_padding_mask
        >>> padding = torch.tensor([[0, 0, 1], [1, 0, 0]]) == 1
        >>> from_key_padding_mask(padding).int().tolist()
        [[[1, 1, 0]], [[0, 1, 1]]]
    """
    _check_axes(mask, "(batch, num_keys)")
    visible = ~mask if mask.dtype == torch.bool else _of_added(mask, "mask[:, None]")
    return visible[:, None]


def from_attn_mask(
    mask: Shaped[Tensor, "... queries keys"],
    *,
    true_means: Literal["hidden", "visible"] | None = None,
    num_heads: int | None = None,
) -> Bool[Tensor, "... queries keys"]:
    """Convert an `attn_mask` of torch to this book's `mask`.

    Pass the result as `mask=`. The `src_mask`, `tgt_mask` and `memory_mask` of `nn.Transformer`
    are such masks, where True means hidden.

    Where a query sees no key, `nn.MultiheadAttention` gives NaN or its output bias; ours gives
    zeros, as `scaled_dot_product_attention` does.

    Args:
        mask: `(num_queries, num_keys)`, `(batch * num_heads, num_queries, num_keys)` or
            `(batch, num_heads or 1, num_queries, num_keys)`; booleans, or numbers that are added to
            the scores, 0 = visible and -inf = hidden.
        true_means: what True means in a mask of booleans: "hidden" for `nn.MultiheadAttention`
            and the layers that contain it, "visible" for `scaled_dot_product_attention`. A
            mask of numbers does not need it.
        num_heads: how many heads of an example are next to each other in a mask of three axes;
            in one of four it is only checked.

    Returns:
        True = visible; the shape of the mask, or `(batch, num_heads, num_queries, num_keys)` of
        one with three axes.

    Raises:
        TypeError: it holds whole numbers.
        ValueError: it has another number of axes, three and no `num_heads` that divides the
            first, or four and another number of heads; booleans have no `true_means`; another
            number than 0 and -inf, which is a bias. Numbers are read as for
            `from_key_padding_mask`.

    Example:
        >>> from attnbook.masking.interop import from_attn_mask
        >>> future = torch.full((3, 3), -torch.inf).triu(1)  # 0 and -inf
        >>> from_attn_mask(future).int().tolist()
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
        >>> from_attn_mask(future < 0, true_means="hidden").int().tolist()
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    _check_axes(mask, *ATTN)
    if true_means not in ("hidden", "visible", None):
        raise ValueError(
            f"true_means must be 'hidden', 'visible' or None, got {describe_value(true_means)}"
        )
    if mask.dtype != torch.bool:
        visible = _of_added(mask)
    elif true_means is None:
        raise ValueError(
            "true_means must be given for a mask of booleans, 'hidden' for nn.MultiheadAttention, "
            f"'visible' for scaled_dot_product_attention, got None{SEE}"
        )
    else:
        visible = mask if true_means == "visible" else ~mask
    if num_heads is not None:
        check_size("num_heads", num_heads)
    return _with_heads(visible, num_heads)


def from_attention_mask(mask: Shaped[Tensor, "batch ... keys"]) -> Bool[Tensor, "batch ... keys"]:
    """Convert the `attention_mask` of Hugging Face's `transformers` to this book's `mask`.

    Pass the result as `mask=`, together with `causal=True` for a decoder and a mask of two
    axes, to which the models of that library add the order themselves.

    Where a query sees no key, a model gives 0 or equal weights for all keys; ours gives 0.

    Args:
        mask: `(batch, num_keys)` of any dtype, 1 = visible and 0 = padding; or
            `(batch, num_heads or 1, num_queries, num_keys)`, booleans, True = visible, or
            numbers that are added to the scores, 0 = visible and -inf or the dtype's lowest
            number = hidden.

    Returns:
        True = visible; `(batch, 1, num_keys)`, or the shape of a mask of four axes.

    Raises:
        TypeError: a mask of four axes holds whole numbers.
        ValueError: it has another number of axes, or another number than these: those above 1
            count packed documents, for which there is `document_mask`. Numbers are read as for
            `from_key_padding_mask`. Unread, whatever is not 0 shows where there are two axes,
            and hides where there are four.

    Example:
        >>> from attnbook.masking.interop import from_attention_mask
        >>> mask = torch.tensor([[1, 1, 0], [0, 1, 1]])
        >>> from_attention_mask(mask).int().tolist()
        [[[1, 1, 0]], [[0, 1, 1]]]
        >>> mask = torch.tensor([[[[0.0, -torch.inf]]]])
        >>> from_attention_mask(mask).tolist()
        [[[[True, False]]]]
    """
    _check_axes(mask, "(batch, num_keys)", FOUR_AXES)
    if mask.dim() == 2:
        _check_ones(mask)
        return (mask != 0)[:, None]
    return mask if mask.dtype == torch.bool else _of_added(mask, lowest_hides=True)


def _check_axes(mask: Tensor, *shapes: str) -> None:
    check_dense("mask", mask, "a tensor of booleans or numbers")
    if mask.is_complex():
        raise TypeError(f"mask must hold booleans or real numbers, got {mask.dtype}")
    if mask.dim() not in [shape.count(",") + 1 for shape in shapes]:
        rule = f"have shape {' or '.join(shapes)}"
        raise ValueError(f"mask must {rule}, got {tuple(mask.shape)}{SEE}")


def _of_added(mask: Tensor, ours: str = "mask", *, lowest_hides: bool = False) -> Tensor:
    """Read a mask that is added to the scores; refuse other numbers, with `ours` as our mask."""
    fix = f"{explain_numbers(ours)}{SEE}"
    if not mask.is_floating_point():
        rule = "hold booleans, or 0 and -inf that are added to the scores"
        raise TypeError(f"mask must {rule}, got {mask.dtype}: {fix}")
    if (numbers := numbers_to_refuse(mask)) is not None:
        known = (numbers == 0) | (numbers == -math.inf)
        if lowest_hides:
            known = known | (numbers == torch.finfo(mask.dtype).min)
        rule = "0 for what may be seen and -inf for what is hidden"
        _refuse_others(numbers, known, rule, fix)
    return mask == 0


def _check_ones(mask: Tensor) -> None:
    """Refuse numbers other than 0 and 1."""
    if mask.dtype == torch.bool or (numbers := numbers_to_refuse(mask)) is None:
        return
    known = (numbers == 0) | (numbers == 1)
    fix = f"a mask that is added to the scores has four axes{SEE}"
    if (numbers > 1).any():
        reason = "numbers above 1 count packed documents, which document_mask separates"
        fix = reason + see_recipe("packed documents")
    _refuse_others(numbers, known, "1 for keys that may be seen and 0 for padding", fix)


def _refuse_others(numbers: Tensor, known: Tensor, rule: str, fix: str) -> None:
    if known.all():
        return
    index = tuple((~known).nonzero()[0].tolist())
    raise ValueError(f"mask must hold {rule}, got {numbers[index].item()} at index {index}: {fix}")


def _with_heads(visible: Tensor, num_heads: int | None) -> Tensor:
    """Give the heads of a mask `(batch * num_heads, num_queries, num_keys)` an axis."""
    got = f"got num_heads={num_heads} and a mask of shape {tuple(visible.shape)}"
    if visible.dim() == 4 and num_heads is not None and visible.shape[1] not in (1, num_heads):
        raise ValueError(f"num_heads must be that of a mask of four axes, {FOUR_AXES}, {got}{SEE}")
    if visible.dim() != 3:
        return visible
    if num_heads is None:
        raise ValueError(
            "num_heads must be given for a mask of three axes, "
            f"(batch * num_heads, num_queries, num_keys), {got}: where its first axis is only "
            f"the batch, convert mask[:, None], and mask[None] where it is only the heads{SEE}"
        )
    if visible.shape[0] % num_heads != 0:
        raise ValueError(f"num_heads must divide the first axis of a mask of three axes, {got}")
    return visible.reshape(visible.shape[0] // num_heads, num_heads, *visible.shape[1:])
