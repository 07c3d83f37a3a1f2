"""`MaskFigure`: which positions may attend to which, and the code for each library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from operator import ne
from typing import TYPE_CHECKING, Any

import traitlets

from attnbook.checks import describe_value
from attnbook.figures.mask.rule_parser import evaluate_rule
from attnbook.figures.shared.base import SHARED, Figure, check_count, module, stylesheet
from attnbook.masking.interop import MaskRules
from attnbook.masking.mistakes import common_mistakes
from attnbook.messages import Messages

if TYPE_CHECKING:
    from torch import Tensor

TEXT = Messages(__file__)
MOST = 32  # queries and keys: with more, the cells are too small
SIZES = ("num_queries", "num_keys")
RULES = (*SIZES, "valid_len", "start", "window", "ahead", "prefix", "causal", "documents")
GROUPS = ("sizes", "padding", "order", "window", "documents", "predicate", "code")
# The arguments that set the rules of a group.
SET_BY = {
    "padding": ("valid_len", "start"),
    "order": ("causal", "prefix"),
    "window": ("window", "ahead"),
    "documents": ("documents",),
    "predicate": ("written",),
}
LIBRARIES = ("attnbook", "sdpa", "sdpa_float", "multihead", "encoder", "flex", "transformers")


class MaskFigure(Figure):
    """Which positions may attend to which: choose rules, see the mask, copy the code.

    Queries are at the last positions of the keys, as for `attnbook.causal_mask`. A pair is
    visible if all rules allow it. Readers can also write a rule in Python: MicroPython runs
    it on the book's pages, and the kernel in a notebook.

    Args:
        num_queries, num_keys: 1 to 32 each, no more queries than keys.
        valid_len, start, causal, window, ahead, documents, prefix: the rules to begin with, as
            in `attnbook.masking.interop.MaskRules`.
        goal: a mask of these sizes for the reader to make. The figure shows it, and says how
            many pairs differ and which common mistake explains them.
        observed: a map of these sizes to compare the rules with, rows of booleans or a tensor,
            for instance from `attnbook.visible_pairs`. The figure shows both, marks and counts
            the pairs that differ, and Python names the common mistake with the rules that gives
            this map.
        groups: the controls shown, some of "sizes", "padding", "order", "window",
            "documents", "predicate", "code"; by default all (next to a goal or an observed map
            all but "sizes").
            Those that neither the action names nor these arguments set fold under "More controls".
        written: the reader's rule to begin with, an expression in the positions `q` and `k`,
            such as "(q >= k) & (q - k < 3)", which may also use `num_queries`, `num_keys`
            and `documents`. Python evaluates it here.
        library: the library whose code is shown first, one of "attnbook", "sdpa", "sdpa_float",
            "multihead", "encoder", "flex", "transformers".
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the controls change, and that you can set: the rules and both sizes,
    `predicate`, `library`.

    Raises:
        ValueError: too many queries or keys, a rule that `MaskRules` refuses, a goal or
            an observed map of other sizes, both, a goal with a table, or an unknown group or
            library.
        TypeError: an observed map without booleans.
        traitlets.TraitError: the same, for a trait that is set later.

    Example:
        >>> from attnbook.figures import MaskFigure
        >>> MaskFigure(num_queries=3, num_keys=3, causal="last", window=2).visible
        tensor([[ True, False, False],
                [ True,  True, False],
                [False,  True,  True]])
    """

    _esm = module("mask/figure.js")
    _css = stylesheet(
        "shared/theme.css", "shared/style.css", "shared/heatmap.css", "mask/style.css"
    )

    num_queries = traitlets.Int(6).tag(sync=True)
    num_keys = traitlets.Int(6).tag(sync=True)
    valid_len = traitlets.Int(None, allow_none=True).tag(sync=True)
    start = traitlets.Int(None, allow_none=True).tag(sync=True)
    causal = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    window = traitlets.Int(None, allow_none=True).tag(sync=True)
    ahead = traitlets.Int(None, allow_none=True).tag(sync=True)
    documents: Any = traitlets.List(None, allow_none=True).tag(sync=True)
    prefix = traitlets.Int(None, allow_none=True).tag(sync=True)
    goal: Any = traitlets.Dict(None, allow_none=True).tag(sync=True)
    observed: Any = traitlets.List(None, allow_none=True).tag(sync=True)
    # What explains a difference, by the mask of the rules, as text.
    mistakes: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    predicate = traitlets.Unicode().tag(sync=True)
    table: Any = traitlets.List(None, allow_none=True).tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)  # why the predicate gives no table
    library = traitlets.Enum(LIBRARIES, "attnbook").tag(sync=True)
    groups: traitlets.List[str] = traitlets.List().tag(sync=True)
    main: traitlets.List[str] = traitlets.List().tag(sync=True)  # the groups that do not fold
    # What the page loads at the first touch.
    late: traitlets.List[str] = traitlets.List().tag(sync=True)

    def __init__(  # noqa: PLR0913 - the fields of MaskRules, and options
        self,
        num_queries: int = 6,
        num_keys: int = 6,
        *,
        valid_len: int | None = None,
        start: int | None = None,
        causal: str | None = None,
        window: int | None = None,
        ahead: int | None = None,
        documents: Sequence[int] | None = None,
        prefix: int | None = None,
        goal: MaskRules | None = None,
        observed: Sequence[Sequence[bool]] | Tensor | None = None,
        groups: Sequence[str] | None = None,
        written: str = "",
        library: str = "attnbook",
        action: str = "",
        caption: str = "",
    ) -> None:
        rules = {
            "num_queries": num_queries,
            "num_keys": num_keys,
            "valid_len": valid_len,
            "start": start,
            "causal": causal,
            "window": window,
            "ahead": ahead,
            "documents": _as_list(documents),
            "prefix": prefix,
        }
        _check_rules(rules)
        if goal is not None and observed is not None:
            raise ValueError("observed must be None if there is a goal, got both")
        compares = goal is not None or observed is not None
        self._fixed = {name: rules[name] for name in SIZES if compares}
        selected = _select_groups(groups, compares)
        super().__init__(
            kind="mask",
            **rules,
            goal=_check_goal(goal, num_queries, num_keys),
            observed=_check_observed(observed, num_queries, num_keys),
            mistakes={} if goal is None else _mistakes_with(goal),
            predicate=written,
            library=library,
            groups=selected,
            main=_main_groups(selected, rules | {"written": written or None}, compares),
            late=["python"] if "predicate" in selected else [],
            action=action,
            caption=caption,
        )
        self._evaluate()

    @property
    def rules(self) -> MaskRules:
        """The current rules, with the table that the reader's own rule gives."""
        rows = self.table
        table = tuple(tuple(row) for row in rows) if rows else None
        return replace(_check_rules(self._current_rules()), table=table)

    @property
    def visible(self) -> Tensor:
        """The mask shown, `(num_queries, num_keys)`, where True means visible."""
        return self.rules.visible()

    def _current_rules(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in RULES}

    @traitlets.validate(*RULES)
    def _check_rule(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        name, value = proposal["trait"].name, proposal["value"]
        if value != self._fixed.get(name, value):
            raise traitlets.TraitError(
                f"{name} must stay {self._fixed[name]}, as of the other mask, got {value}"
            )
        try:
            _check_rules(self._current_rules() | {name: value})
        except (TypeError, ValueError) as problem:
            raise traitlets.TraitError(str(problem)) from None
        return value

    @traitlets.observe(*RULES, "predicate")
    def _evaluate(self, _change: object = None) -> None:
        if self.kind:
            self.table, self.error = evaluate_rule(self.predicate, self._current_rules())
            if self.observed is not None:
                self.mistakes = _explain_observed(self.observed, self.rules)
            self._write_text(self._lines())

    def _lines(self) -> list[str]:
        visible = self.visible.tolist()
        lines = [TEXT("title", rules=_format_rules(self._current_rules()))]
        if self.error:
            lines.append(TEXT("and_wrong_rule", rule=self.predicate, error=self.error))
        elif self.predicate:
            lines.append(TEXT("and_rule", rule=self.predicate))
        lines += [*_list_positions(self.rules), *_draw_mask(visible), *_describe_counts(visible)]
        return lines + self._compare(visible)

    def _compare(self, visible: list[list[bool]]) -> list[str]:
        """Draw what the mask is compared with, and say what differs and what explains it."""
        if self.goal is not None:
            other = MaskRules(**self.goal).visible().tolist()
            title, same = TEXT("wanted_in_text"), TEXT("goal_reached")
        elif self.observed is not None:
            other, title, same = self.observed, TEXT("observed_in_text"), TEXT("observed_given")
        else:
            return []
        differ = sum(map(ne, chain(*visible), chain(*other)))
        mistake = self.mistakes.get(_as_text(visible), "")
        verdict = f"{TEXT('pairs_differ', count=differ)} {mistake}".strip() if differ else same
        return [title, *_draw_mask(other), verdict]


def _as_list(documents: Sequence[int] | None) -> list[int] | None:
    return None if documents is None else [*documents]


def _check_rules(rules: dict[str, Any]) -> MaskRules:
    for name in SIZES:
        check_count(name, rules[name], MOST)
    if rules["num_queries"] > rules["num_keys"]:
        raise ValueError(
            f"a figure shows at most num_keys={rules['num_keys']} queries, each at the position "
            f"of a key, got {rules['num_queries']}"
        )
    documents = rules["documents"]
    return MaskRules(**rules | {"documents": None if documents is None else tuple(documents)})


def _check_goal(goal: MaskRules | None, num_queries: int, num_keys: int) -> dict[str, Any] | None:
    if goal is None:
        return None
    fields = asdict(goal)
    if fields.pop("table") is not None:
        raise ValueError("goal must be made of rules, got a table")
    if (goal.num_queries, goal.num_keys) != (num_queries, num_keys):
        raise ValueError(
            f"goal must have num_queries={num_queries} and num_keys={num_keys}, "
            f"got {goal.num_queries} and {goal.num_keys}"
        )
    return fields | {"documents": _as_list(goal.documents)}


def _check_observed(observed: Any, num_queries: int, num_keys: int) -> list[list[bool]] | None:  # noqa: ANN401 - anything may be given
    if observed is None:
        return None
    rows = observed.tolist() if hasattr(observed, "tolist") else observed
    if not isinstance(rows, Sequence) or not all(
        isinstance(row, Sequence) and {*map(type, row)} <= {bool} for row in rows
    ):
        raise TypeError(f"observed must be rows of booleans, got {describe_value(observed)}")
    sizes = sorted({*map(len, rows)})
    if len(rows) != num_queries or sizes != [num_keys]:
        raise ValueError(
            f"observed must be num_queries={num_queries} rows of num_keys={num_keys} booleans, "
            f"got {len(rows)} of {sizes}"
        )
    return [[*row] for row in rows]


def _as_text(mask: list[list[bool]]) -> str:
    return "".join(str(int(visible)) for row in mask for visible in row)


def _mistakes_with(goal: MaskRules) -> dict[str, str]:
    """Give the message of the first mistake for each mask; before any rule nothing is wrong."""
    found = [each for each in common_mistakes(goal) if each.name != "nothing_hidden"]
    return {_as_text(each.mask.tolist()): each.message for each in reversed(found)}


def _explain_observed(observed: list[list[bool]], rules: MaskRules) -> dict[str, str]:
    messages = [each.message for each in common_mistakes(rules) if each.mask.tolist() == observed]
    return {_as_text(rules.visible().tolist()): messages[0]} if messages else {}


def _select_groups(groups: Sequence[str] | None, compares: bool) -> list[str]:
    selected = GROUPS if groups is None else groups
    for name in selected:
        if name not in GROUPS:
            raise ValueError(f"groups must be some of {', '.join(GROUPS)}, got {name!r}")
    return [name for name in GROUPS if name in selected and not (compares and name == "sizes")]


def _main_groups(selected: list[str], arguments: dict[str, Any], compares: bool) -> list[str]:
    """With a goal or an observed map all groups of rules, else those that are set, else one."""
    of_rules = [name for name in selected if name in SET_BY]
    if compares:
        return of_rules
    are_set = [
        name for name in of_rules if any(arguments[rule] is not None for rule in SET_BY[name])
    ]
    return are_set or of_rules[:1]


def _format_rules(rules: dict[str, Any]) -> str:
    """Write the rules that are set as arguments."""
    values = [f"{name}={value!r}" for name, value in rules.items() if value is not None]
    return ", ".join(values)


def _list_positions(rules: MaskRules) -> list[str]:
    """List the keys' positions in their texts, where padding or documents shift them."""
    positions = rules.positions().tolist()
    padding = rules.start or 0
    if positions == [*range(rules.num_keys)]:
        return []
    shown = ["–" if key < padding else str(position) for key, position in enumerate(positions)]
    return [TEXT("positions_in_text", positions=" ".join(shown))]


def _draw_mask(mask: list[list[bool]]) -> list[str]:
    """Draw a row for each query, named by its position; ● = visible."""
    first = len(mask[0]) - len(mask)
    return [
        TEXT(
            "query_in_text",
            query=f"{q:>2}",
            keys=" ".join("●" if visible else "·" for visible in row),
            count=sum(row),
        )
        for q, row in enumerate(mask, first)
    ]


def _describe_counts(mask: list[list[bool]]) -> list[str]:
    """Say how many pairs are visible and which queries see nothing, in the page's words."""
    pairs, visible = len(mask) * len(mask[0]), sum(map(sum, mask))
    percent = (200 * visible + pairs) // (2 * pairs)  # halves rounded up, as in JavaScript
    lines = [TEXT("pairs_visible", visible=visible, pairs=pairs, percent=percent)]
    first = len(mask[0]) - len(mask)
    empty = [str(q) for q, row in enumerate(mask, first) if not any(row)]
    if empty:
        lines.append(TEXT("empty_rows", count=len(empty), queries=_join_names(empty)))
    return lines


def _join_names(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return SHARED("joined_with_and", others=", ".join(names[:-1]), last=names[-1])
