"""Decoders that are trained already, each in a file with snapshots of its training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnbook.checks import check_size, check_whole_number, describe_value
from attnbook.models.checkpoint_files import read_notes, read_weights, refuse, write_weights
from attnbook.models.checks import check_device, check_kind, check_list, check_notes, check_path
from attnbook.models.progress_bar import Epoch
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.vocabulary import Vocabulary, WordVocabulary

__all__ = ["BOOK", "Snapshots", "book_decoder", "decoder_steps", "read_notes", "save_decoder"]

FOLDER = Path(__file__).parent


def _names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


BOOK = _names()


class Snapshots:
    """Copies of a model's weights at some steps of its training; pass it to `fit` as `report`.

    Args:
        model: the model that is trained.
        steps: the steps before which the weights are copied, from 0.
        total: how many steps there are in all; the weights at the end are the last copy.

    After training, `kept` holds the weights by step.

    Raises:
        TypeError, ValueError: an argument has another type or range.

    Example:
        >>> from attnbook.models.training import Plan, fit
        >>> from attnbook.models.transformer.checkpoints import Snapshots, book_decoder
        >>> from attnbook.models.transformer.decoder import make_lines
        >>> model = book_decoder("copying")
        >>> lines, snapshots = make_lines(model, ["gbdg"]), Snapshots(model, steps=[0], total=2)
        >>> epochs = fit(model, lines, lines, Plan(epochs=2), report=snapshots)
        >>> [*snapshots.kept]
        [0, 2]
    """

    def __init__(self, model: Decoder, steps: Sequence[int], total: int) -> None:
        check_kind("model", model, Decoder)
        for step in check_list("steps", steps, "whole numbers"):
            check_whole_number("steps", step, "a list of whole numbers")
        check_size("total", total)
        self.model, self.steps, self.total = model, set(steps), total
        self.kept: dict[int, dict[str, Tensor]] = {}

    def __call__(self, share: float, _history: Sequence[Epoch]) -> None:
        """Copy the weights, if this is one of the steps."""
        step = round(share * self.total)
        if step in self.steps or step == self.total:
            weights = self.model.state_dict()
            self.kept[step] = {name: part.detach().clone() for name, part in weights.items()}


def book_decoder(name: str, step: int | None = None, device: torch.device | str = "cpu") -> Decoder:
    """Load one of the book's trained decoders, in eval mode.

    Args:
        name: "copying", which continues lines that repeat, "story", which answers questions about
            stories, one of these trained from another seed, "copying-1" or "story-2", or one
            trained with a change, such as "copying-one-layer" or "story-without-attention".
        step: which snapshot of the training, one of `decoder_steps(name)`; by default the last.
        device: where the model should be.

    Raises:
        TypeError: `step` is no whole number.
        ValueError: there is no such model, snapshot or device, or the file is damaged.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> book_decoder("copying").write(["gbdkafcdkafc"], 5)
        ['gbdkafcdkafcdkafc']
    """
    path = _path(name)
    check_device(device)
    if step is not None:
        check_whole_number("step", step)
    about, weights = read_weights(path)
    steps = _steps(path, about)
    step = steps[-1] if step is None else step
    if step not in steps:
        raise ValueError(f"step must be one of {', '.join(map(str, steps))}, got {step}")
    start = f"{step}/"
    chosen = {
        name.removeprefix(start): weight.float().clone()
        for name, weight in weights.items()
        if name.startswith(start)
    }
    try:
        words = about.get("words")
        vocabulary = Vocabulary(about["characters"]) if words is None else WordVocabulary(words)
        model = Decoder(vocabulary, DecoderConfig(**about["config"]))
        model.load_state_dict(chosen, assign=True)
    except (RuntimeError, ValueError, KeyError, TypeError) as reason:
        refuse(path, f"weights, characters and config do not belong together: {reason}", reason)
    return model.to(device).eval()


def decoder_steps(name: str) -> list[int]:
    """Give the steps of training at which a model's weights were copied; the last is the end.

    Raises:
        ValueError: there is no such model, or its file is damaged.

    Example:
        >>> from attnbook.models.transformer.checkpoints import decoder_steps
        >>> steps = decoder_steps("copying")
        >>> steps[0], steps[-1]
        (0, 3000)
    """
    path = _path(name)
    return _steps(path, read_weights(path)[0])


def _path(name: str) -> Path:
    if name not in BOOK:
        raise ValueError(f"name must be one of {', '.join(BOOK)}, got {describe_value(name)}")
    return FOLDER / f"{name}.safetensors"


def _steps(path: Path, about: Mapping[str, Any]) -> list[int]:
    steps: Any = about.get("steps") if isinstance(about, dict) else None
    if not steps:
        refuse(path, "it names no steps")
    return list(steps)


def save_decoder(
    path: Path | str,
    model: Decoder,
    snapshots: Mapping[int, Mapping[str, Tensor]],
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write snapshots of a model; anyone who reads the file meanwhile sees the old or the new one.

    Args:
        path: in a folder that exists; a symbolic link is replaced, not followed.
        model: the decoder, for its characters and config.
        snapshots: weights by step, as `Snapshots.kept` has them, at least one.
        notes: anything else to store, as JSON can hold it.

    Raises:
        ValueError: there are no snapshots.
        TypeError: an argument is of another type, or JSON cannot hold the notes.
        OSError: the file cannot be written; an older one is left as it was.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from attnbook.models.checkpoint_files import read_notes
        >>> from attnbook.models.transformer.checkpoints import book_decoder, save_decoder
        >>> model = book_decoder("copying")
        >>> with TemporaryDirectory() as folder:
        ...     save_decoder(f"{folder}/a.safetensors", model, {0: model.state_dict()}, {"seed": 1})
        ...     read_notes(f"{folder}/a.safetensors")
        {'seed': 1}
    """
    check_kind("model", model, Decoder)
    check_kind("snapshots", snapshots, Mapping)
    if not snapshots:
        raise ValueError("snapshots must hold at least one step, got none")
    about = {
        "config": asdict(model.config),
        model.vocabulary.kind: (
            model.vocabulary.symbols
            if isinstance(model.vocabulary, WordVocabulary)
            else model.vocabulary.characters
        ),
        "steps": sorted(snapshots),
        "notes": check_notes(notes),
    }
    weights = {
        f"{step}/{name}": part for step, parts in snapshots.items() for name, part in parts.items()
    }
    write_weights(check_path(path), about, weights)
