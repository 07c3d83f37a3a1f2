"""Make a clean environment like Colab's: its versions where available, and no attnbook."""

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

from tools.colab.versions import COLAB

UV = Path(sysconfig.get_path("scripts")) / "uv"
IMPORT = "import attnbook, sys; sys.exit(attnbook.__file__)"


class StepFailedError(Exception):
    """An environment is not as a reader's, or a step in it fails."""


def run(command: list[str | Path], **options: object) -> str:
    """Run a command and return its output; if it fails, the error holds all output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]  # the options are subprocess's own
    if done.returncode:
        raise StepFailedError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def needed_by(name: str) -> dict[str, Distribution]:
    """A package of this environment and all its requirements, by name."""
    packages: dict[str, Distribution] = {}

    def add(name: str, extras: Iterable[str]) -> None:
        try:
            packages[name] = distribution(name)
        except PackageNotFoundError:
            return  # for another system
        for requirement in map(Requirement, packages[name].requires or []):
            marker, other = requirement.marker, canonicalize_name(requirement.name)
            applies = not marker or any(marker.evaluate({"extra": extra}) for extra in extras)
            if applies and (other not in packages or requirement.extras):
                add(other, ["", *requirement.extras])

    add(name, [""])
    return packages


def borrow(name: str, folder: Path, python: Path) -> None:
    """Let an environment import a package of this one with its requirements, and no others.

    They are linked into a separate folder, which pip does not change.
    """
    folder.mkdir()
    for package in needed_by(name).values():
        parts = {path.parts[0] for path in package.files or [] if path.parts[0] != ".."}
        for part in sorted(parts - {"__pycache__", "bin"}):
            source = Path(str(package.locate_file(part)))
            if source.exists() and not (folder / part).exists():
                (folder / part).symlink_to(source)
    site_packages = run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    ).strip()
    (Path(site_packages) / "borrowed.pth").write_text(f"{folder}\n")


def pip_into(python: Path) -> list[str | Path]:
    """The command that installs into an environment without building anything."""
    quiet = ["--quiet", "--no-config", "--only-binary", ":all:"]
    return [UV, "pip", "install", *quiet, "--python", python]


def install(requirements: list[str], python: Path) -> bool:
    """Install packages into an environment; whether they are available."""
    return (
        subprocess.run(
            [*pip_into(python), *requirements], capture_output=True, check=False
        ).returncode
        == 0
    )


def install_colabs(versions: dict[str, str], python: Path) -> list[str]:
    """Install Colab's versions, or others where one is not available; gives those names."""
    if install([f"{name}=={version}" for name, version in versions.items()], python):
        return []
    others = [
        name for name, version in versions.items() if not install([f"{name}=={version}"], python)
    ]
    if others:
        run([*pip_into(python), *others])
    return others


def make_environment(folder: Path) -> Path:
    """Make the environment; gives its Python."""
    python = folder / "venv" / "bin" / "python"
    run([UV, "venv", "--quiet", "--no-config", "--python", sys.executable, folder / "venv"])
    # Torch is gigabytes, so it is borrowed with its requirements.
    for name in install_colabs({n: v for n, v in COLAB.items() if n != "torch"}, python):
        print(f"Colab's {name} {COLAB[name]} is not available, so another version is used.")
    borrow("torch", folder / "borrowed", python)
    return python


def without_project(environment: dict[str, str]) -> dict[str, str]:
    """The variables without those that lead Python to this project."""
    own = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "VIRTUAL_ENV")
    return {name: value for name, value in environment.items() if name not in own}


def prove_absent(python: Path, folder: Path) -> None:
    """Refuse an environment that has the package before it is installed."""
    done = subprocess.run(
        [python, "-c", IMPORT],
        cwd=folder,
        env=without_project(dict(os.environ)),
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named 'attnbook'" not in done.stderr:
        raise StepFailedError(f"attnbook exists before it is installed: {done.stderr.strip()}")


def list_installed(python: Path) -> dict[str, str]:
    """Every package that pip lists there, with its version or its address."""
    output = run([python, "-m", "pip", "freeze", "--all"], env=without_project(dict(os.environ)))
    return dict(re.split(r"==| @ ", line, maxsplit=1) for line in output.splitlines())


def list_changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The packages that are gone or have another version."""
    return [
        f"{name} {version} became {after.get(name, 'nothing')}"
        for name, version in before.items()
        if after.get(name) != version
    ]
