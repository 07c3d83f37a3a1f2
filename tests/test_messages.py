"""Sentences of a table: fields, plural forms and groups, in Python and in JavaScript."""

import json

import pytest

from attnbook.figures.shared.base import module
from attnbook.messages import Messages
from tests.figures.shared.node import run_in_node, write_module

TABLE = {
    "plain": "No field.",
    "moved": "{key} went from {old} to {new}, and {key} stays.",
    "left": {"one": "{count} key is left", "other": "{count} keys are left"},
    "faults": {"False": "It returns False.", "other": "It fails."},
}
ASKED = [
    ("plain", {}),
    ("moved", {"key": "k{old}", "old": 1, "new": "$&"}),
    ("left", {"count": 1}),
    ("left", {"count": 0}),
    ("left", {"count": 2}),
]
EXPECTED = [
    "No field.",
    "k{old} went from 1 to $&, and k{old} stays.",
    "1 key is left",
    "0 keys are left",
    "2 keys are left",
]
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, table, asked } = JSON.parse(readFileSync(0, "utf-8"));
const { fill } = await import(module);
process.stdout.write(JSON.stringify(asked.map(([key, fields]) => fill(table[key], fields))));
"""


@pytest.fixture
def text(tmp_path):
    (tmp_path / "messages.json").write_text(json.dumps(TABLE), "utf-8")
    return Messages(str(tmp_path / "module.py"))


def test_fields_are_filled_in_once_and_the_count_selects_a_plural_form(text):
    assert [text(key, **fields) for key, fields in ASKED] == EXPECTED


def test_javascript_fills_in_the_same(tmp_path):
    file = write_module(module("shared/messages.js"), tmp_path)
    assert run_in_node(PROGRAM, file, table=TABLE, asked=ASKED) == EXPECTED


def test_a_group_gives_its_sentences_by_name(text):
    assert text.group("faults") == TABLE["faults"]


def test_a_missing_key_and_a_missing_field_raise(text):
    for key in ("gone", "moved"):
        with pytest.raises(KeyError, match=r"gone|key"):
            text(key)
