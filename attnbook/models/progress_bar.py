"""The progress of a training: what each epoch reports, and a bar that shows it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TextIO

SECONDS_WITHOUT_BAR = 2.0


class Epoch(NamedTuple):
    """The results of an epoch: mean losses per character, and CPU seconds (without the GPU's).

    Example:
        >>> from attnbook.models.progress_bar import Epoch
        >>> Epoch(loss=0.5, validation_loss=0.6, seconds=2.0).validation_loss
        0.6
    """

    loss: float
    validation_loss: float
    seconds: float


Report = Callable[[float, list[Epoch]], None]


class Bar:
    """A progress bar on one line, to be given to `train` as its `report`.

    It is drawn again, after a carriage return, only when its text changes, and it always ends
    with the same words. So the output that a notebook stores is the same after each run.

    Args:
        stream: where to draw; standard output by default.

    Example:
        >>> import io
        >>> from attnbook.models.progress_bar import Bar, Epoch
        >>> bar = Bar(io.StringIO())  # without a stream, it is drawn on standard output
        >>> bar(1.0, [Epoch(loss=0.5, validation_loss=0.6, seconds=2.0)])
        >>> bar.stream.getvalue().strip()
        '████████████████████ trained'
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        if stream is not None and not hasattr(stream, "write"):
            raise TypeError(f"stream must be a text stream, got {type(stream).__name__}")
        self.stream = stream
        self._drawn = ""

    def __call__(self, share: float, history: Sequence[Epoch]) -> None:
        """Draw the progress, if its text has changed."""
        words = "trained" if share == 1 else f"epoch {len(history) + 1}"
        line = f"{'█' * int(20 * share):░<20} {words:8}"
        if line != self._drawn:
            stream = self.stream or sys.stdout
            stream.write(f"\r{line}" + ("\n" if share == 1 else ""))
            stream.flush()
            self._drawn = line


class LateBar:
    """A progress bar for work that may take long, drawn from the third second on.

    It is drawn on a terminal only: what a notebook stores must not depend on the machine's speed.

    Args:
        stream: where to draw; standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self._start = time.monotonic()
        self._is_drawn = False

    def __call__(self, share: float) -> None:
        """Draw how much is done, and at the end remove the bar."""
        if not self.stream.isatty() or time.monotonic() - self._start < SECONDS_WITHOUT_BAR:
            return
        bar = f"{'█' * int(20 * share):░<20} {share:4.0%}"
        if share < 1:
            self.stream.write(f"\r{bar}")
        elif self._is_drawn:
            self.stream.write(f"\r{' ' * len(bar)}\r")
        self._is_drawn = True
        self.stream.flush()
