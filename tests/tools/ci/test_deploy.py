"""The steps of the publishing workflow between building and deploying."""

from __future__ import annotations

import subprocess
import sys
import tarfile

import pytest

from tools import ROOT
from tools.ci import deploy


def address(tmp_path, site):
    """The status, the output and the result of the step, in a Python without packages."""
    outputs = tmp_path.with_suffix(".outputs")
    done = subprocess.run(
        # Isolated: neither this environment's packages nor its variables.
        [sys.executable, "-S", "-m", "tools.ci.deploy", "address"],
        env={"BOOK_SITE": site, "GITHUB_OUTPUT": str(outputs)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, outputs.read_text() if outputs.exists() else None


def test_the_address_is_passed_on_and_without_one_the_step_prints_what_to_enable(tmp_path):
    site = "https://someone.example/book"
    assert address(tmp_path / "1", site) == (0, f"The site: {site}/\n", f"site={site}/\n")
    status, output, result = address(tmp_path / "2", "")
    assert (status, result) == (0, "site=\n")
    assert output.startswith("::warning ")
    assert "Settings > Pages" in output


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", folder, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def pack(tmp_path, **files):
    """Make an archive of copies like the workflow's upload, from names and texts."""
    folder = tmp_path / "copies"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with tarfile.open(tmp_path / "artifact.tar", "w") as tar:
        tar.add(folder, arcname=".")
    return tmp_path / "artifact.tar"


COPIES = {"chapters/a.ipynb": "a", "chapters/b.ipynb": "b", "img/a.svg": "picture"}


@pytest.fixture
def remote(tmp_path):
    """A repository whose branch of copies has an old file."""
    remote = tmp_path / "remote.git"
    remote.mkdir()
    git(remote, "init", "--quiet", "--bare")
    old = tmp_path / "old"
    old.mkdir()
    (old / "old.txt").touch()
    deploy.push(old, str(remote), "old")
    return remote


def test_the_branch_contains_only_the_copies_in_one_commit(tmp_path, remote):
    copies = {".gitignore": "*.ipynb\n"} | COPIES  # files that git would ignore are copies, too
    deploy.publish_copies(pack(tmp_path, **copies), str(remote))

    assert git(remote, "ls-tree", "-r", "--name-only", "colab").splitlines() == [*copies]
    assert git(remote, "show", "colab:img/a.svg") == "picture"
    assert git(remote, "rev-list", "--count", "colab") == "1"
    assert git(remote, "branch", "--format=%(refname:short)") == "colab"
    commit = deploy.repository_address.git(ROOT, "rev-parse", "HEAD") or "unknown"
    assert git(remote, "log", "-1", "--format=%s", "colab") == f"Colab copies of commit {commit}"


def test_an_archive_without_a_notebook_leaves_the_branch_unchanged(tmp_path, remote):
    with pytest.raises(ValueError, match=r"artifact\.tar must hold chapters/\*\.ipynb, got none"):
        deploy.publish_copies(pack(tmp_path, **{"img/a.svg": ""}), str(remote))
    assert git(remote, "ls-tree", "-r", "--name-only", "colab") == "old.txt"
