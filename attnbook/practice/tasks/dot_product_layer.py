"""Scaled dot-product attention as a layer, with dropout, and with stored weights."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal, of_thousands, with_dtype
from attnbook.practice.reference_steps import pool, scale, visible_keys, weigh
from attnbook.practice.task import Function, Law, Task, rows_sum_to_one

Lengths = Tensor | None
SHARE = 0.4  # of weights dropped, in the case that checks what is drawn


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
            raise TypeError("this is a layer already: pass its class, DotProductAttention")
        layer = written(dropout).train(training)
        if earlier:
            layer(*earlier)
        arguments = queries, keys, values, *([] if valid_lens is None else [valid_lens])
        output = layer(*arguments)
        weights = layer.attention_weights
        if training and dropout == SHARE:
            return _drawn(output, weights, layer(*arguments))
        return output, weights

    return called


def _drawn(output: Tensor, weights: Tensor, another: Tensor) -> tuple[Tensor, Tensor]:
    """Give what does not depend on chance, where the values are two identities side by side."""
    one, other = output.chunk(2, -1)
    dropped, scaled_weights = one == 0, torch.isclose(one, weights / (1 - SHARE))
    few, scaled = dropped.float().mean() < 0.5, ~(dropped | torch.isclose(one, weights)).all()
    # Each row, column, example and call draws for itself.
    mixed = [(some.any(axis)).all() for some in (dropped, scaled_weights) for axis in (-1, -2)]
    mixed += [(dropped[0] != dropped[1]).any(), (output != another).any()]
    facts = torch.stack([few, scaled, (dropped | scaled_weights).all(), *mixed])
    return facts, torch.isclose(one, other).all()


def _weights_are_detached(_output: Tensor, weights: Tensor, *_: object) -> bool:
    return not weights.requires_grad


def _weights_sum_to_one(output: Tensor, weights: Tensor, *_: object) -> bool:
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
        "output (batch, num_queries, value_size). `valid_lens`, (batch,), holds how many keys "
        "are visible, from the first on; None means all; a query that sees no key gets zeros. In "
        "training dropout, in [0, 1], sets that share of the weights to 0 and divides the others "
        "by 1 - dropout; in eval it does nothing. After each call `layer.attention_weights`, "
        "(batch, num_queries, num_keys), holds the weights of that call: after the mask, before "
        "dropout, detached."
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
        Law("`attention_weights` are still part of the graph: detach them.", _weights_are_detached),
        Law("Some row of `attention_weights` does not sum to 1.", _weights_sum_to_one),
        Law(
            "With dropout 0.4, each weight should become 0 with probability 0.4, independently of "
            "the others and of earlier calls, or else be divided by 0.6. This is not so here.",
            lambda output, *_: output.dtype != torch.bool or bool(output.all()),
        ),
        Law(
            "With dropout 0.4, two equal columns of values give different outputs: whole weights "
            "should be dropped.",
            lambda output, same, *_: output.dtype != torch.bool or bool(same),
        ),
    ),
    as_function=_as_function,
)


def _inputs(*rest: Any) -> tuple[Any, ...]:  # noqa: ANN401 - what a call takes
    return normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11), *rest


task.case("training, with dropout 0")(lambda: _inputs(lengths(4, 2), 0.0, True))
task.case("eval")(lambda: _inputs(lengths(4, 2)))
task.case("eval, without lengths")(_inputs)
task.case("all sizes are 3")(
    lambda: (normal(3, 3, 3), normal(3, 3, 3, seed=1), normal(3, 3, 3, seed=2), lengths(3, 1, 2))
)
task.case("training, with a dropout of all weights, and scores of 0")(
    lambda: (torch.zeros(2, 3, 7), *_inputs(lengths(4, 2), 1.0, True)[1:])
)
task.case("training, with a dropout of two fifths of the weights", gradients=False)(
    lambda: (normal(2, 29, 3), normal(2, 31, 3), torch.eye(31).repeat(2, 1, 2), None, SHARE, True)
)
task.case("eval, with a dropout that must do nothing")(lambda: _inputs(lengths(4, 2), 1.0, False))
task.case("a second call of the same layer")(
    lambda: _inputs(
        lengths(4, 2), 1.0, False, (*(each.flip(0) for each in _inputs()), lengths(3, 5))
    )
)
task.case("an example that may see nothing")(lambda: _inputs(lengths(0, 4)))
task.case("half precision")(lambda: with_dtype(torch.half, *_inputs(lengths(4, 2))))
task.case("double precision")(lambda: with_dtype(torch.double, *_inputs(lengths(4, 2))))
task.case("scores of 1024 and of -1024 that are seen, and padding")(
    lambda: (*of_thousands(), lengths(2))
)


task.case("vectors of 130 numbers")(
    lambda: (normal(2, 3, 130), normal(2, 5, 130), normal(2, 5, 7), lengths(4, 2))
)
task.case("2 examples of 2 queries, 257 keys")(
    lambda: (normal(2, 2, 3), normal(2, 257, 3), normal(2, 257, 2), lengths(257, 130))
)


class Layer(nn.Module):
    """Correct steps: each layer below overrides one, correctly or with a bug."""

    score: Function = staticmethod(scale)
    weigh: Function = staticmethod(weigh)
    mask: Function = staticmethod(lambda visible: visible)
    pool: Function = staticmethod(pool)

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.attention_weights: Tensor | None = None

    @property
    def share(self) -> float:
        return self.dropout.p if self.training else 0.0

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
    ) -> Tensor:
        weights = self.find_weights(queries, keys, values, valid_lens)
        self.attention_weights = self.detach(weights, queries, keys)
        return self.average(weights, values, keys)

    def find_weights(self, q: Tensor, k: Tensor, v: Tensor, valid_lens: Lengths) -> Tensor:
        weights: Tensor = self.weigh(self.score(q, k, v), self.mask(visible_keys(valid_lens, k.mT)))
        return weights

    def detach(self, weights: Tensor, *_: Tensor) -> Tensor:
        return weights.detach()

    def average(self, weights: Tensor, values: Tensor, keys: Tensor) -> Tensor:
        output: Tensor = self.pool(self.drop(weights), values, keys)
        return output

    def drop(self, weights: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(weights)
        return dropped


def in_steps(**steps: Function) -> Function:
    """Override steps of the layer."""
    return type("DotProductAttention", (Layer,), steps)


def in_functions(**steps: Function) -> Function:
    """Override steps that do not depend on the layer."""
    return in_steps(**{name: staticmethod(step) for name, step in steps.items()})


task.solution("it is the book's own.", name="the package")(attnbook.DotProductAttention)
task.solution("nn.Dropout knows by itself whether it is in training.", name="with a dropout layer")(
    Layer
)


@task.solution("`F.dropout` gets `training=self.training`, and does nothing in eval.")
class with_a_dropout_function(Layer):
    def drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.dropout.p, training=self.training)


@task.solution("it draws at random which weights stay; with dropout 1 none stays.")
class drawing_for_itself(Layer):
    def drop(self, weights: Tensor) -> Tensor:
        stay = torch.rand(weights.shape) >= self.share
        return torch.where(stay, weights / max(1 - self.share, 1e-3), 0)


@task.test
def test_the_stored_weights_are_those_that_average_the_values(layer_of: Function) -> None:
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
def test_weights_follow_the_dot_product_over_the_root_of_the_size(layer_of: Function) -> None:
    # 4 numbers: √4 = 2. Scores 2 ln 3 and 0: weights 9/10 and 1/10.
    layer, queries = layer_of(0.0), torch.tensor([[[math.log(9), 0, 0, 0]]])
    keys, values = torch.tensor([[[2.0, 0, 0, 0], [0, 2, 0, 0]]]), torch.tensor([[[10.0], [0]]])
    assert torch.allclose(layer(queries, keys, values), torch.tensor(9.0))
    low, high = torch.tensor([[[0], [1e-9]]]).double(), torch.tensor([[[-1.0], [1]]]).double()
    assert layer(torch.ones(1, 1, 1).double(), low, high) > 1e-10


@task.test
def test_hidden_and_high_scores_do_no_harm(layer_of: Function) -> None:
    layer, queries = layer_of(0.0), normal(2, 3, 7).half().requires_grad_()
    output = layer(queries, normal(2, 5, 7).half(), normal(2, 5, 11).half(), lengths(0, 5))
    assert (output[0] == 0).all()
    assert (output[1] != 0).all()
    (flow,) = torch.autograd.grad(output.sum(), queries)
    assert flow.isfinite().all()
    keys = torch.tensor([[[1000.0], [2000]]])
    assert layer(torch.ones(1, 1, 1), keys, keys, lengths(1)) == 1000


@task.test
def test_a_call_changes_no_state(layer_of: Function) -> None:
    layer, queries, keys = layer_of(0.0), normal(2, 3, 7), normal(2, 5, 7)
    before = queries.clone()
    layer(queries, keys.requires_grad_(), normal(2, 5, 11))
    assert torch.equal(queries, before)
    assert not layer.attention_weights.requires_grad


task.bug(
    "kept weights know no mask",
    "the stored weights are computed once more, without the mask.",
    symptom="The heatmap shows attention to padding, though padding changes no output.",
    origin="UvA's tutorial 6",
    fix="store the weights that are used, `self.attention_weights = weights.detach()`.",
)(in_steps(detach=lambda _layer, _weights, *both: scale(*both).softmax(-1).detach()))

task.bug(
    "scores are kept",
    "the scores are stored instead of the weights.",
    symptom="The heatmap has negative numbers.",
    fix="store the output of the softmax, not its input.",
)(in_steps(detach=lambda _layer, _weights, *both: scale(*both).detach()))

task.bug(
    "kept weights hang on the graph",
    "the weights are stored without `detach`, and their whole graph stays in memory.",
    symptom="Memory grows with each call whose weights are put into a list.",
    fix="store `weights.detach()`.",
)(in_steps(detach=lambda _layer, weights, *_both: weights))

task.bug(
    "queries are scaled in place",
    "the queries are divided by the root in place, which changes the caller's tensor, too.",
    symptom="Called twice with the same queries, it gives two outputs.",
    fix="write `queries / math.sqrt(…)` into a new tensor; `/=` writes into the caller's.",
)(in_functions(score=lambda q, k, _v: q.div_(math.sqrt(q.shape[-1])) @ k.mT))

task.bug(
    "masked in training only",
    "the mask is used in training only.",
    symptom="Training is correct; in eval, hidden keys change the output.",
    origin="`is_causal=self.training` in PyTorch's SDPA tutorial (stored versions), Kronos #199",
    fix="mask always: only dropout depends on `self.training`.",
)(
    in_steps(
        find_weights=lambda it, q, k, v, lens: Layer.find_weights(
            it, q, k, v, lens if it.training else None
        )
    )
)

task.bug(
    "scores are dropped",
    "dropout acts before the softmax, on the scores or on what they are made of.",
    symptom="With a high dropout all weights become equal, where most should become 0.",
    fix="drop weights, after the softmax: a score of 0 is an ordinary score.",
)(
    in_steps(
        find_weights=lambda it, q, k, _v, lens: weigh(
            it.dropout(scale(q, k)), visible_keys(lens, k.mT)
        ),
        drop=lambda _, weights: weights,
    )
)


@task.bug(
    symptom="The heatmap has holes, and its rows do not sum to 1.",
    fix="store the weights first, then drop some of them, and not in place.",
)
class weights_are_kept_after_dropout(Layer):
    """the stored weights are those after dropout."""

    def drop(self, weights: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(weights)
        self.attention_weights = dropped.detach()
        return dropped


task.bug(
    "the rest is not scaled",
    "the weights that are not dropped stay as they are, and no longer sum to 1 on average.",
    symptom="In training the outputs are smaller than in eval.",
    fix="divide what stays by 1 - dropout, as nn.Dropout does.",
)(in_steps(drop=lambda layer, weights: weights * (torch.rand(weights.shape) >= layer.share)))

task.bug(
    "outputs are dropped",
    "dropout acts on the numbers of the output, where whole weights should be dropped.",
    symptom="Single numbers of the output are 0 in training.",
    fix="drop weights, before they are multiplied by the values.",
)(in_steps(average=lambda layer, weights, values, _keys: layer.drop(weights @ values)))

task.bug(
    "dropped in eval too",
    "dropout acts in eval as well: the function's own default is `training=True`.",
    symptom="The same sentence gets another translation each time, though `eval()` was called.",
    fix="write `F.dropout(weights, p, training=self.training)`, or make an nn.Dropout.",
)(in_steps(drop=lambda layer, weights: F.dropout(weights, layer.dropout.p)))


@task.bug(
    symptom="The heatmap never changes, whatever the layer is given.",
    fix="store the weights in each call.",
)
class the_first_weights_stay(Layer):
    """the weights of the first call are stored and never replaced."""

    def detach(self, weights: Tensor, *_: Tensor) -> Tensor:
        return weights.detach() if self.attention_weights is None else self.attention_weights


task.inherit(
    in_functions,
    *mistakes.ATTENTION,
    without=(*mistakes.OF_HEADS, *mistakes.OF_ROWS, "filled with minus ten thousand"),
)
