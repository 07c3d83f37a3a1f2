"""How much a head looks behind the last occurrence of the token at hand."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Law, Task

Given = tuple[Tensor, Tensor]


def _are_shares(scores: Tensor, *_: Tensor) -> bool:
    return bool(((scores > -1e-2) & (scores < 1 + 1e-2)).all())


task = Task(
    name="induction-score",
    statement=(
        "Write `induction_score(weights, tokens)`: how well each head finds what followed last "
        "time. `weights`, (num_heads, num_positions, num_positions), holds each head's causal "
        "attention weights, queries before keys; `tokens`, (num_positions,), a whole number for "
        "each position. A query counts if its token stands at some position before it, too. Take "
        "the last such position, and the weight that the query gives to the key just behind it, "
        "one to the right. (Where the token stands just before the query, that key is the "
        "query's own.) Return the mean of these weights over all queries that count, for each "
        "head: (num_heads,), of the type of `weights`. Where no token comes back, it is 0."
    ),
    starter="def induction_score(weights, tokens):\n    ...",
    outputs=("the scores",),
    laws=(Law("Some score is below 0 or above 1, and is no mean of weights.", _are_shares),),
)


def _weights(num_heads: int, num_positions: int, seed: int = 0) -> Tensor:
    """Causal weights of no pattern."""
    scores = 2 * normal(num_heads, num_positions, num_positions, seed=seed)
    later = torch.ones(num_positions, num_positions, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(-1)


def _all_on(*keys: int) -> Tensor:
    """One head whose query i gives all its weight to the i-th of these keys."""
    return torch.eye(len(keys))[None, list(keys)]


@task.case("a line that stands twice", gradients=False)
def _() -> Given:
    return _weights(3, 10), torch.tensor([4, 1, 3, 2, 6, 4, 1, 3, 2, 6])


@task.case("tokens that come back at odd distances", gradients=False)
def _() -> Given:
    return _weights(2, 11), torch.tensor([5, 2, 5, 7, 1, 2, 3, 7, 4, 2, 8])


@task.case("a token that stands three times", gradients=False)
def _() -> Given:
    return _weights(2, 7), torch.tensor([3, 1, 3, 2, 4, 3, 5])


@task.case("a token twice in a row", gradients=False)
def _() -> Given:
    return _weights(2, 5), torch.tensor([3, 1, 1, 2, 4])


@task.case("no token comes back", gradients=False)
def _() -> Given:
    return _weights(3, 5), torch.tensor([3, 0, 4, 1, 2])


@task.case("one position", gradients=False)
def _() -> Given:
    return _weights(2, 1), torch.tensor([7])


@task.case("one token all along", gradients=False)
def _() -> Given:
    return _weights(2, 7), torch.tensor([2] * 7)


@task.case("as many heads as positions", gradients=False)
def _() -> Given:
    return _weights(7, 7), torch.tensor([1, 2, 3, 1, 2, 3, 1])


@task.case("one head, which looks just behind", gradients=False)
def _() -> Given:
    return _all_on(0, 1, 2, 1, 2, 3), torch.tensor([6, 5, 4, 6, 5, 4])


@task.case("one head, which looks at the token itself", gradients=False)
def _() -> Given:
    return _all_on(0, 1, 2, 0, 1, 2), torch.tensor([6, 5, 4, 6, 5, 4])


@task.case("the token 0, and high ones", gradients=False)
def _() -> Given:
    return _weights(2, 7), torch.tensor([0, 70_000, 0, 256, 512, 70_000, 0])


@task.case("half precision", gradients=False)
def _() -> Given:
    return _weights(2, 6).half(), torch.tensor([1, 2, 3, 1, 2, 3])


@task.case("double precision", gradients=False)
def _() -> Given:
    return _weights(2, 6).double(), torch.tensor([1, 2, 3, 1, 2, 3])


def last_before(tokens: Tensor) -> list[int | None]:
    """Of each position the last one before it with the same token."""
    seen: dict[int, int] = {}
    found = []
    for position, token in enumerate(tokens.tolist()):
        found.append(seen.get(token))
        seen[token] = position
    return found


def mean_of(weights: Tensor, picked: list[Tensor]) -> Tensor:
    """The mean of weights, each (num_heads,); 0 where there are none."""
    return torch.stack(picked).mean(0) if picked else weights.new_zeros(len(weights))


task.case("9 heads, 131 positions", gradients=False)(
    lambda: (normal(9, 131, 131).softmax(-1), torch.arange(131) % 50)
)


@task.right("it goes along, remembers where each token stood last, and picks weights.")
def remembering(weights: Tensor, tokens: Tensor) -> Tensor:
    before = last_before(tokens)
    return mean_of(weights, [weights[:, i, j + 1] for i, j in enumerate(before) if j is not None])


@task.right("each query searches backwards until it finds its token.")
def searching_backwards(weights: Tensor, tokens: Tensor) -> Tensor:
    total, count = weights.new_zeros(len(weights)), 0
    for query in range(len(tokens)):
        for key in reversed(range(query)):
            if tokens[key] == tokens[query]:
                total, count = total + weights[:, query, key + 1], count + 1
                break
    return total / max(count, 1)


@task.right("the last equal token is the highest place in a lower triangle, 0 if there is none.")
def the_highest_place_in_each_row(weights: Tensor, tokens: Tensor) -> Tensor:
    positions = torch.arange(1, len(tokens) + 1)  # that of the key behind
    behind = ((tokens[:, None] == tokens).tril(-1) * positions).amax(1)
    counts = behind > 0
    picked = weights.gather(2, behind.expand(len(weights), -1)[..., None])[..., 0]
    return (picked * counts).sum(1) / counts.sum().clamp(min=1)


@task.right("a mask says which weights count; it is summed, and divided by what it holds.")
def by_a_mask(weights: Tensor, tokens: Tensor) -> Tensor:
    same = (tokens[:, None] == tokens).tril(-1)
    last = same & (same.flip(1).cumsum(1).flip(1) == 1)  # none to the right is the same
    mask = torch.zeros_like(same)
    mask[:, 1:] = last[:, :-1]
    return torch.einsum("hqk,qk->h", weights, mask.to(weights.dtype)) / max(int(mask.sum()), 1)


@task.test
def test_a_head_that_looks_just_behind_has_the_score_1(induction_score: Function) -> None:
    weights = _all_on(0, 1, 2, 1, 2, 3)
    assert induction_score(weights, torch.tensor([6, 5, 4, 6, 5, 4])).tolist() == [1]


@task.test
def test_the_mean_is_over_queries_whose_token_stood_before(induction_score: Function) -> None:
    weights = torch.zeros(2, 5, 5)
    weights[0, 2, 1], weights[0, 4, 3], weights[1, 4, 3] = 0.5, 0.25, 1
    weights[:, 0, 0] = weights[:, 1, 0] = weights[:, 3, 2] = 1
    weights[0, 4, 1] = 0.5
    scores = induction_score(weights, torch.tensor([8, 9, 8, 7, 8]))
    assert scores.tolist() == [0.375, 0.5]  # queries 2 and 4; the last 8 before 4 is at 2


@task.test
def test_a_token_twice_in_a_row_has_itself_behind(induction_score: Function) -> None:
    weights = torch.tensor([[[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.25, 0.25]]])
    assert induction_score(weights, torch.tensor([3, 3, 1])).tolist() == [0.75]


@task.test
def test_where_no_token_comes_back_the_score_is_0(induction_score: Function) -> None:
    weights = torch.ones(3, 4, 4).tril()
    assert induction_score(weights, torch.tensor([3, 0, 1, 2])).tolist() == [0, 0, 0]
