"""Trained weights in files that hold all that is needed to use them.

A file holds the weights, as safetensors. Its metadata holds the rest, such as sizes and
characters, and a digest of everything.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

from attnbook.models.checks import check_path

try:
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save
except ImportError as missing:
    raise ImportError(
        "attnbook.models.checkpoint_files needs safetensors: pip install 'attnbook[seq2seq]'"
    ) from missing

# One name, so that a file's bytes do not depend on an order of names.
KEY = "attnbook"


def write_weights(path: Path, about: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
    """Write a file; anyone who reads it meanwhile sees the old file or the new one.

    SIGINT and SIGTERM wait until the file is written; in another thread than the main one
    they may leave a temporary file.

    Args:
        path: in a folder that exists; a symbolic link is replaced, not followed.
        about: what else is needed, as JSON can hold it: keys become strings.
        weights: by name, on any device.

    Raises:
        TypeError: JSON cannot hold `about`.
        OSError: the file cannot be written; an older one is left as it was.
    """
    # Each weight gets its own memory, so tied weights are written twice.
    on_cpu = {
        name: part.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, part in weights.items()
    }
    about = json.loads(json.dumps(about))  # as it will be read: the digest must fit that
    metadata = json.dumps({"about": about, "digest": _digest(about, on_cpu)})
    _write_at_once(path, save(on_cpu, metadata={KEY: metadata}))


def _write_at_once(path: Path, content: bytes) -> None:
    # In the same folder, because only there os.replace is atomic. A symbolic link is replaced
    # itself, and the file that it points to is not.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with _signals_deferred():
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)  # noqa: PTH105 - the call that the docstring promises
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Delay SIGINT and SIGTERM; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    both = (signal.SIGINT, signal.SIGTERM)
    # None is a handler that Python did not set and cannot restore.
    numbers = [number for number in both if signal.getsignal(number) is not None]
    before = [signal.signal(number, lambda signum, _: arrived.append(signum)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        for each in arrived:
            signal.raise_signal(each)


def read_weights(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read `about` and the weights.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or is something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, framework="pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
            found = json.loads(file.metadata()[KEY])
        about = found["about"]
        whole = found["digest"] == _digest(about, weights)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as reason:
        refuse(path, f"{type(reason).__name__}: {reason}", reason)
    if not whole:
        refuse(path, "its content is not what was saved")
    return about, weights


def read_notes(path: Path | str) -> dict[str, Any]:
    """Read the notes that were saved with a model.

    Raises:
        TypeError: `path` cannot be a path.
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, is something else, or has no notes.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from attnbook.models.checkpoint_files import read_notes
        >>> from attnbook.models.translator.checkpoints import book_model, save_checkpoint
        >>> with TemporaryDirectory() as folder:
        ...     save_checkpoint(f"{folder}/a.safetensors", book_model("small"), {"epochs": 3})
        ...     read_notes(f"{folder}/a.safetensors")
        {'epochs': 3}
    """
    path = check_path(path)
    about, _ = read_weights(path)
    notes = about.get("notes") if isinstance(about, dict) else None
    if not isinstance(notes, dict):
        refuse(path, "it holds no notes")
    return notes


def refuse(path: Path, why: str, reason: Exception | None = None) -> NoReturn:
    """Refuse a file that is no valid checkpoint, with what to do about it.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"{path} is not a whole checkpoint ({why}); install attnbook again, or make the file again"
    ) from reason


def _digest(about: Mapping[str, Any], weights: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
        # Through a list, so that numpy is not needed.
        digest.update(bytes(weight.contiguous().flatten().view(torch.uint8).tolist()))
    return digest.hexdigest()
