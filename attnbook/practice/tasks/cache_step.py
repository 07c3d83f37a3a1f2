"""One step of attention with a cache: new tokens after those that are stored."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.list_task import ListTask
from attnbook.practice.parts import masked_softmax, pool, scaled_score
from attnbook.practice.reference_steps import attention, past, scale
from attnbook.practice.task import Function, Law, Task

Three = tuple[Tensor, Tensor, Tensor]
Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def _the_past_is_first(_output: Tensor, *given: Tensor) -> bool:
    both, stored = given[:2], given[-2:]
    num_past = stored[0].shape[2]
    return all(torch.equal(it[:, :, :num_past], old) for it, old in zip(both, stored, strict=True))


task = Task(
    name="cache-step",
    statement=(
        "Write `cache_step(queries, keys, values, past_keys, past_values)`. `queries` and `keys` "
        "of the new tokens have shape (batch, num_heads, num_new, size), their `values` (batch, "
        "num_heads, num_new, value_size). `past_keys` and `past_values` are those of the tokens "
        "before them, (batch, num_heads, num_past, size) and (batch, num_heads, num_past, "
        "value_size); num_past may be 0. Return `(output, all_keys, all_values)`. `all_keys` and "
        "`all_values` are the past ones, then the new ones. `output`, (batch, num_heads, num_new, "
        "value_size), is scaled dot-product attention, softmax(q · k / √size) times the values, in "
        "which each new token attends to all past tokens, to the new tokens before it, and to "
        "itself. A later token never matters, even if its key and value are 1e30."
    ),
    starter="def cache_step(queries, keys, values, past_keys, past_values):\n    ...",
    outputs=("the output", "all keys", "all values"),
    laws=(Law("The past keys and values are not returned first, unchanged.", _the_past_is_first),),
)


def _split(queries: Tensor, keys: Tensor, values: Tensor, num_past: int) -> Inputs:
    """Take the first tokens as the past."""
    new = slice(num_past, None), slice(num_past)
    of_new, of_past = ((slice(None), slice(None), each) for each in new)
    return queries[of_new], keys[of_new], values[of_new], keys[of_past], values[of_past]


def _inputs(num_past: int, num_new: int, batch: int = 2) -> Inputs:
    """Numbers without a pattern; three heads, vectors of 5 and of 11."""
    both = (batch, 3, num_past + num_new)
    return _split(normal(*both, 5), normal(*both, 5, seed=1), normal(*both, 11), num_past)


def _of_numbers(queries: list[float], keys: list[float], num_past: int) -> Inputs:
    """Vectors of four equal numbers, in two heads."""
    q, k = (torch.tensor(each)[:, None].repeat(1, 2, 1, 4) for each in (queries, keys))
    return _split(q, k, normal(1, 2, len(keys), 7), num_past)


task.case("three new tokens after seven")(lambda: _inputs(7, 3))
task.case("one new token after seven")(lambda: _inputs(7, 1))
task.case("three new tokens, and nothing stored")(lambda: _inputs(0, 3))
task.case("one new token, and nothing stored")(lambda: _inputs(0, 1))
task.case("as many new tokens as past ones")(lambda: _inputs(5, 5))
task.case("one text")(lambda: _inputs(5, 2, batch=1))
task.case("vectors of one number")(lambda: tuple(each[..., :1] for each in _inputs(3, 2)))
task.case("scores of 1000 and of -1000")(
    lambda: _of_numbers([0.0, 1, -1, 0], [500.0, 499.5, -500, 0], 1)
)


@task.case("a last key and value of 1e30", gradients=False)
def _() -> Inputs:
    inputs = _inputs(2, 5)
    inputs[1][:, :, -1] = inputs[2][:, :, -1] = 1e30
    return inputs


task.case("a later token's score is far above the others")(
    lambda: _of_numbers([0.0, 100, 100], [-100.0, -100, 100], 1)
)
task.case("half precision")(lambda: with_dtype(torch.half, *_inputs(3, 5)))
task.case("double precision")(lambda: with_dtype(torch.double, *_inputs(3, 5)))
task.case("inputs that are not contiguous")(
    lambda: tuple(each.mT.contiguous().mT for each in _inputs(3, 5))
)
task.case("two new tokens after 257")(lambda: _inputs(257, 2))


@task.solution("it is the book's own: `causal=True` places the queries at the last keys.")
def the_package(
    queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
) -> Three:
    all_keys = torch.cat([past_keys, keys], dim=2)
    all_values = torch.cat([past_values, values], dim=2)
    scores = attnbook.scaled_dot_score(queries, all_keys)
    weights = attnbook.masked_softmax(scores, causal=True)
    return attnbook.pool(weights, all_values), all_keys, all_values


@task.solution("each token is stored, and then attends to all that is stored: no mask is needed.")
def token_by_token(
    queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
) -> Three:
    outputs = []
    for token in range(queries.shape[2]):
        now = slice(token, token + 1)
        past_keys = torch.cat([past_keys, keys[:, :, now]], dim=2)
        past_values = torch.cat([past_values, values[:, :, now]], dim=2)
        outputs.append(scale(queries[:, :, now], past_keys).softmax(-1) @ past_values)
    return torch.cat(outputs, dim=2), past_keys, past_values


@task.solution("new token i is at position num_past + i, and attends to positions up to its own.")
def positions_compared(
    queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
) -> Three:
    num_past, num_new = past_keys.shape[2], keys.shape[2]
    both = torch.cat([past_keys, keys], -2), torch.cat([past_values, values], -2)
    positions = torch.arange(num_past + num_new)
    mask = positions <= positions[num_past:, None]
    return F.scaled_dot_product_attention(queries, *both, attn_mask=mask), *both


@task.solution("past scores need no mask, new ones a square one; one softmax is taken of both.")
def past_and_new_apart(
    queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
) -> Three:
    num_past, num_new = past_keys.shape[2], keys.shape[2]
    future = torch.ones(num_new, num_new, dtype=torch.bool).triu(1)
    among_new = scale(queries, keys).masked_fill(future, -math.inf)
    weights = torch.cat([scale(queries, past_keys), among_new], -1).softmax(-1)
    output = weights[..., :num_past] @ past_values + weights[..., num_past:] @ values
    return output, torch.cat([past_keys, keys], -2), torch.cat([past_values, values], -2)


@task.solution("`is_causal` counts from the first key: queries of 0 are put at the past positions.")
def filled_up_to_a_square(
    queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
) -> Three:
    num_past = past_keys.shape[2]
    both = torch.cat([past_keys, keys], 2), torch.cat([past_values, values], 2)
    padded = F.pad(queries, (0, 0, num_past, 0))
    output = F.scaled_dot_product_attention(padded, *both, is_causal=True)
    return output[:, :, num_past:], *both


def _of_a_text(dtype: torch.dtype = torch.double) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of six tokens, for two texts and two heads."""
    sizes = ((4, 0), (4, 1), (3, 2))
    queries, keys, values = (normal(2, 2, 6, size, seed=seed).to(dtype) for size, seed in sizes)
    return queries, keys, values


def _in_chunks(cache_step: Function, *sizes: int) -> Three:
    """The outputs of a whole text, in chunks of these sizes, and all that is stored at the end."""
    chunks = zip(*(each.split_with_sizes(sizes, dim=2) for each in _of_a_text()), strict=True)
    _, keys, values = (each[:, :, :0] for each in _of_a_text())
    outputs = []
    for chunk in chunks:
        output, keys, values = cache_step(*chunk, keys, values)
        outputs.append(output)
    return torch.cat(outputs, dim=2), keys, values


@task.test
def test_chunks_give_what_the_whole_text_gives(cache_step: Function) -> None:
    # The oracle sees a text up to each token, and needs neither a cache nor a mask.
    queries, keys, values = _of_a_text()
    weights = [
        ((queries[:, :, i : i + 1] * keys[:, :, : i + 1]).sum(-1, keepdim=True) / 2).softmax(2)
        for i in range(6)
    ]
    right = [(weight * values[:, :, : i + 1]).sum(2) for i, weight in enumerate(weights)]
    for sizes in ((6,), (1, 3, 2), (1,) * 6):
        output, all_keys, all_values = _in_chunks(cache_step, *sizes)
        assert torch.allclose(output, torch.stack(right, dim=2), rtol=0, atol=1e-12)
        assert torch.equal(all_keys, keys)
        assert torch.equal(all_values, values)


@task.test
def test_a_later_token_changes_nothing(cache_step: Function) -> None:
    queries = torch.full((1, 2, 2, 1), 200.0).half()
    keys = torch.tensor([[-100.0], [100]]).expand(1, 2, 2, 1).half()  # scores of ±20,000
    values = torch.tensor([[3.0], [9]]).expand(1, 2, 2, 1).half()
    output, *_ = cache_step(queries, keys, values, keys[:, :, :1], values[:, :, :1])
    assert output[0, 0].flatten().tolist() == [3, 9]


@task.test
def test_a_query_of_zeros_gets_the_mean(cache_step: Function) -> None:
    *_, keys, values = _of_a_text(torch.float)
    queries = torch.zeros(2, 2, 1, 4)
    output, *_ = cache_step(
        queries, keys[:, :, 5:], values[:, :, 5:], keys[:, :, :5], values[:, :, :5]
    )
    assert torch.allclose(output, values.mean(dim=2, keepdim=True), atol=1e-6)


def _cat(stored: Tensor, new: Tensor) -> Tensor:
    return torch.cat([stored, new], dim=2)


def in_steps(
    store: Function = _cat,
    store_values: Function | None = None,
    rule: Function = past,
    **steps: Function,
) -> Function:
    """Correct code, of which a bug changes one step; values are stored like keys by default."""

    def written(
        queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
    ) -> Three:
        both = store(past_keys, keys), (store_values or store)(past_values, values)
        visible = rule(keys.shape[2], both[0].shape[2])[None, None]
        return attention(**steps)(queries, *both, visible), *both

    return written


_right = in_steps()


def _returning(stored: Function) -> Function:
    """Attend correctly, and return other keys and values."""

    def written(
        queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
    ) -> Three:
        output, *_ = _right(queries, keys, values, past_keys, past_values)
        return output, *stored(queries, keys, values, past_keys, past_values)

    return written


task.bug(
    "past ignored",
    "the new tokens attend to one another only: the past is stored, and never used.",
    symptom="After the prompt, the model writes as if there had been none.",
    origin="LLMs-from-scratch#697, whose mask ignores the past",
    fix="use `all_keys` and `all_values` in the attention, too.",
)(in_steps(rule=lambda new, total: past(new, total) & (torch.arange(total) >= total - new)))

task.bug(
    "stored after attending",
    "new keys are stored only after the attention: new tokens attend to the past, not to "
    "themselves.",
    symptom="Nearly all tokens are the same as without a cache, but their logits are not.",
    origin="cs249r_book#1953",
    fix="store the new keys and values first, and attend after that.",
)(in_steps(rule=lambda new, total: (torch.arange(total) < total - new).expand(new, -1)))

task.bug(
    "counted from the first key",
    "the new tokens are placed at the first positions of the keys, but they are at the last.",
    symptom="Each new token attends to the first token only, and the text makes no sense.",
    origin="pytorch#144858: `is_causal=True` with one query attends to the first key only",
    fix="new token i is at position num_past + i: move the diagonal by num_past.",
)(in_steps(rule=lambda new, total: torch.ones(new, total, dtype=torch.bool).tril()))

task.bug(
    "no mask once there is a past",
    "there is a mask only for the first tokens: once there is a past, new tokens attend to later "
    "ones.",
    symptom="One token after the other is right; a second prompt in one piece is not.",
    origin="several projects, which pass `is_causal=False` as soon as the cache is not empty",
    fix="new tokens need the causal order among themselves, with a past, too.",
)(in_steps(rule=lambda m, n: past(m, n) if m == n else torch.ones(m, n, dtype=torch.bool)))


task.bug(
    "new keys never stored",
    "the past is returned as it came, without the new keys and values.",
    symptom="The model knows the prompt, and forgets at once what it writes itself.",
    fix="return what the next step needs: the new keys and values after the past ones.",
)(_returning(lambda _q, _k, _v, *old: old))


task.bug(
    "the first new token is not stored",
    "the first new token is left out of what is stored.",
    symptom="A token is missing, and each later one is a position too early.",
    origin="onnxruntime-genai#2354",
    fix="append all new keys and values, from index 0 on.",
)(_returning(lambda _q, k, v, *old: map(_cat, old, (k[:, :, 1:], v[:, :, 1:]))))

task.bug(
    "the last stored key is overwritten",
    "the first new key takes the place of the last past one, which is lost.",
    symptom="The model forgets the last word of the prompt, and the text is shorter by one.",
    fix="write the first new key to index num_past, one after the last stored one.",
)(in_steps(store=lambda old, new: _cat(old[:, :, :-1], new)))

task.bug(
    "values one position late",
    "each value is stored one position late, next to the key of the token after it.",
    symptom="The attention map is right, but the model seems to read the word before.",
    fix="store the key and the value of a token at the same index.",
)(in_steps(store_values=lambda old, new: _cat(_cat(old, new)[:, :, :1], _cat(old, new)[:, :, :-1])))

task.bug(
    "new before past",
    "new keys and values are put before the past ones.",
    symptom="One token after the other is right; in chunks, new tokens miss a part of the past.",
    fix="the past comes first in `torch.cat`, and what is new last.",
)(in_steps(store=lambda old, new: _cat(new, old)))

task.bug(
    "queries stored",
    "the queries of the new tokens are stored in place of their keys.",
    symptom="The first token is right, and all later ones attend to the wrong words.",
    fix="store keys: a later token compares its query with the keys of earlier ones.",
)(_returning(lambda q, _k, v, *old: map(_cat, old, (q, v))))

task.bug(
    "scaled keys are stored",
    "all keys, the past ones included, are divided by the root of the size, and stored like this.",
    symptom="A text begins well; the older a token is, the nearer its scores are to 0.",
    origin="gemma#392, where cached keys are changed again at each step",
    fix="divide the scores, not what is stored: each step would divide the past again.",
)(_returning(lambda _q, k, v, *old: (_cat(old[0], k) / math.sqrt(k.shape[-1]), _cat(old[1], v))))


@task.bug(
    symptom="Generating one token at a time works; a prompt in one piece loses all but the end.",
    fix="return the output of every new token: the next layer needs them all.",
)
def only_the_last_tokens_output(
    queries: Tensor, keys: Tensor, values: Tensor, past_keys: Tensor, past_values: Tensor
) -> Three:
    """only the output of the last new token is returned."""
    output, *both = _right(queries, keys, values, past_keys, past_values)
    return output[:, :, -1:], *both


task.bug(
    "the first text's past for all",
    "the past of the first text is used for the whole batch.",
    symptom="A batch of one is right; in larger ones, texts go on with the prompt of another one.",
    fix="keep the axis of texts: each has its own past.",
)(in_steps(store=lambda old, new: _cat(old[:1].expand_as(old), new)))

task.inherit(
    in_steps,
    *mistakes.ATTENTION,
    without=(
        *mistakes.OF_EMPTY_ROWS,
        "the first examples mask for all",
    ),
)


# On plain lists

Row = list[float]
Rows = list[list[float]]
Stored = tuple[Row, Rows, Rows]

by_hand = ListTask(
    name="cached-step-by-hand",
    in_torch=task,
    parts=("scaled-score-by-hand", "masked-softmax-by-hand", "pool-by-hand"),
    statement=(
        "One new token comes after those that are stored. Write `cached_step(query, key, value, "
        "keys, values)`. `query`, `key` and `value` are the new token's vectors; `keys` and "
        "`values` are the lists of the stored ones, and may be empty. Return `(output, keys, "
        "values)`: the output of attention to all stored tokens and to the new one, and new lists "
        "in which the new key and value are last. You may call `scaled_score(query, key)`, "
        "`masked_softmax(scores, valid_len)` and `pool(weights, values)`."
    ),
    starter="def cached_step(query, key, value, keys, values):\n    ...",
)


by_hand.case("two stored tokens")(
    lambda: ([1.0, 2.0], [0.5, -1.0], [3.0], [[1.0, 0.5], [0.0, 2.0]], [[1.0], [2.0]])
)
by_hand.case("one stored token")(lambda: ([2.0], [1.0], [3.0, 0.0], [[-1.0]], [[1.0, 4.0]]))
by_hand.case("nothing stored")(lambda: ([1.0, -1.0], [2.0, 1.0], [5.0, 2.0], [], []))
by_hand.case("keys and values of one size")(
    lambda: ([0.5], [2.0], [1.5], [[-1.0], [0.5], [1.0]], [[2.0], [4.0], [-1.0]])
)


def _after(stored: Rows, *new: Row) -> Rows:
    return stored + list(new)  # MicroPython has no `[*stored, *new]`


def _attend(query: Row, keys: Rows, values: Rows, valid_len: int | None = None) -> Row:
    scores = [scaled_score(query, key) for key in keys]
    return pool(masked_softmax(scores, len(keys) if valid_len is None else valid_len), values)


@by_hand.solution("`+` makes a new list; then all keys are visible, so the length is theirs.")
def with_the_parts(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    keys, values = _after(keys, key), _after(values, value)
    weights = masked_softmax([scaled_score(query, each) for each in keys], len(keys))
    return pool(weights, values), keys, values


@by_hand.solution("it appends to copies.")
def with_copies(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    all_keys, all_values = keys.copy(), values.copy()
    all_keys.append(key)
    all_values.append(value)
    return _attend(query, all_keys, all_values), all_keys, all_values


@by_hand.solution("no part is needed: exponentials of the scores, divided by their sum.")
def in_full(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    total, sums = 0.0, [0.0] * len(value)
    for k, v in zip(_after(keys, key), _after(values, value), strict=True):
        product = sum(a * b for a, b in zip(query, k, strict=True))
        exponential = math.exp(product / math.sqrt(len(query)))
        total += exponential
        sums = [s + exponential * number for s, number in zip(sums, v, strict=True)]
    return [s / total for s in sums], _after(keys, key), _after(values, value)


@by_hand.bug(fix="add the new key and value to the lists first, and attend after that.")
def stored_after_attending_by_hand(
    query: Row, key: Row, value: Row, keys: Rows, values: Rows
) -> Stored:
    """the new token is stored only after the attention, and does not attend to itself."""
    return _attend(query, keys, values), _after(keys, key), _after(values, value)


@by_hand.bug(fix="count the keys after the new one is stored: it is visible, too.")
def length_of_the_past(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    """the length is that of the past, and hides the new key, which is the last one."""
    all_keys, all_values = _after(keys, key), _after(values, value)
    return _attend(query, all_keys, all_values, len(keys)), all_keys, all_values


@by_hand.bug(fix="score all stored keys, not the new one alone.")
def past_ignored_by_hand(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    """the new token attends to itself only: the past is stored, and never used."""
    return _attend(query, [key], [value]), _after(keys, key), _after(values, value)


@by_hand.bug(fix="return the lists that the next step needs: the longer ones.")
def new_keys_never_stored_by_hand(
    query: Row, key: Row, value: Row, keys: Rows, values: Rows
) -> Stored:
    return _attend(query, _after(keys, key), _after(values, value)), keys, values


@by_hand.bug(fix="store a value with every key: weights and values must be equally many.")
def the_new_value_is_not_stored(
    query: Row, key: Row, value: Row, keys: Rows, values: Rows
) -> Stored:
    """the new key is stored, and its value is not."""
    del value
    return _attend(query, _after(keys, key), values), _after(keys, key), values


@by_hand.bug()
def values_one_position_late_by_hand(
    query: Row, key: Row, value: Row, keys: Rows, values: Rows
) -> Stored:
    all_keys, all_values = _after(keys, key), _after(values, value)
    late = all_values[:1] + all_values[:-1]
    return _attend(query, all_keys, late), all_keys, late


@by_hand.bug(fix="put the new key and value after the stored ones, not before them.")
def new_before_past_by_hand(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    all_keys, all_values = _after([key], *keys), _after([value], *values)
    return _attend(query, all_keys, all_values), all_keys, all_values


@by_hand.bug(fix="make new lists: `append` changes the list of the caller.")
def written_into_the_given_lists(
    query: Row, key: Row, value: Row, keys: Rows, values: Rows
) -> Stored:
    """the new key and value are appended to the lists that were passed in."""
    keys.append(key)
    values.append(value)
    return _attend(query, keys, values), keys, values


@by_hand.bug(fix="add the new key after the last stored one: the list becomes longer by one.")
def the_last_stored_key_is_overwritten_by_hand(
    query: Row, key: Row, value: Row, keys: Rows, values: Rows
) -> Stored:
    """the new key and value take the place of the last stored ones."""
    all_keys, all_values = _after(keys[:-1], key), _after(values[:-1], value)
    return _attend(query, all_keys, all_values), all_keys, all_values


@by_hand.bug(fix="store the key: the query is used in this step only.")
def queries_stored_by_hand(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    """the query is stored in place of the new key."""
    output = _attend(query, _after(keys, key), _after(values, value))
    return output, _after(keys, query), _after(values, value)


@by_hand.bug(fix="return the keys before the values: `return output, keys, values`.")
def values_before_keys(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    """the values are returned second, and the keys last."""
    all_keys, all_values = _after(keys, key), _after(values, value)
    return _attend(query, all_keys, all_values), all_values, all_keys


@by_hand.bug(fix="score with the query: the new key is only stored, and scored like the others.")
def scored_by_the_key(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    """the new key is compared with the stored keys, where the query should be."""
    del query
    all_keys, all_values = _after(keys, key), _after(values, value)
    return _attend(key, all_keys, all_values), all_keys, all_values


@by_hand.bug()
def keys_are_pooled_by_hand(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    return (
        _attend(query, _after(keys, key), _after(keys, key)),
        _after(keys, key),
        _after(values, value),
    )


@by_hand.bug(
    fix="divide each dot product by the root of the query's length, as `scaled_score` does."
)
def not_scaled_by_hand(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    larger = [number * math.sqrt(len(query)) for number in query]
    return (
        _attend(larger, _after(keys, key), _after(values, value)),
        _after(keys, key),
        _after(values, value),
    )


@by_hand.bug(fix="take the root: divide by `math.sqrt(len(query))`.")
def root_forgotten_by_hand(query: Row, key: Row, value: Row, keys: Rows, values: Rows) -> Stored:
    smaller = [number / math.sqrt(len(query)) for number in query]
    return (
        _attend(smaller, _after(keys, key), _after(values, value)),
        _after(keys, key),
        _after(values, value),
    )
