"""Queries and keys turned by their positions."""

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.reference_steps import angles_of, rotated
from attnbook.practice.task import Function, Law, Task


def _same_lengths(turned: Tensor, vectors: Tensor, _positions: Tensor) -> bool:
    ratio = turned.double().norm(dim=-1) / vectors.double().norm(dim=-1)
    return bool((ratio - 1).abs().lt(1e-2).all())


def _still_at_zero(turned: Tensor, vectors: Tensor, positions: Tensor) -> bool:
    still = positions == 0
    return torch.allclose(turned[..., still, :], vectors[..., still, :], atol=1e-3)


def _exact(turned: Tensor, vectors: Tensor, positions: Tensor) -> bool:
    if positions.max() < 10_000:
        return True
    apart = (turned - attnbook.rotary_encoding(vectors, positions)).abs().max()
    return not 1e-4 < apart < 0.1


task = Task(
    name="rotary-encoding",
    statement=(
        "Write `rotary_encoding(vectors, positions)`. `vectors`, queries or keys, has shape "
        "(batch, num_heads, num_positions, size) with an even size; `positions` "
        "(num_positions,) holds their positions, which are whole numbers. Neighbouring numbers "
        "form a pair: the numbers 2i and 2i + 1 of a vector at position p, call them a and b, are "
        "turned by the angle t = p / 10000^(2i/size), which gives a · cos t - b · sin t and "
        "a · sin t + b · cos t. The answer has the shape and dtype of `vectors`. Compute the "
        "angles in double precision: in single precision far positions are wrong in their third "
        "decimal."
    ),
    starter="def rotary_encoding(vectors, positions):\n    ...",
    laws=(
        Law("Some vector has changed its length, but turning must not change it.", _same_lengths),
        Law("A vector at position 0 has changed; it must stay as it is.", _still_at_zero),
        Law(
            "The angles of far positions have too few digits: the numbers are a little off.", _exact
        ),
    ),
)

task.case("as many positions as heads")(lambda: (normal(2, 3, 3, 10), lengths(0, 1, 2)))
task.case("axes of different sizes")(lambda: (normal(2, 3, 5, 14), lengths(0, 1, 2, 3, 4)))
task.case("positions out of order, one of them twice")(
    lambda: (normal(2, 5, 3, 14).transpose(1, 2), lengths(3, 0, 9, 3, 1))
)
task.case("positions that begin at 7")(lambda: (normal(2, 3, 5, 14), lengths(7, 8, 9, 10, 11)))
task.case("one query that follows a cache")(lambda: (normal(2, 3, 1, 10), lengths(23)))
task.case("one pair")(lambda: (normal(2, 3, 5, 2), lengths(0, 1, 2, 3, 4)))
task.case("half precision")(lambda: (normal(2, 3, 5, 14).half(), lengths(0, 1, 2, 3, 4)))
task.case("positions around 100,000")(
    lambda: (normal(2, 3, 5, 14), lengths(100_003, 99_991, 100_019, 99_989, 0))
)
task.case("70 numbers, in double precision")(
    lambda: (normal(2, 3, 5, 70).double(), lengths(0, 1, 2, 3, 4))
)
task.case("131 positions, 9 heads")(lambda: (normal(1, 9, 131, 4), torch.arange(131)))


def joined(*numbers: Tensor, like: Tensor) -> Tensor:
    """Put the numbers of pairs side by side, in the dtype of the vectors."""
    return torch.stack(numbers, dim=-1).flatten(-2).to(like.dtype)


@task.solution("it is the book's own.")
def the_package(vectors: Tensor, positions: Tensor) -> Tensor:
    return attnbook.rotary_encoding(vectors, positions)


@task.solution("a pair is a complex number, and multiplying it by one of length 1 turns it.")
def complex_numbers(vectors: Tensor, positions: Tensor) -> Tensor:
    pairs = torch.view_as_complex(vectors.double().reshape(*vectors.shape[:-1], -1, 2))
    angles = angles_of(positions, vectors.shape[-1])
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2).to(vectors.dtype)


@task.solution("each pair is multiplied by its own matrix of two rows and two columns.")
def small_matrices(vectors: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(positions, vectors.shape[-1])
    cos, sin = angles.cos(), angles.sin()
    rows = [torch.stack([cos, -sin], dim=-1), torch.stack([sin, cos], dim=-1)]
    pairs = vectors.double().reshape(*vectors.shape[:-1], -1, 2)
    turned = torch.einsum("pirc,bhpic->bhpir", torch.stack(rows, dim=-2), pairs)
    return turned.flatten(-2).to(vectors.dtype)


@task.solution("it turns one pair after another, from copies of the two numbers.")
def pair_by_pair(vectors: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(positions, vectors.shape[-1])
    numbers: list[Tensor] = []
    for pair in range(vectors.shape[-1] // 2):
        a, b = vectors[..., 2 * pair].double(), vectors[..., 2 * pair + 1].double()
        numbers += rotated(a, b, angles[:, pair])
    return torch.stack(numbers, dim=-1).to(vectors.dtype)


@task.solution(
    "turned by 90°, a, b, c, d is -b, a, -d, c; the result is one · cos t plus the other · sin t."
)
def a_quarter_turn_ahead(vectors: Tensor, positions: Tensor) -> Tensor:
    angles = angles_of(positions, vectors.shape[-1]).repeat_interleave(2, dim=-1)
    wide = vectors.double()
    ahead = torch.stack([-wide[..., 1::2], wide[..., 0::2]], dim=-1).flatten(-2)
    return (wide * angles.cos() + ahead * angles.sin()).to(vectors.dtype)


@task.test
def test_the_second_pair_of_size_four_turns_a_hundred_times_slower(turn: Function) -> None:
    turned = turn(torch.tensor([0.0, 0, 1, 0]).reshape(1, 1, 1, 4), torch.tensor([100]))
    angle = torch.tensor(1.0)  # 100 / 10000^(2/4)
    expected = torch.stack([0 * angle, 0 * angle, angle.cos(), angle.sin()])
    assert torch.allclose(turned.flatten(), expected)


@task.test
def test_both_numbers_of_a_pair_turn(turn: Function) -> None:
    turned = turn(torch.tensor([0.0, 1]).reshape(1, 1, 1, 2), torch.tensor([1]))
    angle = torch.tensor(1.0)
    assert torch.allclose(turned.flatten(), torch.stack([-angle.sin(), angle.cos()]))


@task.test
def test_all_heads_turn_by_the_same_angles(turn: Function) -> None:
    turned = turn(torch.ones(1, 2, 2, 4), torch.tensor([0, 5]))
    assert torch.allclose(turned[:, 0], turned[:, 1])


@task.test
def test_half_precision_stays_half(turn: Function) -> None:
    assert turn(torch.ones(1, 1, 2, 4).half(), torch.tensor([0, 1])).dtype == torch.float16


@task.test
def test_a_far_position_turns_exactly(turn: Function) -> None:
    vector = torch.eye(10)[2].reshape(1, 1, 1, 10)  # the first number of the second pair
    turned = turn(vector, torch.tensor([100_003]))
    assert abs(turned.flatten()[2].item() - math.cos(100_003 / 10000 ** (2 / 10))) < 1e-5


def in_steps(angles: Function = angles_of, turn: Function = rotated) -> Function:
    """Correct code, of which a bug changes one step."""

    def turned(vectors: Tensor, positions: Tensor) -> Tensor:
        a, b = vectors.double()[..., 0::2], vectors.double()[..., 1::2]
        return joined(*turn(a, b, angles(positions, vectors.shape[-1], 10_000.0)), like=vectors)

    return turned


@task.bug(
    symptom="It trains well, and weights trained elsewhere give nonsense here.",
    origin="nanochat#264",
    fix="pair neighbours, `vectors[..., 0::2]` and `vectors[..., 1::2]`, as in the task.",
)
def halves_paired(vectors: Tensor, positions: Tensor) -> Tensor:
    """number i is paired with number i + size/2, where the task pairs neighbours."""
    a, b = vectors.double().chunk(2, dim=-1)
    return torch.cat(rotated(a, b, angles_of(positions, vectors.shape[-1])), dim=-1).to(
        vectors.dtype
    )


@task.bug(
    symptom="Vectors change their lengths, and equal distances give unequal scores.",
    origin="how-to-train-your-gpt#6",
    fix="take the quarter turn between neighbours, like the angles: -b, a, -d, c.",
)
def halves_turned_by_the_angles_of_neighbours(vectors: Tensor, positions: Tensor) -> Tensor:
    """the angles are those of neighbours, but the quarter turn is taken between halves."""
    angles = angles_of(positions, vectors.shape[-1]).repeat_interleave(2, dim=-1)
    first, second = vectors.double().chunk(2, dim=-1)
    ahead = torch.cat([-second, first], dim=-1)
    return (vectors * angles.cos() + ahead * angles.sin()).to(vectors.dtype)


@task.bug(
    symptom="Scores depend on where two words are, not only on how far apart they are.",
    fix="multiply: a rotary encoding turns vectors, and adds nothing to them.",
)
def added(vectors: Tensor, positions: Tensor) -> Tensor:
    """sines and cosines are added to the vectors, as a sinusoidal encoding is."""
    angles = angles_of(positions, vectors.shape[-1])
    return vectors + joined(angles.sin(), angles.cos(), like=vectors)


task.bug(
    "turned along the heads",
    "the angles vary along the axis of heads, as if it were the axis of positions.",
    symptom="Heads are distinguished, but positions are not.",
    origin="a common mistake: code for (batch, num_positions, num_heads, size)",
    fix="let the angles vary along axis 2, that of positions.",
)(in_steps(lambda *inputs: angles_of(*inputs)[:, None]))


@task.bug(
    symptom="With a model in half precision, queries and values no longer have the same dtype.",
    fix="end with `.to(vectors.dtype)`: cosines and sines have a higher precision than these.",
)
def left_in_single_precision(vectors: Tensor, positions: Tensor) -> Tensor:
    """half-precision vectors come back in single precision, that of the sines and cosines."""
    wide = torch.promote_types(vectors.dtype, torch.float32)
    turned: Tensor = in_steps()(vectors.to(wide), positions)
    return turned


task.inherit(in_steps, mistakes.turning, mistakes.angles)
