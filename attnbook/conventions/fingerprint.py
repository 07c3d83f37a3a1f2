"""`fingerprint`: which conventions an attention function follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from attnbook.checks import describe_value
from attnbook.conventions.caller import RefusedError, name_of
from attnbook.conventions.finding import find_caller
from attnbook.conventions.hidden import (
    empty_row,
    empty_row_gradient,
    hidden_key,
    hidden_value,
    hidden_weight,
)
from attnbook.conventions.masks import (
    boolean_mask,
    causal,
    float_mask,
    key_padding_mask,
    lengths,
    window,
)
from attnbook.conventions.precision import dropout, grouped_heads, half_scores, half_weights
from attnbook.conventions.scores import order_of_keys, row_sum, scale, soft_cap
from attnbook.conventions.subject import NO_ARGUMENT, UNDECIDED, Finding, Subject, undecided
from attnbook.messages import Messages

TEXT = Messages(__file__)
# In this order, because a question may need the answers of those before it.
PROBES: tuple[Callable[[Subject], Finding], ...] = (
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


@dataclass(frozen=True)
class Fingerprint:
    """Which conventions an attention function follows, with the evidence.

    `name` is what the function is called in the sentences, `call` lists its arguments and the axes
    of its tensors, and `findings` has a `Finding` for each property.

    Example:
        >>> from attnbook import DotProductAttention, fingerprint
        >>> fingerprint(DotProductAttention()).describe("scale")
        'divides scores by √size'
    """

    name: str
    call: str
    findings: dict[str, Finding]

    @property
    def answers(self) -> dict[str, str]:
        """The code of each property."""
        return {name: finding.answer for name, finding in self.findings.items()}

    def describe(self, name: str) -> str:
        """Say what the function does, such as "hides keys where a mask is True"."""
        finding = self.findings[name]
        phrases = TEXT.group("phrases")
        if finding.answer in (UNDECIDED, NO_ARGUMENT):
            label = TEXT.group("properties")[name]
            return phrases[finding.answer].format(label=label)
        value = "" if finding.value is None else f"{finding.value:.3g}"
        return phrases[f"{name}_{finding.answer}"].format(value=value)

    def differences(self, other: Fingerprint) -> list[str]:
        """Say in what two functions differ: one sentence for each property that both decide."""
        names = [self.name, other.name]
        if names[0] == names[1]:
            names = [TEXT("first_of_same", name=names[0]), TEXT("second_of_same", name=names[1])]
        found = []
        for name in self.findings:
            ours, theirs = self.findings[name], other.findings[name]
            if {ours.answer, theirs.answer} & {UNDECIDED, NO_ARGUMENT}:
                continue
            if (ours.answer, ours.value) != (theirs.answer, theirs.value):
                does, other_does = self.describe(name), other.describe(name)
                found.append(
                    TEXT(
                        "difference", one=names[0], does=does, other=names[1], other_does=other_does
                    )
                )
        return found

    def as_dict(self) -> dict[str, Any]:
        """Names, strings and numbers only, for `json`."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [self.call]
        for name, finding in self.findings.items():
            lines += [f"{name:18} {self.describe(name)}", f"{'':18}   {finding.evidence}"]
        return "\n".join(lines)


def fingerprint(
    function: Callable[..., Any], *, name: str | None = None, device: torch.device | str = "cpu"
) -> Fingerprint:
    """Find out which conventions an attention function follows. No reference is needed.

    The function is called with a few small tensors, and its outputs give the answers. How it is
    called is read from the names of its arguments, and found by trying. Known are functions of
    queries, keys and values with the axes `(batch, heads, n, size)`, `(batch, n, heads, size)`,
    `(batch, n, size)` or `(n, size)`; torch's `nn.MultiheadAttention` and this package's
    `MultiHeadAttention`, of which copies with projections that change nothing are called;
    `flex_attention`; and the attention functions of `transformers`. For any other write an
    adapter: a function of `queries`, `keys` and `values` with those of the arguments `mask`,
    `bias`, `valid_lens`, `key_padding_mask`, `causal`, `window` and `dropout` that it has.

    Args:
        function: takes queries, keys and values, and returns the output or a tuple that begins
            with it. A layer is copied, and its copy is in evaluation mode.
        name: what the sentences call it; by default its own name.
        device: where the tensors are.

    Returns:
        A `Fingerprint`. Print it; `answers` are codes; `a.differences(b)` compares two. A property
        that the numbers do not decide is "undecided".

    Raises:
        TypeError: nothing was found that can be called this way, or `name` is no string.

    Source: the documentation of the libraries that it was tried on, whose conventions differ.

    Example:
        >>> from attnbook import fingerprint
        >>> found = fingerprint(torch.nn.functional.scaled_dot_product_attention)
        >>> found.answers["causal"], found.answers["empty_row"]
        ('from_first_key', 'zero')
    """
    if not isinstance(name, str | None):
        raise TypeError(TEXT("name_wrong", value=describe_value(name)))
    subject = Subject(find_caller(function, device))
    for probe in PROBES:
        try:
            finding = probe(subject)
        except RefusedError as refused:
            finding = undecided(refused)
        subject.findings[probe.__name__] = finding
    caller = subject.caller
    call = TEXT("call", shown=caller.shown, layout=caller.layout, dtype=str(caller.dtype)[6:])
    return Fingerprint(name or name_of(function), call, subject.findings)
