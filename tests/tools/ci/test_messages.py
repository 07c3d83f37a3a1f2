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


KEY_TO_WRITE = "a key must be written out: make a group for keys that the code computes"
# By language: the sample's argument, the sample, mistakes with their messages, what is none.
LANGUAGES = {
    "javascript": (
        "script",
        USES,
        {
            "fill(TEXT.gone, {});": "TEXT has no gone",
            "TEXT[name];": KEY_TO_WRITE,
            "fill(TEXT.moved, {});": "field name is missing",
            "TEXT.moved;": "field name is missing",
            "fill(TEXT.moved, { name, key });": "field key is not needed",
            "fill(open ? TEXT.moved : TEXT.keys, { name });": "field count is missing",
            'show("Nothing is left.");': "'Nothing is left.' belongs in messages.json",
            "show(`${name} is left.`);": "'{} is left.' belongs in messages.json",
            'make("b", { text: "Stop" });': "'Stop' belongs in messages.json",
        },
        [
            'make("b", { class: "some names" });',
            'root.querySelector("a button");',
            'throw new Error("This cannot be.");',
            "fill(TEXT.moved, { ...fields });",
            "fill(TEXT.keys, { name, count: 3 });",
            "show(TEXT.faults[name]);",
        ],
    ),
    "python": (
        "module",
        PYTHON,
        {
            'TEXT("gone")': "TEXT has no gone",
            "TEXT(name)": KEY_TO_WRITE,
            'TEXT("keys", name=1)': "field count is missing",
            'TEXT("moved", name=1, key=1)': "field key is not needed",
            'show(f"{name} is left.")': "'{} is left.' belongs in messages.json",
            'show("<b>Nothing is left.</b>")': "'<b>Nothing is left.</b>' belongs in messages.json",
        },
        [
            '"""About this module."""',
            'raise ValueError(f"{name} must be one")',
            'logger.warning("no alt text: %s", name)',
            "show('<div class=\"some names\">')",
            'TEXT("moved" if one else "keys", name=1, count=1)',
            'TEXT("moved", **fields)',
        ],
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_mistake_is_found_in_its_line(found, language):
    kind, sample, mistakes, _ = LANGUAGES[language]
    file, first = {"script": "a.js", "module": "a.py"}[kind], sample.count("\n") + 1
    expected = {f"{file}:{line}: {what}" for line, what in enumerate(mistakes.values(), first)}
    assert {*found(**{kind: sample + "\n".join(mistakes)})} == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_no_reader_sees_and_what_the_code_chooses_may_stay(found, language):
    kind, sample, _, lines = LANGUAGES[language]
    assert found(**{kind: sample + "\n".join(lines)}) == []


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
        "bug: hidden scores set to zero",
        "Errors of the package\n",
        "valid_lens must",
    ):
        assert part in lines
