"""Running a layer so that nothing is left behind: not in it, not in its inputs, not in torch."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from threading import RLock, get_ident
from typing import Any, TextIO

import torch

from attnbook.tracing.recorder import Recorder, Section

# A function's code and `sys.stdout` are one for all threads, and CPython 3.11 fails at times
# where two threads parse at once. Reentrant, since a layer may trace another.
one_at_a_time = RLock()


def observe(
    recorders: list[Recorder], undone: AbstractContextManager[None], call: Callable[[], object]
) -> tuple[Exception | None, Section | None]:
    """Run a call while the recorders listen, and have what it did undone.

    Returns:
        The exception that the call raised, and the innermost section that it left.
    """
    with undone, _listening(recorders):
        try:
            call()
        except Exception as error:
            innermost = _locate(error, recorders)
            _let_go(error)
            return error, innermost
        finally:
            for recorder in recorders:
                recorder.frames.clear()
    return None, None


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Swallow what a second run would print or warn of once more.

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
    """Swallows what this thread writes, and hands on what the others do."""

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
def _listening(recorders: list[Recorder]) -> Iterator[None]:
    """Exchange the code of the functions, so that every call is heard, however it is made."""
    before = [recorder.written.function.__code__ for recorder in recorders]
    with _uncompiled():
        try:
            for recorder in recorders:
                recorder.written.function.__code__ = recorder.code
            yield
        finally:
            for recorder, code in zip(recorders, before, strict=True):
                recorder.written.function.__code__ = code


def _uncompiled() -> AbstractContextManager[Any]:
    # Where torch.compile has not been used, asking for it would only load it: seconds.
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


def _let_go(error: BaseException | None) -> None:
    """Free the tensors that an exception would hold through the frames it passed."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__
