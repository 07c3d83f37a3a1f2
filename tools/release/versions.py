"""Whether the files that name the version agree on it, and on whether it is released."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml  # type: ignore[import-untyped]  # its types are a package of their own

HEADING = re.compile(r"^## (\S+) – (\S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
UNRELEASED = "unreleased"
INSTALL = re.compile(r"pip install (\S+)")
FROM_A_CLONE, BY_NAME = ".", "attnbook"


class Entry(NamedTuple):
    """What the changelog has about one version; `date` is empty while it is unreleased."""

    version: str
    date: str
    text: str


def entries(root: Path) -> list[Entry]:
    """The versions of the changelog, newest first."""
    found = HEADING.findall((root / "CHANGELOG.md").read_text("utf-8"))
    return [Entry(name, "" if date == UNRELEASED else date, text) for name, date, text in found]


def package_version(root: Path) -> str:
    """The version that the package and its build read."""
    text = (root / "attnbook" / "_version.py").read_text("utf-8")
    return text.split('__version__ = "')[1].split('"')[0]


def disagreements(root: Path) -> Iterator[str]:
    """Yield where the package, the changelog, the citation and the README disagree."""
    newest, version = entries(root)[0], package_version(root)
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    date = str(citation.get("date-released", ""))
    if newest.version != version:
        yield f"CHANGELOG.md must begin with {version}, attnbook's version, got {newest.version}"
    if citation["version"] != version:
        yield f"CITATION.cff must have version {version}, got {citation['version']}"
    if date != newest.date:
        yield (
            f"CITATION.cff must have the date of the changelog as date-released, "
            f"{newest.date or 'so none yet'}, got {date or 'none'}"
        )
    yield from readme_disagreements(root)


def readme_disagreements(root: Path) -> Iterator[str]:
    """Yield a README that installs by name what nobody can install, or hides that one can."""
    commands = INSTALL.findall((root / "README.md").read_text("utf-8"))
    by_name = [command for command in commands if command.strip("'\"").startswith(BY_NAME)]
    if any(entry.date for entry in entries(root)):
        if commands[0] != BY_NAME:
            yield f"README.md must begin with pip install {BY_NAME}, got {commands[0]}"
    elif by_name or commands[0] != FROM_A_CLONE:
        yield (
            f"nothing is released, so README.md must begin with pip install {FROM_A_CLONE} and "
            f"have no pip install {BY_NAME}, got {', '.join(commands)}"
        )


def refusals(root: Path, version: str) -> Iterator[str]:
    """Yield why this version cannot be released now."""
    yield from disagreements(root)
    if package_version(root) != version:
        yield f"attnbook/_version.py must have {version}, got {package_version(root)}"
    if not entries(root)[0].date:
        yield f"CHANGELOG.md must have the date of {version} instead of {UNRELEASED!r}"
