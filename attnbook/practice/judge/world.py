"""Global state that a reader's code may change, and how it is restored.

`Names` are the attributes of modules and classes that the judge computes with; `Settings` are
switches, seeds and streams of Python and torch.
"""

from __future__ import annotations

import builtins
import gc
import inspect
import logging
import math
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from attnbook.torch_private import GLOBAL_HOOKS, PRINT_OPTIONS

Owner = ModuleType | type
# Attributes of a class that Python writes itself; in modules torch's compiler writes many such.
_PRIVATE = ("__doc__", "__annotations__", "__abstractmethods__")
_DICT = type.__dict__["__dict__"].__get__  # of a class, even if its metaclass hides it
_OF_PYTHON = ("stdout", "stderr", "stdin", "excepthook", "displayhook")


class Names:
    """The attributes of some modules and classes, as they are now."""

    def __init__(self, owners: list[Owner]) -> None:
        self.of: list[tuple[Owner, Any, dict[str, Any], tuple[Any, ...]]] = []
        for owner in owners:
            now: Any = owner.__dict__ if isinstance(owner, ModuleType) else _DICT(owner)
            self.of.append((owner, now, dict(now), tuple(now.values())))

    def take_again(self) -> Names:
        """The same attributes, as they are now."""
        return Names([owner for owner, *_ in self.of])

    def put_back(self) -> bool:
        """Undo every assignment and deletion since, and return whether there was any."""
        changed = False
        for owner, now, before, values in self.of:
            try:
                # Ten times faster than comparing identities one by one.
                is_equal = tuple(now.values()) == values
            except Exception:  # of a class of the reader's own
                is_equal = False
            if not is_equal:
                changed = _restore(owner, now, before) or changed
        return changed


def _restore(owner: Owner, now: Any, before: dict[str, Any]) -> bool:
    kind: Any = ModuleType if isinstance(owner, ModuleType) else type
    private = "__" if kind is ModuleType else _PRIVATE
    changed = False
    for name, value in before.items():
        if now.get(name, before) is not value and not name.startswith(private):
            kind.__setattr__(owner, name, value)
            changed = True
    for name in [name for name in now if name not in before]:
        # A submodule that was imported meanwhile does not count.
        if not name.startswith(private) and not isinstance(now[name], ModuleType):
            kind.__delattr__(owner, name)
            changed = True
    return changed


def owners() -> list[Owner]:
    """The modules and classes whose names the judge computes with, `builtins` first."""
    ours = [
        module
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType)
        and (name == "attnbook" or name.startswith("attnbook."))
        and not name.startswith("attnbook.practice")  # the judge does not restore itself
    ]
    classes = [
        each
        for module in ours
        for each in list(vars(module).values())
        if inspect.isclass(each) and each.__module__ == module.__name__
    ]
    torchs = [
        torch,
        functional,
        nn,
        nn.init,
        torch.linalg,
        torch.special,
        torch.autograd,
        torch.random,
    ]
    return [
        builtins,
        math,
        os,
        subprocess,
        time,
        *torchs,
        torch.Tensor,
        nn.Module,
        nn.Linear,
        *ours,
        *classes,
    ]


class Settings:
    """Switches, seeds and streams, as they are now."""

    def __init__(self) -> None:
        self.restorers: list[Callable[[], object]] = [
            *(_restorer(setattr, sys, name, getattr(sys, name)) for name in _OF_PYTHON),
            _restorer(sys.setrecursionlimit, sys.getrecursionlimit()),
            _restorer(setattr, threading, "excepthook", threading.excepthook),
            _restorer(torch.set_default_dtype, torch.get_default_dtype()),
            # `torch.use_deterministic_algorithms` would import torch's compiler, in seconds.
            _restorer(torch.set_deterministic_debug_mode, torch.get_deterministic_debug_mode()),
            _restorer(torch.set_warn_always, torch.is_warn_always_enabled()),
            _restorer(torch.autograd.set_detect_anomaly, torch.is_anomaly_enabled()),
            _restorer(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision()),
            _restorer(torch.set_num_threads, torch.get_num_threads()),
            *(_dict_restorer(hooks) for hooks in GLOBAL_HOOKS),
        ]

    def put_back(self) -> None:
        """Undo what was changed since."""
        for put_back in self.restorers:
            put_back()


class AllSettings(Settings):
    """Also those that cost more to store."""

    def __init__(self) -> None:
        super().__init__()
        self.restorers += [
            _restorer(torch.default_generator.set_state, torch.default_generator.get_state()),
            _restorer(random.setstate, random.getstate()),
            *_numpy_restorers(),
            _dict_restorer(PRINT_OPTIONS),
            *_list_restorers(sys, "path"),
            *_list_restorers(sys, "argv"),
            *_list_restorers(logging.root, "handlers"),
            _hook_restorer(logging.root.setLevel, lambda: logging.root.level),
            _restorer(logging.disable, logging.root.manager.disable),
            _restorer(gc.set_threshold, *gc.get_threshold()),
            _restorer(sys.modules.update, dict(sys.modules)),  # later imports may stay
            _dict_restorer(os.environ),
            _hook_restorer(sys.settrace, sys.gettrace),
            _hook_restorer(sys.setprofile, sys.getprofile),
            _restorer(gc.enable if gc.isenabled() else gc.disable),
            *_folder_restorers(),
            _restorer(os.umask, _read_umask()),
        ]


def _restorer(call: Callable[..., object], *arguments: Any, **options: Any) -> Callable[[], object]:
    return lambda: call(*arguments, **options)


def _hook_restorer(put: Callable[[Any], None], get: Callable[[], Any]) -> Callable[[], object]:
    before = get()
    return lambda: None if get() is before else put(before)


def _dict_restorer(now: Any) -> Callable[[], object]:
    before = dict(now)

    def put_back() -> None:
        if dict(now) != before:
            now.clear()
            now.update(before)

    return put_back


def _list_restorers(owner: object, name: str) -> list[Callable[[], object]]:
    """Restore which list it is, and what is in it."""
    now = getattr(owner, name)
    return [
        _restorer(setattr, owner, name, now),
        _restorer(now.__setitem__, slice(None), [*now]),
    ]


def _read_umask() -> int:
    now = os.umask(0)  # it can only be read by setting it
    os.umask(now)
    return now


def _numpy_restorers() -> list[Callable[[], object]]:
    numpy = sys.modules.get("numpy")  # torch also runs without it
    if numpy is None:
        return []
    return [
        _restorer(numpy.random.set_state, numpy.random.get_state()),
        _restorer(numpy.set_printoptions, **numpy.get_printoptions()),
        _restorer(numpy.seterr, **numpy.geterr()),
    ]


def _folder_restorers() -> list[Callable[[], object]]:
    try:
        return [_restorer(os.chdir, Path.cwd())]
    except OSError:  # the folder was deleted
        return []
