"""A clean environment like Colab's: its versions where they can be had, and no attnbook."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.copies.colab_versions import COLAB

UV = Path(sysconfig.get_path("scripts")) / "uv"
IMPORT = "import attnbook, sys; sys.exit(attnbook.__file__)"


class NotLikeColabError(Exception):
    """The environment is not what a reader meets."""


def run(command: list[str | Path], **options: object) -> str:
    """What a command prints; all of it is the message when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]  # the options are subprocess's own
    if done.returncode:
        raise NotLikeColabError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def needed_by(name: str) -> dict[str, Distribution]:
    """A package of this environment and all that it needs, by their names."""
    known: dict[str, Distribution] = {}

    def add(name: str, extras: Iterable[str]) -> None:
        try:
            known[name] = distribution(name)
        except PackageNotFoundError:
            return  # for another system
        for asked in map(Requirement, known[name].requires or []):
            wanted = not asked.marker or any(asked.marker.evaluate({"extra": e}) for e in extras)
            other = canonicalize_name(asked.name)
            if wanted and (other not in known or asked.extras):
                add(other, ["", *asked.extras])

    add(name, [""])
    return known


def borrow(name: str, folder: Path, python: Path) -> None:
    """Let an environment import a package of this one, and only what that needs.

    It is linked into a folder of its own, which pip will not touch.
    """
    folder.mkdir()
    for found in needed_by(name).values():
        parts = {path.parts[0] for path in found.files or [] if path.parts[0] != ".."}
        for part in sorted(parts - {"__pycache__", "bin"}):
            source = Path(str(found.locate_file(part)))
            if source.exists() and not (folder / part).exists():
                (folder / part).symlink_to(source)
    own = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    (Path(own) / "borrowed.pth").write_text(f"{folder}\n")


def pip_into(python: Path) -> list[str | Path]:
    """The command that installs into an environment, and builds nothing there."""
    quiet = ["--quiet", "--no-config", "--only-binary", ":all:"]
    return [UV, "pip", "install", *quiet, "--python", python]


def install(wanted: list[str], python: Path) -> bool:
    """Install packages into an environment; whether they could be had."""
    return (
        subprocess.run([*pip_into(python), *wanted], capture_output=True, check=False).returncode
        == 0
    )


def install_colabs(versions: dict[str, str], python: Path) -> list[str]:
    """Install Colab's versions; of a package that cannot be had so here, any. Those are named."""
    if install([f"{name}=={version}" for name, version in versions.items()], python):
        return []
    others = [
        name for name, version in versions.items() if not install([f"{name}=={version}"], python)
    ]
    if others:
        run([*pip_into(python), *others])
    return others


def make_environment(folder: Path) -> Path:
    """Make the environment, and return its Python."""
    python = folder / "venv" / "bin" / "python"
    run([UV, "venv", "--quiet", "--no-config", "--python", sys.executable, folder / "venv"])
    # Torch is borrowed, and brings what it needs: it is gigabytes.
    for name in install_colabs({n: v for n, v in COLAB.items() if n != "torch"}, python):
        print(f"Colab's {name} {COLAB[name]} cannot be had here, so another one is taken")
    borrow("torch", folder / "borrowed", python)
    return python


def apart(environment: dict[str, str]) -> dict[str, str]:
    """The variables without those that lead Python back to this project."""
    own = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "VIRTUAL_ENV")
    return {name: value for name, value in environment.items() if name not in own}


def prove_absent(python: Path, folder: Path) -> None:
    """Refuse an environment that has the package before anybody installed it."""
    told = subprocess.run(
        [python, "-c", IMPORT],
        cwd=folder,
        env=apart(dict(os.environ)),
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named 'attnbook'" not in told.stderr:
        raise NotLikeColabError(f"attnbook is there before it is installed: {told.stderr.strip()}")


def installed(python: Path) -> dict[str, str]:
    """Every package that pip sees there, with its version or the address it came from."""
    listed = run([python, "-m", "pip", "freeze", "--all"], env=apart(dict(os.environ)))
    return dict(re.split(r"==| @ ", line, maxsplit=1) for line in listed.splitlines())


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The packages that went away or have another version."""
    return [
        f"{name} {version} became {after.get(name, 'nothing')}"
        for name, version in before.items()
        if after.get(name) != version
    ]
