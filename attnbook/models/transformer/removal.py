"""Remove heads from a decoder, to measure what they contribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.checks import describe_value, is_whole
from attnbook.heads import merge_heads, split_heads
from attnbook.models.checks import check_kind, check_list, is_pair
from attnbook.models.transformer.decoder import Decoder

Head = tuple[int, int]
"""The number of a layer, and that of a head in it, from 0."""


@contextmanager
def without_heads(model: Decoder, heads: Iterable[Head]) -> Iterator[None]:
    """Remove some heads of a model: their output is 0 before W_o mixes the heads.

    Their attention weights can still be read.

    Args:
        model: a decoder; unchanged afterwards.
        heads: `(layer, head)` of each.

    Raises:
        TypeError: `heads` is no list of such pairs.
        ValueError: the model has no such head.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.removal import without_heads
        >>> model = book_decoder("copying")
        >>> with without_heads(model, [(1, 0), (1, 1)]):
        ...     without = model.write(["gbdkafcdkafc"], 5)
        >>> without == model.write(["gbdkafcdkafc"], 5)
        False
    """
    check_kind("model", model, Decoder)
    config, by_layer = model.config, dict[int, list[int]]()
    for each in check_list("heads", heads, "(layer, head)"):
        if not (is_pair(each) and all(map(is_whole, each))):
            raise TypeError(
                f"heads must be (layer, head), two whole numbers, got {describe_value(each)}"
            )
        layer, head = each
        if not (0 <= layer < config.num_layers and 0 <= head < config.num_heads):
            raise ValueError(
                f"heads must be (layer, head) below ({config.num_layers}, {config.num_heads}), "
                f"got ({layer}, {head})"
            )
        by_layer.setdefault(layer, []).append(head)
    with ExitStack() as stack:
        for layer, removed in by_layer.items():
            mix = model.attentions[layer].W_o
            stack.callback(
                mix.register_forward_pre_hook(_make_hook(removed, config.num_heads)).remove
            )
        yield


def _make_hook(removed: list[int], num_heads: int) -> Any:  # noqa: ANN401 - torch's own type of a hook
    def zero_heads(_mix: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
        heads = split_heads(given[0], num_heads)
        index = torch.tensor(removed, device=heads.device)
        return (merge_heads(heads.index_fill(1, index, 0.0)),)

    return zero_heads
