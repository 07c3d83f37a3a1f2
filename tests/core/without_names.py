"""Runs the layers in a torch that lacks a name, as seen from this package; see `main`.

A name is hidden from `attnbook` alone, as if torch had renamed it everywhere: torch itself still
finds it. Each line of the input is a name, or several; each runs in a process of its own.
"""

from __future__ import annotations

import importlib
import inspect
import math
import os
import sys
import traceback
import warnings
from contextlib import contextmanager
from functools import partial

import torch
import torch._dynamo  # before it is copied into each process
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.func import jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.modules.module import register_module_forward_hook

RENAMED = []


def report(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def hide(name):
    """Hide an attribute of a module of torch, at any depth, from `attnbook`."""
    module, _, path = name.partition(":")
    owner = importlib.import_module(module)
    *parts, last = path.split(".")
    for part in parts:
        owner = getattr(owner, part)
    if isinstance(owner, type):
        rename_method(owner, last)
        return
    kind = type(owner)

    def guard(look_up):
        def guarded(self, wanted):
            if wanted == last and is_asked_by_the_package():
                raise AttributeError(wanted)
            return look_up(self, wanted)

        return guarded

    methods = [name for name in ("__getattribute__", "__getattr__") if hasattr(kind, name)]
    guarded = {name: guard(getattr(kind, name)) for name in methods}
    owner.__class__ = type(kind.__name__, (kind,), guarded)


def is_asked_by_the_package():
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") in ("pkgutil", __name__):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "").startswith("attnbook")


def rename_method(kind, name):
    """Define a class again, with other names for one of its methods and those renamed before."""
    RENAMED.append(name)
    module, source = sys.modules[kind.__module__], inspect.getsource(kind)
    for each in RENAMED:
        source = source.replace(each, f"{each}_of_tomorrow")
    exec(source, vars(module))  # noqa: S102 - torch's own, with another name
    setattr(nn, kind.__name__, getattr(module, kind.__name__))


@contextmanager
def hidden_from_modules(names):
    """While it is open, modules lack these attributes."""

    def look_up(self, wanted):
        if wanted in names and is_asked_by_the_package():
            raise AttributeError(wanted)
        return object.__getattribute__(self, wanted)

    nn.Module.__getattribute__ = look_up
    try:
        yield
    finally:
        del nn.Module.__getattribute__


def run_without(names):
    """Import, run and compile the layers without these names, and compare."""
    of_modules = [name for name in names if ":" not in name]
    for name in names:
        if name not in of_modules:
            hide(name)
    with hidden_from_modules(of_modules):
        from attnbook import torch_private  # noqa: PLC0415 - only now

        left = {*names} - {*torch_private.missing_names()}
        assert left == set(), f"still found: {left}"
    compare_layers()
    compare_transforms()
    compare_others()


LENGTHS = torch.tensor([3, 0])
BATCHED = {"is_grads_batched": True}


def make_inputs():
    generator = torch.Generator().manual_seed(1)
    sizes = (2, 3, 5), (2, 7, 5), (2, 7, 2)
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


def make_layers():
    """Layers, and what each must compute."""
    import attnbook  # noqa: PLC0415 - only now

    additive = attnbook.AdditiveAttention(5, 5, 3).double()

    def additive_scores(queries, keys):
        units = additive.W_q(queries)[:, :, None] + additive.W_k(keys)[:, None]
        return additive.w_v(units.tanh()).squeeze(-1)

    yield attnbook.DotProductAttention(), partial(attend, lambda q, k: q @ k.mT / math.sqrt(5))
    yield additive, partial(attend, additive_scores)


def attend(score, queries, keys, values, lengths=None):
    """Attend by the formula; a query with nothing to attend to gets zeros."""
    if lengths is None:
        return score(queries, keys).softmax(-1) @ values
    lengths = lengths[:, None, None]
    fill = torch.where(lengths > 0, -torch.inf, 0.0).double()
    scores = torch.where(torch.arange(7) < lengths, score(queries, keys), fill)
    return scores.softmax(-1) * (lengths > 0) @ values


def assert_close(found, expected):
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def compare_layers():
    """Every part of the self-test once: by formulas and by fast paths, with slopes, compiled."""
    from attnbook.selftest.comparisons import PARTS  # noqa: PLC0415 - only now
    from attnbook.selftest.run import describe, run  # noqa: PLC0415

    # Lengths are not read where it is not known whether they can be.
    parts = [name for name in PARTS if name != "refusals"]
    receipt = run("cpu", 0.001, parts, with_ratios=False)
    assert receipt["faults"] == 0, describe(receipt)


def call_one(layer, *example):
    return layer(*(each[None] for each in example))[0]


def refuses_to_read(layer, *example):
    call_one(layer, *example)
    try:
        return layer.attention_weights < 0
    except (AttributeError, RuntimeError):
        return torch.tensor(True)


def compare_transforms():
    """Within `torch.func`, forward mode, and with a batch of gradients."""
    for layer, expected in make_layers():
        inputs = make_inputs()
        assert_close(vmap(partial(call_one, layer))(*inputs), expected(*inputs))
        try:
            weights = layer.attention_weights.squeeze(1)
        except AttributeError as error:
            report(f"refused: {error}")
        else:
            layer(*inputs)
            assert_close(weights, layer.attention_weights)
        assert vmap(partial(refuses_to_read, layer))(*inputs).all()
        tangents = tuple(torch.ones_like(each) for each in inputs)
        forward = [jvp(one, tuple(inputs), tangents)[1] for one in (layer, expected)]
        assert_close(*forward)
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(*pair) for pair in zip(inputs, tangents, strict=True)]
            assert_close(forward_ad.unpack_dual(layer(*duals)).tangent, forward[0])
        given = *inputs, LENGTHS
        padded = torch.where(torch.arange(7)[:, None] < 3, inputs[2], torch.nan)
        for program in (make_fx(layer)(*given), torch.jit.trace(layer, given)):
            # What is not known while it is recorded must not be assumed.
            found = program(*inputs[:2], padded, LENGTHS)
            assert_close(found, expected(*given))
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            assert layer(*map(mode.from_tensor, given)).shape == (2, 3, 2)
        called = []
        with register_module_forward_hook(lambda module, *_: called.append(type(module))):  # noqa: B023
            layer(*given)
        assert nn.Dropout in called
        leaf = inputs[0].requires_grad_()
        directions = torch.eye(12).double().reshape(-1, 2, 3, 2)
        batches = [
            torch.autograd.grad(one(leaf, *inputs[1:], LENGTHS), leaf, directions, **BATCHED)[0]
            for one in (layer, expected)
        ]
        assert_close(*batches)


def compare_others():
    """What may refuse: copies of torch's layers, counts of numbers, the judge."""
    from attnbook.costs.counting import numbers_written  # noqa: PLC0415 - only now
    from attnbook.models.transformer.block import Block  # noqa: PLC0415
    from attnbook.practice.judge.checking import check  # noqa: PLC0415
    from attnbook.tracing import trace  # noqa: PLC0415

    theirs = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True).eval()
    x = torch.randn(2, 3, 4)
    try:
        torch.testing.assert_close(Block.from_torch(theirs).eval()(x), theirs(x))
    except TypeError as error:
        report(f"refused: {error}")
    try:
        assert (
            numbers_written(lambda x, y: torch.tanh(x + y), torch.ones(3, 1), torch.ones(5)) == 30
        )
    except RuntimeError as error:
        report(f"refused: {error}")
    assert check("softmax", lambda scores: scores.softmax(-1))
    assert not check("softmax", lambda scores: scores.softmax(-2))
    assert trace(torch.compile(nn.Linear(4, 2), backend="eager"), x)


def prepare():
    """Let torch import what it needs, once for all processes."""
    layer, x = nn.Linear(2, 2), torch.ones(1, 2)
    torch.compile(layer, backend="eager", fullgraph=True)(x).sum().backward()
    jvp(layer, (x,), (x,))
    make_fx(layer)(x)
    torch.jit.trace(layer, x)


def main():
    """For each line of names print what was refused, what went wrong, and an end."""
    warnings.simplefilter("ignore")  # torch's own
    torch.set_num_threads(1)
    prepare()
    for line in sys.stdin:
        if os.fork() == 0:
            try:
                run_without(line.split())
            except BaseException:
                report(traceback.format_exc())
            os._exit(0)
        os.wait()
        report("end")


if __name__ == "__main__":
    main()
