"""A cache of keys and values: by hand, what it refuses, its memory, compiled and exported.

Random schedules of everything that it can do are in `test_schedules.py`.
"""

import math
import pickle
import re
import sys
from copy import deepcopy
from itertools import count
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

import attnbook.cache.key_value as cache_module
from attnbook import CrossCache, KeyValueCache, LayerCache, MultiHeadAttention, rotary_encoding
from attnbook.cache import CacheStep
from tests.cache.machine import is_same

HIDDENS, HEAD_SIZE, NUM_HEADS, NUM_KV_HEADS = 5, 4, 6, 2
TOLERANCE = 1e-12


@pytest.fixture(params=[True, False], ids=["numbers are read", "numbers are not read"])
def reads(request, monkeypatch):
    """As on the CPU, and as on a GPU."""
    if not request.param:
        monkeypatch.setattr("attnbook.layers.may_choose_by", lambda _: False)
    return request.param


with_and_without_weights = pytest.mark.parametrize("keep_weights", [True, False])


def make_layer(dtype=torch.float64, **options):
    torch.manual_seed(13)
    options = {"rotary": rotary_encoding, "bias": True} | options
    layer = MultiHeadAttention(
        *(HIDDENS,) * 4, NUM_HEADS, num_kv_heads=NUM_KV_HEADS, head_size=HEAD_SIZE, **options
    )
    return layer.to(dtype).requires_grad_(False)


def make_cache(num_layers=1, batch=2, dtype=torch.float64, **options):
    return KeyValueCache(
        num_layers, batch, NUM_KV_HEADS, HEAD_SIZE, HEAD_SIZE, dtype=dtype, **options
    )


def random_vectors(num_tokens, seed=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, num_tokens, HIDDENS, generator=generator, dtype=torch.float64).to(dtype)


def append_ones(cache, num_tokens, **options):
    """Store ones, without a model; return the step."""
    with cache.step(num_tokens, **options) as step:
        for index in range(cache.num_layers):
            layer = cache.layer(index)
            shape = cache.batch, layer.keys.shape[1], num_tokens
            keys, values = (
                torch.ones(*shape, it.shape[3], dtype=it.dtype) for it in (layer.keys, layer.values)
            )
            layer.append(keys, values)
    return step


def assert_unchanged(cache, before):
    for name, now in cache.state_dict().items():
        assert torch.equal(now, before[name]), name


def test_two_tokens_in_two_steps_by_hand():
    # One head of one number, and projections that change nothing. The second query is 1, the stored
    # key is 0 and the new one log 3: weights 1/4 and 3/4 of the values 4 and 8.
    layer = MultiHeadAttention(1, 1, 1, 1, 1).double().requires_grad_(False)
    for projection in (layer.W_q, layer.W_k, layer.W_v, layer.W_o):
        nn.init.ones_(projection.weight)
    cache = KeyValueCache(1, 1, 1, 1, 1, dtype=torch.float64)
    outputs = []
    for vectors in ((1.0, 0.0, 4.0), (1.0, math.log(3), 8.0)):
        with cache.step(1):
            inputs = (torch.tensor([[[number]]]).double() for number in vectors)
            outputs.append(layer(*inputs, cache=cache.layer(0)).item())
    assert outputs == pytest.approx([4.0, 4 / 4 + 3 * 8 / 4], abs=1e-6)
    stored = cache.valid[0, : layer.attention_weights.shape[-1]]
    assert layer.attention_weights[0, 0, 0, stored].tolist() == pytest.approx([0.25, 0.75])
    assert cache.positions[cache.valid].tolist() == [0, 1]
    assert cache.lengths.tolist() == [2]
    assert cache.next_positions.tolist() == [2]


@with_and_without_weights
@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, TOLERANCE), (torch.bfloat16, 5e-2)])
def test_cached_outputs_and_weights_of_each_head_are_those_of_the_whole_text(
    dtype, atol, keep_weights
):
    layer = make_layer(dtype, keep_weights=keep_weights)
    x = random_vectors(7, dtype=dtype)
    expected = layer(x, x, x, causal=True)
    weights = layer.attention_weights if keep_weights else None
    cache, start = make_cache(dtype=dtype), 0
    for part in x.split([3, 1, 2, 1], dim=1):
        count = part.shape[1]
        with cache.step(count):
            output = layer(part, part, part, cache=cache.layer(0), causal=True)
        assert torch.allclose(output, expected[:, start : start + count], atol=atol)
        if weights is not None:
            found = layer.attention_weights
            assert found.shape[:3] == (2, NUM_HEADS, count)
            stored = cache.valid[0, : found.shape[3]]
            assert not found[..., ~stored].any()
            whole = weights[:, :, start : start + count, : start + count]
            assert torch.allclose(found[..., stored], whole, atol=atol)
        start += count


# Keys of another text


@with_and_without_weights
@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("valid", [None, "of all rows", "of each row", "one row is empty"])
@pytest.mark.parametrize("bias", [True, False])
def test_projected_keys_of_another_text_give_what_the_layer_gives(keep_weights, valid, bias):
    layer = make_layer(keep_weights=keep_weights, rotary=None, bias=bias)
    queries, keys = random_vectors(3, 5), random_vectors(7)
    rows = torch.tensor([[1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 1, 1, 0]]).bool()
    if valid == "of all rows":
        rows[1] = rows[0]
    if valid == "one row is empty":
        rows[1] = False
    if valid is not None:
        keys = torch.where(rows[..., None], keys, math.nan)
    mask = None if valid is None else rows[:, None]
    expected = layer(queries, keys, keys, mask=mask)
    given = {None: None, "of all rows": rows[0]}.get(valid, rows)
    cross = layer.project_keys(keys, keys, given)
    for i in range(3):
        output = layer.attend(queries[:, i : i + 1], cross)
        assert torch.allclose(output, expected[:, i : i + 1], atol=TOLERANCE)
        if keep_weights:
            assert layer.attention_weights.shape == (2, NUM_HEADS, 1, 7)
    if valid == "one row is empty":
        assert not output[1].any()


# Refusals

ones = torch.ones
KEYS = ones(2, NUM_KV_HEADS, 1, HEAD_SIZE).double()
X = random_vectors(1)
GRADIENT = ones(1, requires_grad=True).double()

BAD_CACHES = [
    ({"num_layers": 0}, ValueError, "num_layers must be at least 1, got 0"),
    ({"batch": True}, TypeError, "batch must be a whole number, got True"),
    ({"max_length": 0}, ValueError, "max_length must be at least 1, got 0"),
    ({"window": 0}, ValueError, "window must be at least 1, got 0"),
    ({"window": 2.0}, TypeError, "window must be a whole number, got 2.0"),
    ({"sinks": -1}, ValueError, "sinks must be at least 0, got -1"),
    ({"sinks": None}, TypeError, "sinks must be a whole number, got None"),
    ({"max_rewind": -2}, ValueError, "max_rewind must be at least 0, got -2"),
    ({"max_rewind": 1.5}, TypeError, "max_rewind must be a whole number, got 1.5"),
    ({"max_length": sys.maxsize}, ValueError, ": without max_length the cache grows"),
    ({"batch": 2**64}, ValueError, "the sizes must give fewer than 2**60 numbers, got 5"),
    ({"dtype": torch.long}, TypeError, "dtype must be floating-point, as keys and values are, got"),
    ({"dtype": torch.cfloat}, TypeError, "dtype must be floating-point, as keys and values are, g"),
    ({"dtype": "float32"}, TypeError, "dtype must be a dtype such as torch.float32, got 'float32'"),
    ({"device": "gpu"}, ValueError, "device must be one that torch can use here, got 'gpu'"),
    ({"device": "cpu:x"}, ValueError, "device must be one that torch can use here, got 'cpu:x'"),
    ({"device": "meta"}, ValueError, "device must be one that stores numbers, got meta"),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD_CACHES)
def test_a_cache_of_wrong_sizes_is_refused(change, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make_cache(**change)


def step_with(num_tokens, **options):
    def take_step(cache):
        append_ones(cache, num_tokens, **options)

    return take_step


def append(keys=KEYS, values=KEYS):
    def take_step(cache):
        with cache.step(1):
            cache.layer(0).append(keys, values)

    return take_step


def append_twice(cache):
    with cache.step(1):
        for _ in range(2):
            cache.layer(0).append(KEYS, KEYS)


def within(change):
    def take_step(cache):
        with cache.step(1):
            change(cache)

    return take_step


def load(**change):
    def load_state(cache):
        cache.load_state_dict(cache.state_dict() | change)

    return load_state


def load_of(**options):
    """Load the state of another cache."""
    return lambda cache: cache.load_state_dict(make_cache(**options).state_dict())


def call(*inputs, layer=None, **options):
    """Call a layer within a step of one token."""

    def take_step(cache):
        with cache.step(1):
            given = {"cache": cache.layer(0)} | options
            (layer or make_layer())(*(inputs or (X, X, X)), **given)

    return take_step


CROSS = CrossCache(KEYS, KEYS)
# The cache has 3 tokens in each of 2 rows, a window of 2, and has evicted positions 0 and 1.
BAD_TYPES = [
    (lambda it: it.layer("0"), "index must be a whole number, got '0'"),
    (step_with(1.0), "num_tokens must be a whole number, got 1.0"),
    (step_with(2, valid=ones(2)), "valid must hold booleans, False for padding, got torch.float32"),
    (step_with(1, valid=[True]), "valid must be a tensor of booleans, got"),
    (step_with(1, positions=ones(1)), "positions must hold whole numbers, got torch.float32"),
    (step_with(1, documents=ones(1)), "documents must hold whole numbers, got torch.float32"),
    (append(KEYS.long()), "keys must have the cache's dtype, torch.float64, got torch.int64"),
    (
        append(KEYS, KEYS.float()),
        "values must have the cache's dtype, torch.float64, got torch.float32",
    ),
    (lambda it: it.rewind(0.5), "counts must be whole numbers, got torch.float32"),
    (lambda it: it.rewind(None), "counts must be whole numbers of at most 64 bits, got None"),
    (
        lambda it: it.rewind(2**64),
        "counts must be whole numbers of at most 64 bits, got 18446744073709551616",
    ),
    (lambda it: it.rewind([True, False]), "counts must hold whole numbers, got torch.bool"),
    (lambda it: it.reorder([0.0, 1.0]), "rows must be whole numbers, got torch.float32"),
    (lambda it: it.reorder("01"), "rows must be whole numbers of at most 64 bits, got '01'"),
    (
        lambda it: it.load_state_dict(None),
        "state must be a dict, as state_dict returns it, got NoneType",
    ),
    (load(**{"slots.valid": [[True]]}), "state['slots.valid'] must be a tensor, got list"),
    (
        call(cache=object()),
        "cache must be a LayerCache, such as KeyValueCache.layer(0), got object",
    ),
    (call(causal="yes"), "causal must be True or False, got 'yes'"),
    (call(X, None, X), "keys must be a tensor, got NoneType"),
    (
        lambda cache: make_layer().attend(X, cache.layer(0)),
        "cache must be a CrossCache, as project_keys returns it, got LayerCache",
    ),
    (
        lambda _: make_layer().attend(X, CrossCache(KEYS.float(), KEYS.float())),
        "keys must have the dtype of queries, torch.float64, got torch.float32",
    ),
    (
        lambda _: CrossCache(KEYS, KEYS, ones(1)),
        "valid must hold booleans, False for padding, got torch.float32",
    ),
    (
        lambda _: make_layer(rotary=None).project_keys(None, X),
        "keys must be a tensor, got NoneType",
    ),
]
BAD_VALUES = [
    (lambda it: it.layer(-1), "index must lie in [0, num_layers=1), got -1"),
    (lambda it: it.layer(1), "index must lie in [0, num_layers=1), got 1"),
    (step_with(0), "num_tokens must be at least 1, got 0"),
    (
        step_with(2, valid=ones(3, 2).bool()),
        "valid must have shape (num_queries=2,) or (batch=2, num_queries=2), got (3, 2)",
    ),
    (
        step_with(2, positions=torch.tensor([3])),
        "positions must have shape (num_queries=2,) or (batch=2, num_queries=2), got (1,)",
    ),
    (
        step_with(2, positions=torch.tensor([3, -1])),
        "positions of real tokens must be at least 0 and at most 2**62, got -1",
    ),
    (
        step_with(1, positions=torch.tensor([2**63 - 1])),
        "positions of real tokens must be at least 0 and at most 2**62, got 9223372036854775807",
    ),
    (
        step_with(1, positions=torch.tensor([[3], [2]])),
        "positions must be at least 3 in row 1, as earlier tokens of document 0 have not seen this "
        "one, got 2: rewind first to replace tokens",
    ),
    (
        step_with(2, positions=torch.arange(2)),
        "positions must be at least 3 in row 0, as earlier tokens of document 0",
    ),
    (
        step_with(1, documents=torch.tensor([1, 2])),
        "documents must have shape (num_queries=1,) or (batch=2, num_queries=1), got (2,)",
    ),
    (step_with(5), "max_length=5 must hold every token of a row, got 1 stored and 5 more in row 0"),
    (append(KEYS[0, 0]), "keys must have shape (batch, num_kv_heads"),
    (
        append(KEYS[:1]),
        "keys must have shape (batch, num_kv_heads, num_tokens, size) = (2, 2, 1, 4), got (1, 2, 1",
    ),
    (append(KEYS, KEYS[:, :1]), "= (2, 2, 1, 4), got (2, 1, 1, 4)"),
    (
        append(KEYS, ones(2, 2, 3, 4).double()),
        "values must have shape (batch, num_kv_heads, num_tokens, size) = (2, 2, 1, 4), got (2, 2,",
    ),
    (append(KEYS.to("meta")), "keys must be on the cache's device, cpu, got meta"),
    (
        append(KEYS.clone().requires_grad_()),
        "keys must not require grad, as a cache stores only numbers, got requires_grad=True",
    ),
    (lambda it: it.rewind([0, 4]), "counts must lie in [0, 3], the tokens of row 1, got 4"),
    (lambda it: it.rewind(-1), "counts must lie in [0, 3], the tokens of row 0, got -1"),
    (
        lambda it: it.rewind([0, 1]),
        "counts must leave row 1 the window of 2 that its next token sees, whose first keys are "
        "evicted, got 1 with max_rewind=0, counted from the most tokens that the row has had",
    ),
    (lambda it: it.rewind([0, 0, 0]), "counts must be one number or (batch=2,), got shape (3,)"),
    (lambda it: it.reorder([0, 2]), "rows must lie in [0, batch=2), got [0, 2]"),
    (lambda it: it.reorder([-1]), "rows must lie in [0, batch=2), got [-1]"),
    (lambda it: it.reorder([]), "rows must be one or more numbers, got shape (0,)"),
    (lambda it: it.repeat(0), "count must be at least 1, got 0"),
    (load(more=KEYS), "state must have the names of this cache, got others: ['more']"),
    (
        load_of(num_layers=2, max_length=5, window=2),
        "state must have the names of this cache, got others: ['keys.1', 'values.1']",
    ),
    (
        load_of(max_length=5),
        "state must be of a cache with this window (0 for none) and sinks, [2, 0], got [0, 0]",
    ),
    (load_of(max_length=5, window=2, sinks=1), "[2, 0], got [2, 1]"),
    (
        load_of(max_length=6, window=2),
        "must have shape (2, 6) of torch.int64, got (2, 7) of torch.int64",
    ),
    (
        load_of(dtype=torch.float32, max_length=5, window=2),
        "state['keys.0'] must have shape (2, 2, 6, 4) of torch.float64, got (2, 2, 6, 4) of",
    ),
    (
        lambda it: it.load_state_dict({1: KEYS}),
        "state must have the names of this cache, got others: ['1', 'keys.0', ",
    ),
    (
        load(rule=torch.tensor([2, 0], device="meta")),
        "state['rule'] must hold numbers to be used on cpu, got a meta tensor",
    ),
    (
        load(**{"slots.counts": torch.tensor([3, -1])}),
        "state['slots.counts'] must be 3 in row 1, after the order of its last token, got -1",
    ),
    (load(**{"slots.counts": torch.tensor([4, 3])}), "got 4"),
    (
        load(**{"slots.valid": ones(2).bool()}),
        "state['slots.valid'] must have shape (batch, slots), got (2,)",
    ),
    (
        call(X.repeat(1, 2, 1), X, X),
        "queries must be of the tokens of the step, (batch, num_tokens) = (2, 1), got (2, 2)",
    ),
    (
        call(*(X[:1],) * 3),
        "queries must be of the tokens of the step, (batch, num_tokens) = (2, 1), got (1, 1)",
    ),
    (
        call(X, *(X.repeat(1, 3, 1),) * 2),
        "keys must be of the tokens of the step, (batch, num_tokens) = (2, 1), got (2, 3)",
    ),
    (
        call(ones(2, 1, 3).double(), X, X),
        "queries must have query_size=5 numbers in the last axis, got 3",
    ),
    (
        call(layer=make_layer().requires_grad_()),
        "keys must not require grad, as a cache stores only numbers, got requires_grad=True: "
        "generate within torch.no_grad()",
    ),
    (
        lambda _: make_layer().attend(ones(2, 1, 3).double(), CROSS),
        "queries must have query_size=5 numbers in the last axis, got 3",
    ),
    (
        lambda _: make_layer().attend(X[:1], CROSS),
        "keys must have the batch of queries, 1, and heads that divide their 6, got (2, 2)",
    ),
    (
        lambda _: CrossCache(KEYS[0], KEYS),
        "keys must have shape (batch, num_kv_heads, num_keys, size), got (2, 1, 4)",
    ),
    (
        lambda _: CrossCache(KEYS, KEYS[:, :1]),
        "values must be as many as keys, (2, 2, 1), got (2, 1, 1) in shape (2, 1, 1, 4)",
    ),
    (
        lambda _: make_layer(rotary=None).project_keys(X[0], X),
        "keys must have shape (batch, num_keys, key_size), got (1, 5)",
    ),
    (
        lambda _: make_layer().project_keys(X, X),
        "rotary must be None for keys of another text, got <function rotary_encoding",
    ),
]
BAD_STEPS = [
    (within(step_with(1)), "a step must end before the next one begins, got two"),
    (within(lambda _: None), "each layer must append in a step, got none of layers [0]"),
    (append_twice, "must append once in a step, got a second"),
    (
        lambda it: it.layer(0).append(KEYS, KEYS),
        "a layer's cache must be used within `with cache.step(…)`, got no open step; see: recipes, "
        '"cache"',
    ),
    *(
        (within(change), f"{name} must be called after the open step, got a call within it")
        for name, change in {
            "rewind": lambda it: it.rewind(1),
            "reorder": lambda it: it.reorder([0, 1]),
            "state_dict": lambda it: it.state_dict(),
            "load_state_dict": lambda it: it.load_state_dict({}),
        }.items()
    ),
    *(
        (within(change), "copy must be called after the open step, got a call within it")
        for change in (KeyValueCache.copy, deepcopy, pickle.dumps)
    ),
]
LEFT_OUT = "valid_lens, mask, positions and key_positions must be left out with a cache, whose"
BAD_VALUES += [
    (call(**{name: ones(2)}), LEFT_OUT)
    for name in ("valid_lens", "mask", "positions", "key_positions")
]
BAD_CALLS = {TypeError: BAD_TYPES, ValueError: BAD_VALUES, RuntimeError: BAD_STEPS}


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [(change, error, rule) for error, calls in BAD_CALLS.items() for change, rule in calls],
)
def test_a_refused_call_names_the_rule_and_leaves_the_cache_as_it_was(change, error, message):
    cache = make_cache(max_length=5, window=2)
    append_ones(cache, 3)
    before = cache.state_dict()
    with pytest.raises(error, match=re.escape(message)):
        change(cache)
    assert cache.open_step is None
    assert_unchanged(cache, before)
    append_ones(cache, 1)
    assert cache.next_positions.tolist() == [4, 4]


@with_and_without_weights
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("max_length", [None, 300])
def test_under_autocast_a_cache_keeps_its_dtype(dtype, max_length, keep_weights):
    layer = make_layer(torch.float32, keep_weights=keep_weights)
    cache, x = make_cache(dtype=dtype, max_length=max_length), random_vectors(200).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = []
        for part in x.split([190, 3, 1, 1, 5], dim=1):
            with cache.step(part.shape[1], valid=torch.ones(part.shape[1]).bool()):
                outputs.append(layer(part, part, part, cache=cache.layer(0)))
    assert cache.layer(0).keys.dtype == dtype
    assert (torch.cat(outputs, 1) - layer(x, x, x, causal=True)).abs().max() < 0.05


def test_autocast_leaves_float64_as_it_is_and_so_does_a_cache():
    layer, cache, x = make_layer(torch.float32), make_cache(), X.float()
    rule = "keys must have the cache's dtype, torch.float64, got torch.bfloat16"
    with pytest.raises(TypeError, match=rule), torch.autocast("cpu", torch.bfloat16), cache.step(1):
        layer(x, x, x, cache=cache.layer(0))


# Inference mode: what is made in it must not be written into outside of it.


def start():
    cache = make_cache(num_layers=2)
    append_ones(cache, 3)
    return cache


IN_INFERENCE_MODE = {
    "made": lambda _: start(),
    "filled": lambda cache: append_ones(cache, 3),
    "grown": lambda cache: append_ones(cache, 17),
    "reordered": lambda cache: cache.reorder([1, 0]),
    "copied": deepcopy,
    "loaded": lambda cache: cache.load_state_dict(cache.state_dict()),
    "unpickled": lambda cache: pickle.loads(pickle.dumps(cache)),  # noqa: S301 - our own
}


def fail_within(cache, num_tokens, use):
    """Take a step that fails after the first layer has been used."""
    with cache.step(num_tokens):
        use(cache.layer(0))
        raise ArithmeticError


def append_vectors(layer):
    layer.append(KEYS, KEYS)


@pytest.mark.parametrize("change", IN_INFERENCE_MODE.values(), ids=IN_INFERENCE_MODE)
@pytest.mark.parametrize("go_on", ["a step", "a rewind", "a failing step"])
def test_a_cache_from_inference_mode_goes_on_without_it(change, go_on):
    cache = start()
    with torch.inference_mode():
        new = change(cache)
    cache = new if isinstance(new, KeyValueCache) else cache
    length = int(cache.lengths[0])
    with torch.no_grad():
        if go_on == "a rewind":
            cache.rewind(1)
            length -= 1
        if go_on == "a failing step":
            with pytest.raises(ArithmeticError) as raised:
                fail_within(cache, 1, append_vectors)
            assert raised.value.__context__ is None
        append_ones(cache, 2)
    assert cache.lengths.tolist() == [length + 2] * 2
    assert cache.layer(1).keys.sum() == (length + 2) * KEYS.numel()


def test_what_a_failing_step_has_stored_does_not_reach_the_next_one():
    layer, cache, x = make_layer(), make_cache(), random_vectors(4)
    with cache.step(2):
        layer(x[:, :2], x[:, :2], x[:, :2], cache=cache.layer(0))
    nothing = torch.full((2, 5, HIDDENS), math.nan).double()
    with pytest.raises(ArithmeticError):
        fail_within(cache, 5, lambda stored: layer(nothing, nothing, nothing, cache=stored))
    with cache.step(2):
        output = layer(x[:, 2:], x[:, 2:], x[:, 2:], cache=cache.layer(0))
    assert torch.allclose(output, layer(x, x, x, causal=True)[:, 2:], atol=TOLERANCE)
    assert not cache.layer(0).keys.isnan().any()


# Interrupts


TRACED = {"key_value.py", "layer.py", "slots.py", "contextlib.py"}


def interrupt_at(line, change, cache):
    """Make a change, and raise KeyboardInterrupt before the n-th line of it; say whether it did."""
    lines = count(1)

    def trace(frame, event, _):
        if Path(frame.f_code.co_filename).name not in TRACED:
            return None
        if event == "line" and next(lines) == line:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        change(cache)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def fail(cache):
    with pytest.raises(ArithmeticError):
        fail_within(cache, 1, append_vectors)


CHANGES = {
    "step": step_with(2),
    "step with padding": step_with(2, valid=torch.tensor([[True, True], [False, True]])),
    "step that grows": step_with(20),
    "step that fails": fail,
    "rewind": lambda cache: cache.rewind([2, 1]),
    "reorder": lambda cache: cache.reorder([1, 0, 1]),
    "copy": lambda cache: cache.copy(),
    "save": lambda cache: cache.state_dict(),
}


@pytest.mark.few(9)
@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("name", [*CHANGES, "load"])
def test_a_change_interrupted_at_any_line_is_made_or_not(name, window):
    start, x = make_cache(num_layers=2, window=window, max_rewind=3), random_vectors(7)
    for part in x.split([3, 4], dim=1):
        with start.step(part.shape[1], valid=torch.arange(part.shape[1]) > 0):
            for i in range(2):
                make_layer()(part, part, part, cache=start.layer(i))
    loaded = start.copy()
    loaded.reorder([1, 1])
    append_ones(loaded, 1)
    loaded = loaded.state_dict()
    change = CHANGES.get(name, lambda cache: cache.load_state_dict(loaded))

    def make():
        cache = start.copy()
        cache.rewind(1)  # leaves something that the next change must clear
        return cache

    old, changed = make(), make()
    change(changed)
    for cache in (old, changed):
        append_ones(cache, 2)
    goes_on = [old.state_dict(), changed.state_dict()]
    for line in count(1):
        cache = make()
        if not interrupt_at(line, change, cache):
            break
        assert cache.open_step is None, line
        for i, pair in enumerate(cache._state.layers):
            layer = cache.layer(i)
            assert (layer.keys, layer.values, layer.open_step) == (*pair, None), line
        append_ones(cache, 2)
        found = cache.state_dict()
        assert any(is_same(found, state) for state in goes_on), line
    assert line > 20


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("fails_at", range(4))
def test_a_cache_whose_growth_fails_holds_what_it_held(error, fails_at, monkeypatch):
    cache = make_cache(num_layers=2)
    append_ones(cache, 16)
    before, grow = cache.state_dict(), cache_module._with_slots
    calls = iter(range(4))

    def fail(*given):
        if next(calls) == fails_at:
            raise error
        return grow(*given)

    monkeypatch.setattr(cache_module, "_with_slots", fail)
    with pytest.raises(error):
        append_ones(cache, 1)
    monkeypatch.undo()
    assert_unchanged(cache, before)
    assert_unchanged(cache.copy(), before)
    append_ones(cache, 1)
    assert cache.lengths.tolist() == [17, 17]
    assert {cache.layer(i).keys.shape[2] for i in range(2)} == {cache.num_slots} == {34}


# Copies, dtypes, memory


def test_a_state_whose_tensors_need_gradients_is_loaded_without():
    cache, loaded = make_cache(), make_cache()
    append_ones(cache, 3)
    state = cache.state_dict()
    loaded.load_state_dict(
        {name: it + 0.0 * GRADIENT if it.dim() > 2 else it for name, it in state.items()}
    )
    assert_unchanged(loaded.copy(), state)
    append_ones(loaded, 1)
    assert not loaded.layer(0).keys.requires_grad


def test_bytes_are_those_of_all_keys_and_values():
    options = {"num_layers": 3, "batch": 2, "num_kv_heads": 5, "key_size": 7, "value_size": 11}
    cache = KeyValueCache(**options, max_length=12, dtype=torch.bfloat16)
    assert cache.nbytes == 3 * 2 * 5 * 13 * (7 + 11) * 2
    growing = KeyValueCache(**options, dtype=torch.float32)
    assert growing.nbytes == 3 * 2 * 5 * 17 * (7 + 11) * 4
    append_ones(growing, 17)
    assert growing.nbytes == 3 * 2 * 5 * 34 * (7 + 11) * 4


def test_a_cache_on_the_cpu_stays_there_whatever_the_default_device_is():
    cache, layer, x = make_cache(device="cpu", window=3), make_layer(), random_vectors(20)
    last = {"positions": torch.tensor([20]), "documents": torch.tensor([0])}
    with torch.device("meta"):
        with cache.step(20):
            layer(x, x, x, cache=cache.layer(0))
        with cache.step(1, **last):
            layer(X, X, X, cache=cache.layer(0))
        cache.repeat(2)
        cache.reorder([3, 0])
        cache.rewind(0)
        cache.load_state_dict(cache.copy().state_dict())
    assert cache.device == torch.device("cpu")
    assert cache.next_positions.tolist() == [21, 21]


def test_positions_and_documents_may_be_whole_numbers_of_any_dtype():
    cache = make_cache()
    for i, dtype in enumerate((torch.int32, torch.uint8, torch.int64)):
        append_ones(
            cache, 1, positions=torch.tensor([i]).to(dtype), documents=torch.tensor([1]).to(dtype)
        )
    assert cache.next_positions.tolist() == [3, 3]


def test_max_rewind_tokens_can_be_taken_back_where_positions_have_gaps():
    # After position 10 a window of 15 sees position 0, which must not be evicted yet.
    cache = make_cache(window=15, max_rewind=1)
    for position in (0, 10, 20):
        append_ones(cache, 1, positions=torch.tensor([position]))
    cache.rewind(1)
    append_ones(cache, 1)
    assert cache.positions[cache.valid].tolist() == [0, 10, 11] * 2


def test_a_single_next_token_has_the_position_after_given_ones_and_sees_its_window_only():
    cache, near = make_cache(), make_cache(window=2, max_rewind=3)
    append_ones(cache, 1, positions=torch.tensor([5]))
    assert append_ones(cache, 1).positions.tolist() == [[6], [6]]
    append_ones(near, 5)  # which stores more than the window, to take it back
    assert append_ones(near, 1).visible.sum(dim=-1).unique().tolist() == [2]


def test_tokens_of_another_document_than_the_evicted_ones_can_be_taken_back():
    cache = make_cache(window=2)
    append_ones(cache, 9)
    append_ones(cache, 3, positions=torch.arange(3), documents=torch.ones(3).long())
    cache.rewind(1)
    append_ones(cache, 1, documents=torch.ones(1).long())
    assert cache.next_positions.tolist() == [3, 3]


# Compiled and exported


@pytest.mark.slow
def test_a_compiled_layer_with_a_cache_of_fixed_length_is_compiled_once():
    torch.compiler.reset()
    counter = CompileCounter()
    compiled = torch.compile(make_layer(), backend=counter, fullgraph=True)
    cache, x, outputs = make_cache(max_length=200), random_vectors(200), []
    for part in x.split(1, dim=1):
        with cache.step(1):
            outputs.append(compiled(part, part, part, cache=cache.layer(0)))
    assert counter.frame_count == 1
    expected = make_layer()(x, x, x, causal=True)
    assert torch.allclose(torch.cat(outputs, 1), expected, atol=TOLERANCE)
    torch.compiler.reset()


class ExportedStep(nn.Module):
    """A step with the buffers of a cache as inputs and outputs."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, keys, values, *step):
        cache = LayerCache(keys, values, CacheStep(*step))
        return self.layer(x, x, x, cache=cache), cache.keys, cache.values


@pytest.mark.slow
@with_and_without_weights
def test_an_exported_step_takes_and_returns_the_buffers_of_a_cache(keep_weights):
    layer, x = make_layer(keep_weights=keep_weights), random_vectors(3)
    cache, program = make_cache(max_length=4), None
    expected = layer(x, x, x, causal=True)
    buffers = cache.layer(0).keys.clone(), cache.layer(0).values.clone()
    for i in range(3):
        part = x[:, i : i + 1]
        with cache.step(1) as step:
            given = part, *buffers, step.slots, step.real, step.positions, step.visible
            if program is None:
                exported = ExportedStep(layer), tuple(it.clone() for it in given)
                program = torch.export.export(*exported).module()
            output, *buffers = program(*given)
            cache.layer(0).append(*layer_keys(layer, part, step))
        assert torch.allclose(output, expected[:, i : i + 1], atol=TOLERANCE)
        assert torch.allclose(buffers[0], cache.layer(0).keys, atol=TOLERANCE)


def layer_keys(layer, x, step):
    """Project and rotate the keys and values of new tokens."""
    k, v = (
        projection(x).unflatten(-1, (NUM_KV_HEADS, HEAD_SIZE)).transpose(1, 2)
        for projection in (layer.W_k, layer.W_v)
    )
    return rotary_encoding(k, step.positions), v


@pytest.mark.slow
@pytest.mark.parametrize("window", [None, 3])
def test_a_thousand_rounds_of_rejected_drafts_need_no_more_memory(window):
    drafts, cache = 4, make_cache(window=window, max_rewind=4)
    append_ones(cache, 5)
    for i in range(1000):
        append_ones(cache, drafts)
        # Row 0 goes on by a token in every fourth round, row 1 in none.
        cache.rewind([drafts - (i % 4 == 0 and window is not None), drafts])
        if i == 8:
            warm = cache.nbytes
    assert cache.nbytes == warm
    assert cache.num_slots <= 2 * 17
    assert cache.next_positions.tolist() == [5 if window is None else 255, 5]


@pytest.mark.slow
def test_ten_thousand_tokens_through_a_window_with_sinks_need_no_more_memory():
    window, sinks, chunk = 6, 2, 8
    cache = make_cache(window=window, sinks=sinks, batch=1)
    for i in range(10_000 // chunk):
        append_ones(cache, chunk)
        assert cache.num_slots == 17, i
        end = chunk * (i + 1)
        expected = {*range(sinks), *range(end - window + 1, end)}
        assert {*cache.positions[cache.valid].tolist()} == expected
    assert cache.next_positions.tolist() == [10_000]
