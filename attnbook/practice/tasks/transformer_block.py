"""The Transformer block: attention, then a feed-forward, each normed before and added after."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

import attnbook
from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.task import Function, Law, Task

HEADS, HIDDENS, INNER = 2, 14, 22


def make_parts(x: Tensor, silent: bool) -> tuple[nn.Module, ...]:
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
            raise TypeError("got an instance of a block: pass the class, TransformerBlock")
        parts = make_parts(x, silent=False)
        silent, block = written(*make_parts(x, silent=True)), written(*parts)
        if not isinstance(block, nn.Module):
            raise TypeError(f"TransformerBlock(…) must give an nn.Module, not {type(block)}")
        lens = [] if valid_lens is None else [valid_lens]
        with torch.no_grad():  # state from an earlier call must not matter
            block.train(training)(*(each.flip(0) for each in (x, *lens)))
        unchanged, output = silent.train(training)(x, *lens), block(x, *lens)
        if output is None:
            return None
        if any(module.training != training for module in block.modules()):
            raise RuntimeError("`forward` changes the mode: leave out `train()` and `eval()`")
        own = {id(weight): weight.numel() for weight in block.parameters()}
        missing = sum(
            weight.numel()
            for part in parts
            for weight in part.parameters()
            if id(weight) not in own
        )
        return unchanged, output, torch.tensor(sum(own.values()) - missing)

    return called


def _parts_that_give_zeros_change_nothing(
    unchanged: Tensor, _output: Tensor, _count: Tensor, x: Tensor, *_: object
) -> bool:
    return torch.equal(unchanged, x)


def _all_parts_are_its_own(
    _unchanged: Tensor, _output: Tensor, count: Tensor, x: Tensor, *_: object
) -> bool:
    parts = make_parts(x, silent=False)
    return int(count) >= sum(weight.numel() for part in parts for weight in part.parameters())


task = Task(
    name="transformer-block",
    statement=(
        "Write a class `TransformerBlock(attention, attention_norm, feed_forward, "
        "feed_forward_norm)`, an `nn.Module`: the pre-norm block of a Transformer, made of these "
        "four modules. `block(x, valid_lens=None)` takes `x`, (batch, num_positions, num_hiddens), "
        "and returns a tensor of the same shape. First the positions attend to one another: "
        "`attention(queries, keys, values, valid_lens)` gets the normalised `x` three times, and "
        "its output is added to `x`. Then each position is processed separately: `feed_forward` "
        "gets the normalised sum, and its output is added to the sum. Each step has its own norm, "
        "which works on the last axis; both additions use the numbers before the norm. "
        "`valid_lens` is passed to the attention unchanged, in training and in evaluation mode. "
        "The parameters of the four modules are the block's parameters, and it has no others."
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
            "Where attention and feed-forward give 0, the block should return `x` itself, but it "
            "does not.",
            _parts_that_give_zeros_change_nothing,
        ),
        Law(
            "Some parameters of the four modules are not among the block's own, and would never "
            "be trained: `nn.Module` registers attributes, and does not search lists.",
            _all_parts_are_its_own,
        ),
    ),
    as_function=_as_function,
)


task.case("no lengths")(lambda: (normal(2, 3, HIDDENS),))
task.case("training, with a length for each example")(
    lambda: (normal(2, 3, HIDDENS), lengths(1, 2), True)
)
task.case("eval, with a length for each example")(lambda: (normal(2, 3, HIDDENS), lengths(1, 2)))
task.case("a length for each query")(lambda: (normal(2, 3, HIDDENS), lengths([1, 2, 3], [2, 2, 1])))
task.case("as many positions as numbers in each vector")(
    lambda: (normal(2, HIDDENS, HIDDENS), lengths(5, 11))
)
task.case("as many examples as positions")(lambda: (normal(3, 3, HIDDENS), lengths(3, 1, 2)))
task.case("one position")(lambda: (normal(2, 1, HIDDENS), lengths(1, 1)))
task.case("an example that may see nothing")(lambda: (normal(2, 3, HIDDENS), lengths(0, 2)))
task.case("numbers around 100")(lambda: (100 + 10 * normal(2, 3, HIDDENS), lengths(3, 2)))
task.case("half precision")(lambda: (normal(2, 3, HIDDENS).half(), lengths(1, 2)))
task.case("double precision")(lambda: (normal(2, 3, HIDDENS).double(), lengths(1, 2)))
task.case("2 examples of 70 positions")(lambda: (normal(2, 70, HIDDENS), lengths(70, 33)))


def add(part: Function, norm: Function, x: Tensor) -> Tensor:
    """A step of the block: attention or feed-forward."""
    output: Tensor = x + part(norm(x))
    return output


class Block(nn.Module):
    """A correct block, of which a bug changes a step, the call of attention, or the norms."""

    first: Function = staticmethod(add)
    second: Function = staticmethod(add)
    attend: Function = staticmethod(lambda attention, x, lens: attention(x, x, x, lens))
    norms: Function = staticmethod(lambda it: (it.attention_norm, it.feed_forward_norm))

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
        attention_norm, feed_forward_norm = self.norms(self)
        x = self.first(lambda n: self.attend(self.attention, n, valid_lens), attention_norm, x)
        output: Tensor = self.second(self.feed_forward, feed_forward_norm, x)
        return output


def in_steps(**steps: Function) -> Function:
    """Change steps of the block."""
    return type("TransformerBlock", (Block,), {it: staticmethod(steps[it]) for it in steps})


task.solution(
    "two statements, one for each step: the norm, the module, the sum.", name="in two lines"
)(Block)


@task.solution("`x` and the outputs of both steps stay separate, and are summed at the end.")
class summed_at_the_end(Block):
    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        normed = self.attention_norm(x)
        attended = self.attention(normed, normed, normed, valid_lens)
        output: Tensor = x + attended + self.feed_forward(self.feed_forward_norm(x + attended))
        return output


@task.solution("the caller's tensor is cloned first, and only the clone is changed in place.")
class into_a_clone(Block):
    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        stream = x.clone()
        normed = self.attention_norm(x)
        stream += self.attention(normed, normed, normed, valid_lens)
        return stream.add(self.feed_forward(self.feed_forward_norm(stream)))


class _AddedTo(nn.Module):
    def __init__(self, norm: nn.Module, step: nn.Module) -> None:
        super().__init__()
        self.norm, self.step = norm, step

    def forward(self, x: Tensor, called: Callable[[nn.Module, Tensor], Tensor]) -> Tensor:
        return x + called(self.step, self.norm(x))


@task.solution("a step with its norm and its residual is a module; a block is two of them.")
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


class _Part(nn.Module):
    """A part that does what a function does."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.call = function

    def forward(self, *inputs: Tensor) -> Tensor:
        output: Tensor = self.call(*inputs)
        return output


def _make(block_of: Function, **parts: Function) -> Function:
    """A block of parts that change nothing, attention and feed-forward that give 0, or others."""
    same: dict[str, Function] = {
        "attention": lambda q, _k, _v, _lens=None: 0 * q,
        "attention_norm": lambda x: x,
        "feed_forward": lambda x: 0 * x,
        "feed_forward_norm": lambda x: x,
    }
    block: Function = block_of(*(_Part(part) for part in {**same, **parts}.values()))
    return block


@task.test
def test_one_number_by_hand(block_of: Function) -> None:
    block = _make(
        block_of,
        attention_norm=lambda x: x + 1,
        attention=lambda q, k, v, _lens=None: q + 10 * k + 100 * v,
        feed_forward_norm=lambda x: 3 * x,
        feed_forward=lambda x: 2 * x + 1,
    )
    # 1 is normed to 2; attention gives 222, and 223 goes on; it is normed to 669, which gives 1339.
    assert block(torch.ones(1, 1, 1)).tolist() == [[[1562]]]


@task.test
def test_parts_that_give_zeros_change_nothing(block_of: Function) -> None:
    x = normal(2, 3, 5)
    norm = nn.LayerNorm(5)
    block = _make(block_of, attention_norm=norm, feed_forward_norm=norm)
    assert torch.equal(block(x), x)


@task.test
def test_lengths_reach_the_attention_in_training_and_in_eval(block_of: Function) -> None:
    block = _make(block_of, attention=lambda q, _k, _v, lens: 0 * q + lens[:, None, None])
    for each in (block.train(), block.eval()):  # type: ignore[attr-defined]
        output = each(torch.zeros(2, 3, 5), lengths(1, 2))
        assert output[:, 0, 0].tolist() == [1, 2]


@task.test
def test_a_call_changes_nothing_and_all_parts_can_be_trained(block_of: Function) -> None:
    x = normal(2, 3, 5)
    before = x.clone()
    block = block_of(_Part(lambda q, *_: q), nn.LayerNorm(5), nn.Linear(5, 5), nn.LayerNorm(5))
    block(x)
    assert torch.equal(x, before)
    assert len([*block.parameters()]) == 6


def in_both_steps(step: Function) -> Function:
    """Change both steps."""
    return in_steps(first=step, second=step)


# Each mistake is made in both steps, or in one of them: its cause goes on after "in both steps,".
WHERE: dict[str, Function] = {
    "in both steps": in_both_steps,
    "in the first step": lambda step: in_steps(first=step),
    "in the second step": lambda step: in_steps(second=step),
}
residual = Task("residual", "Add a part's output to its input.", "def residual(part, norm, x):")

residual.bug(
    "norm after the sum",
    "the norm comes after the sum (post-norm), but belongs before the part (pre-norm).",
    symptom="Weights of a pre-norm model give nonsense here, and a deep stack hardly learns.",
    origin="torch's default, `norm_first=False`: the order of the paper of 2017",
    fix="normalise the input of each part, `x + part(norm(x))`, and not the sum.",
)(lambda part, norm, x: norm(x + part(x)))

residual.bug(
    "norm after the part",
    "the part's output is normalised before it is added, but its input is not.",
    symptom="The norms limit how much each step can add.",
    origin="Swin Transformer V2, which norms so on purpose",
    fix="normalise the input of each part, `part(norm(x))`, and not its output.",
)(lambda part, norm, x: x + norm(part(x)))

residual.bug(
    "norm left out",
    "attention or feed-forward gets its input as it is, without its norm.",
    symptom="Numbers grow from block to block, and training becomes unstable.",
    origin="a common mistake: the normed numbers are computed and not used",
    fix="pass the normalised numbers on: `x + part(norm(x))`.",
)(lambda part, _norm, x: x + part(x))

residual.bug(
    "residual lost",
    "the output of attention or feed-forward replaces the input instead of being added to it.",
    symptom="In a deep stack the first blocks do not learn, and each position loses its own token.",
    fix="add the output to the input: `x = x + …`, twice.",
)(lambda part, norm, x: part(norm(x)))

residual.bug(
    "added to what was normed",
    "the output is added to the normalised `x`, as when `x = norm(x)` comes first.",
    symptom="It learns, but less well with more blocks: each normalises the sum of all before it.",
    origin="an option of BLOOM, `apply_residual_connection_post_layernorm`; a common mistake",
    fix="give the normalised numbers their own name, and add to `x`, which was not normalised.",
)(lambda part, norm, x: norm(x) + part(norm(x)))

for where, change in WHERE.items():
    for mistake in residual.bugs.values():
        task.bug(
            f"{mistake.name} {where}",
            f"{where}, {mistake.cause}",
            symptom=mistake.symptom,
            origin=mistake.origin,
            fix=mistake.fix,
        )(change(mistake.function))

task.bug(
    "normed once more at the end",
    "the sum is normalised once more before it is returned.",
    symptom="One block works; in a stack, the embeddings do not reach the end unchanged.",
    origin="a common mistake: a stack has such a norm, once, at its end",
    fix="return the sum: the norm at the end belongs to the stack, not to a block.",
)(in_steps(second=lambda part, norm, x: norm(x + part(norm(x)))))

task.bug(
    "normed over the positions",
    "the norms work over the positions, and not over the numbers of one position.",
    symptom="It runs for one length of text, and crashes for others.",
    origin="a common mistake: channels come before positions in code for images",
    fix="normalise the last axis, the numbers of one position: `norm(x)`, without a transpose.",
)(in_both_steps(lambda part, norm, x: x + part(norm(x.mT).mT)))

task.bug(
    "one norm for both",
    "the attention's norm is used a second time, before the feed-forward.",
    symptom="One norm never learns, and trained weights give other outputs here.",
    fix="use `feed_forward_norm` before the feed-forward.",
)(in_steps(norms=lambda block: (block.attention_norm, block.attention_norm)))

task.bug(
    "norms exchanged",
    "each step has the other one's norm.",
    symptom="Trained weights give other outputs here.",
    fix="check the names: `attention_norm` comes before the attention.",
)(in_steps(norms=lambda block: (block.feed_forward_norm, block.attention_norm)))


@task.bug(
    symptom="The feed-forward never gets this block's attention output.",
    origin="PaLM's and GPT-J's blocks, which are parallel on purpose",
    fix="let the feed-forward work on the sum: `x = x + attention(…)` comes first.",
)
class feed_forward_beside_the_attention(Block):
    """the feed-forward gets the block's input, and not its sum with the attention's output."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        normed = self.attention_norm(x)
        attended = self.attention(normed, normed, normed, valid_lens)
        output: Tensor = x + attended + self.feed_forward(self.feed_forward_norm(x))
        return output


@task.bug(
    symptom="Scores grow from block to block, until each query attends to only one key.",
    origin="right in cross-attention, where keys and values come from elsewhere",
    fix="pass the normalised `x` as queries, keys and values.",
)
class only_queries_normed(Block):
    """only the queries are normalised: keys and values are `x` itself."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), x, x, valid_lens)
        return add(self.feed_forward, self.feed_forward_norm, x)


@task.bug(
    symptom="The outputs of attention grow from block to block, though scores do not.",
    fix="pass the normalised `x` as the values, too.",
)
class values_not_normed(Block):
    """queries and keys are normalised, but the values are `x` itself."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        normed = self.attention_norm(x)
        x = x + self.attention(normed, normed, x, valid_lens)
        return add(self.feed_forward, self.feed_forward_norm, x)


@task.bug(
    symptom="It trains, and the feed-forward works before attention has looked anything up.",
    fix="call the attention first, and the feed-forward on the sum.",
)
class feed_forward_comes_first(Block):
    """the feed-forward comes before the attention."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = add(self.feed_forward, self.feed_forward_norm, x)
        return add(lambda n: self.attention(n, n, n, valid_lens), self.attention_norm, x)


@task.bug(
    symptom="The output of attention reaches the block's output only through the feed-forward.",
    origin="a new reader's first try: `residual = x` is written once and used twice",
    fix="the second residual is the first sum: set `residual = x` again after it.",
)
class first_input_added_twice(Block):
    """the feed-forward's output is added to the block's input, and not to the first sum."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        attended = add(lambda n: self.attention(n, n, n, valid_lens), self.attention_norm, x)
        output: Tensor = x + self.feed_forward(self.feed_forward_norm(attended))
        return output


task.bug(
    "lengths not handed on",
    "`valid_lens` is not passed to the attention.",
    symptom="Outputs change with what is in the padding.",
    fix="pass `valid_lens` on: `attention(n, n, n, valid_lens)`.",
)(in_steps(attend=lambda attention, x, _lens: attention(x, x, x, None)))

task.bug(
    "masked in training only",
    "the lengths are passed to the attention in training only.",
    symptom="It is right in training; in evaluation mode, padding changes the output.",
    origin="`is_causal=self.training` in PyTorch's SDPA tutorial (stored versions), Kronos #199",
    fix="always pass `valid_lens` on: padding must be hidden in evaluation mode, too.",
)(in_steps(attend=lambda it, x, lens: it(x, x, x, lens if it.training else None)))

task.bug(
    "written into x",
    "`x += …` writes into the caller's tensor.",
    symptom="Called twice with the same `x`, it gives two different outputs.",
    fix="write `x = x + …`, which makes a new tensor; `x += …` writes into the caller's.",
)(in_both_steps(lambda part, norm, x: x.add_(part(norm(x)))))


@task.bug(
    symptom="The deeper the stack, the more the positions outweigh the tokens.",
    origin="a common mistake; DETR adds positions in each layer on purpose, to queries and keys",
    fix="add positions once, to the embedding, before the first block.",
)
class positions_added_again(Block):
    """the block adds positions to its input, as every block before it has done."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        positions = attnbook.sinusoidal_encoding(x.shape[1], x.shape[2], dtype=x.dtype)
        return super().forward(x + positions, valid_lens)


@task.bug(
    symptom="The parts' parameters are not in `parameters()`, and never learn.",
    fix="store modules as attributes, or in an `nn.ModuleList`: a plain list hides them.",
)
class parts_in_a_plain_list(nn.Module):
    """the parts are stored in a plain list, where `nn.Module` does not find them."""

    def __init__(
        self,
        attention: nn.Module,
        attention_norm: nn.Module,
        feed_forward: nn.Module,
        feed_forward_norm: nn.Module,
    ) -> None:
        super().__init__()
        self.parts = [Block(attention, attention_norm, feed_forward, feed_forward_norm)]

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        output: Tensor = self.parts[0](x, valid_lens)
        return output


task.bug(
    "attention over the batch",
    "batch and positions are exchanged before the attention, so examples attend to one another.",
    symptom="An example's output depends on the other examples in its batch.",
    origin="torch's default, `batch_first=False`",
    fix="pass the normed `x` as it is: the batch comes first.",
)(in_steps(attend=lambda it, x, lens: it(*[x.transpose(0, 1)] * 3, lens).transpose(0, 1)))
