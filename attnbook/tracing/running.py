"""Running a layer without changing the layer, its inputs or torch."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from threading import RLock, get_ident
from types import CellType
from typing import Any, TextIO

import torch

from attnbook.tracing.copying import Copies
from attnbook.tracing.functions import cell_contents, global_modules
from attnbook.tracing.recorder import Recorder, Section

DEFAULTS = ("__defaults__", "__kwdefaults__")

# A function's code and `sys.stdout` are one for all threads, and CPython 3.11 fails at times
# where two threads parse at once. Reentrant, since a layer may trace another.
one_at_a_time = RLock()


def observe(recorders: list[Recorder], copies: Copies) -> tuple[Exception | None, Section | None]:
    """Run a copy of a layer, and record it.

    Returns:
        The exception that it raised, and the innermost section that it left.
    """
    with _preserve_random_state(), _recording(recorders, copies):
        try:
            copies.layer(*copies.positional, **copies.by_name)
        except Exception as error:
            innermost = _locate(error, recorders)
            _release_frames(error)
            return error, innermost
        finally:
            for recorder in recorders:
                recorder.frames.clear()
    return None, None


@contextlib.contextmanager
def without_output() -> Iterator[None]:
    """Suppress what a second run would print or warn of again.

    What other threads print meanwhile is printed; what they warn of is not.
    """
    with (
        contextlib.redirect_stdout(_Muted(sys.stdout)),
        contextlib.redirect_stderr(_Muted(sys.stderr)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


class _Muted(io.TextIOBase):
    """Drops what this thread writes, and writes what other threads do."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream, self.thread = stream, get_ident()

    def write(self, text: str) -> int:
        if self.stream is not None and get_ident() != self.thread:
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        if self.stream is not None and get_ident() != self.thread:
            self.stream.flush()


@contextlib.contextmanager
def _preserve_random_state() -> Iterator[None]:
    """Restore the states of torch's and Python's random number generators at the end."""
    state = random.getstate()
    on_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count()) if on_gpu else []):
            yield
    finally:
        random.setstate(state)


@contextlib.contextmanager
def _recording(recorders: list[Recorder], copies: Copies) -> Iterator[None]:
    """Replace the code of the functions, so that every call is recorded, however it is made.

    What they close over, their defaults and the modules that they name are replaced by copies.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_uncompiled())
        for recorder in recorders:
            function = recorder.written.function
            for section in recorder.sections:
                section.running = copies.copy_or_original(section.owner)
            for cell in function.__closure__ or ():
                before = cell_contents(cell)
                stack.callback(_fill, cell, before)
                _fill(cell, tuple(map(copies.copy_if_possible, before)))
            new = {"__code__": recorder.code}
            new |= {name: copies.copy_if_possible(getattr(function, name)) for name in DEFAULTS}
            for name, value in new.items():
                stack.callback(setattr, function, name, getattr(function, name))
                setattr(function, name, value)
            for name, module in global_modules(function).items():
                stack.callback(function.__globals__.__setitem__, name, module)
                function.__globals__[name] = copies.of(module)
        yield


def _fill(cell: CellType, values: tuple[Any, ...]) -> None:
    """Set a closure variable to its earlier value, or unbind it if it had none."""
    if values:
        cell.cell_contents = values[0]
    elif cell_contents(cell):
        del cell.cell_contents


def _uncompiled() -> AbstractContextManager[Any]:
    # Where torch.compile has not been used, this would load it, which takes seconds.
    if "torch._dynamo" in sys.modules:
        return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]
    return contextlib.nullcontext()


def _locate(error: BaseException, recorders: list[Recorder]) -> Section | None:
    innermost = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        for recorder in recorders:
            section = recorder.section_of(frame)
            if section is not None:
                section.error_line, innermost = line, section
    return innermost


def _release_frames(error: BaseException | None) -> None:
    """Free the tensors that an exception would keep alive through its frames."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__
