"""Kernel regression: attention by closeness."""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot, scaled_dot_product_attention

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.list_task import ListTask
from attnbook.practice.reference_steps import pool, weigh
from attnbook.practice.task import Function, Law, Task

Width = float | Tensor
Inputs = tuple[Tensor, Tensor, Tensor, Width]


def _between_the_values(output: Tensor, _q: Tensor, _k: Tensor, values: Tensor, _: Width) -> bool:
    low, high = values.amin(dim=1, keepdim=True), values.amax(dim=1, keepdim=True)
    return not ((output < low - 1e-2) | (output > high + 1e-2)).any()  # NaN is reported as such


task = Task(
    name="kernel-pool",
    statement=(
        "Write `kernel_pool(queries, keys, values, width)`. `queries` has shape (batch, "
        "num_queries, size), `keys` (batch, num_keys, size), `values` (batch, num_keys, "
        "value_size). Give (batch, num_queries, value_size): for each query the weighted average "
        "of its example's values. The weight of a key is proportional to the Gaussian kernel "
        "$e^{-d^2 / (2 width^2)}$, where $d^2$ is the sum of the squared differences of query and "
        "key. The weights of each query sum to 1, even if all keys are far from it, or if all "
        "inputs are far from 0. `width` is a positive number, or a tensor of shape () that can be "
        "learned. Gradients flow back to it and to all other inputs, even where a query is equal "
        "to a key."
    ),
    starter="def kernel_pool(queries, keys, values, width):\n    ...",
    laws=(Law("Some output lies outside the range of its values.", _between_the_values),),
)


def _inputs(width: float, size: int = 2) -> Inputs:
    return normal(2, 3, size), normal(2, 5, size), normal(2, 5, 7), width


def _far() -> Inputs:
    keys = torch.tensor([[[0.0], [-0.0625], [-0.03125]]])
    return torch.tensor([[[20.0], [0.0]]]), keys, torch.tensor([[[1.0], [2.0], [4.0]]]), 1.0


task.case("a width of 1")(lambda: _inputs(1.0))
task.case("a width of 2")(lambda: _inputs(2.0))
task.case("a width of 0.5")(lambda: _inputs(0.5))
task.case("vectors of one number", gradients=False)(lambda: _inputs(0.125, size=1))
task.case("as many queries as keys, and all sizes equal")(
    lambda: (normal(3, 3, 3), normal(3, 3, 3, seed=1), normal(3, 3, 3, seed=2), 1.5)
)
task.case("one key")(lambda: (normal(2, 3, 2), normal(2, 1, 2), normal(2, 1, 7), 1.5))
task.case("queries and keys that are views of other tensors, axes swapped")(
    lambda: (normal(2, 2, 3).mT, normal(2, 2, 5).mT, normal(2, 7, 5).mT, 1.5)
)
task.case("a width to be learned")(lambda: (*_inputs(0.0)[:3], torch.tensor(1.5)))
task.case("queries that lie on keys")(
    lambda: (normal(2, 5, 2)[:, :3], normal(2, 5, 2), normal(2, 5, 7), 1.5)
)
task.case("a query far from all keys", gradients=False)(_far)
task.case("double precision")(lambda: with_dtype(torch.double, *_inputs(1.5)))


@task.case("times of day in seconds, 10,000 from zero")
def _() -> tuple[Tensor, Tensor, Tensor, float]:
    offsets = torch.tensor([[[0.0, 1], [1, 1], [2, 0]]])
    return 10_000 + torch.zeros(1, 1, 2), 10_000 + offsets, normal(1, 3, 2), 1.0


task.case("a query on one key, and 20 from the first and the last", gradients=False)(
    lambda: (torch.zeros(1, 1, 1), torch.tensor([[[20.0], [0], [20]]]), normal(1, 3, 2), 1.0)
)
task.case("26 keys near 10,000")(
    lambda: (10_000 + normal(1, 3, 2), 10_000 + normal(1, 26, 2), normal(1, 26, 2), 1.0)
)
task.case("2 queries, 257 keys, vectors of three numbers")(
    lambda: (normal(2, 2, 3), normal(2, 257, 3), normal(2, 257, 2), 1.5)
)


def squared_distances(queries: Tensor, keys: Tensor) -> Tensor:
    """Squared distances. (batch, queries, 1, size) - (batch, 1, keys, size): every pair at once."""
    return (queries[:, :, None] - keys[:, None]).square().sum(dim=-1)


@task.solution("it is the book's own.")
def the_package(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    return attnbook.kernel_pool(queries, keys, values, width)


@task.solution("the exponentials are divided by their sum, so a common factor cancels.")
def by_the_formula(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    squares = squared_distances(queries, keys)
    nearest = squares.amin(dim=-1, keepdim=True)
    exponentials = torch.exp((nearest - squares) / (2 * width**2))
    return (exponentials @ values) / exponentials.sum(dim=-1, keepdim=True)


@task.solution(
    "in the softmax q² cancels, as it depends on the query alone; the keys' mean is subtracted "
    "first, since far from 0 the other terms, q · k and k², would lose digits."
)
def by_attention(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    middle = keys.mean(dim=1, keepdim=True)  # no distance changes when all move
    queries, keys = (queries - middle) / width, (keys - middle) / width
    bias = -keys.square().sum(dim=-1)[:, None].expand(-1, queries.shape[1], -1) / 2
    return scaled_dot_product_attention(queries, keys, values, bias, scale=1.0)


@task.solution("`torch.cdist` gives the distance itself, and its gradient at a distance of 0 is 0.")
def by_cdist(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    exact = "donot_use_mm_for_euclid_dist"  # the other way loses digits far from 0
    distances = torch.cdist(queries / width, keys / width, compute_mode=exact)
    return (-(distances**2) / 2).softmax(dim=-1) @ values


@task.solution("it computes the outputs query by query.")
def query_by_query(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    outputs = []
    for query in queries.unbind(dim=1):
        scaled = (query[:, None] - keys) / width
        weights = (-scaled.square().sum(dim=-1) / 2).softmax(dim=-1)
        outputs.append((weights[..., None] * values).sum(dim=1))
    return torch.stack(outputs, dim=1)


@task.test
def test_a_query_at_a_key_weighs_another_one_a_third_of_it(function: Function) -> None:
    away = 2 * math.log(3) ** 0.5  # in both directions, so that the square is 8 log 3
    keys = torch.tensor([[[0.0, 0.0], [away, away]]])
    output = function(torch.zeros(1, 1, 2), keys, torch.tensor([[[0.0], [4.0]]]), 2.0)
    assert torch.allclose(output, torch.tensor([[[1.0]]]))


@task.test
def test_two_keys_equally_far_count_the_same_however_far(function: Function) -> None:
    keys, values = torch.tensor([[[0.0, 1.0], [0.0, -1.0]]]), torch.tensor([[[1.0], [3.0]]])
    output = function(torch.tensor([[[1.0, 0.0], [1000.0, 0.0]]]), keys, values, 1.0)
    assert torch.allclose(output, torch.full((1, 2, 1), 2.0))


@task.test
def test_distances_are_exact_far_from_zero_and_in_double_precision(function: Function) -> None:
    keys, values = 10_000 + torch.tensor([[[0.0], [1.0]]]), torch.tensor([[[0.0], [1.0]]])
    output = function(keys[:, :1], keys, values, 1.0)
    assert torch.allclose(output, torch.tensor(1 / (1 + math.exp(0.5))))
    queries, keys = torch.zeros(1, 1, 1).double(), torch.tensor([[[-1e-9], [0]]]).double() - 1
    assert function(queries, keys, values.double(), 1.0) > 0.5 + 1e-10


@task.test
def test_gradients_flow_to_a_query_on_a_key_and_to_the_width(function: Function) -> None:
    queries = torch.zeros(1, 1, 1, requires_grad=True)
    width = torch.tensor(1.0, requires_grad=True)
    keys = values = torch.tensor([[[0.0], [1.0]]])
    function(queries, keys, values, width).sum().backward()
    assert queries.grad is not None
    assert queries.grad.item() > 0
    assert width.grad is not None
    assert width.grad.item() > 0


def _score(squares: Tensor, width: Width) -> Tensor:
    return -squares / (2 * width**2)


def in_steps(
    square: Function = squared_distances,
    score: Function = _score,
    weigh: Function = weigh,
    pool: Function = pool,
) -> Function:
    """Correct code, of which a bug changes one step."""

    def written(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
        output: Tensor = pool(weigh(score(square(queries, keys), width)), values, keys)
        return output

    return written


task.bug(
    "squares expanded",
    "the square is expanded to q² - 2 q · k + k², whose terms are large far from 0.",
    symptom="Far from 0, near and far keys are confused: times in seconds are, since 1970.",
    fix="subtract first, then square: digits that cancel are lost.",
)(
    in_steps(
        square=lambda queries, keys: (
            queries.square().sum(-1, keepdim=True)
            - 2 * queries @ keys.mT
            + keys.square().sum(-1)[:, None]
        )
    )
)

task.bug(
    "width not squared",
    "the width is not squared.",
    symptom="A wide kernel is not as wide as it should be, a narrow one not as narrow.",
    fix="square the width, as the distance is.",
)(in_steps(score=lambda squares, width: -squares / (2 * width)))

task.bug(
    "the half forgotten",
    "the 2 in the denominator is missing.",
    symptom="The curve follows the points more closely than it should with this width.",
    fix="divide by `2 * width**2`.",
)(in_steps(score=lambda squares, width: -squares / width**2))

task.bug(
    "multiplied by the width",
    "distances are multiplied by the width, not divided by it.",
    symptom="A larger width makes the curve less smooth.",
    fix="divide by the width: a wide kernel makes distances small.",
)(in_steps(score=lambda squares, width: -squares * width**2 / 2))

task.bug(
    "far keys weigh most",
    "the minus is missing, and weights grow with the distance.",
    symptom="The farthest points decide, and near ones hardly count.",
    fix="put a minus before the squared distance, so that near keys weigh most.",
)(in_steps(score=lambda squares, width: squares / (2 * width**2)))

task.bug(
    "weights not normalised",
    "the kernel's numbers are used as weights, without dividing by their sum.",
    symptom="Predictions are too large where points are dense, and fall to 0 far from them.",
    fix="divide by the sum of the weights of each query.",
)(in_steps(weigh=torch.exp))

task.bug(
    "distance not squared",
    "the distance itself is used where its square belongs.",
    symptom="Near a point the curve has a kink, and far points count more than they should.",
    fix="square the distance: without the square it is another kernel.",
)(in_steps(square=torch.cdist))

task.bug(
    "mean of the squares",
    "the squared differences are averaged over the vector, not summed.",
    symptom="With more numbers in each vector the kernel gets wider.",
    fix="sum the squared differences: `sum(dim=-1)`, not `mean(dim=-1)`.",
)(in_steps(square=lambda queries, keys: squared_distances(queries, keys) / keys.shape[-1]))

task.bug(
    "the nearest key only",
    "each query takes the value of its nearest key.",
    symptom="The curve is a staircase.",
    fix="return the weighted average of all values, not the nearest key's value.",
)(in_steps(weigh=lambda scores: one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)))


task.bug(
    "exponentials that vanish",
    "all exponentials are rounded to 0 far from the keys, and 0 is divided by 0.",
    symptom="The curve is right near the points, and NaN away from them.",
    fix="use a softmax, or subtract each query's own smallest squared distance first.",
)(in_steps(weigh=mistakes.weighing.bugs["no maximum subtracted"].function))


task.bug(
    "own key left out",
    "a key on which a query lies is left out, as when each point is predicted from the others.",
    symptom="The curve misses points that it should almost touch.",
    fix="use every key: a key equal to the query is left out only when a width is chosen.",
)(in_steps(score=lambda squares, w: _score(squares, w).masked_fill(squares == 0, -math.inf)))

task.bug(
    "a root squared",
    "the root of the squared distance is squared again, and at 0 its gradient is infinite.",
    symptom="Training ends in NaN as soon as a query is equal to a key.",
    fix="leave the root out: squaring undoes it, but at 0 the root's gradient is infinite.",
)(in_steps(square=lambda queries, keys: squared_distances(queries, keys).sqrt() ** 2))


@task.bug(symptom="The width never learns.", fix="compute with the tensor itself.")
def width_made_a_number(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    """the width is made a plain number, through which no gradient flows."""
    number = width.item() if isinstance(width, Tensor) else width
    return _score(squared_distances(queries, keys), number).softmax(dim=-1) @ values


task.bug(
    "the 2 squared too",
    "the 2 in the denominator is squared along with the width.",
    symptom="The curve follows the points less closely than it should with this width.",
    fix="square the width alone: `2 * width**2`, without brackets around `2 * width`.",
)(in_steps(score=lambda squares, width: -squares / (2 * width) ** 2))


task.inherit(
    in_steps,
    mistakes.weighing,
    mistakes.pooling,
    without=(*mistakes.OF_HEADS, "no maximum subtracted"),
)


# On plain lists

Row = list[float]


def _scores_of_lists(query: float, keys: Row, width: float) -> Row:
    return [-((query - key) ** 2) / (2 * width**2) for key in keys]


def _pooled(scores: Row, values: Row) -> float:
    """A softmax, and the sum of weights times values."""
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return sum(p * v for p, v in zip(exponentials, values, strict=True)) / sum(exponentials)


by_hand = ListTask(
    name="kernel-pool-by-hand",
    in_torch=task,
    statement=(
        "Write `kernel_pool(query, keys, values, width)`. `query` and `width` are numbers, `width` "
        "above 0; `keys` and `values` are lists of numbers. At a distance d from the query "
        "a key's kernel is e to the power of `-d**2 / (2 * width**2)`. The weights are the "
        "kernels divided by their sum. Return the sum of each weight times its value. It must "
        "also work where all keys are so far that `math.exp` gives 0 for each."
    ),
    starter="import math\n\ndef kernel_pool(query, keys, values, width):\n    ...",
)


by_hand.case("a width of 1")(lambda: (1.0, [0.0, 2.5, 3.0], [10.0, 20.0, 70.0], 1.0))
by_hand.case("a width of 2")(lambda: (1.0, [0.0, 2.5, 3.0], [10.0, 20.0, 70.0], 2.0))
by_hand.case("a width of 0.5")(lambda: (0.5, [0.0, 1.25], [4.0, 8.0], 0.5))
by_hand.case("a query that lies on a key")(lambda: (2.0, [1.0, 2.0], [-3.0, 5.0], 0.25))
by_hand.case("one key")(lambda: (0.0, [3.0], [7.0], 1.5))
by_hand.case("a query far from all keys")(
    lambda: (1000.0, [0.0, 900.01, 900.0, 10.0], [5.0, 10.0, 20.0, 30.0], 1.0)
)
by_hand.case("a query on one key, and 20 from the first and the last")(
    lambda: (0.0, [20.0, 0.0, 20.0], [5.0, 10.0, 20.0], 1.0)
)
by_hand.case("12 keys")(
    lambda: (4.5, [x * 0.75 for x in range(12)], [x * x - 9.0 for x in range(12)], 1.5)
)


@by_hand.solution("the exponentials are divided by their sum, so a common factor cancels.")
def by_the_formula_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    scores = [-((query - key) ** 2) / (2 * width**2) for key in keys]
    exponentials = [math.exp(score - max(scores)) for score in scores]
    weights = [each / sum(exponentials) for each in exponentials]
    return sum(w * v for w, v in zip(weights, values, strict=True))


@by_hand.solution("the weight of a key is 1 over the sum of all kernels divided by its own.")
def seen_from_each_key(query: float, keys: Row, values: Row, width: float) -> float:
    output = 0.0
    for key, value in zip(keys, values, strict=True):
        total = 0.0
        for other in keys:
            nearer = (query - key) ** 2 - (query - other) ** 2
            # More than 700, and the weight is 0 in floating point.
            total += math.exp(min(nearer / (2 * width**2), 700))
        output += value / total
    return output


@by_hand.solution("the width is the unit; the smallest square is subtracted, so no sum is 0.")
def in_units_of_the_width(query: float, keys: Row, values: Row, width: float) -> float:
    squares = [((query - key) / width) ** 2 for key in keys]
    total = weighted = 0.0
    for i in range(len(keys)):
        exponential = math.exp((min(squares) - squares[i]) / 2)
        total += exponential
        weighted += exponential * values[i]
    return weighted / total


@by_hand.bug(fix="subtract the largest exponent from all exponents, before `math.exp`: it cancels.")
def exponentials_that_vanish_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    exponentials = [math.exp(score) for score in _scores_of_lists(query, keys, width)]
    return sum(p * v for p, v in zip(exponentials, values, strict=True)) / sum(exponentials)


@by_hand.bug()
def width_not_squared_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    return _pooled([-((query - key) ** 2) / (2 * width) for key in keys], values)


@by_hand.bug(fix="divide by `2 * width**2`.")
def the_half_forgotten_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    return _pooled([-(((query - key) / width) ** 2) for key in keys], values)


@by_hand.bug(fix="put brackets around what you divide by: `/ (2 * width**2)`.")
def multiplied_by_the_width_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    return _pooled([-((query - key) ** 2) / 2 * width**2 for key in keys], values)


@by_hand.bug(fix="square the width alone: `2 * width**2`, not `(2 * width)**2`.")
def the_2_squared_too_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    return _pooled([-(((query - key) / (2 * width)) ** 2) for key in keys], values)


@by_hand.bug(fix="divide the squared distance by `2 * width**2`.")
def width_never_used(query: float, keys: Row, values: Row, width: float) -> float:
    """the width is never used, as if it were 1."""
    return _pooled(_scores_of_lists(query, keys, 1.0), values)


@by_hand.bug()
def far_keys_weigh_most_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    return _pooled([-score for score in _scores_of_lists(query, keys, width)], values)


@by_hand.bug(fix="divide each kernel by the sum of all.")
def weights_not_normalised_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    scores = _scores_of_lists(query, keys, width)
    return sum(math.exp(s) * v for s, v in zip(scores, values, strict=True))


@by_hand.bug(fix="square the distance: `(query - key)**2`.")
def distance_not_squared_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    return _pooled([-abs(query - key) / (2 * width**2) for key in keys], values)


@by_hand.bug()
def the_nearest_key_only_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    scores = _scores_of_lists(query, keys, width)
    return values[scores.index(max(scores))]


@by_hand.bug()
def own_key_left_out_by_hand(query: float, keys: Row, values: Row, width: float) -> float:
    others = [i for i in range(len(keys)) if keys[i] != query]
    scores = _scores_of_lists(query, [keys[i] for i in others], width)
    return _pooled(scores, [values[i] for i in others])


@by_hand.bug(fix="divide with `/`, not `//`: `exponential / sum(exponentials)`.")
def divided_by_two_strokes(query: float, keys: Row, values: Row, width: float) -> float:
    """the division is `//`, which drops everything after the decimal point."""
    scores = _scores_of_lists(query, keys, width)
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return sum(p // sum(exponentials) * v for p, v in zip(exponentials, values, strict=True))


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(query: float, keys: Row, values: Row, width: float) -> float:
    """only the first key counts, as when `return` is inside the loop over the keys."""
    only_first = [0.0 if i else value for i, value in enumerate(values)]
    return _pooled(_scores_of_lists(query, keys, width), only_first)
