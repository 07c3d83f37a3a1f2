"""However a run ends, all that it could change is as before."""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attnbook.tracing import trace
from tests.cases import make, snapshot, unchanged


def refuse(*_, **__):
    raise RuntimeError("not by this method")


def strict(base, methods):
    """A container that only the methods of its base can change."""
    return type("Strict", (base,), dict.fromkeys(methods.split(), refuse))


StrictDict = strict(dict, "update clear __setitem__ __iter__ items values keys copy __copy__")
StrictOrdered = strict(OrderedDict, "update clear __setitem__ items values copy __copy__")
StrictSet = strict(set, "update clear add remove __iter__ copy __copy__")
StrictList = strict(list, "extend append clear __iter__ __setitem__ copy __copy__")
StrictQueue = strict(deque, "extend append clear __iter__ copy __copy__")


class SetOnce:
    """An object whose attributes can be set once."""

    __slots__ = ("_value", "name")

    def __setattr__(self, name, value):
        if hasattr(self, name):
            refuse()
        super().__setattr__(name, value)


class Cache:
    """Keys so far, as models keep them."""

    def __init__(self, keys):
        self.keys, self.more = keys, SimpleNamespace(length=keys.shape[1])

    def add(self, new):
        self.keys = torch.cat([self.keys, new], dim=1)
        self.more.length += new.shape[1]


class Holder(nn.Module):
    """Holds one of each thing that a run can change, and changes one of them."""

    def __init__(self, change, end=None):
        super().__init__()
        self.change, self.end = change, end
        self.norm, self.linear = nn.BatchNorm1d(5), nn.Linear(5, 3)
        self.linear.weight.grad = torch.ones(3, 5)
        self.linear.register_forward_pre_hook(refuse)
        self.register_buffer("seen", torch.zeros(5))
        self.register_buffer("partial", torch.tensor([torch.nan, 1.0, 2.0]))
        self.register_buffer("sparse", torch.eye(2).to_sparse())
        rows = [torch.ones(2), torch.ones(3)]
        self.rows = torch.nested.nested_tensor(rows, layout=torch.jagged)
        self.moments = (torch.zeros(5),)
        self.list, self.dict, self.ordered = StrictList(), StrictDict(), StrictOrdered()
        self.set, self.queue = StrictSet(), StrictQueue((), 2)
        list.extend(self.list, "ab")
        set.update(self.set, "ab")
        deque.extend(self.queue, "ab")
        for key in "ab":
            dict.__setitem__(self.dict, key, 1)
            OrderedDict.__setitem__(self.ordered, key, 1)
        self.generator = torch.Generator().manual_seed(3)
        self.cache, self.slotted = Cache(torch.ones(2, 3, 5)), SetOnce()
        self.slotted.name = "before"

    def forward(self, x):
        self.change(self, x)
        if self.end is not None:
            raise self.end
        return x


def backward(layer, x):
    nn.functional.linear(x, layer.linear.weight, layer.linear.bias).sum().backward()


def hook_weight(layer, _):
    layer.linear.weight.register_hook(print)
    layer.linear.weight.register_post_accumulate_grad_hook(print)


def fill_slots(layer, x):
    object.__setattr__(layer.slotted, "name", "after")
    layer.slotted._value = x


def change_much(layer, x):
    for name in ("numbers", "batch norm", "gradient", "mode", "hook", "module", "attribute"):
        CHANGES[name](layer, x)
    torch.rand(1), random.random()  # noqa: S311 - a test


CHANGES = {
    "numbers": lambda it, x: it.seen.add_(x[0]),
    "numbers of a parameter": lambda it, _: it.linear.weight.data.mul_(3),
    "numbers next to NaN": lambda it, _: it.partial.copy_(torch.tensor([torch.nan, 2, torch.nan])),
    "sparse": lambda it, _: it.sparse.add_(torch.eye(2).to_sparse()),
    "rows of several lengths": lambda it, _: it.rows.mul_(2),
    "in a tuple": lambda it, _: it.moments[0].add_(1),
    "shape": lambda it, _: setattr(it.seen, "data", torch.zeros(7)),
    "dtype": lambda it, _: it.linear.half(),
    "memory": lambda it, _: it.seen.untyped_storage().resize_(0),
    "graph": lambda it, _: it.seen.add_(it.norm.weight),
    "requires_grad": lambda it, _: it.linear.requires_grad_(False),
    "requires_grad of a buffer": lambda it, _: it.seen.requires_grad_(),
    "batch norm": lambda it, x: it.norm(x),
    "gradient": backward,
    "mode": lambda it, _: it.train(not it.training),
    "hook": lambda it, _: it.register_forward_hook(print),
    "hooks of a parameter": hook_weight,
    "module": lambda it, _: setattr(it, "norm", nn.Identity()),
    "new module": lambda it, _: it.add_module("late", nn.Identity()),
    "attribute": lambda it, x: setattr(it, "newest", x),
    "list": lambda it, _: list.reverse(it.list),
    "set": lambda it, _: set.add(it.set, "z"),
    "dict": lambda it, _: dict.__setitem__(it.dict, "a", 5),
    "ordered": lambda it, _: OrderedDict.move_to_end(it.ordered, "a"),
    "deque": lambda it, _: deque.append(it.queue, "z"),
    "generator": lambda it, _: torch.rand(2, generator=it.generator),
    "cache": lambda it, _: it.cache.add(torch.ones(2, 1, 5)),
    "slots": fill_slots,
    "much": change_much,
}


def numbers(tensor):
    if tensor.layout == torch.jagged:
        return tensor.values().tolist()
    if tensor.layout == torch.sparse_coo:
        return tensor.to_dense().tolist()
    storage = tensor.untyped_storage()
    # Freed memory cannot be read.
    return storage.nbytes() and (str(tensor.tolist()), tensor.storage_offset(), storage._cdata)


def describe(tensor):
    of_leaf = tensor.is_leaf and (
        id(tensor.grad),
        str(tensor.grad),
        [*(tensor._backward_hooks or ())],
        [*(getattr(tensor, "_post_accumulate_grad_hooks", None) or ())],
    )
    return numbers(tensor), tensor.dtype, tensor.requires_grad, of_leaf


def state(layer):
    """Everything that a run can change in a holder, to compare."""
    tensors = dict(layer.named_parameters()) | dict(layer.named_buffers())
    tensors |= {"rows": layer.rows, "moments": layer.moments[0]}
    slotted = layer.slotted
    return (
        {name: describe(tensor) for name, tensor in tensors.items()},
        [
            (name, id(it), it.training, [*it._forward_hooks], [*it._forward_pre_hooks])
            for name, it in layer.named_modules()
        ],
        [*vars(layer)],
        [list.copy(layer.list), set.copy(layer.set), list(deque.__iter__(layer.queue))],
        [list(dict.items(layer.dict)), list(OrderedDict.items(layer.ordered))],
        layer.generator.get_state().tolist(),
        (id(layer.cache.keys), layer.cache.more.length),
        (slotted.name, hasattr(slotted, "_value")),
    )


def random_states():
    return torch.get_rng_state().tolist(), random.getstate()


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("end", [None, ValueError("late")], ids=["returns", "raises"])
def test_what_a_layer_changes_is_as_before(name, end):
    layer, x = Holder(CHANGES[name], end), torch.randn(2, 5)
    before, drawn = state(layer), random_states()

    assert trace(layer, x, sizes={"batch": 2}).error is end
    assert state(layer) == before
    assert random_states() == drawn
    with pytest.raises(ValueError, match="late") if end else torch.random.fork_rng():
        layer(x)
    assert state(layer) != before  # so a trace had something to undo


COUNT = []
"""Counts runs; what is global is not undone."""


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("run", [1, 2, 3])
def test_an_interrupt_in_any_run_leaves_nothing_behind(end, run):
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


class Moody:
    """Cannot be put into a set any more once anything has been counted."""

    def __hash__(self):
        if COUNT:
            raise RuntimeError("no hash today")
        return 3


def test_what_cannot_be_restored_is_reported_and_stops_nothing_else():
    COUNT.clear()
    before, moody, after = [1], {Moody()}, [2]

    def layer(x, norm):
        for container in (before, after):
            container.append(3)
        moody.add(3)
        COUNT.append(1)
        return norm(x)

    norm, x, drawn = nn.BatchNorm1d(5), torch.randn(2, 5), random_states()
    with pytest.raises(RuntimeError, match="no hash today"):
        trace(layer, x, norm)

    assert (before, after) == ([1], [2])
    assert norm.num_batches_tracked == 0
    assert random_states() == drawn


# How a run reaches what it changes


def norm_of(given):
    """Find a module however it is held."""
    while not isinstance(given, nn.Module):
        given = given["norm"] if isinstance(given, dict) else given[0]
    return given


def use(x, inside):
    return norm_of(inside)(x)


class Plain:
    """No module, but it has one."""

    def __init__(self, norm):
        self.norms, self.seen = [norm], 0

    def run(self, x):
        self.seen += 1
        self.newest = x
        return self.norms[0](x)

    __call__ = run


def closure(norm):
    return lambda x: x + norm(x)


WAYS = {
    "by position": lambda norm: (use, [norm], {}),
    "in a list": lambda norm: (use, [[norm]], {}),
    "by keyword": lambda norm: (use, [], {"inside": ({"norm": [norm]},)}),
    "in a partial": lambda norm: (partial(use, inside=[norm]), [], {}),
    "in a closure": lambda norm: (closure(norm), [], {"follow": True}),
    "in an object": lambda norm: (Plain(norm), [], {}),
    "in the object of a method": lambda norm: (Plain(norm).run, [], {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_run_reaches_is_as_before(way):
    norm = nn.BatchNorm1d(5)
    layer, inputs, options = WAYS[way](norm)
    plain = getattr(layer, "__self__", layer)
    before = dict(vars(plain))

    assert trace(layer, torch.randn(2, 5), *inputs, sizes={"batch": 2}, **options).error is None
    assert norm.num_batches_tracked == 0
    assert vars(plain) == before


def test_queues_generators_and_tensors_that_are_given_are_as_before():
    def layer(x, generator, queue):
        queue.append(x.mul_(2))
        torch.rand(2, generator=generator)
        return x

    x, generator, queue = torch.ones(2), torch.Generator().manual_seed(5), deque("a")
    given, drawn = snapshot([x]), generator.get_state()

    assert trace(layer, x, generator, queue=queue, sizes={"batch": 2}).error is None
    assert unchanged([x], given)
    assert queue == deque("a")
    assert torch.equal(generator.get_state(), drawn)


def test_defaults_and_variables_that_are_closed_over_are_as_before():
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


def test_the_code_of_every_function_is_its_own_again(qkv):
    layer = make("additive")
    functions = [type(layer).forward, type(layer).score, nn.Linear.forward, nn.Dropout.forward]
    before = [it.__code__ for it in functions]

    for values in (qkv[2], torch.ones(1)):
        trace(layer, *qkv[:2], values, sizes={"batch": 2}, follow=["score", "W_q", "dropout"])

    assert [it.__code__ for it in functions] == before


def test_lazy_parameters_are_refused_since_a_call_makes_them():
    with pytest.raises(ValueError, match="the layer has lazy parameters"):
        trace(nn.LazyLinear(3), torch.ones(2, 5))


# The caller's graph


class Counting(nn.Module):
    """Changes, in place, what its own backward needs."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5))
        self.register_buffer("scale", torch.full((5,), 2.0))

    def forward(self, x):
        y = x * self.scale * self.weight
        with torch.no_grad():
            self.scale.add_(1)
            self.weight.mul_(3)
        return y


def test_a_backward_that_needs_what_the_layer_changes_is_not_disturbed():
    layer, x = Counting(), torch.ones(2, 5, requires_grad=True)
    y = x * layer.scale * layer.weight
    trace(layer, torch.ones(2, 5), sizes={"batch": 2})
    y.sum().backward()

    assert (x.grad == 2).all()
    assert (layer.weight.grad == 4).all()


def test_a_parameter_that_holds_nan_is_not_written():
    layer = nn.Linear(3, 2)
    nn.init.constant_(layer.weight, torch.nan)
    output = layer(torch.ones(2, 3, requires_grad=True))
    trace(layer, torch.ones(2, 3), sizes={"batch": 2})
    output.sum().backward()

    assert layer.weight.grad is not None


def test_parameters_made_in_inference_mode_are_as_before():
    with torch.inference_mode():
        layer = Counting()
        assert trace(layer, torch.ones(2, 5)).error is None

    assert (layer.scale == 2).all()
    assert (layer.weight == 1).all()


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


def test_a_backward_inside_of_the_layer_ends_at_its_input():
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
    x_ray = trace(lambda x: (x.mul_(2), x.is_leaf, x.stride()), x, sizes={"batch": 2})

    assert x_ray.error is None
    assert torch.equal(x, before)


@pytest.mark.parametrize("before", [True, False])
def test_whether_an_input_requires_gradients_is_as_before(before):
    x = torch.ones(2, 5, requires_grad=before)

    assert trace(lambda x: x.requires_grad_(not before), x).error is None
    assert x.requires_grad == before
