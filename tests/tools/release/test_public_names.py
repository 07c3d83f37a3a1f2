"""A public name that is new or gone needs the changelog, once there is a release."""

from __future__ import annotations

import pytest

import attnbook
from attnbook import figures
from tools.release.public_names import LIST, compare, public_names, unexplained

OLD = ["attnbook.Attention", "attnbook.pool"]


def test_the_names_are_those_of_the_package_its_parts_and_its_pages():
    names = public_names()
    assert {f"attnbook.{name}" for name in attnbook.__all__} <= {*names}
    assert {f"attnbook.figures.{name}" for name in figures.__all__} <= {*names}
    assert {"attnbook.practice.check", "attnbook.tracing.trace"} <= {*names}
    assert not any("._" in name for name in names if not name.endswith("__"))


@pytest.mark.parametrize(
    ("names", "changes", "expected"),
    [
        (OLD, "", []),
        ([*OLD, "attnbook.dog"], "", ["the changelog must name `attnbook.dog`, which is new"]),
        (OLD[1:], "`pool`", ["the changelog must name `attnbook.Attention`, which is gone"]),
        ([*OLD, "attnbook.dog"], "dog, and `dogs`", ["`attnbook.dog`"]),
        ([*OLD, "attnbook.dog"], "New: `dog(cat)`.", []),
        (OLD[1:], "`attnbook.Attention` is gone", []),
    ],
)
def test_each_change_is_in_backticks_in_the_changelog(names, changes, expected):
    found = [*unexplained(OLD, names, changes)]
    assert len(found) == len(expected)
    assert all(part in line for part, line in zip(expected, found, strict=True))


def test_the_first_release_stores_the_list_and_a_later_one_only_what_is_explained(tmp_path):
    (tmp_path / LIST).parent.mkdir(parents=True)
    assert "commit it" in compare(tmp_path, OLD, "")[0]
    assert compare(tmp_path, OLD, "") == []
    more = [*OLD, "attnbook.zebra"]
    assert "must name" in compare(tmp_path, more, "")[0]
    assert (tmp_path / LIST).read_text().split() == OLD
    assert "now has the 3" in compare(tmp_path, more, "`zebra`")[0]
    assert compare(tmp_path, more, "") == []
