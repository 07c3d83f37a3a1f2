"""One function for each property: numbers that are put in, and what comes out.

Queries and keys are made for scores that are known: the first component of a query and of a key is
their score, and all others are 0. Values are unit vectors, so that the output is the weights. As
many queries as keys, of which the last is read, because some functions hide the future always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.conventions.caller import Caller, RefusedError, random_inputs
from attnbook.messages import Messages

TEXT = Messages(__file__)
UNDECIDED = "undecided"
NO_ARGUMENT = "no_argument"
SCORE = 3.0  # of keys that are alike: not 0, so that a fill of 0 can be told from them
LARGEST = {torch.float64: 1e300, torch.float32: 1e37, torch.bfloat16: 1e37}


@dataclass(frozen=True)
class Finding:
    """What was found about one property.

    Attributes:
        answer: a code, such as "from_last_key"; "undecided" if the numbers do not decide.
        evidence: the numbers that were put in and came out, or why there is no answer.
        value: the number that belongs to the answer, such as a soft-cap's.
    """

    answer: str
    evidence: str
    value: float | None = None


@dataclass
class Subject:
    """A function, and what was found about it so far."""

    caller: Caller
    findings: dict[str, Finding] = field(default_factory=dict)

    def scale(self, size: int, num_keys: int = 4) -> float:
        """What scores of vectors of this size are multiplied by; 1 if that was not found."""
        finding = self.findings.get("scale")
        if finding is None:
            return 1.0
        if finding.answer in SCALES:
            return SCALES[finding.answer](Sizes(size, num_keys))
        return finding.value or 1.0

    def answer(self, name: str) -> str:
        """The answer to an earlier question; "" without one."""
        return self.findings[name].answer if name in self.findings else ""

    def weigh(self, scores: Iterable[float], num_queries: int = 0, **options: Any) -> Tensor:  # noqa: ANN401
        """The weights that all queries give to keys of these scores, `(n, m)`, in float64."""
        row = torch.tensor([*scores], dtype=torch.float64)
        size = self.caller.sizes[0]
        queries = torch.zeros(1, 1, num_queries or len(row), size, dtype=torch.float64)
        keys = torch.zeros(1, 1, len(row), size, dtype=torch.float64)
        largest = max(float(row.abs().max()), 1.0) ** 0.5  # no factor is too large for its dtype
        queries[..., 0] = largest
        keys[..., 0] = row / largest / self.scale(size, len(row))
        return self.read_weights(queries, keys, **options)[0, 0]

    def read_weights(
        self,
        queries: Tensor,
        keys: Tensor,
        value_size: int = 0,
        **options: Any,  # noqa: ANN401
    ) -> Tensor:
        """The weights, `(batch, heads, n, m)`, in float64: the pooled unit vectors."""
        num_keys = keys.shape[-2]
        values = torch.eye(num_keys, value_size or keys.shape[-1]).expand(*keys.shape[:2], -1, -1)
        tensors = [it.to(self.caller.device, self.caller.dtype) for it in (queries, keys, values)]
        with torch.no_grad():
            weights = self.caller(*tensors, **options)[..., :num_keys]
        return weights.double().cpu()

    def hide(self, visible: list[bool], num_queries: int = 0) -> dict[str, Any]:
        """The options that hide keys from all queries; of lengths, hidden keys must come last.

        Raises:
            RefusedError: nothing was found that hides keys.
        """
        shown = torch.tensor(visible, device=self.caller.device)
        full = shown.expand(1, 1, num_queries or len(visible), -1)
        booleans, padding = self.answer("boolean_mask"), self.answer("key_padding_mask")
        if booleans in ("true_keeps", "true_hides"):
            return {"mask": full if booleans == "true_keeps" else ~full}
        if padding in ("true_keeps", "true_hides"):
            return {"padding": (shown if padding == "true_keeps" else ~shown)[None]}
        if self.answer("lengths") == "first_keys":
            return {"lengths": shown.sum()[None]}
        if self.answer("float_mask").startswith("added"):
            added = torch.zeros(full.shape, dtype=self.caller.dtype, device=shown.device)
            return {self.caller.adds_by: added.masked_fill(~full, -math.inf)}
        raise RefusedError(TEXT("nothing_hides"))


Probe = Callable[[Subject], Finding]


def undecided(reason: object) -> Finding:
    """The finding that there is none."""
    return Finding(UNDECIDED, str(reason))


def show(numbers: Iterable[float]) -> str:
    """Numbers with three digits."""
    return ", ".join(f"{number:.3g}" for number in numbers)


def log_ratio(weights: Tensor, one: int, other: int) -> float:
    """By how much the score of one key is above that of another, for the last query."""
    return float(weights[-1, one].log() - weights[-1, other].log())


# Scores


class Sizes(NamedTuple):
    """The sizes of a call from which a scale is measured."""

    size: int
    num_keys: int = 2
    value_size: int = 0  # 0: that of keys
    heads: int = 1

    def describe(self) -> str:
        """Name the size, and what is not as in the first call."""
        others = {"keys": self.num_keys, "value size": self.value_size, "heads": self.heads}
        usual = dict(zip(others, Sizes(0)[1:], strict=True))
        named = [f"{name} {it}" for name, it in others.items() if it != usual[name]]
        return ", ".join([f"size {self.size}", *named])


SCALES: dict[str, Callable[[Sizes], float]] = {
    "none": lambda _: 1.0,
    "one_over_root_of_size": lambda sizes: sizes.size**-0.5,
    "one_over_size": lambda sizes: 1 / sizes.size,
    "root_of_size": lambda sizes: sizes.size**0.5,
    "one_over_root_of_value_size": lambda sizes: (sizes.value_size or sizes.size) ** -0.5,
    "one_over_root_of_width": lambda sizes: (sizes.size * sizes.heads) ** -0.5,
    "one_over_root_of_keys": lambda sizes: sizes.num_keys**-0.5,
}


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
    if not _is_dot_product(subject, factors[0]):
        return Finding("other", evidence + TEXT("no_dot_product"))
    tolerance = 0.1 if caller.dtype == torch.bfloat16 else 2e-3
    for answer, formula in SCALES.items():
        if all(math.isclose(it, formula(sizes), rel_tol=tolerance) for sizes, it in measured):
            return Finding(answer, evidence)
    if all(math.isclose(factor, factors[0], rel_tol=tolerance) for factor in factors):
        return Finding("constant", evidence, _round(factors[0]))
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


def _is_dot_product(subject: Subject, factor: float) -> bool:
    """Whether small random vectors have the scores of their dot products."""
    if subject.caller.dtype == torch.bfloat16:
        return True  # too coarse to decide
    queries, keys, _ = (it.double().cpu() / 4 for it in random_inputs(subject.caller, 4, 4, 1, 1))
    weights = subject.read_weights(queries, keys)[0, 0]
    before = subject.read_weights(0 * queries, keys)[0, 0]
    scores = (queries @ keys.mT)[0, 0] * factor
    found = [log_ratio(weights, 0, key) - log_ratio(before, 0, key) for key in range(4)]
    wanted = [float(scores[-1, 0] - scores[-1, key]) for key in range(4)]
    largest = max(map(abs, wanted))
    return all(abs(a - b) < 0.02 * largest for a, b in zip(found, wanted, strict=True))


def _round(number: float) -> float:
    return float(f"{number:.3g}")


def soft_cap(subject: Subject) -> Finding:
    """Raise one of two scores far above the other, and see how far above it counts."""
    if subject.answer("scale") in ("other", UNDECIDED):
        return undecided(TEXT("scale_needed"))
    found = {}
    for score in (5.0, 20.0, 80.0):
        above = log_ratio(subject.weigh((score, 0)), 0, 1)
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
        return Finding("capped", evidence, _round(cap))
    return Finding("clamped", evidence, _round(above))


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
            hidden = subject.hide([True, True, True, False])
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


# Which keys count


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
        weights = subject.weigh([SCORE] * 4, **{option: mask.to(caller.device)})
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
        weights = subject.weigh([SCORE] * 4, **{caller.adds_by: given})[-1]
        base = subject.weigh([SCORE] * 4)[-1]
    except RefusedError as refused:
        return Finding("refused", str(refused))
    evidence = TEXT("weights_of_mask", mask=show(numbers), weights=show(weights.tolist()))
    if caller.adds_by == "bias":
        evidence += TEXT("by_bias", name=caller.names["bias"])
    changed = (weights / base).log()
    raised = [float(changed[key] - changed[0]) for key in (1, 2)]
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
    elif is_raised([SCORE, 1.5 * SCORE]):
        answer = "multiplied"
    elif hidden in ([True, False, False, True], [False, True, True, False]):
        alike = math.isclose(raised[0], raised[1], abs_tol=near) or hidden[1]
        answer = "read_as_boolean" if alike else "multiplied"
    else:
        answer = "other"
    return Finding(answer, evidence)


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


# Rows without keys, and what is hidden


def empty_row(subject: Subject) -> Finding:
    """Hide all keys, and compare the output with 0 and with the mean of the values."""
    queries, keys, values = random_inputs(subject.caller, 4, 4, 1, 1)
    try:
        hidden = subject.hide([False] * 4)
    except RefusedError as refused:
        return undecided(refused)
    try:
        with torch.no_grad():
            output = subject.caller(queries, keys, values, **hidden)[0, 0, -1].double()
            unmasked = subject.caller(queries, keys, values)[0, 0, -1].double()
    except RefusedError as refused:
        return Finding("refused", str(refused))
    mean = values[0, 0].double().mean(0)
    evidence = TEXT("empty", output=show(output[:2].tolist()), mean=show(mean[:2].tolist()))
    near = 0.02 if subject.caller.dtype == torch.bfloat16 else 1e-4
    for answer, expected in {
        "zero": torch.zeros_like(output),
        "nan": torch.full_like(output, math.nan),
        "mean_of_values": mean,
        "as_if_visible": unmasked,
    }.items():
        if torch.allclose(output, expected, atol=near, equal_nan=True):
            return Finding(answer, evidence)
    return Finding("other", evidence)


def empty_row_gradient(subject: Subject) -> Finding:
    """Hide all keys, and differentiate the sum of the output."""
    tensors = [it.requires_grad_() for it in random_inputs(subject.caller, 4, 4, 1, 1)]
    try:
        output = subject.caller(*tensors, **subject.hide([False] * 4))
    except RefusedError as refused:
        return undecided(refused)
    if not output.requires_grad:
        return undecided(TEXT("no_gradient"))
    found = torch.autograd.grad(output.sum(), tensors, allow_unused=True)
    broken = sum(int(grad.isnan().sum()) for grad in found if grad is not None)
    count = sum(tensor.numel() for tensor in tensors)
    return Finding("nan" if broken else "finite", TEXT("gradient", broken=broken, count=count))


def hidden_value(subject: Subject) -> Finding:
    """Put NaN, then infinity, into the value of a hidden key."""
    return _poison(subject, 2)


def hidden_key(subject: Subject) -> Finding:
    """Put NaN, then infinity, into a hidden key."""
    return _poison(subject, 1)


def _poison(subject: Subject, place: int) -> Finding:
    tensors = [*random_inputs(subject.caller, 4, 4, 1, 1)]
    try:
        hidden = subject.hide([True, True, True, False])
        outputs = []
        for number in (math.nan, math.inf):
            poisoned = [it.clone() for it in tensors]
            poisoned[place][..., -1, :] = number
            with torch.no_grad():
                outputs.append(subject.caller(*poisoned, **hidden)[0, 0, -1])
    except RefusedError as refused:
        return undecided(refused)
    spreads = [not bool(output.isfinite().all()) for output in outputs]
    answers = {
        (False, False): "stays_out",
        (True, True): "spreads",
        (True, False): "nan_spreads",
        (False, True): "inf_spreads",
    }
    evidence = TEXT(
        "poisoned", nan=show(outputs[0][:2].tolist()), inf=show(outputs[1][:2].tolist())
    )
    return Finding(answers[spreads[0], spreads[1]], evidence)


def hidden_weight(subject: Subject) -> Finding:
    """Lower all visible scores until a hidden key, of score 0, has a larger weight than they."""
    try:
        hidden = subject.hide([True, True, True, False])
    except RefusedError as refused:
        return undecided(refused)
    if subject.answer("scale") in ("other", UNDECIDED):
        return undecided(TEXT("scale_needed"))

    def share(visible: float, of_hidden: float = 0.0) -> float:
        weights = subject.weigh((visible, visible, visible, of_hidden), **hidden)
        return float(weights[-1, -1])

    low, high = 1.0, LARGEST[subject.caller.dtype]
    ordinary = share(-low)
    if ordinary > 1e-6:
        return Finding("not_zero", TEXT("share", score=show([-low]), share=show([ordinary])))
    lowest = share(-high)
    if not lowest > 0.25:
        evidence = TEXT("share", score=show([-high]), share=show([lowest]))
        return Finding("exactly_zero", evidence)
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if share(-middle) > 0.25 else (middle, high)
    evidence = TEXT("share_from", score=show([-high]))
    raised = share(0.0, 2 * high)
    if raised > 0.25:
        evidence += TEXT("share_raised", score=show([2 * high]), share=show([raised]))
    return Finding("finite_added" if raised > 0.25 else "finite_fill", evidence, _round(-high))


# Heads, half precision, dropout


def grouped_heads(subject: Subject) -> Finding:
    """Give four heads of queries, and two of keys whose values are 0 and 1."""
    caller = subject.caller
    if not caller.has_heads:
        return undecided(TEXT("no_heads"))
    size = caller.sizes[0]
    queries = torch.zeros(1, 4, 4, size, dtype=caller.dtype, device=caller.device)
    keys = queries[:, :2]
    values = torch.arange(2.0, dtype=caller.dtype, device=caller.device)[None, :, None, None]
    options = {"grouped": True} if "grouped" in caller.names else {}
    try:
        with torch.no_grad():
            output = caller(queries, keys, values.expand_as(keys), **options)
    except RefusedError as refused:
        return Finding("refused", str(refused))
    found = output[0, :, -1, 0].double().tolist()
    answers = {(0, 0, 1, 1): "interleaved", (0, 1, 0, 1): "tiled"}
    return Finding(answers.get(tuple(found), "other"), TEXT("groups", heads=show(found)))


def half_scores(subject: Subject) -> Finding:
    """Make two scores that bfloat16 rounds to the same number."""
    if subject.answer("soft_cap") not in ("none", ""):
        return undecided(TEXT("capped_scores"))
    half = _in_half(subject)
    size = half.caller.sizes[0]
    queries, keys = (torch.zeros(1, 1, 2, size, dtype=torch.float64) for _ in range(2))
    queries[..., :2] = torch.tensor([16.0, 2.0])
    keys[..., 0] = 64
    keys[0, 0, 1, 1] = 2  # the dot products are 1024 and 1028, of which bfloat16 makes 1024
    try:
        weights = half.read_weights(queries, keys)[0, 0]
    except RefusedError as refused:
        return Finding("refused", str(refused))
    evidence = TEXT("half_scores", weights=show(weights[-1].tolist()))
    apart = abs(log_ratio(weights, 1, 0))
    return Finding("rounded" if apart < 0.01 else "in_float32", evidence)


def half_weights(subject: Subject) -> Finding:
    """Make values that cancel exactly if the weights were rounded to bfloat16.

    Weights r0 and r1 are read. With values r1 and -r0 the output is exactly 0 if these are the
    weights. Some functions round before they divide by the sum: the same with the exponentials.
    """
    half = _in_half(subject)
    size = half.caller.sizes[0]
    left = {"": [], "exponentials": []}
    try:
        for score in (0.3, 0.7, 1.1, 1.9, 2.3):
            queries, keys = (torch.zeros(1, 1, 2, size, dtype=torch.float64) for _ in range(2))
            queries[..., 0] = 1
            keys[..., 0, 0] = score / subject.scale(size)
            weights = half.read_weights(queries, keys)[0, 0, -1]
            lower = torch.tensor(math.exp(-float(keys[..., 0, 0].bfloat16()) * subject.scale(size)))
            pairs = {"": (weights[1], -weights[0]), "exponentials": (-lower.bfloat16(), 1.0)}
            for kind, (first, second) in pairs.items():
                values = torch.zeros(1, 1, 2, size, dtype=torch.float64)
                values[0, 0, :, 0] = torch.tensor([float(first), float(second)])
                tensors = [
                    it.to(half.caller.device, torch.bfloat16) for it in (queries, keys, values)
                ]
                with torch.no_grad():
                    output = half.caller(*tensors)
                left[kind].append(abs(float(output[0, 0, -1, 0])))
    except RefusedError as refused:
        return Finding("refused", str(refused))
    least = min(left.values(), key=sum)
    evidence = TEXT("half_weights", rest=show([max(least)]))
    return Finding("rounded" if max(least) == 0 else "in_float32", evidence)


def _in_half(subject: Subject) -> Subject:
    return Subject(subject.caller.to(torch.bfloat16), subject.findings)


def dropout(subject: Subject) -> Finding:
    """Drop half, with values that are all 1: a dropped weight changes all features alike."""
    caller = subject.caller
    options: dict[str, Any] = {}
    if "dropout" in caller.names:
        options["dropout"] = 0.5
    else:
        try:
            caller = caller.in_training()
        except RefusedError as refused:
            return Finding(NO_ARGUMENT, str(refused))
    size = caller.sizes[0]
    queries, keys = (torch.zeros(1, 1, 16, size, dtype=caller.dtype, device=caller.device),) * 2
    queries = queries + 1
    keys = keys + SCORE / size / subject.scale(size)
    dropped = Subject(caller, subject.findings)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            output = caller(queries, keys, torch.ones_like(keys), **options)[0, 0].double().cpu()
            torch.manual_seed(0)
            weights = dropped.read_weights(queries, keys, max(size, 16), **options)[0, 0]
    except RefusedError as refused:
        return Finding("refused", str(refused))
    mean = float(output.mean())
    evidence = TEXT("dropped", first=show(output[0, :4].tolist()), mean=show([mean]))
    features_differ = float(output.std(-1).max()) > 0.01
    rows_differ = float(output.std(0).max()) > 0.01
    if features_differ:
        answer = "on_output"
    elif rows_differ:
        answer = "on_weights" if mean > 0.75 else "on_weights_not_scaled"
    else:
        answer = "on_scores" if float(weights.std()) > 0.01 else "ignored"
    return Finding(answer, evidence)


PROBES: tuple[Probe, ...] = (
    scale,
    soft_cap,
    order_of_keys,
    boolean_mask,
    float_mask,
    key_padding_mask,
    lengths,
    causal,
    window,
    row_sum,
    empty_row,
    empty_row_gradient,
    hidden_value,
    hidden_key,
    hidden_weight,
    grouped_heads,
    half_scores,
    half_weights,
    dropout,
)
