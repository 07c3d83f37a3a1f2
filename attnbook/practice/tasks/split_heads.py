"""The numbers of each vector shared out among heads."""

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Function, Task

task = Task(
    name="split-heads",
    statement=(
        "Write `split_heads(vectors, num_heads)`. `vectors` has shape (batch, num_positions, "
        "num_hiddens), and `num_heads` divides num_hiddens. The answer has shape (batch, "
        "num_heads, num_positions, head_size), where head_size is num_hiddens / num_heads, and "
        "the dtype of `vectors`. The first head gets the first head_size numbers of each "
        "vector, the second head the next head_size numbers, and so on."
    ),
    starter="def split_heads(vectors, num_heads):\n    ...",
)

task.case("five heads of seven numbers")(lambda: (normal(2, 3, 35), 5))
task.case("as many heads as positions")(lambda: (normal(2, 3, 15), 3))
task.case("as many heads as numbers in a head")(lambda: (normal(2, 5, 9), 3))
task.case("one head")(lambda: (normal(2, 3, 5), 1))
task.case("heads of one number")(lambda: (normal(2, 3, 5), 5))
task.case("one example, and one position")(lambda: (normal(1, 1, 6), 2))
task.case("vectors with their axes swapped in memory")(
    lambda: (normal(6, 5, 3).permute(2, 1, 0), 2)
)
task.case("half precision")(lambda: (normal(2, 3, 10).half(), 2))
task.case("double precision")(lambda: (normal(2, 3, 10).double(), 2))
task.case("131 positions, 9 heads")(lambda: (normal(2, 131, 18), 9))


def _sizes(vectors: Tensor, num_heads: int) -> tuple[int, int, int, int]:
    """The shape of the answer."""
    batch, num_positions, num_hiddens = vectors.shape
    return batch, num_heads, num_positions, num_hiddens // num_heads


def copied(vectors: Tensor, heads: Tensor) -> Tensor:
    """Copy the parts into heads, one after another."""
    for head, part in enumerate(vectors.chunk(heads.shape[1], dim=-1)):
        heads[:, head] = part
    return heads


task.solution("it is the book's own.", name="the package")(attnbook.split_heads)


@task.solution("it cuts the last axis, and stacks the pieces along a new axis after the batch.")
def cut_and_stacked(vectors: Tensor, num_heads: int) -> Tensor:
    return torch.stack(vectors.chunk(num_heads, dim=-1), dim=1)


@task.solution("it copies the heads into the result, one after another.")
def head_by_head(vectors: Tensor, num_heads: int) -> Tensor:
    return copied(vectors, vectors.new_zeros(_sizes(vectors, num_heads)))


@task.solution("it uses an index for each number: number n of head h is number h · head_size + n.")
def looked_up(vectors: Tensor, num_heads: int) -> Tensor:
    numbers = torch.arange(vectors.shape[-1]).reshape(num_heads, -1)
    return vectors[..., numbers].movedim(2, 1)


@task.test
def test_each_head_gets_neighbouring_numbers(split_heads: Function) -> None:
    vectors = torch.tensor([[[1.0, 2, 3, 4, 5, 6]]])
    assert torch.equal(split_heads(vectors, 2), torch.tensor([[[[1.0, 2, 3]], [[4, 5, 6]]]]))


@task.test
def test_a_position_keeps_its_index(split_heads: Function) -> None:
    vectors = torch.zeros(2, 3, 4)
    vectors[1, 2] = 1.0
    heads = split_heads(vectors, 2)
    assert (heads[1, :, 2] == 1).all()
    assert heads.sum() == 4


@task.test
def test_the_dtype_is_kept(split_heads: Function) -> None:
    assert split_heads(torch.zeros(2, 3, 4).half(), 2).dtype == torch.float16


@task.test
def test_what_flows_back_reaches_the_vectors(split_heads: Function) -> None:
    vectors = torch.zeros(2, 3, 4, requires_grad=True)
    assert split_heads(vectors, 2).requires_grad


task.bug(
    "heads left behind positions",
    "the numbers are cut into heads, but the axis of heads stays after that of positions.",
    symptom="Attention compares the heads of one position, not the positions.",
    fix="put the axis of heads before that of positions: `transpose(1, 2)`.",
)(lambda vectors, num_heads: vectors.reshape(*vectors.shape[:2], num_heads, -1))


@task.bug(
    symptom="An example's output depends on the other examples in its batch.",
    origin="code for torch's default, `batch_first=False`",
    fix="keep the batch as the first axis.",
)
def batch_taken_for_positions(vectors: Tensor, num_heads: int) -> Tensor:
    """the first axis is treated as positions and the second as the batch."""
    sizes = _sizes(vectors, num_heads)
    return vectors.reshape(sizes[0], -1, sizes[-1]).transpose(0, 1).reshape(sizes)


task.bug(
    "parts of num heads numbers",
    "each part has num_heads numbers, where there should be num_heads parts.",
    symptom="It works with 8 heads of 8 numbers, but not where the two numbers differ.",
    fix="`split` takes the size of a part: give it head_size, or use `chunk(num_heads)`.",
)(lambda vectors, num_heads: torch.stack(torch.split(vectors, num_heads, dim=-1), dim=1))

task.bug(
    "filled into torchs own dtype",
    "the result has torch's default dtype, as after `.float()` or in a new tensor without a dtype.",
    symptom="With a model in half precision, the next matrix product fails: the dtypes differ.",
    fix="leave the dtype as it is; make a new tensor with `vectors.new_empty(…)`.",
)(lambda vectors, num_heads: copied(vectors, torch.empty(_sizes(vectors, num_heads))))

task.bug(
    "detached",
    "the numbers are taken without their graph, for example by `.data`: no gradient flows back.",
    symptom="The loss falls a little and stops: only the last layers learn.",
    fix="use `vectors` itself; `.data`, `.detach()` and `torch.tensor(…)` stop the gradient.",
)(lambda vectors, num_heads: vectors.data.unflatten(2, (num_heads, -1)).transpose(1, 2))


task.inherit(lambda split: split, mistakes.splitting)


# On plain lists

Vectors = list[list[float]]
Heads = list[list[list[float]]]


def _cut(numbers: list[float], size: int) -> Vectors:
    """Pieces of one size, one after the other."""
    return [numbers[i : i + size] for i in range(0, len(numbers), size)]


by_hand = ListTask(
    name="split-heads-by-hand",
    in_torch=task,
    statement=(
        "Write `split_heads(vectors, num_heads)`. `vectors` is a list of one vector for each "
        "position, all of the same size, which `num_heads` divides. Return a list of heads. Each "
        "head is a list of one part for each position: the first head has the first part of each "
        "vector, the second head the next, and so on. A part consists of neighbouring numbers, and "
        "all parts have the same size: `split_heads([[1, 2, 3, 4]], 2)` gives `[[[1, 2]], [[3, "
        "4]]]`."
    ),
    starter="def split_heads(vectors, num_heads):\n    ...",
)

by_hand.case("two heads of three numbers")(lambda: ([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], 2))
by_hand.case("three heads, and one position")(lambda: ([[1, 2, 3, 4, 5, 6]], 3))
by_hand.case("as many heads as positions, and as numbers in a part")(
    lambda: ([[1, 2, 3, 4], [5, 6, 7, 8]], 2)
)
by_hand.case("three positions")(lambda: ([[1, 2], [3, 4], [5, 6]], 2))
by_hand.case("one head")(lambda: ([[1, 2], [3, 4]], 1))
by_hand.case("five heads of two numbers")(lambda: ([[*range(10)], [*range(10, 20)]], 5))


@by_hand.solution("the part of head h begins at index h · head_size.")
def head_by_head_by_hand(vectors: Vectors, num_heads: int) -> Heads:
    size = len(vectors[0]) // num_heads
    return [[v[head * size : (head + 1) * size] for v in vectors] for head in range(num_heads)]


@by_hand.solution("it appends the numbers one by one: number i belongs to head i // size.")
def number_by_number(vectors: Vectors, num_heads: int) -> Heads:
    size = len(vectors[0]) // num_heads
    heads: Heads = [[[] for _ in vectors] for _ in range(num_heads)]
    for position in range(len(vectors)):
        for i in range(len(vectors[position])):
            heads[i // size][position].append(vectors[position][i])
    return heads


@by_hand.solution("it cuts all vectors first, and then swaps positions and heads.")
def cut_and_swapped(vectors: Vectors, num_heads: int) -> Heads:
    size = len(vectors[0]) // num_heads
    parts = [[vector[i : i + size] for i in range(0, len(vector), size)] for vector in vectors]
    return [list(of_a_head) for of_a_head in zip(*parts, strict=True)]


@by_hand.bug(fix="cut each vector separately: a head has a part of every vector.")
def split_by_a_reshape_by_hand(vectors: Vectors, num_heads: int) -> Heads:
    """all numbers are put in one row and cut again, so that a head gets whole positions."""
    size = len(vectors[0]) // num_heads
    row = [number for vector in vectors for number in vector]
    return [_cut(part, size) for part in _cut(row, size * len(vectors))]


@by_hand.bug(fix="let the heads be the outer list, and the positions the inner one.")
def positions_outside(vectors: Vectors, num_heads: int) -> Heads:
    """the outer list holds the positions, and each position holds its heads."""
    return [_cut(vector, len(vector) // num_heads) for vector in vectors]


@by_hand.bug(
    fix="give each head neighbouring numbers, from `head * size` up to `(head + 1) * size`."
)
def numbers_dealt_out_in_turn_by_hand(vectors: Vectors, num_heads: int) -> Heads:
    return [[vector[head::num_heads] for vector in vectors] for head in range(num_heads)]


@by_hand.bug(fix="begin the part of a head at `head * size`.")
def the_first_part_for_every_head_by_hand(vectors: Vectors, num_heads: int) -> Heads:
    size = len(vectors[0]) // num_heads
    return [[vector[:size] for vector in vectors] for _ in range(num_heads)]


@by_hand.bug(fix="begin the part of a head at `head * size`, and end it at `(head + 1) * size`.")
def parts_that_overlap(vectors: Vectors, num_heads: int) -> Heads:
    """the part of a head begins at index `head`, not at `head * size`."""
    size = len(vectors[0]) // num_heads
    return [[vector[head : head + size] for vector in vectors] for head in range(num_heads)]


@by_hand.bug(fix="give each part `len(vectors[0]) // num_heads` numbers.")
def parts_of_num_heads_numbers_by_hand(vectors: Vectors, num_heads: int) -> Heads:
    return [list(head) for head in zip(*(_cut(v, num_heads) for v in vectors), strict=True)]


@by_hand.bug(fix="keep the part of each position as its own list.")
def parts_strung_together(vectors: Vectors, num_heads: int) -> Vectors:
    """each head is one flat list, in which the parts of all positions are joined."""
    size = len(vectors[0]) // num_heads
    starts = range(0, len(vectors[0]), size)
    return [[number for v in vectors for number in v[i : i + size]] for i in starts]


@by_hand.bug(fix="cut the vectors first: only neighbours in a vector belong to one head.")
def swapped_before_the_cut(vectors: Vectors, num_heads: int) -> Heads:
    """positions and numbers are swapped before the cut, so that a part mixes positions."""
    size = len(vectors[0]) // num_heads
    row = [vector[i] for i in range(len(vectors[0])) for vector in vectors]
    return [_cut(part, size) for part in _cut(row, size * len(vectors))]


@by_hand.bug(fix="make a new list for each head: `[[] for _ in range(num_heads)]`.")
def one_list_for_all_heads(vectors: Vectors, num_heads: int) -> Heads:
    """all heads are the same list: `[[]] * num_heads` repeats one list."""
    heads: Heads = [[]] * num_heads
    for vector in vectors:
        for head, part in enumerate(_cut(vector, len(vector) // num_heads)):
            heads[head].append(part)
    return heads


@by_hand.bug(fix="cut each vector separately, and keep its parts as separate lists.")
def one_row_cut_into_heads(vectors: Vectors, num_heads: int) -> Vectors:
    """all numbers are put in one row, and that is cut into as many pieces as there are heads."""
    row = [number for vector in vectors for number in vector]
    return _cut(row, len(row) // num_heads)


@by_hand.bug(
    fix="the size of a part is `len(vectors[0]) // num_heads`; `num_heads` is the number of parts."
)
def num_heads_for_the_size(vectors: Vectors, num_heads: int) -> Heads:
    """`num_heads` is used as the size of a part, and not only as the number of parts."""
    n = num_heads
    return [[vector[head * n : (head + 1) * n] for vector in vectors] for head in range(n)]
