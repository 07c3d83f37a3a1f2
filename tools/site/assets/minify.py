"""Scripts and styles in fewer bytes, by esbuild: their behaviour and their public names stay."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from attnbook.figures.shared.base import FOLDER
from attnbook.messages import read_table
from tools import site
from tools.site.assets import node

PROGRAM = Path(__file__).with_suffix(".mjs")
TABLE = read_table(str(site.__file__))
USE = re.compile(r"\bTEXT\.(\w+)")
FILL = (FOLDER / "shared" / "messages.js").read_text("utf-8").replace("export ", "")


def read_script(file: Path) -> str:
    """The text of a classic script, with the site's sentences in it: each in place of `TEXT.key`.

    A script that fills in fields begins with the function that does it.
    """
    text = file.read_text("utf-8")
    start = FILL if "fill(TEXT." in text else ""
    return start + USE.sub(lambda use: json.dumps(TABLE[use[1]], ensure_ascii=False), text)


def minify(texts: Sequence[tuple[str, str]]) -> list[str]:
    """The same programs and styles, smaller.

    Args:
        texts: "js" or "css", and the text of it.

    Raises:
        ExtensionError: one of them is no such text.
    """
    small: list[str] = json.loads(node.run(PROGRAM, stdin=json.dumps(texts)))
    return small
