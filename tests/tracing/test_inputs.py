"""Inputs of every kind: both runs get copies, and what cannot be enlarged is named."""

from __future__ import annotations

import time
from collections import OrderedDict, UserDict, defaultdict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from torch import nn

from attnbook.tracing import trace

SIZES = {"batch": 2, "keys": 7}


class Named(dict):
    """Knows its keys as attributes; its own methods are not a dictionary's."""

    def __getattr__(self, name):
        return self[name]

    def __setitem__(self, *_):
        raise TypeError("read only")

    update = __deepcopy__ = __reduce_ex__ = __setitem__

    def items(self):
        return [("not", "these")]


class Listed(list):
    def __init__(self, one, other):
        super().__init__([one, other])


class Row(tuple):
    __slots__ = ()

    def __new__(cls, one, other):
        return super().__new__(cls, (one, other))


class Pair(NamedTuple):
    one: torch.Tensor
    other: list


@dataclass(frozen=True)
class Frozen:
    one: torch.Tensor


@dataclass(slots=True)
class Slotted:
    one: torch.Tensor


class User(UserDict):
    pass


x = torch.ones(2, 7)
GIVEN = {
    "dict": (lambda: Named(one=x), lambda it: it["one"]),
    "ordered": (lambda: OrderedDict(one=x), lambda it: it["one"]),
    "default": (lambda: defaultdict(list, one=[x]), lambda it: it["one"][0]),
    "user dict": (lambda: User(one=x), lambda it: it["one"]),
    "list": (lambda: Listed(x, x), lambda it: it[1]),
    "tuple": (lambda: Row(x, x), lambda it: it[1]),
    "named tuple": (lambda: Pair(x, [x]), lambda it: it.other[0]),
    "set": (lambda: {x}, lambda it: next(iter(it))),
    "frozen set": (lambda: frozenset({x}), lambda it: next(iter(it))),
    "dataclass": (lambda: Frozen(x), lambda it: it.one),
    "slots": (lambda: Slotted(x), lambda it: it.one),
    "namespace": (lambda: SimpleNamespace(one=x), lambda it: it.one),
    "what torch returns": (lambda: x[None].max(0), lambda it: it.values),
    "size": (lambda: x.shape, torch.ones),
    "distribution": (lambda: torch.distributions.Exponential(x), lambda it: it.rate),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_tensors_are_enlarged_in_whatever_holds_them(kind):
    make, get = GIVEN[kind]

    def layer(given):
        held = get(given)
        return held * 2

    given = make()
    x_ray = trace(layer, given, sizes=SIZES)

    assert "return (batch, keys)" in repr(x_ray)
    assert x_ray.remark == ""
    assert repr(x_ray).endswith("Names hold with batch=3, keys=11 too.")


@pytest.mark.parametrize("kind", [kind for kind in GIVEN if kind != "size"])
def test_a_run_gets_what_holds_its_inputs_as_a_copy_of_the_same_kind(kind):
    make, get = GIVEN[kind]
    given = make()

    def layer(it):
        if type(it) is not type(given):
            raise TypeError(type(it))
        return get(it).zero_()

    assert trace(layer, given, sizes=SIZES).error is None
    assert (x == 1).all()


class Stubborn(Exception):  # noqa: N818 - no error, but what only its own type can make
    """Holds a tensor."""

    def __init__(self, one):
        super().__init__(one)
        self.one = one


class Buffered(nn.Module):
    def __init__(self, one):
        super().__init__()
        self.register_buffer("one", one)


@pytest.mark.parametrize("kind", [Stubborn, Buffered])
def test_what_cannot_be_enlarged_is_named(kind):
    def layer(it, keys):
        held = it.one
        return held * 2, keys * 2

    sheet = trace(layer, kind(x), keys=torch.ones(2, 5), sizes=SIZES)
    alone = trace(lambda it: it.one * 2, kind(x), sizes=SIZES)

    assert sheet.remark == "Not enlarged: inputs[0]."
    assert "held * 2 (2, 7)" in repr(sheet)
    assert "keys * 2 (batch, 5)" in repr(sheet)
    assert "Names hold with batch=3 too." in repr(sheet)
    assert alone.remark == "Not enlarged: inputs[0]."
    assert "Names hold" not in repr(alone)
    assert "return (2, 7)" in repr(alone)


def test_what_is_not_enlarged_is_named_beside_the_error_that_it_makes():
    x_ray = trace(lambda x, it: it.one + x, x, it=Buffered(x), sizes=SIZES)

    assert x_ray.remark.startswith("Runs with batch=2, but not with batch=3: RuntimeError")
    assert x_ray.remark.endswith(" Not enlarged: it.")


class Cache:
    """Keys and values so far."""

    def __init__(self, keys, values):
        self.keys, self.layers = keys, [values]

    def add(self, key):
        self.keys = torch.cat([self.keys, key], dim=1)
        self.layers.append(key)
        return self.keys


def attend(queries, cache):
    keys = cache.add(queries)
    return queries @ keys.mT


@pytest.mark.parametrize("by_name", [True, False])
def test_a_cache_is_enlarged_and_the_callers_is_as_before(by_name):
    keys = torch.ones(2, 7, 5)
    cache, queries = Cache(keys, keys), torch.ones(2, 3, 5)
    given = {"cache": cache} if by_name else {}
    positional = (queries,) if by_name else (queries, cache)
    sizes = {"batch": 2, "queries": 3, "keys": 10, "past": 7}
    x_ray = trace(attend, *positional, **given, sizes=sizes, vary=("batch", "queries", "past"))

    assert x_ray.error is None
    assert x_ray.remark == ""
    assert "return (batch, queries, 10)" in repr(x_ray)
    assert cache.keys is keys
    assert len(cache.layers) == 1


class Secret:
    """Its attributes are nobody's business."""

    @property
    def __dict__(self):
        raise ValueError("secret")

    def __getattr__(self, name):
        raise ValueError(name)


def test_an_object_that_answers_no_questions_is_handed_on():
    x_ray = trace(lambda x, it: x * 2 if type(it) is Secret else x[0], x, Secret(), sizes=SIZES)

    assert "return (batch, keys)" in repr(x_ray)


def test_a_list_of_very_many_words_takes_no_minutes():
    words = [str(n) for n in range(10**5)]
    begin = time.process_time()
    assert trace(lambda x, _: x * 2, x, words, sizes=SIZES).error is None
    assert time.process_time() - begin < 4  # it was 14 when each word was looked into


def test_what_is_shared_between_inputs_stays_shared():
    def layer(x, one, other):
        return x if one["x"] is x and other is one else x[0]

    shared = {"x": x}
    assert "return (batch, keys)" in repr(trace(layer, x, shared, other=shared, sizes=SIZES))
