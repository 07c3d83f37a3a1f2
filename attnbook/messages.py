"""Message tables: the sentences that a reader sees, by key, in one file for each folder.

Each folder with such sentences has a `messages.json`, which Python reads here and JavaScript
imports (`figures/shared/messages.js`). A value is a sentence with named fields, such as
`"{key} has the largest weight"`; or two sentences, `"one"` and `"other"`, of which the field
`count` selects one; or a group of sentences that the code chooses from by name. This module also
runs in MicroPython, in a page, which has no pathlib.
"""

import json
import re

try:
    from typing import Any
except ImportError:  # in MicroPython, which has no contextlib either
    Any = object  # type: ignore[assignment,misc]

FILE = "messages.json"
FIELD = re.compile(r"{(\w+)}")
PLURAL = {"one", "other"}
_tables: "dict[str, dict[str, Any]]" = {}  # those that were read, by folder


class Messages:
    """The sentences of the folder of a module: `TEXT = Messages(__file__)`."""

    def __init__(self, module: str) -> None:
        self._table = read_table(module)

    def __call__(self, *key: str, **fields: object) -> str:  # a field may be named `key`
        """Give a sentence with its fields filled in; `count` selects a plural form.

        Raises:
            KeyError: there is no such key, or a field of the sentence was not given.
        """
        text = self._table[key[0]]
        if isinstance(text, dict):
            text = text["one" if fields["count"] == 1 else "other"]
        return FIELD.sub(lambda field: str(fields[field.group(1)]), text)

    def group(self, key: str) -> "dict[str, str]":
        """Give all sentences of a group, by their names."""
        group: dict[str, str] = self._table[key]
        return group


def read_table(file: str) -> "dict[str, Any]":
    """Read the table in the folder of a file, once."""
    folder = file.replace("\\", "/").rpartition("/")[0]
    if folder not in _tables:
        with open(folder + "/" + FILE, encoding="utf-8") as table:  # noqa: PTH123
            _tables[folder] = json.load(table)
    return _tables[folder]
