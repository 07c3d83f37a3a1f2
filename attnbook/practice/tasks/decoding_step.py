"""One step of Bahdanau's decoder."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

import attnbook
from attnbook.practice.inputs import lengths, normal
from attnbook.practice.task import Function, Law, Task, rows_sum_to_one

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


@task.right("it is the book's own score, softmax and pooling.")
def the_package(  # noqa: PLR0913, PLR0917
    token: Tensor,
    state: Tensor,
    memory: Tensor,
    valid_lens: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    w_v: Tensor,
    cell: Cell,
) -> Two:
    scores = attnbook.additive_score((state @ W_q.T)[:, None], memory @ W_k.T, w_v)
    weights = attnbook.masked_softmax(scores, valid_lens)
    context = attnbook.pool(weights, memory)[:, 0]
    return cell(torch.cat([token, context], dim=-1), state), weights[:, 0]


def of_arguments(of_a_step: Callable[[Step], Two]) -> Function:
    """Make a function of the eight arguments out of one that takes them by their names."""

    def written(  # noqa: PLR0913, PLR0917 - the statement's
        token: Tensor,
        state: Tensor,
        memory: Tensor,
        valid_lens: Tensor,
        W_q: Tensor,
        W_k: Tensor,
        w_v: Tensor,
        cell: Cell,
    ) -> Two:
        return of_a_step(Step(token, state, memory, valid_lens, W_q, W_k, w_v, cell))

    written.__name__, written.__doc__ = of_a_step.__name__, of_a_step.__doc__
    return written


@task.right("it asks each text by itself, and its real keys only.")
@of_arguments
def text_by_text(step: Step) -> Two:
    weights = torch.zeros_like(step.memory[:, :, 0])
    contexts = []
    for text in range(len(step.memory)):
        real = step.memory[text, : int(step.valid_lens[text])]
        query = step.W_q @ step.state[text]
        scores = torch.tanh(query + F.linear(real, step.W_k)) @ step.w_v
        shares = scores.softmax(0)
        weights[text, : len(real)] = shares
        contexts.append(shares @ real)
    new_state = step.cell(torch.hstack([step.token, torch.stack(contexts)]), step.state)
    return new_state, weights


@task.right("-inf is below every score; where there is nothing else, 0 takes the weights' place.")
@of_arguments
def by_einsum(step: Step) -> Two:
    query = torch.einsum("bs,hs->bh", step.state, step.W_q)
    key = torch.einsum("bkm,hm->bkh", step.memory, step.W_k)
    scores = torch.einsum("bkh,h->bk", torch.tanh(query.unsqueeze(1) + key), step.w_v)
    padding = torch.arange(scores.shape[1]) >= step.valid_lens.unsqueeze(1)
    empty = (step.valid_lens == 0).unsqueeze(1)
    weights = scores.masked_fill(padding & ~empty, -math.inf).softmax(1).masked_fill(empty, 0)
    context = torch.einsum("bk,bkm->bm", weights, step.memory)
    return step.cell(torch.cat([step.token, context], 1), step.state), weights


@task.right("tanh is a logistic function, and the softmax is powers of e over their sum.")
@of_arguments
def by_the_formulas(step: Step) -> Two:
    both = torch.cat([step.state[:, None].expand(-1, step.memory.shape[1], -1), step.memory], -1)
    hidden = 2 * torch.sigmoid(2 * (both @ torch.cat([step.W_q, step.W_k], 1).T)) - 1
    scores = (hidden * step.w_v).sum(-1)
    real = torch.arange(scores.shape[1]) < step.valid_lens[:, None]
    low = torch.finfo(scores.dtype).min
    highest = torch.where(real, scores, low).amax(1, keepdim=True).detach()
    powers = torch.where(real, scores - highest, low).exp() * real
    weights = powers / powers.sum(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
    context = (weights[..., None] * step.memory).sum(1)
    return step.cell(torch.cat([step.token, context], 1), step.state), weights


def _by_hand(**changed: Tensor) -> Step:
    """Make a step whose scores are 0, and whose cell shows what it was given."""
    step = Step(
        torch.tensor([[7.0]]),
        torch.tensor([[0.5]]),
        torch.tensor([[[2.0, 0], [0, 4], [9, 9]]]),
        torch.tensor([2]),
        torch.zeros(1, 1),
        torch.zeros(1, 2),
        torch.ones(1),
        lambda inputs, state: torch.cat([inputs, state], dim=1),
    )
    return step._replace(**changed)  # type: ignore[arg-type]


@task.test
def test_two_equal_scores_share_the_weight_and_padding_has_none(decoding_step: Function) -> None:
    _, weights = decoding_step(*_by_hand())
    assert weights.tolist() == [[0.5, 0.5, 0]]


@task.test
def test_the_cell_gets_token_then_context_and_the_old_state(decoding_step: Function) -> None:
    new_state, _ = decoding_step(*_by_hand())
    assert new_state.tolist() == [[7, 1, 2, 0.5]]


@task.test
def test_the_state_asks_and_each_key_answers(decoding_step: Function) -> None:
    # tanh(1.5 - 0.5) = 0.7616 against tanh(0.5 - 0.5) = 0: a weight of 1 / (1 + e^-0.7616).
    W_q, W_k = torch.tensor([[-1.0]]), torch.tensor([[0.75, 0.125]])
    _, weights = decoding_step(*_by_hand(W_q=W_q, W_k=W_k))
    assert torch.allclose(weights, torch.tensor([[0.6817, 0.3183, 0]]), atol=1e-4)


@task.test
def test_the_weights_pool_the_context(decoding_step: Function) -> None:
    step = _by_hand(W_q=torch.tensor([[1.0]]), W_k=torch.tensor([[-1.0, 2]]))
    new_state, weights = decoding_step(*step)
    assert torch.allclose(new_state[0, 1:3], weights[0] @ step.memory[0])


@task.test
def test_state_and_memory_of_equal_sizes_have_projections_of_their_own(
    decoding_step: Function,
) -> None:
    memory, zero = torch.tensor([[[1.0], [2]]]), torch.zeros(1, 1)
    step = _by_hand(memory=memory, W_q=torch.ones(1, 1), W_k=zero)
    assert decoding_step(*step)[1].tolist() == [[0.5, 0.5]]


@task.test
def test_a_text_without_keys_has_no_weights(decoding_step: Function) -> None:
    new_state, weights = decoding_step(*_by_hand(valid_lens=torch.tensor([0])))
    assert weights.tolist() == [[0, 0, 0]]
    assert new_state.tolist() == [[7, 0, 0, 0.5]]
