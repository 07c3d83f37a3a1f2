"""Random schedules of a cache: steps, beams, drafts, copies and failures, against the oracle.

`Driver` makes one change at a time and compares everything that can be seen; `CacheMachine` lets
Hypothesis choose the changes.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from unittest.mock import patch

import pytest
import torch
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import attnbook.cache.key_value as cache_module
from attnbook import MultiHeadAttention, rotary_encoding
from tests.cache.oracle import Oracle, Rules, Weights

HIDDENS, HEAD_SIZE = 5, 4
MOST_ROWS = 3
TOLERANCE = 1e-9
JUNK = {"NaN": float("nan"), "infinite": float("inf"), "huge": 1e300}


@dataclass(frozen=True)
class Config:
    """A model and a cache for it."""

    rules: Rules
    num_layers: int = 1
    batch: int = 2
    heads: tuple[int, int] = (2, 1)  # of queries, and of keys
    is_rotary: bool = True
    keep_weights: bool = True
    reads_values: bool = True
    has_documents: bool = True  # without any, single tokens take a shorter path
    first_slots: int = 2
    seed: int = 0


@dataclass(frozen=True)
class Failure:
    """Where a step ends early, and with which exception; None leaves the layer out."""

    layer: int
    error: type[BaseException] | None


def make_layers(config):
    generator = torch.Generator().manual_seed(config.seed)
    layers = []
    for _ in range(config.num_layers):
        layer = MultiHeadAttention(
            *(HIDDENS,) * 4,
            config.heads[0],
            bias=True,
            keep_weights=config.keep_weights,
            num_kv_heads=config.heads[1],
            head_size=HEAD_SIZE,
            rotary=rotary_encoding if config.is_rotary else None,
        ).double()
        for parameter in layer.parameters():
            torch.nn.init.normal_(parameter, std=0.5, generator=generator)
        layers.append(layer.requires_grad_(False))
    return layers


def as_weights(layer, config):
    parameters = {name: it.tolist() for name, it in layer.state_dict().items()}
    return Weights(parameters, *config.heads, config.is_rotary)


class Driver:
    """A cache and its oracle, which are changed together and then compared."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.layers = make_layers(config)
        weights = [as_weights(layer, config) for layer in self.layers]
        self.oracle = Oracle(weights, config.batch, config.rules)
        self.cache = self.make_cache(config.batch)
        self.inputs = torch.Generator().manual_seed(config.seed)
        self.needed = 0  # the most slots that a row has needed
        self.set_aside = []  # what later changes must not reach, with copies of it

    def make_cache(self, batch):
        rules = self.config.rules
        with patch.object(cache_module, "FIRST_SLOTS", self.config.first_slots):
            return cache_module.KeyValueCache(
                self.config.num_layers,
                batch,
                self.config.heads[1],
                HEAD_SIZE,
                HEAD_SIZE,
                max_length=rules.max_length,
                window=rules.window,
                sinks=rules.sinks,
                max_rewind=rules.max_rewind,
                dtype=torch.float64,
            )

    @property
    def batch(self):
        return len(self.oracle.rows)

    # Steps

    def step(
        self, num_tokens, real=None, positions=None, documents=None, *, junk="NaN", failure=None
    ):
        given = {"valid": real, "positions": positions, "documents": documents}
        given = {name: torch.tensor(it) for name, it in given.items() if it is not None}
        rows = [self.for_each_row(it, num_tokens) for it in (real, positions, documents)]
        real = rows[0] or [[True] * num_tokens] * self.batch
        places = self.oracle.place(real, *rows[1:])
        x = torch.randn(self.batch, num_tokens, HIDDENS, generator=self.inputs, dtype=torch.float64)
        is_real = torch.tensor(real)
        x = torch.where(is_real[..., None], x, JUNK[junk])
        if self.oracle.refuses(places):
            with self.refusal():
                self.run(x, given)
            return
        self.needed = max(
            self.needed,
            *(len(self.oracle.stored(i)) + len(new) for i, new in enumerate(places)),
        )
        if failure is not None:
            with self.refusal(failure.error or RuntimeError):
                self.run(x, given, failure)
            return
        found = self.run(x, given)
        for (row, index), vector in self.oracle.step(places, x.tolist()).items():
            off = (found[row, index] - torch.tensor(vector, dtype=torch.float64)).abs().max()
            assert off <= TOLERANCE, f"the output of row {row}, token {index} is off by {off}"

    def for_each_row(self, given, num_tokens):
        if given is None or isinstance(given[0], list):
            return given
        assert len(given) == num_tokens
        return [given] * self.batch

    def run(self, x, given, failure=None):
        """Run a step of the model, perhaps until it fails."""
        reads = self.config.reads_values
        unread = patch("attnbook.layers.may_choose_by", lambda _: False)
        with (
            torch.no_grad(),
            nullcontext() if reads else unread,
            self.cache.step(x.shape[1], **given),
        ):
            for number, layer in enumerate(self.layers):
                fails = failure is not None and failure.layer == number
                if fails and failure.error is None:
                    continue
                x = layer(x, x, x, cache=self.cache.layer(number))
                if fails:
                    raise failure.error
        return x

    @contextmanager
    def refusal(self, error=ValueError):
        """A block that must end with this error and leave the cache as it was."""
        before = self.cache.state_dict()
        with pytest.raises(error):
            yield
        assert is_same(self.cache.state_dict(), before)

    # Other changes

    def rewind(self, counts):
        each = counts if isinstance(counts, list) else [counts] * self.batch
        if self.oracle.refuses_rewind(each):
            with self.refusal():
                self.cache.rewind(counts)
            return
        self.cache.rewind(counts)
        self.oracle.rewind(each)

    def reorder(self, rows):
        self.cache.reorder(rows)
        self.oracle.reorder(rows)

    def repeat(self, count):
        rows = [row for row in range(self.batch) for _ in range(count)]
        self.cache.repeat(count)
        self.oracle.reorder(rows)

    def copy(self):
        """Go on with a copy; the original must stay as it is."""
        original = self.cache
        self.cache = original.copy()
        self.set_aside.append((original.state_dict, clone(original.state_dict())))

    def save_and_go_on(self):
        """Go on with the cache; its saved state must stay as it is."""
        state = self.cache.state_dict()
        self.set_aside.append((lambda: state, clone(state)))

    def load(self, batch):
        """Go on with another cache that has loaded the state; neither shares memory with it."""
        state = self.cache.state_dict()
        self.cache = self.make_cache(batch)
        self.cache.load_state_dict(state)
        self.set_aside.append((lambda: state, clone(state)))

    # Comparisons

    def compare(self):
        cache, rules = self.cache, self.config.rules
        assert cache.open_step is None
        assert cache.batch == self.batch
        assert cache.next_positions.tolist() == self.oracle.next_positions()
        valid = cache.valid
        stored = [self.oracle.stored(row) for row in range(self.batch)]
        assert cache.lengths.tolist() == [len(tokens) for tokens in stored]
        for row, tokens in enumerate(stored):
            expected = sorted((token.position, token.document) for token in tokens)
            columns = cache.positions[row][valid[row]], cache.documents[row][valid[row]]
            assert sorted(zip(*(it.tolist() for it in columns), strict=True)) == expected
        self.compare_memory(rules, valid)
        for now, then in self.set_aside[-2:]:
            assert_equal(now(), then)

    def compare_memory(self, rules, valid):
        """Free slots are zeros, or are cleared next; what grows has at most twice what it needs."""
        cache, written = self.cache, self.cache._state.written
        free = ~valid if written is None else ~(valid | written)
        if rules.max_length is not None:
            assert cache.num_slots == rules.max_length + 1
        else:
            assert cache.num_slots <= max(self.config.first_slots + 1, 2 * (self.needed + 1)), (
                "the cache has more slots than it may"
            )
        shape = (self.batch, self.config.heads[1], cache.num_slots, HEAD_SIZE)
        for number in range(self.config.num_layers):
            layer = cache.layer(number)
            for vectors in (layer.keys, layer.values):
                assert vectors.shape == shape
                assert not vectors.transpose(1, 2)[free].any(), "a free slot is not zero"
        assert cache.nbytes == 8 * 2 * self.config.num_layers * torch.Size(shape).numel()


def is_same(state, other):
    """Whether two caches hold the same; one of them may have more free slots."""
    for name, it in state.items():
        now, then = it, other[name]
        if it.dim() > 1:
            axis = 1 if it.dim() == 2 else 2
            size = min(it.shape[axis], then.shape[axis])
            rest = [part.narrow(axis, size, part.shape[axis] - size) for part in (now, then)]
            if any(part.any() for part in rest):
                return False
            now, then = now.narrow(axis, 0, size), then.narrow(axis, 0, size)
        if not torch.equal(now, then):
            return False
    return True


def clone(state):
    return {name: it.clone() for name, it in state.items()}


def assert_equal(now, then):
    for name, it in then.items():
        assert torch.equal(now[name], it), f"{name} shares memory with another cache"


# What Hypothesis chooses


def maybe(strategy):
    return st.none() | strategy


HUGE = st.sampled_from([2**63 - 1, 2**64])
CONFIGS = st.builds(
    Config,
    rules=st.builds(
        Rules,
        window=maybe(st.integers(1, 5) | st.integers(1, 5) | HUGE),
        sinks=st.integers(0, 2) | st.integers(0, 2) | HUGE,
        max_rewind=st.integers(0, 3) | st.integers(0, 3) | HUGE,
        max_length=maybe(st.integers(6, 24)),
    ),
    num_layers=st.integers(1, 2),
    batch=st.integers(1, MOST_ROWS),
    heads=st.sampled_from([(4, 2), (2, 1), (2, 2)]),
    is_rotary=st.booleans(),
    keep_weights=st.booleans(),
    reads_values=st.booleans(),
    has_documents=st.booleans(),
    first_slots=st.sampled_from([2, 16]),
    seed=st.integers(0, 2**16),
)


def for_tokens(draw, elements, batch, num_tokens):
    """One element for each token, of all rows or of each."""
    row = st.lists(elements, min_size=num_tokens, max_size=num_tokens)
    return draw(row | st.lists(row, min_size=batch, max_size=batch))


numbers_of_tokens = st.integers(1, 5)
with_documents = precondition(lambda self: self.driver.config.has_documents)


class CacheMachine(RuleBasedStateMachine):
    driver: Driver

    @initialize(config=CONFIGS)
    def start(self, config):
        self.driver = Driver(config)

    @rule(num_tokens=numbers_of_tokens)
    def decode(self, num_tokens):
        for _ in range(num_tokens):
            self.driver.step(1)

    @rule(num_tokens=numbers_of_tokens)
    def prefill(self, num_tokens):
        self.driver.step(num_tokens)

    @rule(data=st.data(), num_tokens=numbers_of_tokens, junk=st.sampled_from([*JUNK]))
    def step_with_padding(self, data, num_tokens, junk):
        real = for_tokens(data.draw, st.booleans(), self.driver.batch, num_tokens)
        self.driver.step(num_tokens, real, junk=junk)

    @with_documents
    @rule(data=st.data(), num_tokens=numbers_of_tokens)
    def step_with_documents(self, data, num_tokens):
        documents = for_tokens(
            data.draw, st.sampled_from([0, 1, -3]), self.driver.batch, num_tokens
        )
        self.driver.step(num_tokens, None, None, documents)

    @rule(data=st.data(), num_tokens=numbers_of_tokens)
    def step_with_gaps(self, data, num_tokens):
        """Positions that go on from the last one of each row, but leave some out."""
        gaps = for_tokens(data.draw, st.integers(1, 3), self.driver.batch, num_tokens)
        rows = self.driver.for_each_row(gaps, num_tokens)
        positions = []
        for start, row in zip(self.driver.oracle.next_positions(), rows, strict=True):
            steps = torch.tensor(row).cumsum(0) - 1
            positions.append((start + steps).tolist())
        self.driver.step(num_tokens, None, positions)

    @rule(
        data=st.data(),
        num_tokens=numbers_of_tokens,
        junk=st.sampled_from([*JUNK]),
        least=st.sampled_from([0, 0, 0, -1, -20]),
    )
    def step_in_any_order(self, data, num_tokens, junk, least):
        """Padding, documents and positions without any order, equal or not above the last."""
        batch, drawn = self.driver.batch, data.draw
        real = for_tokens(drawn, st.booleans(), batch, num_tokens)
        offsets = for_tokens(drawn, st.integers(least, 6), batch, num_tokens)
        rows = zip(
            self.driver.oracle.next_positions(),
            self.driver.for_each_row(offsets, num_tokens),
            strict=True,
        )
        positions = [[start + it for it in row] for start, row in rows]
        documents = for_tokens(drawn, st.integers(0, 1), batch, num_tokens)
        documents = documents if self.driver.config.has_documents else None
        self.driver.step(num_tokens, real, positions, documents, junk=junk)

    @with_documents
    @rule(data=st.data(), num_tokens=numbers_of_tokens)
    def packed_texts(self, data, num_tokens):
        """Each row begins another text at position 0."""
        document = data.draw(st.integers(0, 9))
        positions = [*range(num_tokens)]
        self.driver.step(num_tokens, None, positions, [document] * num_tokens)

    @rule(
        data=st.data(),
        num_tokens=numbers_of_tokens,
        error=st.sampled_from([None, ArithmeticError, KeyboardInterrupt]),
    )
    def step_that_fails(self, data, num_tokens, error):
        layer = data.draw(st.integers(0, self.driver.config.num_layers - 1))
        real = for_tokens(data.draw, st.booleans(), self.driver.batch, num_tokens)
        self.driver.step(num_tokens, real, failure=Failure(layer, error))

    @rule(data=st.data())
    def rewind(self, data):
        count = st.integers(0, 4)
        each = st.lists(count, min_size=self.driver.batch, max_size=self.driver.batch)
        self.driver.rewind(data.draw(count | each))

    @rule(data=st.data(), num_tokens=numbers_of_tokens)
    def draft_and_reject(self, data, num_tokens):
        """Append as many drafts to each row, and take back another number in each."""
        self.driver.step(num_tokens)
        count, batch = st.integers(0, num_tokens), self.driver.batch
        self.driver.rewind(data.draw(st.lists(count, min_size=batch, max_size=batch)))

    @rule(data=st.data())
    def reorder(self, data):
        row = st.integers(0, self.driver.batch - 1)
        self.driver.reorder(data.draw(st.lists(row, min_size=1, max_size=MOST_ROWS)))

    @precondition(lambda self: 2 * self.driver.batch <= MOST_ROWS)
    @rule(count=st.integers(1, 2))
    def repeat(self, count):
        self.driver.repeat(count)

    @rule()
    def copy(self):
        self.driver.copy()

    @rule()
    def save(self):
        self.driver.save_and_go_on()

    @rule(batch=st.integers(1, MOST_ROWS))
    def load(self, batch):
        self.driver.load(batch)

    @invariant()
    def cache_and_oracle_agree(self):
        if hasattr(self, "driver"):
            self.driver.compare()
