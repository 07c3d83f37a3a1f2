"""The two files of a release: built from a commit, and what must be in them."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from email import message_from_bytes
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from packaging.metadata import Metadata
from readme_renderer import markdown
from trove_classifiers import classifiers

from tools.colab.clean_environment import UV, without_project

ABOUT = {"METADATA", "RECORD", "WHEEL", "licenses/LICENSE", "top_level.txt"}
OTHERS = set("LICENSE MANIFEST.in PKG-INFO README.md pyproject.toml setup.cfg".split())
LEFT_OUT = {".md", ".pyc"}  # files of the package for its developers
COMPLAINT = re.compile(r".*(?:warning|deprecated).*", re.IGNORECASE)
HREF = re.compile(r'href="#([^"]+)"')
DEAD = re.compile(r'(?:src|href)="(?!https?:|mailto:|#)([^"]*)"')


class Distributions(NamedTuple):
    """The files, the folder that they were built from, and what the build printed."""

    sdist: Path
    wheel: Path  # built from the sdist
    source: Path
    output: str

    def in_wheel(self) -> dict[str, bytes]:
        """The files of the wheel."""
        with ZipFile(self.wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def in_sdist(self) -> dict[str, bytes]:
        """The files of the sdist, without its top folder."""
        with tarfile.open(self.sdist) as archive:
            files = [(member.name, archive.extractfile(member)) for member in archive]
            return {name.partition("/")[2]: file.read() for name, file in files if file}

    def metadata(self) -> bytes:
        """What the wheel states about itself."""
        name = "-".join(self.wheel.name.split("-")[:2])
        return self.in_wheel()[f"{name}.dist-info/METADATA"]


def copy_commit(root: Path, folder: Path) -> None:
    """Copy the files of the commit that is checked out."""
    done = subprocess.run(["git", "archive", "HEAD"], cwd=root, stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=BytesIO(done.stdout)) as tar:
        tar.extractall(folder, filter="data")


def build(source: Path, target: Path, *options: str) -> Distributions:
    """Build both from a copy of the repository.

    Raises:
        RuntimeError: the build fails.
    """
    command: list[str | Path] = [UV, "build", *options, "--out-dir", target, source]
    # setuptools warns where Python writes no byte code.
    variables = {**without_project(dict(os.environ)), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if done.returncode:
        raise RuntimeError(f"the build failed:\n{output}")
    (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return Distributions(sdist, wheel, source, output)


def problems(built: Distributions) -> Iterator[str]:
    """Yield what is wrong with the files, before anything is installed from them."""
    yield from (f"the build prints {line.strip()}" for line in COMPLAINT.findall(built.output))
    yield from content_problems(built)
    yield from metadata_problems(built.metadata())


def content_problems(built: Distributions) -> Iterator[str]:
    """Yield the files that one of the two has and must not have, or lacks, or has changed."""
    files = [f for f in (built.source / "attnbook").rglob("*") if f.is_file()]
    package = {
        f.relative_to(built.source).as_posix(): f.read_bytes()
        for f in files
        if f.suffix not in LEFT_OUT
    }
    wheel, sdist = built.in_wheel(), built.in_sdist()
    about = {name.partition("/")[2] for name in wheel if ".dist-info/" in name}
    code = {name: content for name, content in wheel.items() if ".dist-info/" not in name}
    generated = {name for name in sdist if name.startswith("attnbook.egg-info/")}
    yield from (
        f"the wheel and its source differ in {name}" for name in sorted(differing(code, package))
    )
    yield from (f"the wheel differs from what it must state in {name}" for name in about ^ ABOUT)
    other = {*sdist} - generated ^ {*OTHERS, *package}
    yield from (f"the sdist and what it must hold differ in {name}" for name in sorted(other))


def differing(some: dict[str, bytes], others: dict[str, bytes]) -> set[str]:
    """The names of files that only one of two folders has, or that differ."""
    return {name for name in {*some, *others} if some.get(name) != others.get(name)}


def metadata_problems(metadata: bytes) -> Iterator[str]:
    """Yield what PyPI would refuse, or show otherwise than meant."""
    try:
        Metadata.from_email(metadata, validate=True)
    except ExceptionGroup as group:
        yield from (f"the metadata: {error}" for error in group.exceptions)
    about = message_from_bytes(metadata)
    for line in about.get_all("Classifier", []):
        if line not in classifiers:
            yield f"PyPI has no classifier {line!r}"
    if about["Description-Content-Type"] != "text/markdown":
        yield f"the README must be text/markdown, got {about['Description-Content-Type']}"
    page = rendered(metadata)
    if not page:
        yield "PyPI cannot render the README"
    dead = [name for name in HREF.findall(page) if f'id="{name}"' not in page]
    if about.get_all("Project-URL"):
        dead += DEAD.findall(page)
    yield from (f"on PyPI a link of the README leads nowhere: {link}" for link in dead)


def rendered(metadata: bytes) -> str:
    """The README as PyPI renders it; empty where it cannot."""
    text = message_from_bytes(metadata).get_payload(decode=True)
    return markdown.render(text.decode() if isinstance(text, bytes) else "") or ""
