"""What is asked by the task decoding-step, and its cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.practice.inputs import lengths, normal
from attnbook.practice.task import Law, Task, rows_sum_to_one

Two = tuple[Tensor, Tensor]


Cell = Callable[[Tensor, Tensor], Tensor]


class Step(NamedTuple):
    """The arguments."""

    token: Tensor
    state: Tensor
    memory: Tensor
    valid_lens: Tensor
    W_q: Tensor
    W_k: Tensor
    w_v: Tensor
    cell: Cell


def _rows_sum_to_one(_state: Tensor, weights: Tensor, *_: object) -> bool:
    return rows_sum_to_one(weights)


def _padding_weighs_nothing(_state: Tensor, weights: Tensor, *arguments: Tensor) -> bool:
    padding = torch.arange(weights.shape[1]) >= arguments[3][:, None]
    return bool((weights[padding] == 0).all())


_NO_NUMBERS = ("valid_lens", "cell")


task = Task(
    name="decoding-step",
    statement=(
        "Write `decoding_step(token, state, memory, valid_lens, W_q, W_k, w_v, cell)`. The old "
        "`state`, (batch, state_size), is the query; `memory`, (batch, num_keys, memory_size), "
        "holds keys and values in one. The scores are `w_v · tanh(W_q state + W_k key)`, where "
        "`W_q` is (num_hiddens, state_size), `W_k` (num_hiddens, memory_size) and `w_v` "
        "(num_hiddens,). Their softmax over the first `valid_lens`, (batch,), keys gives the "
        "weights, (batch, num_keys), 0 at padding; with a length of 0 all are 0. The context is "
        "the weighted sum of memory. `cell(inputs, state)` gives the new state, as `nn.GRUCell` "
        "does, from `token`, (batch, token_size), joined by the context, in this "
        "order, and the old state. Return `(new_state, weights)`."
    ),
    starter="def decoding_step(token, state, memory, valid_lens, W_q, W_k, w_v, cell):\n    ...",
    outputs=("the new state", "the weights"),
    laws=(
        Law("The weights of some padding are not exactly 0.", _padding_weighs_nothing),
        Law("Some row of weights does not sum to 1.", _rows_sum_to_one),
    ),
)


def _step(
    valid_lens: Tensor, token_size: int, state_size: int, keys: tuple[int, int], num_hiddens: int
) -> Step:
    """Numbers for all arguments."""
    batch, (num_keys, memory_size) = len(valid_lens), keys
    inputs = token_size + memory_size
    new, old = normal(inputs, state_size, seed=1), normal(inputs + state_size, state_size, seed=2)

    def cell(inputs: Tensor, state: Tensor) -> Tensor:
        """Do what a GRU does, with fewer gates."""
        gate = torch.sigmoid(torch.cat([inputs, state], dim=1) @ old.to(inputs.dtype))
        return gate * state + (1 - gate) * torch.tanh(inputs @ new.to(inputs.dtype))

    return Step(
        normal(batch, token_size, seed=3),
        normal(batch, state_size, seed=4),
        normal(batch, num_keys, memory_size, seed=5),
        valid_lens,
        normal(num_hiddens, state_size, seed=6),
        normal(num_hiddens, memory_size, seed=7),
        normal(num_hiddens, seed=8),
        cell,
    )


def _of_type(step: Step, dtype: torch.dtype) -> Step:
    numbers = {name: part for name, part in step._asdict().items() if name not in _NO_NUMBERS}
    return step._replace(**{name: part.to(dtype) for name, part in numbers.items()})


@task.case("vectors of one size, and no padding")
def _() -> Step:
    return _step(lengths(3, 3), 5, 5, (3, 5), 5)


@task.case("different sizes, with padding")
def _() -> Step:
    return _step(lengths(4, 7), 5, 3, (7, 2), 11)


@task.case("one text and one key")
def _() -> Step:
    return _step(lengths(1), 2, 3, (1, 5), 7)


@task.case("a text of length 0")
def _() -> Step:
    return _step(lengths(0, 2, 3), 2, 7, (3, 5), 11)


@task.case("scores of thousands")
def _() -> Step:
    step = _step(lengths(2, 3), 5, 2, (3, 5), 7)
    return step._replace(w_v=5000 * step.w_v)


@task.case("memory of 1e30 at padding")
def _() -> Step:
    step = _step(lengths(2, 3), 5, 2, (3, 5), 7)
    step.memory[0, 2] = 1e30
    return step


@task.case("half precision")
def _() -> Step:
    return _of_type(_step(lengths(2, 3), 2, 3, (3, 5), 7), torch.float16)


@task.case("double precision")
def _() -> Step:
    return _of_type(_step(lengths(2, 3), 2, 3, (3, 5), 7), torch.float64)


@task.case("two texts and one key")
def _() -> Step:
    return _step(lengths(1, 1), 2, 3, (1, 5), 7)


@task.case("two texts whose scores are thousands apart", gradients=False)
def _() -> Step:
    step = _step(lengths(3, 2), 5, 2, (3, 5), 7)
    states = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    return step._replace(
        state=states, W_q=torch.full((7, 2), 0.25), W_k=step.W_k / 1000, w_v=300 * step.w_v.abs()
    )


@task.case("6 texts, 131 keys, 70 hidden units")
def _() -> Step:
    return _step(lengths(131, 1, 0, 65, 129, 130), 9, 11, (131, 10), 70)
