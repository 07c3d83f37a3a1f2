"""The module `attnbook.messages` of a page's Python: MicroPython has no pathlib."""

import json
import re

try:
    from typing import Any
except ImportError:
    pass  # in MicroPython

FIELD = re.compile(r"{(\w+)}")


class Messages:
    """As `attnbook.messages.Messages`."""

    def __init__(self, module: str) -> None:
        with open(module.rsplit("/", 1)[0] + "/messages.json") as file:  # noqa: PTH123
            self._table: dict[str, Any] = json.load(file)

    def __call__(self, *key: str, **fields: object) -> str:  # any name may be a field's
        """Give a sentence with its fields filled in; `count` selects a plural form."""
        text = self._table[key[0]]
        if isinstance(text, dict):
            text = text["one" if fields["count"] == 1 else "other"]
        return FIELD.sub(lambda field: str(fields[field.group(1)]), text)

    def group(self, key: str) -> "dict[str, str]":
        """Give all sentences of a group, by their names."""
        group: dict[str, str] = self._table[key]
        return group
