"""Settings of the mask figure, rules of a reader's own, and the mask that a snippet makes."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Tensor, nn

import attnbook
from attnbook.figures.mask.figure import LIBRARIES, RULES
from attnbook.figures.mask.rule_parser import evaluate_rule
from attnbook.masking.interop import MaskRules
from tests.masking.mask_rules import ALONE, JOINS

# Rules that also work on tensors, and rules that need a table.
ON_TENSORS = [
    "(q >= k) & (q - k < 3)",
    "q >= k",
    "k < 4",
    "(k // 2 == q // 2) | (k == 0)",
    "~(q < k) & ~(k % 3 == 1)",
    "((q + k) % 2 == 0) | ~(q - k > -2)",
    "q * 2 - k >= -(1 + 2)",
    "(k >= 1) & (k != 3)",
]
BY_TABLE = [
    "q >= k and q - k < 3",
    "0 <= q - k < 3",
    "not k > q",
    "k in (0, q)",
    "q > 2",
    "abs(q - k) <= 1 or k == 0",
    "True if k == 0 else q == k",
    "documents[q] == documents[k]",
    "k < num_keys - 1",
    "(q >= k) * 1",
]
# The largest figure.
MOST = MaskRules(
    *(30, 32), valid_len=31, start=1, window=21, ahead=9, prefix=12, documents=(0,) * 15 + (1,) * 17
)
RULE_TEXTS = [*ON_TENSORS, *BY_TABLE, ""]


def page_rules(rules: MaskRules) -> dict[str, Any]:
    """The traits that hold these rules."""
    plain = {name: value for name, value in asdict(rules).items() if name in RULES}
    return plain | {"documents": rules.documents and [*rules.documents]}


def make_setting(rules: MaskRules, text: str = "") -> dict[str, Any]:
    """Make what the page gets, and the mask that it must show."""
    table = rules.table
    if text:
        rows, error = evaluate_rule(text, page_rules(rules))
        assert rows, error
        table = tuple(tuple(row) for row in rows)
        rules = replace(rules, table=table)
    own = table and {"text": text or "a table", "table": table}
    return {"rules": page_rules(rules), "own": own or None, "visible": rules.visible().tolist()}


def all_settings() -> list[dict[str, Any]]:
    """Each rule alone, and 100 joins; most of those without a table get a rule in Python."""
    settings = [
        make_setting(rules) for rules in ALONE.values() if rules.num_queries <= rules.num_keys
    ]
    settings += [make_setting(MOST), make_setting(MOST, "q >= k or k % 2 == 0")]
    for i, rules in enumerate(JOINS[::2]):
        settings.append(make_setting(rules, "" if rules.table else RULE_TEXTS[i % len(RULE_TEXTS)]))
    return settings


def execute_snippet(library: str, code: str, rules: dict[str, Any]) -> Tensor:
    """Run a snippet and return its mask: the keys that have a weight."""
    num_queries, num_keys = rules["num_queries"], rules["num_keys"]
    names = make_tensors(num_queries, num_keys) | NAMES_FOR[library](num_queries, num_keys, code)
    with warnings.catch_warnings():
        # Eager flex_attention warns once that it is slow; on the CPU there is no other.
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        exec(compile(code, library, "exec"), names)  # noqa: S102 - what the figure offers to copy
    weights = names["weights"] if library == "multihead" else names["output"]
    if library == "encoder":
        weights = weights - names["inputs"]  # the residual connection
    return weights[0].nan_to_num(0) != 0  # rows that see nothing are NaN in nn.MultiheadAttention


def make_tensors(num_queries: int, num_keys: int) -> dict[str, Any]:
    """Queries with equal scores for all keys; each value is a unit vector."""
    return {
        "queries": torch.zeros(1, num_queries, num_keys),
        "keys": torch.ones(1, num_keys, num_keys),
        "values": torch.eye(num_keys)[None],
    }


def no_names(*_: object) -> dict[str, Any]:
    return {}


def make_our_layer(*_: object) -> dict[str, Any]:
    return {"layer": attnbook.DotProductAttention()}


def make_multihead_layer(_num_queries: int, num_keys: int, _code: str) -> dict[str, Any]:
    return {"layer": nn.MultiheadAttention(num_keys, 1, batch_first=True)}


def make_encoder_layer(_num_queries: int, num_keys: int, _code: str) -> dict[str, Any]:
    """An encoder layer whose output is its input and the weights."""
    layer = nn.TransformerEncoderLayer(num_keys, 1, 1, dropout=0, batch_first=True)
    layer.norm1 = layer.norm2 = nn.Identity()
    zero, one = torch.zeros(num_keys, num_keys), torch.eye(num_keys)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.self_attn.in_proj_weight.copy_(torch.cat([zero, zero, one]))
        layer.self_attn.out_proj.weight.copy_(one)
    return {"layer": layer, "inputs": one[None]}


def make_model(num_queries: int, num_keys: int, code: str) -> dict[str, Any]:
    """A stand-in for a model of transformers: 1 = visible, and its own order."""
    causal = "last" if "causal by itself" in code else None
    order = MaskRules(num_queries, num_keys, causal=causal).visible()

    def model(
        _input_ids: None, attention_mask: Tensor, position_ids: Tensor | None = None
    ) -> Tensor:
        assert attention_mask.shape == (1, num_keys)
        assert position_ids is None or position_ids.shape == (1, num_queries)
        return (order & (attention_mask == 1)).float()[None]

    return {"model": model, "input_ids": None}


NAMES_FOR = dict.fromkeys(LIBRARIES, no_names) | {
    "attnbook": make_our_layer,
    "multihead": make_multihead_layer,
    "encoder": make_encoder_layer,
    "transformers": make_model,
}
