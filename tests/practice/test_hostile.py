"""Whatever an answer does, it gets a verdict, and leaves Python as it was for the next answer."""

from __future__ import annotations

import builtins
import gc
import logging
import math
import os
import random
import resource
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.modules import module

import attnbook
from attnbook.practice import LIST_TASKS, TASKS, check
from attnbook.practice.judge import run_safely

# These answers do not end. All others may take as long as usual: their first use imports much.
ENDLESS = (
    "endless()",
    "swallowing()",
    "Broken.apply(scores)",
    "sum(iter(int, 1))",
    "re.match('(a+)+$', 'a' * 40 + 'b')",
    "10 ** 10**8",
)
LIMIT = 0.4  # seconds of a call that does not end
MOST_MEMORY = 300  # MB that all answers together may add
MOST_CASES = 2  # of the task on tensors: what an answer changes is restored after each
TORCH, LISTS = "masked-softmax", "softmax-by-hand"

# Statements of an answer that then returns the right weights.
DOES = """
torch.softmax = torch.Tensor.softmax = functional.softmax = lambda *a, **k: a[0]
torch.equal = torch.isclose = torch.allclose = lambda *a, **k: True
attnbook.masked_softmax = attnbook.pool = None
del torch.softmax, torch.exp, torch.Tensor.sum
torch.nn.Module.__call__ = None
math.exp = math.sqrt = None
del builtins.range, builtins.isinstance, builtins.type, builtins.print
vars(builtins).clear()
sys.setrecursionlimit(120)
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)
torch.manual_seed(3)
random.seed(3); np.random.seed(3)
torch.use_deterministic_algorithms(True)
torch.autograd.set_detect_anomaly(True)
torch.set_float32_matmul_precision("medium")
torch.set_printoptions(precision=1); np.set_printoptions(precision=1)
torch.set_warn_always(True)
torch.set_num_threads(2)
np.seterr(all="raise")
os.chdir("/")
os.environ["HOME"] = "/nowhere"; os.environ.clear()
sys.path.clear()
sys.modules["math"] = sys.modules["torch.nn"] = None
warnings.simplefilter("error"); warnings.filters.clear()
warnings.showwarning = None
sys.stdout.close(); sys.stderr.close(); print("on")
sys.excepthook = sys.displayhook = threading.excepthook = None
sys.settrace(lambda *_: None); sys.setprofile(lambda *_: None)
gc.disable(); gc.set_threshold(1)
os.listdir = os.replace = subprocess.run = time.sleep = None
os.umask(0)
sys.argv.clear(); sys.argv = ["other"]; sys.path = []
logging.root.addHandler(logging.NullHandler()); logging.root.setLevel(1); logging.disable()
module.register_module_forward_hook(lambda *_: None)
torch.nn.modules.module._global_forward_hooks.clear()
run_safely.run.__defaults__ = None
check("pool", len)
threading.Thread(target=lambda: time.sleep(0.05)).start()
print("x" * 100_000_000)
[warnings.warn(f"number {i}", stacklevel=1) for i in range(20_000)]
sys.stdout.write(7)
scores.__class__.__eq__ = None
torch.Tensor.__repr__ = lambda self: 1 / 0
input("How many?")
torch.random.fork_rng = torch.default_generator = None
""".strip().splitlines()

# What an answer on tensors returns.
TENSORS = """
1 / 0
float("nan")
"weights"
lambda: 3
(scores for _ in range(3))
asynchronous()
generator()
scores.to_sparse()
scores.to("meta")
torch.nested.nested_tensor([scores[0], scores[1]], layout=torch.jagged)
torch.nn.parameter.UninitializedParameter()
fake()
Lying(scores)
()
[scores]
containing_itself()
Unreadable()
object.__new__(Slippery)
torch.zeros(4_000, 5_000)
scores[..., :0]
scores.long()
torch.quantize_per_tensor(scores.detach(), 0.1, 0, torch.qint8)
torch.complex(scores, scores)
Broken.apply(scores)
raising(Silent())
raising(KeyboardInterrupt())
raising(type("E" * 5_000, (Exception,), {})("x" * 1_000_000))
endless()
swallowing()
sum(iter(int, 1))
re.match('(a+)+$', 'a' * 40 + 'b')
10 ** 10**8
os._exit(0)
ctypes.string_at(0)
check("masked-softmax", hostile)
deep(0)
""".strip().splitlines()

# What an answer on plain lists returns.
PLAIN = """
[10**400] * 3
[-(10**400), 0.5, float("inf")]
containing_itself()
deep_list(5_000)
[np.float32(0.5), np.int64(1), np.bool_(True)]
[Lie(0.5), Lie(0.2), Lie(0.1)]
[Fraction(1, 3)] * 3
(0.1, [0.2], {0.3})
[torch.tensor(0.5)] * 3
np.zeros(3)
[complex(1, 2)] * 3
["0.5"] * 3
Unreadable()
[Unreadable()] * 3
[object.__new__(Slippery)] * 3
asynchronous()
generator()
endless()
sum(iter(int, 1))
raising(Silent())
[0.1] * 200_000
{0: 0.1, 1: 0.2, 2: 0.7}
range(3)
raising(RecursionError())
""".strip().splitlines()

BASE = """
import asyncio, builtins, ctypes, gc, logging, math, os, random, re, subprocess, sys
import threading, time, warnings
from fractions import Fraction
import attnbook, numpy as np, torch
from torch.nn import functional
from torch.nn.modules import module
from attnbook.practice import check
from attnbook.practice.judge import run_safely

masked, exp, total = attnbook.masked_softmax, math.exp, sum

class Lying(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        return True

class Lie(float):
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__

class Unreadable:
    __class__ = property(lambda self: 1 / 0)
    def __getattr__(self, name): raise RuntimeError(name)
    def __repr__(self): raise RuntimeError
    __iter__ = __len__ = __bool__ = __float__ = __eq__ = __repr__

class Slippery(Unreadable, list):
    def __getattribute__(self, name): raise KeyError(name)

class Silent(Exception):
    def __str__(self): raise RuntimeError

class Broken(torch.autograd.Function):
    @staticmethod
    def forward(context, scores): return masked(scores, None) * 1

    @staticmethod
    def backward(context, flow):
        while True: time.sleep(0.001)

def raising(error): raise error
async def asynchronous(): return 3
def generator(): yield 3

def containing_itself():
    numbers = [0.5]
    numbers.append(numbers)
    return numbers

def deep_list(depth):
    numbers = [0.5]
    for _ in range(depth): numbers = [numbers]
    return numbers

def endless():
    while True: pass

def swallowing():
    while True:
        try: time.sleep(0.001)
        except Exception: pass

def deep(number): return deep(number + 1)

def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode(): return torch.zeros(2, 3, 5)
"""
RIGHT = {TORCH: "masked(scores, valid_lens)", LISTS: "soft(scores)"}
HEAD = {TORCH: "def hostile(scores, valid_lens=None):", LISTS: "def hostile(scores):"}
SOFT = """
def soft(scores):
    powers = [exp(score - scores[0] if abs(score) < 700 else 0) for score in scores]
    return [power / total(powers) for power in powers]
"""
ANSWERS = [
    *((TORCH, f"{does}; return {RIGHT[TORCH]}") for does in DOES),
    *((TORCH, f"return {gives}") for gives in TENSORS),
    *((LISTS, f"return {gives}") for gives in PLAIN),
    (LISTS, f"torch.set_default_dtype(torch.float64); return {RIGHT[LISTS]}"),
]
RIGHTS = {TORCH: TASKS[TORCH].reference, LISTS: LIST_TASKS[LISTS].reference}


def define_answer(task, body):
    """The answer, defined as in a notebook."""
    names = {"__name__": "__main__"}
    exec(f"{BASE}{SOFT}{HEAD[task]}\n    {body}\n", names)  # noqa: S102 - written above
    return names["hostile"]


def read_state():
    """What may not change."""
    names = {
        f"{owner.__name__}.{name}": id(value)
        for owner in (
            builtins,
            math,
            os,
            subprocess,
            time,
            torch,
            functional,
            torch.Tensor,
            torch.nn.Module,
            attnbook,
        )
        for name, value in vars(owner).items()
        if not name.startswith("__") and not isinstance(value, ModuleType)  # imported meanwhile
    }
    os.umask(umask := os.umask(0))
    hooks = [len(value) for name, value in vars(module).items() if name.endswith("_hooks")]
    return names | {
        "streams": [id(sys.stdout), id(sys.stderr), sys.stdout.closed],
        "recursion": sys.getrecursionlimit(),
        "torch": [
            torch.get_default_dtype(),
            torch.get_default_device(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_anomaly_enabled(),
            torch.get_float32_matmul_precision(),
            torch.is_warn_always_enabled(),
            torch.get_num_threads(),
            repr(torch.tensor(1 / 3)),
            torch.get_rng_state().tolist(),
        ],
        "hooks": hooks,
        "random": [random.getstate(), np.random.get_state()[1].tolist()],
        "numpy": [np.get_printoptions(), np.geterr()],
        "system": [Path.cwd(), dict(os.environ), gc.isenabled(), gc.get_threshold(), umask],
        "lists": [id(sys.path), [*sys.path], id(sys.argv), [*sys.argv]],
        "logging": [[*logging.root.handlers], logging.root.level, logging.root.manager.disable],
        "modules": [sys.modules["math"], sys.modules["torch.nn"]],
        "hooks of Python": [sys.excepthook, sys.displayhook, threading.excepthook],
        "traces": [sys.gettrace(), sys.getprofile()],
        "warnings": [list(warnings.filters), warnings.showwarning],
    }


def peak_memory():
    """The most that this process has used, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.fixture(scope="module")
def memory_before():
    """The memory once all is imported and each right answer has been checked."""
    task = TASKS[TORCH]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TASKS, TORCH, replace(task, cases=dict([*task.cases.items()][:MOST_CASES])))
        for name, right in RIGHTS.items():
            assert check(name, right)
        yield peak_memory()


@pytest.mark.parametrize(("task", "body"), ANSWERS, ids=lambda it: it if " " not in it else "")
def test_an_answer_gets_a_verdict_and_changes_nothing_outside_itself(
    task, body, memory_before, monkeypatch
):
    hostile, before = define_answer(task, body), read_state()
    with monkeypatch.context() as patched:
        if body.endswith(ENDLESS):
            patched.setattr(run_safely, "LIMIT", LIMIT)
        message = str(check(task, hostile))
    assert {name: value for name, value in read_state().items() if value != before.get(name)} == {}
    assert len(message) < 1_200
    assert "Traceback" not in message
    if body.startswith("torch.set_default_device"):
        assert message.startswith("✓")  # also where gradients are computed
    assert check(task, RIGHTS[task])
    assert peak_memory() - memory_before < MOST_MEMORY
