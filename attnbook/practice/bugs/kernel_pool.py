"""Known bugs of the task kernel-pool."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.tasks.kernel_pool import Width, squared_distances, task


def _scores(queries: Tensor, keys: Tensor, width: Width) -> Tensor:
    return -squared_distances(queries, keys) / (2 * width**2)


@task.bug(
    symptom="A wide kernel is not as wide as it should be, a narrow one not as narrow.",
    origin="a common slip",
    mend="square the width, as the distance is.",
    case="a width of 2",
)
def width_not_squared(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the width is not squared."""
    return (-squared_distances(queries, keys) / (2 * width)).softmax(dim=-1) @ values


@task.bug(
    symptom="The curve follows the points more closely than others' with the same width.",
    origin="a common slip",
    mend="divide by 2 width².",
    case="a width of 1",
)
def the_half_forgotten(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the 2 under the squared distance is missing."""
    return (-squared_distances(queries, keys) / width**2).softmax(dim=-1) @ values


@task.bug(
    symptom="A larger width makes the curve less smooth.",
    origin="a common slip",
    mend="divide by the width: a wide kernel makes distances small.",
    case="a width of 2",
)
def multiplied_by_the_width(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """distances are multiplied by the width, not divided by it."""
    return (-squared_distances(queries, keys) * width**2 / 2).softmax(dim=-1) @ values


@task.bug(
    symptom="The farthest points decide, and near ones hardly count.",
    origin="a common slip",
    mend="put a minus before the squared distance: what is near fits well.",
    case="a width of 1",
)
def far_keys_weigh_most(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the minus is missing, and weights grow with the distance."""
    return (-_scores(queries, keys, width)).softmax(dim=-1) @ values


@task.bug(
    symptom="Predictions are too large where points are dense, and fall to 0 far from them.",
    origin="a common slip",
    mend="divide by the sum of the weights of each query.",
    case="a width of 1",
)
def weights_not_normalised(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the kernel's numbers are used as weights, without dividing by their sum."""
    return _scores(queries, keys, width).exp() @ values


@task.bug(
    symptom="Near a point the curve has a kink, and far points count more than they should.",
    origin="a common slip",
    mend="square the distance: its root makes another kernel.",
    case="a width of 1",
)
def distance_not_squared(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the distance itself stands where its square belongs."""
    return (-torch.cdist(queries, keys) / (2 * width**2)).softmax(dim=-1) @ values


@task.bug(
    symptom="With more numbers in each vector the kernel gets wider.",
    origin="a common slip",
    mend="sum the squared differences: `sum(dim=-1)`, not `mean(dim=-1)`.",
    case="a width of 1",
)
def mean_of_the_squares(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the squared differences are averaged over the vector, not summed."""
    squares = (queries[:, :, None] - keys[:, None]).square().mean(dim=-1)
    return (-squares / (2 * width**2)).softmax(dim=-1) @ values


@task.bug(
    symptom="The curve is a staircase.",
    origin="a common slip",
    mend="average all values by their weights, not the best one alone.",
    case="a width of 1",
)
def the_nearest_key_only(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """each query takes the value of its nearest key."""
    nearest = _scores(queries, keys, width).argmax(dim=-1, keepdim=True)
    return values.gather(1, nearest.expand(-1, -1, values.shape[-1]))


@task.bug(
    symptom="The curve is right near the points, and NaN away from them.",
    origin="a common slip",
    mend="use a softmax, or subtract each query's own smallest squared distance first.",
    case="a query far from all keys",
)
def powers_that_vanish(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """all powers are rounded to 0 far from the keys, and 0 is divided by 0."""
    powers = _scores(queries, keys, width).exp()
    return powers @ values / powers.sum(dim=-1, keepdim=True)


@task.bug(
    symptom="The curve misses points that it should almost touch.",
    origin="a common slip",
    mend="let every key count: leaving one's own out is for choosing a width.",
    case="queries that lie on keys",
)
def own_key_left_out(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """a key on which a query lies is left out, as when each point is predicted from the others."""
    own = squared_distances(queries, keys) == 0
    return _scores(queries, keys, width).masked_fill(own, -math.inf).softmax(dim=-1) @ values


@task.bug(
    symptom="Training ends in NaN as soon as a query meets a key.",
    origin="a common slip",
    mend="leave the root out: the square of a root is what was under it, but has no slope at 0.",
    case="queries that lie on keys",
)
def a_root_squared(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the root of the squared distance is taken and squared again; at 0 its slope is infinite."""
    distances = squared_distances(queries, keys).sqrt()
    return (-(distances**2) / (2 * width**2)).softmax(dim=-1) @ values


@task.bug(
    symptom="The width never learns.",
    origin="a common slip",
    mend="compute with the tensor itself.",
    case="a width to be learned",
)
def width_made_a_number(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the width is made a plain number, through which no gradient flows."""
    number = width.item() if isinstance(width, Tensor) else width
    return _scores(queries, keys, number).softmax(dim=-1) @ values


@task.bug(
    symptom="The curve follows the points less closely than others' with the same width.",
    origin="a common slip",
    mend="square the width alone: `2 * width**2`, without brackets around `2 * width`.",
    case="a width of 1",
)
def the_2_squared_too(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the 2 under the squared distance is squared with the width."""
    return (-squared_distances(queries, keys) / (2 * width) ** 2).softmax(dim=-1) @ values
