"""An X-ray leaves nothing behind, and gets on with whoever else watches the code."""

from __future__ import annotations

import bdb
import copy
import random
import sys
import threading
import time
from collections import deque
from functools import partial

import pytest
import torch
from torch import nn

from attnbook import tracing
from attnbook.tracing import trace
from tests.cases import make, snapshot, unchanged

SIZES = {"batch": 2, "queries": 3, "keys": 7}


class Busy(nn.Module):
    """Changes all that a forward can change."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(5)
        self.dropout = nn.Dropout(0.5)
        self.weight = nn.Parameter(torch.ones(5))
        self.register_buffer("seen", torch.zeros(()))
        self.cache, self.counts, self.state = [], {"calls": 0}, (torch.zeros(5),)

    def forward(self, x):
        x.mul_(2)
        self.cache.append(x)
        self.counts["calls"] += 1
        self.state[0].add_(1)
        self.seen.add_(1)
        self.newest = x
        self.weight.data.mul_(3)
        y = self.dropout(self.norm(x)) * self.weight * random.random()  # noqa: S311 - a test
        y.sum().backward()
        self.train(not self.training)
        self.register_forward_hook(print)
        self.add_module("late", nn.Identity())
        self.dropout = nn.Identity()
        return y


def state(layer):
    """All numbers and attributes of a layer, to compare."""
    numbers = [(name, tensor.tolist()) for name, tensor in layer.state_dict().items()]
    modules = [
        (name, id(it), it.training, len(it._forward_hooks)) for name, it in layer.named_modules()
    ]
    attributes = (layer.cache, layer.counts, layer.state[0].tolist(), hasattr(layer, "newest"))
    return numbers, modules, copy.deepcopy(attributes), [it.grad for it in layer.parameters()]


def test_a_layer_that_changes_everything_is_as_before():
    layer, x = Busy(), torch.randn(2, 5)
    given = snapshot([x])
    before = copy.deepcopy(state(layer))[0], state(layer)[1:]

    x_ray = trace(layer, x, sizes={"batch": 2})

    assert x_ray.error is None
    assert "newest (batch, 5)" in repr(x_ray)
    after = state(layer)
    assert (after[0], after[1:]) == before
    assert unchanged([x], given)


def test_a_module_that_a_function_uses_is_as_before_too():
    norm = nn.BatchNorm1d(5)
    x_ray = trace(lambda x: x + norm(x), torch.randn(2, 5), follow=True)

    assert "norm: _BatchNorm.forward" in repr(x_ray)
    assert norm.num_batches_tracked == 0


def test_gradients_that_were_there_are_as_before():
    layer = Busy()
    layer.weight.grad = torch.arange(5.0)
    grad = layer.weight.grad

    trace(layer, torch.randn(2, 5), sizes={"batch": 2})

    assert layer.weight.grad is grad
    assert torch.equal(grad, torch.arange(5.0))


def test_a_layer_that_fails_half_way_is_as_before():
    class Failing(Busy):
        def forward(self, x):
            super().forward(x)
            raise ValueError("at last")

    layer = Failing()
    before = state(layer)
    x_ray = trace(layer, torch.randn(2, 5), sizes={"batch": 2})

    assert str(x_ray.error) == "at last"
    assert state(layer) == before


def test_random_numbers_go_on_as_if_there_had_been_no_x_ray():
    def numbers():
        return torch.rand(3).tolist(), random.random()  # noqa: S311 - a test

    torch.manual_seed(3)
    random.seed(3)
    expected = numbers()
    torch.manual_seed(3)
    random.seed(3)
    trace(Busy(), torch.ones(2, 5), sizes={"batch": 2})
    trace(make("dot", dropout=0.5), *[torch.ones(2, 3, 5)] * 3)

    assert numbers() == expected


@pytest.mark.parametrize("name", ["dot", "additive"])
def test_kept_weights_are_those_of_the_last_real_call(name, qkv):
    layer = make(name)
    trace(layer, *qkv, sizes=SIZES)
    assert not hasattr(layer, "attention_weights")

    layer(*qkv)
    weights = layer.attention_weights
    trace(layer, *qkv, sizes=SIZES)
    assert layer.attention_weights is weights


def test_the_code_of_every_function_is_its_own_again(qkv):
    layer = make("additive")
    functions = [type(layer).forward, type(layer).score, nn.Linear.forward, nn.Dropout.forward]
    before = [it.__code__ for it in functions]

    trace(layer, *qkv, sizes=SIZES, follow=["score", "W_q", "dropout"])
    trace(layer, *qkv[:2], torch.ones(1), follow=["score", "W_q", "dropout"])

    assert [it.__code__ for it in functions] == before


def test_no_global_or_closed_over_variable_changes():
    calls = 0

    def layer(x):
        nonlocal calls
        calls += 1
        return x + calls

    names = {*globals()}
    assert "return (batch,)" in repr(trace(layer, torch.ones(2), sizes={"batch": 2}))
    assert calls == 0
    assert {*globals()} == names


def test_the_inputs_graph_is_left_alone():
    leaf = torch.ones(2, 5, requires_grad=True)
    inner = leaf * 2
    function = inner.grad_fn

    def layer(x):
        x.mul_(3)
        return x

    assert trace(layer, inner).error is None
    assert isinstance(trace(layer, leaf).error, RuntimeError)
    assert inner.grad_fn is function
    inner.sum().backward()
    assert torch.equal(leaf.grad, torch.full((2, 5), 2.0))


def test_an_input_that_both_runs_take_as_it_is_is_left_alone():
    x = torch.ones(5)
    x_ray = trace(lambda x: x.mul_(2), x, sizes={"batch": 2})

    assert x_ray.error is None
    assert torch.equal(x, torch.ones(5))


def test_a_backward_that_is_still_to_come_is_not_disturbed(qkv):
    layer = make("additive")
    output = layer(*[it.clone() for it in qkv])
    trace(layer, *qkv, sizes=SIZES)
    output.sum().backward()

    assert layer.W_q.weight.grad is not None


def test_a_view_that_only_its_strides_explain_fails_as_it_would():
    def layer(x):
        return x.view(-1)

    for x in (torch.ones(4, 6).mT, torch.ones(4, 6)[:, :3]):
        assert "view size is not compatible" in str(trace(layer, x).error)
    assert trace(layer, torch.ones(24)).error is None
    assert trace(lambda x: x + 1, torch.ones(5).expand(2, 5)).error is None


@pytest.mark.parametrize("grad", [True, False])
def test_the_layer_runs_in_the_callers_grad_mode(grad):
    def layer(x):
        return x if torch.is_grad_enabled() else x[0]

    with torch.set_grad_enabled(grad):
        shape = trace(layer, torch.ones(2, 5)).lines[-1].made[0].shape
    assert shape == ((2, 5) if grad else (5,))


def test_a_tracer_that_was_there_stays_and_sees_the_lines():
    seen = set()

    def tracer(frame, event, _):
        if frame.f_code.co_name == "layer" and event == "line":
            seen.add(frame.f_lineno - layer.__code__.co_firstlineno)
        return tracer

    def layer(x):
        y = x + 1
        if y.dim() == 7:
            return x
        return y

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        x_ray = trace(layer, torch.ones(2, 5), sizes={"batch": 2})
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert "y (batch, 5)" in repr(x_ray)
    assert seen == {0, 1, 2, 4}


def test_a_debugger_stops_at_its_breakpoint_with_the_real_variables():
    def layer(x):
        y = x + 1
        y += 1
        return y

    stops = []

    class Debugger(bdb.Bdb):
        def user_line(self, frame):
            if frame.f_code.co_name == "layer":
                stops.append((frame.f_lineno, sorted(frame.f_locals)))
            self.set_continue()

    debugger = Debugger()
    line = layer.__code__.co_firstlineno + 2
    before = sys.gettrace()
    assert debugger.set_break(__file__, line) is None
    try:
        debugger.runcall(trace, layer, torch.ones(2))
    finally:
        debugger.clear_all_breaks()
        sys.settrace(before)

    assert (line, ["x", "y"]) in stops


def test_a_trace_inside_a_traced_layer_sees_its_own_call():
    def inner(x):
        return x[0]

    def layer(x):
        text = repr(trace(inner, x))
        assert "return (5,)" in text
        return inner(x)

    x_ray = trace(layer, torch.ones(2, 5), follow="inner")

    assert x_ray.error is None
    assert "inner\ndef inner(x):" in repr(x_ray)
    assert "calls" not in repr(x_ray)


def test_another_thread_is_neither_disturbed_nor_shown():
    done = threading.Event()

    def shared(x):
        return x + 1

    def layer(x):
        thread = threading.Thread(target=lambda: (shared(torch.ones(9)), done.set()))
        thread.start()
        thread.join()
        return shared(x)

    x_ray = trace(layer, torch.ones(2), follow="shared")

    assert done.is_set()
    assert "(9,)" not in repr(x_ray)
    assert "calls" not in repr(x_ray)


def first_of(x):
    return x[0] + 1


def second_of(x):
    return x[0] + 2


class Slow(list):
    """Takes its time to be copied."""

    def __iter__(self):
        time.sleep(0.1)
        return super().__iter__()


def test_two_threads_that_trace_leave_what_is_printed_to_where_it_was(monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))  # to be put back if this fails
    before, sizes = (sys.stdout, sys.stderr), {"batch": 2}
    threads = [
        threading.Thread(target=trace, args=(layer, Slow([torch.ones(2)])), kwargs={"sizes": sizes})
        for layer in (first_of, second_of)
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()

    assert (sys.stdout, sys.stderr) == before


def test_two_threads_never_read_sources_at_once(monkeypatch):
    # CPython 3.11 fails at times where two parse at once.
    reading, most = [], []

    class SlowScope(tracing.Scope):
        def __init__(self, *given):
            reading.append(given)
            most.append(len(reading))
            time.sleep(0.05)
            super().__init__(*given)
            reading.pop()

    monkeypatch.setattr(tracing, "Scope", SlowScope)
    threads = [threading.Thread(target=trace, args=(first_of, [torch.ones(2)])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1, 1, 1]


def test_what_another_thread_prints_meanwhile_is_printed(capsys):
    def layer(x):
        print("mine", len(x))  # noqa: T201 - the point of the test
        other = threading.Thread(target=print, args=("theirs", len(x)), kwargs={"flush": True})
        other.start()
        other.join()
        return x

    trace(layer, torch.ones(2), sizes={"batch": 2})

    assert capsys.readouterr().out == "mine 2\ntheirs 2\ntheirs 3\n"


def test_a_parameter_that_is_not_a_number_is_not_written():
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight[0, 0] = torch.nan
    output = layer(torch.ones(2, 3, requires_grad=True))
    trace(layer, torch.ones(2, 3), sizes={"batch": 2})
    output.sum().backward()

    assert layer.weight.grad is not None


def test_a_number_beside_one_that_is_not_is_put_back():
    class Filling(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.tensor([torch.nan, 1.0, 2.0]))

        def forward(self, x):
            self.seen[2] = torch.nan
            self.seen[1] += 1
            return x

    layer = Filling()
    trace(layer, torch.ones(2))

    assert layer.seen.isnan().tolist() == [True, False, False]
    assert layer.seen[1:].tolist() == [1, 2]


def test_a_buffer_that_changes_its_shape_or_kind_is_as_before():
    class Growing(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("one", torch.ones(2))
            self.register_buffer("other", torch.ones(2))

        def forward(self, x):
            self.one.data = torch.zeros(5)
            self.double()
            return x

    layer = Growing()
    assert trace(layer, torch.ones(2)).error is None
    assert layer.one.tolist() == [1, 1]
    assert layer.other.dtype == torch.float32


def norm_of(thing):
    """Find a module however it is given."""
    while not isinstance(thing, nn.Module):
        thing = thing["norm"] if isinstance(thing, dict) else thing[0]
    return thing


WAYS = {
    "alone": lambda norm: norm,
    "in a list": lambda norm: [norm],
    "deep inside": lambda norm: ({"norm": [norm]},),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["by place", "by keyword", "in a partial"])
def test_a_module_that_is_given_is_as_before(way, how):
    def layer(x, inside):
        return norm_of(inside)(x)

    norm, x = nn.BatchNorm1d(5), torch.randn(2, 5)
    given = WAYS[way](norm)
    if how == "by place":
        x_ray = trace(layer, x, given, sizes={"batch": 2})
    elif how == "by keyword":
        x_ray = trace(layer, x, inside=given, sizes={"batch": 2})
    else:
        x_ray = trace(partial(layer, inside=given), x, sizes={"batch": 2})

    assert x_ray.error is None
    assert norm.num_batches_tracked == 0


class Plain:
    """No module, but it has one."""

    def __init__(self):
        self.norms, self.seen = [nn.BatchNorm1d(5)], 0

    def run(self, x):
        self.seen += 1
        self.newest = x
        return self.norms[0](x)

    __call__ = run


@pytest.mark.parametrize("method", ["run", "__call__"])
def test_an_object_whose_method_is_traced_is_as_before(method):
    plain = Plain()
    x_ray = trace(getattr(plain, method), torch.randn(2, 5), sizes={"batch": 2})

    assert x_ray.error is None
    assert plain.norms[0].num_batches_tracked == 0
    assert (plain.seen, hasattr(plain, "newest")) == (0, False)


def test_queues_and_generators_are_as_before():
    class Queue(nn.Module):
        def __init__(self):
            super().__init__()
            self.last, self.numbers = deque([1, 2], maxlen=2), torch.Generator().manual_seed(3)

        def forward(self, x, numbers, queue):
            for each, generator in ((self.last, self.numbers), (queue, numbers)):
                each.append(x)
                torch.rand(2, generator=generator)
            return x

    layer, numbers, queue = Queue(), torch.Generator().manual_seed(5), deque("a")
    before = layer.numbers.get_state(), numbers.get_state()
    trace(layer, torch.ones(2), numbers, queue=queue, sizes={"batch": 2})

    assert (layer.last, queue) == (deque([1, 2]), deque("a"))
    assert torch.equal(layer.numbers.get_state(), before[0])
    assert torch.equal(numbers.get_state(), before[1])


def test_lazy_parameters_are_refused_since_a_call_makes_them():
    with pytest.raises(ValueError, match="the layer has lazy parameters"):
        trace(nn.LazyLinear(3), torch.ones(2, 5))
