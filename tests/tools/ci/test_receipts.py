"""The table of what the self-test saw, from stored receipts."""

from __future__ import annotations

import json

import pytest

from tools import ROOT
from tools.ci import receipts
from tools.ci.receipts import END, KINDS, NEEDED, START, make_table, put_between_markers

SEEN = dict.fromkeys(NEEDED, "1") | {"system": "Linux x86_64", "device": "cuda (H1)", "faults": 0}


def test_a_receipt_has_a_row_and_what_was_not_seen_has_an_empty_one():
    lines = make_table([SEEN]).splitlines()
    assert len(lines) == 2 + len(KINDS)
    assert lines[2] == "| Linux x86_64, cuda (H1), 1 | 1 | 1 | 1 | 0 |"
    assert [line for line in lines if "| not seen |" in line] == lines[3:]
    assert {line.count("|") for line in lines} == {6}


def test_the_readme_has_the_table_of_the_stored_receipts():
    readme, table = (ROOT / "README.md").read_text("utf-8"), make_table(receipts.read_receipts())
    assert put_between_markers(readme, table) == readme


def test_the_stored_receipts_are_of_this_version_of_the_format_and_without_a_fault():
    found = receipts.read_receipts()
    assert found
    for receipt in found:
        assert receipt["faults"] == sum(row["faults"] for row in receipt["parts"].values())
        assert receipt["comparisons"] > 1000


@pytest.mark.parametrize(
    ("receipt", "message"),
    [
        ({"system": "Linux"}, r"a\.json must be a receipt of the self-test, got no device"),
        (SEEN | {"system": "Plan 9"}, r"a\.json must be of one of .*, got Plan 9, cuda \(H1\)"),
    ],
)
def test_what_is_no_receipt_is_refused(receipt, message, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(receipt))
    with pytest.raises(ValueError, match=message):
        receipts.read_receipts(tmp_path)


def test_the_table_replaces_what_is_between_the_markers(tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    receipts.main(["--into", str(readme)])
    receipts.main([])
    table = capsys.readouterr().out
    assert readme.read_text() == f"before\n{START}\n{table}{END}\nafter\n"
    receipts.main(["--into", str(readme)])
    assert readme.read_text().count(table) == 1


@pytest.mark.parametrize("text", ["", START, f"{END}{START}", f"{START}{END}{START}{END}"])
def test_other_markers_are_refused(text):
    with pytest.raises(ValueError, match="the text must have one <!-- seen --> and then one"):
        put_between_markers(text, "table")
