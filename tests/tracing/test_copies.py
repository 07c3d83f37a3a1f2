"""A copy runs: however a run ends, the layer and everything it refers to is not changed."""

from __future__ import annotations

import random
import sys
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attnbook.tracing import trace


class Cache:
    """Keys of earlier steps, as models cache them."""

    def __init__(self, keys):
        self.keys, self.more = keys, SimpleNamespace(length=keys.shape[1])

    def add(self, new):
        self.keys = torch.cat([self.keys, new], dim=1)
        self.more.length += new.shape[1]


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("name", "newest")


class Holder(nn.Module):
    """Has one of each thing that a run can change, and changes one of them."""

    def __init__(self, change, end=None):
        super().__init__()
        self.change, self.end = change, end
        self.norm, self.linear = nn.BatchNorm1d(5), nn.Linear(5, 3)
        self.linear.weight.grad = torch.ones(3, 5)
        self.register_buffer("seen", torch.zeros(5))
        self.register_buffer("sparse", torch.eye(2).to_sparse())
        self.list = ["a"]
        self.generator = torch.Generator().manual_seed(3)
        self.cache, self.slotted = Cache(torch.ones(2, 3, 5)), Slotted()
        self.slotted.name = "before"

    def forward(self, x):
        self.change(self, x)
        if self.end is not None:
            raise self.end
        return x


def backward(layer, x):
    nn.functional.linear(x, layer.linear.weight, layer.linear.bias).sum().backward()


CHANGES = {
    "numbers": lambda it, x: it.seen.add_(x[0]),
    "numbers of a parameter": lambda it, _: it.linear.weight.data.mul_(3),
    "sparse": lambda it, _: it.sparse.add_(torch.eye(2).to_sparse()),
    "batch norm": lambda it, x: it.norm(x),
    "gradient": backward,
    "mode": lambda it, _: it.train(not it.training),
    "hook": lambda it, _: it.register_forward_hook(print),
    "module": lambda it, _: setattr(it, "norm", nn.Identity()),
    "attribute": lambda it, x: setattr(it, "newest", x),
    "list": lambda it, _: it.list.append("z"),
    "generator": lambda it, _: torch.rand(2, generator=it.generator),
    "cache": lambda it, _: it.cache.add(torch.ones(2, 1, 5)),
    "slots": lambda it, x: setattr(it.slotted, "newest", x),
}


def state(layer):
    """Everything that a run can change in a holder, to compare."""
    tensors = [*layer.named_parameters(), *layer.named_buffers()]
    return (
        {name: (it.to_dense().tolist(), it.dtype, str(it.grad)) for name, it in tensors},
        [(name, id(it), it.training, [*it._forward_hooks]) for name, it in layer.named_modules()],
        ([*vars(layer)], [*layer.list]),
        layer.generator.get_state().tolist(),
        (id(layer.cache.keys), layer.cache.more.length),
        (layer.slotted.name, hasattr(layer.slotted, "newest")),
    )


def random_states():
    return torch.get_rng_state().tolist(), random.getstate()


@pytest.mark.few(14)
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("end", [None, ValueError("late")], ids=["returns", "raises"])
def test_a_trace_does_not_change_what_the_layer_changes(name, end):
    layer, x = Holder(CHANGES[name], end), torch.randn(2, 5)
    before, drawn = state(layer), random_states()

    assert type(trace(layer, x, sizes={"batch": 2}).error) is type(end)
    assert state(layer) == before
    assert random_states() == drawn
    with pytest.raises(ValueError, match="late") if end else torch.random.fork_rng():
        layer(x)
    assert state(layer) != before  # so there was something to protect


@pytest.mark.parametrize("run", [1, 2, 3])
def test_an_interrupt_in_any_run_changes_nothing(run):
    count = iter(range(1, 4))

    def change(layer, x):
        layer.seen.add_(x[0, :5])
        torch.rand(1), random.random()  # noqa: S311 - a test
        if next(count) == run:
            raise KeyboardInterrupt

    layer, x = Holder(change), torch.randn(2, 5)
    before, drawn, before_trace = state(layer), random_states(), sys.gettrace()
    with pytest.raises(KeyboardInterrupt):
        trace(layer, x, sizes={"batch": 2, "size": 5})

    assert state(layer) == before
    assert random_states() == drawn
    assert sys.gettrace() is before_trace


# How a layer refers to what it changes


def use(x, inside):
    return inside["norm"][0](x)


class Plain:
    """An object that has a module."""

    def __init__(self, norm):
        self.norms = [norm]

    def run(self, x):
        self.newest = x
        return self.norms[0](x)


def closure(norm):
    return lambda x: x + norm(x)


def by_default(norm):
    return lambda x, norms=[norm]: norms[0](x)


def use_global(x):
    return NORM(x)


def call_other(x):
    return use_global(x) * 1


NORM = nn.BatchNorm1d(5)
WAYS = {
    "by keyword": lambda norm: (use, {"inside": {"norm": [norm]}}),
    "in a partial": lambda norm: (partial(use, inside={"norm": [norm]}), {}),
    "in a closure": lambda norm: (closure(norm), {"follow": True}),
    "by default": lambda norm: (by_default(norm), {}),
    "in the object of a method": lambda norm: (Plain(norm).run, {}),
    "by a global name": lambda _: (use_global, {"follow": "NORM"}),
    "in a function that it calls": lambda _: (call_other, {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_trace_does_not_change_what_the_layer_refers_to(way):
    norm = NORM if way.startswith(("by a global", "in a function")) else nn.BatchNorm1d(5)
    layer, options = WAYS[way](norm)
    before = {**vars(getattr(layer, "__self__", layer))}

    result = trace(layer, torch.randn(2, 5), sizes={"batch": 2}, **options)
    assert result.error is None
    assert "(batch, 5)" in repr(result)
    assert norm.num_batches_tracked == 0
    assert vars(getattr(layer, "__self__", layer)) == before
    assert NORM is use_global.__globals__["NORM"]


def test_defaults_and_closure_variables_are_not_changed():
    calls = 0

    def layer(x, seen=[], *, by_name={}):  # noqa: B006 - the point of the test
        nonlocal calls
        calls += 1
        seen.append(x)
        by_name["x"] = x
        return x

    names = {*globals()}
    assert "return (batch,)" in repr(trace(layer, torch.ones(2), sizes={"batch": 2}))

    assert layer.__defaults__ == ([],)
    assert layer.__kwdefaults__ == {"by_name": {}}
    assert calls == 0
    assert {*globals()} == names


# The caller's graph


def test_the_graph_of_an_input_is_not_changed():
    def layer(x):
        x.mul_(3)
        return x

    leaf = torch.ones(2, 5, requires_grad=True)
    inner = leaf * 2
    function = inner.grad_fn

    assert trace(layer, inner).error is None
    assert isinstance(trace(layer, leaf).error, RuntimeError)
    assert inner.grad_fn is function
    inner.sum().backward()
    assert torch.equal(leaf.grad, torch.full((2, 5), 2.0))


def test_a_backward_inside_a_layer_ends_at_its_input():
    def layer(x):
        x.exp().sum().backward()
        return x

    leaf = torch.zeros(2, 5, requires_grad=True)
    inner = leaf.exp()
    assert trace(layer, inner, sizes={"batch": 2}).error is None

    assert leaf.grad is None
    inner.sum().backward()
    assert (leaf.grad == 1).all()
