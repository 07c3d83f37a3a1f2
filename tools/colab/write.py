"""Write the chapters as notebooks that run in Colab, each with its own install cell.

python -m tools.colab.write [--target _build/colab] [--allow-dirty]
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import basename
from tempfile import TemporaryDirectory

import yaml  # type: ignore[import-untyped]  # it has no types

from tools import ROOT
from tools.book.build import render
from tools.book.state import BuildFolder
from tools.repository_address import (
    changed_files,
    colab_address,
    git,
    repository_address,
    site_address,
    tagged_version,
)
from tools.table_of_contents import pages

TARGET = Path("_build") / "colab"


class CopyError(Exception):
    """A reason why no copies can be made."""


@dataclass(frozen=True)
class Origin:
    """The commit of the copies, the addresses of its repository and its site, and its version."""

    root: Path
    repository: str
    commit: str
    site: str = ""
    version: str = ""  # released from this commit, so that the copies install it


def settings(origin: Origin) -> dict[str, object]:
    """The book's settings without those of its site; the outputs are the stored ones."""
    config = yaml.safe_load((origin.root / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    extensions = [name for name in config["extensions"] if not name.startswith("tools.site")]
    return {
        "extensions": [*extensions, "tools.colab.builder"],
        "html_static_path": [],
        "nb_execution_mode": "off",
        "suppress_warnings": ["mystnb.mime_priority"],  # no output comes from the page
        "copies_commit": origin.commit,
        "copies_repository": origin.repository,
        "copies_site": origin.site,
        "copies_version": origin.version,
    }


def write_copies(origin: Origin, target: Path) -> list[Path]:
    """Write all copies and their pictures into a new folder.

    Raises:
        CopyError: a copy differs from its chapter; then no copy is written.
    """
    folder = BuildFolder(origin.root, "copies")
    with folder.lock(), TemporaryDirectory() as site:
        sources = folder.prepare()
        if render(folder, Path(site), settings(origin), "colab"):
            raise CopyError("Sphinx reports above what differs from the chapters")
        folder.stamp.write_text(sources)
        shutil.copytree(origin.root / "img", Path(site, "img"))
        shutil.copy(origin.root / "LICENSE", site)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(site, target)
    paths = {path.stem: path for path in (target / "chapters").glob("*.ipynb")}
    return [paths[name] for name in map(basename, pages(origin.root)) if name in paths]


def commit_to_pin(root: Path, *, allow_dirty: bool = False) -> str:
    """The commit that the copies install; it must contain everything that is copied."""
    commit = git(root, "rev-parse", "HEAD")
    if not re.fullmatch(r"[0-9a-f]{40,64}", commit):
        raise CopyError(f"copies are pinned to a commit, and git finds none in {root}")
    changed = ", ".join(changed_files(root))
    if changed and not allow_dirty:
        raise CopyError(
            f"copies are pinned to commit {commit[:10]}, from which these files differ; "
            f"commit them first: {changed}"
        )
    return commit


def colab_repository(root: Path) -> str:
    """The address of the repository from which Colab opens the copies."""
    repository = repository_address(root)
    if not colab_address(repository, "any"):
        raise CopyError(
            "Colab opens notebooks of a repository on github.com; the git remote `origin` "
            f"(in CI: GITHUB_SERVER_URL and GITHUB_REPOSITORY) gives {repository!r}"
        )
    return repository


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the copies; 1 and the reason if they cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _toc.yml")
    parser.add_argument("--target", type=Path, help="default: _build/colab in the root")
    parser.add_argument(
        "--allow-dirty", action="store_true", help="to try it; do not publish the copies"
    )
    options = parser.parse_args(arguments)
    root, target = options.root.resolve(), options.target or options.root.resolve() / TARGET
    try:
        repository = colab_repository(root)
        commit = commit_to_pin(root, allow_dirty=options.allow_dirty)
        origin = Origin(root, repository, commit, site_address(), tagged_version())
        paths = write_copies(origin, target)
    except (CopyError, ValueError) as error:
        print(f"No Colab copies: {error}")
        return 1
    print(f"{len(paths)} copies of commit {commit[:10]} for {repository} in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
