"""Each fault of the two files is found; `tests/project/test_package.py` builds the real ones."""

from __future__ import annotations

import subprocess
import tarfile
from zipfile import ZipFile

import pytest

from tools.release.distributions import (
    ABOUT,
    OTHERS,
    Distributions,
    build,
    content_problems,
    copy_commit,
    metadata_problems,
    problems,
)

PACKAGE = {"attnbook/__init__.py": b"code", "attnbook/py.typed": b""}
METADATA = b"""Metadata-Version: 2.4
Name: attnbook
Version: 0.1.0
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

# Attention

[Install](#install) ![a](https://b.org/a.png)

## Install
"""


@pytest.fixture
def written(tmp_path):
    """A function that writes a source, a wheel and an sdist with these files."""

    def write(wheel=PACKAGE, sdist=PACKAGE, about=ABOUT, output=""):
        for name, content in (PACKAGE | {"attnbook/README.md": b"for developers"}).items():
            (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "source" / name).write_bytes(content)
        with ZipFile(tmp_path / "attnbook-0.1.0-py3-none-any.whl", "w") as archive:
            for name, content in wheel.items():
                archive.writestr(name, content)
            for name in about:
                archive.writestr(f"attnbook-0.1.0.dist-info/{name}", METADATA)
        with tarfile.open(tmp_path / "attnbook-0.1.0.tar.gz", "w:gz") as archive:
            for name in {*sdist, *OTHERS, "attnbook.egg-info/SOURCES.txt"}:
                info = tarfile.TarInfo(f"attnbook-0.1.0/{name}")
                archive.addfile(info)
        files = (tmp_path / "attnbook-0.1.0.tar.gz", tmp_path / "attnbook-0.1.0-py3-none-any.whl")
        return Distributions(*files, tmp_path / "source", output)

    return write


def test_files_that_hold_what_they_must_have_no_problem(written):
    assert [*problems(written())] == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"wheel": PACKAGE | {"tests/test_a.py": b""}}, "wheel and its source differ in tests/"),
        ({"wheel": PACKAGE | {"attnbook/py.typed": b"x"}}, "differ in attnbook/py.typed"),
        ({"wheel": {"attnbook/__init__.py": b"code"}}, "differ in attnbook/py.typed"),
        ({"about": ABOUT - {"licenses/LICENSE"}}, "differs from what it must state in licenses/"),
        ({"sdist": PACKAGE | {"secret.txt": b""}}, "must hold differ in secret.txt"),
        ({"sdist": {"attnbook/__init__.py": b""}}, "must hold differ in attnbook/py.typed"),
    ],
)
def test_a_file_that_is_missing_added_or_changed_is_named(written, changes, message):
    (problem,) = content_problems(written(**changes))
    assert message in problem


def test_what_the_build_complains_about_is_a_problem(written):
    (problem,) = problems(written(output="ok\nSetuptoolsDeprecationWarning: old\n"))
    assert problem == "the build prints SetuptoolsDeprecationWarning: old"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (b"Version: 0.1.0", b"Version: one", "'one' is invalid for 'version'"),
        (b"Typing :: Typed", b"Typing :: Guessed", "no classifier 'Typing :: Guessed'"),
        (b"text/markdown", b"text/plain", "must be text/markdown, got text/plain"),
        (METADATA.partition(b"\n\n")[2], b"", "cannot render"),
        (b"## Install", b"## Use", "nowhere: user-content-install"),
        (b"\n\n# Attention", b"\nProject-URL: Source, https://b.org\n\n[a](b.md)", "nowhere: b.md"),
    ],
)
def test_metadata_that_pypi_refuses_or_shows_otherwise_are_named(before, after, message):
    assert [*metadata_problems(METADATA)] == []
    (problem,) = metadata_problems(METADATA.replace(before, after))
    assert message in problem


def test_a_copy_has_the_commit_and_a_build_that_fails_has_its_output(tmp_path):
    source, copy = tmp_path / "source", tmp_path / "copy"
    copy.mkdir()
    git = ["git", "-C", source, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "--quiet", source], check=True)
    (source / "pyproject.toml").write_text("[project]\n")
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "a"], check=True)
    (source / "later.txt").touch()
    copy_commit(source, copy)
    assert [file.name for file in copy.iterdir()] == ["pyproject.toml"]
    with pytest.raises(RuntimeError, match=r"the build failed:\n(.|\n)*name"):
        build(copy, tmp_path / "dist", "--no-build-isolation", "--offline")
