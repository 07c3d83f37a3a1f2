"""Of what the publishing workflow does between building and deploying."""

from __future__ import annotations

import subprocess
import sys
import tarfile

import pytest

from tools import ROOT
from tools.ci import deploy


def address(tmp_path, site):
    """What the step prints and hands on, in a bare Python."""
    outputs = tmp_path / "outputs"
    done = subprocess.run(
        # Isolated: neither this environment's packages nor its variables.
        [sys.executable, "-S", "-m", "tools.ci.deploy", "address"],
        env={"BOOK_SITE": site, "GITHUB_OUTPUT": str(outputs)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, outputs.read_text() if outputs.exists() else None


def test_the_address_is_handed_on_with_a_slash_at_its_end(tmp_path):
    given = "https://someone.example/book"
    assert address(tmp_path, given) == (0, f"The site: {given}/\n", f"site={given}/\n")


def test_without_pages_it_says_what_to_enable_and_fails_nothing(tmp_path):
    status, said, handed = address(tmp_path, "")
    assert (status, handed) == (0, "site=\n")
    assert said.startswith("::warning ")
    assert "Settings > Pages" in said
    assert "GitHub Actions" in said


def test_an_address_that_is_not_https_is_refused_in_one_sentence(tmp_path):
    status, said, handed = address(tmp_path, "http://someone.example/")
    assert (status, handed) == (1, None)
    assert said.startswith("::error::BOOK_SITE must be an address like https://")
    assert len(said.splitlines()) == 1


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", folder, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def packed(tmp_path, *names):
    """An archive of copies as the workflow's upload makes it."""
    folder = tmp_path / "copies"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    folder.mkdir(exist_ok=True)
    with tarfile.open(tmp_path / "artifact.tar", "w") as tar:
        tar.add(folder, arcname=".")
    return tmp_path / "artifact.tar"


@pytest.fixture
def remote(tmp_path):
    """A repository whose branch of copies already holds something old."""
    remote = tmp_path / "remote.git"
    remote.mkdir()
    git(remote, "init", "--quiet", "--bare")
    old = tmp_path / "old"
    old.mkdir()
    (old / "old.txt").touch()
    deploy.push(old, str(remote), "old")
    return remote


def test_the_branch_holds_the_copies_and_nothing_else_in_one_commit(tmp_path, remote):
    names = ["chapters/a.ipynb", "chapters/b.ipynb", "img/a.svg"]
    archive = packed(tmp_path, *names)

    deploy.publish_copies(archive, str(remote))

    assert git(remote, "ls-tree", "-r", "--name-only", "colab").splitlines() == names
    assert git(remote, "show", "colab:img/a.svg") == "img/a.svg"
    assert git(remote, "rev-list", "--count", "colab") == "1"
    assert git(remote, "branch", "--format=%(refname:short)") == "colab"


def test_the_commit_says_which_commit_was_copied(tmp_path, remote):
    deploy.publish_copies(packed(tmp_path, "chapters/a.ipynb"), str(remote))
    commit = deploy.provenance.git(ROOT, "rev-parse", "HEAD") or "unknown"
    assert git(remote, "log", "-1", "--format=%s", "colab") == f"Colab copies of commit {commit}"


def test_what_git_would_ignore_is_a_copy_all_the_same(tmp_path, remote):
    archive = packed(tmp_path, "chapters/a.ipynb", ".gitignore")
    (tmp_path / "copies" / ".gitignore").write_text("*.ipynb\n")
    with tarfile.open(archive, "w") as tar:
        tar.add(tmp_path / "copies", arcname=".")
    deploy.publish_copies(archive, str(remote))
    assert "chapters/a.ipynb" in git(remote, "ls-tree", "-r", "--name-only", "colab")


def test_an_archive_without_a_notebook_leaves_the_branch_as_it_was(tmp_path, remote):
    with pytest.raises(ValueError, match=r"artifact\.tar must hold chapters/\*\.ipynb, got none"):
        deploy.publish_copies(packed(tmp_path, "img/a.svg"), str(remote))
    assert git(remote, "ls-tree", "-r", "--name-only", "colab") == "old.txt"


def test_a_push_that_is_refused_fails(tmp_path):
    archive = packed(tmp_path, "chapters/a.ipynb")
    with pytest.raises(subprocess.CalledProcessError):
        deploy.publish_copies(archive, str(tmp_path / "nowhere.git"))


def test_the_remote_is_the_repository_itself(monkeypatch):
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/book")
    assert deploy.known_remote() == "https://github.com/someone/book"


def test_without_a_repository_it_says_so(monkeypatch):
    monkeypatch.setattr(deploy.provenance, "repository_address", lambda _root: "")
    with pytest.raises(ValueError, match="no repository is known: set the remote origin"):
        deploy.known_remote()
