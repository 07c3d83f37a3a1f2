"""`AttentionFigure`: scoring, weighting and pooling, moved by `valid_lens` sliders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
import traitlets

from attnbook.attention import Attention
from attnbook.checks import (
    check_pair,
    check_queries_and_keys,
    check_scores,
    check_size,
    check_values,
    labels,
)
from attnbook.figures.attention.dragging import (
    check_in_reach,
    check_movable,
    drag_settings,
    score_by,
)
from attnbook.figures.shared.base import (
    Figure,
    check_count,
    decimals,
    doubles,
    module,
    numbers,
    stylesheet,
)
from attnbook.masking.masks import check_mask, count_visible, length_mask, visible_keys
from attnbook.messages import Messages
from attnbook.pooling import pool
from attnbook.practice.judge.checking import call_safely
from attnbook.practice.judge.progress import latest_function, listen
from attnbook.practice.judge.reading import to_plain_value
from attnbook.practice.registry import find_list_task
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped
    from torch import Tensor

TEXT = Messages(__file__)
CPU = torch.device("cpu")
MOST_EXAMPLES = 8
MOST_PRINTED = 16  # numbers of a row, and rows, that the text spells out


class AttentionFigure(Figure):
    """One picture of a layer at work: scores, attention weights and output for each query.

    The scores are computed once, by the layer itself. Masking, softmax and pooling
    run in the page, in double precision, so the sliders work without a kernel.

    Args:
        layer: any `Attention`, or a score function that takes queries and keys.
        queries: `(batch, num_queries, query_size)`, at most 8 examples and 256 queries.
        keys: `(batch, num_keys, key_size)`, at most 256 keys.
        values: `(batch, num_keys, value_size)`.
        valid_lens: where the sliders start: `(batch,)` gives one slider per example,
            `(batch, num_queries)` one per query. None means all keys, and no slider, unless
            the `action` names one (`valid_lens[0]` in backquotes).
        causal: whether each query starts with the keys up to its own position, as
            `causal_mask` defines, and the hidden keys are called future.
        mask: which keys each query may attend to, as a layer takes it: no slider moves it.
        example_labels, query_labels, key_labels: names; by default `example 0`, `query 0`,
            `key 0` and so on.
        formula: how the score is written; by default the layer's `formula`.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.
        written: the name of a task on plain lists. This figure then draws the results of the
            reader's code, once it was run on the book's page or checked in a notebook: scores,
            weights, a mask or all of attention.
        written_with: what the reader's score takes after query and key: a layer's own weights.
        movable: "vectors" draws queries and keys of two components in a plane, where the reader
            can drag them if the score is the book's; "scores" lets the reader drag the scores.
            At most 8 keys.
        key_heads: for examples that are heads: numbers of key heads, from which the reader
            chooses; the first is shown first. Neighbouring heads that share read the keys and
            values of the first of them. Not next to `movable` or `written`.
        more: whether the shares, the row sum, the terms of the output and the temperature are
            seen first; otherwise after *More*.
        axis_labels: names of the two components of a vector in a plane.
        value_labels: names of the components of a value, such as `legs`.

    Traits that the reader moves, and that can be set: `valid_lens` (assign a new list),
    `temperature` in [0.1, 10], `query` (the one in focus), `key_heads` (0 without a choice);
    `query_vectors` and `key_vectors`, or `scores`, if they are movable.

    Raises:
        TypeError, ValueError: as the layer does, and for scores or values that are
            not finite, four axes, too many or no examples, queries or keys.
        traitlets.TraitError: a trait is set out of its range.

    Example:
        >>> from attnbook.figures import AttentionFigure
        >>> ones, values = torch.ones(1, 4, 2), torch.arange(4.0).reshape(1, 4, 1)
        >>> layer = DotProductAttention(dropout=0.0)
        >>> AttentionFigure(layer, ones[:, :1], ones, values, valid_lens=torch.tensor([2]))
        AttentionFigure: scores q · k / √d
        example 0: valid_lens 2
          query 0: weights [0.500, 0.500, 0, 0], output [0.500]
    """

    _esm = module("attention/figure.js")
    _css = stylesheet(
        "shared/theme.css",
        "shared/style.css",
        "shared/heatmap.css",
        "attention/style.css",
        "attention/dragging.css",
    )

    scores: traitlets.List[Any] = traitlets.List().tag(sync=True)
    values: traitlets.List[Any] = traitlets.List().tag(sync=True)
    valid_lens: traitlets.List[Any] = traitlets.List().tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.1, max=10.0).tag(sync=True)
    query = traitlets.Int(0, min=0).tag(sync=True)
    example_labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    query_labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    key_labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    formula = traitlets.Unicode().tag(sync=True)
    sees: traitlets.List[Any] = traitlets.List().tag(sync=True)  # empty without a mask
    hidden = traitlets.Unicode().tag(sync=True)
    axis_labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    value_labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    has_lengths = traitlets.Bool().tag(sync=True)
    more = traitlets.Bool().tag(sync=True)
    # Empty, if they are not drawn in a plane.
    query_vectors: traitlets.List[Any] = traitlets.List().tag(sync=True)
    key_vectors: traitlets.List[Any] = traitlets.List().tag(sync=True)
    written: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    # In a notebook: the name of the reader's function and how often it was checked; the calls that
    # the picture needs, and what they return.
    reader: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    calls: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    returned: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    moves: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    key_heads = traitlets.Int(0).tag(sync=True)
    # The scores by each number of key heads, written as text.
    shared_scores: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(  # noqa: PLR0913 - what a layer takes, and texts
        self,
        layer: Attention | Callable[[Tensor, Tensor], Tensor],
        queries: Float[Tensor, "batch queries query_size"],
        keys: Float[Tensor, "batch keys key_size"],
        values: Float[Tensor, "batch keys value_size"],
        valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
        *,
        causal: bool = False,
        mask: Bool[Tensor, "*batch queries keys"] | None = None,
        query_labels: Sequence[str] | None = None,
        key_labels: Sequence[str] | None = None,
        formula: str | None = None,
        action: str = "",
        caption: str = "",
        example_labels: Sequence[str] | None = None,
        written: str = "",
        written_with: Sequence[Tensor] = (),
        movable: Literal["", "vectors", "scores"] = "",
        key_heads: Sequence[int] = (),
        more: bool = False,
        axis_labels: Sequence[str] = (),
        value_labels: Sequence[str] = (),
    ) -> None:
        check_shown(queries, keys, values)
        if movable:
            check_movable(movable, queries, keys, written)
        scores = score_of(layer, queries, keys)
        batch, num_queries, num_keys = scores.shape
        has_lengths = valid_lens is not None or "`valid_lens" in action
        valid_lens = first_lengths(valid_lens, scores.shape, causal)
        drawn = request_for(written, queries, keys, written_with) if written else {}
        moves = drag_settings(movable, layer, queries, keys, scores) if movable else {}
        if key_heads and (movable or written):
            raise ValueError("key_heads must be empty where scores are moved or written")
        super().__init__(
            kind="attention",
            scores=numbers("scores", scores),
            values=numbers("values", values),
            valid_lens=valid_lens.long().tolist(),
            example_labels=labels("example", example_labels, batch),
            query_labels=labels("query", query_labels, num_queries),
            key_labels=labels("key", key_labels, num_keys),
            sees=visible_lists(mask, scores.shape),
            hidden=name_of_hidden(drawn.get("draws") == "mask" or mask is not None, causal),
            formula=formula or getattr(layer, "formula", "score(q, k)"),
            query_vectors=numbers("queries", queries) if movable == "vectors" else [],
            key_vectors=numbers("keys", keys) if movable == "vectors" else [],
            action=action,
            caption=caption,
            written=drawn,
            moves=moves,
            shared_scores=shared_scores_of(layer, queries, keys, key_heads),
            key_heads=key_heads[0] if key_heads else 0,
            has_lengths=has_lengths,
            more=more,
            axis_labels=labels("axis", axis_labels, 2) if axis_labels else [],
            value_labels=labels("value", value_labels, values.shape[-1]) if value_labels else [],
        )
        self._update_scores()
        self._describe()
        if written:
            listen(written, self._take_function)
            self._take_function()

    def _take_function(self) -> None:
        function = latest_function(self.written["task"])
        if function is not None:
            self.reader = {"called": function.__name__, "run": self.reader.get("run", 0) + 1}

    @traitlets.observe("calls")
    def _call_function(self, _change: object) -> None:
        function = latest_function(self.written["task"])
        if function is None:  # JavaScript calls nothing before one is there
            return
        given, reason = call_safely(
            lambda: [to_plain_value(function(*arguments)) for arguments in self.calls["calls"]]
        )
        result = {"error": reason} if reason else {"given": given}
        self.returned = {"number": self.calls["number"], **result}

    @property
    def attention_weights(self) -> Float[Tensor, "batch queries keys"]:
        """The weights shown, in double precision."""
        scores = doubles(self.shared_scores.get(str(self.key_heads), self.scores))
        mask = torch.tensor(self.sees, device=CPU) if self.sees else None
        return masked_softmax(scores / self.temperature, self._lens(), mask=mask)

    @property
    def output(self) -> Float[Tensor, "batch queries value_size"]:
        """The output shown, in double precision."""
        values = doubles(self.values)
        if self.key_heads:
            values = values[first_of_sharing(len(values), self.key_heads)]
        return pool(self.attention_weights, values)

    def _lens(self) -> Int[Tensor, "batch *queries"]:
        return torch.tensor(self.valid_lens, device="cpu")

    @traitlets.validate("valid_lens")
    def _check_valid_lens(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        lens = proposal["value"]
        if not self.valid_lens:  # the constructor has checked the first ones
            return lens
        shape = (len(self.scores), len(self.scores[0]), len(self.scores[0][0]))
        try:
            tensor = torch.tensor(lens, device="cpu")
            length_mask(tensor, shape)
        except (RuntimeError, TypeError, ValueError) as error:  # torch raises any of them
            raise traitlets.TraitError(str(error)) from error
        if tensor.dim() != self._lens().dim():
            raise traitlets.TraitError(f"valid_lens must keep its shape, got {tuple(tensor.shape)}")
        return tensor.long().tolist()

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        if math.isnan(proposal["value"]):  # which no bound refuses
            raise traitlets.TraitError("temperature must lie in [0.1, 10], got nan")
        return proposal["value"]

    @traitlets.validate("query")
    def _check_query(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        count = len(self.query_labels)
        if count and proposal["value"] >= count:
            raise traitlets.TraitError(
                f"query must lie in [0, num_queries={count}), got {proposal['value']}"
            )
        return proposal["value"]

    @traitlets.validate("key_heads")
    def _check_key_heads(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        known = [*map(int, self.shared_scores)] or [0]
        if proposal["value"] not in known:
            raise traitlets.TraitError(f"key_heads must be one of {known}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("query_vectors", "key_vectors", "scores")
    def _check_moved(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        name, value = proposal["trait"].name, proposal["value"]
        first = self.moves.get("start", {}).get(name)
        if first is not None:
            try:
                check_in_reach(name, value, first, self.moves["reach"])
            except (RuntimeError, TypeError, ValueError) as error:  # torch raises any of them
                raise traitlets.TraitError(str(error)) from error
        return value

    @traitlets.observe("query_vectors", "key_vectors")
    def _update_scores(self, _change: object = None) -> None:
        if "rule" in self.moves:
            vectors = self.query_vectors, self.key_vectors
            self.scores = score_by(self.moves["rule"], *vectors).tolist()

    @traitlets.observe("valid_lens", "temperature", "scores", "key_heads")
    def _describe(self, _change: object = None) -> None:
        if self.scores and self.values:
            self._write_text(self._lines())

    def _lines(self) -> list[str]:
        first = self.moves.get("start", {}).get("scores", self.scores)
        moved = self.scores != first
        title = [TEXT("title_moved") if moved else TEXT("title", formula=self.formula)]
        if self.temperature != 1:
            title.append(TEXT("title_temperature", temperature=f"{self.temperature:g}"))
        if self.key_heads:
            title.append(TEXT("title_key_heads", count=self.key_heads))
        lines = [", ".join(title)]
        rows = zip(self.attention_weights.tolist(), self.output.tolist(), strict=True)
        examples = zip(self.example_labels, self.valid_lens, rows, strict=True)
        for name, lens, (weights, outputs) in examples:
            lines.append(TEXT("example_lengths", example=name, lengths=lens))
            shown = list(zip(self.query_labels, weights, outputs, strict=True))[:MOST_PRINTED]
            rest = [
                TEXT("query_row", query=q, weights=_vector(row), output=_vector(out))
                for q, row, out in shown
            ]
            if len(weights) > MOST_PRINTED:
                rest.append(TEXT("more_queries", count=len(weights) - MOST_PRINTED))
            lines += [f"  {line}" for line in rest]
        return lines


def _vector(row: list[float]) -> str:
    numbers = [decimals(number) for number in row[:MOST_PRINTED]]
    if len(row) > MOST_PRINTED:
        numbers.append(TEXT("more_numbers", count=len(row) - MOST_PRINTED))
    return f"[{', '.join(numbers)}]"


def check_shown(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Refuse tensors that do not fit together, and more than can be drawn."""
    check_queries_and_keys(queries, keys)
    check_values(values, keys.shape[-2])
    check_pair("values", values, "keys", keys)
    if queries.dim() == 4:
        raise ValueError("a figure shows one head, got four axes; pass queries[:, 0] and so on")
    check_count("examples", queries.shape[0], MOST_EXAMPLES)
    check_count("queries", queries.shape[1])
    check_count("keys", keys.shape[1])
    check_count("value_size", values.shape[2])


def first_lengths(valid_lens: Tensor | None, shape: Sequence[int], causal: bool) -> Tensor:
    """Return the first lengths of the sliders, and refuse what no slider can show."""
    if valid_lens is None:
        valid_lens = torch.full((shape[0],), shape[-1], device="cpu")
    if isinstance(valid_lens, torch.Tensor):
        valid_lens = valid_lens.cpu()
    visible = visible_keys(shape, valid_lens, causal, CPU)
    return valid_lens if visible is None or not causal else count_visible(visible)


def visible_lists(mask: Tensor | None, shape: Sequence[int]) -> list[list[list[bool]]]:
    """Convert a mask to lists, one value for each pair of each example; empty without a mask."""
    if mask is None:
        return []
    visible: list[list[list[bool]]] = check_mask(mask, shape, CPU).expand(*shape).tolist()
    return visible


def name_of_hidden(masked: bool, causal: bool) -> str:
    """Return the word for hidden keys."""
    if masked:
        return TEXT("hidden_by_mask")
    return TEXT("hidden_future" if causal else "hidden_padding")


def request_for(
    name: str, queries: Tensor, keys: Tensor, written_with: Sequence[Tensor]
) -> dict[str, Any]:
    """Return what the page needs to call the reader's function."""
    task = find_list_task(name)
    if not task.draws:
        raise ValueError(f"written must be a task whose answer can be drawn, got {name!r}")
    of_vectors = task.draws in ("score", "attention")
    return {
        "task": name,
        "draws": task.draws,
        "queries": numbers("queries", queries) if of_vectors else [],
        "keys": numbers("keys", keys) if of_vectors else [],
        "more": [numbers("written_with", each) for each in written_with],
    }


def first_of_sharing(num_heads: int, key_heads: int) -> list[int]:
    """Return for each head the first of those that it shares keys and values with."""
    shared = num_heads // key_heads
    return [head - head % shared for head in range(num_heads)]


def shared_scores_of(
    layer: Any,  # noqa: ANN401 - see the figure
    queries: Tensor,
    keys: Tensor,
    key_heads: Sequence[int],
) -> dict[str, Any]:
    """Score by the keys that heads share, for each number of key heads."""
    num_heads = queries.shape[0]
    for number in key_heads:
        check_size("key_heads", number)
        if num_heads % number:
            raise ValueError(f"key_heads must divide the {num_heads} examples, got {number}")
    return {
        str(number): numbers(
            "scores", score_of(layer, queries, keys[first_of_sharing(num_heads, number)])
        )
        for number in key_heads
    }


def score_of(layer: Any, queries: Tensor, keys: Tensor) -> Tensor:  # noqa: ANN401 - see the figure
    """Score by a layer, or by a function."""
    with torch.no_grad():
        scores: Tensor = getattr(layer, "score", layer)(queries, keys)
    check_scores(scores, queries, keys)
    return scores
