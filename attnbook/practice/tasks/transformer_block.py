"""The Transformer block: attention, then a feed-forward, each normed before and added after."""

from __future__ import annotations

from collections.abc import Callable

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


class Block(nn.Module):
    """What the blocks below have in common: each says something else, right or wrong."""

    def __init__(
        self,
        attention: nn.Module,
        attention_norm: nn.Module,
        feed_forward: nn.Module,
        feed_forward_norm: nn.Module,
    ) -> None:
        super().__init__()
        self.attention, self.attention_norm = attention, attention_norm
        self.feed_forward, self.feed_forward_norm = feed_forward, feed_forward_norm

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attend(self.attention_norm(x), valid_lens)
        return x + self.think(self.feed_forward_norm(x))

    def attend(self, x: Tensor, valid_lens: Tensor | None) -> Tensor:
        attended: Tensor = self.attention(x, x, x, valid_lens)
        return attended

    def think(self, x: Tensor) -> Tensor:
        output: Tensor = self.feed_forward(x)
        return output


@task.right("two lines, one for each step: the norm, the module, the sum.")
class in_two_lines(Block):
    pass


@task.right("the residual and what is added are kept apart, and the three meet at the end.")
class summed_at_the_end(Block):
    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        normed = self.attention_norm(x)
        attended = self.attention(normed, normed, normed, valid_lens)
        output: Tensor = x + attended + self.feed_forward(self.feed_forward_norm(x + attended))
        return output


@task.right("the caller's tensor is cloned first, and the clone may be written into.")
class into_a_clone(Block):
    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        stream = x.clone()
        stream += self.attend(self.attention_norm(x), valid_lens)
        added = self.think(self.feed_forward_norm(stream))
        return stream.add(added)


class _AddedTo(nn.Module):
    def __init__(self, norm: nn.Module, step: nn.Module) -> None:
        super().__init__()
        self.norm, self.step = norm, step

    def forward(self, x: Tensor, called: Callable[[nn.Module, Tensor], Tensor]) -> Tensor:
        return x + called(self.step, self.norm(x))


@task.right("a residual with its norm is a module, too, and a block is two of them.")
class two_residuals(nn.Module):
    def __init__(
        self,
        attention: nn.Module,
        attention_norm: nn.Module,
        feed_forward: nn.Module,
        feed_forward_norm: nn.Module,
    ) -> None:
        super().__init__()
        steps = _AddedTo(attention_norm, attention), _AddedTo(feed_forward_norm, feed_forward)
        self.steps = nn.ModuleList(steps)

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        for step, extra in zip(self.steps, ([valid_lens], None), strict=True):
            x = step(x, lambda it, n, more=extra: it(n, n, n, *more) if more else it(n))
        return x


@task.right("examples do not meet, so that each can go through by itself.")
class example_by_example(Block):
    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        outputs = []
        for i in range(len(x)):
            mine = slice(i, i + 1)
            of_it = None if valid_lens is None else valid_lens[mine]
            outputs.append(super().forward(x[mine], of_it))
        return torch.cat(outputs)


class _Does(nn.Module):
    """A part that does what a function does."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.does = function

    def forward(self, *given: Tensor) -> Tensor:
        output: Tensor = self.does(*given)
        return output


def _make(block_of: Function, **parts: Function) -> Function:
    """A block of parts that change nothing, attention and feed-forward that give 0, or others."""
    same: dict[str, Function] = {
        "attention": lambda q, _k, _v, _lens=None: 0 * q,
        "attention_norm": lambda x: x,
        "feed_forward": lambda x: 0 * x,
        "feed_forward_norm": lambda x: x,
    }
    made: Function = block_of(*(_Does(part) for part in {**same, **parts}.values()))
    return made


@task.test
def test_one_number_by_hand(block_of: Function) -> None:
    block = _make(
        block_of,
        attention_norm=lambda x: x + 1,
        attention=lambda q, k, v, _lens=None: q + 10 * k + 100 * v,
        feed_forward_norm=lambda x: 3 * x,
        feed_forward=lambda x: 2 * x,
    )
    # 1 is normed to 2; attention gives 222, and 223 goes on; it is normed to 669, which gives 1338.
    assert block(torch.ones(1, 1, 1)).tolist() == [[[1561]]]


@task.test
def test_parts_that_give_nothing_change_nothing(block_of: Function) -> None:
    x = normal(2, 3, 5)
    norm = nn.LayerNorm(5)
    block = _make(block_of, attention_norm=norm, feed_forward_norm=norm)
    assert torch.equal(block(x), x)


@task.test
def test_lengths_reach_the_attention_in_training_and_in_eval(block_of: Function) -> None:
    block = _make(block_of, attention=lambda q, _k, _v, lens: 0 * q + lens[:, None, None])
    for made in (block.train(), block.eval()):  # type: ignore[attr-defined]
        output = made(torch.zeros(2, 3, 5), lengths(1, 2))
        assert output[:, 0, 0].tolist() == [1, 2]


@task.test
def test_positions_attend_and_each_is_normed_by_itself(block_of: Function) -> None:
    x = torch.tensor([[[1.0, 3], [5, 9]], [[0, 2], [2, 8]]])
    block = _make(
        block_of,
        attention_norm=lambda x: x - x.mean(-1, keepdim=True),  # (-1, 1), (-2, 2), (-1, 1), (-3, 3)
        attention=lambda _q, _k, v, _lens=None: v.mean(1, keepdim=True),
    )
    assert torch.equal(block(x) - x, torch.tensor([[[-1.5, 1.5]] * 2, [[-2.0, 2.0]] * 2]))


@task.test
def test_a_call_changes_nothing_and_all_parts_can_be_trained(block_of: Function) -> None:
    x = normal(2, 3, 5)
    before = x.clone()
    block = block_of(_Does(lambda q, *_: q), nn.LayerNorm(5), nn.Linear(5, 5), nn.LayerNorm(5))
    block(x)
    assert torch.equal(x, before)
    assert len([*block.parameters()]) == 6
