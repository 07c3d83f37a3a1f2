"""Attention with heads and any mask."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.reference_steps import attention
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, Tensor, Tensor, Tensor]


def _empty_rows_get_0(output: Tensor, _q: Tensor, _k: Tensor, _v: Tensor, mask: Tensor) -> bool:
    empty = ~mask.any(-1)[:, None, :, None]
    return bool((output.masked_fill(~empty, 0) == 0).all())


task = Task(
    name="masked-attention",
    statement=(
        "Write `masked_attention(queries, keys, values, mask)`: scaled dot-product attention, "
        "softmax(q · k / √query_size) times the values, in which each query attends to the keys "
        "that its mask shows. `queries` has shape (batch, num_heads, num_queries, query_size), "
        "`keys` (batch, num_heads, num_keys, query_size), `values` (batch, num_heads, num_keys, "
        "value_size), the output (batch, num_heads, num_queries, value_size). `mask` is boolean, "
        "(batch, num_queries, num_keys), True = visible, and holds for all heads of its example. "
        "Hidden keys weigh exactly 0, whatever finite numbers they hold, even 1e30. Where a query "
        "has no visible key, its output is 0, and no gradient is NaN."
    ),
    starter="def masked_attention(queries, keys, values, mask):\n    ...",
    laws=(Law("The output of some query without a visible key is not 0.", _empty_rows_get_0),),
)


def _inputs(batch: int, heads: int, num_queries: int, num_keys: int) -> Inputs:
    """A mask without a pattern, in which each query attends to the key at its own index."""
    queries = normal(batch, heads, num_queries, 5)
    keys = normal(batch, heads, num_keys, 5, seed=1)
    mask = normal(batch, num_queries, num_keys, seed=2) > 0
    mask |= torch.eye(num_queries, num_keys, dtype=torch.bool)
    return queries, keys, normal(batch, heads, num_keys, 11), mask


def _of_numbers(queries: list[float], keys: list[float], mask: list[bool]) -> Inputs:
    """Vectors of four equal numbers, in two heads, and one row of a mask for all queries."""
    q, k = (torch.tensor(each)[:, None].repeat(1, 2, 1, 4) for each in (queries, keys))
    return q, k, normal(1, 2, 4, 5), torch.tensor(mask).repeat(1, 3, 1)


task.case("all sizes differ")(lambda: _inputs(2, 3, 5, 7))
task.case("as many heads as examples")(lambda: _inputs(3, 3, 5, 7))
task.case("as many queries as keys")(lambda: _inputs(2, 3, 7, 7))
task.case("one example")(lambda: _inputs(1, 3, 5, 7))
task.case("one query")(lambda: _inputs(2, 3, 1, 7))
task.case("one query and one key")(lambda: _inputs(2, 3, 1, 1))


@task.case("hidden keys and values of 1e30", gradients=False)
def _() -> Inputs:
    queries, keys, values, mask = _inputs(2, 3, 5, 7)
    mask[..., 6] = False
    keys[..., 6, :] = values[..., 6, :] = 1e30
    return queries, keys, values, mask


task.case("a hidden score 1000 above those that are seen")(
    lambda: _of_numbers([1.0, 1, 1], [0.0, 0.5, 500, 1], [True, True, False, True])
)


@task.case("what flows back past a query that sees nothing")
@task.case("a query that sees nothing", gradients=False)
def _() -> Inputs:
    queries, keys, values, mask = _inputs(2, 3, 5, 7)
    mask[0, 2] = mask[1, 4] = False
    return queries, keys, values, mask


task.case("half precision")(lambda: with_dtype(torch.float16, *_inputs(2, 3, 5, 7)))
task.case("scores of 1000 and of -1000 that are seen", gradients=False)(
    lambda: _of_numbers([1.0, -1, 0.5], [500.0, 499.5, -500, 0], [True, True, True, False])
)
task.case("9 heads, one query, 131 keys")(lambda: _inputs(1, 9, 1, 131))


@task.solution("it is the book's own, in three stages; the mask gets an axis of 1 for heads.")
def the_package(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    scores = attnbook.scaled_dot_score(queries, keys)
    return attnbook.pool(attnbook.masked_softmax(scores, mask=mask[:, None]), values)


@task.solution("in torch's own, True means visible, too; empty rows are set to 0 afterwards.")
def of_torch(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    empty = ~mask.any(-1, keepdim=True)[:, None]
    output = F.scaled_dot_product_attention(queries, keys, values, mask[:, None] | empty)
    return output.masked_fill(empty, 0)


@task.solution("heads are folded into the batch, and masks are repeated for each of their heads.")
def heads_as_examples(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    attend, *heads = attention(), *(each.flatten(0, 1) for each in (queries, keys, values))
    visible = mask.repeat_interleave(queries.shape[1], dim=0)
    return attend(*heads, visible).view(*queries.shape[:3], -1)


@task.solution("each head of each example is computed by itself, with its example's mask.")
def head_by_head(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    outputs = [
        torch.stack([attention()(*head, visible) for head in zip(q, k, v, strict=True)])
        for q, k, v, visible in zip(queries, keys, values, mask, strict=True)
    ]
    return torch.stack(outputs)


@task.solution("it divides visible exponentials by their sum, or by 1 in a fully masked row.")
def by_the_formula(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    hidden = ~mask.unsqueeze(1)
    scores = torch.einsum("bhqd,bhkd->bhqk", queries / math.sqrt(queries.shape[-1]), keys)
    low = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    exponentials = (low - low.amax(-1, keepdim=True).detach()).exp().masked_fill(hidden, 0)
    empty = hidden.all(-1, keepdim=True)
    return (exponentials / exponentials.sum(-1, keepdim=True).masked_fill(empty, 1)) @ values


@task.test
def test_each_query_gets_the_mean_of_what_its_example_shows(function: Function) -> None:
    queries, keys = torch.zeros(2, 2, 2, 3), torch.ones(2, 2, 3, 3)
    values = torch.tensor([1.0, 10, 100])[:, None].repeat(2, 2, 1, 1)
    mask = torch.tensor([[[1, 0, 1], [1, 1, 0]], [[0, 1, 0], [0, 1, 1]]]).bool()
    expected = torch.tensor([[[50.5, 5.5]] * 2, [[10.0, 55]] * 2])
    assert torch.allclose(function(queries, keys, values, mask), expected[..., None])


@task.test
def test_weights_follow_the_dot_product_over_the_root_of_the_size(function: Function) -> None:
    # 4 numbers: √4 = 2. Scores 2 ln 3 and 0: weights 9/10 and 1/10.
    queries = torch.tensor([math.log(9), 0, 0, 0]).expand(1, 2, 1, 4)
    keys = torch.tensor([[2.0, 0, 0, 0], [0, 2, 0, 0]]).expand(1, 2, 2, 4)
    values = torch.tensor([[10.0], [0]]).expand(1, 2, 2, 1)
    output = function(queries, keys, values, torch.ones(1, 1, 2, dtype=torch.bool))
    assert torch.allclose(output, torch.tensor(9.0))


@task.test
def test_hidden_keys_change_nothing(function: Function) -> None:
    queries, keys, values = normal(1, 2, 3, 5), normal(1, 2, 4, 5), normal(1, 2, 4, 3)
    mask = torch.tensor([True, True, False, True]).repeat(1, 3, 1)
    before = function(queries, keys, values, mask)
    keys[:, :, 2], values[:, :, 2] = 1000, 7
    assert torch.allclose(function(queries, keys, values, mask), before, atol=1e-5)


@task.test
def test_a_fully_masked_row_gets_zeros_and_finite_gradients(function: Function) -> None:
    queries = normal(1, 2, 2, 3).requires_grad_()
    mask = torch.tensor([[[True, True], [False, False]]])
    output = function(queries, normal(1, 2, 2, 3), normal(1, 2, 2, 5), mask)
    assert (output[:, :, 1] == 0).all()
    output.sum().backward()
    assert queries.grad is not None
    assert queries.grad.isfinite().all()


def in_steps(
    align: Function = lambda mask, _heads: mask[:, None],
    **steps: Function,
) -> Function:
    """Correct code, of which a bug changes one step: how the mask meets the heads, for instance."""
    return lambda queries, keys, values, mask: attention(**steps)(
        queries, keys, values, align(mask, queries.shape[1])
    )


task.bug(
    "mask meets the heads",
    "the mask has no axis for heads, so its examples are aligned with the scores' heads.",
    symptom="It runs for some batch sizes only, with a mask for each head, not for each example.",
    origin="four axes of scores and three of a mask, in many projects",
    fix="give the mask an axis of size 1 for heads: `mask[:, None]`, or `mask.unsqueeze(1)`.",
)(in_steps(align=lambda mask, _heads: mask))

task.bug(
    "masks repeated in the wrong order",
    "masks are repeated in the order a, b, a, b, but the order of the heads is a, a, b, b.",
    symptom="A batch of one is right; in larger ones examples get each other's masks.",
    origin="Dive into Deep Learning's lengths, when given in the wrong order",
    fix="repeat with `repeat_interleave`, or give the mask an axis of size 1 for heads.",
)(in_steps(align=lambda mask, heads: mask.repeat(heads, 1, 1).view(-1, heads, *mask.shape[1:])))

task.inherit(
    in_steps,
    *mistakes.ATTENTION,
    without=("filled with minus ten thousand", "double precision is lost"),
)
