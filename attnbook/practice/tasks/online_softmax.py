"""Attention in blocks of keys, in one pass."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Law, Task


def _within_the_values(output: Tensor, _scores: Tensor, values: Tensor, _size: int) -> bool:
    lowest, highest = values.amin(1, keepdim=True) - 1e-2, values.amax(1, keepdim=True) + 1e-2
    return not bool(((output < lowest) | (output > highest)).any())


task = Task(
    name="online-softmax",
    statement=(
        "Write `online_softmax(scores, values, block_size)`. `scores` has shape (batch, "
        "num_queries, num_keys), `values` (batch, num_keys, value_size). The output is "
        "`softmax(scores) @ values`, the softmax over the keys, of shape (batch, num_queries, "
        "value_size) and the scores' dtype. Take `block_size` keys at a time, in one pass, and "
        "carry for each query the highest score so far, the sum of the powers of e and their "
        "weighted sum of values; correct both sums when the highest score rises. The last block "
        "may be smaller, and one block may hold all keys. Scores are finite, of any size."
    ),
    starter="def online_softmax(scores, values, block_size):\n    ...",
    laws=(Law("Some output lies outside the range of its values.", _within_the_values),),
)


@task.case("blocks of one size")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 10), normal(2, 10, 7), 5


@task.case("a last block that is smaller")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 11), normal(2, 11, 5), 3


@task.case("blocks of one key")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 5), normal(2, 5, 7), 1


@task.case("a block larger than all keys")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 5), normal(2, 5, 7), 13


@task.case("the highest score in the last block")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 7).sort(-1).values, normal(2, 7, 5), 2


@task.case("the highest score in the first block")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 7).sort(-1, descending=True).values, normal(2, 7, 5), 2


@task.case("scores near 200")
def _() -> tuple[Tensor, Tensor, int]:
    return 200 + normal(2, 3, 5), normal(2, 5, 7), 2


@task.case("scores near -200")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 5) - 200, normal(2, 5, 7), 2


@task.case("a query whose scores are 200 below another's")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 5) - torch.tensor([[[0.0], [200], [500]]]), normal(2, 5, 7), 2


@task.case("a first block 200 above the others")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 5) + torch.tensor([200.0, 200, 0, 0, 0]), normal(2, 5, 7), 2


@task.case("half precision")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 5).half(), normal(2, 5, 7).half(), 2


@task.case("double precision, near 1000")
def _() -> tuple[Tensor, Tensor, int]:
    return 1000 + normal(2, 3, 5).double(), normal(2, 5, 7).double(), 2


@task.case("double precision, near -100,000")
def _() -> tuple[Tensor, Tensor, int]:
    return normal(2, 3, 5).double() - 1e5, normal(2, 5, 7).double(), 2


task.case("a last block 200 above the others")(
    lambda: (normal(2, 3, 5) + torch.tensor([0.0, 0, 0, 0, 200]), normal(2, 5, 7), 2)
)


task.case("6 examples of 9 queries, 131 keys in blocks of 20")(
    lambda: (normal(6, 9, 131), normal(6, 131, 7), 20)
)


@task.right("it is the book's own, all keys at once.")
def the_package(scores: Tensor, values: Tensor, block_size: int) -> Tensor:  # noqa: ARG001
    return attnbook.pool(attnbook.masked_softmax(scores), values)


@task.right("both sums are corrected whenever the highest score rises.")
def block_by_block(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    highest = torch.full_like(scores[..., :1], -math.inf)
    total = torch.zeros_like(highest)
    weighted = torch.zeros_like(scores[..., :1] * values[:, :1])
    for start in range(0, scores.shape[-1], block_size):
        block = scores[..., start : start + block_size]
        new_highest = torch.maximum(highest, block.amax(-1, keepdim=True))
        correction = (highest - new_highest).exp()
        powers = (block - new_highest).exp()
        total = correction * total + powers.sum(-1, keepdim=True)
        weighted = correction * weighted + powers @ values[:, start : start + block_size]
        highest = new_highest
    return weighted / total


@task.right("each block has its own softmax; their shares are a softmax of the blocks' logsumexp.")
def a_softmax_of_blocks(scores: Tensor, values: Tensor, block_size: int) -> Tensor:
    outputs, sizes = [], []
    for start in range(0, scores.shape[-1], block_size):
        block = scores[..., start : start + block_size]
        part = values[:, start : start + block_size]
        outputs.append(torch.einsum("bqk,bkv->bqv", block.softmax(-1), part))
        sizes.append(block.logsumexp(-1))
    shares = torch.stack(sizes).softmax(0)
    return (shares.unsqueeze(-1) * torch.stack(outputs)).sum(0)


@task.right("PyTorch's own, where the scores are queries and the keys are the axes.")
def scores_as_queries(scores: Tensor, values: Tensor, block_size: int) -> Tensor:  # noqa: ARG001
    axes = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(len(scores), -1, -1)
    return scaled_dot_product_attention(scores, axes, values, scale=1.0)


_VALUES = torch.tensor([[[10.0], [20], [30]]])


@task.test
def test_weights_of_2_6_and_12_twentieths_give_25(online_softmax: Function) -> None:
    scores = torch.tensor([[[2.0, 6, 12]]]).log()
    for block_size in (1, 2, 3, 5):
        assert abs(online_softmax(scores, _VALUES, block_size).item() - 25) < 1e-4


@task.test
def test_equal_scores_of_any_size_give_the_mean(online_softmax: Function) -> None:
    for score in (0.0, 1000.0, -1000.0):
        output = online_softmax(torch.full((1, 1, 3), score), _VALUES, 2)
        assert abs(output.item() - 20) < 1e-4


@task.test
def test_a_query_with_low_scores_is_not_disturbed_by_another(online_softmax: Function) -> None:
    scores = torch.tensor([[[0.0, 0, 0], [-1000, -1000, -1000]]])
    assert torch.allclose(online_softmax(scores, _VALUES, 2), torch.tensor(20.0))


@task.test
def test_a_key_far_above_the_others_takes_all_wherever_it_is(online_softmax: Function) -> None:
    scores = torch.tensor([[[1000.0, 0, 0], [0, 1000, 0], [0, 0, 1000]]])
    for block_size in (1, 2):
        assert torch.allclose(online_softmax(scores, _VALUES, block_size), _VALUES)
