"""Scaled dot-product attention as a layer, with dropout, and with weights to look at."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnbook
from attnbook.practice.inputs import lengths, normal, of_thousands
from attnbook.practice.steps import scale, weigh
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
    """Give what does not depend on chance, where the values are two identities side by side."""
    one, other = output.chunk(2, -1)
    dropped, kept = one == 0, torch.isclose(one, weights / (1 - SHARE))
    few, scaled = dropped.float().mean() < 0.5, ~(dropped | torch.isclose(one, weights)).all()
    # Each row, column and example draws for itself.
    mixed = [(some.any(axis)).all() for some in (dropped, kept) for axis in (-1, -2)]
    mixed.append((dropped[0] != dropped[1]).any())
    facts = torch.stack([few, scaled, (dropped | kept).all(), *mixed])
    return facts, torch.isclose(one, other).all()


def _each_is_dropped_or_scaled(output: Tensor, *_: Any) -> bool:  # noqa: ANN401 - a case's arguments
    return output.dtype != torch.bool or bool(output.all())


def _weights_are_dropped(output: Tensor, same: Tensor, *_: Any) -> bool:  # noqa: ANN401
    return output.dtype != torch.bool or bool(same)


def _weights_are_detached(_output: Tensor, weights: Tensor, *_: Any) -> bool:  # noqa: ANN401
    return not weights.requires_grad


def _weights_sum_to_one(output: Tensor, weights: Tensor, *_: Any) -> bool:  # noqa: ANN401
    if output.dtype == torch.bool or weights.isnan().any():
        return True  # NaN is reported as such
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


class Layer(nn.Module):
    """What the layers below have in common: each says something else, right or wrong."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.attention_weights: Tensor | None = None

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        weights = self.weigh(queries, keys, valid_lens)
        self.keep(weights)
        return self.drop(weights) @ values

    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        return weigh(scale(queries, keys), valid_lens)

    def keep(self, weights: Tensor) -> None:
        self.attention_weights = weights.detach()

    def drop(self, weights: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(weights)
        return dropped


@task.right("it is the book's own.")
class the_package(attnbook.DotProductAttention):
    pass


@task.right("nn.Dropout knows by itself whether it is in training.")
class with_a_dropout_layer(Layer):
    pass


@task.right("the function dropout is told whether the layer is in training.")
class with_a_dropout_function(Layer):
    def drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.dropout.p, training=self.training)


@task.right("it draws for itself which weights stay; with dropout 1 none does.")
class drawing_for_itself(Layer):
    def drop(self, weights: Tensor) -> Tensor:
        share = self.dropout.p if self.training else 0.0
        stay = torch.rand(weights.shape) >= share
        return torch.where(stay, weights / max(1 - share, 1e-3), 0)


@task.right("it takes one example after the other, without its padding.")
class example_by_example(Layer):
    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        weights = queries.new_zeros(*queries.shape[:2], keys.shape[1])
        for i in range(len(queries)):
            length = keys.shape[1] if valid_lens is None else int(valid_lens[i])
            weights[i, :, :length] = scale(queries[i], keys[i, :length]).softmax(-1)
        return weights


@task.right("torch's own, asked for the average of an identity matrix, gives the weights.")
class of_torch(Layer):
    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        identity = torch.eye(keys.shape[1], dtype=keys.dtype).expand(len(keys), -1, -1)
        if valid_lens is None:
            return F.scaled_dot_product_attention(queries, keys, identity)
        visible = torch.arange(keys.shape[1]) < valid_lens[:, None, None]
        mask = visible | (valid_lens == 0)[:, None, None]
        return F.scaled_dot_product_attention(queries, keys, identity, mask) * visible


@task.test
def test_the_kept_weights_are_those_that_average_the_values(layer_of: Function) -> None:
    layer = layer_of(0.5).eval()
    for seed in (1, 2):
        queries, keys, values = normal(2, 3, 7, seed=seed), normal(2, 5, 7), normal(2, 5, 11)
        output = layer(queries, keys, values, lengths(4, 2))
        assert torch.allclose(output, layer.attention_weights @ values, atol=1e-5)


@task.test
def test_padding_changes_nothing_in_eval(layer_of: Function) -> None:
    layer = layer_of(0.0).eval()
    queries, keys, values = normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11)
    alone = layer(queries, keys[:, :2], values[:, :2])
    assert torch.allclose(layer(queries, keys, values, lengths(2, 2)), alone, atol=1e-5)


@task.test
def test_training_drops_whole_weights_and_scales_the_others(layer_of: Function) -> None:
    layer = layer_of(0.5).train()
    # Each key has a weight of 1/64 and its own two numbers.
    output = layer(torch.zeros(1, 1, 3), torch.zeros(1, 64, 3), torch.eye(64).repeat(1, 2)[None])
    assert torch.allclose(layer.attention_weights, torch.tensor(1 / 64))
    assert sorted(set(output.flatten().tolist())) == [0, 1 / 32]
    assert torch.equal(output[..., :64], output[..., 64:])


@task.test
def test_a_call_leaves_nothing_behind(layer_of: Function) -> None:
    layer, queries, keys = layer_of(0.0), normal(2, 3, 7), normal(2, 5, 7)
    before = queries.clone()
    layer(queries, keys.requires_grad_(), normal(2, 5, 11))
    assert torch.equal(queries, before)
    assert not layer.attention_weights.requires_grad
