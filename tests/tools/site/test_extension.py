"""The site's extension: pictures, formulas, icons and the origin of a page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from threading import Thread

import pytest
from nbformat import v4
from sphinx.errors import ExtensionError

from tools import ROOT
from tools.repository_address import describe_commit, repository_address, web_address
from tools.site import formulas
from tools.site.extension import (
    Coalescing,
    drop_citation_roles,
    drop_empty_headers,
    need_package,
    pictures_without_text,
)
from tools.site.formulas import FormulaError, typeset
from tools.site.icons import glyphs_by_name, glyphs_in_style, glyphs_used

REMOTES = [
    ("https://github.com/someone/book.git", "https://github.com/someone/book"),
    ("https://someone:secret@github.com/someone/book", "https://github.com/someone/book"),
    ("git@github.com:someone/book.git", "https://github.com/someone/book"),
    ("ssh://git@gitlab.com/group/sub/book.git", "https://gitlab.com/group/sub/book"),
    ("/srv/book.git", ""),
    ("../book", ""),
    ("file:///srv/github/book.git", ""),
    ("https://example.org/book.git", ""),
    ("", ""),
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


@pytest.mark.parametrize(
    ("html", "tags"),
    [
        ("<img src=a.png>", ["img"]),
        ('<img src=a.png alt="">', ["img"]),
        ("<p><svg><rect/></svg></p>", ["svg"]),
        ("<img alt>", ["img"]),
        ('<img alt="x">', []),
        ('<svg role="img" aria-label="x"></svg>', []),
        ('<svg aria-hidden="true"></svg>', []),
    ],
)
def test_a_picture_without_words_is_noticed_unless_it_is_hidden_on_purpose(html, tags):
    assert pictures_without_text(html) == tags


def test_the_page_shows_the_end_of_a_progress_bar():
    code = "for i in range(3): print(f'\\r{i} of 2', end='', flush=True)"
    notebook = v4.new_notebook(cells=[v4.new_code_cell(code)])
    Coalescing(notebook).execute()
    (output,) = notebook.cells[0].outputs
    assert output.text == "2 of 2"


def test_a_formula_becomes_html_with_mathml_for_screen_readers():
    html = typeset(r"\frac{1}{2}", display=True)
    assert "<math" in html
    assert "katex-display" in html


def test_a_wrong_formula_is_refused_with_its_reason_and_the_next_one_is_typeset():
    with pytest.raises(FormulaError, match=r"\\fracc"):
        typeset(r"\fracc{1}{2}", display=False)
    assert "<math" in typeset("x", display=False)


# What is not installed


@pytest.fixture
def bare_tools(tmp_path, monkeypatch):
    """The tools of a fresh clone, as `formulas` sees them."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "tools" / name, tmp_path)
    monkeypatch.setattr(formulas, "TOOLS", tmp_path)
    monkeypatch.setattr(formulas, "INSTALLED", tmp_path / "node_modules" / ".package-lock.json")
    return tmp_path


@pytest.mark.usefixtures("bare_tools")
def test_of_two_builds_at_once_one_fetches_katex_and_the_other_waits(monkeypatch):
    fetched, seen = [], []

    def fetch():
        fetched.append(1)
        time.sleep(0.2)  # long enough for a build that does not wait to fetch again
        formulas.INSTALLED.parent.mkdir()
        formulas.INSTALLED.touch()

    def one_build():
        formulas.install_katex()
        seen.append(formulas.INSTALLED.exists())

    monkeypatch.setattr(formulas, "npm_ci", fetch)
    builds = [Thread(target=one_build) for _ in range(2)]
    for build in builds:
        build.start()
    for build in builds:
        build.join()
    assert (fetched, seen) == ([1], [True, True])


def test_without_a_network_a_build_names_the_command_that_installs_katex(bare_tools, monkeypatch):
    monkeypatch.setenv("npm_config_offline", "true")
    monkeypatch.setenv("npm_config_cache", str(bare_tools / "empty"))
    with pytest.raises(ExtensionError, match=r"tools/node_modules .* `npm ci --prefix tools`"):
        formulas.install_katex()
    assert not formulas.INSTALLED.exists()


def test_without_the_package_a_build_names_the_line_of_the_readme_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "attnbook", None)
    with pytest.raises(ExtensionError, match=r"^attnbook, .* is not installed") as refused:
        need_package()
    (line,) = re.findall(r"`(.*)`", str(refused.value))
    assert f"\n{line}" in (ROOT / "README.md").read_text("utf-8")


def test_icons_are_found_by_name_and_in_style_sheets(tmp_path):
    style = (
        r'.fa-sun:before{content:"\f185"}.fa-gear:before,.fa-cog:before{content:"\f013"}'
        r'.x:after{content:"\f107"}' + ":root{--pst-icon-bell:'\uf0f3'}"
    )
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "a.css").write_text(style)
    (tmp_path / "index.html").write_text('<i class="fa-solid fa-cog"></i>')
    assert glyphs_by_name(style) == {"fa-sun": 0xF185, "fa-gear": 0xF013, "fa-cog": 0xF013}
    assert glyphs_in_style(style) == {0xF107, 0xF0F3}
    assert glyphs_used(tmp_path) == {0xF013, 0xF107, 0xF0F3}


@pytest.mark.parametrize(("remote", "address"), REMOTES)
def test_a_remote_gives_a_public_address_or_none(remote, address):
    assert web_address(remote) == address


def test_ci_names_the_repository_before_the_remote_does(checkout, tmp_path_factory):
    assert repository_address(checkout, {}) == ""
    assert repository_address(tmp_path_factory.mktemp("archive"), {}) == ""
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


def test_a_bibliography_has_no_contradictory_roles():
    context = {"body": '<div role="list" class="citation-list"><p role="doc-biblioentry">x</p>'}
    drop_citation_roles(context)
    assert context["body"] == "<div><p>x</p>"


def test_a_header_without_text_is_a_plain_cell():
    context = {"body": '<tr><th class="head"><p></p></th><th class="head"><p>x</p></th><th></th>'}
    drop_empty_headers(context)
    assert context["body"] == '<tr><td></td><th class="head"><p>x</p></th><td></td>'
