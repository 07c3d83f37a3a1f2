"""Runs of copies: however a run ends, the layer and everything it refers to is not changed."""

from __future__ import annotations

import random
import sys
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from torch import nn

from attnbook.tracing import trace
from attnbook.tracing.run import enlarge
from tests.tracing.lines import written


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
    def layer(x):
        return x + norm(x)

    return layer


def by_default(norm):
    def layer(x, norms=[norm]):  # noqa: B006 - the point of the test
        return norms[0](x)

    return layer


def decorated(norm):
    return torch.no_grad()(closure(norm))


def use_global(x):
    return NORM(x)


NORM = nn.BatchNorm1d(5)
WAYS = {
    "by keyword": lambda norm: (use, {"inside": {"norm": [norm]}}),
    "in a closure": lambda norm: (closure(norm), {"follow": "norm"}),
    "in a closure of a closure": lambda norm: (decorated(norm), {}),
    "by default": lambda norm: (by_default(norm), {}),
    "in the object of a method": lambda norm: (Plain(norm).run, {}),
    "by a global name": lambda _: (use_global, {"follow": "NORM"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_trace_does_not_change_what_the_layer_refers_to(way):
    norm = NORM if way.startswith("by a global") else nn.BatchNorm1d(5)
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
    assert "return (batch,)" in written(trace(layer, torch.ones(2), sizes={"batch": 2}))

    assert layer.__defaults__ == ([],)
    assert layer.__kwdefaults__ == {"by_name": {}}
    assert calls == 0
    assert {*globals()} == names


def test_a_closure_that_cannot_be_copied_is_refused():
    lock = threading.Lock()

    def layer(x):
        with lock:
            return x

    with pytest.raises(TypeError, match="cannot be copied: cannot pickle '_thread"):
        trace(layer, torch.ones(2))


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


# Inputs


SIZES = {"batch": 2, "keys": 7}


class Pair(NamedTuple):
    one: torch.Tensor
    other: list


@dataclass(frozen=True)
class Frozen:
    one: torch.Tensor


x = torch.ones(2, 7)
GIVEN = {
    "dict": (lambda: {"one": x}, lambda it: it["one"]),
    "tuple": (lambda: (x, x), lambda it: it[1]),
    "named tuple": (lambda: Pair(x, [x]), lambda it: it.other[0]),
    "dataclass": (lambda: Frozen(x), lambda it: it.one),
    "what torch returns": (lambda: x[None].max(0), lambda it: it.values),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_a_run_gets_copies_of_the_same_kind_and_the_second_larger_ones(kind):
    make, get = GIVEN[kind]
    given = make()

    def layer(it):
        if type(it) is not type(given):
            raise TypeError(type(it))
        tensor = get(it).zero_()
        return tensor * 2

    result = trace(layer, given, sizes=SIZES)

    assert "return (batch, keys)" in written(result)
    assert result.remark == ""
    assert repr(result).endswith("Names hold with batch=3, keys=11 too.")
    assert (x == 1).all()


class Secret:
    """Refuses to be copied."""

    def __reduce_ex__(self, _):
        raise ValueError("secret")


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("one", torch.ones(2, 7))

    def forward(self, x):
        held = self.one
        return held * 2, x * 2


def test_the_layers_own_tensors_keep_their_sizes():
    result = written(trace(Buffered(), x, sizes=SIZES))
    assert "held * 2 (2, 7)" in result
    assert "x * 2 (batch, keys)" in result


def first_of_two(x, _):
    return x


def test_an_input_that_cannot_be_copied_is_refused():
    layer = nn.Linear(7, 3)
    layer.held = Secret()
    for traced, inputs in ((layer, [x]), (first_of_two, [x, Secret()])):
        with pytest.raises(TypeError, match="the layer or an input cannot be copied"):
            trace(traced, *inputs, sizes=SIZES)


def test_an_object_shared_between_inputs_stays_shared():
    def layer(x, one, other):
        return x if one["x"] is x and other is one else x[0]

    shared = {"x": x}
    assert "return (batch, keys)" in written(trace(layer, x, shared, other=shared, sizes=SIZES))
    assert "return (keys,)" in written(trace(layer, x, shared, other={"x": x}, sizes=SIZES))


# Layouts


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", ["sparse_csr", "nested"])
def test_an_input_of_another_layout_is_refused(layout):
    rows = [torch.ones(3, 5), torch.ones(2, 5)]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
    given = nested if layout == "nested" else x.to_sparse_csr()
    with pytest.raises(TypeError, match="the layer or an input cannot be copied"):
        trace(first_of_two, given, x, sizes=SIZES)


LARGE = 10**5


def test_a_large_expanded_input_stays_expanded():
    def layer(x):
        return x[:2, :3] * 2

    large = torch.zeros(1).expand(LARGE, LARGE)
    result = trace(layer, large)

    assert result.error is None
    assert result.shapes == {"x": (LARGE, LARGE), "return": (2, 3)}
    assert enlarge(large, {}, {}).untyped_storage().nbytes() == 4


def test_an_enlarged_input_repeats_its_numbers():
    x = torch.arange(3.0)[:, None].expand(3, 5)
    larger = enlarge(x, {"batch": 3, "size": 5}, {"batch": 7, "size": 11})

    assert larger.tolist() == [[float(row % 3)] * 11 for row in range(7)]


def flatten(x):
    return x.view(-1)


@pytest.mark.parametrize(
    "tensor",
    [torch.randn(4, 6).mT, torch.randn(4, 6)[:, :3], torch.randn(9).unfold(0, 3, 1)],
    ids=["transposed", "gaps", "overlapping"],
)
def test_a_copy_has_the_numbers_and_the_strides_but_not_the_memory(tensor):
    copied = enlarge(tensor, {}, {})

    assert torch.equal(copied, tensor)
    assert copied.stride() == tensor.stride()
    assert copied.data_ptr() != tensor.data_ptr()
    # What these strides make impossible is impossible in a trace, too.
    for it in (tensor, tensor.contiguous()):
        error = trace(flatten, it).error
        assert ("view size is not compatible" in str(error)) != it.is_contiguous()


# Other traces, threads and tracers


@pytest.mark.parametrize("grad", [True, False])
def test_the_layer_runs_in_the_callers_grad_mode(grad):
    def layer(x):
        return x if torch.is_grad_enabled() else x[0]

    with torch.set_grad_enabled(grad):
        shape = trace(layer, torch.ones(2, 5)).shapes["return"]
    assert shape == ((2, 5) if grad else (5,))


def test_a_trace_inside_a_traced_layer_sees_its_own_call():
    def inner(x):
        return x[0]

    def layer(x):
        assert "return (5,)" in written(trace(inner, x))
        return inner(x)

    result = trace(layer, torch.ones(2, 5), follow="inner")

    assert result.error is None
    assert "\ninner\n" in repr(result)
    assert "calls" not in repr(result)


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


CALLED = []


def in_another_thread(x):
    thread = threading.Thread(target=lambda: CALLED.append(first_of(torch.cat([x, x]))))
    thread.start()
    thread.join()
    return first_of(x)


def test_calls_of_other_threads_are_not_shown():
    result = trace(in_another_thread, torch.ones(2), follow="first_of")

    assert CALLED
    assert "(4,)" not in repr(result)
    assert "calls" not in repr(result)


def first_of(x):
    return x[0] + 1


def test_only_the_second_run_of_a_layer_prints_nothing(capsys):
    def layer(x):
        print("mine", len(x))  # noqa: T201 - as learners do
        return x

    before = sys.stdout, sys.stderr
    trace(layer, torch.ones(2), sizes={"batch": 2})

    assert capsys.readouterr().out == "mine 2\n"
    assert (sys.stdout, sys.stderr) == before


def test_a_debuggers_trace_function_is_in_use_again_after_a_trace():
    def debugger(*_):
        return None

    before = sys.gettrace()
    try:
        sys.settrace(debugger)
        result = trace(first_of, torch.ones(2))
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is debugger
    assert result.shapes == {"x": (2,), "return": ()}
