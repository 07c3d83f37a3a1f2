"""`MaskFigure`: who may see whom, drawn and said to each library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import traitlets

from attnbook.figures.mask.rule_parser import evaluated
from attnbook.figures.shared.base import Figure, check_count, module, stylesheet
from attnbook.masking.interop import MaskRules

if TYPE_CHECKING:
    from torch import Tensor

MOST = 32  # queries and keys: with more, a pair is too small to be seen
SIZES = ("num_queries", "num_keys")
NUMBERS = ("valid_len", "start", "back", "ahead", "prefix")
RULES = (*SIZES, *NUMBERS, "causal", "documents")
GROUPS = ("sizes", "padding", "order", "window", "documents", "predicate", "code")
LIBRARIES = ("attnbook", "sdpa", "sdpa_float", "multihead", "encoder", "flex", "transformers")


class MaskFigure(Figure):
    """Who may see whom: choose rules, see the mask, copy the code for each library.

    Queries are at the last positions of the keys, as for `attnbook.causal_mask`; all rules
    hold together. On the book's pages the reader may also write a rule, in Python, which
    MicroPython runs in the page; in a notebook the kernel does.

    Args:
        num_queries, num_keys: 1 to 32 each, no more queries than keys.
        valid_len, start, causal, back, ahead, documents, prefix: the rules to begin with, as
            in `attnbook.masking.interop.MaskRules`.
        goal: a mask to be made, of these sizes: the figure shows it, and tells how many pairs
            differ and whether that is a known mistake.
        groups: the controls shown, some of "sizes", "padding", "order", "window",
            "documents", "predicate", "code"; by default all (beside a goal all but "sizes").
        written: the reader's rule to begin with, an expression in the positions `q` and `k`,
            such as "(q >= k) & (q - k < 3)"; `num_queries`, `num_keys` and `documents` are
            known in it. It is evaluated here, as Python.
        library: whose code is shown first, one of "attnbook", "sdpa", "sdpa_float",
            "multihead", "encoder", "flex", "transformers".
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that follow the reader's hand, and can be set: the rules and both sizes,
    `predicate`, `library`.

    Raises:
        ValueError: too many queries or keys, a rule that `MaskRules` refuses, a goal of
            other sizes or with a table, or an unknown group or library.
        traitlets.TraitError: the same, of a trait that is set later.
    """

    _esm = module("mask/figure.js")
    _css = stylesheet("shared/theme.css", "shared/style.css", "mask/style.css")

    num_queries = traitlets.Int(6).tag(sync=True)
    num_keys = traitlets.Int(6).tag(sync=True)
    valid_len = traitlets.Int(None, allow_none=True).tag(sync=True)
    start = traitlets.Int(None, allow_none=True).tag(sync=True)
    causal = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    back = traitlets.Int(None, allow_none=True).tag(sync=True)
    ahead = traitlets.Int(None, allow_none=True).tag(sync=True)
    documents: Any = traitlets.List(None, allow_none=True).tag(sync=True)
    prefix = traitlets.Int(None, allow_none=True).tag(sync=True)
    goal: Any = traitlets.Dict(None, allow_none=True).tag(sync=True)
    predicate = traitlets.Unicode().tag(sync=True)
    table: Any = traitlets.List(None, allow_none=True).tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)  # why the predicate gives no table
    library = traitlets.Enum(LIBRARIES, "attnbook").tag(sync=True)
    groups: traitlets.List[str] = traitlets.List().tag(sync=True)
    late: traitlets.List[str] = traitlets.List().tag(sync=True)  # what the page keeps ready

    def __init__(  # noqa: PLR0913 - the fields of MaskRules, and what is shown of them
        self,
        num_queries: int = 6,
        num_keys: int = 6,
        *,
        valid_len: int | None = None,
        start: int | None = None,
        causal: str | None = None,
        back: int | None = None,
        ahead: int | None = None,
        documents: Sequence[int] | None = None,
        prefix: int | None = None,
        goal: MaskRules | None = None,
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
            "back": back,
            "ahead": ahead,
            "documents": _listed(documents),
            "prefix": prefix,
        }
        _checked(rules)
        shown = _groups_of(groups, goal)
        super().__init__(
            kind="mask",
            **rules,
            goal=_goal_of(goal, num_queries, num_keys),
            predicate=written,
            library=library,
            groups=shown,
            late=["python"] if "predicate" in shown else [],
            action=action,
            caption=caption,
        )
        self._evaluate()

    @property
    def rules(self) -> MaskRules:
        """The rules chosen, and the table that the reader's own rule gives."""
        rows = self.table
        table = tuple(tuple(row) for row in rows) if rows else None
        return replace(_checked(self._chosen()), table=table)

    @property
    def visible(self) -> Tensor:
        """The mask shown, `(num_queries, num_keys)`, where True means visible."""
        return self.rules.visible()

    def _chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in RULES}

    @traitlets.validate(*RULES)
    def _check_rule(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        name, value = proposal["trait"].name, proposal["value"]
        try:
            _checked(self._chosen() | {name: value})
        except (TypeError, ValueError) as problem:
            raise traitlets.TraitError(str(problem)) from None
        return value

    @traitlets.observe(*RULES, "predicate")
    def _evaluate(self, _change: object = None) -> None:
        if self.kind:
            self.table, self.error = evaluated(self.predicate, self._chosen())
            self._write_text(self._lines())

    def _lines(self) -> list[str]:
        visible = self.visible.tolist()
        lines = [f"MaskFigure: {_said(self._chosen())}"]
        if self.predicate:
            lines.append(f"and {self.predicate}" + (f": {self.error}" if self.error else ""))
        lines += [*_picture(visible), *_counts(visible)]
        if self.goal is not None:
            wanted = MaskRules(**self.goal).visible()
            differ = int((wanted != self.visible).sum())
            verdict = "This is the picture." if not differ else f"{differ} pairs differ from it."
            lines += ["Wanted:", *_picture(wanted.tolist()), verdict]
        return lines


def _listed(documents: Sequence[int] | None) -> list[int] | None:
    return None if documents is None else [*documents]


def _checked(chosen: dict[str, Any]) -> MaskRules:
    for name in SIZES:
        check_count(name, chosen[name], MOST)
    if chosen["num_queries"] > chosen["num_keys"]:
        raise ValueError(
            f"a figure shows at most num_keys={chosen['num_keys']} queries, each at the place "
            f"of a key, got {chosen['num_queries']}"
        )
    documents = chosen["documents"]
    return MaskRules(**chosen | {"documents": None if documents is None else tuple(documents)})


def _goal_of(goal: MaskRules | None, num_queries: int, num_keys: int) -> dict[str, Any] | None:
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
    return fields | {"documents": _listed(goal.documents)}


def _groups_of(groups: Sequence[str] | None, goal: MaskRules | None) -> list[str]:
    shown = GROUPS if groups is None else groups
    for name in shown:
        if name not in GROUPS:
            raise ValueError(f"groups must be some of {', '.join(GROUPS)}, got {name!r}")
    return [name for name in GROUPS if name in shown and not (goal and name == "sizes")]


def _said(chosen: dict[str, Any]) -> str:
    """The rules that are set, as they would be written."""
    values = [f"{name}={value!r}" for name, value in chosen.items() if value is not None]
    return ", ".join(values)


def _picture(mask: list[list[bool]]) -> list[str]:
    """A row for each query, named by its position; ● = visible."""
    first = len(mask[0]) - len(mask)
    return [
        f"query {q:>2}  {' '.join('●' if sees else '·' for sees in row)}  sees {sum(row)}"
        for q, row in enumerate(mask, first)
    ]


def _counts(mask: list[list[bool]]) -> list[str]:
    """How many pairs are visible, and which queries see nothing: as the page says it."""
    pairs, visible = len(mask) * len(mask[0]), sum(map(sum, mask))
    percent = (200 * visible + pairs) // (2 * pairs)  # halves rounded up, as in JavaScript
    lines = [f"{visible} of {pairs} pairs are visible ({percent} %)."]
    first = len(mask[0]) - len(mask)
    empty = [str(q) for q, row in enumerate(mask, first) if not any(row)]
    if empty:
        who = f"Query {empty[0]} sees" if len(empty) == 1 else f"Queries {_and(empty)} see"
        lines.append(f"{who} nothing: weights 0, output 0 in this book.")
    return lines


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
