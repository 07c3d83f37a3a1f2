"""A trace works together with tracers, debuggers, threads and other traces."""

from __future__ import annotations

import sys
import threading

import pytest
import torch

from attnbook import tracing
from attnbook.tracing import trace


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
        assert "return (5,)" in repr(trace(inner, x))
        return inner(x)

    result = trace(layer, torch.ones(2, 5), follow="inner")

    assert result.error is None
    assert "inner\ndef inner(x):" in repr(result)
    assert "calls" not in repr(result)


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_calls_of_other_threads_are_not_shown():
    called = threading.Event()

    def shared(x):
        if len(x) == 9:
            called.set()
        return x + 1

    def layer(x):
        in_a_thread(lambda: shared(torch.ones(9)))
        return shared(x)

    result = trace(layer, torch.ones(2), follow="shared")

    assert called.is_set()
    assert "(9,)" not in repr(result)
    assert "calls" not in repr(result)


def test_two_threads_never_trace_at_once(monkeypatch):
    # They share sys.stdout; CPython 3.11 fails at times if two parse at once.
    busy, most = [], []

    def slow(call):
        def slowly(*inputs):
            busy.append(call)
            most.append(len(busy))
            threading.Event().wait(0.05)  # long enough for another thread to come in
            found = call(*inputs)
            busy.pop()
            return found

        return slowly

    for name in ("Scope", "compare"):
        monkeypatch.setattr(tracing, name, slow(getattr(tracing, name)))
    threads = [threading.Thread(target=trace, args=(first_of, torch.ones(2))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1] * 6


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


def test_a_function_that_calls_others_for_each_item_is_not_shown_with_their_values():
    def layer(x):
        return (sum(part.sum(0) for part in x) + 1, [*map(first_of, x)], x in [x, x + 1])

    parts = [it.name for it in trace(layer, torch.ones(2, 3, 5)).steps if it.part]
    assert parts == ["part.sum(0)", "x + 1"]


def test_a_function_of_torch_that_is_followed_shows_its_one_call():
    def layer(x):
        return torch.nn.functional.softmax(x, dim=-1)

    text = repr(trace(layer, torch.ones(2, 3), follow="torch.nn.functional.softmax"))
    assert "calls" not in text
    assert "ret = input.softmax(dim)" in text
    assert "ret (2, 3)" in text
