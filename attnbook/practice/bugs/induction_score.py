"""Known bugs of the task induction-score."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.practice.tasks.induction_score import last_before, mean_of, task

TWICE = "a line that stands twice"


def _scored(weights: Tensor, tokens: Tensor, pick: Callable[[Tensor, int, int], Tensor]) -> Tensor:
    """Right code, but for what is picked for a query and its token's last position."""
    pairs = [(i, j) for i, j in enumerate(last_before(tokens)) if j is not None]
    return mean_of(weights, [pick(weights, i, j) for i, j in pairs])


@task.bug(
    symptom="Heads that copy score next to nothing.",
    origin="a common slip; it grades heads that find a token's copy, which is another thing",
    mend="take the key behind: `position + 1`.",
    case=TWICE,
)
def weight_on_the_token_itself(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weight on the earlier occurrence itself is taken, and not on the key behind it."""
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j])


@task.bug(
    symptom="Heads that copy score next to nothing.",
    origin="a common slip",
    mend="behind is to the right, `position + 1`: what came next that time.",
    case=TWICE,
)
def weight_on_the_key_before(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weight on the key before the earlier occurrence is taken, one to the left."""
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j - 1])


@task.bug(
    symptom="The score is right where tokens stand twice, and far too low where they stand often.",
    origin="a common slip: `index` and `argmax` find the first",
    mend="take the last position before the query: search backwards, or let later ones win.",
    case="a token that stands three times",
)
def first_occurrence(weights: Tensor, tokens: Tensor) -> Tensor:
    """the first occurrence of the token is taken, and not the last one before the query."""
    known = tokens.tolist()
    return _scored(weights, tokens, lambda w, i, _: w[:, i, known.index(known[i]) + 1])


@task.bug(
    symptom="A head that looks behind each earlier copy scores higher than one that looks once.",
    origin="a common slip",
    mend="of all earlier positions take the last one only.",
    case="a token that stands three times",
)
def all_occurrences(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weights behind all earlier occurrences are added up, not only that behind the last."""
    known = tokens.tolist()

    def pick(w: Tensor, i: int, _: int) -> Tensor:
        return w[:, i, [j + 1 for j in range(i) if known[j] == known[i]]].sum(1)

    return _scored(weights, tokens, pick)


@task.bug(
    symptom="Frequent tokens decide the score.",
    origin="a common slip: two loops, and no `break`",
    mend="stop at the last earlier position: each query counts once.",
    case="a token that stands three times",
)
def every_pair_counts(weights: Tensor, tokens: Tensor) -> Tensor:
    """the mean is over all pairs of equal tokens, and a query counts once for each earlier one."""
    known = tokens.tolist()
    pairs = [(i, j) for i in range(len(known)) for j in range(i) if known[j] == known[i]]
    return mean_of(weights, [weights[:, i, j + 1] for i, j in pairs])


@task.bug(
    symptom="All scores are 0, whatever the text.",
    origin="a new reader's first try: a dict of tensors, which are all different as its keys",
    mend="make numbers of the tokens first: `tokens.tolist()`.",
    case=TWICE,
)
def no_token_is_found_again(weights: Tensor, tokens: Tensor) -> Tensor:
    """no token is ever found again, as when tensors are looked up in a dict."""
    seen: dict[Tensor, int] = {}
    total, count = weights.new_zeros(len(weights)), 0
    for query, token in enumerate(tokens):
        if token in seen:
            total, count = total + weights[:, query, seen[token] + 1], count + 1
        seen[token] = query
    return total / max(count, 1)


@task.bug(
    symptom="No head ever reaches 1, and longer beginnings make all scores smaller.",
    origin="a common slip: `mean` over everything",
    mend="divide by how many queries have their token before them.",
    case=TWICE,
)
def averaged_over_all_queries(weights: Tensor, tokens: Tensor) -> Tensor:
    """the sum is divided by the number of positions, and not by that of queries that count."""
    count = len(tokens) - last_before(tokens).count(None)
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1]) * count / len(tokens)


@task.bug(
    symptom="Scores grow with the length of the text, and exceed 1.",
    origin="a common slip",
    mend="divide the sum by how many queries count.",
    case=TWICE,
)
def never_divided(weights: Tensor, tokens: Tensor) -> Tensor:
    """the weights are added up, and not averaged."""
    count = len(tokens) - last_before(tokens).count(None)
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1]) * count


@task.bug(
    symptom="All scores are 0, or nearly.",
    origin="a common slip: `tokens == tokens[i]` finds the query's own position, too",
    mend="search before the query only: positions below its own.",
    case=TWICE,
)
def own_position_counts(weights: Tensor, tokens: Tensor) -> Tensor:
    """the query's own position counts as an occurrence, and the key behind is in the future."""
    behind = (torch.arange(len(tokens)) + 1).clamp(max=len(tokens) - 1)
    return weights[:, torch.arange(len(tokens)), behind].mean(1)


@task.bug(
    symptom="Scores fall where tokens come back later in the text.",
    origin="a common slip",
    mend="search before the query only; its token's later positions tell it nothing.",
    case=TWICE,
)
def later_occurrences_count(weights: Tensor, tokens: Tensor) -> Tensor:
    """the last other occurrence in the whole line is taken, though it may come after the query."""
    known, last = tokens.tolist(), len(tokens) - 1
    places = [
        [j for j, it in enumerate(known) if it == known[i] and j != i] for i in range(last + 1)
    ]
    pairs = [(i, min(of_it[-1] + 1, last)) for i, of_it in enumerate(places) if of_it]
    return mean_of(weights, [weights[:, i, j] for i, j in pairs])


@task.bug(
    symptom="All scores are 0, except where a token stands twice in a row.",
    origin="a common slip",
    mend="queries come before keys: `weights[:, query, key]`.",
    case=TWICE,
)
def rows_are_taken_for_keys(weights: Tensor, tokens: Tensor) -> Tensor:
    """queries and keys are exchanged: `weights[:, key, query]`."""
    return _scored(weights, tokens, lambda w, i, j: w[:, j + 1, i])


@task.bug(
    symptom="One number comes back, and nothing tells which head it is.",
    origin="a common slip: `mean()` without an axis",
    mend="average over queries, and leave the heads apart.",
    case=TWICE,
)
def heads_are_averaged(weights: Tensor, tokens: Tensor) -> Tensor:
    """all heads go into one average."""
    return _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1]).mean()


@task.bug(
    symptom="The wrong head wins: one of the first layer, which cannot copy by itself.",
    origin="a common slip: the two scores belong together",
    mend="look up where the token stood before: `i - 1` is the previous-token score.",
    case=TWICE,
)
def previous_token_score(weights: Tensor, tokens: Tensor) -> Tensor:
    """each query's weight on the key just before it is taken, which is another score."""
    return _scored(weights, tokens, lambda w, i, _: w[:, i, i - 1])


@task.bug(
    symptom="Some texts turn the average of all into NaN.",
    origin="a common slip: the mean of nothing",
    mend="return 0 where no query counts.",
    case="no token comes back",
)
def nothing_divided_by_nothing(weights: Tensor, tokens: Tensor) -> Tensor:
    """the mean of nothing is taken where no token comes back, and it is NaN."""
    counts = any(place is not None for place in last_before(tokens))
    scores = _scored(weights, tokens, lambda w, i, j: w[:, i, j + 1])
    return scores if counts else scores / 0


@task.bug(
    symptom="Doubled letters are missing from the score.",
    origin="a common slip: a search that begins two to the left",
    mend="let the position just before the query count, too: the key behind it is the query's own.",
    case="a token twice in a row",
)
def twice_in_a_row_left_out(weights: Tensor, tokens: Tensor) -> Tensor:
    """the position just before the query is passed over in the search."""
    known = tokens.tolist()
    places = [[j for j in range(i - 1) if known[j] == known[i]] for i in range(len(known))]
    return mean_of(weights, [weights[:, i, j[-1] + 1] for i, j in enumerate(places) if j])


@task.bug(
    symptom="Heads score 0 or 1 in short texts, and a faint head nothing at all.",
    origin="a common slip: it is a fair score, and another one",
    mend="average the weights themselves: a head may look there by half.",
    case=TWICE,
)
def hits_are_counted(weights: Tensor, tokens: Tensor) -> Tensor:
    """it counts how often the key behind has the highest weight, and not how high it is."""
    return _scored(weights, tokens, lambda w, i, j: (w[:, i].argmax(-1) == j + 1).to(weights.dtype))


@task.bug(
    symptom="Every head looks good: one lucky query is enough.",
    origin="a common slip",
    mend="take the mean over the queries.",
    case=TWICE,
)
def the_best_query_only(weights: Tensor, tokens: Tensor) -> Tensor:
    """the highest of the weights is returned, and not their mean."""
    picked = [weights[:, i, j + 1] for i, j in enumerate(last_before(tokens)) if j is not None]
    return torch.stack(picked).amax(0) if picked else mean_of(weights, picked)
