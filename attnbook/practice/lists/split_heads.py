"""The numbers of each vector shared out among heads, by their index."""

from __future__ import annotations

from attnbook.practice.list_task import ListTask

Vectors = list[list[float]]
Heads = list[list[list[float]]]


def _cut(numbers: list[float], size: int) -> Vectors:
    """Pieces of one size, one after the other."""
    return [numbers[i : i + size] for i in range(0, len(numbers), size)]


task = ListTask(
    name="split-heads-by-hand",
    in_torch="split-heads",
    statement=(
        "Write `split_heads(vectors, num_heads)`. `vectors` is a list of one vector for each "
        "position, all of one size, which `num_heads` divides. Return a list of heads. Each head "
        "is a list of one part for each position: the first head has the first part of each "
        "vector, the second head the next, and so on. Parts are neighbouring numbers, and all of "
        "one size: `split_heads([[1, 2, 3, 4]], 2)` gives `[[[1, 2]], [[3, 4]]]`."
    ),
    starter="def split_heads(vectors, num_heads):\n    ...",
)


task.case("two heads of three numbers")(lambda: ([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], 2))
task.case("three heads, and one position")(lambda: ([[1, 2, 3, 4, 5, 6]], 3))
task.case("as many heads as positions, and as numbers in a part")(
    lambda: ([[1, 2, 3, 4], [5, 6, 7, 8]], 2)
)
task.case("three positions")(lambda: ([[1, 2], [3, 4], [5, 6]], 2))
task.case("one head")(lambda: ([[1, 2], [3, 4]], 1))
task.case("five heads of two numbers")(lambda: ([[*range(10)], [*range(10, 20)]], 5))


@task.right("it cuts each vector where a head begins: at its number times the size of a part.")
def head_by_head(vectors: Vectors, num_heads: int) -> Heads:
    size = len(vectors[0]) // num_heads
    return [
        [vector[head * size : (head + 1) * size] for vector in vectors] for head in range(num_heads)
    ]


@task.right("it deals out number after number: number i belongs to head i // size.")
def number_by_number(vectors: Vectors, num_heads: int) -> Heads:
    size = len(vectors[0]) // num_heads
    heads: Heads = [[[] for _ in vectors] for _ in range(num_heads)]
    for position in range(len(vectors)):
        for i in range(len(vectors[position])):
            heads[i // size][position].append(vectors[position][i])
    return heads


@task.right("it cuts all vectors first, and then lets positions and heads change places.")
def cut_and_swapped(vectors: Vectors, num_heads: int) -> Heads:
    size = len(vectors[0]) // num_heads
    parts = [[vector[i : i + size] for i in range(0, len(vector), size)] for vector in vectors]
    return [list(of_a_head) for of_a_head in zip(*parts, strict=True)]


@task.bug(
    symptom="A head sees some positions in full and others not at all.",
    origin="hyunwoongko/transformer#15",
    mend="cut each vector by itself: a head has a part of every one.",
    case="two heads of three numbers",
)
def reshaped_without_a_swap(vectors: Vectors, num_heads: int) -> Heads:
    """all numbers are put in one row and cut anew, so that a head gets whole positions."""
    size = len(vectors[0]) // num_heads
    row = [number for vector in vectors for number in vector]
    return [_cut(part, size) for part in _cut(row, size * len(vectors))]


@task.bug(
    symptom="Attention compares the heads of one position, not the positions.",
    origin="a common slip",
    mend="let the heads be the outer list, and the positions the inner one.",
    case="two heads of three numbers",
)
def positions_outside(vectors: Vectors, num_heads: int) -> Heads:
    """the outer list has the positions, and each holds its heads."""
    return [_cut(vector, len(vector) // num_heads) for vector in vectors]


@task.bug(
    symptom="Weights trained elsewhere give other outputs here.",
    origin="a common slip",
    mend="give a head neighbours: the numbers from `head * size` up to `(head + 1) * size`.",
    case="two heads of three numbers",
)
def numbers_dealt_out_in_turn(vectors: Vectors, num_heads: int) -> Heads:
    """the numbers are dealt out in turn: each head gets every num_heads-th one."""
    return [[vector[head::num_heads] for vector in vectors] for head in range(num_heads)]


@task.bug(
    symptom="More heads do not help, and all of them attend to the same keys.",
    origin="a common slip",
    mend="begin the part of a head at `head * size`.",
    case="two heads of three numbers",
)
def the_first_part_for_every_head(vectors: Vectors, num_heads: int) -> Heads:
    """every head gets the same numbers, the first ones."""
    size = len(vectors[0]) // num_heads
    return [[vector[:size] for vector in vectors] for _ in range(num_heads)]


@task.bug(
    symptom="Heads share numbers, and the last numbers belong to nobody.",
    origin="a common slip",
    mend="begin the part of a head at `head * size`, and end it at `(head + 1) * size`.",
    case="two heads of three numbers",
)
def parts_that_overlap(vectors: Vectors, num_heads: int) -> Heads:
    """the part of a head begins at the head's own number, not at that times the size."""
    size = len(vectors[0]) // num_heads
    return [[vector[head : head + size] for vector in vectors] for head in range(num_heads)]


@task.bug(
    symptom="It works with 8 heads of 8 numbers, and with no other model.",
    origin="a common slip",
    mend="give each part `len(vectors[0]) // num_heads` numbers.",
    case="two heads of three numbers",
)
def parts_of_num_heads_numbers(vectors: Vectors, num_heads: int) -> Heads:
    """each part has num_heads numbers, where there should be num_heads parts."""
    parts = [_cut(vector, num_heads) for vector in vectors]
    return [list(of_a_head) for of_a_head in zip(*parts, strict=True)]


@task.bug(
    symptom="A head is one long vector, and its positions are gone.",
    origin="a new reader's first try",
    mend="keep the part of each position as a list of its own.",
    case="two heads of three numbers",
)
def parts_strung_together(vectors: Vectors, num_heads: int) -> Vectors:
    """the parts of all positions are strung together to one list for each head."""
    size = len(vectors[0]) // num_heads
    heads = [[v[h * size : (h + 1) * size] for v in vectors] for h in range(num_heads)]
    return [[number for part in head for number in part] for head in heads]


@task.bug(
    symptom="The shape is right, and positions and numbers are mixed.",
    origin="a common slip",
    mend="cut the vectors first: only neighbours in a vector belong to one head.",
    case="two heads of three numbers",
)
def swapped_before_the_cut(vectors: Vectors, num_heads: int) -> Heads:
    """positions and numbers are swapped before the cut, so that a part mixes positions."""
    size = len(vectors[0]) // num_heads
    row = [vector[i] for i in range(len(vectors[0])) for vector in vectors]
    return [_cut(part, size) for part in _cut(row, size * len(vectors))]


@task.bug(
    symptom="All heads are the same, and each has far too many parts.",
    origin="a new reader's first try",
    mend="make a new list for each head: `[[] for _ in range(num_heads)]`.",
    case="two heads of three numbers",
)
def one_list_for_all_heads(vectors: Vectors, num_heads: int) -> Heads:
    """all heads are one list: `[[]] * num_heads` makes no second one."""
    heads: Heads = [[]] * num_heads
    for vector in vectors:
        for head, part in enumerate(_cut(vector, len(vector) // num_heads)):
            heads[head].append(part)
    return heads


@task.bug(
    symptom="A head is one long vector, and holds whole positions.",
    origin="a new reader's first try",
    mend="cut each vector by itself, and keep its parts as lists of their own.",
    case="two heads of three numbers",
)
def one_row_cut_into_heads(vectors: Vectors, num_heads: int) -> Vectors:
    """all numbers are put in one row, and that is cut into as many pieces as there are heads."""
    row = [number for vector in vectors for number in vector]
    return _cut(row, len(row) // num_heads)


@task.bug(
    symptom="Parts are too long or too short, and the last ones may be cut off.",
    origin="a new reader's first try",
    mend="the size of a part is `len(vectors[0]) // num_heads`; `num_heads` is how many there are.",
    case="two heads of three numbers",
)
def num_heads_for_the_size(vectors: Vectors, num_heads: int) -> Heads:
    """`num_heads` is taken for the size of a part, though there are num_heads parts as well."""
    n = num_heads
    return [[vector[head * n : (head + 1) * n] for vector in vectors] for head in range(n)]
