"""Scripts and styles in fewer bytes, by esbuild: their behaviour and their public names stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tools.site import node

PROGRAM = Path(__file__).with_suffix(".mjs")


def minify(texts: Sequence[tuple[str, str]]) -> list[str]:
    """The same programs and styles, smaller.

    Args:
        texts: "js" or "css", and the text of it.

    Raises:
        ExtensionError: one of them is no such text.
    """
    small: list[str] = json.loads(node.run(PROGRAM, stdin=json.dumps(texts)))
    return small
