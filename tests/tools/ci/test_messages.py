"""Sentences in code, keys that nothing uses, missing fields and repeated sentences are found."""

import json

import pytest

from tools.ci.messages import everything, problems

TABLE = {
    "moved": "{name} was moved.",
    "keys": {"one": "1 key of {name}", "other": "{count} keys of {name}"},
    "faults": {"False": "It returns False.", "True": "It returns {name}."},
}
USES = """
import TEXT from "./messages.json" with { type: "json" };
export const moved = (name) => fill(TEXT.moved, { name });
"""
PYTHON = """
from attnbook.messages import Messages

TEXT = Messages(__file__)
FAULTS = TEXT.group("faults")
print(TEXT("keys", count=1, name="x"))
"""


@pytest.fixture
def found(tmp_path):
    """Gives the problems of a folder with a table, a script and a module."""

    def check(script=USES, module=PYTHON, table=TABLE, allowed=()):
        files = {"messages.json": json.dumps(table), "a.js": script, "a.py": module}
        for name, text in files.items():
            (tmp_path / name).write_text(text, "utf-8")
        return [*problems(tmp_path, [tmp_path / name for name in files], [*allowed])]

    return check


def test_a_table_whose_sentences_are_used_with_their_fields_has_no_problem(found):
    assert found() == []


def test_mistakes_in_javascript_are_found_in_their_lines(found):
    mistakes = {
        "fill(TEXT.gone, {});": "TEXT has no gone",
        "TEXT[name];": "a key must be written out: make a group for keys that the code computes",
        "fill(TEXT.moved, {});": "field name is missing",
        "TEXT.moved;": "field name is missing",
        "fill(TEXT.moved, { name, key });": "field key is not needed",
        "fill(open ? TEXT.moved : TEXT.keys, { name });": "field count is missing",
        'show("Nothing is left.");': "'Nothing is left.' belongs in messages.json",
        "show(`${name} is left.`);": "'{} is left.' belongs in messages.json",
        'make("b", { text: "Stop" });': "'Stop' belongs in messages.json",
    }
    expected = {f"a.js:{line}: {what}" for line, what in enumerate(mistakes.values(), 4)}
    assert {*found(script=USES + "\n".join(mistakes))} == expected


def test_what_no_reader_sees_and_what_the_code_chooses_may_stand_in_javascript(found):
    lines = [
        'make("b", { class: "some names" });',
        'root.querySelector("a button");',
        'throw new Error("This cannot be.");',
        "fill(TEXT.moved, { ...fields });",
        "fill(TEXT.keys, { name, count: 3 });",
        "show(TEXT.faults[name]);",
    ]
    assert found(script=USES + "\n".join(lines)) == []


def test_mistakes_in_python_are_found_in_their_lines(found):
    mistakes = {
        'TEXT("gone")': "TEXT has no gone",
        "TEXT(name)": "a key must be written out: make a group for keys that the code computes",
        'TEXT("keys", name=1)': "field count is missing",
        'TEXT("moved", name=1, key=1)': "field key is not needed",
        'show(f"{name} is left.")': "'{} is left.' belongs in messages.json",
        'show("<b>Nothing is left.</b>")': "'<b>Nothing is left.</b>' belongs in messages.json",
    }
    expected = {f"a.py:{line}: {what}" for line, what in enumerate(mistakes.values(), 7)}
    assert {*found(module=PYTHON + "\n".join(mistakes))} == expected


def test_what_no_reader_sees_may_stand_in_python(found):
    lines = [
        '"""About this module."""',
        'raise ValueError(f"{name} must be one")',
        'logger.warning("no alt text: %s", name)',
        "show('<div class=\"some names\">')",
        'TEXT("moved" if one else "keys", name=1, count=1)',
        'TEXT("moved", **fields)',
    ]
    assert found(module=PYTHON + "\n".join(lines)) == []


def test_a_sentence_that_nothing_uses_or_that_is_there_twice_is_found(found):
    assert found(table=TABLE | {"left": "Nothing is left.", "rest": "Nothing is left."}) == [
        "messages.json: rest repeats messages.json: left",
        "messages.json: left is not used",
        "messages.json: rest is not used",
    ]


def test_an_exception_allows_a_text_and_must_be_needed(found):
    rule = {"files": "*.js", "texts": ["solid *", "gone"], "reason": "CSS"}
    assert found(script=USES + 'line("solid dark line");', allowed=[rule]) == [
        "messages_exceptions.toml: 'gone' in *.js is not needed"
    ]


def test_the_sentences_of_tables_tasks_and_errors_are_all_printed():
    lines = "\n".join(everything())
    for part in (
        "attnbook/figures/pooling\n",
        "keys_share: as if {count} keys shared the weight evenly",
        "attnbook/practice/tasks: masked-softmax\n",
        "bug: padding filled with zero",
        "Errors of the package\n",
        "valid_lens must",
    ):
        assert part in lines
