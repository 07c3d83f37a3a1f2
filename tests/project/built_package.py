"""Build the package, and make new environments to install it in.

Torch is gigabytes, so it is borrowed from this environment, with its requirements only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import attnbook
from tools import ROOT
from tools.copies.clean_environment import borrow

UV = Path(sysconfig.get_path("scripts")) / "uv"
VERSION = attnbook.__version__
BUILT_HERE = ".git .venv _build build node_modules __pycache__ *.egg-info .*_cache .hypothesis"
# setuptools warns where Python writes no byte code; a path would lead to other packages.
LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "MYPYPATH")


def run(*command: object, fails: bool | None = False, **options) -> subprocess.CompletedProcess:
    """Run a command; if it does not end as expected, the error holds its whole output."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False,
        env={name: text for name, text in os.environ.items() if name not in LEFT_OUT}, **options,
    )  # fmt: skip
    as_expected = fails is None or bool(done.returncode) == fails
    assert as_expected, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@dataclass(frozen=True)
class Built:
    """A clean copy of the repository, and the distributions that were built from it."""

    source: Path
    sdist: Path
    wheel: Path  # built from the sdist
    output: str

    @property
    def metadata(self) -> Message:
        return message_from_string(contents(self.wheel)[f"attnbook-{VERSION}.dist-info/METADATA"])


def contents(wheel: Path) -> dict[str, str]:
    """The files of a wheel, each with its text."""
    with ZipFile(wheel) as archive:
        return {name: text_of(name, archive.read(name)) for name in archive.namelist()}


def text_of(name: str, content: bytes) -> str:
    """Decode a file; the bytes of weights become letters."""
    return content.decode("latin-1" if name.endswith(".safetensors") else "utf-8")


def build(folder: Path) -> Built:
    """Build sdist and wheel from a clean copy of the repository."""
    source, built = folder / "source", folder / "dist"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*BUILT_HERE.split()))
    done = run(UV, "build", "--out-dir", built, source)
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    return Built(source, sdist, wheel, done.stdout + done.stderr)


def new_environment(folder: Path) -> Path:
    """Make an environment that holds only a borrowed torch; gives its Python."""
    python = folder / "venv" / "bin" / "python"
    run(UV, "venv", "--python", sys.executable, folder / "venv")
    borrow("torch", folder / "borrowed", python)
    return python
