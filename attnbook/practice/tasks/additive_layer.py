"""Additive attention as a layer, with three matrices that are learned."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal, with_dtype
from attnbook.practice.reference_steps import pool, visible_keys, weigh
from attnbook.practice.task import Function, Task
from attnbook.torch_private import without_compiler

Lengths = Tensor | None
Sizes = tuple[int, int, int]
Inputs = tuple[Any, ...]


def _as_function(written: Function) -> Function:
    """Make a layer, give it the case's matrices, and call it."""

    def called(  # noqa: PLR0913, PLR0917 - what a layer and its call take
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Lengths,
        W_q: Tensor,
        W_k: Tensor,
        w_v: Tensor,
    ) -> Tensor:
        if isinstance(written, nn.Module):
            raise TypeError("this is a layer already: pass its class, AdditiveAttention")
        layer = written(W_k.shape[1], W_q.shape[1], w_v.shape[1])
        layer.to(w_v.dtype)
        weights = {"W_q.weight": W_q, "W_k.weight": W_k, "w_v.weight": w_v}
        inner = without_compiler(layer)
        _check_weights(inner, weights)
        # A compiled layer has the written one as its only part.
        prefix = "" if inner is layer else next(name for name, _ in layer.named_children()) + "."
        state = {f"{prefix}{name}": weight for name, weight in weights.items()}
        arguments = queries, keys, values, *([] if valid_lens is None else [valid_lens])
        with torch.no_grad():  # state from an earlier call must not matter
            functional_call(layer, state, tuple(each.flip(0) for each in arguments))
        output: Tensor = functional_call(layer, state, arguments)
        return output

    return called


def _check_weights(layer: nn.Module, weights: dict[str, Tensor]) -> None:
    found = {name: tuple(weight.shape) for name, weight in layer.state_dict().items()}
    if found.keys() != weights.keys():
        raise ValueError(
            "check loads weights of its own into W_q, W_k and w_v, each an nn.Linear without bias; "
            f"this layer has {', '.join(found) or 'none'}"
        )
    for name, weight in weights.items():
        if found[name] != weight.shape:
            raise ValueError(
                "a matrix does not fit key_size, query_size and num_hiddens: "
                f"{name} has shape {found[name]}, expected {tuple(weight.shape)}"
            )


task = Task(
    name="additive-layer",
    statement=(
        "Write a class `AdditiveAttention(key_size, query_size, num_hiddens)`, an `nn.Module` with "
        "three `nn.Linear` without bias: `W_q` maps a query to num_hiddens numbers, `W_k` does the "
        "same with a key, and `w_v` maps num_hiddens numbers to 1. `layer(queries, keys, values, "
        "valid_lens=None)` scores by w_v tanh(W_q q + W_k k), takes the softmax over the keys, and "
        "averages the values: queries (batch, num_queries, query_size), keys (batch, num_keys, "
        "key_size), values (batch, num_keys, value_size), output (batch, num_queries, value_size). "
        "`valid_lens`, (batch,), holds how many keys are visible, from the first on; None means "
        "all; a query that sees no key gets zeros. There is no dropout, and no other "
        "parameter or buffer. The checker calls the layer with weights of its own."
    ),
    starter=(
        "class AdditiveAttention(nn.Module):\n"
        "    def __init__(self, key_size, query_size, num_hiddens):\n"
        "        super().__init__()\n"
        "        ...\n\n"
        "    def forward(self, queries, keys, values, valid_lens=None):\n"
        "        ..."
    ),
    as_function=_as_function,
)


def _inputs(sizes: Sizes, lens: Lengths, numbers: Sizes = (2, 3, 5), size: int = 11) -> Inputs:
    (query_size, key_size, num_hiddens), (batch, num_queries, num_keys) = sizes, numbers
    return (
        normal(batch, num_queries, query_size),
        normal(batch, num_keys, key_size, seed=1),
        normal(batch, num_keys, size, seed=2),
        lens,
        normal(num_hiddens, query_size, seed=3),
        normal(num_hiddens, key_size, seed=4),
        normal(1, num_hiddens, seed=5),
    )


task.case("queries and keys of 2 numbers, 8 hidden units, no lengths")(
    lambda: _inputs((2, 2, 8), None)
)
task.case("a length for each example")(lambda: _inputs((2, 2, 8), lengths(4, 2)))
task.case("an example that may see nothing")(lambda: _inputs((2, 2, 8), lengths(0, 4)))
task.case("16 hidden units")(lambda: _inputs((2, 2, 16), lengths(4, 2)))
task.case("queries and keys of 3 numbers")(lambda: _inputs((3, 3, 8), lengths(4, 2)))
task.case("queries longer than keys")(lambda: _inputs((7, 2, 8), lengths(4, 2)))
task.case("keys longer than queries")(lambda: _inputs((3, 7, 13), lengths(4, 2)))
task.case("all sizes are 3")(lambda: _inputs((3, 3, 3), lengths(3, 1, 2), (3, 3, 3), 3))
task.case("one query")(lambda: _inputs((3, 7, 13), lengths(4, 2), (2, 1, 5)))
task.case("one example, one query and one key, which scores 0")(
    lambda: (*_inputs((3, 7, 13), lengths(1), (1, 1, 1))[:6], torch.zeros(1, 13))
)
task.case("hidden scores hundreds above those that are seen", gradients=False)(
    lambda: (*(of := _inputs((3, 7, 13), lengths(4, 2)))[:6], 100 * of[6])
)
task.case("half precision")(lambda: with_dtype(torch.half, *_inputs((3, 7, 5), lengths(4, 2))))
task.case("double precision")(lambda: with_dtype(torch.double, *_inputs((3, 7, 13), lengths(4, 2))))


@task.case("scores of hundreds, far apart from query to query", gradients=False)
def _() -> Inputs:
    *first, matrix_q, matrix_k, vector = _inputs((3, 7, 13), lengths(4, 2))
    return *first, matrix_q, matrix_k / 1000, 100 * vector


task.case("2 examples of 2 queries, 257 keys")(
    lambda: _inputs((2, 3, 2), lengths(257, 130), (2, 2, 257), 3)
)


class Layer(nn.Module):
    """Correct steps: each layer below overrides one, correctly or with a bug."""

    weigh: Function = staticmethod(weigh)
    mask: Function = staticmethod(lambda visible: visible)
    pool: Function = staticmethod(pool)

    def __init__(self, key_size: int, query_size: int, num_hiddens: int) -> None:
        super().__init__()
        of_key, of_query, units = self.sizes(key_size, query_size, num_hiddens)
        self.W_k = nn.Linear(of_key, num_hiddens, bias=False)
        self.W_q = nn.Linear(of_query, num_hiddens, bias=False)
        self.w_v = nn.Linear(units, 1, bias=False)

    def sizes(self, key_size: int, query_size: int, num_hiddens: int) -> Sizes:
        return key_size, query_size, num_hiddens

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
    ) -> Tensor:
        return self.attend(self.score(queries, keys), keys, values, valid_lens)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return torch.tanh(self.add(queries, keys)) @ self.w_v.weight[0]

    def add(self, queries: Tensor, keys: Tensor) -> Tensor:
        q, k = self.project(queries, keys)
        return q[:, :, None] + k[:, None]

    def project(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        return self.W_q(queries), self.W_k(keys)

    def attend(self, scores: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths) -> Tensor:
        weights = self.weigh(scores, self.mask(visible_keys(valid_lens, scores)))
        output: Tensor = self.pool(weights, values, keys)
        return output


def in_steps(**steps: Function) -> Function:
    """Override steps of the layer."""
    return type("AdditiveAttention", (Layer,), steps)


task.solution("it is the book's own.", name="the package")(attnbook.AdditiveAttention)
task.solution(
    "w_v is a layer as well: its output has a last axis of size 1, which is removed.",
    name="with three layers",
)(in_steps(score=lambda layer, *both: layer.w_v(layer.add(*both).tanh()).squeeze(-1)))


@task.solution("it takes one example after the other, without its padding.")
class example_by_example(Layer):
    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
    ) -> Tensor:
        ends = [keys.shape[1]] * len(keys) if valid_lens is None else valid_lens.tolist()
        averages = [
            self.score(queries[i : i + 1], keys[i : i + 1, :end]).softmax(-1) @ values[i, :end]
            for i, end in enumerate(ends)
        ]
        return torch.cat(averages)


@task.solution("it scores one query after the other, for all keys at once.")
class query_by_query(Layer):
    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        of_keys = self.W_k(keys)
        rows = [
            self.w_v(torch.tanh(of_keys + self.W_q(query))) for query in torch.split(queries, 1, 1)
        ]
        return torch.cat(rows, -1).mT


@task.solution("it sums values times exponentials, and divides by the sum of these exponentials.")
class exponentials_over_their_sum(Layer):
    def attend(self, scores: Tensor, _keys: Tensor, values: Tensor, valid_lens: Lengths) -> Tensor:
        padding = ~visible_keys(valid_lens, scores)
        highest = scores.masked_fill(padding, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
        exponentials = (scores - highest.detach()).masked_fill(padding, -math.inf).exp()
        return exponentials @ values / exponentials.sum(-1, keepdim=True).clamp_min(1e-30)


@task.test
def test_weights_follow_tanh_of_the_sum(layer_of: Function) -> None:
    layer = layer_of(key_size=1, query_size=1, num_hiddens=1)
    # tanh(ln 3) = 4/5 and tanh(ln 3 - ln 3) = 0; w_v makes ln 3 and 0 of them: 3/4 and 1/4.
    matrices = {"W_q.weight": math.log(3), "W_k.weight": 1.0, "w_v.weight": math.log(3) / 0.8}
    layer.load_state_dict({name: torch.tensor([[number]]) for name, number in matrices.items()})
    keys, values = torch.tensor([[[0.0], [-math.log(3)]]]), torch.tensor([[[8.0], [4.0]]])
    assert torch.allclose(layer(torch.ones(1, 1, 1), keys, values), torch.tensor(7.0))


@task.test
def test_two_units_score_twice_as_much(layer_of: Function) -> None:
    layer = layer_of(key_size=1, query_size=1, num_hiddens=2)
    # Two units, each contributing ln 3 / 2 to the first key: ln 3 and 0, so 3/4 and 1/4 again.
    ones, w_v = torch.ones(2, 1), torch.full((1, 2), math.log(3) / 2)
    layer.load_state_dict({"W_q.weight": ones, "W_k.weight": ones, "w_v.weight": w_v})
    keys, values = torch.tensor([[[99.0], [0.0]]]), torch.tensor([[[8.0], [4.0]]])
    assert torch.allclose(layer(torch.zeros(1, 1, 1), keys, values), torch.tensor(7.0))


@task.test
def test_padding_changes_nothing(layer_of: Function) -> None:
    layer = layer_of(key_size=2, query_size=2, num_hiddens=8)
    queries, keys, values = normal(2, 3, 2), normal(2, 5, 2), normal(2, 5, 11)
    alone = layer(queries, keys[:, :2], values[:, :2])
    assert torch.allclose(layer(queries, keys, values, lengths(2, 2)), alone, atol=1e-5)


@task.test
def test_a_query_on_its_own_gets_the_same_output_as_in_a_batch(layer_of: Function) -> None:
    layer = layer_of(key_size=7, query_size=3, num_hiddens=13)  # not the book's 2, 2 and 8
    queries, keys, values = normal(2, 3, 3), normal(2, 5, 7), normal(2, 5, 11)
    alone = layer(queries[:, :1], keys, values)
    assert torch.allclose(alone, layer(queries, keys, values)[:, :1], atol=1e-5)


@task.test
def test_a_fully_masked_example_gets_zeros(layer_of: Function) -> None:
    layer = layer_of(key_size=2, query_size=2, num_hiddens=8)
    queries = normal(2, 3, 2).requires_grad_()
    output = layer(queries, normal(2, 5, 2), normal(2, 5, 11), lengths(0, 5))
    assert (output[0] == 0).all()
    assert (output[1] != 0).all()
    (flow,) = torch.autograd.grad(output.sum(), queries)
    assert flow.isfinite().all()


@task.test
def test_double_precision_is_not_lost(layer_of: Function) -> None:
    layer = layer_of(key_size=1, query_size=1, num_hiddens=1).double()
    layer.load_state_dict({name: torch.ones(1, 1) for name in layer.state_dict()})
    keys, values = torch.tensor([[[0], [1e-9]]]).double(), torch.tensor([[[-1.0], [1]]]).double()
    assert layer(torch.zeros(1, 1, 1).double(), keys, values) > 1e-10
    layer.load_state_dict({name: torch.full((1, 1), 1000.0) for name in layer.state_dict()})
    assert layer(torch.ones(1, 1, 1).double(), keys, values) == 0  # two scores of 1000


task.bug(
    "no tanh",
    "w_v is applied to the plain sum of W_q q and W_k k, without `tanh`.",
    symptom="Two different queries give the same weights.",
    origin="the book's own first draft",
    fix="put `torch.tanh` around the sum: without it, the query's term adds the same number to "
    "each score of its row, and the softmax cancels this.",
)(in_steps(score=lambda layer, *both: layer.add(*both) @ layer.w_v.weight[0]))

task.bug(
    "matrices swapped",
    "W_k is applied to the queries and W_q to the keys: it runs only if their sizes are equal.",
    symptom="It trained well until queries and keys had different sizes; now it crashes.",
    origin="the book's own first draft",
    fix="W_q belongs to the queries, W_k to the keys.",
)(in_steps(project=lambda layer, queries, keys: (layer.W_k(queries), layer.W_q(keys))))

task.bug(
    "one matrix for both",
    "W_k is applied to both queries and keys, and W_q is never used.",
    symptom="One of the three matrices never gets a gradient.",
    fix="apply W_q to the queries.",
)(in_steps(project=lambda layer, queries, keys: (layer.W_k(queries), layer.W_k(keys))))

task.bug(
    "divided by the root",
    "the scores are divided by √num_hiddens, as those of the dot product would be.",
    symptom="All weights are nearly equal; with more hidden units, they differ even less.",
    fix="leave the scores as they are: only a dot product is divided by a root.",
)(in_steps(score=lambda layer, *both: Layer.score(layer, *both) / layer.w_v.in_features**0.5))

task.bug(
    "eight hidden units",
    "a matrix is made for 8 hidden units, whatever `num_hiddens` is.",
    symptom="It works in the book's example; with 16 hidden units it crashes.",
    origin="the book's own first draft",
    fix="write `num_hiddens` instead of 8: `nn.Linear(num_hiddens, 1, bias=False)`.",
)(in_steps(sizes=lambda _layer, key_size, query_size, _hiddens: (key_size, query_size, 8)))

task.bug(
    "two numbers each",
    "`W_q` or `W_k` takes vectors of 2 numbers, whatever `query_size` and `key_size` are.",
    symptom="It works in the book's example; with longer keys it crashes.",
    origin="the book's own first draft",
    fix="write `nn.Linear(key_size, …)` and `nn.Linear(query_size, …)`.",
)(in_steps(sizes=lambda _layer, _key_size, _query_size, num_hiddens: (2, 2, num_hiddens)))

task.bug(
    "sizes swapped",
    "`W_k` is made for vectors of query_size numbers, and `W_q` for those of key_size numbers.",
    symptom="It works while queries and keys have the same size, and crashes otherwise.",
    fix="W_k takes `key_size` numbers and W_q takes `query_size`.",
)(in_steps(sizes=lambda _layer, key_size, query_size, hiddens: (query_size, key_size, hiddens)))

task.bug(
    "every axis of one goes",
    "`squeeze()` is called without an axis: it also removes the queries' axis if its size is 1.",
    symptom="It works in training; a single query, as in decoding, gives a wrong shape.",
    fix="name the axis to remove: `scores.squeeze(-1)`.",
)(in_steps(score=lambda layer, *both: layer.w_v(layer.add(*both).tanh()).squeeze()))

task.inherit(
    lambda **steps: in_steps(**{name: staticmethod(step) for name, step in steps.items()}),
    *(mistakes.weighing, mistakes.hiding, mistakes.masking, mistakes.pooling),
    without=(*mistakes.OF_HEADS, *mistakes.OF_ROWS, "filled with minus ten thousand"),
)
