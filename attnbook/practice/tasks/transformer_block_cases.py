"""The task of the Transformer block, and its cases."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import attnbook
from attnbook.practice.inputs import lengths, normal
from attnbook.practice.task import Function, Law, Task

HEADS, HIDDENS, INNER = 2, 14, 22


def made_parts(x: Tensor, silent: bool) -> tuple[nn.Module, ...]:
    """Attention, its norm, a feed-forward and its norm: the same each time, of the type of x."""
    size = x.shape[-1]
    attention = attnbook.MultiHeadAttention(size, size, size, size, HEADS)
    feed_forward = nn.Sequential(nn.Linear(size, INNER), nn.ReLU(), nn.Linear(INNER, size))
    parts = attention, nn.LayerNorm(size), feed_forward, nn.LayerNorm(size)
    with torch.no_grad():
        for number, weight in enumerate(weight for part in parts for weight in part.parameters()):
            weight.copy_(0.5 * normal(*weight.shape, seed=number + 1))
        for last in (attention.W_o, feed_forward[-1]) if silent else ():
            for weight in last.parameters():
                weight.zero_()
    return tuple(part.to(x.dtype) for part in parts)


def _as_function(written: Function) -> Function:
    """Make a block of parts, and call it."""

    def called(
        x: Tensor, valid_lens: Tensor | None = None, training: bool = False
    ) -> tuple[Tensor, Tensor, Tensor] | None:
        if isinstance(written, nn.Module):
            raise TypeError("this is a block already: hand over its class, TransformerBlock")
        silent, block = (written(*made_parts(x, silent)) for silent in (True, False))
        if not isinstance(block, nn.Module):
            raise TypeError(f"TransformerBlock(…) must give an nn.Module, not {type(block)}")
        lens = [] if valid_lens is None else [valid_lens]
        unchanged, output = (each.train(training)(x, *lens) for each in (silent, block))
        if output is None:
            return None
        return unchanged, output, torch.tensor(sum(it.numel() for it in block.parameters()))

    return called


def _what_adds_nothing_changes_nothing(
    unchanged: Tensor, _output: Tensor, _count: Tensor, x: Tensor, *_: object
) -> bool:
    return torch.equal(unchanged, x)


def _all_parts_are_its_own(
    _unchanged: Tensor, _output: Tensor, count: Tensor, x: Tensor, *_: object
) -> bool:
    parts = made_parts(x, silent=False)
    return int(count) >= sum(weight.numel() for part in parts for weight in part.parameters())


task = Task(
    name="transformer-block",
    statement=(
        "Write a class `TransformerBlock(attention, attention_norm, feed_forward, "
        "feed_forward_norm)`, an `nn.Module`: the pre-norm block of a Transformer, made of four "
        "modules that are handed over. `block(x, valid_lens=None)` takes `x`, (batch, "
        "num_positions, num_hiddens), and gives as much. First the positions attend to one "
        "another: `attention(queries, keys, values, valid_lens)` gets the normed `x` three times, "
        "and what it gives is added to `x`. Then each position is worked on by itself: "
        "`feed_forward` gets the norm of that sum, and what it gives is added to that sum. Each "
        "step has a norm of its own, which works on the last axis; what is added to is never "
        "normed. `valid_lens` goes to the attention as it came, in training and in eval. The "
        "parameters of the four are the block's parameters, too, and the caller's `x` stays as "
        "it was."
    ),
    starter=(
        "class TransformerBlock(nn.Module):\n"
        "    def __init__(self, attention, attention_norm, feed_forward, feed_forward_norm):\n"
        "        super().__init__()\n"
        "        ...\n\n"
        "    def forward(self, x, valid_lens=None):\n"
        "        ..."
    ),
    outputs=(
        "the output of a block whose attention and feed-forward give 0",
        "the output",
        "the count of its parameters",
    ),
    laws=(
        Law(
            "Where attention and feed-forward give 0, the block should give back `x` itself, "
            "and it does not.",
            _what_adds_nothing_changes_nothing,
        ),
        Law(
            "Some parameters of the four modules are not among the block's own, and would never "
            "be trained: `nn.Module` knows what is kept as an attribute, and looks into no list.",
            _all_parts_are_its_own,
        ),
    ),
    as_function=_as_function,
)

Given = tuple[Tensor] | tuple[Tensor, Tensor] | tuple[Tensor, Tensor, bool]


@task.case("no lengths")
def _() -> Given:
    return (normal(2, 3, HIDDENS),)


@task.case("training, with a length for each example")
def _() -> Given:
    return normal(2, 3, HIDDENS), lengths(1, 2), True


@task.case("eval, with a length for each example")
def _() -> Given:
    return normal(2, 3, HIDDENS), lengths(1, 2)


@task.case("a length for each query")
def _() -> Given:
    return normal(2, 3, HIDDENS), lengths([1, 2, 3], [2, 2, 1])


@task.case("as many positions as numbers in each vector")
def _() -> Given:
    return normal(2, HIDDENS, HIDDENS), lengths(5, 11)


@task.case("as many examples as positions")
def _() -> Given:
    return normal(3, 3, HIDDENS), lengths(3, 1, 2)


@task.case("one position")
def _() -> Given:
    return normal(2, 1, HIDDENS), lengths(1, 1)


@task.case("an example that may see nothing")
def _() -> Given:
    return normal(2, 3, HIDDENS), lengths(0, 2)


@task.case("numbers around 100")
def _() -> Given:
    return 100 + 10 * normal(2, 3, HIDDENS), lengths(3, 2)


@task.case("half precision")
def _() -> Given:
    return normal(2, 3, HIDDENS).half(), lengths(1, 2)


@task.case("double precision")
def _() -> Given:
    return normal(2, 3, HIDDENS).double(), lengths(1, 2)


@task.case("6 examples of 70 positions")
def _() -> Given:
    return normal(6, 70, HIDDENS), lengths(70, 1, 0, 33, 65, 69)
