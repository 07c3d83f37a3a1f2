"""How much a head attends to the token after the last occurrence of the current token."""

from functools import partial

import torch
from torch import Tensor

from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.reference_steps import past
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


Inputs = tuple[Tensor, Tensor]


def _inputs(num_heads: int, tokens: list[int]) -> Inputs:
    """Causal weights of no pattern."""
    scores = 2 * normal(num_heads, len(tokens), len(tokens))
    visible = past(len(tokens), len(tokens))
    return scores.masked_fill(~visible, -torch.inf).softmax(-1), torch.tensor(tokens)


def _all_on(*keys: int) -> Inputs:
    """One head, whose query i gives all its weight to the i-th of these keys, and six tokens."""
    return torch.eye(len(keys))[None, list(keys)], torch.tensor([6, 5, 4, 6, 5, 4])


case = partial(task.case, gradients=False)


case("a line that stands twice")(lambda: _inputs(3, [4, 1, 3, 2, 6] * 2))
case("tokens that come back at odd distances")(
    lambda: _inputs(2, [5, 2, 5, 7, 1, 2, 3, 7, 4, 2, 8])
)
case("a token that stands three times")(lambda: _inputs(2, [3, 1, 3, 2, 4, 3, 5]))
case("a token twice in a row")(lambda: _inputs(2, [3, 1, 1, 2, 4]))
case("no token comes back")(lambda: _inputs(3, [3, 0, 4, 1, 2]))
case("one position")(lambda: _inputs(2, [7]))
case("one token all along")(lambda: _inputs(2, [2] * 7))
case("as many heads as positions")(lambda: _inputs(7, [1, 2, 3, 1, 2, 3, 1]))
case("one head, which looks just behind")(lambda: _all_on(0, 1, 2, 1, 2, 3))
case("one head, which looks at the token itself")(lambda: _all_on(0, 1, 2, 0, 1, 2))
case("the token 0, and high ones")(lambda: _inputs(2, [0, 70_000, 0, 2048, 2049, 70_000, 0]))
case("half precision")(lambda: with_dtype(torch.half, *_inputs(2, [1, 2, 3, 1, 2, 3])))
case("double precision")(lambda: with_dtype(torch.double, *_inputs(2, [1, 2, 3, 1, 2, 3])))
case("9 heads, 131 positions")(lambda: (normal(9, 131, 131).softmax(-1), torch.arange(131) % 50))


def mean_of(weights: Tensor, picked: list[Tensor]) -> Tensor:
    """The mean of weights, each (num_heads,); 0 where there are none."""
    return torch.stack(picked).mean(0) if picked else weights.new_zeros(len(weights))


@task.solution("it reads the tokens in order, and stores the last position of each in a dict.")
def remembering(weights: Tensor, tokens: Tensor) -> Tensor:
    last_position: dict[int, int] = {}
    picked = []
    for query, token in enumerate(tokens.tolist()):
        if token in last_position:
            picked.append(weights[:, query, last_position[token] + 1])
        last_position[token] = query
    return mean_of(weights, picked)


@task.solution("from each query it searches backwards until it finds the same token.")
def searching_backwards(weights: Tensor, tokens: Tensor) -> Tensor:
    total, count = weights.new_zeros(len(weights)), 0
    for query in range(len(tokens)):
        for key in reversed(range(query)):
            if tokens[key] == tokens[query]:
                total, count = total + weights[:, query, key + 1], count + 1
                break
    return total / max(count, 1)


@task.solution("`amax` over a lower triangle finds a query's last equal token; 0 means none.")
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


def in_steps(
    search: Function = lambda i, _num_positions: range(i),
    pick: Function = lambda w, i, earlier: w[:, i, earlier[-1] + 1],
    average: Function = mean_of,
) -> Function:
    """Correct code, of which a bug changes one step."""

    def written(weights: Tensor, tokens: Tensor) -> Tensor:
        numbers, picked = tokens.tolist(), []
        for i in range(len(numbers)):
            earlier = [j for j in search(i, len(numbers)) if numbers[j] == numbers[i]]
            if earlier:
                picked.append(pick(weights, i, earlier))
        scores: Tensor = average(weights, picked)
        return scores

    return written


task.bug(
    "weight on the token itself",
    "the weight on the earlier occurrence itself is taken, and not on the key after it.",
    symptom="Heads that copy have scores of almost 0.",
    origin="a common mistake; it grades heads that find a token's copy, which is another thing",
    fix="take the key after it: `position + 1`.",
)(in_steps(pick=lambda w, i, earlier: w[:, i, earlier[-1]]))

task.bug(
    "weight on the key before",
    "the weight on the key before the earlier occurrence is taken, one to the left.",
    symptom="Heads that copy have scores of almost 0.",
    fix="take the key to its right, `position + 1`: the token that followed.",
)(in_steps(pick=lambda w, i, earlier: w[:, i, earlier[-1] - 1]))

task.bug(
    "first occurrence",
    "the first occurrence of the token is taken, and not the last one before the query.",
    symptom="The score is right where tokens occur twice, and far too low where they occur often.",
    origin="a common mistake: `index` and `argmax` find the first",
    fix="take the last position before the query: search backwards, or let later ones replace it.",
)(in_steps(pick=lambda w, i, earlier: w[:, i, earlier[0] + 1]))

task.bug(
    "all occurrences",
    "the weights after all earlier occurrences are added up, not only that after the last.",
    symptom="A head that attends after several earlier copies scores too high.",
    fix="of all earlier positions take the last one only.",
)(in_steps(pick=lambda w, i, earlier: w[:, i, [j + 1 for j in earlier]].sum(1)))


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
    """all scores are 0, as when no token is recognized again: tensors are no keys of a dict."""
    last_position: dict[Tensor, int] = {}
    total, count = weights.new_zeros(len(weights)), 0
    for query, token in enumerate(tokens):
        if token in last_position:
            total, count = total + weights[:, query, last_position[token] + 1], count + 1
        last_position[token] = query
    return total / max(count, 1)


task.bug(
    "averaged over all queries",
    "the sum is divided by the number of positions, not by the number of queries that count.",
    symptom="No head ever reaches 1, and tokens that occur only once lower all scores.",
    origin="a common mistake: `mean` over everything",
    fix="divide by the number of queries whose token occurred before.",
)(in_steps(average=lambda w, picked: mean_of(w, picked) * len(picked) / w.shape[1]))

task.bug(
    "never divided",
    "the weights are added up, and not averaged.",
    symptom="Scores grow with the length of the text, and exceed 1.",
    fix="divide the sum by how many queries count.",
)(in_steps(average=lambda w, picked: mean_of(w, picked) * len(picked)))


@task.bug(
    symptom="All scores are 0, or almost 0.",
    origin="a common mistake: `tokens == tokens[i]` finds the query's own position, too",
    fix="search before the query only: positions below its own.",
)
def own_position_counts(weights: Tensor, tokens: Tensor) -> Tensor:
    """the query's own position counts as an occurrence, and the key after it is in the future."""
    behind = (torch.arange(len(tokens)) + 1).clamp(max=len(tokens) - 1)
    return weights[:, torch.arange(len(tokens)), behind].mean(1)


task.bug(
    "later occurrences count",
    "the last other occurrence in the sequence is taken, though it may come after the query.",
    symptom="Scores fall where tokens come back later in the text.",
    fix="search before the query only; its token's later positions do not count.",
)(
    in_steps(
        search=lambda i, num_positions: [j for j in range(num_positions) if j != i],
        pick=lambda w, i, others: w[:, i, min(others[-1] + 1, w.shape[1] - 1)],
    )
)

task.bug(
    "rows are taken for keys",
    "queries and keys are exchanged: `weights[:, key, query]`.",
    symptom="All scores are 0, except where a token occurs twice in a row.",
    fix="queries come before keys: `weights[:, query, key]`.",
)(in_steps(pick=lambda w, i, earlier: w[:, earlier[-1] + 1, i]))

task.bug(
    "heads are averaged",
    "the mean is taken over the heads, too.",
    symptom="Only one number comes back, not one for each head.",
    origin="a common mistake: `mean()` without an axis",
    fix="average over the queries only, and keep the heads separate.",
)(in_steps(average=lambda w, picked: mean_of(w, picked).mean()))

task.bug(
    "previous token score",
    "each query's weight on the previous key is taken, which is another score.",
    symptom="The highest score goes to a head of the first layer, which cannot copy by itself.",
    origin="a common mistake: the two scores belong together",
    fix="look up where the token occurred before: `i - 1` is the previous-token score.",
)(in_steps(pick=lambda w, i, _earlier: w[:, i, i - 1]))

task.bug(
    "nothing divided by nothing",
    "the mean of nothing is taken where no token repeats, and it is NaN.",
    symptom="One text without a repeated token turns the average over all texts into NaN.",
    origin="a common mistake: the mean of nothing",
    fix="return 0 where no query counts.",
)(in_steps(average=lambda w, picked: mean_of(w, picked) / min(len(picked), 1)))

task.bug(
    "twice in a row left out",
    "the search skips the position just before the query.",
    symptom="Doubled letters are missing from the score.",
    origin="a common mistake: a search that begins two positions before the query",
    fix="let the position just before the query count, too: the key after it is the query's own.",
)(in_steps(search=lambda i, _num_positions: range(i - 1)))

task.bug(
    "hits are counted",
    "it counts how often the key after the token has the highest weight, not how high it is.",
    symptom="Heads often score just 0 or 1, and a weight that is not the highest counts as 0.",
    origin="a common mistake: it is a fair score, and another one",
    fix="average the weights themselves: a head may attend there with half its weight.",
)(in_steps(pick=lambda w, i, earlier: (w[:, i].argmax(-1) == earlier[-1] + 1).to(w.dtype)))

task.bug(
    "the best query only",
    "the highest of the weights is returned, and not their mean.",
    symptom="Every head has a high score: one query with a high weight is enough.",
    fix="take the mean over the queries.",
)(in_steps(average=lambda w, picked: torch.stack(picked).amax(0) if picked else mean_of(w, [])))
