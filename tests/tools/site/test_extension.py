"""The site's extension: pictures, formulas, icons and the origin of a page."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError

from tools import ROOT
from tools.repository_address import describe_commit, repository_address, web_address
from tools.site.chapter.formulas import FormulaError, typeset
from tools.site.extension import check_pictures, logger, need_package

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


def test_a_picture_without_words_is_noticed_unless_it_is_hidden_on_purpose(monkeypatch):
    lines = []
    monkeypatch.setattr(logger, "warning", lambda text, *values, **_: lines.append(text % values))
    page = new_document("page")
    named = '<img alt="x"><svg role="img" aria-label="x"></svg><svg aria-hidden="true"></svg>'
    for html in ("<img src=a.png>", '<img src=a.png alt="">', "<img alt>", "<svg></svg>", named):
        page += nodes.raw("", html, format="html")
    page += [nodes.image(uri="none"), nodes.image(uri="empty", alt=" "), nodes.image(alt="x")]
    check_pictures(page)
    tags = [f"<{tag}> without alt or aria-label" for tag in ("img", "img", "img", "svg")]
    pictures = [f"picture without alt text: {name}" for name in ("none", "empty")]
    assert lines == pictures + tags


def test_a_wrong_formula_is_refused_with_its_reason_and_the_next_one_is_typeset():
    with pytest.raises(FormulaError, match=r"\\fracc"):
        typeset(r"\fracc{1}{2}", display=False)
    assert "<math" in typeset("x", display=False)


def test_without_the_package_a_build_names_the_line_of_the_readme_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "attnbook", None)
    with pytest.raises(ExtensionError, match=r"^attnbook, .* is not installed") as refused:
        need_package()
    (line,) = re.findall(r"`(.*)`", str(refused.value))
    assert f"\n{line}" in (ROOT / "README.md").read_text("utf-8")


def test_a_remote_gives_a_public_address_or_none_and_ci_names_one_before_it(checkout):
    for remote, address in REMOTES:
        assert web_address(remote) == address, remote
    assert repository_address(checkout, {}) == ""
    git(checkout, "remote", "add", "origin", "git@github.com:someone/book.git")
    ci = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "other/book"}
    assert repository_address(checkout, ci) == "https://github.com/other/book"
    assert repository_address(checkout, {}) == "https://github.com/someone/book"


def test_a_page_names_its_commit_and_torch_and_whether_files_have_changed_since(checkout):
    commit = git(checkout, "rev-parse", "HEAD").strip()
    assert f"commit <code>{commit[:10]}</code> with torch " in describe_commit(checkout)
    (checkout / "file").write_text("2")
    assert "with local changes" in describe_commit(checkout)
    # An unpacked archive in another checkout.
    archive = checkout / "unpacked"
    archive.mkdir()
    assert describe_commit(archive).startswith("Made from an unknown commit with torch ")
