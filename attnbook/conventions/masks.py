"""Which keys count: masks of each kind, lengths, causal order and windows."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attnbook.conventions.caller import RefusedError
from attnbook.conventions.subject import (
    NO_ARGUMENT,
    SCORE,
    Finding,
    Subject,
    show,
)
from attnbook.messages import Messages

TEXT = Messages(__file__)


def visible_to(subject: Subject, num_queries: int, num_keys: int, **options: Any) -> Tensor:  # noqa: ANN401
    """Which keys have a share, `(n, m)`, where all have the same score."""
    weights = subject.weigh([SCORE] * num_keys, num_queries, **options)
    shares = weights / weights.amax(-1, keepdim=True)
    return (shares > 0.3).nan_to_num().bool()


def draw(visible: Tensor) -> str:
    """Each row as ones and zeros."""
    return " ".join("".join(str(int(cell)) for cell in row) for row in visible.tolist())


def causal(subject: Subject) -> Finding:
    """See which keys count for each of four queries; then for two queries and five keys."""
    has_argument = "causal" in subject.caller.names
    options = {"causal": True} if has_argument else {}
    try:
        square = visible_to(subject, 4, 4, **options)
    except RefusedError as refused:
        return Finding("refused", str(refused))
    ones = torch.ones(4, 4, dtype=torch.bool)
    evidence = TEXT("pairs", size="4 × 4", drawn=draw(square))
    if torch.equal(square, ones):
        return Finding("ignored" if has_argument else NO_ARGUMENT, evidence)
    answer = _order_of(square)
    if not answer:
        try:
            wide = visible_to(subject, 2, 5, **options)
        except RefusedError as refused:
            return Finding("refused", f"{evidence}; {refused}")
        evidence += "; " + TEXT("pairs", size="2 × 5", drawn=draw(wide))
        ones = torch.ones(2, 5, dtype=torch.bool)
        ends = {"from_last_key": ones.tril(3), "from_first_key": ones.tril()}
        answer = next((name for name, it in ends.items() if torch.equal(wide, it)), "other")
    return Finding(answer, evidence if has_argument else evidence + TEXT("always"))


def _order_of(square: Tensor) -> str:
    """What is wrong with a causal mask of as many queries as keys; "" if nothing is."""
    ones = torch.ones_like(square)
    for answer, pattern in (
        ("", ones.tril()),
        ("own_key_hidden", ones.tril(-1)),
        ("one_key_too_many", ones.tril(1)),
        ("reversed", ones.triu()),
        ("reversed", ones.triu(1)),
    ):
        filled = pattern.any(-1)  # a row without keys has many meanings
        if torch.equal(square[filled], pattern[filled]):
            return answer
    return "other"


def boolean_mask(subject: Subject) -> Finding:
    """Give a mask of which two of four are True."""
    shown = torch.tensor([True, False, True, False])
    return _mask_of_booleans(subject, "mask", shown.expand(1, 1, 4, -1))


def key_padding_mask(subject: Subject) -> Finding:
    """Give one row of booleans for all queries."""
    return _mask_of_booleans(subject, "padding", torch.tensor([[True, False, True, False]]))


def _mask_of_booleans(subject: Subject, option: str, mask: Tensor) -> Finding:
    caller = subject.caller
    if option not in caller.names:
        return Finding(NO_ARGUMENT, TEXT("without_argument", name=option))
    try:
        weights = subject.weigh([SCORE] * 4, 4, **{option: mask.to(caller.device)})
    except RefusedError as refused:
        return Finding("refused", str(refused))
    base = subject.weigh([SCORE] * 4)
    evidence = TEXT(
        "weights_of_mask", mask="True, False, True, False", weights=show(weights[-1].tolist())
    )
    changed = weights[-1] / base[-1]
    if not bool(changed.isfinite().all()) or changed.max() <= 0:
        return Finding("other", evidence)
    raised = float(changed[0].log() - changed[1].log())
    if abs(raised) < 0.02:
        answer = "ignored"
    elif any(math.isclose(raised, number, rel_tol=0.02) for number in _added(subject, 1)):
        answer = "added_as_numbers"
    else:
        answer = "true_keeps" if raised > 0 else "true_hides"
    if option == "mask" and answer in ("true_keeps", "true_hides") and _is_transposed(subject):
        return Finding("other", evidence + TEXT("transposed"))
    return Finding(answer, evidence)


def _added(subject: Subject, number: float) -> tuple[float, float]:
    """By how much a number raises a score if it is added, after scaling or before."""
    return number, number * subject.scale(subject.caller.sizes[0])


def _is_transposed(subject: Subject) -> bool:
    """Whether a mask that differs between queries counts with its axes exchanged."""
    mask = torch.ones(4, 4, dtype=torch.bool).tril(1)
    found = visible_to(subject, 4, 4, mask=mask.expand(1, 1, 4, 4).to(subject.caller.device))
    return torch.equal(found, mask.T) or torch.equal(found, ~mask.T)


def float_mask(subject: Subject) -> Finding:
    """Give a mask of 0, 1, 1.5 and 0, as `mask` or else as `bias`."""
    caller = subject.caller
    numbers = (0.0, 1.0, 1.5, 0.0)
    if not caller.adds_by:
        has_mask = {"mask", "bias"} & {*caller.names}
        return Finding("refused" if has_mask else NO_ARGUMENT, caller.float_problem)
    given = torch.tensor(numbers, dtype=caller.dtype, device=caller.device).expand(1, 1, 4, -1)
    try:
        weights = subject.weigh([SCORE] * 4, 4, **{caller.adds_by: given})[-1]
        base = subject.weigh([SCORE] * 4)[-1]
    except RefusedError as refused:
        return Finding("refused", str(refused))
    evidence = TEXT("weights_of_mask", mask=show(numbers), weights=show(weights.tolist()))
    if caller.adds_by == "bias":
        evidence += TEXT("by_bias", name=caller.names["bias"])
    changed = (weights / base).log()
    raised = [float(changed[key] - changed[0].clamp(min=-1e4)) for key in (1, 2)]
    near = 0.1 if caller.dtype == torch.bfloat16 else 0.01
    after, before = ([_added(subject, it)[place] for it in (1.0, 1.5)] for place in (0, 1))

    def is_raised(by: list[float]) -> bool:
        return all(math.isclose(a, b, abs_tol=near) for a, b in zip(raised, by, strict=True))

    hidden = [math.isinf(float(it)) or float(it) < -10 for it in changed]
    if is_raised(after):
        answer = "added"
    elif is_raised(before):
        answer = "added_before_scaling"
    elif is_raised([0, 0]):
        answer = "ignored"
    elif is_raised([SCORE, 1.5 * SCORE]) or (
        hidden == [True, False, False, True] and abs(raised[1] - raised[0]) > near
    ):
        answer = "multiplied"
    else:
        answer = _read_as_boolean(subject)
    return Finding(answer, evidence)


def _read_as_boolean(subject: Subject) -> str:
    """What 0 and 1 hide, where other numbers have no plain meaning."""
    caller = subject.caller
    numbers = torch.tensor([0.0, 1.0, 1.0, 0.0], dtype=caller.dtype, device=caller.device)
    given = {caller.adds_by: numbers.expand(1, 1, 4, -1)}
    drawn = draw(visible_to(subject, 4, 4, **given)[-1:])
    return {"0110": "read_as_boolean", "1001": "one_hides"}.get(drawn, "other")


def lengths(subject: Subject) -> Finding:
    """Give a length of 2 of four keys."""
    caller = subject.caller
    if "lengths" not in caller.names:
        return Finding(NO_ARGUMENT, TEXT("without_argument", name="lengths"))
    try:
        seen = visible_to(subject, 4, 4, lengths=torch.tensor([2], device=caller.device))[-1]
    except RefusedError as refused:
        return Finding("refused", str(refused))
    answers = {
        "1100": "first_keys",
        "0011": "last_keys",
        "1110": "one_key_too_many",
        "1000": "one_key_too_few",
        "1111": "ignored",
    }
    return Finding(answers.get(draw(seen[None]), "other"), TEXT("length", drawn=draw(seen[None])))


def window(subject: Subject) -> Finding:
    """Give a window of 3, and see which keys count for query 5 of 8."""
    names = subject.caller.names
    if "window" not in names:
        return Finding(NO_ARGUMENT, TEXT("without_argument", name="window"))
    order = {"causal": True} if subject.answer("causal") == "from_last_key" else {}
    problem = None
    for size in (3, (3, 0)):
        try:
            seen = visible_to(subject, 8, 8, window=size, **order)[5:6]
        except RefusedError as refused:
            problem = problem or refused
            continue
        answers = {
            "00011100": "own_key_counted",
            "00111100": "own_key_not_counted",
            "00111000": "own_key_hidden",
            "00011111": "both_sides",
            "00111111": "both_sides",
            "00001110": "both_sides",
            "11111111": "ignored",
            "11111100": "ignored",
        }
        evidence = TEXT("window", size=size, drawn=draw(seen))
        return Finding(answers.get(draw(seen), "other"), evidence)
    return Finding("refused", str(problem))
