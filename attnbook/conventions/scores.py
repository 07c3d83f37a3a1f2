"""What scores and weights are: scaling, a soft-cap, sums, positions."""

from __future__ import annotations

import math

import torch

from attnbook.conventions.caller import RefusedError, random_inputs
from attnbook.conventions.subject import (
    SCALES,
    UNDECIDED,
    Finding,
    Sizes,
    Subject,
    log_ratio,
    rounded,
    show,
    undecided,
)
from attnbook.messages import Messages

TEXT = Messages(__file__)


def scale(subject: Subject) -> Finding:
    """Raise the score of one key of two, and divide what that does by the raise."""
    caller = subject.caller
    if caller.takes_scale:
        return Finding("given_by_caller", TEXT("scale_given", name=caller.takes_scale))
    first = caller.sizes[0]
    calls = [*map(Sizes, caller.sizes), Sizes(first, num_keys=3)]
    measured = [(sizes, _factor(subject, sizes)) for sizes in calls]
    for sizes in [Sizes(first, value_size=first + 8), Sizes(first, heads=2)]:
        if sizes.heads == 1 or caller.has_heads:
            try:
                measured.append((sizes, _factor(subject, sizes)))
            except RefusedError:
                continue  # it takes no such values
    factors = [factor for _sizes, factor in measured]
    if not all(map(math.isfinite, factors)) or min(map(abs, factors)) < 1e-6:
        return undecided(TEXT("scale_unclear", factors=show(factors)))
    counted = "; ".join(f"{sizes.describe()}: {factor:.3g}" for sizes, factor in measured)
    evidence = TEXT("scale_measured", calls=counted)
    if not _is_dot_product(subject):
        return Finding("other", evidence + TEXT("no_dot_product"))
    tolerance = 0.1 if caller.dtype == torch.bfloat16 else 2e-3
    for answer, formula in SCALES.items():
        if all(math.isclose(it, formula(sizes), rel_tol=tolerance) for sizes, it in measured):
            return Finding(answer, evidence)
    if all(math.isclose(factor, factors[0], rel_tol=tolerance) for factor in factors):
        return Finding("constant", evidence, rounded(factors[0]))
    return Finding("other", evidence)


def _factor(subject: Subject, sizes: Sizes) -> float:
    step = 8.0 if subject.caller.dtype == torch.bfloat16 else 0.125
    shape = (1, sizes.heads, sizes.num_keys, sizes.size)
    queries, keys = (torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    keys[..., 0, 0] = 1
    before = subject.read_weights(queries, keys, sizes.value_size)[0, 0]
    queries[..., 0] = step
    after = subject.read_weights(queries, keys, sizes.value_size)[0, 0]
    return (log_ratio(after, 0, 1) - log_ratio(before, 0, 1)) / step


def _is_dot_product(subject: Subject) -> bool:
    """Whether small random vectors have the scores of their dot products, and 0 gives no score."""
    if subject.caller.dtype == torch.bfloat16:
        return True  # too coarse to decide
    queries, keys, _ = (it.double().cpu() / 4 for it in random_inputs(subject.caller, 4, 4, 1, 1))
    factor = _factor(subject, Sizes(queries.shape[-1], num_keys=4))
    weights = subject.read_weights(queries, keys)[0, 0]
    before = subject.read_weights(0 * queries, keys)[0, 0]
    alike = subject.read_weights(0 * queries, 0 * keys)[0, 0]
    if not torch.allclose(before, alike, atol=1e-4, equal_nan=True):
        return False  # keys without a query have scores
    scores = (queries @ keys.mT)[0, 0] * factor
    found = [log_ratio(weights, 0, key) - log_ratio(before, 0, key) for key in range(4)]
    wanted = [float(scores[-1, 0] - scores[-1, key]) for key in range(4)]
    largest = max(map(abs, wanted))
    return all(abs(a - b) < 0.02 * largest for a, b in zip(found, wanted, strict=True))


def soft_cap(subject: Subject) -> Finding:
    """Raise one of two scores far above the other, and see how far above it counts."""
    if subject.answer("scale") in ("other", UNDECIDED):
        return undecided(TEXT("scale_needed"))
    found, alike = {}, subject.weigh((0, 0))
    for score in (5.0, 20.0, 80.0):
        above = log_ratio(subject.weigh((score, 0)), 0, 1) - log_ratio(alike, 0, 1)
        if math.isfinite(above):
            found[score] = above
    if not found:
        return undecided(TEXT("no_ratio"))
    evidence = TEXT("cap_measured", scores=show(found), counted=show(found.values()))
    if subject.caller.dtype == torch.bfloat16 or all(
        math.isclose(above, score, rel_tol=1e-3) for score, above in found.items()
    ):
        return Finding("none", evidence)
    score, above = max(found.items())
    low, high = above / 2, 1e6
    for _ in range(100):  # cap * tanh(score / cap) grows with cap
        cap = (low + high) / 2
        low, high = (cap, high) if cap * math.tanh(score / cap) < above else (low, cap)
    if all(math.isclose(cap * math.tanh(s / cap), it, rel_tol=0.01) for s, it in found.items()):
        return Finding("capped", evidence, rounded(cap))
    return Finding("clamped", evidence, rounded(above))


def row_sum(subject: Subject) -> Finding:
    """Sum the weights of random vectors over keys, and over queries."""
    queries, keys, _ = random_inputs(subject.caller, 4, 4, 1, 1)
    weights = subject.read_weights(queries, keys)[0, 0]
    rows, columns = weights.sum(-1), weights.sum(0)
    one = torch.ones(4, dtype=torch.float64)
    near = 0.02 if subject.caller.dtype == torch.bfloat16 else 1e-4
    evidence = TEXT("sums", rows=show(rows.tolist()))
    if torch.allclose(rows, one, atol=near):
        try:
            hidden = subject.hide_one()
        except RefusedError:
            return Finding("one", evidence)
        rows = subject.read_weights(queries, keys, **hidden)[0, 0].sum(-1)
        evidence = TEXT("sums_hidden", rows=show(rows.tolist()))
        return Finding("one" if torch.allclose(rows, one, atol=near) else "after_masking", evidence)
    if torch.allclose(columns, one, atol=near):
        return Finding("over_queries", TEXT("column_sums", columns=show(columns.tolist())))
    return Finding("below_one" if bool((rows < 1).all()) else "other", evidence)


def order_of_keys(subject: Subject) -> Finding:
    """Exchange keys, each with its value."""
    queries, keys, values = random_inputs(subject.caller, 4, 4, 1, 1)
    order = [2, 0, 3, 1]
    with torch.no_grad():
        before = subject.caller(queries, keys, values)[..., -1, :].double()
        after = subject.caller(queries, keys[..., order, :], values[..., order, :])
    moved = float((after[..., -1, :].double() - before).abs().max())
    near = 0.05 if subject.caller.dtype == torch.bfloat16 else 1e-4
    return Finding(
        "does_not_matter" if moved < near else "matters",
        TEXT("keys_exchanged", moved=f"{moved:.2f}"),
    )
