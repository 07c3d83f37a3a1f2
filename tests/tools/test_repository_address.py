"""The address of the repository, and the commit that a page was built from."""

from __future__ import annotations

import subprocess

import pytest

from tools.repository_address import (
    describe_commit,
    repository_address,
    tagged_version,
    web_address,
)

REMOTES = [
    ("https://github.com/someone/book.git", "https://github.com/someone/book"),
    ("https://someone:secret@github.com/someone/book", "https://github.com/someone/book"),
    ("git@github.com:someone/book.git", "https://github.com/someone/book"),
    ("ssh://git@gitlab.com/group/sub/book.git", "https://gitlab.com/group/sub/book"),
    ("../book", ""),
    ("file:///srv/github/book.git", ""),
    ("https://example.org/book.git", ""),
]


def git(folder, *arguments):
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-C", folder, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-m", "x")
    return tmp_path


def test_a_remote_gives_a_public_address_or_none_and_ci_names_one_before_it(checkout):
    for remote, address in REMOTES:
        assert web_address(remote) == address, remote
    assert repository_address(checkout, {}) == ""
    git(checkout, "remote", "add", "origin", "git@github.com:someone/book.git")
    ci = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "other/book"}
    assert repository_address(checkout, ci) == "https://github.com/other/book"
    assert repository_address(checkout, {}) == "https://github.com/someone/book"


@pytest.mark.parametrize(
    ("kind", "name", "version"),
    [("tag", "v0.1.0", "0.1.0"), ("tag", "v1.0rc1", "1.0rc1"), ("tag", "draft", ""),
     ("branch", "v0.1.0", ""), (None, "v0.1.0", "")],
)  # fmt: skip
def test_only_a_tag_of_a_version_names_a_released_version(kind, name, version):
    environment = {"GITHUB_REF_TYPE": kind, "GITHUB_REF_NAME": name}
    assert tagged_version(environment) == version
    assert tagged_version({}) == ""


def test_a_page_names_its_commit_and_torch_and_whether_files_have_changed_since(checkout):
    commit = git(checkout, "rev-parse", "HEAD").strip()
    assert f"commit <code>{commit[:10]}</code> with torch " in describe_commit(checkout)
    (checkout / "file").write_text("2")
    assert "with local changes" in describe_commit(checkout)
    # An unpacked archive in another checkout.
    archive = checkout / "unpacked"
    archive.mkdir()
    assert describe_commit(archive).startswith("Made from an unknown commit with torch ")
