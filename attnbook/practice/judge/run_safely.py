"""Run what a reader wrote: it may never end, raise anything, print, warn, or change the world."""

from __future__ import annotations

import builtins
import ctypes
import io
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from attnbook.practice.judge.world import AllSettings, Names, Settings, owners

LIMIT = 10.0
"""Seconds that one call may take."""
PATIENCE = 30  # how many times as long a call of ours may take, whose first use imports much
MOST_PRINTED = 20_000  # characters that are kept of what a call prints
STACK = 1000  # the recursion limit that our own code needs, which is Python's own

_BUILTINS = dict(vars(builtins))
_ANYTHING = BaseException  # a name that is not looked up in builtins
_restore_builtins = vars(builtins).update  # needs no builtin itself


class Stopped(BaseException):
    """Thrown into what does not end. No Exception, so that `except Exception` lets it pass."""


@dataclass
class Ran:
    """How a call went: it gave a value, or an error, or did not end."""

    value: Any = None
    error: BaseException | None = None
    ended: bool = False
    left: bool = False  # whether it still runs
    printed: str = ""  # and what it warned of

    @property
    def endless(self) -> str:
        """A sentence if the call did not end."""
        if self.ended:
            return ""
        if self.left:
            return "The call does not end, and cannot be stopped: restart Python."
        return "The call does not end: it was stopped."


@dataclass
class _State:
    """One session at a time, whichever thread it is in."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    own: Names = field(default_factory=lambda: Names([]))  # as this package was imported
    theirs: Names | None = None  # as the session found them; None outside a session
    differ: bool = False  # whether the reader's code needs its own names
    ours: bool = False  # whether what runs is ours


_STATE = _State()


def remember_names() -> None:
    """Keep the functions of torch, Python and this package as they are now, to compute with."""
    _STATE.own = Names(owners())


@contextmanager
def session() -> Iterator[None]:
    """Judge in here: one thread at a time, with names as they were when this was imported.

    Afterwards the world is as it was before.

    Raises:
        RuntimeError: code that is being judged asks for it.
    """
    if isinstance(threading.current_thread(), _Worker):
        raise RuntimeError("check and grade_tests cannot be called by code that they run")
    with _STATE.lock:
        if _STATE.theirs is not None:
            yield
            return
        settings, _STATE.theirs = AllSettings(), _STATE.own.again()
        _STATE.differ = _STATE.own.put_back()
        try:
            sys.setrecursionlimit(max(STACK, sys.getrecursionlimit()))
            torch.set_num_threads(1)  # cases are small, and on a busy machine threads wait
            yield
        finally:
            _STATE.theirs.put_back()
            settings.put_back()
            _STATE.theirs, _STATE.differ = None, False


@contextmanager
def own_names() -> Iterator[None]:
    """What is called in here is ours: it ends, and does not see what a reader assigned to names."""
    before, _STATE.ours = _STATE.ours, True
    try:
        yield
    finally:
        _STATE.ours = before


def run(call: Callable[[], Any]) -> Ran:
    """Call, in a thread that can be given up, and give back whatever happens.

    Torch's random numbers on the CPU begin at the same seed each time. Afterwards switches,
    streams and names are as they were, and nothing was printed. To be called in a `session`.
    """
    ran, printed = Ran(), _Printed()

    def work() -> None:
        try:
            ran.value = call()
        except Stopped:
            return
        except _ANYTHING as error:  # exit() is an answer, too
            ran.error = error
        finally:
            _restore_builtins(_BUILTINS)
        ran.ended = True

    settings, seconds = Settings(), PATIENCE * LIMIT if _STATE.ours else LIMIT
    theirs = _STATE.theirs if _STATE.differ and not _STATE.ours else None
    worker = _Worker(work)
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = printed.warned
        torch.default_generator.manual_seed(0)
        torch.set_default_dtype(torch.float32)
        worker.start()
        if theirs is not None:
            theirs.put_back()
        sys.stdout, sys.stderr, sys.stdin = printed, printed, io.StringIO()
        try:
            worker.work_for(seconds)
        finally:
            _restore_builtins(_BUILTINS)
            ran.left = not worker.stop()
            settings.put_back()
            _STATE.own.put_back()
    ran.printed = printed.text()
    return ran


@contextmanager
def by_default() -> Iterator[None]:
    """Torch as it begins: single precision, on the CPU, keeping what gradients need."""
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("cpu"), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)


class _Printed(io.TextIOBase):
    """What a call prints and warns of, up to a limit; closing it changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.warnings: list[str] = []
        self.room = MOST_PRINTED

    def write(self, text: str) -> int:
        if self.room > 0:
            self.parts.append(text[: self.room])
            self.room -= len(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Printing goes on."""

    def warned(self, message: Warning | str, *_: object, **__: object) -> None:
        """Stand in for `warnings.showwarning`."""
        # Where in torch's own code a warning was raised says nothing to a reader.
        text = str(message).split(" (Triggered internally")[0][: max(0, self.room)]
        if text:
            self.warnings.append(text)
            self.room -= len(text)

    def text(self) -> str:
        """All of it, without blank space around it."""
        return "\n".join(["".join(self.parts).strip(), *self.warnings]).strip()


class _Worker(threading.Thread):
    """A thread into which `Stopped` can be thrown while it works, and not while it leaves."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.work, self.begun, self.over = work, False, False
        self.gate = threading.Lock()
        self.may_begin, self.done = threading.Lock(), threading.Lock()
        self.may_begin.acquire()
        self.done.acquire()

    def work_for(self, seconds: float) -> None:
        """Let it begin, and wait: in C alone, since what runs may have deleted a builtin."""
        self.may_begin.release()
        self.done.acquire(timeout=seconds)

    def run(self) -> None:
        self.may_begin.acquire()
        while not self.over:
            try:
                if not self.begun:
                    self.begun = True
                    self.work()
                with self.gate:
                    self.over = True
                for _ in range(2):  # what was thrown before the gate closed comes at such a step
                    pass
            except Stopped:  # it came while the work was being left
                continue
        self.done.release()

    def stop(self) -> bool:
        """Throw until the thread ends, and say whether it did: C code does not listen."""
        for _ in range(50):
            if not self.is_alive():
                return True
            with self.gate:
                if not self.over:
                    self._throw()
            self.join(0.01)
        return not self.is_alive()

    def _throw(self) -> None:
        """Into this thread at its next step.

        It is never taken back by throwing nothing: Python would then wait for it in each call
        that is traced, for ever.
        """
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self.ident or 0), ctypes.py_object(Stopped)
        )
