"""The version and its date are the same everywhere, or a release is refused."""

from __future__ import annotations

import pytest

from tools import ROOT
from tools.release.versions import disagreements, refusals

CHANGELOG = "# Changelog\n\n## 0.2.0 – {}\n\nNew: `pool`.\n\n## 0.1.0 – {}\n\nThe first.\n"
CITATION = "version: {}\n{}"
DATE = "2027-01-31"


def project(root, changelog=("unreleased", "unreleased"), citation=("0.2.0", ""), command="."):
    (root / "attnbook").mkdir()
    (root / "attnbook" / "_version.py").write_text('"""It."""\n\n__version__ = "0.2.0"\n')
    (root / "CHANGELOG.md").write_text(CHANGELOG.format(*changelog), "utf-8")
    (root / "CITATION.cff").write_text(CITATION.format(*citation))
    (root / "README.md").write_text(f"```bash\npip install {command}\n```\n")
    return root


def released(date):
    return "0.2.0", f'date-released: "{date}"\n'


def test_the_files_of_this_project_agree():
    assert [*disagreements(ROOT)] == []


@pytest.mark.parametrize(
    ("changelog", "citation", "command", "message"),
    [
        (("unreleased",) * 2, ("0.2.0", ""), ".", ""),
        ((DATE, "2026-12-24"), released(DATE), "attnbook", ""),
        (("unreleased", "2026-12-24"), ("0.2.0", ""), "attnbook", ""),
        (("unreleased",) * 2, ("0.1.0", ""), ".", "must have version 0.2.0, got 0.1.0"),
        (("unreleased",) * 2, released(DATE), ".", "so none yet, got 2027-01-31"),
        ((DATE, DATE), released("2027-02-01"), "attnbook", "2027-01-31, got 2027-02-01"),
        ((DATE, DATE), ("0.2.0", ""), "attnbook", "2027-01-31, got none"),
        ((DATE, DATE), released(DATE), ".", "must begin with pip install attnbook, got ."),
        (("unreleased",) * 2, ("0.2.0", ""), "attnbook", "nothing is released"),
        (("unreleased",) * 2, ("0.2.0", ""), ".\npip install 'attnbook[x]'", "nothing is released"),
    ],
)
def test_a_version_a_date_and_a_command_that_disagree_are_named(
    tmp_path, changelog, citation, command, message
):
    found = [*disagreements(project(tmp_path, changelog, citation, command))]
    assert len(found) == bool(message)
    assert message in "".join(found)


def test_a_changelog_about_another_version_is_named(tmp_path):
    root = project(tmp_path)
    (root / "attnbook" / "_version.py").write_text('__version__ = "0.3.0"\n')
    assert "must begin with 0.3.0, attnbook's version, got 0.2.0" in next(disagreements(root))


def test_a_version_without_a_date_or_under_another_name_is_not_released(tmp_path):
    root = project(tmp_path)
    assert [*refusals(root, "0.2.1")] == [
        "attnbook/_version.py must have 0.2.1, got 0.2.0",
        "CHANGELOG.md must have the date of 0.2.1 instead of 'unreleased'",
    ]
