"""A part of each vector turned, as many language models do it, with positions for each example."""

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.reference_steps import angles_of, rotated
from attnbook.practice.task import Function, Law, Task


def _rest(turned: Tensor, vectors: Tensor, _positions: Tensor, size: int, _base: float) -> bool:
    return torch.equal(turned[..., size:], vectors[..., size:])


task = Task(
    name="partial-rotary",
    statement=(
        "Write `partial_rotary(vectors, positions, size, base)`, the rotary encoding of models "
        "such as GPT-NeoX. `vectors`, queries or keys, has shape (batch, num_heads, num_positions, "
        "head_size); `positions` (batch, num_positions) has a row for each example, in which left "
        "padding does not count. Only the first `size` components, an even number, are turned; the "
        "others stay as they are. Component i is paired with i + size/2, for i from 0 to size/2 - "
        "1: at position p, the pair a and b is turned by the angle t = p / base^(2i/size), which "
        "gives a · cos t - b · sin t and a · sin t + b · cos t. The output has the shape and dtype "
        "of `vectors`. Compute the angles in double precision."
    ),
    starter="def partial_rotary(vectors, positions, size, base):\n    ...",
    laws=(Law("A component at index `size` or later has changed; it must stay as it is.", _rest),),
)


PADDED = [0, 0, 0, 1, 2], [0, 1, 2, 3, 4]

task.case("four of ten components")(lambda: (normal(2, 3, 5, 10), lengths(*PADDED), 4, 10_000.0))
task.case("all components")(lambda: (normal(2, 3, 5, 14), lengths(*PADDED), 14, 10_000.0))
task.case("a base of 500,000")(lambda: (normal(2, 3, 5, 14), lengths(*PADDED), 10, 500_000.0))
task.case("as many examples as heads and positions")(
    lambda: (normal(3, 3, 3, 6), lengths([0, 0, 1], [0, 1, 2], [7, 8, 9]), 4, 10_000.0)
)
task.case("one query that follows a cache")(
    lambda: (normal(2, 3, 1, 10), lengths([23], [4]), 6, 10_000.0)
)
task.case("half precision")(lambda: (normal(2, 3, 5, 14).half(), lengths(*PADDED), 10, 10_000.0))
task.case("positions around 100,000")(
    lambda: (normal(2, 3, 2, 14), lengths([100_003, 99_991], [0, 1]), 10, 10_000.0)
)
task.case("9 heads and 70 components")(
    lambda: (normal(2, 9, 2, 70), lengths([0, 1], [2, 3]), 34, 10_000.0)
)


def turn_first(vectors: Tensor, angles: Tensor, turn: Function = rotated) -> Tensor:
    """Turn the first components, as many as two for each angle."""
    half = angles.shape[-1]
    a, b, rest = vectors.double().tensor_split([half, 2 * half], dim=-1)
    return torch.cat([*turn(a, b, angles[:, None]), rest], dim=-1).to(vectors.dtype)


@task.solution("it is the book's own.")
def the_package(vectors: Tensor, positions: Tensor, size: int, base: float) -> Tensor:
    return attnbook.rotary_encoding(vectors, positions, base=base, size=size, layout="halves")


@task.solution("the first `size` components are cut into two halves; one angle turns each pair.")
def two_halves(vectors: Tensor, positions: Tensor, size: int, base: float) -> Tensor:
    return turn_first(vectors, angles_of(positions, size, base))


@task.solution(
    "turned by 90°, a pair a, b is -b, a; the result is one · cos t plus the other · sin t."
)
def a_quarter_turn_ahead(vectors: Tensor, positions: Tensor, size: int, base: float) -> Tensor:
    angles = angles_of(positions, size, base)[:, None].repeat(1, 1, 1, 2)
    first, second = vectors[..., :size].double().chunk(2, dim=-1)
    ahead = torch.cat([-second, first], dim=-1)
    turned = vectors[..., :size] * angles.cos() + ahead * angles.sin()
    return torch.cat([turned.to(vectors.dtype), vectors[..., size:]], dim=-1)


@task.solution("the result is a copy whose pairs are turned one after another.")
def pair_by_pair(vectors: Tensor, positions: Tensor, size: int, base: float) -> Tensor:
    angles, turned = angles_of(positions, size, base)[:, None], vectors.clone()
    for pair in range(size // 2):
        pairs = [pair, pair + size // 2]
        a, b = vectors[..., pairs].double().unbind(-1)
        new = rotated(a, b, angles[..., pair])
        turned[..., pairs] = torch.stack(new, dim=-1).to(vectors.dtype)
    return turned


@task.test
def test_only_the_first_components_turn(partial_rotary: Function) -> None:
    output = partial_rotary(torch.ones(1, 1, 1, 5), torch.tensor([[1]]), 2, 10_000.0)
    expected = [math.cos(1) - math.sin(1), math.sin(1) + math.cos(1), 1, 1, 1]
    assert torch.allclose(output.flatten(), torch.tensor(expected))


@task.test
def test_pairs_are_halves_and_slow_down_by_the_base(partial_rotary: Function) -> None:
    vectors = torch.tensor([0.0, 1, 0, 0, 0, 0]).expand(1, 1, 1, 6)
    output = partial_rotary(vectors, torch.tensor([[10]]), 4, 100.0)
    expected = [0, math.cos(1), 0, math.sin(1), 0, 0]  # 10 / 100^(2/4) = 1
    assert torch.allclose(output.flatten(), torch.tensor(expected))


@task.test
def test_each_example_has_its_own_positions(partial_rotary: Function) -> None:
    vectors = torch.tensor([1.0, 0]).expand(2, 2, 2, 2)
    output = partial_rotary(vectors, torch.tensor([[0, 0], [0, 3]]), 2, 10_000.0)
    angles = torch.tensor([[0.0, 0], [0, 3]])[:, None].expand(2, 2, 2)
    assert torch.allclose(output, torch.stack([angles.cos(), angles.sin()], dim=-1))


@task.test
def test_a_far_position_turns_exactly(partial_rotary: Function) -> None:
    vectors = torch.eye(10)[1].reshape(1, 1, 1, 10).half()
    output = partial_rotary(vectors.float(), torch.tensor([[100_003]]), 10, 10_000.0)
    assert abs(output.flatten()[1].item() - math.cos(100_003 / 10_000**0.2)) < 1e-5
    assert partial_rotary(vectors, torch.tensor([[5]]), 4, 10_000.0).dtype == torch.float16


def turned_by(angles: Function) -> Function:
    """Correct code, of which a bug changes the angles."""
    return lambda vectors, positions, size, base: turn_first(
        vectors, angles(vectors, positions, size, base)
    )


def in_steps(angles: Function = angles_of, turn: Function = rotated) -> Function:
    """Correct code, of which a bug changes one step."""
    return lambda vectors, positions, size, base: turn_first(
        vectors, angles(positions, size, base), turn
    )


task.bug(
    "all components turned",
    "all components are turned, and not only the first `size`.",
    symptom="Weights of a model that turns only a part of each head give nonsense.",
    origin="vllm#43676",
    fix="turn `vectors[..., :size]`, and append `vectors[..., size:]` unchanged.",
)(turned_by(lambda x, positions, _, base: angles_of(positions, x.shape[-1], base)))


@task.bug(
    symptom="Weights of a published model give nonsense, although the speeds are right.",
    fix="the first `size` components turn, not the last.",
)
def the_last_components_turned(
    vectors: Tensor, positions: Tensor, size: int, base: float
) -> Tensor:
    """the last `size` components are turned, and the first stay."""
    first, last = vectors.tensor_split([-size], dim=-1)
    return torch.cat([first, turn_first(last, angles_of(positions, size, base))], dim=-1)


task.bug(
    "exponents over the whole head",
    "the exponents are divided by the size of the head, not by that of the turned part.",
    symptom="A published model attends to other distances than it has learned.",
    fix="divide the exponents by `size`, not by the size of the head.",
)(
    turned_by(
        lambda x, positions, size, base: angles_of(positions, size, base ** (size / x.shape[-1]))
    )
)

task.bug(
    "always the usual base",
    "the base is 10,000, whatever is given.",
    symptom="A model with another base attends to other distances than it has learned.",
    fix="use the `base` that is given.",
)(turned_by(lambda _, positions, size, _base: angles_of(positions, size, 10_000.0)))


@task.bug(
    symptom="It trains well, and weights trained elsewhere give nonsense here.",
    fix="pair component i with i + size/2, as in the task.",
)
def neighbours_paired(vectors: Tensor, positions: Tensor, size: int, base: float) -> Tensor:
    """neighbours are a pair, where the task pairs component i with i + size/2."""
    return attnbook.rotary_encoding(vectors, positions, base=base, size=size)


@task.bug(
    symptom="Weights of a published model give nonsense as soon as only a part is turned.",
    fix="pair within the turned part: i + size/2, not i + head_size/2.",
)
def halves_of_the_whole_head(vectors: Tensor, positions: Tensor, size: int, base: float) -> Tensor:
    """component i is paired with i + head_size/2, which may be outside of the turned part."""
    half, pairs = vectors.shape[-1] // 2, size // 2
    angles, turned = angles_of(positions, size, base)[:, None], vectors.clone()
    a, b = vectors[..., :pairs].double(), vectors[..., half : half + pairs].double()
    new = rotated(a, b, angles)
    turned[..., :pairs], turned[..., half : half + pairs] = (x.to(vectors.dtype) for x in new)
    return turned


task.bug(
    "positions of the first example",
    "all examples are turned by the positions of the first.",
    symptom="A row of packed documents is right only if the first row is packed in the same way.",
    fix="give the angles the shape (batch, 1, num_positions, size/2).",
)(turned_by(lambda _, p, *rest: angles_of(p[:1].expand_as(p), *rest)))

task.inherit(in_steps, mistakes.turning, mistakes.angles)
