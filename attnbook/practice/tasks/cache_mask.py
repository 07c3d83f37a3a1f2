"""Which slots of a cache a query may attend to: by positions, in any order of the slots."""

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal
from attnbook.practice.reference_steps import slot_numbers
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, Tensor, Tensor, int | None]
Rows = list[list[int]]


def _no_empty_slot_is_visible(mask: Tensor, _q: Tensor, _k: Tensor, valid: Tensor, _w: int) -> bool:
    return not mask[~valid[:, None].expand_as(mask)].any()


def _no_later_key_is_visible(
    mask: Tensor, query_positions: Tensor, key_positions: Tensor, _v: Tensor, _w: int
) -> bool:
    return not mask[key_positions[:, None] > query_positions[:, :, None]].any()


task = Task(
    name="cache-mask",
    statement=(
        "Write `cache_mask(query_positions, key_positions, valid, window)`. `query_positions`, "
        "(batch, num_queries), and `key_positions`, (batch, num_slots), are whole numbers: where "
        "each query and each stored key is in its text. A slot with padding or nothing has False "
        "in `valid`, (batch, num_slots); its key position means nothing, and may be any number. "
        "Slots are in any order, and the texts of a batch may be at different positions. `window` "
        "is None or a whole number of 1 or more. Return a boolean mask of shape (batch, "
        "num_queries, num_slots), True = visible: a query at position p may attend to a real key "
        "at position p or before it, and with a window only to the positions p - window + 1 to p."
    ),
    starter="def cache_mask(query_positions, key_positions, valid, window):\n    ...",
    laws=(
        Law("Some query attends to a slot that holds no real key.", _no_empty_slot_is_visible),
        Law("Some query attends to a key at a later position.", _no_later_key_is_visible),
    ),
)


def _inputs(queries: Rows, keys: Rows, empty: Rows, window: int | None = None) -> Inputs:
    """Make tensors; `empty` lists the slots of each text that hold no real key."""
    key_positions = torch.tensor(keys)
    valid = torch.ones_like(key_positions, dtype=torch.bool)
    for text, slots in enumerate(empty):
        valid[text, slots] = False
    return torch.tensor(queries), key_positions, valid, window


def _shuffled(texts: int, num_queries: int, num_slots: int, window: int | None) -> Inputs:
    """Slots in random order, of which two in each text are empty and seem to be at a position."""
    order = normal(texts, num_slots).argsort(dim=1)
    first = 4 * torch.arange(texts)[:, None]
    last = first + num_slots - 3
    valid = order < num_slots - 2
    keys = torch.where(valid, first + order, last - 1)
    return last - torch.arange(num_queries).flip(0), keys, valid, window


LEFT_PADDED = (
    [[0, 0, 0, 0, 1, 2, 3], [0, 0, 1, 2, 3, 4, 5]],
    [[0, 1, 2], [0]],
)
RING = [[8, 9, 10, 6, 7], [10, 6, 7, 8, 9]]

task.case("left-padded texts")(lambda: _inputs([[1, 2, 3], [3, 4, 5]], *LEFT_PADDED))
task.case("left-padded texts, and a window of 3")(
    lambda: _inputs([[1, 2, 3], [3, 4, 5]], *LEFT_PADDED, 3)
)
task.case("one query for each text, and a window of 2")(
    lambda: _inputs([[3], [5]], *LEFT_PADDED, 2)
)
task.case("slots in any order")(lambda: _shuffled(2, 3, 7, None))
task.case("slots in any order, and a window of 4")(lambda: _shuffled(3, 2, 11, 4))
task.case("a ring of slots, and a window of 3")(
    lambda: _inputs([[9, 10], [9, 10]], RING, [[], []], 3)
)
task.case("slots that are not filled yet")(
    lambda: _inputs(
        [[4, 5], [1, 2]], [[0, 1, 2, 3, 4, 5, 0], [0, 1, 2, 0, 0, 0, 0]], [[6], [3, 4, 5, 6]], 5
    )
)
task.case("empty slots with any numbers")(
    lambda: _inputs([[2, 3], [2, 3]], [[3, 2, 0, 3, 1], [-7, 9, 3, 2, 1]], [[0], [0, 1]])
)
task.case("positions that are no longer stored")(
    lambda: _inputs([[8, 9], [11, 12]], [[0, 1, 7, 8, 9], [12, 11, 0, 10, 1]], [[], []], 6)
)
task.case("as many queries as slots")(
    lambda: _inputs([[0, 1, 2], [1, 2, 3]], [[0, 1, 2], [3, 1, 2]], [[], []])
)
task.case("a window of 1")(lambda: _shuffled(2, 3, 5, 1))
task.case("a window longer than the text")(lambda: _shuffled(2, 3, 7, 13))
task.case("a text with empty slots only")(
    lambda: _inputs([[0, 1], [5, 6]], [[0, 0, 0], [4, 5, 6]], [[0, 1, 2], []], 2)
)
task.case("one text, one query and one slot")(lambda: _inputs([[0]], [[0]], [[]], None))


@task.case("positions of 32 bits, near 100,000")
def _() -> Inputs:
    stored = [[99_999, 99_997, 99_998], [2, 4, 3]]
    queries, keys, valid, window = _inputs([[99_998, 99_999], [3, 4]], stored, [[], []], 2)
    return queries.int(), keys.int(), valid, window


task.case("5 texts, 131 slots, a window of 71")(lambda: _shuffled(5, 7, 131, 71))


@task.solution(
    "it is the book's own rule of positions; the shape has the numbers of queries and slots."
)
def the_package(
    query_positions: Tensor, key_positions: Tensor, valid: Tensor, window: int | None
) -> Tensor:
    shape = *query_positions.shape, key_positions.shape[1]
    positions = query_positions, key_positions
    return attnbook.position_mask(*positions, shape, valid=valid, window=window)


@task.solution("a key is visible if it is real, not after the query, and not too far before it.")
def three_comparisons(
    query_positions: Tensor, key_positions: Tensor, valid: Tensor, window: int | None
) -> Tensor:
    queries, keys = query_positions[:, :, None], key_positions[:, None]
    visible = valid[:, None] & (keys <= queries)
    return visible if window is None else visible & (keys > queries - window)


@task.solution("it counts the steps from key to query: 0 or more, and fewer than `window`.")
def by_distance(
    query_positions: Tensor, key_positions: Tensor, valid: Tensor, window: int | None
) -> Tensor:
    steps = query_positions.unsqueeze(2) - key_positions.unsqueeze(1)
    steps = steps.masked_fill(~valid.unsqueeze(1), -1)
    return (steps >= 0) if window is None else (steps >= 0) & (steps < window)


@task.solution("each query and each slot is asked for on its own.")
def slot_by_slot(
    query_positions: Tensor, key_positions: Tensor, valid: Tensor, window: int | None
) -> Tensor:
    shape = *query_positions.shape, key_positions.shape[1]
    mask = torch.zeros(shape, dtype=torch.bool)
    for text, (keys, real) in enumerate(zip(key_positions.tolist(), valid.tolist(), strict=True)):
        for query, position in enumerate(query_positions[text].tolist()):
            first = 0 if window is None else position - window + 1
            seen = [r and first <= key <= position for key, r in zip(keys, real, strict=True)]
            mask[text, query] = torch.tensor(seen)
    return mask


@task.solution("it sorts each text's keys by position, masks them in order, and puts them back.")
def sorted_and_put_back(
    query_positions: Tensor, key_positions: Tensor, valid: Tensor, window: int | None
) -> Tensor:
    keys, order = key_positions.sort(dim=1)
    end = torch.searchsorted(keys, query_positions.contiguous(), right=True)
    start = torch.zeros_like(end)
    if window is not None:
        start = torch.searchsorted(keys, (query_positions - window).contiguous(), right=True)
    slots = torch.arange(keys.shape[1])
    in_order = (slots >= start[:, :, None]) & (slots < end[:, :, None])
    back = order.argsort(dim=1)[:, None].expand_as(in_order)
    return in_order.gather(2, back) & valid[:, None]


def _seen(cache_mask: Function, window: int | None, *queries: int) -> list[list[int]]:
    """Which positions are visible to each query in a ring with one empty slot."""
    keys = torch.tensor([[8, 3, 9, 6, 7]])
    valid = torch.tensor([[True, False, True, True, True]])
    mask = cache_mask(torch.tensor([queries]), keys, valid, window)
    assert mask.shape == (1, len(queries), 5)
    return [sorted(keys[0][row].tolist()) for row in mask[0]]


@task.test
def test_a_query_sees_its_window_in_any_order_of_slots(cache_mask: Function) -> None:
    assert _seen(cache_mask, None, 8, 9) == [[6, 7, 8], [6, 7, 8, 9]]
    assert _seen(cache_mask, 2, 8, 9) == [[7, 8], [8, 9]]
    assert _seen(cache_mask, 2, 8) == [[7, 8]]
    assert _seen(cache_mask, 1, 6, 7) == [[6], [7]]


@task.test
def test_each_text_has_positions_of_its_own(cache_mask: Function) -> None:
    keys = torch.tensor([[0, 0, 1, 2], [4, 1, 2, 3]])
    valid = torch.tensor([[False, True, True, True], [True, True, True, True]])
    mask = cache_mask(torch.tensor([[1, 2], [3, 4]]), keys, valid, 3)
    assert mask.int().tolist() == [
        [[0, 1, 1, 0], [0, 1, 1, 1]],
        [[0, 1, 1, 1], [1, 0, 1, 1]],
    ]


def _near(steps: Tensor, window: int | None) -> Tensor:
    return (steps >= 0) if window is None else (steps >= 0) & (steps < window)


def in_steps(
    queries: Function = lambda positions, _keys: positions,
    keys: Function = lambda positions, _valid: positions,
    real: Function = lambda valid, _keys: valid,
    near: Function = _near,
    mask: Function = lambda visible: visible,
) -> Function:
    """Correct code, of which a bug changes one step; `near` takes the steps from key to query."""

    def written(
        query_positions: Tensor, key_positions: Tensor, valid: Tensor, window: int | None
    ) -> Tensor:
        from_query = queries(query_positions, key_positions)[:, :, None]
        steps = from_query - keys(key_positions, valid)[:, None]
        visible: Tensor = mask(near(steps, window) & real(valid, key_positions)[:, None])
        return visible

    return written


task.bug(
    "slots taken for positions",
    "a key's slot is taken for its position, and `key_positions` is not used.",
    symptom="The model is right until the cache is full; then it ignores what it has just written.",
    origin="mlx-vlm#1715, where a ring of slots is read as if it were in order",
    fix="compare with `key_positions`: where a key is stored says nothing about its position.",
)(in_steps(keys=slot_numbers))

task.bug(
    "real slots counted",
    "a key's position is taken to be the number of real slots before it.",
    symptom="All is right until keys are removed, or stored out of order.",
    origin="several projects, which take the number of stored keys for a position",
    fix="use `key_positions`: a removed key leaves a gap, and the others keep their positions.",
)(in_steps(keys=lambda _positions, valid: valid.cumsum(1) - 1))

task.bug(
    "empty slots are visible",
    "`valid` is not used: slots with padding or nothing are visible, by their numbers.",
    symptom="A text gives other outputs in a batch than on its own.",
    origin="TransformerLens#1005",
    fix="a visible slot must also be True in `valid`.",
)(in_steps(real=lambda valid, _keys: torch.ones_like(valid)))

task.bug(
    "position 0 taken for an empty slot",
    "a key at position 0 is taken for an empty slot, because empty slots are often 0.",
    symptom="The first token of each text is ignored.",
    fix="only `valid` says which slots are empty: a real key may be at position 0.",
)(in_steps(real=lambda valid, keys: valid & (keys != 0)))

task.bug(
    "queries counted from 0",
    "the queries are counted from 0 in each call, and `query_positions` is not used.",
    symptom="The first chunk is right; after it, a query attends to the first keys only.",
    origin="mlx-lm#93",
    fix="take each query's own position: a chunk begins where the last one ended.",
)(in_steps(queries=slot_numbers))

task.bug(
    "queries at the last slots",
    "the queries are placed at the last slots, whatever their positions are.",
    symptom="A text without padding is right; a padded one attends to what it should not.",
    fix="take `query_positions`: the number of slots is no text's length.",
)(
    in_steps(
        queries=lambda positions, keys: slot_numbers(positions) + keys.shape[1] - positions.shape[1]
    )
)

task.bug(
    "the last query's position for all",
    "the position of the last query is used for all queries.",
    symptom="One token after the other is right; in chunks, tokens attend to later ones.",
    origin="several projects, where it shows only with a prompt in chunks",
    fix="keep the axis of queries: each has its own position.",
)(in_steps(queries=lambda positions, _keys: positions[:, -1:].expand_as(positions)))

task.bug(
    "the first text's positions for all",
    "the query positions of the first text are used for the whole batch.",
    symptom="Texts of one length are right; in a left-padded batch, only the first text is.",
    origin="unsloth#3699",
    fix="keep the axis of texts: each has its own positions.",
)(in_steps(queries=lambda positions, _keys: positions[:1].expand_as(positions)))

task.bug(
    "one key too few",
    "a query does not attend to the key at its own position.",
    symptom="Hardly any token changes, and all logits do.",
    origin="cs249r_book#1953",
    fix="the query's own position is visible: compare with `<=`.",
)(in_steps(near=lambda steps, window: _near(steps, window) & (steps > 0)))

task.bug(
    "one key too many",
    "a query attends to the key after its own position, too.",
    symptom="A prompt in one piece gives other outputs than token by token.",
    fix="positions up to the query's own are visible, and none after it.",
)(in_steps(near=lambda steps, window: _near(steps, window) | (steps == -1)))

task.bug(
    "the future is visible",
    "all later keys are visible: only the far past is hidden.",
    symptom="The loss is suspiciously low, and what the model writes is poor.",
    fix="also hide keys whose position is above the query's.",
)(in_steps(near=lambda steps, window: steps < (steps.max() + 1 if window is None else window)))

task.bug(
    "window too long",
    "the window is one key too long: the distance `window` is visible, too.",
    symptom="Long texts differ slightly from those of the library that the model comes from.",
    origin="mlx-lm#390",
    fix="the query's own key has distance 0 and counts: the distance is less than `window`.",
)(in_steps(near=lambda steps, window: _near(steps, window and window + 1)))

task.bug(
    "window too short",
    "the window is one key too short: only `window` - 1 keys are visible.",
    symptom="With a `window` of 1, nothing is visible.",
    fix="the query's own position is one of the `window`: the farthest is p - window + 1.",
)(in_steps(near=lambda steps, window: _near(steps, None if window is None else window - 1)))

task.bug(
    "no window",
    "`window` is never used, and a query sees all of the past.",
    symptom="Texts longer than the window differ from those of the original model.",
    fix="hide keys that are `window` positions or more before the query.",
)(in_steps(near=lambda steps, _window: steps >= 0))

task.bug(
    "None taken for a window of 0",
    "without a window nothing is visible: None is taken for 0, as by `window or 0`.",
    symptom="Models with a window are right, and those without one give NaN.",
    fix="leave the window out if it is None: all of the past is visible.",
)(in_steps(near=lambda steps, window: _near(steps, window or 0)))

task.bug(
    "window ignored for a single query",
    "the window is not used if there is one query, as if the cache held its window only.",
    symptom="The prompt is right; in the text after it, the window seems to grow.",
    origin="several projects, which leave out the mask for a single query",
    fix="use the window for any number of queries: more keys than its own may be stored.",
)(in_steps(near=lambda steps, window: _near(steps, None if steps.shape[1] == 1 else window)))

task.bug(
    "window counted in slots",
    "the last `window` slots are visible, instead of the last `window` positions.",
    symptom="The window is right until slots are used again, or left empty.",
    origin="mlx-vlm#1715",
    fix="count the window in positions: subtract the key's from the query's.",
)(
    in_steps(
        near=lambda steps, window: (
            (steps >= 0) & (torch.arange(steps.shape[2]) >= steps.shape[2] - (window or 10**6))
        )
    )
)

task.bug(
    "the last query's window for all",
    "the window of the last query is used for all, and hides keys that the first ones need.",
    symptom="One token after the other is right; in chunks, the first tokens see too few keys.",
    origin="LLMs-from-scratch#1013, which removes keys before all queries have used them",
    fix="count back from each query's own position, not from the last one.",
)(in_steps(near=lambda steps, window: _near(steps, None) & (steps[:, -1:] < (window or 10**6))))

task.inherit(in_steps, mistakes.masking, without=("one key too many", "one key too few"))
