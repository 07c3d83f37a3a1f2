"""Source as a chapter shows it: without what is for linters, docstrings cut to their first line."""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from typing import Any


def short_source(thing: Any) -> str:  # noqa: ANN401 - whatever inspect can read
    """Give the source of a function, method or class, as short as a chapter shows it."""
    source = _without_asides(textwrap.dedent(inspect.getsource(thing)).rstrip())
    lines = source.split("\n")
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    # From the last line up, so that the numbers of the lines above stay true.
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        docstring, first = ast.get_docstring(node), node.body[0]
        if docstring and "\n" in docstring:
            line = docstring.split("\n")[0]
            quoted = repr(line) if '"' in line or "\\" in line else f'"""{line}"""'
            rows = slice(first.lineno - 1, first.end_lineno)
            # What stands beside it on its lines stays; ast counts bytes.
            before, after = (row.encode() for row in (lines[rows][0], lines[rows][-1]))
            before, after = before[: first.col_offset], after[first.end_col_offset :]
            lines[rows] = [f"{before.decode()}{quoted}{after.decode()}"]
    return "\n".join(lines)


def _without_asides(source: str) -> str:
    """Leave out what comments say to linters and type checkers: it is not for readers."""
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start[0] - 1, token.start[1]
            comment = re.sub(r"(^|\s+)# (?:noqa|type: ignore).*", "", token.string)
            lines[row] = f"{lines[row][:column]}{comment}".rstrip()
    return "\n".join(lines)
