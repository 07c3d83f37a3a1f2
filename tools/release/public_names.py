"""The public names of the package, and the list of those that the last release had.

Once there is a release, its readers' code uses these names: the changelog says of each that is
new or gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import attnbook
from tools.site.reference.api import rooms

LIST = Path("tools") / "release" / "public-names.txt"


def public_names() -> list[str]:
    """Each name of `attnbook.__all__`, of an API page, or of `__all__` of a module there."""
    names = {name for room in rooms() for name in room.names}
    names |= {f"attnbook.{name}" for name in attnbook.__all__}
    for module in {name.rpartition(".")[0] for name in names}:
        try:
            listed = getattr(import_module(module), "__all__", [])
        except ModuleNotFoundError:  # a class, whose method the page lists
            continue
        names |= {f"{module}.{name}" for name in listed}
    return sorted(names)


def unexplained(stored: Iterable[str], names: Iterable[str], changes: str) -> Iterator[str]:
    """Yield each name that is new or gone, and not between backticks in the changelog's entry."""
    old, new = set(stored), set(names)
    for name in sorted(old ^ new):
        if not re.search(rf"`(?:[\w.]*\.)?{re.escape(name.rpartition('.')[2])}\b[^`\n]*`", changes):
            yield f"the changelog must name `{name}`, which is {'new' if name in new else 'gone'}"


def compare(root: Path, names: list[str], changes: str) -> list[str]:
    """Compare the names with the list, and write the list if the changelog explains all changes.

    Returns the reasons to stop: names without an explanation, or a list to commit.
    """
    file = root / LIST
    stored = file.read_text("utf-8").split() if file.exists() else []
    # The first release stores the list: nothing that anyone uses has changed.
    problems = [*unexplained(stored, names, changes)] if stored else []
    if problems or stored == names:
        return problems
    file.write_text("\n".join([*names, ""]), "utf-8")
    return [f"{LIST.as_posix()} now has the {len(names)} public names: commit it, and run again"]
