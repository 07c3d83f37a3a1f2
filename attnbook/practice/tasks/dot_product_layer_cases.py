"""What is asked by the task dot-product-layer, and its cases."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from attnbook.practice.inputs import lengths, normal, of_thousands
from attnbook.practice.task import Function, Law, Task, rows_sum_to_one

SHARE = 0.2


"""Of weights dropped, in the case that looks at what is drawn."""


def _as_function(written: Function) -> Function:
    """Make a layer and call it."""

    def called(  # noqa: PLR0913, PLR0917 - what a layer and its call take
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        dropout: float = 0.0,
        training: bool = False,
        earlier: tuple[Tensor, ...] = (),
    ) -> tuple[Tensor, Tensor]:
        if isinstance(written, nn.Module):
            raise TypeError("this is a layer already: hand over its class, DotProductAttention")
        layer = written(dropout).train(training)
        if earlier:
            layer(*earlier)
        output = layer(queries, keys, values, *([] if valid_lens is None else [valid_lens]))
        weights = layer.attention_weights
        return _drawn(output, weights) if training and dropout == SHARE else (output, weights)

    return called


def _drawn(output: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Tell what does not depend on chance, where the values are two identities side by side."""
    one, other = output.chunk(2, -1)
    dropped, kept = one == 0, torch.isclose(one, weights / (1 - SHARE))
    few, scaled = dropped.float().mean() < 0.5, ~(dropped | torch.isclose(one, weights)).all()
    # Each row, column and example draws for itself.
    mixed = [(some.any(axis)).all() for some in (dropped, kept) for axis in (-1, -2)]
    mixed.append((dropped[0] != dropped[1]).any())
    told = torch.stack([few, scaled, (dropped | kept).all(), *mixed])
    return told, torch.isclose(one, other).all()


def _each_is_dropped_or_scaled(output: Tensor, *_: Any) -> bool:  # noqa: ANN401 - a case's arguments
    return output.dtype != torch.bool or bool(output.all())


def _weights_are_dropped(output: Tensor, same: Tensor, *_: Any) -> bool:  # noqa: ANN401
    return output.dtype != torch.bool or bool(same)


def _weights_are_detached(_output: Tensor, weights: Tensor, *_: Any) -> bool:  # noqa: ANN401
    return not weights.requires_grad


def _weights_sum_to_one(output: Tensor, weights: Tensor, *_: Any) -> bool:  # noqa: ANN401
    if output.dtype == torch.bool or weights.isnan().any():
        return True  # NaN is told as such
    return rows_sum_to_one(weights)


task = Task(
    name="dot-product-layer",
    statement=(
        "Write a class `DotProductAttention(dropout=0.0)`, an `nn.Module`. "
        "`layer(queries, keys, values, valid_lens=None)` gives the output of scaled dot-product "
        "attention, softmax(q · k / √query_size) times the values: queries (batch, num_queries, "
        "query_size), keys (batch, num_keys, query_size), values (batch, num_keys, value_size), "
        "output (batch, num_queries, value_size). `valid_lens`, (batch,), says how many keys from "
        "the first may be seen; None means all; a row that sees nothing is all zeros. In training "
        "dropout, in [0, 1], sets that share of the weights to 0 and divides the others by "
        "1 - dropout; in eval it does nothing. After each call `layer.attention_weights`, (batch, "
        "num_queries, num_keys), holds the weights of that call: after the mask, before dropout, "
        "detached."
    ),
    starter=(
        "class DotProductAttention(nn.Module):\n"
        "    def __init__(self, dropout=0.0):\n"
        "        super().__init__()\n"
        "        ...\n\n"
        "    def forward(self, queries, keys, values, valid_lens=None):\n"
        "        ..."
    ),
    outputs=("the output", "`attention_weights`"),
    laws=(
        Law("`attention_weights` still hang on the graph: detach them.", _weights_are_detached),
        Law("Some row of `attention_weights` does not sum to 1.", _weights_sum_to_one),
        Law(
            "With dropout 0.2, each weight should by itself be 0 in use, in a fifth of all cases, "
            "or else 1.25 times as large; it is not so.",
            _each_is_dropped_or_scaled,
        ),
        Law(
            "With dropout 0.2, two equal columns of values come out different: whole weights "
            "should be dropped.",
            _weights_are_dropped,
        ),
    ),
    as_function=_as_function,
)


def _inputs() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11)


@task.case("training, with dropout 0")
def _() -> tuple[Any, ...]:
    return *_inputs(), lengths(4, 2), 0.0, True


@task.case("eval")
def _() -> tuple[Any, ...]:
    return *_inputs(), lengths(4, 2)


@task.case("eval, without lengths")
def _() -> tuple[Any, ...]:
    return _inputs()


@task.case("all sizes are 3")
def _() -> tuple[Any, ...]:
    return normal(3, 3, 3), normal(3, 3, 3, seed=1), normal(3, 3, 3, seed=2), lengths(3, 1, 2)


@task.case("training, with a dropout of all weights")
def _() -> tuple[Any, ...]:
    return *_inputs(), lengths(4, 2), 1.0, True


@task.case("training, with a dropout of a fifth of the weights", gradients=False)
def _() -> tuple[Any, ...]:
    both = torch.eye(97).repeat(2, 1, 2)
    return normal(2, 89, 7), normal(2, 97, 7), both, None, SHARE, True


@task.case("eval, with a dropout that must do nothing")
def _() -> tuple[Any, ...]:
    return *_inputs(), lengths(4, 2), 1.0, False


@task.case("a second call of the same layer")
def _() -> tuple[Any, ...]:
    earlier = (normal(2, 3, 7, seed=1), *_inputs()[1:], lengths(3, 5))
    return *_inputs(), lengths(4, 2), 0.0, False, earlier


@task.case("an example that may see nothing")
def _() -> tuple[Any, ...]:
    return *_inputs(), lengths(0, 4)


@task.case("half precision")
def _() -> tuple[Any, ...]:
    return *(each.half() for each in _inputs()), lengths(4, 2)


@task.case("double precision")
def _() -> tuple[Any, ...]:
    return *(each.double() for each in _inputs()), lengths(4, 2)


@task.case("scores of 1024 and of -1024 that are seen, and padding")
def _() -> tuple[Any, ...]:
    return *of_thousands(), lengths(3)


@task.case("6 examples of 9 queries, 131 keys")
def _() -> tuple[Any, ...]:
    seen = lengths(131, 1, 0, 65, 129, 130)
    return normal(6, 9, 130), normal(6, 131, 130), normal(6, 131, 7), seen
