"""Run what a reader wrote: it may never end, raise anything, print, warn, or change the world."""

from __future__ import annotations

import ctypes
import io
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

import torch

LIMIT = 10.0
"""Seconds that one call may take."""


class Stopped(BaseException):
    """Thrown into what does not end. No Exception, so that `except Exception` lets it pass."""


@dataclass
class Ran:
    """How a call went: it gave a value, or an error, or did not end."""

    value: Any = None
    error: BaseException | None = None
    ended: bool = False
    left: bool = False  # whether it still runs
    said: str = ""  # what it printed and warned of

    @property
    def endless(self) -> str:
        """A sentence if the call did not end."""
        if self.ended:
            return ""
        if self.left:
            return "The call does not end, and cannot be stopped: restart Python."
        return "The call does not end: it was stopped."


def run(call: Callable[[], Any]) -> Ran:
    """Call, in a thread that can be given up, and hand back whatever happens.

    Afterwards torch's random numbers on the CPU and its default type are as they were, and
    nothing was printed.
    """
    ran, out = Ran(), io.StringIO()

    def work() -> None:
        try:
            ran.value = call()
        except Stopped:
            return
        except BaseException as error:  # exit() is an answer, too
            ran.error = error
        ran.ended = True

    dtype = torch.get_default_dtype()
    worker = _Worker(work)
    with (
        torch.random.fork_rng(devices=[]),
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(out),
        redirect_stderr(out),
    ):
        warnings.simplefilter("always")
        torch.default_generator.manual_seed(0)
        try:
            worker.start()
            worker.join(LIMIT)
        finally:
            ran.left = not worker.stop()
            torch.set_default_dtype(dtype)
    # Where in torch's own code a warning was raised says nothing to a reader.
    warnings_said = [str(each.message).split(" (Triggered internally")[0] for each in warned]
    ran.said = "\n".join([out.getvalue().strip(), *warnings_said]).strip()
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


class _Worker(Thread):
    """A thread into which `Stopped` can be thrown while it works, and not while it leaves."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.work, self.begun, self.over, self.gate = work, False, False, Lock()

    def run(self) -> None:
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

    def stop(self) -> bool:
        """Throw until the thread ends, and say whether it did: C code does not listen."""
        for _ in range(50):
            if not self.is_alive():
                return True
            with self.gate:
                if not self.over:
                    self._throw()
            time.sleep(0.01)
        return not self.is_alive()

    def _throw(self) -> None:
        """Into this thread at its next step.

        It is never taken back by throwing nothing: Python would then wait for it in each call
        that is traced, for ever.
        """
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self.ident or 0), ctypes.py_object(Stopped)
        )
