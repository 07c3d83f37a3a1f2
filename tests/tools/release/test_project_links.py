"""A release has the links of its own repository, and a README whose links lead somewhere."""

from __future__ import annotations

import tomllib

import pytest

from tools import ROOT
from tools.release.project_links import absolute_links, write_links

REPOSITORY, SITE = "https://github.com/ada/a-fork", "https://ada.github.io/a-fork/"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](CITATION.cff)", f"[a]({REPOSITORY}/blob/v0.1.0/CITATION.cff)"),
        ("![a](img/a.png)", f"![a]({REPOSITORY}/raw/v0.1.0/img/a.png)"),
        ("[a](../../tree/colab#readme)", f"[a]({REPOSITORY}/tree/colab#readme)"),
        ("[Read](../../deployments/github-pages)", f"[Read]({SITE})"),
        ("[![a](b.png)](c)", f"[![a]({REPOSITORY}/raw/v0.1.0/b.png)]({REPOSITORY}/blob/v0.1.0/c)"),
        ("[a](#install) [b](https://b.org)", "[a](#install) [b](https://b.org)"),
    ],
)
def test_relative_links_become_those_that_github_resolves(text, expected):
    assert absolute_links(text, REPOSITORY, SITE, "0.1.0") == expected


@pytest.mark.parametrize("site", ["", SITE])
def test_the_project_s_links_are_written_into_a_copy(tmp_path, site):
    for name in ("pyproject.toml", "README.md"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    write_links(tmp_path, REPOSITORY, site, "0.1.0")
    before = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    after = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    links = after.pop("urls")
    assert after == before
    assert links["Source"] == REPOSITORY
    assert links["Changelog"] == f"{REPOSITORY}/blob/v0.1.0/CHANGELOG.md"
    assert links.get("Documentation", "") == site
    assert "](img/" not in (tmp_path / "README.md").read_text("utf-8")
