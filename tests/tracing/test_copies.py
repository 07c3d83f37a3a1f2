"""A copy runs: however a run ends, the layer and everything it refers to is not changed."""

from __future__ import annotations

import random
from collections import deque
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attnbook.tracing import trace
from tests.cases import are_unchanged, copy_with_versions, make


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
        self.rows = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
        self.moments = (torch.zeros(5),)
        self.list, self.dict, self.queue = ["a"], {"a": 1}, deque("ab", 2)
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


def change_much(layer, x):
    for name in ("numbers", "batch norm", "gradient", "mode", "hook", "module", "attribute"):
        CHANGES[name](layer, x)
    torch.rand(1), random.random()  # noqa: S311 - a test


CHANGES = {
    "numbers": lambda it, x: it.seen.add_(x[0]),
    "numbers of a parameter": lambda it, _: it.linear.weight.data.mul_(3),
    "sparse": lambda it, _: it.sparse.add_(torch.eye(2).to_sparse()),
    "rows of several lengths": lambda it, _: it.rows.mul_(2),
    "in a tuple": lambda it, _: it.moments[0].add_(1),
    "shape": lambda it, _: setattr(it.seen, "data", torch.zeros(7)),
    "dtype": lambda it, _: it.linear.half(),
    "graph": lambda it, _: it.seen.add_(it.norm.weight),
    "requires_grad": lambda it, _: it.linear.requires_grad_(False),
    "batch norm": lambda it, x: it.norm(x),
    "gradient": backward,
    "mode": lambda it, _: it.train(not it.training),
    "hook": lambda it, _: it.register_forward_hook(print),
    "hook of a parameter": lambda it, _: it.linear.weight.register_hook(print),
    "module": lambda it, _: setattr(it, "norm", nn.Identity()),
    "attribute": lambda it, x: setattr(it, "newest", x),
    "list": lambda it, _: it.list.append("z"),
    "dict": lambda it, _: it.dict.update(a=5),
    "deque": lambda it, _: it.queue.append("z"),
    "generator": lambda it, _: torch.rand(2, generator=it.generator),
    "cache": lambda it, _: it.cache.add(torch.ones(2, 1, 5)),
    "slots": lambda it, x: setattr(it.slotted, "newest", x),
    "much": change_much,
}


def describe(tensor):
    plain = tensor.values() if tensor.layout == torch.jagged else tensor
    numbers = (plain.to_dense() if plain.is_sparse else plain).tolist()
    of_leaf = tensor.is_leaf and (str(tensor.grad), [*(tensor._backward_hooks or ())])
    return str(numbers), tensor.dtype, tensor.requires_grad, of_leaf


def state(layer):
    """Everything that a run can change in a holder, to compare."""
    tensors = dict(layer.named_parameters()) | dict(layer.named_buffers())
    tensors |= {"rows": layer.rows, "moments": layer.moments[0]}
    return (
        {name: describe(tensor) for name, tensor in tensors.items()},
        [(name, id(it), it.training, [*it._forward_hooks]) for name, it in layer.named_modules()],
        [*vars(layer)],
        [[*layer.list], {**layer.dict}, [*layer.queue]],
        layer.generator.get_state().tolist(),
        (id(layer.cache.keys), layer.cache.more.length),
        (layer.slotted.name, hasattr(layer.slotted, "newest")),
    )


def random_states():
    return torch.get_rng_state().tolist(), random.getstate()


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


COUNT = []
"""Counts runs; what is global is not copied."""


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("run", [1, 2, 3])
def test_an_interrupt_in_any_run_changes_nothing(end, run):
    def change(layer, x):
        COUNT.append(1)
        change_much(layer, x[:, :5])
        if len(COUNT) == run:
            raise end

    COUNT.clear()
    layer, x, code = Holder(change), torch.randn(2, 5), Holder.forward.__code__
    before, drawn = state(layer), random_states()
    with pytest.raises(end):
        trace(layer, x, sizes={"batch": 2, "size": 5})

    assert len(COUNT) == run
    assert state(layer) == before
    assert random_states() == drawn
    assert Holder.forward.__code__ is code


# How a layer refers to what it changes


def norm_of(given):
    """Find a module in nested containers."""
    while not isinstance(given, nn.Module):
        given = given["norm"] if isinstance(given, dict) else given[0]
    return given


def use(x, inside):
    return norm_of(inside)(x)


class Plain:
    """An object that has a module."""

    def __init__(self, norm):
        self.norms, self.seen = [norm], 0

    def run(self, x):
        self.seen += 1
        self.newest = x
        return self.norms[0](x)

    __call__ = run


def closure(norm):
    return lambda x: x + norm(x)


def by_default(norm):
    return lambda x, norms=[norm]: norms[0](x)


def use_global(x):
    return NORM(x)


NORM = nn.BatchNorm1d(5)
WAYS = {
    "by position": lambda norm: (use, [norm], {}),
    "in a list": lambda norm: (use, [[norm]], {}),
    "by keyword": lambda norm: (use, [], {"inside": ({"norm": [norm]},)}),
    "in a partial": lambda norm: (partial(use, inside=[norm]), [], {}),
    "in a closure": lambda norm: (closure(norm), [], {"follow": True}),
    "by default": lambda norm: (by_default(norm), [], {}),
    "in an object": lambda norm: (Plain(norm), [], {}),
    "in the object of a method": lambda norm: (Plain(norm).run, [], {}),
    "by a global name": lambda _: (use_global, [], {"follow": "NORM"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_trace_does_not_change_what_the_layer_refers_to(way):
    norm = NORM if way == "by a global name" else nn.BatchNorm1d(5)
    layer, inputs, options = WAYS[way](norm)
    plain = getattr(layer, "__self__", layer)
    before = dict(vars(plain))

    result = trace(layer, torch.randn(2, 5), *inputs, sizes={"batch": 2}, **options)
    assert result.error is None
    assert "(batch, 5)" in repr(result)
    assert norm.num_batches_tracked == 0
    assert vars(plain) == before
    assert NORM is use_global.__globals__["NORM"]


def test_queues_generators_and_tensors_in_inputs_are_not_changed():
    def layer(x, generator, queue):
        queue.append(x.mul_(2))
        torch.rand(2, generator=generator)
        return x

    x, generator, queue = torch.ones(2), torch.Generator().manual_seed(5), deque("a")
    given, drawn = copy_with_versions([x]), generator.get_state()

    assert trace(layer, x, generator, queue=queue, sizes={"batch": 2}).error is None
    assert are_unchanged([x], given)
    assert queue == deque("a")
    assert torch.equal(generator.get_state(), drawn)


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


def test_a_variable_that_a_run_binds_first_is_unbound_again():
    def made():
        def layer(x):
            nonlocal late
            late = x
            return late

        if layer is None:
            late = None
        return layer, lambda: late

    layer, read = made()
    trace(layer, torch.ones(2))
    with pytest.raises(NameError):
        read()


@pytest.mark.parametrize("name", ["dot", "additive"])
def test_stored_weights_are_those_of_the_last_real_call(name, qkv):
    layer, sizes = make(name), {"batch": 2, "queries": 3, "keys": 7}
    trace(layer, *qkv, sizes=sizes)
    assert not hasattr(layer, "attention_weights")

    layer(*qkv)
    weights = layer.attention_weights
    trace(layer, *qkv, sizes=sizes)
    assert layer.attention_weights is weights


def test_the_code_of_every_function_is_restored(qkv):
    layer = make("additive")
    functions = [type(layer).forward, type(layer).score, nn.Linear.forward, nn.Dropout.forward]
    before = [it.__code__ for it in functions]

    for values in (qkv[2], torch.ones(1)):
        trace(layer, *qkv[:2], values, sizes={"batch": 2}, follow=["score", "W_q", "dropout"])

    assert [it.__code__ for it in functions] == before


def test_lazy_parameters_stay_lazy():
    layer = nn.LazyLinear(3)
    result = trace(layer, torch.ones(2, 5), sizes={"batch": 2})
    assert "return (batch, 3)" in repr(result)
    assert layer.has_uninitialized_params()


# The caller's graph


@pytest.mark.parametrize("in_inference", [False, True])
def test_parameters_that_a_backward_needs_are_not_changed(in_inference):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(5))

        def forward(self, x):
            y = x * self.weight
            with torch.no_grad():
                self.weight.mul_(3)
            return y

    with torch.inference_mode(in_inference):
        layer, x = Counting(), torch.ones(2, 5, requires_grad=not in_inference)
        y = x * layer.weight
        assert trace(layer, torch.ones(2, 5), sizes={"batch": 2}).error is None
        assert (layer.weight == 1).all()
    if not in_inference:
        y.sum().backward()
        assert (x.grad == 1).all()


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


@pytest.mark.parametrize("x", [torch.ones(5), torch.ones(2, 5, requires_grad=True).mT.exp()])
def test_an_input_may_be_changed_in_place_in_both_runs(x):
    before = x.clone()
    result = trace(lambda x: (x.mul_(2), x.is_leaf, x.stride()), x, sizes={"batch": 2})

    assert result.error is None
    assert torch.equal(x, before)
