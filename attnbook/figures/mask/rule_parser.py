"""The reader's own rule in a notebook, as `rule_parser.js` has it in the page."""

from __future__ import annotations

import ast
from typing import Any

# What tensors run as it is; there `~` is "not", and so is the last bit of what Python gives.
ON_TENSORS = (
    *(ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load),
    *(ast.operator, ast.unaryop, ast.cmpop),
)
NOT_HERE = (
    "Python's `~` turns the bits of a number, so it goes with `&` and `|` alone: write `not`, "
    "or put each comparison in brackets."
)


def evaluated(text: str, chosen: dict[str, Any]) -> tuple[list[list[bool]] | None, str]:
    """What the expression gives for each pair, or why it gives nothing."""
    if not text.strip():
        return None, ""
    known = {name: chosen[name] for name in ("num_queries", "num_keys")}
    known["documents"] = chosen["documents"] or [0] * known["num_keys"]
    first = known["num_keys"] - known["num_queries"]
    try:
        code = compile(f"lambda q, k: (\n{text}\n)", "your rule", "eval")
        sees = eval(code, known)  # noqa: S307 - the caller's own, in the caller's own Python
        rows = [
            [sees(q, k) for k in range(known["num_keys"])] for q in range(first, known["num_keys"])
        ]
    except Exception as error:  # whatever the expression raises is reported
        return None, f"{type(error).__name__}: {getattr(error, 'msg', error)}"
    if "~" in text and not _on_tensors(text):
        return None, NOT_HERE
    for q, row in enumerate(rows, first):
        for k, value in enumerate(row):
            if not isinstance(value, int) or value not in (False, True, -1, -2):
                return None, f"It gives {value!r} for q={q}, k={k}: a mask is of True and False."
    return [[bool(value & 1) for value in row] for row in rows], ""


def _on_tensors(text: str) -> bool:
    nodes = [*ast.walk(ast.parse(f"(\n{text}\n)", mode="eval"))]
    chained = any(isinstance(node, ast.Compare) and len(node.ops) > 1 for node in nodes)
    return not chained and all(isinstance(node, ON_TENSORS) for node in nodes)
