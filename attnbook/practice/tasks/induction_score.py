"""How much a head attends to the token after the last occurrence of the current token."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.practice.example_inputs import normal
from attnbook.practice.task import Function, Law, Task


def _are_shares(scores: Tensor, *_: Tensor) -> bool:
    return bool(((scores > -1e-2) & (scores < 1 + 1e-2)).all())


task = Task(
    name="induction-score",
    statement=(
        "Write `induction_score(weights, tokens)`: how well each head finds what followed last "
        "time. `weights`, (num_heads, num_positions, num_positions), holds each head's causal "
        "attention weights, queries before keys; `tokens`, (num_positions,), holds a whole number "
        "for each position. A query counts if its token also occurs at an earlier position. Take "
        "the last such position, and the weight that the query gives to the key just after it, "
        "one to the right. (If that position is just before the query, this key is the "
        "query's own.) Return the mean of these weights over all queries that count, for each "
        "head: (num_heads,), of the dtype of `weights`. If no token occurs twice, it is 0."
    ),
    starter="def induction_score(weights, tokens):\n    ...",
    outputs=("the scores",),
    laws=(Law("Some score is below 0 or above 1, so it is not a mean of weights.", _are_shares),),
)


def _weights(num_heads: int, num_positions: int, seed: int = 0) -> Tensor:
    """Causal weights of no pattern."""
    scores = 2 * normal(num_heads, num_positions, num_positions, seed=seed)
    later = torch.ones(num_positions, num_positions, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(-1)


def _all_on(*keys: int) -> Tensor:
    """One head whose query i gives all its weight to the i-th of these keys."""
    return torch.eye(len(keys))[None, list(keys)]


task.case("a line that stands twice", gradients=False)(
    lambda: (_weights(3, 10), torch.tensor([4, 1, 3, 2, 6, 4, 1, 3, 2, 6]))
)
task.case("tokens that come back at odd distances", gradients=False)(
    lambda: (_weights(2, 11), torch.tensor([5, 2, 5, 7, 1, 2, 3, 7, 4, 2, 8]))
)
task.case("a token that stands three times", gradients=False)(
    lambda: (_weights(2, 7), torch.tensor([3, 1, 3, 2, 4, 3, 5]))
)
task.case("a token twice in a row", gradients=False)(
    lambda: (_weights(2, 5), torch.tensor([3, 1, 1, 2, 4]))
)
task.case("no token comes back", gradients=False)(
    lambda: (_weights(3, 5), torch.tensor([3, 0, 4, 1, 2]))
)
task.case("one position", gradients=False)(lambda: (_weights(2, 1), torch.tensor([7])))
task.case("one token all along", gradients=False)(lambda: (_weights(2, 7), torch.tensor([2] * 7)))
task.case("as many heads as positions", gradients=False)(
    lambda: (_weights(7, 7), torch.tensor([1, 2, 3, 1, 2, 3, 1]))
)
task.case("one head, which looks just behind", gradients=False)(
    lambda: (_all_on(0, 1, 2, 1, 2, 3), torch.tensor([6, 5, 4, 6, 5, 4]))
)
task.case("one head, which looks at the token itself", gradients=False)(
    lambda: (_all_on(0, 1, 2, 0, 1, 2), torch.tensor([6, 5, 4, 6, 5, 4]))
)
task.case("the token 0, and high ones", gradients=False)(
    lambda: (_weights(2, 7), torch.tensor([0, 70_000, 0, 256, 512, 70_000, 0]))
)
task.case("half precision", gradients=False)(
    lambda: (_weights(2, 6).half(), torch.tensor([1, 2, 3, 1, 2, 3]))
)
task.case("double precision", gradients=False)(
    lambda: (_weights(2, 6).double(), torch.tensor([1, 2, 3, 1, 2, 3]))
)


def last_before(tokens: Tensor) -> list[int | None]:
    """For each position, the last one before it with the same token."""
    last_position: dict[int, int] = {}
    found = []
    for position, token in enumerate(tokens.tolist()):
        found.append(last_position.get(token))
        last_position[token] = position
    return found


def mean_of(weights: Tensor, picked: list[Tensor]) -> Tensor:
    """The mean of weights, each (num_heads,); 0 where there are none."""
    return torch.stack(picked).mean(0) if picked else weights.new_zeros(len(weights))


task.case("9 heads, 131 positions", gradients=False)(
    lambda: (normal(9, 131, 131).softmax(-1), torch.arange(131) % 50)
)


@task.solution("it reads the tokens in order, and stores the last position of each in a dict.")
def remembering(weights: Tensor, tokens: Tensor) -> Tensor:
    before = last_before(tokens)
    return mean_of(weights, [weights[:, i, j + 1] for i, j in enumerate(before) if j is not None])


@task.solution("from each query it searches backwards until it finds the same token.")
def searching_backwards(weights: Tensor, tokens: Tensor) -> Tensor:
    total, count = weights.new_zeros(len(weights)), 0
    for query in range(len(tokens)):
        for key in reversed(range(query)):
            if tokens[key] == tokens[query]:
                total, count = total + weights[:, query, key + 1], count + 1
                break
    return total / max(count, 1)


@task.solution(
    "`amax` over a lower triangle finds each query's last equal token; 0 means there is none."
)
def the_highest_place_in_each_row(weights: Tensor, tokens: Tensor) -> Tensor:
    positions = torch.arange(1, len(tokens) + 1)  # that of the key behind
    behind = ((tokens[:, None] == tokens).tril(-1) * positions).amax(1)
    counts = behind > 0
    picked = weights.gather(2, behind.expand(len(weights), -1)[..., None])[..., 0]
    return (picked * counts).sum(1) / counts.sum().clamp(min=1)


@task.solution("a mask marks the weights that count; their sum is divided by their number.")
def by_a_mask(weights: Tensor, tokens: Tensor) -> Tensor:
    same = (tokens[:, None] == tokens).tril(-1)
    last = same & (same.flip(1).cumsum(1).flip(1) == 1)  # none to the right is the same
    mask = torch.zeros_like(same)
    mask[:, 1:] = last[:, :-1]
    return torch.einsum("hqk,qk->h", weights, mask.to(weights.dtype)) / max(int(mask.sum()), 1)


@task.test
def test_a_head_that_attends_to_the_next_token_has_the_score_1(induction_score: Function) -> None:
    weights = _all_on(0, 1, 2, 1, 2, 3)
    assert induction_score(weights, torch.tensor([6, 5, 4, 6, 5, 4])).tolist() == [1]


@task.test
def test_the_mean_is_over_queries_whose_token_occurred_before(induction_score: Function) -> None:
    weights = torch.zeros(2, 5, 5)
    weights[0, 2, 1], weights[0, 4, 3], weights[1, 4, 3] = 0.5, 0.25, 1
    weights[:, 0, 0] = weights[:, 1, 0] = weights[:, 3, 2] = 1
    weights[0, 4, 1] = 0.5
    scores = induction_score(weights, torch.tensor([8, 9, 8, 7, 8]))
    assert scores.tolist() == [0.375, 0.5]  # queries 2 and 4; the last 8 before 4 is at 2


@task.test
def test_a_token_twice_in_a_row_is_its_own_next_token(induction_score: Function) -> None:
    weights = torch.tensor([[[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.25, 0.25]]])
    assert induction_score(weights, torch.tensor([3, 3, 1])).tolist() == [0.75]


@task.test
def test_where_no_token_repeats_the_score_is_0(induction_score: Function) -> None:
    weights = torch.ones(3, 4, 4).tril()
    assert induction_score(weights, torch.tensor([3, 0, 1, 2])).tolist() == [0, 0, 0]


def _scored(weights: Tensor, tokens: Tensor, pick: Callable[[Tensor, int, int], Tensor]) -> Tensor:
    """Correct code, except for what is picked for a query and its token's last position."""
    pairs = [(i, j) for i, j in enumerate(last_before(tokens)) if j is not None]
    return mean_of(weights, [pick(weights, i, j) for i, j in pairs])


@task.bug(
    symptom="Heads that copy have scores of almost 0.",
    origin="a common mistake; it grades heads that find a token's copy, which is another thing",
    fix="take the key after it: `position + 1`.",
)
def weight_on_the_token_itself(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weight on the earlier occurrence itself is taken, and not on the key after it."""
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j])


@task.bug(
    symptom="Heads that copy have scores of almost 0.",
    fix="take the key to its right, `position + 1`: the token that followed.",
)
def weight_on_the_key_before(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weight on the key before the earlier occurrence is taken, one to the left."""
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j - 1])


@task.bug(
    symptom="The score is right where tokens occur twice, and far too low where they occur often.",
    origin="a common mistake: `index` and `argmax` find the first",
    fix="take the last position before the query: search backwards, or let later ones replace it.",
)
def first_occurrence(weights: Tensor, tokens: Tensor) -> Tensor:
    """the first occurrence of the token is taken, and not the last one before the query."""
    numbers = tokens.tolist()
    return _scored(weights, tokens, lambda w, i, _: w[:, i, numbers.index(numbers[i]) + 1])


@task.bug(
    symptom="A head that attends after several earlier copies scores too high.",
    fix="of all earlier positions take the last one only.",
)
def all_occurrences(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weights after all earlier occurrences are added up, not only that after the last."""
    numbers = tokens.tolist()

    def pick(w: Tensor, i: int, _: int) -> Tensor:
        return w[:, i, [j + 1 for j in range(i) if numbers[j] == numbers[i]]].sum(1)

    return _scored(weights, tokens, pick)


@task.bug(
    symptom="Frequent tokens decide the score.",
    origin="a common mistake: two loops, and no `break`",
    fix="stop at the last earlier position: each query counts once.",
)
def every_pair_counts(weights: Tensor, tokens: Tensor) -> Tensor:
    """the mean is over all pairs of equal tokens, so a query may count several times."""
    numbers = tokens.tolist()
    pairs = [(i, j) for i in range(len(numbers)) for j in range(i) if numbers[j] == numbers[i]]
    return mean_of(weights, [weights[:, i, j + 1] for i, j in pairs])


@task.bug(
    symptom="All scores are 0, whatever the text.",
    origin="a new reader's first try: a dict of tensors, which are all different as its keys",
    fix="convert the tokens to numbers first: `tokens.tolist()`.",
)
def no_token_is_found_again(weights: Tensor, tokens: Tensor) -> Tensor:
    """no token is ever recognised again, as when tensors are dict keys."""
    last_position: dict[Tensor, int] = {}
    total, count = weights.new_zeros(len(weights)), 0
    for query, token in enumerate(tokens):
        if token in last_position:
            total, count = total + weights[:, query, last_position[token] + 1], count + 1
        last_position[token] = query
    return total / max(count, 1)


@task.bug(
    symptom="No head ever reaches 1, and tokens that occur only once lower all scores.",
    origin="a common mistake: `mean` over everything",
    fix="divide by the number of queries whose token occurred before.",
)
def averaged_over_all_queries(weights: Tensor, tokens: Tensor) -> Tensor:
    """the sum is divided by the number of positions, not by the number of queries that count."""
    count = len(tokens) - last_before(tokens).count(None)
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1]) * count / len(tokens)


@task.bug(
    symptom="Scores grow with the length of the text, and exceed 1.",
    fix="divide the sum by how many queries count.",
)
def never_divided(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weights are added up, and not averaged."""
    count = len(tokens) - last_before(tokens).count(None)
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1]) * count


@task.bug(
    symptom="All scores are 0, or almost 0.",
    origin="a common mistake: `tokens == tokens[i]` finds the query's own position, too",
    fix="search before the query only: positions below its own.",
)
def own_position_counts(weights: Tensor, tokens: Tensor) -> Tensor:
    """the query's own position counts as an occurrence, and the key after it is in the future."""
    behind = (torch.arange(len(tokens)) + 1).clamp(max=len(tokens) - 1)
    return weights[:, torch.arange(len(tokens)), behind].mean(1)


@task.bug(
    symptom="Scores fall where tokens come back later in the text.",
    fix="search before the query only; its token's later positions do not count.",
)
def later_occurrences_count(weights: Tensor, tokens: Tensor) -> Tensor:
    """the last other occurrence in the sequence is taken, though it may come after the query."""
    numbers, last = tokens.tolist(), len(tokens) - 1
    earlier = [
        [j for j, it in enumerate(numbers) if it == numbers[i] and j != i] for i in range(last + 1)
    ]
    pairs = [(i, min(of_it[-1] + 1, last)) for i, of_it in enumerate(earlier) if of_it]
    return mean_of(weights, [weights[:, i, j] for i, j in pairs])


@task.bug(
    symptom="All scores are 0, except where a token occurs twice in a row.",
    fix="queries come before keys: `weights[:, query, key]`.",
)
def rows_are_taken_for_keys(weights: Tensor, tokens: Tensor) -> Tensor:
    """queries and keys are exchanged: `weights[:, key, query]`."""
    return _scored(weights, tokens, lambda w, i, j: w[:, j + 1, i])


@task.bug(
    symptom="Only one number comes back, not one for each head.",
    origin="a common mistake: `mean()` without an axis",
    fix="average over the queries only, and keep the heads separate.",
)
def heads_are_averaged(weights: Tensor, tokens: Tensor) -> Tensor:
    """the mean is taken over the heads, too."""
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1]).mean()


@task.bug(
    symptom="The highest score goes to a head of the first layer, which cannot copy by itself.",
    origin="a common mistake: the two scores belong together",
    fix="look up where the token occurred before: `i - 1` is the previous-token score.",
)
def previous_token_score(weights: Tensor, tokens: Tensor) -> Tensor:
    """each query's weight on the previous key is taken, which is another score."""
    return _scored(weights, tokens, lambda w, i, _: w[:, i, i - 1])


@task.bug(
    symptom="One text without a repeated token turns the average over all texts into NaN.",
    origin="a common mistake: the mean of nothing",
    fix="return 0 where no query counts.",
)
def nothing_divided_by_nothing(weights: Tensor, tokens: Tensor) -> Tensor:
    """the mean of nothing is taken where no token repeats, and it is NaN."""
    counts = any(position is not None for position in last_before(tokens))
    scores = _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1])
    return scores if counts else scores / 0


@task.bug(
    symptom="Doubled letters are missing from the score.",
    origin="a common mistake: a search that begins two positions before the query",
    fix="let the position just before the query count, too: the key after it is the query's own.",
)
def twice_in_a_row_left_out(weights: Tensor, tokens: Tensor) -> Tensor:
    """the search skips the position just before the query."""
    numbers = tokens.tolist()
    earlier = [[j for j in range(i - 1) if numbers[j] == numbers[i]] for i in range(len(numbers))]
    return mean_of(weights, [weights[:, i, j[-1] + 1] for i, j in enumerate(earlier) if j])


@task.bug(
    symptom="Heads often score just 0 or 1, and a weight that is not the highest counts as 0.",
    origin="a common mistake: it is a fair score, and another one",
    fix="average the weights themselves: a head may attend there with half its weight.",
)
def hits_are_counted(weights: Tensor, tokens: Tensor) -> Tensor:
    """it counts how often the key after the token has the highest weight, not how high it is."""
    return _scored(weights, tokens, lambda w, i, j: (w[:, i].argmax(-1) == j + 1).to(weights.dtype))


@task.bug(
    symptom="Every head has a high score: one query with a high weight is enough.",
    fix="take the mean over the queries.",
)
def the_best_query_only(weights: Tensor, tokens: Tensor) -> Tensor:
    """the highest of the weights is returned, and not their mean."""
    picked = [weights[:, i, j + 1] for i, j in enumerate(last_before(tokens)) if j is not None]
    return torch.stack(picked).amax(0) if picked else mean_of(weights, picked)
