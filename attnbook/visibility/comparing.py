"""`compare`: whether a map is the one that the rules of all layers give together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnbook.checks import describe_value
from attnbook.masking.interop import MaskRules
from attnbook.masking.mistakes import CommonMistake, common_mistakes
from attnbook.messages import Messages

if TYPE_CHECKING:
    from jaxtyping import Bool

TEXT = Messages(__file__)
Rule = MaskRules | Tensor


class Explanation(NamedTuple):
    """A common mistake that gives exactly the map that was seen.

    Example:
        >>> import torch
        >>> from attnbook import causal_mask
        >>> from attnbook.visibility import compare
        >>> seen = torch.ones(4, 4, dtype=torch.bool)
        >>> compare(seen, causal_mask((1, 4, 4))[0]).mistakes[0].name
        'nothing_hidden'
    """

    name: str
    message: str
    layers: tuple[int, ...]  # where it is made, from 0


@dataclass(frozen=True)
class Comparison:
    """What a model sees, next to what its rules show. Print it, or read its numbers.

    `expected` is the map of the rules, `(n, n)`. `future_seen`, `padding_seen` and `past_seen`
    count the pairs that are seen and should not be, by what is seen: a later position, padding, or
    something else before, such as another document. `not_seen` counts those that are not seen and
    should be. `first` is the first pair that differs, (output, input), or None. `mistakes` lists
    the common mistakes of which each gives exactly the map that was seen.

    Example:
        >>> import torch
        >>> from attnbook import causal_mask
        >>> from attnbook.visibility import compare
        >>> seen = torch.ones(4, 4, dtype=torch.bool)
        >>> found = compare(seen, causal_mask((1, 4, 4))[0])
        >>> found.future_seen, found.not_seen, found.first
        (6, 0, (0, 1))
    """

    expected: Tensor
    future_seen: int
    padding_seen: int
    past_seen: int
    not_seen: int
    first: tuple[int, int] | None
    mistakes: tuple[Explanation, ...]

    def __str__(self) -> str:
        if self.first is None:
            return TEXT("as_expected")
        lines = []
        if self.future_seen:
            lines.append(TEXT("future_seen", count=self.future_seen))
        if self.padding_seen:
            lines.append(TEXT("padding_seen", count=self.padding_seen))
        if self.past_seen:
            lines.append(TEXT("past_seen", count=self.past_seen))
        if self.not_seen:
            lines.append(TEXT("not_seen", count=self.not_seen))
        lines.append(TEXT("first", output=self.first[0], input=self.first[1]))
        names = {mistake.name for mistake in self.mistakes}
        if not names:
            lines.append(TEXT("no_mistake"))
        elif len(names) == 1:
            mistake = self.mistakes[0]
            where = ", ".join(map(str, mistake.layers))
            layers = (
                TEXT("in_layers", layers=where, count=len(mistake.layers))
                if len(self.mistakes) == 1 and where
                else ""
            )
            lines.append(TEXT("one_mistake", layers=layers, message=mistake.message))
        else:
            messages = dict.fromkeys(mistake.message for mistake in self.mistakes)
            lines.append(TEXT("several_mistakes", messages=" ".join(messages)))
        return "\n".join(lines)


def compare(
    pairs: Bool[Tensor, "outputs inputs"],
    rule: MaskRules | Tensor | Sequence[MaskRules | Tensor],
) -> Comparison:
    """Compare what a model sees with what its rules show, and name the mistake that explains it.

    A map of several layers is not the mask. What an output sees in the last layer has itself seen
    others in the layers before: two layers with a window of 3 reach 5 tokens. So the expected map
    is the Boolean product of the layers' masks. Each also shows a position itself, because a
    block adds its input to what its attention gives (a residual connection). Outputs at padding
    are not compared: nobody reads them.

    Args:
        pairs: `(n, n)` as `visible_pairs` gives it, True = seen.
        rule: `MaskRules` or a mask, `(n, n)`, True = visible, for one attention on its own; a list
            of them, one for each layer from the first, for a model of blocks. A model of one
            block is a list of one.

    Returns:
        A `Comparison`; `print` says it in sentences.

    Raises:
        TypeError, ValueError: `pairs` is no square of booleans, or a rule has other sizes.

    Example:
        >>> from attnbook import causal_mask, window_mask
        >>> from attnbook.masking.interop import MaskRules
        >>> from attnbook.visibility import compare
        >>> window = MaskRules(6, 6, causal="last", window=3)
        >>> print(compare(window_mask((1, 6, 6), 5)[0], [window, window]))
        As expected: the map is that of the rule.
        >>> compare(causal_mask((1, 6, 6))[0], window).past_seen
        6
    """
    problem = TEXT("pairs_wrong", value=describe_value(pairs))
    if not isinstance(pairs, Tensor) or pairs.dtype != torch.bool:
        raise TypeError(problem)
    if pairs.dim() != 2 or pairs.shape[0] != pairs.shape[1] or pairs.numel() == 0:
        raise ValueError(problem)
    pairs = pairs.cpu()
    is_model = not isinstance(rule, MaskRules | Tensor)
    rules: Sequence[Rule] = [rule] if isinstance(rule, MaskRules | Tensor) else rule
    if not isinstance(rules, list | tuple):
        raise TypeError(TEXT("rule_wrong", shape=tuple(pairs.shape), value=describe_value(rule)))
    masks = [_mask_of(each, tuple(pairs.shape)) for each in rules]
    if not masks:
        raise ValueError(TEXT("rule_wrong", shape=tuple(pairs.shape), value=describe_value(rule)))
    # An attention on its own sees the input of its query, too, whatever it does with its key.
    own = pairs & torch.eye(len(pairs), dtype=torch.bool) & (not is_model)
    expected = _join(masks, is_model) | own
    padding = _padding_of(rules, len(pairs))
    read = ~padding.mT  # nobody reads the outputs at padding
    seen = pairs & ~expected & read
    later = torch.ones_like(pairs).triu(1)
    differ = ((pairs != expected) & read).nonzero().tolist()
    # A mistake that also explains the outputs at padding is more likely than one that does not.
    explained = (_explain(pairs, some, rules, masks, own, is_model) for some in (True, read))
    return Comparison(
        expected=expected,
        future_seen=int((seen & later & ~padding).sum()),
        padding_seen=int((seen & padding).sum()),
        past_seen=int((seen & ~later & ~padding).sum()),
        not_seen=int((expected & ~pairs & read).sum()),
        first=(differ[0][0], differ[0][1]) if differ else None,
        mistakes=tuple(next(filter(None, explained), ())) if differ else (),
    )


def _mask_of(rule: Rule, shape: tuple[int, ...]) -> Tensor:
    problem = TEXT("rule_wrong", shape=shape, value=describe_value(rule))
    mask = rule.visible() if isinstance(rule, MaskRules) else rule
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(problem)
    if tuple(mask.shape) != shape:
        raise ValueError(problem)
    return mask.cpu()


def _join(masks: Sequence[Tensor], is_model: bool) -> Tensor:
    """The map of all layers: what sees what, through what lies between."""
    if not is_model:
        return masks[0]
    itself = torch.eye(len(masks[0]))
    seen = itself
    for mask in masks:
        seen = ((mask + itself) @ seen > 0).float()
    return seen > 0


def _padding_of(rules: Sequence[Rule], count: int) -> Tensor:
    """The keys that rules of padding hide, `(1, n)`."""
    hidden = torch.zeros(1, count, dtype=torch.bool)
    for rule in rules:
        masks = rule.masks() if isinstance(rule, MaskRules) else {}
        for name in {"valid_len", "start"} & {*masks}:
            hidden |= ~masks[name]
    return hidden


def _explain(
    pairs: Tensor,
    read: Tensor | bool,
    rules: Sequence[Rule],
    masks: list[Tensor],
    own: Tensor,
    is_model: bool,
) -> list[Explanation]:
    """The mistakes that give this map: of all layers that can have them, else of one layer.

    Layers mostly run the same code, so a mistake of only one of several is less likely.
    """
    made = [{_kind_of(it): it for it in reversed(common_mistakes(rule))} for rule in rules]
    kinds = dict.fromkeys(kind for of_layer in made for kind in of_layer)
    layers = {kind: tuple(at for at, it in enumerate(made) if kind in it) for kind in kinds}
    in_all = [(kind, it) for kind, it in layers.items() if len(it) > 1 or len(rules) == 1]
    in_one = [(kind, (at,)) for kind, it in layers.items() for at in it]
    for choices in (in_all, in_one):
        found = []
        for kind, choice in choices:
            wrong = [made[at][kind].mask if at in choice else it for at, it in enumerate(masks)]
            if torch.equal((_join(wrong, is_model) | own) & read, pairs & read):
                mistake = made[choice[0]][kind]
                where = choice if is_model else ()
                found.append(Explanation(mistake.name, mistake.message, where))
        if found:
            return found
    return []


def _kind_of(mistake: CommonMistake) -> str:
    """The name; of missing rules the sentence, which says which one."""
    return mistake.message if mistake.name == "rule_missing" else mistake.name
