"""Translators that are trained already, in files that hold all that is needed to use them.

A file holds the weights, as safetensors; its metadata hold the characters and the config,
and a digest of it all.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

try:
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save
except ImportError as missing:
    raise ImportError(
        "attnbook.models.translator.checkpoints needs safetensors: pip install 'attnbook[seq2seq]'"
    ) from missing

from attnbook.models.translator.config import Config
from attnbook.models.translator.model import Translator
from attnbook.models.translator.vocabulary import Vocabulary

__all__ = ["BOOK", "book_model", "load_checkpoint", "read_notes", "save_checkpoint"]

FOLDER = Path(__file__).parent
# One name, so that a file's bytes do not depend on an order of names.
KEY = "attnbook"


def _names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


BOOK = _names()


def book_model(name: str, device: torch.device | str = "cpu") -> Translator:
    """Load one of the book's trained models, ready to translate.

    Raises:
        ValueError: there is no such model, or its file is damaged.
    """
    if name not in BOOK:
        raise ValueError(f"name must be one of {', '.join(BOOK)}, got {name!r}")
    return load_checkpoint(FOLDER / f"{name}.safetensors", device)


def save_checkpoint(
    path: Path | str, model: Translator, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a model to a file; whoever reads it meanwhile sees the old file or the new one.

    Args:
        path: in a folder that exists; a symbolic link is replaced, not followed.
        model: a translator, on any device.
        notes: whatever else should be known of it, as JSON can hold it: keys become strings.

    Raises:
        TypeError: JSON cannot hold the notes.
        OSError: the file cannot be written; an older one is left as it was.
    """
    weights = {name: part.cpu().contiguous() for name, part in model.state_dict().items()}
    about = {
        "config": asdict(model.config),
        "source": model.source.characters,
        "target": model.target.characters,
        "notes": dict(notes or {}),
    }
    about = json.loads(json.dumps(about))  # as it will be read: the digest must fit that
    metadata = json.dumps({"about": about, "digest": _digest(about, weights)})
    _write_at_once(Path(path), save(weights, metadata={KEY: metadata}))


def _write_at_once(path: Path, content: bytes) -> None:
    # In the same folder: only there a file can take another's place at once. A symbolic
    # link is a file like any other here: it is replaced, and what it points to is not.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(0o644)
            os.replace(file.name, path)  # noqa: PTH105 - the call that the docstring promises
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def load_checkpoint(
    path: Path | str,
    device: torch.device | str = "cpu",
    *,
    source: Vocabulary | None = None,
) -> Translator:
    """Load a model, ready to translate.

    Args:
        path: a file that `save_checkpoint` wrote.
        device: where the model should be.
        source: what it must be able to read, if that matters already.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, is something else, or reads other characters.
    """
    about, weights = _read(Path(path))
    model = _model(Path(path), about, weights)
    if source is not None and source != model.source:
        raise ValueError(
            f"{path} must read the characters of source, but "
            f"{_difference(model.source.characters, source.characters)}"
        )
    return model.to(device).eval()


def read_notes(path: Path | str) -> dict[str, Any]:
    """Read what was noted when a model was saved.

    Raises:
        FileNotFoundError, ValueError: as `load_checkpoint` does; or nothing was noted.
    """
    about, _ = _read(Path(path))
    notes = about.get("notes") if isinstance(about, dict) else None
    if not isinstance(notes, dict):
        _refuse(Path(path), "it holds no notes")
    return notes


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, framework="pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
            found = json.loads(file.metadata()[KEY])
        about = found["about"]
        whole = found["digest"] == _digest(about, weights)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as reason:
        _refuse(path, f"{type(reason).__name__}: {reason}", reason)
    if not whole:
        _refuse(path, "its content is not what was saved")
    return about, weights


def _model(path: Path, about: dict[str, Any], weights: dict[str, Tensor]) -> Translator:
    try:
        source, target = Vocabulary(about["source"]), Vocabulary(about["target"])
        model = Translator(source, target, Config(**about["config"]))
        # Assigned, so that they keep their dtypes; clones, since the file may stay mapped.
        model.load_state_dict({k: weight.clone() for k, weight in weights.items()}, assign=True)
    except (RuntimeError, ValueError, KeyError, TypeError) as reason:
        _refuse(path, f"weights, characters and config do not belong together: {reason}", reason)
    return model


def _refuse(path: Path, why: str, reason: Exception | None = None) -> NoReturn:
    raise ValueError(
        f"{path} is not a whole checkpoint ({why}); install attnbook anew, or make it again"
    ) from reason


def _digest(about: Mapping[str, Any], weights: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
        # By way of a list, so that numpy is not needed.
        digest.update(bytes(weight.contiguous().flatten().view(torch.uint8).tolist()))
    return digest.hexdigest()


def _difference(has: str, wanted: str) -> str:
    lacking, more = sorted({*wanted} - {*has}), sorted({*has} - {*wanted})
    return f"it lacks {''.join(lacking)!r} and reads {''.join(more)!r} besides"
