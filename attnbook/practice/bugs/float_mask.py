"""Known bugs of the task float-mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.tasks.float_mask import task

FIRST = "two queries and three keys"


def _filled(mask: Tensor, dtype: torch.dtype, number: float) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, number)


@task.bug(
    symptom="The mask hides nothing: scores change a little, and padding still has its weight.",
    origin="float masks of 0 and 1 handed where they are added",
    mend="begin with zeros, and put -inf where the mask is False.",
    case=FIRST,
)
def ones_and_zeros(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """the mask becomes 1 and 0, which are added to scores, and hide nothing."""
    return mask.to(dtype)


@task.bug(
    symptom="Padding gets *more* weight than without any mask.",
    origin="libraries whose masks are 1 where something is hidden",
    mend="put -inf, not 1, where a key must not be seen.",
    case=FIRST,
)
def ones_where_hidden(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get 1, which raises their scores, and the others 0."""
    return (~mask).to(dtype)


@task.bug(
    symptom="The model looks at padding only, or cheats to 100 % where the mask hides answers.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    mend="fill where the mask is False: `masked_fill(~mask, …)`.",
    case=FIRST,
)
def visible_keys_filled(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """the mask is read the wrong way round, and -inf stands where a key is visible."""
    return _filled(~mask, dtype, -math.inf)


@task.bug(
    symptom="Everything is NaN from the first step on.",
    origin="a common slip, after `(1 - mask) * -10000`",
    mend="fill or choose, by `masked_fill` or `torch.where`: 0 times infinity is NaN.",
    case=FIRST,
)
def infinity_times_zero(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden is multiplied by -inf, and 0 times -inf is NaN, where 0 was meant."""
    return (~mask).to(dtype) * -math.inf


@task.bug(
    symptom="Rows with a hidden key are NaN.",
    origin="a common slip",
    mend="write `-math.inf`: what is hidden must be below every score.",
    case=FIRST,
)
def infinity_without_its_sign(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get inf, above every score, where -inf is below."""
    return _filled(mask, dtype, math.inf)


@task.bug(
    symptom="Once in a while, where scores are large, padding gets a weight.",
    origin="BERT's own code: `(1 - mask) * -10000`",
    mend="fill with -inf, which no score can make up for.",
    case=FIRST,
)
def minus_ten_thousand(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get -10000, and a score can be that high."""
    return (~mask).to(dtype) * -10_000


@task.bug(
    symptom="In half precision: value cannot be converted without overflow.",
    origin="NVIDIA/apex#1105; The Annotated Transformer",
    mend="fill with -inf, which every type can hold.",
    case=FIRST,
)
def minus_a_billion(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get -1e9, which is no infinity, and which half precision lacks."""
    return _filled(mask, dtype, -1e9)


@task.bug(
    symptom="A query that may see nothing sees everything, each key the same.",
    origin="code that fills with `torch.finfo(dtype).min`, to keep NaN away",
    mend="fill with -inf, and clear rows that see nothing after the softmax.",
    case=FIRST,
)
def the_lowest_finite_number(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """hidden keys get the lowest finite number, and where all have it they share the weight."""
    return _filled(mask, dtype, torch.finfo(dtype).min)


@task.bug(
    symptom="All weights are right, and two such masks added are not: visible keys differ.",
    origin="a common slip: the first half of torch's old `generate_square_subsequent_mask`",
    mend="begin with zeros, not with the mask's own ones.",
    case=FIRST,
)
def ones_left_where_visible(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """the mask's own ones and zeros are filled with -inf, and visible keys keep their 1."""
    return mask.to(dtype).masked_fill(~mask, -math.inf)


@task.bug(
    symptom="A query that may see nothing gets the mean of its padding.",
    origin="code that opens such rows, to keep NaN away",
    mend="leave such a row as it is, and clear it after the softmax.",
    case="a query that sees all, and one that sees nothing",
)
def empty_rows_opened(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """a row that sees nothing is filled with 0, and sees everything."""
    return _filled(mask | ~mask.any(-1, keepdim=True), dtype, -math.inf)


@task.bug(
    symptom="Training in half precision fails, or runs in single precision and takes its memory.",
    origin="a common slip",
    mend="make it of the type that was asked for: `torch.zeros(mask.shape, dtype=dtype)`.",
    case="half precision",
)
def always_single_precision(mask: Tensor, dtype: torch.dtype) -> Tensor:  # noqa: ARG001 - the fault
    """`dtype` is never used, and the numbers are in single precision."""
    return _filled(mask, torch.float32, -math.inf)
