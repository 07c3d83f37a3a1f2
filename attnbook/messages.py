"""Message tables: the sentences that a reader sees, by key, in one file for each folder.

Each folder with such sentences has a `messages.json`, which Python reads here and JavaScript
imports (`figures/shared/messages.js`). A value is a sentence with named fields, such as
`"{key} has the largest weight"`; or two sentences, `"one"` and `"other"`, of which the field
`count` selects one; or a group of sentences that the code chooses from by name.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

FILE = "messages.json"
FIELD = re.compile(r"\{(\w+)\}")
PLURAL = {"one", "other"}


class Messages:
    """The sentences of the folder of a module: `TEXT = Messages(__file__)`."""

    def __init__(self, module: str) -> None:
        self._table: dict[str, Any] = read_table(Path(module).with_name(FILE))

    def __call__(self, key: str, /, **fields: object) -> str:
        """Give a sentence with its fields filled in; `count` selects a plural form.

        Raises:
            KeyError: there is no such key, or a field of the sentence was not given.
        """
        text = self._table[key]
        if isinstance(text, dict):
            text = text["one" if fields["count"] == 1 else "other"]
        return FIELD.sub(lambda field: str(fields[field[1]]), text)

    def group(self, key: str) -> dict[str, str]:
        """Give all sentences of a group, by their names."""
        group: dict[str, str] = self._table[key]
        return group


@cache
def read_table(path: Path) -> dict[str, Any]:
    """Read the table in a file."""
    table: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return table
