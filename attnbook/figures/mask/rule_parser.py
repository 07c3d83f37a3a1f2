"""The reader's own rule in a notebook; `rule_parser.js` is its counterpart in the page."""

from __future__ import annotations

import ast
from typing import Any

from attnbook.messages import Messages

TEXT = Messages(__file__)
# Expressions that also run on tensors. In these, `~` means "not": the last bit of its result is the
# truth value.
TENSOR_NODES = (
    *(ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load),
    *(ast.operator, ast.unaryop, ast.cmpop),
)


def evaluate_rule(text: str, rules: dict[str, Any]) -> tuple[list[list[bool]] | None, str]:
    """Return the expression's value for each pair, or None and the reason."""
    if not text.strip():
        return None, ""
    names = {name: rules[name] for name in ("num_queries", "num_keys")}
    names["documents"] = rules["documents"] or [0] * names["num_keys"]
    names["~"] = _invert
    keys, first = range(names["num_keys"]), names["num_keys"] - names["num_queries"]
    try:
        tree = NamedInversion().visit(ast.parse(f"lambda q, k: (\n{text}\n)", mode="eval"))
        code = compile(ast.fix_missing_locations(tree), "your rule", "eval")
        is_visible = eval(code, names)  # noqa: S307 - the caller's own, in the caller's own Python
        rows = [[is_visible(q, k) for k in keys] for q in keys[first:]]
    except Exception as error:  # whatever the expression raises is reported
        return None, f"{type(error).__name__}: {getattr(error, 'msg', error)}"
    if "~" in text and not _runs_on_tensors(text):
        return None, TEXT("rule_tilde")
    for q, row in enumerate(rows, first):
        for k, value in enumerate(row):
            if not isinstance(value, int) or value not in (False, True, -1, -2):
                return None, TEXT("rule_no_truth", value=repr(value), q=q, k=k)
    return [[bool(value & 1) for value in row] for row in rows], ""


class NamedInversion(ast.NodeTransformer):
    """Replaces each `~`, which warns of truth values from Python 3.12 on, by a call.

    Its name is one that nobody can write.
    """

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Replace it in the operand, too."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Invert):
            return node
        return ast.Call(ast.Name("~", ast.Load()), [node.operand], [])


def _invert(value: Any) -> Any:  # noqa: ANN401 - whatever a rule gives
    """Do what `~` does; of a truth value, what it does to 0 and 1."""
    return ~(int(value) if isinstance(value, bool) else value)


def _runs_on_tensors(text: str) -> bool:
    nodes = [*ast.walk(ast.parse(f"(\n{text}\n)", mode="eval"))]
    chained = any(isinstance(node, ast.Compare) and len(node.ops) > 1 for node in nodes)
    return not chained and all(isinstance(node, TENSOR_NODES) for node in nodes)
