"""The scaled dot product, the softmax and the average, in one function."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.list_task import ListTask
from attnbook.practice.reference_steps import attention, visible_keys, weigh
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, ...]


def _lies_among_the_values(output: Tensor, *inputs: Tensor) -> bool:
    values = inputs[2]
    slack = 1e-2 * values.abs().amax(1, keepdim=True)
    low, high = values.amin(1, keepdim=True) - slack, values.amax(1, keepdim=True) + slack
    return not bool(((output < low) | (output > high)).logical_and(output != 0).any())


task = Task(
    name="scaled-dot-attention",
    statement=(
        "Write `scaled_dot_attention(queries, keys, values, valid_lens=None)`. `queries` has "
        "shape (batch, num_queries, query_size), `keys` (batch, num_keys, query_size), `values` "
        "(batch, num_keys, value_size). A score is q · k / √query_size; the softmax of a query's "
        "scores, over the keys, gives its weights; its output is the average of the values with "
        "these weights, so the output has shape (batch, num_queries, value_size). `valid_lens`, "
        "(batch,), says how many keys of each example, from the first, may be seen; None means "
        "all. Padding may hold any finite numbers, even 1e30, and must not change the output. "
        "Where a length is 0, the output is 0."
    ),
    starter="def scaled_dot_attention(queries, keys, values, valid_lens=None):\n    ...",
    laws=(
        Law(
            "Some output is smaller or larger than all values, so it is not an average of them.",
            _lies_among_the_values,
        ),
    ),
)


task.case("all sizes differ, and nothing is padding")(
    lambda: (normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11))
)
task.case("a length for each example")(
    lambda: (normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11), lengths(4, 2))
)
task.case("all sizes are 3")(
    lambda: (normal(3, 3, 3), normal(3, 3, 3, seed=1), normal(3, 3, 3, seed=2), lengths(3, 1, 2))
)
task.case("one query and one key")(
    lambda: (normal(2, 1, 5), normal(2, 1, 5, seed=1), normal(2, 1, 3), lengths(1, 1))
)


@task.case("scores of 1024 and of -1024")
def _() -> Inputs:
    queries = 1024 * torch.eye(16)[:1] * torch.tensor([[[1.0], [-1.0]]])
    keys = torch.eye(16)[:1] * torch.tensor([[[4.0], [4 - 1 / 256], [0]]])
    return queries, keys, normal(1, 3, 5)


@task.case("keys and values of padding are 1e30")
def _() -> Inputs:
    keys, values = normal(2, 5, 7), normal(2, 5, 11)
    for example, length in enumerate((4, 2)):
        keys[example, length:] = values[example, length:] = 1e30
    return normal(2, 3, 7), keys, values, lengths(4, 2)


task.case("an example that may see nothing")(
    lambda: (normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11), lengths(0, 4))
)


@task.case("inputs that are not contiguous")
def _() -> Inputs:
    axes = (1, 2)
    queries, keys = normal(2, 7, 3).transpose(*axes), normal(2, 7, 5).transpose(*axes)
    return queries, keys, normal(2, 11, 5).transpose(*axes), lengths(5, 2)


task.case("half precision")(
    lambda: (normal(2, 3, 7).half(), normal(2, 5, 7).half(), normal(2, 5, 11).half(), lengths(4, 2))
)
task.case("vectors of 130 numbers, in double precision")(
    lambda: (*(normal(2, n, 130).double() for n in (3, 5)), normal(2, 5, 3).double(), lengths(4, 2))
)


Lengths = Tensor | None


task.case("no example that may see anything")(
    lambda: (normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11), lengths(0, 0))
)


@task.case("scores of -20,000, and padding")
def _() -> Inputs:
    keys = torch.tensor([-50.0, -50 + 1 / 64, -50 - 1 / 64, 0])[:, None].repeat(1, 1, 4)
    return 200 * torch.ones(1, 1, 4), keys, normal(1, 4, 3), lengths(3)


task.case("2 examples of 2 queries, 257 keys")(
    lambda: (normal(2, 2, 3), normal(2, 257, 3), normal(2, 257, 2), lengths(257, 130))
)


@task.solution("it is the book's own, in its three stages.")
def the_package(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    scores = attnbook.scaled_dot_score(queries, keys)
    return attnbook.pool(attnbook.masked_softmax(scores, valid_lens), values)


@task.solution("torch's own divides by the same root; empty rows are set to 0 afterwards.")
def of_torch(queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None) -> Tensor:
    if valid_lens is None:
        return F.scaled_dot_product_attention(queries, keys, values)
    visible = torch.arange(keys.shape[1]) < valid_lens[:, None, None]
    empty = (valid_lens == 0)[:, None, None]
    output = F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible | empty)
    return output.masked_fill(empty, 0)


@task.solution("each query uses only its visible keys; where there are none, the output stays 0.")
def query_by_query(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    output = queries.new_zeros(*queries.shape[:2], values.shape[-1])
    for i in range(len(queries)):
        length = keys.shape[1] if valid_lens is None else int(valid_lens[i])
        for j in range(queries.shape[1]):
            if length:
                scores = keys[i, :length] @ (queries[i, j] / math.sqrt(queries.shape[-1]))
                output[i, j] = scores.softmax(0) @ values[i, :length]
    return output


@task.solution("dividing queries and keys by the fourth root of d divides their product by √d.")
def by_fourth_roots(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    root = queries.shape[-1] ** 0.25
    scores = torch.einsum("bqd,bkd->bqk", queries / root, keys / root)
    weights = weigh(scores, visible_keys(valid_lens, scores))
    return torch.einsum("bqk,bkv->bqv", weights, values)


@task.test
def test_weights_follow_the_dot_product_over_the_root_of_the_size(function: Function) -> None:
    # 4 numbers: √4 = 2. Scores ln 3 and 0: weights 3/4 and 1/4.
    queries = torch.tensor([[[math.log(9), 0.0, 0, 0]]])
    keys = torch.tensor([[[1.0, 0, 0, 0], [0, 2, 0, 0]]])
    values = torch.tensor([[[8.0], [4.0]]])
    assert torch.allclose(function(queries, keys, values), torch.tensor(7.0))


@task.test
def test_a_fully_masked_example_gets_zeros(function: Function) -> None:
    queries = normal(2, 3, 7).requires_grad_()
    output = function(queries, normal(2, 5, 7), normal(2, 5, 11), lengths(0, 5))
    assert (output[0] == 0).all()
    assert (output[1] != 0).all()
    (flow,) = torch.autograd.grad(output.sum(), queries)
    assert flow.isfinite().all()


@task.test
def test_double_precision_is_not_lost(function: Function) -> None:
    keys, values = torch.tensor([[[0], [1e-9]]]).double(), torch.tensor([[[-1.0], [1]]]).double()
    assert function(torch.ones(1, 1, 1).double(), keys, values) > 1e-10


@task.test
def test_padding_weighs_nothing_however_low_the_scores_are(function: Function) -> None:
    keys = torch.tensor([[[-50.0] * 4, [0.0] * 4]])  # scores of -20,000 and of 0
    values = torch.tensor([[[3.0], [9.0]]])
    output = function(200 * torch.ones(1, 1, 4), keys, values, lengths(1))
    assert torch.allclose(output, torch.tensor(3.0))


def in_steps(**steps: Function) -> Function:
    """Correct code, of which a bug changes one step."""
    attend = attention(**steps)

    def written(
        queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
    ) -> Tensor:
        output: Tensor = attend(queries, keys, values, visible_keys(valid_lens, keys.mT))
        return output

    return written


task.bug(
    "scaled after the softmax",
    "the weights are divided by √query_size, where the scores should be.",
    symptom="The weights do not sum to 1, and the longer the vectors are, the smaller the output.",
    fix="divide the scores, before the softmax.",
)(
    in_steps(
        score=lambda queries, keys, _values: queries @ keys.mT,
        pool=lambda weights, values, keys: weights / math.sqrt(keys.shape[-1]) @ values,
    )
)


task.inherit(
    in_steps,
    *mistakes.ATTENTION,
    without=(*mistakes.OF_HEADS, *mistakes.OF_ROWS),
)


# On plain lists

Row = list[float]
Rows = list[list[float]]


def _dot(one: Row, other: Row) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _softmax(scores: Row) -> Row:
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [each / sum(exponentials) for each in exponentials]


def _scores(query: Row, keys: Rows) -> Row:
    return [_dot(query, key) / math.sqrt(len(query)) for key in keys]


def _pool(weights: Row, values: Rows) -> Row:
    return [_dot(weights, [value[i] for value in values]) for i in range(len(values[0]))]


by_hand = ListTask(
    name="attention-by-hand",
    in_torch=task,
    statement=(
        "Write `attend(query, keys, values)`: `query` is a vector, a list of numbers; `keys` is a "
        "list of vectors of that size, and `values` a list of as many vectors, which may have "
        "another size. A score is the dot product of query and key, divided by the root of the "
        "query's size. A softmax of the scores gives the weights; it must also work for scores of "
        "1000 and of -1000. Return the sum of the value vectors, each multiplied by its weight: a "
        "list."
    ),
    starter="import math\n\ndef attend(query, keys, values):\n    ...",
)


by_hand.case("three keys of four numbers")(
    lambda: (
        [2.0, 2.0, 0.0, 0.0],
        [[2.0, 0.0, 0.0, 1.0], [0.0, 2.5, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]],
        [[4.0], [2.0], [1.0]],
    )
)
by_hand.case("values of three numbers")(
    lambda: ([1.0, -1.0], [[0.0, 2.0], [2.0, 1.0]], [[4.0, 0.0, 2.0], [0.0, 8.0, 1.0]])
)
by_hand.case("keys and values of one size")(
    lambda: ([1.0, 0.5], [[2.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 3.0]])
)
by_hand.case("a query of zeros")(lambda: ([0.0, 0.0], [[1.0, 2.0], [3.0, 1.0]], [[2.0], [6.0]]))
by_hand.case("one key")(lambda: ([3.0], [[-2.0]], [[5.0, 7.0]]))
by_hand.case("scores of 1000")(
    lambda: ([1000.0], [[0.0], [1.0], [0.999], [-1.0]], [[1.0], [4.0], [2.0], [3.0]])
)
by_hand.case("scores of -1000")(lambda: ([1000.0], [[-1.0], [-0.999]], [[4.0], [2.0]]))
by_hand.case("9 keys")(
    lambda: (
        [0.5, -1.0, 0.25],
        [[x * 0.5, 1 - x * 0.25, 2.0] for x in range(9)],
        [[x * x - 9.0, 2.0 - x] for x in range(9)],
    )
)


@by_hand.solution("it is the three stages, one after the other.")
def stage_by_stage(query: Row, keys: Rows, values: Rows) -> Row:
    scores = _scores(query, keys)
    exponentials = [math.exp(score - max(scores)) for score in scores]
    weights = [each / sum(exponentials) for each in exponentials]
    return _pool(weights, values)


@by_hand.solution("the query is divided by the root before its dot products with the keys.")
def query_scaled_first(query: Row, keys: Rows, values: Rows) -> Row:
    scaled = [q * len(query) ** -0.5 for q in query]
    return _pool(_softmax([_dot(scaled, key) for key in keys]), values)


@by_hand.solution("it carries sums from key to key, corrected when the highest score rises.")
def in_one_pass(query: Row, keys: Rows, values: Rows) -> Row:
    highest, total, output = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(_scores(query, keys), values, strict=True):
        new = max(highest, score)
        old, exponential = math.exp(highest - new), math.exp(score - new)
        highest, total = new, old * total + exponential
        output = [old * o + exponential * v for o, v in zip(output, value, strict=True)]
    return [o / total for o in output]


@by_hand.bug(fix="divide each score by `math.sqrt(len(query))` before the softmax.")
def not_scaled_by_hand(query: Row, keys: Rows, values: Rows) -> Row:
    return _pool(_softmax([_dot(query, key) for key in keys]), values)


@by_hand.bug(fix="take the root: divide by `math.sqrt(len(query))`.")
def root_forgotten_by_hand(query: Row, keys: Rows, values: Rows) -> Row:
    return _pool(_softmax([_dot(query, key) / len(query) for key in keys]), values)


@by_hand.bug(fix="divide by the root: `/ math.sqrt(len(query))`, not `* math.sqrt(…)`.")
def multiplied_by_the_root_by_hand(query: Row, keys: Rows, values: Rows) -> Row:
    scores = [_dot(query, key) * math.sqrt(len(query)) for key in keys]
    return _pool(_softmax(scores), values)


@by_hand.bug(
    fix="take the size of the query, `len(query)`; `len(keys)` is how many keys there are."
)
def root_of_the_number_of_keys_by_hand(query: Row, keys: Rows, values: Rows) -> Row:
    return _pool(_softmax([_dot(query, key) / math.sqrt(len(keys)) for key in keys]), values)


@by_hand.bug()
def keys_are_pooled_by_hand(query: Row, keys: Rows, values: Rows) -> Row:
    return _pool(_softmax(_scores(query, keys)), keys)


@by_hand.bug(
    fix="subtract `max(scores)` from each score before `math.exp`: this changes no weight."
)
def no_maximum_subtracted(query: Row, keys: Rows, values: Rows) -> Row:
    exponentials = [math.exp(score) for score in _scores(query, keys)]
    return _pool([each / sum(exponentials) for each in exponentials], values)


@by_hand.bug(
    fix="turn the scores into weights first: divide their exponentials by the sum of these."
)
def softmax_left_out(query: Row, keys: Rows, values: Rows) -> Row:
    """the scores themselves are used as weights, without a softmax."""
    return _pool(_scores(query, keys), values)


@by_hand.bug(fix="divide each exponential by the sum of all: `exponential / sum(exponentials)`.")
def exponentials_never_divided(query: Row, keys: Rows, values: Rows) -> Row:
    """the exponentials are not divided by their sum, so that they do not sum to 1."""
    scores = _scores(query, keys)
    return _pool([math.exp(score - max(scores)) for score in scores], values)


@by_hand.bug(
    fix="add up all values, each multiplied by its weight: the best key gets most of it, not all."
)
def the_best_key_only(query: Row, keys: Rows, values: Rows) -> Row:
    """the value of the key with the highest score is returned, and the others never count."""
    scores = [_dot(query, key) for key in keys]
    return values[scores.index(max(scores))]


@by_hand.bug(fix="subtract the maximum in the denominator, too: then it cancels.")
def maximum_subtracted_above_only(query: Row, keys: Rows, values: Rows) -> Row:
    """the maximum is subtracted in the numerator only, so it does not cancel."""
    scores = _scores(query, keys)
    total = sum(math.exp(score) for score in scores)
    return _pool([math.exp(score - max(scores)) / total for score in scores], values)


@by_hand.bug(
    fix="subtract the maximum from the score, `score - highest`, not the score from the maximum."
)
def turned_round(query: Row, keys: Rows, values: Rows) -> Row:
    """the scores have the opposite sign, so that the highest gets the smallest weight."""
    return _pool(_softmax([-score for score in _scores(query, keys)]), values)


@by_hand.bug(fix="divide with `/`, not with `//`: `exponential / sum(exponentials)`.")
def divided_by_two_strokes(query: Row, keys: Rows, values: Rows) -> Row:
    """the exponentials are divided with `//`, which drops everything after the decimal point."""
    return _pool([weight // 1 for weight in _softmax(_scores(query, keys))], values)


@by_hand.bug(fix="begin each key's sum with 0, inside the loop over the keys.")
def sum_not_reset(query: Row, keys: Rows, values: Rows) -> Row:
    """the sum of one dot product is continued with the next key, but should begin at 0 again."""
    scores = _scores(query, keys)
    return _pool(_softmax([sum(scores[: i + 1]) for i in range(len(keys))]), values)


@by_hand.bug(fix="only add up: weights sum to 1, so the sum is an average already.")
def divided_by_the_number_of_keys(query: Row, keys: Rows, values: Rows) -> Row:
    """the sum is divided by how many keys there are, though the weights sum to 1."""
    return [number / len(keys) for number in _pool(_softmax(_scores(query, keys)), values)]


@by_hand.bug(
    fix="let the search for the highest score begin with the first one, or take `max(scores)`."
)
def maximum_sought_from_0(query: Row, keys: Rows, values: Rows) -> Row:
    """the search for the highest score begins at 0, so far lower scores have exponentials of 0."""
    scores = _scores(query, keys)
    exponentials = [math.exp(score - max(0.0, *scores)) for score in scores]
    return _pool([each / sum(exponentials) for each in exponentials], values)


@by_hand.bug(fix="divide by the root of the query's size: `math.sqrt(len(query))`.")
def root_of_the_value_size_by_hand(query: Row, keys: Rows, values: Rows) -> Row:
    """scores are divided by the root of the values' size, where the query's belongs."""
    scores = [_dot(query, key) / math.sqrt(len(values[0])) for key in keys]
    return _pool(_softmax(scores), values)


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(query: Row, keys: Rows, values: Rows) -> Row:
    """only the first key counts, as when `return` is inside the loop over the keys."""
    return [_softmax(_scores(query, keys))[0] * number for number in values[0]]


@by_hand.bug(fix="the keys come second and the values third: `attend(query, keys, values)`.")
def keys_and_values_exchanged(query: Row, keys: Rows, values: Rows) -> Row:
    """keys and values are exchanged."""
    return _pool(_softmax(_scores(query, values)), keys)
