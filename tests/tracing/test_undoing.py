"""Whatever ends a run, all that it reached is as before, part by part."""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attnbook.tracing import trace


def refuse(*_, **__):
    raise RuntimeError("not by this method")


class StrictDict(dict):
    """Nothing changes it but the methods of its base."""

    update = clear = __setitem__ = pop = popitem = setdefault = refuse
    __iter__ = items = values = keys = copy = __copy__ = refuse


class StrictOrdered(OrderedDict):
    update = clear = __setitem__ = items = values = copy = __copy__ = refuse


class StrictSet(set):
    update = clear = add = remove = __iter__ = copy = __copy__ = refuse


class StrictList(list):
    extend = append = clear = __iter__ = __setitem__ = copy = __copy__ = refuse


class StrictQueue(deque):
    extend = append = clear = __iter__ = copy = __copy__ = refuse


def strict_containers():
    """Each with what a run does to it, and what was in it."""
    ordered, by_name = StrictOrdered(), StrictDict()
    for key, value in (("a", 1), ("b", 2)):
        OrderedDict.__setitem__(ordered, key, value)
        dict.__setitem__(by_name, key, value)
    numbers, listed, queue = StrictSet(), StrictList(), StrictQueue()
    set.update(numbers, "xy")
    list.extend(listed, "xy")
    deque.extend(queue, "xy")
    return {
        "dict": (by_name, lambda it: dict.__setitem__(it, "a", 5)),
        "ordered": (ordered, lambda it: OrderedDict.move_to_end(it, "a")),
        "set": (numbers, lambda it: set.add(it, "z")),
        "list": (listed, list.reverse),
        "deque": (queue, lambda it: deque.append(it, "z")),
    }


def within(container):
    for base in (OrderedDict, dict):
        if isinstance(container, base):
            return list(base.items(container))
    return next(
        list(base.__iter__(container)) for base in (set, list, deque) if isinstance(container, base)
    )


class Changing(nn.Module):
    """Changes a container that it holds, and a running mean."""

    def __init__(self, container, change, end=None):
        super().__init__()
        self.container, self.change, self.end = container, change, end
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        self.change(self.container)
        y = self.norm(x)
        if self.end is not None:
            raise self.end
        return y


@pytest.mark.parametrize("kind", ["dict", "ordered", "set", "list", "deque"])
@pytest.mark.parametrize("end", [None, ValueError("late")], ids=["", "raises"])
def test_a_container_with_methods_of_its_own_keeps_what_is_in_it(kind, end):
    container, change = strict_containers()[kind]
    before = within(container)
    layer = Changing(container, change, end)
    x_ray = trace(layer, torch.randn(2, 5), sizes={"batch": 2})

    assert x_ray.error is end
    assert within(container) == before
    assert layer.norm.num_batches_tracked == 0
    assert (layer.norm.running_mean == 0).all()


class Unsettable:
    """An attribute that can be made once."""

    __slots__ = ("_value", "name")

    def __setattr__(self, name, value):
        if hasattr(self, name):
            refuse()
        super().__setattr__(name, value)


def test_what_has_slots_is_as_before():
    held = Unsettable()
    held.name = "before"

    def change(it):
        object.__setattr__(it, "name", "after")
        it._value = torch.ones(2)

    trace(Changing(held, change), torch.randn(2, 5))

    assert held.name == "before"
    assert not hasattr(held, "_value")


COUNT = []
"""Counts runs; what is global is not undone."""


class Interrupted(nn.Module):
    """Is interrupted in one of its runs, when much has changed."""

    def __init__(self, run, end):
        super().__init__()
        self.run, self.end, self.seen = run, end, []
        self.norm = nn.BatchNorm1d(5)
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        COUNT.append(1)
        self.seen.append(x)
        self.norm.running_mean.add_(1)
        self.weight.requires_grad_(False).mul_(2)
        self.train(not self.training)
        torch.rand(1), random.random()  # noqa: S311 - a test
        if len(COUNT) == self.run:
            raise self.end
        return x


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("run", [1, 2, 3])
def test_an_interrupt_in_any_run_leaves_nothing_behind(end, run):
    COUNT.clear()
    layer, x = Interrupted(run, end), torch.randn(2, 5)
    numbers, code = (torch.get_rng_state(), random.getstate()), Interrupted.forward.__code__
    with pytest.raises(end):
        trace(layer, x, sizes={"batch": 2, "size": 5})

    assert len(COUNT) == run
    assert (layer.seen, layer.training) == ([], True)
    assert (layer.norm.running_mean == 0).all()
    assert (layer.weight == 1).all()
    assert layer.weight.requires_grad
    assert torch.equal(torch.get_rng_state(), numbers[0])
    assert random.getstate() == numbers[1]
    assert Interrupted.forward.__code__ is code


class Moody:
    """Cannot be put into a set any more once anything has been counted."""

    def __hash__(self):
        if COUNT:
            raise RuntimeError("no hash today")
        return 3


def test_what_cannot_be_put_back_is_told_and_stops_nothing_else():
    COUNT.clear()
    before, after = [1], [2]

    def change(several):
        before, moody, after = several
        before.append(3)
        moody.add(3)
        after.append(3)
        COUNT.append(1)

    layer, x = Changing((before, {Moody()}, after), change), torch.randn(2, 5)
    state = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="no hash today"):
        trace(layer, x)

    assert (before, after) == ([1], [2])
    assert layer.norm.num_batches_tracked == 0
    assert torch.equal(torch.get_rng_state(), state)


class Cache:
    """Keys so far, as models keep them."""

    def __init__(self, keys):
        self.keys, self.more = keys, SimpleNamespace(length=keys.shape[1])

    def add(self, new):
        self.keys = torch.cat([self.keys, new], dim=1)
        self.more.length += new.shape[1]
        return self.keys


def test_a_cache_that_a_layer_holds_is_as_before():
    keys = torch.ones(2, 3, 5)
    cache = Cache(keys)
    layer = Changing(cache, lambda it: it.add(torch.ones(2, 1, 5)))
    trace(layer, torch.randn(2, 5))

    assert cache.keys is keys
    assert cache.more.length == 3


def test_what_a_default_holds_is_as_before():
    def layer(x, seen=[], *, by_name={}):  # noqa: B006 - the point of the test
        seen.append(x)
        by_name["x"] = x
        return x

    trace(layer, torch.ones(2), sizes={"batch": 2})

    assert layer.__defaults__ == ([],)
    assert layer.__kwdefaults__ == {"by_name": {}}


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


def test_hooks_of_modules_and_of_parameters_are_as_before():
    class Hooking(nn.Linear):
        def forward(self, x):
            self.register_forward_hook(print)
            self.weight.register_hook(print)
            self.weight.register_post_accumulate_grad_hook(print)
            return super().forward(x)

    layer = Hooking(5, 3)
    first = layer.register_forward_pre_hook(lambda *_: None)
    assert trace(layer, torch.ones(2, 5)).error is None

    assert not layer._forward_hooks
    assert [*layer._forward_pre_hooks] == [first.id]
    assert not layer.weight._backward_hooks
    assert not layer.weight._post_accumulate_grad_hooks


# A graph of the caller's


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


def test_an_input_within_a_graph_may_be_changed_in_place_in_both_runs():
    inner = torch.ones(2, 5, requires_grad=True).mT.exp()
    x_ray = trace(lambda x: (x.mul_(2), x.is_leaf, x.stride()), inner, sizes={"batch": 2})

    assert x_ray.error is None
    assert "x.mul_(2) (5, batch)" in repr(x_ray)


@pytest.mark.parametrize("before", [True, False])
def test_whether_gradients_are_wanted_is_as_before(before):
    layer = nn.Linear(5, 3).requires_grad_(before)
    x = torch.ones(2, 5, requires_grad=before)

    def switch(x):
        layer.requires_grad_(not before)
        x.requires_grad_(not before)
        return layer(x)

    assert trace(switch, x).error is None
    assert (x.requires_grad, layer.weight.requires_grad) == (before, before)


def test_a_buffer_that_became_part_of_a_graph_is_a_leaf_again():
    class Mixing(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(5))
            self.register_buffer("mean", torch.zeros(5))

        def forward(self, x):
            self.mean.add_(self.weight)
            return x + self.mean

    layer = Mixing()
    assert trace(layer, torch.ones(2, 5)).error is None

    assert (layer.mean.is_leaf, layer.mean.requires_grad) == (True, False)
    assert (layer.mean == 0).all()


def test_parameters_that_moved_stand_where_they_stood():
    class Halving(nn.Linear):
        def forward(self, x):
            self.half()
            return super().forward(x.half())

    layer = Halving(5, 3)
    place, view = layer.weight.data_ptr(), layer.weight.data[0]
    assert trace(layer, torch.ones(2, 5)).error is None

    assert (layer.weight.dtype, layer.weight.data_ptr()) == (torch.float32, place)
    assert torch.equal(view, layer.weight[0])


def test_memory_that_was_let_go_is_filled_again():
    class Freeing(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.ones(4))

        def forward(self, x):
            self.seen.untyped_storage().resize_(0)
            return x

    layer = Freeing()
    place = layer.seen.untyped_storage()._cdata
    assert trace(layer, torch.ones(2), sizes={"batch": 2}).error is None

    assert layer.seen.tolist() == [1, 1, 1, 1]
    assert layer.seen.untyped_storage()._cdata == place


def test_rows_of_many_lengths_that_a_layer_holds_are_as_before():
    class Ragged(nn.Module):
        def __init__(self):
            super().__init__()
            rows = [torch.ones(2), torch.ones(3)]
            self.rows = torch.nested.nested_tensor(rows, layout=torch.jagged)

        def forward(self, x):
            self.rows.mul_(2)
            return x

    layer = Ragged()
    assert trace(layer, torch.ones(2), sizes={"batch": 2}).error is None

    assert layer.rows.values().tolist() == [1] * 5


def test_parameters_made_in_inference_mode_are_as_before():
    with torch.inference_mode():
        layer = Counting()
        assert trace(layer, torch.ones(2, 5)).error is None

    assert (layer.scale == 2).all()
    assert (layer.weight == 1).all()
