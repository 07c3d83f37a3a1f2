"""The fingerprint finds each planted deviation, and only what it changes."""

import functools

import pytest

from attnbook import fingerprint
from tests.conventions.planted import PLANTED, SOUND

ENTRIES = {entry.name: entry for entry in [*SOUND, *PLANTED]}


@functools.cache
def answers(name):
    return fingerprint(ENTRIES[name].function, name=name).answers


@pytest.mark.parametrize("name", ENTRIES)
def test_every_answer_is_the_one_that_the_code_gives(name):
    found, expected = answers(name), ENTRIES[name].expected
    wrong = {
        key: (found[key], codes)
        for key, codes in expected.items()
        if found[key] not in codes.split("|")
    }
    assert not wrong


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.parent])
def test_only_what_the_line_changes_differs_from_the_parent(name):
    entry = ENTRIES[name]
    changes = entry.changes or {}
    found, before = answers(name), answers(entry.parent)
    # Where several answers are allowed, the parent's own may be one of them.
    certain = {
        key
        for key, codes in changes.items()
        if "|" not in codes and codes != ENTRIES[entry.parent].expected[key]
    }
    differing = {key for key in found if found[key] != before[key]}
    assert certain - differing == set()
    assert differing <= set(changes)


def test_there_are_forty_of_each_kind_and_every_name_is_new():
    assert (len(SOUND), len(PLANTED), len(ENTRIES)) == (40, 40, 80)
