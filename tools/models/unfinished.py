"""Save what an interrupted training has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnbook.models.progress_bar import Bar, Epoch

Save = Callable[[Path, dict[str, Any]], None]


class Progress:
    """A progress bar that stores the finished epochs."""

    def __init__(self) -> None:
        self.bar, self.epochs = Bar(), list[Epoch]()

    def __call__(self, share: float, epochs: list[Epoch]) -> None:
        """Draw the progress."""
        self.epochs = epochs
        self.bar(share, epochs)


@contextmanager
def saving_unfinished(path: Path, save: Callable[[Path], None]) -> Iterator[None]:
    """Save the weights of an interrupted training, and print their path.

    Args:
        path: of the checkpoint, which is not changed; the weights are in a separate file.
        save: writes the model to a path.
    """
    unfinished = path.with_suffix(".unfinished")
    try:
        yield
    except KeyboardInterrupt:
        save(unfinished)
        print(f"\n{path.stem}: interrupted; the weights so far are in {unfinished}")
        raise
    unfinished.unlink(missing_ok=True)


@contextmanager
def saving_best_epoch(path: Path, progress: Progress, save: Save) -> Iterator[None]:
    """Save the best epoch of an interrupted training, and print its path.

    Args:
        path: of the checkpoint, which is not changed; the epoch is in a separate file.
        progress: the report of the training.
        save: writes the model, with notes, to a path.
    """
    unfinished = path.with_suffix(".unfinished")
    try:
        yield
    except KeyboardInterrupt:
        losses = [epoch.validation_loss for epoch in progress.epochs]
        if losses:
            best = 1 + losses.index(min(losses))
            save(unfinished, {"interrupted after epoch": len(losses), "epoch": best})
            print(f"\n{path.stem}: interrupted; the best of {len(losses)} epochs is {unfinished}")
        else:
            print(f"\n{path.stem}: interrupted in its first epoch; nothing is saved")
        raise
    unfinished.unlink(missing_ok=True)
