"""What is asked by the task additive-layer, and its cases."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from attnbook.practice.inputs import lengths, normal
from attnbook.practice.task import Function, Task


def _as_function(written: Function) -> Function:
    """Make a layer, give it the case's matrices, and call it."""

    def called(  # noqa: PLR0913, PLR0917 - what a layer and its call take
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None,
        W_q: Tensor,
        W_k: Tensor,
        w_v: Tensor,
    ) -> Tensor:
        if isinstance(written, nn.Module):
            raise TypeError("this is a layer already: hand over its class, AdditiveAttention")
        layer = written(W_k.shape[1], W_q.shape[1], w_v.shape[1])
        layer.to(w_v.dtype)
        compiled = hasattr(layer, "_orig_mod")
        weights = {"W_q.weight": W_q, "W_k.weight": W_k, "w_v.weight": w_v}
        inner: nn.Module = layer.get_submodule("_orig_mod") if compiled else layer
        _check_weights(inner, weights)
        prefix = "_orig_mod." if compiled else ""
        state = {f"{prefix}{name}": weight for name, weight in weights.items()}
        lens = [] if valid_lens is None else [valid_lens]
        with torch.no_grad():  # what is kept of an earlier call must not matter
            functional_call(layer, state, (queries, keys.flip(1), values, *lens))
        output: Tensor = functional_call(layer, state, (queries, keys, values, *lens))
        return output

    return called


def _check_weights(layer: nn.Module, weights: dict[str, Tensor]) -> None:
    found = {name: tuple(weight.shape) for name, weight in layer.state_dict().items()}
    if found.keys() != weights.keys():
        raise ValueError(
            "check puts numbers of its own into W_q, W_k and w_v, each an nn.Linear without bias; "
            f"this layer has {', '.join(found) or 'none'}"
        )
    for name, weight in weights.items():
        if found[name] != weight.shape:
            raise ValueError(
                "a matrix does not fit key_size, query_size and num_hiddens: "
                f"{name} has shape {found[name]}, expected was {tuple(weight.shape)}"
            )


task = Task(
    name="additive-layer",
    statement=(
        "Write a class `AdditiveAttention(key_size, query_size, num_hiddens)`, an `nn.Module` with "
        "three `nn.Linear` without bias: `W_q` makes num_hiddens numbers of a query, `W_k` of a "
        "key, and `w_v` makes 1 of num_hiddens. `layer(queries, keys, values, valid_lens=None)` "
        "scores by w_v tanh(W_q q + W_k k), takes the softmax over the keys, and averages the "
        "values: queries (batch, num_queries, query_size), keys (batch, num_keys, key_size), "
        "values (batch, num_keys, value_size), output (batch, num_queries, value_size). "
        "`valid_lens`, (batch,), says how many keys from the first may be seen; None means all; "
        "a row that sees nothing gives zeros. There is no dropout, and no other "
        "parameter or buffer. It is called with matrices that `load_state_dict` has put in."
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


def _inputs(
    sizes: tuple[int, int, int],
    valid_lens: Tensor | None,
    numbers: tuple[int, int, int] = (2, 3, 5),
    value_size: int = 11,
) -> tuple[Tensor | None, ...]:
    (query_size, key_size, num_hiddens), (batch, num_queries, num_keys) = sizes, numbers
    return (
        normal(batch, num_queries, query_size),
        normal(batch, num_keys, key_size, seed=1),
        normal(batch, num_keys, value_size, seed=2),
        valid_lens,
        normal(num_hiddens, query_size, seed=3),
        normal(num_hiddens, key_size, seed=4),
        normal(1, num_hiddens, seed=5),
    )


Inputs = tuple[Tensor | None, ...]


@task.case("queries and keys of 2 numbers, 8 hidden units, no lengths")
def _() -> Inputs:
    return _inputs((2, 2, 8), None)


@task.case("a length for each example")
def _() -> Inputs:
    return _inputs((2, 2, 8), lengths(4, 2))


@task.case("an example that may see nothing")
def _() -> Inputs:
    return _inputs((2, 2, 8), lengths(0, 4))


@task.case("16 hidden units")
def _() -> Inputs:
    return _inputs((2, 2, 16), lengths(4, 2))


@task.case("queries and keys of 3 numbers")
def _() -> Inputs:
    return _inputs((3, 3, 8), lengths(4, 2))


@task.case("queries longer than keys")
def _() -> Inputs:
    return _inputs((7, 2, 8), lengths(4, 2))


@task.case("keys longer than queries")
def _() -> Inputs:
    return _inputs((3, 7, 13), lengths(4, 2))


@task.case("all sizes are 3")
def _() -> Inputs:
    return _inputs((3, 3, 3), lengths(3, 1, 2), (3, 3, 3), 3)


@task.case("one query")
def _() -> Inputs:
    return _inputs((3, 7, 13), lengths(4, 2), (2, 1, 5))


@task.case("one example, one query and one key")
def _() -> Inputs:
    return _inputs((3, 7, 13), lengths(1), (1, 1, 1))


@task.case("half precision")
def _() -> Inputs:
    return tuple(
        each.half() if each is not None and each.is_floating_point() else each
        for each in _inputs((3, 7, 5), lengths(4, 2))
    )


@task.case("double precision")
def _() -> Inputs:
    return tuple(
        each.double() if each is not None and each.is_floating_point() else each
        for each in _inputs((3, 7, 13), lengths(4, 2))
    )


@task.case("scores of hundreds, far apart from query to query", gradients=False)
def _() -> Inputs:
    *first, matrix_q, matrix_k, vector = _inputs((3, 7, 13), lengths(4, 2))
    assert vector is not None  # for the type checker
    assert matrix_k is not None
    return *first, matrix_q, matrix_k / 1000, 100 * vector


@task.case("6 examples of 9 queries, 131 keys, 9 hidden units")
def _() -> Inputs:
    return _inputs((5, 8, 9), lengths(131, 1, 0, 65, 129, 130), (6, 9, 131))
