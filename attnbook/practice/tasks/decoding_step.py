"""One step of Bahdanau's decoder."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal, with_dtype
from attnbook.practice.list_task import ListTask
from attnbook.practice.reference_steps import visible_keys, weigh
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


def _padding_weighs_nothing(_state: Tensor, weights: Tensor, *arguments: Tensor) -> bool:
    padding = torch.arange(weights.shape[1]) >= arguments[3][:, None]
    return bool((weights[padding] == 0).all())


task = Task(
    name="decoding-step",
    statement=(
        "Write `decoding_step(token, state, memory, valid_lens, W_q, W_k, w_v, cell)`. The old "
        "`state`, (batch, state_size), is the query; `memory`, (batch, num_keys, memory_size), "
        "is both the keys and the values. The scores are `w_v · tanh(W_q state + W_k key)`, where "
        "`W_q` is (num_hiddens, state_size), `W_k` (num_hiddens, memory_size) and `w_v` "
        "(num_hiddens,). Their softmax over the first `valid_lens`, (batch,), keys gives the "
        "weights, (batch, num_keys), 0 at padding; with a length of 0 all are 0. The context is "
        "the weighted sum of memory. `cell(inputs, state)` gives the new state, as `nn.GRUCell` "
        "does: its inputs are `token`, (batch, token_size), and the context, concatenated in this "
        "order, and its state is the old one. Return `(new_state, weights)`."
    ),
    starter="def decoding_step(token, state, memory, valid_lens, W_q, W_k, w_v, cell):\n    ...",
    outputs=("the new state", "the weights"),
    laws=(
        Law("The weights of some padding are not exactly 0.", _padding_weighs_nothing),
        Law("Some row of weights does not sum to 1.", lambda _state, *rest: rows_sum_to_one(*rest)),
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


task.case("vectors of one size, and no padding")(lambda: _step(lengths(3, 3), 5, 5, (3, 5), 5))
task.case("different sizes, with padding")(lambda: _step(lengths(4, 7), 5, 3, (7, 2), 11))
task.case("one text and one key, which scores 0")(
    lambda: _step(lengths(1), 2, 3, (1, 5), 7)._replace(w_v=torch.zeros(7))
)
task.case("a text of length 0")(lambda: _step(lengths(0, 2, 3), 2, 7, (3, 5), 11))


task.case("scores of thousands")(
    lambda: _step(lengths(2, 3), 5, 2, (3, 5), 7)._replace(w_v=5000 * normal(7, seed=8))
)


@task.case("memory of 1e30 at padding")
def _() -> Step:
    step = _step(lengths(2, 3), 5, 2, (3, 5), 7)
    step.memory[0, 2] = 1e30
    return step


task.case("half precision")(lambda: with_dtype(torch.half, *_step(lengths(2, 3), 2, 3, (3, 5), 7)))
task.case("70 hidden units, in double precision")(
    lambda: with_dtype(torch.double, *_step(lengths(2, 3), 2, 3, (3, 5), 70))
)
task.case("two texts and one key")(lambda: _step(lengths(1, 1), 2, 3, (1, 5), 7))


@task.case("two texts whose scores are thousands apart", gradients=False)
def _() -> Step:
    step = _step(lengths(3, 2), 5, 2, (3, 5), 7)
    states = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    return step._replace(
        state=states, W_q=torch.full((7, 2), 0.25), W_k=step.W_k / 1000, w_v=300 * step.w_v.abs()
    )


task.case("2 texts, 257 keys")(lambda: _step(lengths(257, 130), 2, 2, (257, 3), 2))


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


@task.solution("it is the book's own score, softmax and pooling.")
@of_arguments
def the_package(step: Step) -> Two:
    queries = (step.state @ step.W_q.T)[:, None]
    scores = attnbook.additive_score(queries, step.memory @ step.W_k.T, step.w_v)
    weights = attnbook.masked_softmax(scores, step.valid_lens)
    context = attnbook.pool(weights, step.memory)[:, 0]
    return step.cell(torch.cat([step.token, context], dim=-1), step.state), weights[:, 0]


@task.solution("it takes one text after the other, and its real keys only.")
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


@task.solution("-inf is below every score; in fully masked rows, the weights are replaced by 0.")
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


@task.solution("tanh is a rescaled logistic function; a softmax is exponentials over their sum.")
@of_arguments
def by_the_formulas(step: Step) -> Two:
    both = torch.cat([step.state[:, None].expand(-1, step.memory.shape[1], -1), step.memory], -1)
    hidden = 2 * torch.sigmoid(2 * (both @ torch.cat([step.W_q, step.W_k], 1).T)) - 1
    scores = (hidden * step.w_v).sum(-1)
    real = torch.arange(scores.shape[1]) < step.valid_lens[:, None]
    low = torch.finfo(scores.dtype).min
    highest = torch.where(real, scores, low).amax(1, keepdim=True).detach()
    shares = torch.where(real, scores - highest, low).exp() * real
    weights = shares / shares.sum(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
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
def test_the_state_is_the_query_of_all_keys(decoding_step: Function) -> None:
    # tanh(1.5 - 0.5) = 0.7616 against tanh(0.5 - 0.5) = 0: a weight of 1 / (1 + e^-0.7616).
    W_q, W_k = torch.tensor([[-1.0]]), torch.tensor([[0.75, 0.125]])
    _, weights = decoding_step(*_by_hand(W_q=W_q, W_k=W_k))
    assert torch.allclose(weights, torch.tensor([[0.6817, 0.3183, 0]]), atol=1e-4)


@task.test
def test_a_text_without_keys_has_no_weights(decoding_step: Function) -> None:
    step = _by_hand(W_q=torch.zeros(1, 1, requires_grad=True), valid_lens=lengths(0, 2))
    token, state, memory = (torch.cat([each, each]) for each in step[:3])
    new_state, weights = decoding_step(token, state, memory, *step[3:])
    assert weights.tolist() == [[0, 0, 0], [0.5, 0.5, 0]]
    assert new_state[0].tolist() == [7, 0, 0, 0.5]
    (flow,) = torch.autograd.grad(new_state.sum(), step.W_q)
    assert flow.isfinite().all()


@task.test
def test_padding_weighs_nothing_however_low_the_scores_are(decoding_step: Function) -> None:
    _, weights = decoding_step(*_by_hand(W_q=torch.full((1, 1), 99.0), w_v=-20_000 * torch.ones(1)))
    assert weights.tolist() == [[0.5, 0.5, 0]]


@task.test
def test_double_precision_is_not_lost(decoding_step: Function) -> None:
    step = with_dtype(torch.double, *_by_hand(W_k=torch.tensor([[1e-9, 0]])))
    first, second, _ = decoding_step(*step)[1][0]
    assert first > second


def _scores(step: Step) -> Tensor:
    return torch.tanh((step.state @ step.W_q.T)[:, None] + step.memory @ step.W_k.T) @ step.w_v


def _pool_of(vectors: Tensor, weights: Tensor) -> Tensor:
    return (weights[..., None] * vectors).sum(1)


def in_steps(
    score: Function = _scores,
    weigh: Function = weigh,
    mask: Function = lambda visible: visible,
    pool: Function = lambda step, weights: _pool_of(step.memory, weights),
    join: Function = lambda token, context: torch.cat([token, context], 1),
    give: Function = lambda step, inputs, weights: (step.cell(inputs, step.state), weights),
) -> Function:
    """Correct code, of which a bug changes one step."""

    @of_arguments
    def written(step: Step) -> Two:
        scores = score(step)[:, None]
        weights = weigh(scores, mask(visible_keys(step.valid_lens, scores)))[:, 0]
        result: Two = give(step, join(step.token, pool(step, weights)), weights)
        return result

    return written


def _scores_of_a_new_state(step: Step) -> Tensor:
    nothing = torch.zeros_like(step.memory[:, 0])
    new = step.cell(torch.cat([step.token, nothing], 1), step.state)
    return _scores(step._replace(state=new))


task.bug(
    "asks with a new state",
    "the cell first makes a new state, without a context, and this state queries the memory.",
    symptom="The weights do not fit the state that was passed in, but a newer one.",
    fix="query with the state as it was passed in; the new one is computed from the context.",
)(in_steps(score=_scores_of_a_new_state))

task.bug(
    "asks with the token",
    "the token is the query, instead of the state.",
    symptom="After the same character the model always attends to the same position.",
    fix="query with the state, which depends on all tokens so far, and not with the last token.",
)(in_steps(score=lambda step: _scores(step._replace(state=step.token))))

task.bug(
    "scores never look at the memory",
    "the scores come from the state alone, and each key gets the same score.",
    symptom="All texts of the same length have the same heatmap.",
    origin="PyTorch's seq2seq tutorial",
    fix="add the projected memory to the projected state before tanh.",
)(in_steps(score=lambda step: _scores(step._replace(W_k=torch.zeros_like(step.W_k)))))

task.bug(
    "the context is not fed",
    "the cell gets zeros instead of the context.",
    symptom="It learns as slowly as without attention, and the heatmap never becomes sharp.",
    fix="concatenate token and context: both are the cell's inputs.",
)(in_steps(pool=lambda step, _weights: torch.zeros_like(step.memory[:, 0])))

task.bug(
    "the context before the token",
    "context and token are joined in the wrong order, which no shape reveals.",
    symptom="It trains just as well, but pretrained weights give nonsense.",
    fix="join them as in the task: the token first, then the context.",
)(in_steps(join=lambda token, context: torch.cat([context, token], 1)))

task.bug(
    "the last memory for the context",
    "the cell gets the last state of the memory instead of the context.",
    symptom="Long texts are translated badly, though the heatmap looks fine.",
    fix="give the cell the weighted sum of all memory vectors.",
)(in_steps(pool=lambda step, _weights: step.memory[:, -1]))

task.bug(
    "projected keys are pooled",
    "the context is pooled from the projected keys instead of the memory.",
    symptom="The weights are right, and the new state is not.",
    fix="project the keys for the scores only, and pool the memory itself.",
)(in_steps(pool=lambda step, weights: _pool_of(step.memory @ step.W_k.T, weights)))

task.bug(
    "the projections are exchanged",
    "`W_k` projects the state, and `W_q` the memory.",
    symptom="It works until query and key have different sizes.",
    origin="the book's own first draft",
    fix="`W_q` is for the state, and `W_k` for the memory.",
)(in_steps(score=lambda step: _scores(step._replace(W_q=step.W_k, W_k=step.W_q))))

task.bug(
    "the old state is returned",
    "the cell's output is not used, and the old state is returned.",
    symptom="The model writes the same character for ever.",
    fix="return what the cell returns.",
)(in_steps(give=lambda step, _inputs, weights: (step.state, weights)))

task.bug(
    "the weights are made again unmasked",
    "the returned weights are recomputed without the mask.",
    symptom="The heatmap shows weight on padding, although the model attended elsewhere.",
    origin="UvA's deep learning tutorial 6",
    fix="return the weights that the context was pooled with.",
)(in_steps(give=lambda step, inputs, _: (step.cell(inputs, step.state), _scores(step).softmax(1))))

task.inherit(
    in_steps,
    mistakes.weighing,
    mistakes.hiding,
    mistakes.masking,
    without=(*mistakes.OF_HEADS, *mistakes.OF_ROWS),
)


# On plain lists

Row = list[float]
Rows = list[list[float]]
TwoRows = tuple[Row, Row]


def _dot(one: Row, other: Row) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _weigh_list(state: Row, memory: Rows) -> Row:
    scores = [_dot(state, vector) for vector in memory]
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [each / sum(exponentials) for each in exponentials]


def _pool(weights: Row, memory: Rows) -> Row:
    return [_dot(weights, [vector[i] for vector in memory]) for i in range(len(memory[0]))]


def _context(query: Row, memory: Rows) -> Row:
    return _pool(_weigh_list(query, memory), memory)


def _moved(*vectors: Row) -> Row:
    """The tanh of a sum of vectors, number by number."""
    return [math.tanh(sum(numbers)) for numbers in zip(*vectors, strict=True)]


by_hand = ListTask(
    name="decoding-step-by-hand",
    in_torch=task,
    statement=(
        "Write `decoding_step(token, state, memory)`: `token` and `state` are vectors, lists of "
        "numbers, and `memory` is a list of vectors; all these vectors have the same size. A score "
        "is the dot product of `state`, as it is passed in, with a vector of the memory; "
        "`softmax`, defined above your function, gives the weights. The context is the sum of the "
        "memory's vectors, each multiplied by its weight. The new state is `math.tanh` of state + "
        "token + context, number by number. Return a pair: the new state, and the list of weights."
    ),
    starter=(
        "import math\n\ndef softmax(scores):\n    highest = max(scores)\n"
        "    exponentials = [math.exp(score - highest) for score in scores]\n"
        "    return [each / sum(exponentials) for each in exponentials]\n\n"
        "def decoding_step(token, state, memory):\n    ..."
    ),
)


by_hand.case("three vectors of two numbers")(
    lambda: ([0.25, -0.5], [0.5, 0.25], [[1.0, -1.0], [-0.5, 0.5], [0.25, 1.5]])
)
by_hand.case("three vectors of one number")(lambda: ([-0.5], [0.5], [[1.0], [-2.0], [0.0]]))
by_hand.case("a state of zeros")(lambda: ([0.25], [0.0], [[1.0], [-0.5]]))
by_hand.case("one vector in the memory")(lambda: ([0.0, 0.25], [0.5, -0.5], [[-0.5, 1.0]]))
by_hand.case("scores of -1600")(lambda: ([0.5], [40.0], [[-40.0], [-40.01]]))
by_hand.case("7 vectors in the memory")(
    lambda: ([0.25, 0.5], [0.5, -0.25], [[x * 0.25, 1 - x * 0.5] for x in range(7)])
)


@by_hand.solution("it follows the task, sentence by sentence.")
def by_the_sentences(token: Row, state: Row, memory: Rows) -> TwoRows:
    scores = [sum(s * m for s, m in zip(state, vector, strict=True)) for vector in memory]
    exponentials = [math.exp(score - max(scores)) for score in scores]
    weights = [each / sum(exponentials) for each in exponentials]
    columns = zip(*memory, strict=True)
    context = [sum(w * m for w, m in zip(weights, column, strict=True)) for column in columns]
    three = zip(state, token, context, strict=True)
    return [math.tanh(s + t + c) for s, t, c in three], weights


@by_hand.solution("each memory vector, multiplied by its weight, can be added to state + token.")
def added_to_the_state(token: Row, state: Row, memory: Rows) -> TwoRows:
    weights = _weigh_list(state, memory)
    sums = [s + t for s, t in zip(state, token, strict=True)]
    for weight, vector in zip(weights, memory, strict=True):
        for i in range(len(sums)):
            sums[i] += weight * vector[i]
    return [math.tanh(each) for each in sums], weights


@by_hand.solution("the sum divides only the context; tanh(x) is 1 - 2 / (1 + e^(2x)).")
def by_exponentials(token: Row, state: Row, memory: Rows) -> TwoRows:
    scores = [_dot(state, vector) for vector in memory]
    exponentials = [math.exp(score - max(scores)) for score in scores]
    new_state = []
    for i in range(len(state)):
        context = _dot(exponentials, [vector[i] for vector in memory]) / sum(exponentials)
        new_state.append(1 - 2 / (1 + math.exp(2 * (state[i] + token[i] + context))))
    return new_state, [each / sum(exponentials) for each in exponentials]


@by_hand.bug(fix="take the dot products with `state`, which depends on all tokens so far.")
def asks_with_the_token_by_hand(token: Row, state: Row, memory: Rows) -> TwoRows:
    return _moved(state, token, _context(token, memory)), _weigh_list(token, memory)


@by_hand.bug(fix="add the context to state and token before `math.tanh`.")
def context_forgotten(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the context is not added, and attention has no effect."""
    return _moved(state, token), _weigh_list(state, memory)


@by_hand.bug(fix="add the token to state and context before `math.tanh`.")
def token_forgotten(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the token is not added."""
    return _moved(state, _context(state, memory)), _weigh_list(state, memory)


@by_hand.bug(fix="add the old state to token and context before `math.tanh`.")
def state_forgotten(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the old state is the query, but it is not added to the new state."""
    return _moved(token, _context(state, memory)), _weigh_list(state, memory)


@by_hand.bug(fix="take `math.tanh` of each sum.")
def no_tanh(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the new state is the sum itself, without tanh."""
    sums = zip(state, token, _context(state, memory), strict=True)
    return [s + t + c for s, t, c in sums], _weigh_list(state, memory)


@by_hand.bug(fix="return the new state first: `return new_state, weights`.")
def the_weights_first(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the weights come first, and the new state second."""
    return _weigh_list(state, memory), _moved(state, token, _context(state, memory))


@by_hand.bug(fix="turn the scores into weights: `weights = softmax(scores)`.")
def softmax_left_out(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the scores themselves are used as weights, without `softmax`."""
    scores = [_dot(state, vector) for vector in memory]
    return _moved(state, token, _pool(scores, memory)), scores


@by_hand.bug(fix="add number by number: `+` concatenates lists, and does not add their numbers.")
def laid_end_to_end(token: Row, state: Row, memory: Rows) -> TwoRows:
    """state, token and context are lists, and `+` concatenates them."""
    return _moved(state + token + _context(state, memory)), _weigh_list(state, memory)


@by_hand.bug(fix="multiply the vectors of the memory by `softmax(scores)`.")
def context_by_scores(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the scores are used in the context, instead of the weights."""
    scores = [_dot(state, vector) for vector in memory]
    return _moved(state, token, _pool(scores, memory)), _weigh_list(state, memory)


@by_hand.bug(fix="add the context to state and token before `math.tanh`.")
def context_outside_of_tanh(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the context is added after tanh, but it belongs inside."""
    pairs = zip(_moved(state, token), _context(state, memory), strict=True)
    return [moved + c for moved, c in pairs], _weigh_list(state, memory)


@by_hand.bug(fix="multiply each vector of the memory by its weight before you add.")
def the_memorys_plain_sum(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the vectors of the memory are added up as they are, without weights."""
    context = _pool([1.0] * len(memory), memory)
    return _moved(state, token, context), _weigh_list(state, memory)


@by_hand.bug(fix="return the weights second: `return new_state, weights`.")
def context_in_place_of_the_weights(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the context is returned instead of the weights."""
    context = _context(state, memory)
    return _moved(state, token, context), context


@by_hand.bug(fix="take the dot products with `state` alone, as it is passed in.")
def asks_with_the_sum(token: Row, state: Row, memory: Rows) -> TwoRows:
    """the query is the sum of state and token, instead of the state."""
    weights = _weigh_list([s + t for s, t in zip(state, token, strict=True)], memory)
    return _moved(state, token, _pool(weights, memory)), weights
