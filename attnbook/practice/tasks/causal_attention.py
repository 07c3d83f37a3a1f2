"""Attention that never attends to later positions."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.reference_steps import past, scale
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
def test_a_single_query_gets_the_same_output_as_the_last_of_all(function: Function) -> None:
    queries, keys, values = normal(1, 6, 5), normal(1, 6, 5, seed=1), normal(1, 6, 3)
    whole = function(queries, keys, values)
    assert torch.allclose(function(queries[:, -1:], keys, values), whole[:, -1:], atol=1e-5)


def in_steps(
    mask: Function = past,
    weigh: Function = lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(-1),
) -> Function:
    """Correct code, of which a bug changes one step."""

    def written(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        visible = mask(queries.shape[1], keys.shape[1])
        output: Tensor = weigh(scale(queries, keys), visible) @ values
        return output

    return written


task.bug(
    "nothing is hidden",
    "there is no mask, so each query sees all keys.",
    symptom="The training loss falls to nearly 0, but the generated text is nonsense.",
    fix="hide what comes after: fill these scores with -inf before the softmax.",
)(in_steps(weigh=lambda scores, _mask: scores.softmax(-1)))

task.bug(
    "next key visible",
    "each query sees the key after its own position, too.",
    symptom="The training loss is far too low.",
    fix="stop at the query's own position: the next token is the one to predict.",
)(in_steps(mask=lambda m, n: past(m, n, 1)))

task.bug(
    "own position hidden",
    "each query attends only to the keys before its own position, so the first one has none.",
    symptom="The first output is NaN.",
    fix="compare with `<=`, or hide only `triu(diagonal=1)`: a query attends to its own position.",
)(in_steps(mask=lambda m, n: past(m, n, -1)))

task.bug(
    "past hidden in place of the future",
    "the mask's True and False are exchanged, and it hides what should be visible.",
    symptom="The last output is NaN, and the others are averages of later values.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    fix="fill where the mask is False: `masked_fill(~mask, …)`, if True = visible.",
)(in_steps(mask=lambda *numbers: ~past(*numbers)))


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


task.bug(
    "masked after the softmax",
    "the future's weights are set to 0 after the softmax, so the others sum to less than 1.",
    symptom="The earlier an output, the smaller it is.",
    fix="mask the scores, before the softmax, so that the visible keys share the whole weight.",
)(in_steps(weigh=lambda scores, mask: scores.softmax(-1) * mask))

task.bug(
    "ones and zeros added",
    "a mask of 1.0 and 0.0 is added to the scores, which favours the past and hides nothing.",
    symptom="The mask changes the outputs a little, and hides nothing.",
    origin="read in code that adds such a mask to the scores",
    fix="pass a boolean mask, or add 0 and -inf.",
)(in_steps(weigh=lambda scores, mask: (scores + mask).softmax(-1)))


@task.bug(
    symptom="Some outputs are NaN once a hidden key scores over 100 above the visible ones.",
    origin="LLMs-from-scratch, there as a step on the way",
    fix="mask the scores, before the softmax: after it, the visible keys' weights may all be 0.",
)
def masked_and_divided_after_the_softmax(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the mask comes after the softmax, and rows are divided by their sum, which may be 0."""
    weights = scale(queries, keys).softmax(-1) * past(queries.shape[1], keys.shape[1])
    return weights / weights.sum(-1, keepdim=True) @ values


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
)(in_steps(mask=lambda m, n: torch.arange(n) // 2 <= torch.arange(n - m, n)[:, None] // 2))

task.bug(
    "first four see the next key",
    "the first four queries attend to the key after their own position.",
    symptom="A test that changes the last token finds no leak, and yet there is one.",
    origin="the book's own leak test let it pass",
    fix="hide every key after each query's own position, from the first query on.",
)(in_steps(mask=lambda m, n: torch.cat([past(m, n, 1)[:4], past(m, n)[4:]])))
