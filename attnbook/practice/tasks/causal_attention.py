"""Attention that never attends to later positions."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.reference_steps import attention, filled, past, scale
from attnbook.practice.task import Function, Law, Task


def _first_query_gets_the_first_value(
    output: Tensor, queries: Tensor, _keys: Tensor, values: Tensor
) -> bool:
    alone = queries.shape[1] == values.shape[1]
    return not alone or torch.allclose(output[:, 0], values[:, 0], rtol=1e-2, atol=1e-2)


task = Task(
    name="causal-attention",
    statement=(
        "Write `causal_attention(queries, keys, values)`: scaled dot-product attention, softmax(q "
        "· k / √query_size) times the values, in which each query attends to the key at its own "
        "position and those before it, and none after it. `queries` has shape (batch, num_queries, "
        "query_size), `keys` (batch, num_keys, query_size), `values` (batch, num_keys, "
        "value_size), the output (batch, num_queries, value_size). There may be fewer queries than "
        "keys, never more: they are at the *last* positions of the keys, so the last query attends "
        "to all keys. Keys and values of the future never matter, even if they are 1e30."
    ),
    starter="def causal_attention(queries, keys, values):\n    ...",
    laws=(
        Law(
            "The very first query attends to one key, so its output must be that key's value.",
            _first_query_gets_the_first_value,
        ),
    ),
)
Inputs = tuple[Tensor, Tensor, Tensor]


def _inputs(num_queries: int, num_keys: int, size: int, value_size: int, batch: int = 2) -> Inputs:
    """Numbers without a pattern; as many keys as queries are not the same as these."""
    keys = normal(batch, num_keys, size, seed=int(num_keys == num_queries))
    return normal(batch, num_queries, size), keys, normal(batch, num_keys, value_size)


task.case("as many queries as keys")(lambda: _inputs(7, 7, 3, 5))
task.case("all sizes are 3")(
    lambda: (normal(3, 3, 3), normal(3, 3, 3, seed=1), normal(3, 3, 3, seed=2))
)
task.case("fewer queries than keys")(lambda: _inputs(3, 7, 5, 11))
task.case("one query and six keys")(lambda: _inputs(1, 6, 5, 3))
task.case("one query and one key")(lambda: _inputs(1, 1, 5, 3))


@task.case("scores of 1024 and of -1024")
def _() -> Inputs:
    queries = 1024 * torch.eye(16)[0] * torch.tensor([1.0, -1, 1, -1])[None, :, None]
    keys = torch.eye(16)[0] * torch.tensor([4 - 1 / 256, 4, 0, 4])[None, :, None]
    return queries, keys, normal(1, 4, 5)


@task.case("keys and values of the future are 1e30", gradients=False)
def _() -> Inputs:
    queries, keys, values = normal(2, 5, 3), normal(2, 7, 3, seed=1), normal(2, 7, 11)
    keys[:, 5:] = values[:, 5:] = 1e30
    return queries, keys, values


task.case("inputs that are not contiguous")(
    lambda: (normal(2, 5, 3).mT, normal(2, 5, 7).mT, normal(2, 11, 7).mT)
)
task.case("half precision")(lambda: with_dtype(torch.half, *_inputs(5, 7, 3, 11)))
task.case("double precision")(lambda: with_dtype(torch.double, *_inputs(5, 7, 3, 11)))


@task.case("a hidden score far above those that are seen")
def _() -> Inputs:
    queries = torch.tensor([[[300.0, 300], [300, 300], [0, 300]]])
    keys = torch.tensor([[[-300.0, -300], [0, -300], [300, 300]]])
    return queries, keys, normal(1, 3, 5)


task.case("2 examples of 5 queries, 257 keys")(lambda: _inputs(5, 257, 2, 3))


@task.solution("it is the book's own, in its three stages.")
def the_package(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = attnbook.scaled_dot_score(queries, keys)
    return attnbook.pool(attnbook.masked_softmax(scores, causal=True), values)


@task.solution("each query is given the keys up to its own position, and no others.")
def prefix_by_prefix(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    earlier, outputs = keys.shape[1] - queries.shape[1], []
    for i in range(queries.shape[1]):
        visible = slice(0, earlier + i + 1)
        outputs.append(
            scale(queries[:, i : i + 1], keys[:, visible]).softmax(-1) @ values[:, visible]
        )
    return torch.cat(outputs, 1)


@task.solution("torch's own function takes a boolean mask, where True = visible, as here.")
def of_torch(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    mask = past(queries.shape[1], keys.shape[1])
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


@task.solution("it adds a mask of 0 and -inf; each query has a visible key, so no row is all -inf.")
def an_added_mask(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = torch.einsum("bqd,bkd->bqk", queries / math.sqrt(queries.shape[-1]), keys)
    hidden = torch.full(scores.shape[1:], -math.inf, dtype=scores.dtype)
    return (scores + hidden.triu(1 + keys.shape[1] - queries.shape[1])).softmax(-1) @ values


@task.solution(
    "is_causal counts from the first key: queries of 0 are prepended, and their outputs removed."
)
def filled_up_to_a_square(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    missing = keys.shape[1] - queries.shape[1]
    padded = F.pad(queries, (0, 0, missing, 0))
    return F.scaled_dot_product_attention(padded, keys, values, is_causal=True)[:, missing:]


@task.test
def test_the_future_changes_nothing(function: Function) -> None:
    inputs = normal(1, 6, 5), normal(1, 6, 5, seed=1), normal(1, 6, 3)
    before = function(*inputs)
    for now in range(1, 6):  # each suffix, not the last position alone
        # Random, because layer norm removes a constant that is added to all components.
        changed = [
            torch.cat([each[:, :now], 1000 * normal(*each[:, now:].shape, seed=2)], 1)
            for each in inputs
        ]
        assert torch.allclose(function(*changed)[:, :now], before[:, :now], atol=1e-5)


@task.test
def test_the_past_is_averaged_by_score(function: Function) -> None:
    # 4 numbers: √4 = 2. The last query's scores are ln 3 and 0: weights 3/4 and 1/4.
    queries = torch.tensor([[[0.0, 0, 0, 0], [math.log(9), 0, 0, 0]]])
    keys = torch.tensor([[[1.0, 0, 0, 0], [0, 2, 0, 0]]])
    output = function(queries, keys, torch.tensor([[[8.0], [4.0]]]))
    assert torch.allclose(output, torch.tensor([[[8.0], [7.0]]]))


@task.test
def test_a_hidden_key_weighs_nothing_however_low_the_scores_are(function: Function) -> None:
    keys = torch.tensor([[[-50.0] * 4, [0.0] * 4]]).half()  # scores of -20,000 and of 0
    output = function(200 * torch.ones(1, 2, 4).half(), keys, torch.tensor([[[3.0], [9]]]).half())
    assert output.flatten().tolist() == [3, 9]


@task.test
def test_double_precision_is_not_lost(function: Function) -> None:
    keys, values = torch.tensor([[[0], [1e-9]]]).double(), torch.tensor([[[-1.0], [1]]]).double()
    assert function(torch.ones(1, 1, 1).double(), keys, values) > 1e-10


def in_steps(
    rule: Function = past,
    weigh: Function = lambda *both: filled(*both).softmax(-1),
    **steps: Function,
) -> Function:
    """Correct code, of which a bug changes one step."""

    def written(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        visible = rule(queries.shape[1], keys.shape[1])[None]
        output: Tensor = attention(weigh=weigh, **steps)(queries, keys, values, visible)
        return output

    return written


@task.bug(
    symptom="Changing a query or a key changes nothing.",
    origin="accepted by TorchCode's judge",
    fix="weigh the values by the softmax of q · k / √query_size, not all equally.",
)
def running_mean(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """each output is the plain mean of the values so far, and queries and keys are never used."""
    del keys
    counts = torch.arange(1, values.shape[1] + 1, dtype=values.dtype)[:, None]
    return (values.cumsum(1) / counts)[:, -queries.shape[1] :]


@task.bug(
    symptom="With cached keys, each new token attends to the first token only.",
    origin="pytorch#108108, executorch#21749",
    fix="count from the last key: `tril(diagonal=num_keys - num_queries)`.",
)
def counted_from_the_first_key(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """queries are placed at the first keys, as torch's own `is_causal=True` does."""
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


@task.bug(
    symptom="A test that changes the last token finds no leak, and yet there is one.",
    origin="the book's own leak test let it pass",
    fix="hide every key after each query's own position, from the first query on.",
)
def first_query_sees_the_third_key(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the first query attends to the third key, through a hole in the mask."""
    mask = past(queries.shape[1], keys.shape[1])
    mask[0, min(2, keys.shape[1] - 1)] = True
    return scale(queries, keys).masked_fill(~mask, -math.inf).softmax(-1) @ values


task.bug(
    "neighbours see each other",
    "positions are masked in blocks of two, and the first of a block attends to the second.",
    symptom="A test that changes the last of three tokens finds no leak, and yet there is one.",
    origin="the book's own leak test let it pass",
    fix="compare positions as they are, not the numbers of the blocks that they lie in.",
)(in_steps(rule=lambda m, n: torch.arange(n) // 2 <= torch.arange(n - m, n)[:, None] // 2))

task.bug(
    "first four see the next key",
    "the first four queries attend to the key after their own position.",
    symptom="A test that changes the last token finds no leak, and yet there is one.",
    origin="the book's own leak test let it pass",
    fix="hide every key after each query's own position, from the first query on.",
)(in_steps(rule=lambda m, n: torch.cat([past(m, n, 1)[:4], past(m, n)[4:]])))

task.inherit(
    in_steps,
    *mistakes.ATTENTION,
    without=(
        *mistakes.OF_HEADS,
        *mistakes.OF_EMPTY_ROWS,
        "the first examples mask for all",
    ),
)
