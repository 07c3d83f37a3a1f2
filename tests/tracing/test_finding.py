"""Which function is shown: of layers that catch all their arguments, and inside decorators."""

from __future__ import annotations

import torch
from torch import nn

from attnbook.tracing import trace

SIZES = {"batch": 2, "keys": 7}
x = torch.ones(2, 7)


def catch_all(*args):
    return args[0] * 2


class CatchAll(nn.Module):
    def forward(*args, **named):
        self, x = args
        return self.double(x) * named.get("times", 1)

    def double(self, *args):
        return args[0] * 2


def test_a_layer_that_catches_all_its_arguments_is_seen():
    x_ray = trace(CatchAll(), x, sizes=SIZES, follow="double")
    text = repr(x_ray)

    assert x_ray.error is None
    assert x_ray.remark == ""
    assert "args[1] (batch, keys)" in text
    assert "args[0] * 2" in text
    assert text.count("return (batch, keys)") == 2
    assert "return (batch, keys)" in repr(trace(catch_all, x, sizes=SIZES))


def plain(function):
    def inner(*args, **named):
        return function(*args, **named) * 1

    return inner


def spoken(_, x):
    return x


class Decorated(nn.Module):
    @plain
    @plain
    def forward(self, x):
        doubled = x * 2
        return doubled.clone()


class Below(Decorated):
    @plain
    def forward(self, x):
        return super().forward(x)


def test_a_forward_is_found_inside_decorators_that_do_not_name_it():
    text = repr(trace(Decorated(), x, sizes=SIZES))

    assert text.startswith("Decorated.forward\n")
    assert "doubled (batch, keys)" in text
    below = repr(trace(Below(), x, sizes=SIZES))
    assert below.startswith("Below.forward\n")
    assert "doubled (batch, keys)" in below


class Binding:
    """A decorator that binds by itself, to a new function each time."""

    def __init__(self, function):
        self.function = function

    def __get__(self, owner, kind=None):
        return lambda *args: self.function(owner, *args)


def test_a_forward_is_found_inside_a_decorator_that_is_an_object():
    class Bound(nn.Module):
        @Binding
        def forward(self, x):
            return x * 2

    text = repr(trace(Bound(), x, sizes=SIZES))
    assert "return x * 2" in text
    assert "return (batch, keys)" in text


def test_a_forward_of_another_name_is_shown_as_it_is():
    class Given(nn.Module):
        forward = spoken

    assert repr(trace(Given(), x)).startswith("spoken\n")


def test_a_function_in_such_a_decorator_is_seen_as_what_it_is():
    text = repr(trace(plain(spoken_of), x, sizes=SIZES, follow="function"))

    assert "inner\n" in text
    assert "args[0] (batch, keys)" in text
    assert "function: spoken_of" in text


def spoken_of(x):
    return x + 1
