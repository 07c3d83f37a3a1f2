"""Which positions may attend to which, where a prefix may be read as a whole."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.example_inputs import lengths
from attnbook.practice.reference_steps import past
from attnbook.practice.task import Function, Law, Task


def _all_attend_to_the_prefix(mask: Tensor, prefix_lens: Tensor, *_: int) -> bool:
    prefix = torch.arange(mask.shape[-1]) < prefix_lens[:, None, None]
    return bool((mask | ~prefix).all())


task = Task(
    name="prefix-mask",
    statement=(
        "A prefix language model reads a question as a whole and then writes word by word. Write "
        "`prefix_mask(prefix_lens, num_queries, num_keys)`. `prefix_lens`, (batch,), holds the "
        "number of keys in each example's prefix, which begins at the first key: whole numbers "
        "from 0 to `num_keys`. Give a boolean mask of shape (batch, num_queries, num_keys), True = "
        "visible: *every* query attends to the whole prefix, the key at its own position and all "
        "keys before it, and no other. Queries are at the *last* positions of the keys; there are "
        "never more queries than keys."
    ),
    starter="def prefix_mask(prefix_lens, num_queries, num_keys):\n    ...",
    laws=(Law("Some query does not attend to the whole prefix.", _all_attend_to_the_prefix),),
)


task.case("as many queries as keys")(lambda: (lengths(3, 5), 7, 7))
task.case("fewer queries than keys")(lambda: (lengths(5, 2, 6), 3, 7))
task.case("as many examples as queries as keys")(lambda: (lengths(2, 1, 3), 3, 3))
task.case("one query against kept keys")(lambda: (lengths(2, 4), 1, 5))
task.case("a prefix of 0, and one of 1")(lambda: (lengths(0, 1), 5, 5))
task.case("a prefix of all keys")(lambda: (lengths(5, 2), 3, 5))
task.case("one query and one key")(lambda: (lengths(0, 1), 1, 1))
task.case("9 examples of 20 queries, 131 keys")(
    lambda: (lengths(131, 1, 0, 65, 129, 130, 66, 64, 8), 20, 131)
)


@task.solution("it is the book's own.")
def the_package(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    return attnbook.prefix_mask(prefix_lens, (len(prefix_lens), num_queries, num_keys))


@task.solution("a key is visible if it is in the prefix, or not after the query.")
def either_rule(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    keys = torch.arange(num_keys)
    queries = keys[num_keys - num_queries :, None]
    return (keys < prefix_lens[:, None, None]) | (keys <= queries)


@task.solution("a query's last visible key is its own, or the prefix's last if that comes later.")
def up_to_the_later_of_two(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    own = torch.arange(num_keys - num_queries, num_keys)
    last = torch.maximum(own, prefix_lens[:, None] - 1)
    return torch.arange(num_keys) <= last[..., None]


@task.solution(
    "it begins with a triangle for each example, and then makes the prefix's columns visible."
)
def opened_triangles(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    triangle = torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)
    mask = triangle.repeat(len(prefix_lens), 1, 1)
    for example, length in enumerate(prefix_lens.tolist()):
        mask[example, :, :length] = True
    return mask


@task.solution("a key is hidden if it is after the query and outside of the prefix.")
def what_is_hidden(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    square = torch.ones(num_keys, num_keys).triu(1).bool()
    after_the_prefix = ~attnbook.length_mask(prefix_lens, (len(prefix_lens), 1, num_keys))
    return ~(square[num_keys - num_queries :] & after_the_prefix)


@task.test
def test_the_first_query_attends_to_the_whole_prefix_of_three(prefix_mask: Function) -> None:
    mask = prefix_mask(torch.tensor([3]), 4, 4)
    assert mask.int().tolist() == [[[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]]]
    assert mask.dtype == torch.bool


@task.test
def test_two_queries_are_at_the_last_two_of_five_keys(prefix_mask: Function) -> None:
    mask = prefix_mask(torch.tensor([2, 5]), 2, 5)
    assert mask.int().tolist() == [[[1, 1, 1, 1, 0], [1] * 5], [[1] * 5, [1] * 5]]


@task.test
def test_without_a_prefix_it_is_a_causal_mask(prefix_mask: Function) -> None:
    triangle = torch.ones(4, 4, dtype=torch.bool).tril()
    assert torch.equal(prefix_mask(torch.tensor([0]), 4, 4)[0], triangle)


@task.test
def test_each_example_has_its_own_prefix(prefix_mask: Function) -> None:
    mask = prefix_mask(torch.tensor([1, 3, 2]), 3, 3)
    assert mask[:, 0].sum(-1).tolist() == [1, 3, 2]


def _prefix(prefix_lens: Tensor, num_keys: int) -> Tensor:
    return torch.arange(num_keys) < prefix_lens[:, None, None]


@task.bug(
    symptom="It is only a causal model: the question's first words do not attend to the others.",
    fix="make the prefix visible to every query: combine both rules by `|`.",
)
def the_prefix_is_causal_too(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the mask is only causal: queries in the prefix do not attend to the keys after them in it."""
    return past(num_queries, num_keys).repeat(len(prefix_lens), 1, 1)


@task.bug(
    symptom="The model does not attend to the tokens that it wrote itself.",
    origin="a common mistake: other rules are joined by `&`",
    fix="combine both rules by `|`: visible is what is in the prefix, or not after the query.",
)
def joined_by_and(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """both rules must hold, so nothing outside of the prefix is ever visible."""
    return _prefix(prefix_lens, num_keys) & past(num_queries, num_keys)


@task.bug(
    symptom="All tokens attend to the question, and none to the answer so far.",
    fix="add the causal rule for what comes after the prefix.",
)
def only_the_prefix_is_visible(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the prefix alone is visible, as if what comes after it were padding."""
    return _prefix(prefix_lens, num_keys).expand(-1, num_queries, -1)


@task.bug(
    symptom="The loss is far too low: tokens of the question attend to the answer, and pass it on.",
    fix="compare the keys' positions with `prefix_lens`, not the queries' positions.",
)
def the_prefix_sees_all(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries in the prefix attend to all keys, even to those after the prefix."""
    inside = _prefix(prefix_lens, num_keys)[:, 0, num_keys - num_queries :, None]
    return inside | past(num_queries, num_keys)


@task.bug(
    symptom="The first word of the answer is predicted perfectly: the model attends to it.",
    fix="compare with `<`: positions count from 0.",
)
def a_prefix_one_key_too_long(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the prefix is one key too long, as positions are compared by `<=`."""
    return _prefix(prefix_lens + 1, num_keys) | past(num_queries, num_keys)


@task.bug(
    symptom="The earlier words of the question do not attend to its last word.",
    fix="the prefix's last key is at `prefix_lens - 1`, and is visible to all queries.",
)
def a_prefix_one_key_too_short(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the prefix is one key too short."""
    return _prefix(prefix_lens - 1, num_keys) | past(num_queries, num_keys)


@task.bug(
    symptom="It is right in training; with cached keys the model ignores what it just wrote.",
    origin="pytorch#108108, executorch#21749",
    fix="let the first query be at position `num_keys - num_queries`.",
)
def counted_from_the_first_key(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries are placed at the first positions of the keys, but they are at the last."""
    return _prefix(prefix_lens, num_keys) | torch.ones(num_queries, num_keys).tril().bool()


@task.bug(
    symptom="From the prefix's last token on, each attends to the token that it should predict.",
    fix="stop at the query's own position: the next token is the one to predict.",
)
def next_key_visible(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """each query sees the key after its own position, too."""
    return _prefix(prefix_lens, num_keys) | past(num_queries, num_keys, 1)


@task.bug(
    symptom="With a prefix of 0, the first position attends to nothing, and its output is NaN.",
    fix="a query attends to its own position: compare with `<=`.",
)
def own_position_hidden(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """outside of the prefix a query does not attend to its own position."""
    return _prefix(prefix_lens, num_keys) | past(num_queries, num_keys, -1)


@task.bug(
    symptom="The model attends to what it has to predict, and to nothing else.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    fix="return True for what is visible.",
)
def true_means_hidden(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """what is hidden is True, and what is visible False."""
    return ~(_prefix(prefix_lens, num_keys) | past(num_queries, num_keys))


@task.bug(
    symptom="It is right for a batch of one, or where all questions are equally long.",
    fix="compare with all lengths at once: `prefix_lens[:, None, None]`.",
)
def the_first_examples_prefix_for_all(
    prefix_lens: Tensor, num_queries: int, num_keys: int
) -> Tensor:
    """the first example's prefix is used for the whole batch."""
    lengths = prefix_lens[:1].expand_as(prefix_lens)
    return _prefix(lengths, num_keys) | past(num_queries, num_keys)


@task.bug(
    symptom="With as many examples as queries it runs, but each query has its own prefix.",
    fix="keep the lengths on the first axis: `prefix_lens[:, None, None]`.",
)
def lengths_on_the_axis_of_queries(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """lengths are on the axis of queries, one for each query, but they belong to the examples."""
    visible = (torch.arange(num_keys) < prefix_lens[:, None]) | past(num_queries, num_keys)
    return visible.expand(len(prefix_lens), -1, -1)
