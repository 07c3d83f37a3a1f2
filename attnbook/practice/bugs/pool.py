"""Known bugs of the task pool."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.pool import task


@task.bug(
    symptom="All outputs are smaller than they should be, the more so the more keys there are.",
    origin="a common slip",
    mend="sum over the keys; the weights have seen to the average already.",
    case="weights that sum to 1",
)
def divided_by_the_number_of_keys(weights: Tensor, values: Tensor) -> Tensor:
    """weighted values are averaged, where they should be summed."""
    return (weights.unsqueeze(-1) * values.unsqueeze(-3)).mean(dim=-2)


@task.bug(
    symptom="All queries of an example get the same output.",
    origin="a common slip",
    mend="multiply by the weights: `weights @ values`.",
    case="weights that sum to 1",
)
def all_keys_weigh_the_same(weights: Tensor, values: Tensor) -> Tensor:
    """the weights are not used, and the values' plain average is returned."""
    return values.mean(dim=-2, keepdim=True) + 0 * weights[..., :1]


@task.bug(
    symptom="Outputs jump from one value to another, and no gradient reaches the scores.",
    origin="a common slip",
    mend="use all weights, not only where the largest one is.",
    case="weights that sum to 1",
)
def the_heaviest_key_only(weights: Tensor, values: Tensor) -> Tensor:
    """only the value of the key with the largest weight is used."""
    best = weights.argmax(dim=-1, keepdim=True)
    return values.gather(-2, best.expand(*best.shape[:-1], values.shape[-1]))


@task.bug(
    symptom="Attention is far too even: outputs are all near the plain average.",
    origin="a common slip",
    mend="take one softmax: what comes in is weights already.",
    case="weights that sum to 1",
)
def softmax_taken_twice(weights: Tensor, values: Tensor) -> Tensor:
    """a softmax is taken of weights that had theirs."""
    return weights.softmax(dim=-1) @ values


@task.bug(
    symptom="Dropout on the weights seems to do little, and empty rows give NaN.",
    origin="a common slip",
    mend="take the weights as they are, and leave the normalising to the softmax.",
    case="weights that do not sum to 1, after dropout",
)
def weights_normalised_again(weights: Tensor, values: Tensor) -> Tensor:
    """each row of weights is divided by its sum once more."""
    return weights / weights.sum(dim=-1, keepdim=True) @ values


@task.bug(
    symptom="The first example is right, and all others get its values.",
    origin="a common slip",
    mend="pool each example's own values: `weights @ values`.",
    case="weights that sum to 1",
)
def the_first_examples_values_for_all(weights: Tensor, values: Tensor) -> Tensor:
    """the values of the first example are pooled for the whole batch."""
    return weights @ values[0]


@task.bug(
    symptom="An output changes with other examples of the batch, and is too large.",
    origin="a common slip",
    mend="keep one letter for the batch in both: `...qk,...kv->...qv`.",
    case="weights that sum to 1",
)
def examples_summed(weights: Tensor, values: Tensor) -> Tensor:
    """values are summed over the batch, too, by an einsum with two letters for it."""
    return torch.einsum("b...qk,c...kv->b...qv", weights, values)


@task.bug(
    symptom="The outputs are right, but what makes the scores never learns.",
    origin="a common slip",
    mend="detach weights only where they are shown, not where they are used.",
    case="one query",
)
def weights_detached(weights: Tensor, values: Tensor) -> Tensor:
    """the weights are cut off from what made them, by `detach()` or `.data`."""
    return weights.detach() @ values


@task.bug(
    symptom="It works for one head, and fails as soon as there is an axis for heads.",
    origin="a common slip",
    mend="use `@`, which takes any axes before the last two; `torch.bmm` takes just one.",
    case="heads",
)
def three_axes_only(weights: Tensor, values: Tensor) -> Tensor:
    """the product is written for three axes, as `torch.bmm` is, and there are heads."""
    return torch.bmm(weights, values)


@task.bug(
    symptom="It stops where weights meet values, unless their sizes are equal.",
    origin="a new reader's first try",
    mend="take the matrix product, `weights @ values`: it multiplies, and adds up over the keys.",
    case="weights that sum to 1",
)
def multiplied_number_by_number(weights: Tensor, values: Tensor) -> Tensor:
    """weights and values are multiplied number by number, where each query has its own sum."""
    return (weights * values).sum(dim=-1)
