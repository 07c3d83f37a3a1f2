"""Clean up after Ctrl-C and after SIGTERM, however a program was started."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived; code that cleans up after Ctrl-C also cleans up after it."""


def status(interrupt: KeyboardInterrupt) -> int:
    """The exit status of an interrupted program, by the convention of shells."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


def _nothing() -> None:
    pass


@contextmanager
def listening(prepare: Callable[[], None] = _nothing) -> Iterator[None]:
    """Call `prepare`, then raise KeyboardInterrupt at SIGINT, and Terminated at SIGTERM.

    A command that a shell without job control starts in the background, under `nohup` or by a CI
    runner inherits an ignored SIGINT; Python then installs no handler, and nothing is cleaned up.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        prepare()
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
