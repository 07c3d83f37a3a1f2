"""Run a reader's code, which may never end, raise anything, print, warn, or change globals."""

from __future__ import annotations

import atexit
import builtins
import ctypes
import faulthandler
import gc
import io
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from attnbook.messages import Messages
from attnbook.practice.judge.world import AllSettings, Names, Settings, owners

TEXT = Messages(__file__)
LIMIT = 10.0
"""Seconds that one call may take."""
MOST_PRINTED = 20_000  # stored characters of what a call prints
COPIES = sys.platform == "linux"  # whether a copy of this process makes each call first
STACK = 1000  # the recursion limit that our own code needs, which is Python's own

_BUILTINS = dict(vars(builtins))
_ANYTHING = BaseException  # not looked up in builtins, which may have changed
_put_builtins_back = vars(builtins).update  # needs no builtin itself
UNKNOWN = 77  # the exit status of a copy of this process that could not run all calls


class Stopped(BaseException):
    """Thrown into a call that does not end; `except Exception` does not catch it."""


@dataclass
class CallResult:
    """The result of a call: a value, an error, or no end."""

    value: Any = None
    error: BaseException | None = None
    ended: bool = False
    left: bool = False  # running, because it could not be stopped
    printed: str = ""  # with its warnings

    @property
    def endless(self) -> str:
        """A sentence if the call did not end."""
        if self.ended:
            return ""
        return TEXT("cannot_be_stopped") if self.left else _was_stopped()


@dataclass
class _State:
    """One session at a time, whichever thread it is in."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    own: Names = field(default_factory=lambda: Names([]))  # as this package was imported
    theirs: Names | None = None  # when the session began; None outside a session
    differ: bool = False  # whether the reader's session has other names than ours
    copied: bool = False  # whether this process is a copy, which only calls what is judged


_STATE = _State()
_LEFT: list[threading.Thread] = []


def remember_names() -> None:
    """Store the current functions of torch, Python and this package, to compute with."""
    _STATE.own = Names(owners())


@contextmanager
def session() -> Iterator[None]:
    """Judge in here: one thread at a time, with names as they were when this was imported.

    Afterwards all names and settings are restored.

    Raises:
        RuntimeError: code that is being judged calls it.
    """
    if _STATE.copied or isinstance(threading.current_thread(), _Worker):
        raise RuntimeError("check and grade_tests cannot be called by code that they run")
    with _STATE.lock:
        if _STATE.theirs is not None:
            yield
            return
        settings, _STATE.theirs = AllSettings(), _STATE.own.take_again()
        _STATE.differ = _STATE.own.put_back()
        try:
            sys.setrecursionlimit(max(STACK, sys.getrecursionlimit()))
            torch.set_num_threads(1)  # cases are small, and on a busy machine threads wait
            yield
        finally:
            _STATE.theirs.put_back()
            settings.put_back()
            _STATE.theirs, _STATE.differ = None, False


def run(call: Callable[[], Any]) -> CallResult:
    """Call in a thread that can be abandoned, and return whatever happens.

    Torch's random numbers on the CPU begin at the same seed each time. Afterwards switches,
    streams and names are restored, and nothing was printed. To be called in a `session`.
    """
    result, printed = CallResult(), _Printed()

    def work() -> None:
        try:
            result.value = call()
        except Stopped:
            return
        except _ANYTHING as error:  # exit() raises, too
            result.error = error
        finally:
            _put_builtins_back(_BUILTINS)
        result.ended = True

    settings, theirs = Settings(), _STATE.theirs if _STATE.differ else None
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
            worker.work_for(LIMIT)
        finally:
            _put_builtins_back(_BUILTINS)
            result.left = not worker.stop()
            _LEFT.extend([worker] if result.left else [])
            settings.put_back()
            _STATE.own.put_back()
    result.printed = printed.text()
    return result


def run_ours(call: Callable[[], Any]) -> CallResult:
    """Make a call of our own code, which ends, restores what it changes, and may take its time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.default_generator.manual_seed(0)
        return CallResult(call(), ended=True)


@atexit.register
def _leave() -> None:
    """Leave without Python's own end, in which a thread that computes in C crashes."""
    if any(worker.is_alive() for worker in _LEFT):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


@contextmanager
def by_default() -> Iterator[None]:
    """Torch's own defaults: single precision, on the CPU, with gradients, not in inference mode."""
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        # The context makes each operation slower, so it is entered only where it is needed.
        is_cpu = torch.get_default_device().type == "cpu"
        device = nullcontext() if is_cpu else torch.device("cpu")
        with device, torch.inference_mode(mode=False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)


def _was_stopped() -> str:
    return TEXT("was_stopped", seconds=f"{LIMIT:g}")


class Rehearsal:
    """Calls in a copy of this process, in their order, before `run` makes each of them here.

    In a process nothing ends code in C that never returns, or survives a crash. No copy is made
    where this is not safe: outside Linux, while CUDA or a debugger is in use, in other threads.
    To be called in a `session`.
    """

    def __init__(self, calls: Sequence[Callable[[], object]]) -> None:
        self.copy = self.pipe = 0
        if (
            not calls
            or not COPIES
            or threading.current_thread() is not threading.main_thread()
            or torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
            or sys.gettrace() is not None
        ):
            return
        self.pipe, report = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns of other threads
            self.copy = os.fork()
        if not self.copy:
            _call_all(calls, report)
        os.close(report)

    def problem(self) -> str:
        """What the next call does instead of ending, in words; empty if it ends or is unknown."""
        if not self.copy:
            return ""
        ready, _, _ = select.select([self.pipe], [], [], LIMIT)
        if ready and os.read(self.pipe, 1):
            return ""
        stat = Path(f"/proc/{self.copy}/stat").read_text("utf-8", "replace")
        status = self.close()
        if ready:
            return "" if status == UNKNOWN else TEXT("ends_python")
        waits = stat.rpartition(")")[2].split()[0] == "S"  # `run` can abandon such a call
        return "" if waits else _was_stopped()

    def close(self) -> int:
        """End the copy, and give the status with which it exited."""
        if not self.copy:
            return UNKNOWN
        os.kill(self.copy, signal.SIGKILL)  # which does not change how it has already ended
        _, status = os.waitpid(self.copy, 0)
        os.close(self.pipe)
        self.copy = 0
        return os.waitstatus_to_exitcode(status)


def _call_all(calls: Sequence[Callable[[], object]], report: int) -> None:
    """Report each call that ends by a byte, and leave the copy of the process."""
    write, leave, anything = os.write, os._exit, BaseException
    try:
        _STATE.copied = True
        gc.disable()  # it would write to all that both processes share
        faulthandler.disable()
        signal.setitimer(signal.ITIMER_PROF, 60 * LIMIT)  # should this process be killed
        torch.set_num_threads = lambda nthreads: None  # noqa: ARG005 - the threads of the original are not here
        sys.stdout, sys.stderr, sys.stdin = _Printed(), _Printed(), io.StringIO()
        if _STATE.differ and _STATE.theirs:
            _STATE.theirs.put_back()
        for call in calls:
            try:  # noqa: SIM105 - the names that `suppress` needs may be gone
                call()
            except anything:
                pass
            write(report, b".")
    finally:
        leave(UNKNOWN)


class _Printed(io.TextIOBase):
    """Collects what a call prints and warns of, up to a limit; closing it changes nothing."""

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
        """Do nothing: printing continues."""

    def warned(self, message: Warning | str, *_: object, **__: object) -> None:
        """Replace `warnings.showwarning`."""
        # A position in torch's own code does not help a reader.
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
        self.may_begin, self.begins, self.done = (threading.Lock() for _ in range(3))
        for lock in (self.may_begin, self.begins, self.done):
            lock.acquire()

    def work_for(self, seconds: float) -> None:
        """Start the work and wait, in C only, because the work may have deleted a builtin."""
        self.may_begin.release()
        self.begins.acquire()  # on a busy machine, after a while
        self.done.acquire(timeout=seconds)

    def run(self) -> None:
        self.may_begin.acquire()
        while not self.over:
            try:
                if not self.begun:
                    self.begun = True
                    self.begins.release()
                    self.work()
                with self.gate:
                    self.over = True
                for _ in range(2):  # an exception thrown before the gate closed is raised here
                    pass
            except Stopped:  # thrown while the work was ending
                continue
        self.done.release()

    def stop(self) -> bool:
        """Throw until the thread ends, and return whether it did: C code cannot be interrupted."""
        for _ in range(5):
            if not self.is_alive():
                return True
            with self.gate:
                if not self.over:
                    self._throw()
            self.join(0.1)  # on a busy machine, an exception may take as long to arrive
        return not self.is_alive()

    def _throw(self) -> None:
        """Raise `Stopped` in this thread at its next step.

        It is never cancelled: Python would then wait for it forever in each traced call.
        """
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self.ident or 0), ctypes.py_object(Stopped)
        )
