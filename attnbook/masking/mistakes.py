"""Common mistakes with masks: what each makes of a right mask, and a sentence that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.checks import check_axes, describe_value
from attnbook.masking.forms import CPU, MaskRules, predicates_of
from attnbook.messages import Messages

if TYPE_CHECKING:
    from jaxtyping import Bool

TEXT = Messages(__file__)
Change = tuple[str, str, dict[str, Any]]  # a name, a message, and the rules that are other ones
Made = tuple[str, str, Tensor]

# Any mask, True = visible, to the mask that the mistake makes of it


def inverted(mask: Bool[Tensor, "... queries keys"]) -> Bool[Tensor, "... queries keys"]:
    """Show what should be hidden, and hide the rest."""
    return ~mask


def nothing_hidden(mask: Bool[Tensor, "... queries keys"]) -> Bool[Tensor, "... queries keys"]:
    """Show all pairs: the mask is ignored."""
    return torch.ones_like(mask)


def transposed(mask: Bool[Tensor, "... queries keys"]) -> Bool[Tensor, "... keys queries"]:
    """Exchange queries and keys."""
    return mask.mT


def first_query_for_all(mask: Bool[Tensor, "... queries keys"]) -> Bool[Tensor, "... queries keys"]:
    """Use the first query's row for all."""
    return mask[..., :1, :].expand_as(mask)


def first_example_for_all(mask: Bool[Tensor, "batch ... keys"]) -> Bool[Tensor, "batch ... keys"]:
    """Use the first example's mask for all."""
    return mask[:1].expand_as(mask)


def one_key_too_many(mask: Bool[Tensor, "... keys"]) -> Bool[Tensor, "... keys"]:
    """Also show the key after each visible one, and always the first."""
    return mask | F.pad(mask[..., :-1], (1, 0), value=True)


def one_key_too_few(mask: Bool[Tensor, "... keys"]) -> Bool[Tensor, "... keys"]:
    """Hide a visible key if the next one is hidden, or if it is the last."""
    return mask & F.pad(mask[..., 1:], (0, 1), value=False)


def own_key_hidden(mask: Bool[Tensor, "... queries keys"]) -> Bool[Tensor, "... queries keys"]:
    """Hide the key at each query's own position; queries are at the last positions."""
    num_queries, num_keys = mask.shape[-2:]
    own = torch.arange(num_keys - num_queries, num_keys, device=mask.device)
    return mask & (torch.arange(num_keys, device=mask.device) != own[:, None])


# The mistakes with given rules


class CommonMistake(NamedTuple):
    """A common mistake: its name, a sentence, and the mask that it makes.

    Example:
        >>> from attnbook.masking.interop import MaskRules
        >>> from attnbook.masking.mistakes import common_mistakes
        >>> common_mistakes(MaskRules(2, 2, causal="last"))[0].name
        'next_key'
    """

    name: str
    message: str
    mask: Bool[Tensor, "queries keys"]


def common_mistakes(wanted: MaskRules | Bool[Tensor, "queries keys"]) -> list[CommonMistake]:
    """List the common mistakes with a mask, the most specific first.

    Each makes a mask that differs from the wanted one and shows at least one pair. Several may
    make the same mask.

    Args:
        wanted: the right rules; or the right mask, `(num_queries, num_keys)`, True = visible, for
            which only mistakes are listed that are made with any mask.

    Raises:
        TypeError, ValueError: `wanted` is neither.

    Example:
        >>> from attnbook.masking.interop import MaskRules
        >>> from attnbook.masking.mistakes import common_mistakes
        >>> [mistake.name for mistake in common_mistakes(MaskRules(3, 3, causal="last"))]
        ['next_key', 'inverted', 'own_key_hidden', 'transposed', 'nothing_hidden']
        >>> common_mistakes(MaskRules(3, 3, causal="last"))[0].message
        'One key too many: each query sees the next key, too.'
    """
    if isinstance(wanted, MaskRules):
        rules = _simplify(wanted)
        right = rules.visible()
        made = [*_with_rules(rules), *_with_any_mask(right), *_with_joins(rules)]
    else:
        right = _check_mask(wanted)
        made = [("next_key", TEXT("next_key"), one_key_too_many(right)), *_with_any_mask(right)]
    made.append(("nothing_hidden", TEXT("nothing_hidden"), nothing_hidden(right)))
    found = [CommonMistake(*each) for each in made]
    return [each for each in found if each.mask.any() and not torch.equal(each.mask, right)]


def _check_mask(mask: Tensor) -> Tensor:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(
            f"wanted must be MaskRules or a mask of booleans, got {describe_value(mask)}"
        )
    check_axes("wanted", mask, "(num_queries, num_keys)")
    return mask


def _simplify(rules: MaskRules) -> MaskRules:
    """Leave out rules that hide nothing at these sizes; of equivalent rules use one."""
    changes: dict[str, Any] = {}
    if rules.valid_len == rules.num_keys:
        changes["valid_len"] = None
    if rules.start == 0:
        changes["start"] = None
    if rules.documents is not None and len({*rules.documents}) == 1:
        changes["documents"] = None
    if rules.prefix == 0:
        changes |= {"prefix": None, "causal": "last"}
    if rules.causal == "first" and rules.num_queries == rules.num_keys:
        changes["causal"] = "last"
    rules = replace(rules, **changes)
    if rules.causal == "last":
        window = rules.window is not None
        return replace(rules, **{"causal": None, "ahead": 0} if window else {"ahead": None})
    if (rules.ahead, rules.window, rules.prefix, rules.causal) == (0, None, None, None):
        return replace(rules, ahead=None, causal="last")
    return rules


def _with_rules(rules: MaskRules) -> Iterator[Made]:
    set_forms = predicates_of(rules, CPU)
    for form, changes_of in CHANGES.items():
        for name, message, changes in changes_of(rules) if form in set_forms else ():
            with suppress(ValueError):  # no rules can say it, so nobody makes it
                yield name, message, replace(rules, **changes).visible()


def _with_any_mask(right: Tensor) -> Iterator[Made]:
    yield "inverted", TEXT("inverted"), inverted(right)
    yield "own_key_hidden", TEXT("own_key_hidden"), own_key_hidden(right)
    if right.shape[0] == right.shape[1]:
        yield "transposed", TEXT("transposed"), transposed(right)


def _with_joins(rules: MaskRules) -> Iterator[Made]:
    """Make the mistakes with all rules at once, and with several of them."""
    if rules.num_queries < rules.num_keys and rules.causal is None:
        queries = torch.arange(rules.num_queries, device=CPU)[:, None]
        keys = torch.arange(rules.num_keys, device=CPU)
        counted = [rule(queries, queries, keys) for rule in predicates_of(rules, CPU).values()]
        yield "counted_from_first", TEXT("causal_from_first"), _join(rules, counted)
    masks = rules.masks()
    if len(masks) > 1:
        anywhere = reduce(torch.logical_or, masks.values())
        yield "joined_by_or", TEXT("joined_by_or"), _join(rules, [anywhere])
    for name in masks if len(masks) > 1 else ():
        others = _join(rules, [mask for other, mask in masks.items() if other != name])
        if name == "documents":
            yield "documents_missing", TEXT("documents_missing"), others
        else:
            yield "rule_missing", TEXT("rule_missing", rule=name), others


def _join(rules: MaskRules, masks: list[Tensor]) -> Tensor:
    everything = torch.ones(rules.num_queries, rules.num_keys, dtype=torch.bool, device=CPU)
    return reduce(torch.logical_and, masks, everything)


def _change_window(rules: MaskRules) -> Iterator[Change]:
    window, ahead = rules.window, rules.ahead
    if window is not None:
        before = window - 1
        message = TEXT("window_too_large", window=window, before=before)
        yield "window_too_large", message, {"window": window + 1}
        message = TEXT("window_too_small", window=window, before=before)
        yield "window_too_small", message, {"window": before}
    if ahead == 0:
        yield "next_key", TEXT("next_key"), {"ahead": 1}
    elif ahead is not None:
        message = TEXT("ahead_too_large", ahead=ahead)
        yield "ahead_too_large", message, {"ahead": ahead + 1}
        message = TEXT("ahead_too_small", ahead=ahead)
        yield "ahead_too_small", message, {"ahead": ahead - 1}
    if window is not None and ahead is not None:
        if ahead == 0:
            yield "both_sides", TEXT("both_sides"), {"ahead": window - 1}
        yield "rule_missing", TEXT("rule_missing", rule="window"), {"window": None}
        name = "ahead" if ahead else "causal"
        yield "rule_missing", TEXT("rule_missing", rule=name), {"ahead": None}


def _change_start(rules: MaskRules) -> Iterator[Change]:
    start = rules.start or 0
    length = {"start": None, "valid_len": rules.num_keys - start}
    yield "right_padding", TEXT("right_padding"), length
    yield "start_is_length", TEXT("start_is_length"), {"start": None, "valid_len": start}
    yield "start_too_large", TEXT("start_too_large", start=start), {"start": start + 1}
    yield "start_too_small", TEXT("start_too_small", start=start), {"start": start - 1}


def _change_valid_len(rules: MaskRules) -> Iterator[Change]:
    length = rules.valid_len or 0
    start = {"valid_len": None, "start": rules.num_keys - length}
    yield "left_padding", TEXT("left_padding"), start
    yield "length_too_large", TEXT("length_too_large", length=length), {"valid_len": length + 1}
    yield "length_too_small", TEXT("length_too_small", length=length), {"valid_len": length - 1}


def _change_causal(rules: MaskRules) -> Iterator[Change]:
    if rules.causal == "first":
        yield "causal_from_last", TEXT("causal_from_last"), {"causal": "last"}
        return
    yield "causal_from_first", TEXT("causal_from_first"), {"causal": "first"}
    yield "next_key", TEXT("next_key"), {"causal": None, "ahead": 1}


def _change_prefix(rules: MaskRules) -> Iterator[Change]:
    prefix = rules.prefix or 0
    yield "causal_prefix", TEXT("causal_prefix"), {"prefix": None, "causal": "last"}
    yield "prefix_too_long", TEXT("prefix_too_long"), {"prefix": prefix + 1}
    yield "prefix_too_short", TEXT("prefix_too_short"), {"prefix": prefix - 1}


def _change_documents(rules: MaskRules) -> Iterator[Change]:
    documents = rules.documents or ()
    late, early = documents[:1] + documents[:-1], documents[1:] + documents[-1:]
    yield "documents_late", TEXT("documents_late"), {"documents": late}
    yield "documents_early", TEXT("documents_early"), {"documents": early}


CHANGES = {  # of several mistakes that explain a mask, the first is named
    "window": _change_window,
    "start": _change_start,
    "valid_len": _change_valid_len,
    "causal": _change_causal,
    "prefix": _change_prefix,
    "documents": _change_documents,
}
