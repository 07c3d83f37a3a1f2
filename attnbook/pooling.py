"""Pooling: weighted averages of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnbook.checks import SCORES, check_inputs, check_pair, check_tensor, check_values
from attnbook.masking.masks import length_mask
from attnbook.masking.padding import zero_hidden
from attnbook.scoring import gaussian_score
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped
    from torch import Tensor


def pool(
    weights: Float[Tensor, "batch *heads queries keys"],
    values: Float[Tensor, "batch *heads keys value_size"],
) -> Float[Tensor, "batch *heads queries value_size"]:
    """Average the values by their weights: one output per query.

    A row of zero weights pools to zero.

    Raises:
        TypeError, ValueError: the tensors differ in batch, heads or dtype, or there
            is not one value per key.

    Source: Dive into Deep Learning, "Attention Pooling".

    Example:
        >>> pool(torch.tensor([[[0.5, 0.5, 0.0]]]), torch.tensor([[[2.0], [4.0], [100.0]]]))
        tensor([[[3.]]])
    """
    check_tensor("weights", weights, SCORES)
    check_values(values, weights.shape[-1])
    check_pair("values", values, "weights", weights)
    return weights @ values


def kernel_pool(
    queries: Float[Tensor, "batch *heads queries size"],
    keys: Float[Tensor, "batch *heads keys size"],
    values: Float[Tensor, "batch *heads keys value_size"],
    width: float | Float[Tensor, ""] = 1.0,
    valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
) -> Float[Tensor, "batch *heads queries value_size"]:
    """Predict at each query by averaging the values of nearby keys: kernel regression.

    This is attention with nothing to learn, or only `width`: Gaussian scores,
    softmax weights, pooled values.

    Args:
        queries: where to predict, `(batch, [heads,] num_queries, size)`.
        keys: where values are known, `(batch, [heads,] num_keys, size)`.
        values: what is known there, `(batch, [heads,] num_keys, value_size)`.
        width: positive; how far a query attends, in the units of queries and keys.
        valid_lens: how many keys may be seen, `(batch,)` or `(batch, num_queries)`;
            None means all. Not a mask of 0 and 1.

    Returns:
        `(batch, [heads,] num_queries, value_size)`.

    Raises:
        TypeError, ValueError: as `gaussian_score`, `masked_softmax` and `pool` do.

    Source: Nadaraya (1964) and Watson (1964), with a Gaussian kernel.

    Example:
        >>> where = torch.tensor([[[0.0]]])
        >>> known = torch.tensor([[[-1.0], [1.0]]])
        >>> kernel_pool(where, keys=known, values=torch.tensor([[[3.0], [5.0]]]))
        tensor([[[4.]]])
    """
    check_inputs(queries, keys, values)
    keys, values = _clear(queries, keys, values, valid_lens)
    scores = gaussian_score(queries, keys, width)
    return pool(masked_softmax(scores, valid_lens), values)


def _clear(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Zero the keys and values of padding."""
    if valid_lens is None:
        return keys, values
    # The square of huge padding can overflow, and its gradient would be NaN.
    shape = (*queries.shape[:-1], keys.shape[-2])
    visible = length_mask(valid_lens, shape, keys.device)
    return zero_hidden(keys, visible), zero_hidden(values, visible)
