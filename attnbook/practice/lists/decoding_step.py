"""One step of a decoder that asks its memory, on plain lists."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]
Rows = list[list[float]]
Two = tuple[Row, Row]


def _dot(one: Row, other: Row) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _weights(state: Row, memory: Rows) -> Row:
    scores = [_dot(state, vector) for vector in memory]
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _pool(weights: Row, memory: Rows) -> Row:
    return [_dot(weights, [vector[i] for vector in memory]) for i in range(len(memory[0]))]


def _moved(*vectors: Row) -> Row:
    """The tanh of a sum of vectors, number by number."""
    return [math.tanh(sum(numbers)) for numbers in zip(*vectors, strict=True)]


task = ListTask(
    name="decoding-step-by-hand",
    in_torch="decoding-step",
    statement=(
        "Write `decoding_step(token, state, memory)`: `token` and `state` are vectors, lists of "
        "numbers, and `memory` is a list of vectors; all these vectors have one size. A score is "
        "the dot product of `state`, as it comes in, with a vector of the memory; `softmax` is "
        "written above it, and makes the weights. The context is the sum of the memory's vectors, "
        "each times its weight. The new state is `math.tanh` of state + token + context, number by "
        "number. Return a pair: the new state, and the list of weights."
    ),
    starter=(
        "import math\n\ndef softmax(scores):\n    highest = max(scores)\n"
        "    powers = [math.exp(score - highest) for score in scores]\n"
        "    return [power / sum(powers) for power in powers]\n\n"
        "def decoding_step(token, state, memory):\n    ..."
    ),
)


task.case("three vectors of two numbers")(
    lambda: ([0.25, -0.5], [0.5, 0.25], [[1.0, -1.0], [-0.5, 0.5], [0.25, 1.5]])
)
task.case("three vectors of one number")(lambda: ([-0.5], [0.5], [[1.0], [-2.0], [0.0]]))
task.case("a state of zeros")(lambda: ([0.25], [0.0], [[1.0], [-0.5]]))
task.case("one vector in the memory")(lambda: ([0.0, 0.25], [0.5, -0.5], [[-0.5, 1.0]]))
task.case("scores of -1600")(lambda: ([0.5], [40.0], [[-40.0], [-40.01]]))
task.case("9 vectors in the memory")(
    lambda: ([0.25, 0.5], [0.5, -0.25], [[x * 0.25, 1 - x * 0.5] for x in range(9)])
)


@task.right("it is the sentences themselves, one after the other.")
def by_the_sentences(token: Row, state: Row, memory: Rows) -> Two:
    scores = [sum(s * m for s, m in zip(state, vector, strict=True)) for vector in memory]
    powers = [math.exp(score - max(scores)) for score in scores]
    weights = [power / sum(powers) for power in powers]
    columns = zip(*memory, strict=True)
    context = [sum(w * m for w, m in zip(weights, column, strict=True)) for column in columns]
    three = zip(state, token, context, strict=True)
    return [math.tanh(s + t + c) for s, t, c in three], weights


@task.right("what a vector of the memory gives can be added to the state at once.")
def added_to_the_state(token: Row, state: Row, memory: Rows) -> Two:
    weights = _weights(state, memory)
    sums = [s + t for s, t in zip(state, token, strict=True)]
    for weight, vector in zip(weights, memory, strict=True):
        for i in range(len(sums)):
            sums[i] += weight * vector[i]
    return [math.tanh(each) for each in sums], weights


@task.right("the context can wait for its division, and tanh(x) is 1 - 2 / (1 + e^2x).")
def by_powers_of_e(token: Row, state: Row, memory: Rows) -> Two:
    scores = [_dot(state, vector) for vector in memory]
    powers = [math.exp(score - max(scores)) for score in scores]
    new_state = []
    for i in range(len(state)):
        context = _dot(powers, [vector[i] for vector in memory]) / sum(powers)
        new_state.append(1 - 2 / (1 + math.exp(2 * (state[i] + token[i] + context))))
    return new_state, [power / sum(powers) for power in powers]


@task.bug(
    symptom="After the same character the model always looks at the same place.",
    origin="a common slip",
    mend="take the dot products with `state`: it knows more than the last token.",
    case="three vectors of two numbers",
)
def asks_with_the_token(token: Row, state: Row, memory: Rows) -> Two:
    """the token asks the memory, in place of the state."""
    weights = _weights(token, memory)
    return _moved(state, token, _pool(weights, memory)), weights


@task.bug(
    symptom="It learns as slowly as without attention.",
    origin="a common slip",
    mend="add the context to state and token before `math.tanh`.",
    case="three vectors of two numbers",
)
def context_forgotten(token: Row, state: Row, memory: Rows) -> Two:
    """the context is not added, and attention has no effect."""
    return _moved(state, token), _weights(state, memory)


@task.bug(
    symptom="What was written last makes no difference.",
    origin="a common slip",
    mend="add the token to state and context before `math.tanh`.",
    case="three vectors of two numbers",
)
def token_forgotten(token: Row, state: Row, memory: Rows) -> Two:  # noqa: ARG001
    """the token is not added."""
    weights = _weights(state, memory)
    return _moved(state, _pool(weights, memory)), weights


@task.bug(
    symptom="After each step the decoder has forgotten what came before.",
    origin="a common slip",
    mend="add the old state to token and context before `math.tanh`.",
    case="three vectors of two numbers",
)
def state_forgotten(token: Row, state: Row, memory: Rows) -> Two:
    """the old state asks, and is not added to the new one."""
    weights = _weights(state, memory)
    return _moved(token, _pool(weights, memory)), weights


@task.bug(
    symptom="The state grows from step to step.",
    origin="a common slip",
    mend="take `math.tanh` of each sum.",
    case="three vectors of two numbers",
)
def no_tanh(token: Row, state: Row, memory: Rows) -> Two:
    """the new state is the sum itself, without tanh."""
    weights = _weights(state, memory)
    sums = zip(state, token, _pool(weights, memory), strict=True)
    return [s + t + c for s, t, c in sums], weights


@task.bug(
    symptom="The next step begins with weights for its state.",
    origin="a common slip",
    mend="return the new state first: `return new_state, weights`.",
    case="three vectors of two numbers",
)
def the_weights_first(token: Row, state: Row, memory: Rows) -> Two:
    """the weights come first, and the new state second."""
    weights = _weights(state, memory)
    return weights, _moved(state, token, _pool(weights, memory))


@task.bug(
    symptom="The context is far too large, and the new state is 1 or -1.",
    origin="a new reader's first try",
    mend="make weights of the scores: `weights = softmax(scores)`.",
    case="three vectors of two numbers",
)
def softmax_left_out(token: Row, state: Row, memory: Rows) -> Two:
    """the scores themselves are used as weights, without `softmax`."""
    scores = [_dot(state, vector) for vector in memory]
    return _moved(state, token, _pool(scores, memory)), scores


@task.bug(
    symptom="The new state is three times as long as the old one.",
    origin="a new reader's first try",
    mend="add number by number: `+` of two lists lays them end to end.",
    case="three vectors of two numbers",
)
def laid_end_to_end(token: Row, state: Row, memory: Rows) -> Two:
    """state, token and context are lists, and `+` lays them end to end."""
    weights = _weights(state, memory)
    return _moved(state + token + _pool(weights, memory)), weights


@task.bug(
    symptom="The weights look fine, and the new state is 1 or -1.",
    origin="a new reader's first try",
    mend="multiply the vectors of the memory by `softmax(scores)`.",
    case="three vectors of two numbers",
)
def context_by_scores(token: Row, state: Row, memory: Rows) -> Two:
    """the scores are used in the context, in place of the weights."""
    scores = [_dot(state, vector) for vector in memory]
    return _moved(state, token, _pool(scores, memory)), _weights(state, memory)


@task.bug(
    symptom="The new state has numbers beyond 1 and -1.",
    origin="a new reader's first try",
    mend="add the context to state and token before `math.tanh`.",
    case="three vectors of two numbers",
)
def context_outside_of_tanh(token: Row, state: Row, memory: Rows) -> Two:
    """the context is added after tanh, where it belongs inside."""
    weights = _weights(state, memory)
    pairs = zip(_moved(state, token), _pool(weights, memory), strict=True)
    return [moved + c for moved, c in pairs], weights


@task.bug(
    symptom="The longer the memory is, the nearer is the new state to 1 or -1.",
    origin="a new reader's first try",
    mend="multiply each vector of the memory by its weight before you add.",
    case="three vectors of two numbers",
)
def the_memorys_plain_sum(token: Row, state: Row, memory: Rows) -> Two:
    """the vectors of the memory are added up as they are, without weights."""
    context = _pool([1.0] * len(memory), memory)
    return _moved(state, token, context), _weights(state, memory)


@task.bug(
    symptom="What is drawn as weights has numbers below 0.",
    origin="a new reader's first try",
    mend="return the weights second: `return new_state, weights`.",
    case="three vectors of two numbers",
)
def context_in_place_of_the_weights(token: Row, state: Row, memory: Rows) -> Two:
    """the context is returned, where the weights are asked for."""
    context = _pool(_weights(state, memory), memory)
    return _moved(state, token, context), context


@task.bug(
    symptom="The weights answer a question that the decoder has not asked.",
    origin="a new reader's first try",
    mend="take the dot products with `state` alone, as it comes in.",
    case="three vectors of two numbers",
)
def asks_with_the_sum(token: Row, state: Row, memory: Rows) -> Two:
    """the sum of state and token asks the memory, in place of the state."""
    weights = _weights([s + t for s, t in zip(state, token, strict=True)], memory)
    return _moved(state, token, _pool(weights, memory)), weights
