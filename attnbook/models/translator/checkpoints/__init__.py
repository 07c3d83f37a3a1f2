"""Translators that are trained already, each in a file with its characters and its config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnbook.checks import describe_value
from attnbook.models.checkpoint_files import read_notes, read_weights, refuse, write_weights
from attnbook.models.checks import check_device, check_kind, check_notes, check_path
from attnbook.models.translator.config import Config
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import Vocabulary

__all__ = ["BOOK", "book_model", "load_checkpoint", "read_notes", "save_checkpoint"]

FOLDER = Path(__file__).parent


def _names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


BOOK = _names()


def book_model(name: str, device: torch.device | str = "cpu") -> Translator:
    """Load one of the book's trained translators, ready to translate.

    Raises:
        ValueError: there is no such model or device, or the file is damaged.

    Example:
        >>> from attnbook.models.translator.checkpoints import book_model
        >>> book_model("small").translate(["3 May 2024"])[0].output
        '2024-05-03'
    """
    if name not in BOOK:
        raise ValueError(f"name must be one of {', '.join(BOOK)}, got {describe_value(name)}")
    return load_checkpoint(FOLDER / f"{name}.safetensors", device)


def save_checkpoint(
    path: Path | str, model: Translator, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a translator to a file; anyone who reads it meanwhile sees the old or the new one.

    Args:
        path: in a folder that exists; a symbolic link is replaced, not followed.
        model: a translator, on any device.
        notes: anything else to store, as JSON can hold it: keys become strings.

    Raises:
        TypeError: an argument is of another type, or JSON cannot hold the notes.
        OSError: the file cannot be written; an older one is left as it was.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from attnbook.models.translator import checkpoints
        >>> with TemporaryDirectory() as folder:
        ...     path = f"{folder}/a.safetensors"
        ...     checkpoints.save_checkpoint(path, checkpoints.book_model("small"))
        ...     [path.name for path in Path(folder).iterdir()]
        ['a.safetensors']
    """
    check_kind("model", model, Translator)
    about = {
        "config": asdict(model.config),
        "source": model.source.characters,
        "target": model.target.characters,
        "notes": check_notes(notes),
    }
    write_weights(check_path(path), about, model.state_dict())


def load_checkpoint(
    path: Path | str,
    device: torch.device | str = "cpu",
    *,
    source: Vocabulary | None = None,
) -> Translator:
    """Load a translator from a file that `save_checkpoint` wrote, ready to translate.

    Args:
        path: a file that `save_checkpoint` wrote.
        device: the device of the model.
        source: characters that it must read; None accepts any.

    Raises:
        TypeError: `path` cannot be a path.
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, is something else, or reads other characters.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from attnbook.models.translator import checkpoints
        >>> with TemporaryDirectory() as folder:
        ...     path = f"{folder}/mine.safetensors"
        ...     checkpoints.save_checkpoint(path, checkpoints.book_model("small"))
        ...     model = checkpoints.load_checkpoint(path)
        >>> model.translate(["3 May 2024"])[0].output
        '2024-05-03'
    """
    path = check_path(path)
    check_device(device)
    if source is not None:
        check_kind("source", source, Vocabulary)
    about, weights = read_weights(path)
    model = _make_model(path, about, weights)
    if source is not None and source != model.source:
        raise ValueError(
            f"{path} must read the characters of source, but "
            f"{_describe_difference(model.source.characters, source.characters)}"
        )
    return model.to(device).eval()


def _make_model(path: Path, about: dict[str, Any], weights: dict[str, Tensor]) -> Translator:
    try:
        source, target = Vocabulary(about["source"]), Vocabulary(about["target"])
        model = Translator(source, target, Config(**about["config"]))
        # Assigned, so that they keep their dtypes; clones, since the file may stay mapped.
        model.load_state_dict({k: weight.clone() for k, weight in weights.items()}, assign=True)
    except (RuntimeError, ValueError, KeyError, TypeError) as reason:
        refuse(path, f"weights, characters and config do not belong together: {reason}", reason)
    return model


def _describe_difference(has: str, wanted: str) -> str:
    lacking, more = sorted({*wanted} - {*has}), sorted({*has} - {*wanted})
    return f"it lacks {''.join(lacking)!r} and reads {''.join(more)!r} in addition"
