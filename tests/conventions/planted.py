"""Attention functions of many styles: sound ones, and ones with one planted deviation each.

A variant is its parent with one piece of its source replaced. What is expected of a function comes
from its code. `a|b` means that the code alone allows two answers.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

INF = math.inf


def einsum(q, k, v, *, mask=None):
    """True keeps."""
    scores = torch.einsum("bhnd,bhmd->bhnm", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    return torch.einsum("bhnm,bhmd->bhnd", scores.softmax(-1), v)


def matmul(queries, keys, values, *, bias=None, causal=False):
    scores = queries @ keys.transpose(-2, -1) * queries.shape[-1] ** -0.5
    if bias is not None:
        scores = scores + bias
    if causal:
        scores = scores + torch.full_like(scores, -INF).triu(1)
    return scores.softmax(-1) @ values


def rows(queries, keys, values, valid_lens=None):
    """One query at a time, with a slice of the keys."""
    batch, heads, n, size = queries.shape
    out = queries.new_zeros(batch, heads, n, values.shape[-1])
    for b in range(batch):
        stop = keys.shape[2] if valid_lens is None else int(valid_lens[b])
        for h in range(heads):
            for i in range(n):
                k, v = keys[b, h, :stop], values[b, h, :stop]
                weights = torch.softmax(k @ queries[b, h, i] / size**0.5, 0)
                out[b, h, i] = weights @ v
    return out


def online(q, k, v, *, mask=None):
    """Blocks of two keys, in float32, with a running maximum."""
    query = q.float() / math.sqrt(q.shape[-1])
    top = query.new_full((*q.shape[:-1], 1), -INF)
    total, out = torch.zeros_like(top), query.new_zeros(*q.shape[:-1], v.shape[-1])
    if mask is not None:
        mask = mask.expand(*q.shape[:-1], k.shape[-2])
    for start in range(0, k.shape[-2], 2):
        block = slice(start, start + 2)
        scores = query @ k[..., block, :].float().transpose(-2, -1)
        if mask is not None:
            scores = torch.where(mask[..., block], scores, -INF)
        new = torch.maximum(top, scores.amax(-1, keepdim=True)).detach()
        safe = new.masked_fill(new == -INF, 0)
        shrink, shares = (top - safe).exp(), (scores - safe).exp()
        out = out * shrink + shares @ v[..., block, :].float()
        total, top = total * shrink + shares.sum(-1, keepdim=True), new
    return (out / total.clamp_min(1e-30)).to(q.dtype)


def batched(query, key, value, attn_mask=None, dropout_p=0.0):
    """Three axes; booleans become numbers."""
    _, _, size = query.shape
    added = query.new_zeros(query.shape[1], key.shape[1])
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        added = added.masked_fill(~attn_mask, -INF)
    elif attn_mask is not None:
        added = attn_mask.to(query.dtype)
    scores = torch.baddbmm(added, query, key.mT, alpha=1 / math.sqrt(size))
    weights = F.dropout(torch.softmax(scores, dim=-1), dropout_p)
    return torch.bmm(weights, value)


def wrapped(query, key, value, attn_mask=None, is_causal=False, dropout_p=0.0):
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=attn_mask, is_causal=is_causal, dropout_p=dropout_p
    )


def heads_last(q, k, v, *, key_padding_mask=None, causal=False):
    """Axes (batch, n, heads, size); True hides."""
    n, m = q.shape[1], k.shape[1]
    scores = torch.einsum("bnhd,bmhd->bhnm", q, k) / q.shape[-1] ** 0.5
    if key_padding_mask is not None:
        scores = scores.masked_fill(key_padding_mask[:, None, None, :], -1e9)
    if causal:
        future = torch.ones(n, m, dtype=torch.bool).triu(m - n + 1)
        scores = scores.masked_fill(future, -1e9)
    return torch.einsum("bhnm,bmhd->bnhd", scores.softmax(-1), v)


class Layer(nn.Module):
    """Output and weights; a row without keys has weights 0."""

    def forward(self, queries, keys, values, valid_lens=None, dropout=0.0):
        scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
        if valid_lens is not None:
            lens = valid_lens.view(-1, *[1] * (scores.dim() - 1))
            scores = scores.masked_fill(torch.arange(keys.shape[-2]) >= lens, -INF)
        weights = scores.softmax(-1).nan_to_num(0.0)
        return F.dropout(weights, dropout) @ values, weights


def grouped(q, k, v, *, attention_mask=None, sliding_window=None):
    """Key heads repeated; softmax in float32; a window ends at the own key."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.shape[-1])
    if attention_mask is not None:
        scores = scores + (1.0 - attention_mask.to(scores.dtype)) * -1e4
    if sliding_window is not None:
        back = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])
        inside = (back >= 0) & (back < sliding_window)
        scores = scores.masked_fill(~inside, -1e4)
    weights = torch.softmax(scores.float(), dim=-1).to(q.dtype)
    return torch.matmul(weights, v)


def capped(queries, keys, values, *, mask=None, is_causal=False):
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
    scores = 20 * torch.tanh(scores / 20)
    if mask is not None:
        scores = torch.where(mask == 0, -INF, scores)
    if is_causal:
        i, j = torch.arange(scores.shape[-2]), torch.arange(scores.shape[-1])
        scores = torch.where(j > i[:, None], -INF, scores)
    return scores.softmax(-1) @ values


def with_sink(q, k, v, mask=None):
    """One more key with score 0 and value 0."""
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -INF)
    top = scores.amax(-1, keepdim=True).clamp_min(0).detach()
    shares = torch.exp(scores - top)
    return shares / (torch.exp(-top) + shares.sum(-1, keepdim=True)) @ v


def clean(queries, keys, values, valid_lens=None):
    """What is hidden is overwritten first, and softmax starts from rows with a key."""
    m = keys.shape[-2]
    keep = torch.ones(len(keys), m, dtype=torch.bool)
    if valid_lens is not None:
        keep = torch.arange(m) < valid_lens[:, None]
    keep = keep.view(-1, *[1] * (keys.dim() - 3), m, 1)
    keys, values = keys.where(keep, 0), values.where(keep, 0)
    scores = queries.float() @ keys.float().mT / math.sqrt(keys.shape[-1])
    some = keep.any(-2, keepdim=True)
    scores = scores.masked_fill(~keep.mT & some, -INF)
    return (scores.softmax(-1) @ values.float() * some).to(queries.dtype)


def two_axes(q, k, v, mask=None, dropout=0.0):
    scores = torch.mm(q, k.t()).div(q.size(1) ** 0.5)
    if mask is not None:
        hidden = torch.zeros_like(scores).masked_fill(mask, -INF)
        scores = scores + hidden
    weights = F.softmax(scores, 1)
    weights = torch.dropout(weights, dropout, True)
    return weights.mm(v)


def with_alibi(q, k, v, *, attn_bias=None, causal=False):
    n, m = q.shape[-2], k.shape[-2]
    distance = torch.arange(m - n, m, dtype=q.dtype)[:, None] - torch.arange(m, dtype=q.dtype)
    scores = q @ k.mT / math.sqrt(q.shape[-1]) - 0.25 * distance.abs()
    if attn_bias is not None:
        scores = scores + attn_bias
    if causal:
        scores = scores.masked_fill(distance < 0, -INF)
    return scores.softmax(-1) @ v


def narrow(  # noqa: PLR0913
    q, k, v, *, window=None, causal=False, key_padding_mask=None, dropout=0.0
):
    """One mask of all rules; True keeps."""
    i, j = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
    keep = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if causal:
        keep = keep & (j <= i)
    if window is not None:
        keep = keep & ((i - j).abs() < window)
    if key_padding_mask is not None:
        keep = keep & key_padding_mask.view(len(q), *[1] * (q.dim() - 2), -1)
    scores = (q.double() @ k.double().mT).mul(q.shape[-1] ** -0.5).masked_fill(~keep, -INF)
    empty = ~keep.any(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
    return (F.dropout(weights, dropout) @ v.double()).to(v.dtype)


class Entry(NamedTuple):
    """A function, the answers expected of it, and how it came from its parent."""

    name: str
    function: Callable[..., Any]
    expected: dict[str, str]
    planted: bool = False
    parent: str | None = None
    changes: dict[str, str] | None = None


NO_ARGUMENT = dict.fromkeys(
    "causal boolean_mask float_mask key_padding_mask lengths window dropout".split(), "no_argument"
)
NOTHING_HIDES = dict.fromkeys(
    "empty_row empty_row_gradient hidden_value hidden_key hidden_weight".split(), "undecided"
)
USUAL = {
    "scale": "one_over_root_of_size",
    "soft_cap": "none",
    "row_sum": "one",
    "order_of_keys": "does_not_matter",
    "grouped_heads": "refused",
    "half_scores": "rounded",
    "half_weights": "rounded",
    **NO_ARGUMENT,
    **NOTHING_HIDES,
}
EXACT = {"hidden_weight": "exactly_zero"}
FILLED = EXACT | {"hidden_value": "spreads", "hidden_key": "stays_out"}
ADDED = EXACT | {"hidden_value": "spreads", "hidden_key": "spreads"}
CLEAN = EXACT | {"hidden_value": "stays_out", "hidden_key": "stays_out"}
NAN = {"empty_row": "nan", "empty_row_gradient": "nan"}
ZERO = {"empty_row": "zero", "empty_row_gradient": "finite"}
MEAN = {"empty_row": "mean_of_values", "empty_row_gradient": "finite"}
FLOAT32 = {"half_scores": "in_float32", "half_weights": "in_float32"}
# A bias can hide keys too: this depends on what is tried.
BIAS = {"boolean_mask": "no_argument|added_as_numbers", "float_mask": "added"}
MAY_BE_EMPTY = {"empty_row": "nan|undecided", "empty_row_gradient": "nan|undecided"}
# All keys have an ordinary share.
HIDES_NOT = {
    "empty_row": "undecided|other",
    "empty_row_gradient": "undecided|finite",
    "hidden_value": "undecided|spreads",
    "hidden_key": "undecided|spreads",
    "hidden_weight": "undecided|not_zero",
}

KEEPS, HIDES = {"boolean_mask": "true_keeps"}, {"boolean_mask": "true_hides"}
REFUSES, READS = {"float_mask": "refused"}, {"float_mask": "read_as_boolean"}
ONE_HIDES = {"float_mask": "one_hides"}
DROPS = {"dropout": "on_weights"}
FIRST = {"causal": "from_first_key"}
LENGTHS = {"lengths": "first_keys"}
PARENTS: dict[Callable[..., Any] | type, dict[str, str]] = {
    einsum: KEEPS | REFUSES | NAN | FILLED,
    matmul: FIRST | BIAS | MAY_BE_EMPTY | ADDED,
    rows: LENGTHS | ZERO | CLEAN,
    online: KEEPS | REFUSES | ZERO | FILLED | FLOAT32,
    batched: KEEPS | {"float_mask": "added", "grouped_heads": "undecided"} | NAN | ADDED | DROPS,
    wrapped: KEEPS
    | {"float_mask": "added", "half_scores": "in_float32"}  # the kernel's sums are in float32
    | FIRST
    | ZERO
    | ADDED
    | DROPS,
    heads_last: MEAN
    | FILLED
    | {"key_padding_mask": "true_hides", "causal": "from_last_key", "hidden_weight": "finite_fill"},
    Layer: LENGTHS | ZERO | FILLED | DROPS,
    grouped: KEEPS
    | {
        "float_mask": "other|read_as_boolean",
        "window": "own_key_counted",
        "grouped_heads": "interleaved",
        "empty_row": "as_if_visible",  # -1e4 is added to all scores
        "empty_row_gradient": "finite",
        "hidden_value": "spreads",
        "hidden_key": "spreads",
        "hidden_weight": "finite_added",
    },
    capped: {"soft_cap": "capped"} | KEEPS | READS | FIRST | NAN | FILLED,
    with_sink: {"row_sum": "below_one"} | KEEPS | READS | ZERO | FILLED,
    clean: LENGTHS | ZERO | CLEAN | FLOAT32,
    two_axes: HIDES | REFUSES | NAN | ADDED | DROPS | {"grouped_heads": "undecided"},
    with_alibi: {"order_of_keys": "matters", "causal": "from_last_key"}
    | BIAS
    | MAY_BE_EMPTY
    | FILLED
    | {"hidden_key": "stays_out|spreads"},
    narrow: FIRST
    | {"key_padding_mask": "true_keeps", "window": "own_key_counted"}
    | ZERO
    | FILLED
    | FLOAT32
    | DROPS,
}


def _named(parent: Callable[..., Any] | type) -> Entry:
    function = parent() if isinstance(parent, type) else parent
    return Entry(parent.__name__, function, USUAL | PARENTS[parent])


def _vary(parent: Callable[..., Any] | type, old: str, new: str, changes: dict[str, str]) -> Entry:
    source = inspect.getsource(parent)
    assert source.count(old) == 1, (parent.__name__, old)
    space = dict(globals())
    exec(source.replace(old, new), space)  # noqa: S102
    function = space[parent.__name__]
    return Entry(
        f"{parent.__name__}: {old} -> {new}",
        function() if isinstance(function, type) else function,
        USUAL | PARENTS[parent] | changes,
        parent=parent.__name__,
        changes=changes,
    )


MEAN_FILL = MEAN | {"hidden_weight": "finite_fill"}
SHARE = {"empty_row": "mean_of_values", "empty_row_gradient": "finite", "hidden_value": "spreads"}
ROWS_ZERO = "scores.softmax(-1).nan_to_num(0.0)"
# A softmax over queries makes the other questions vague.
OVER_QUERIES = {
    "row_sum": "over_queries",
    "scale": "one_over_root_of_size|other|undecided",
    "soft_cap": "none|undecided|other",
    "causal": "from_first_key|other|undecided",
    "float_mask": "added|other|undecided",
    "boolean_mask": "no_argument|added_as_numbers|other",
    "empty_row": "zero|nan|other|undecided",
    "empty_row_gradient": "finite|nan|undecided",
    "hidden_value": "spreads|undecided",
    "hidden_key": "spreads|undecided",
    "hidden_weight": "exactly_zero|undecided|not_zero",
    "half_scores": "rounded|undecided",
    "half_weights": "rounded|undecided",
}
SOUND = [
    *map(_named, PARENTS),
    _vary(two_axes, "dropout, True)", "dropout, False)", {"dropout": "ignored"}),
    # Masks with the other meaning, and other rows without keys
    _vary(einsum, "~mask", "mask", HIDES),
    _vary(einsum, "-INF", "-1e9", MEAN_FILL),
    _vary(einsum, "scores.softmax(-1)", ROWS_ZERO, ZERO),
    _vary(online, "mask[..., block],", "~mask[..., block],", HIDES),
    _vary(online, ".clamp_min(1e-30)", "", NAN),
    _vary(batched, "~attn_mask", "attn_mask", HIDES),
    _vary(
        heads_last, "(key_padding_mask", "(~key_padding_mask", {"key_padding_mask": "true_keeps"}
    ),
    _vary(heads_last, "triu(m - n + 1)", "triu(1)", FIRST),
    _vary(Layer, ".nan_to_num(0.0)", "", NAN),
    _vary(capped, "mask == 0", "mask != 0", HIDES | ONE_HIDES),
    # No score that is capped is as low as the fill, so the weight is exactly 0 all the same.
    _vary(capped, "-INF, scores)\n    if", "-1e9, scores)\n    if", MEAN),
    _vary(with_sink, "mask.logical_not()", "mask.bool()", HIDES | ONE_HIDES),
    _vary(two_axes, "(mask, -INF)", "(~mask, -INF)", KEEPS),
    _vary(narrow, "& key_padding_mask", "& ~key_padding_mask", {"key_padding_mask": "true_hides"}),
    _vary(narrow, "(i - j).abs() < window", "i - j <= window", {"window": "own_key_not_counted"}),
    # Other scales, caps, lengths and precision
    _vary(matmul, " * queries.shape[-1] ** -0.5", "", {"scale": "none"}),
    _vary(capped, "20 * torch.tanh(scores / 20)", "scores", {"soft_cap": "none"}),
    _vary(clean, "torch.arange(m) <", "torch.arange(m).flip(0) <", {"lengths": "last_keys"}),
    _vary(grouped, "scores.float(), dim=-1).to(q.dtype)", "scores, dim=-1)", {}),
    _vary(
        grouped,
        "torch.matmul(q, k.transpose(2, 3))",
        "torch.matmul(q.float(), k.float().mT)",
        {"half_scores": "in_float32"},
    ),
    _vary(with_alibi, " - 0.25 * distance.abs()", "", {"order_of_keys": "does_not_matter"}),
    _vary(with_alibi, "torch.arange(m - n, m,", "torch.arange(n,", FIRST),
    _vary(
        wrapped,
        "dropout_p=dropout_p",
        "dropout_p=dropout_p, enable_gqa=True",
        {"grouped_heads": "interleaved"},
    ),
    _vary(Layer, "values, weights\n", "values\n", {}),
]
PLANTED = [
    entry._replace(planted=True)
    for entry in [
        _vary(einsum, "math.sqrt(q.shape[-1])", "q.shape[-1]", {"scale": "one_over_size"}),
        _vary(einsum, " / math.sqrt(", " * math.sqrt(", {"scale": "root_of_size"}),
        _vary(einsum, "q.shape[-1])", "k.shape[-2])", {"scale": "one_over_root_of_keys"}),
        _vary(
            einsum, "q.shape[-1])", "q.shape[-1] * q.shape[1])", {"scale": "one_over_root_of_width"}
        ),
        _vary(
            capped,
            "queries.shape[-1])",
            "values.shape[-1])",
            {"scale": "one_over_root_of_value_size"},
        ),
        _vary(rows, " / size**0.5", "", {"scale": "none"}),
        _vary(heads_last, "q.shape[-1] ** 0.5", "8", {"scale": "constant"}),
        _vary(
            einsum,
            " / math.sqrt(q.shape[-1])",
            ".div(math.sqrt(q.shape[-1]) * 30).tanh().mul(30)",
            {"soft_cap": "capped"},
        ),
        # The sum of a row
        _vary(matmul, "scores.softmax(-1)", "scores.softmax(-2)", OVER_QUERIES),
        _vary(with_sink, "torch.exp(-top) + ", "", {"row_sum": "one"} | NAN),
        _vary(Layer, "nan_to_num(0.0)", "nan_to_num(0.0) * 0.5", {"row_sum": "below_one|other"}),
        _vary(
            einsum,
            "scores = scores.masked_fill(~mask, -INF)",
            "return (scores.softmax(-1) * mask) @ v",
            {"row_sum": "after_masking", "float_mask": "other|multiplied", "hidden_key": "spreads"}
            | ZERO,
        ),
        _vary(
            einsum,
            "math.sqrt(q.shape[-1])",
            "math.sqrt(q.shape[-1]) - 0.3 * torch.arange(k.shape[-2])",
            {
                "order_of_keys": "matters",
                "half_scores": "rounded|refused",
                "half_weights": "rounded|refused",
            },
        ),
        _vary(matmul, "triu(1)", "triu(2)", {"causal": "one_key_too_many"}),
        _vary(matmul, "triu(1)", "triu(0)", {"causal": "own_key_hidden"} | MAY_BE_EMPTY),
        _vary(matmul, "triu(1)", "tril(-1)", {"causal": "reversed"}),
        _vary(heads_last, "m - n + 1", "m - n + 2", {"causal": "one_key_too_many"}),
        _vary(narrow, "keep & (j <= i)", "keep", {"causal": "ignored", "window": "both_sides"}),
        # Masks
        _vary(
            two_axes,
            "torch.zeros_like(scores).masked_fill(mask, -INF)",
            "mask",
            {
                "boolean_mask": "added_as_numbers",
                "float_mask": "added",
                "hidden_weight": "undecided|not_zero|exactly_zero",
                "empty_row": "undecided|other|nan",
                "empty_row_gradient": "undecided|finite|nan",
                "hidden_value": "undecided|spreads",
                "hidden_key": "undecided|spreads",
            },
        ),
        _vary(
            online,
            "scores = torch.where(mask[..., block], scores, -INF)",
            "pass",
            HIDES_NOT | {"boolean_mask": "ignored", "float_mask": "ignored"},
        ),
        _vary(
            batched,
            "attn_mask.to(query.dtype)",
            "attn_mask.to(query.dtype) / math.sqrt(size)",
            {"float_mask": "added_before_scaling"},
        ),
        _vary(
            with_alibi,
            "scores + attn_bias",
            "scores * attn_bias",
            {
                "hidden_value": "spreads|undecided",
                "hidden_key": "stays_out|spreads|undecided",
                "hidden_weight": "exactly_zero|undecided",
                "float_mask": "multiplied",
                "boolean_mask": "no_argument|other",
                "empty_row": "undecided|nan|other",
                "empty_row_gradient": "undecided|nan|finite",
            },
        ),
        _vary(
            rows,
            "int(valid_lens[b])",
            "int(valid_lens[b]) + 1",
            {
                "lengths": "one_key_too_many",
                "empty_row": "undecided|other",
                "empty_row_gradient": "undecided|finite",
            },
        ),
        _vary(Layer, ">= lens", ">= lens - 1", {"lengths": "one_key_too_few"}),
        # Rows without keys
        _vary(
            two_axes,
            "F.softmax(scores, 1)",
            "F.softmax(scores, 1).nan_to_num(0.0)",
            {"empty_row": "zero"},
        ),
        _vary(
            online,
            "(out / total.clamp_min(1e-30))",
            "torch.where(total > 0, out / total, 0)",
            {"empty_row_gradient": "nan"},
        ),
        _vary(
            einsum,
            'torch.einsum("bhnm,bhmd->bhnd", scores.softmax(-1), v)',
            "(scores.softmax(-1) @ v).nan_to_num(0.0)",
            {"empty_row": "zero"},
        ),
        # What is hidden
        _vary(clean, "values.where(keep, 0)", "values", {"hidden_value": "spreads"}),
        _vary(narrow, "(~keep, -INF)", "(~keep, -1e4)", {"hidden_weight": "finite_fill"}),
        _vary(
            capped,
            "mask == 0, -INF",
            "mask == 0, 0",
            SHARE
            | {
                "hidden_weight": "finite_fill|not_zero",
                "boolean_mask": "true_keeps|other",
                "float_mask": "read_as_boolean|other",
            },
        ),
        _vary(
            einsum,
            "scores.masked_fill(~mask, -INF)",
            "scores + ~mask * -1e9",
            {
                "hidden_weight": "finite_added",
                "hidden_key": "spreads",
                "empty_row": "other|mean_of_values",
                "empty_row_gradient": "finite",
            },
        ),
        # Windows and groups
        _vary(
            grouped,
            "back < sliding_window",
            "back <= sliding_window",
            {"window": "own_key_not_counted"},
        ),
        _vary(grouped, "(back >= 0) & (back <", "(back.abs() <", {"window": "both_sides"}),
        _vary(
            grouped, "(back >= 0) & (back <", "(back >= 1) & (back <=", {"window": "own_key_hidden"}
        ),
        _vary(
            grouped,
            "k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)",
            "k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1)",
            {"grouped_heads": "tiled"},
        ),
        # Precision and dropout
        _vary(
            clean,
            "queries.float() @ keys.float().mT",
            "(queries @ keys.mT).float()",
            {"half_scores": "rounded"},
        ),
        _vary(
            clean,
            "scores.softmax(-1) @",
            "scores.softmax(-1).to(values.dtype).float() @",
            {"half_weights": "rounded"},
        ),
        _vary(
            batched,
            "F.dropout(torch.softmax(scores, dim=-1), dropout_p)",
            "torch.softmax(F.dropout(scores, dropout_p), -1)",
            {"dropout": "on_scores"},
        ),
        _vary(
            Layer,
            "F.dropout(weights, dropout) @ values",
            "F.dropout(weights @ values, dropout)",
            {"dropout": "on_output"},
        ),
        _vary(
            narrow,
            "F.dropout(weights, dropout)",
            "(weights * (torch.rand_like(weights) >= dropout))",
            {"dropout": "on_weights_not_scaled"},
        ),
    ]
]
