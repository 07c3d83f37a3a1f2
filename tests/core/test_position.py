import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnbook import rotary_encoding, sinusoidal_encoding
from tests.cases import seeds

SIZES = [1, 2, 3, 6, 7]
WHERE = {
    "first": [0, 1, 2, 3, 4],
    "anywhere": [7, 3, 3, 1000, 11],
    "fractions": [0.5, 2.25, -3.5, 0.0, 1e3],
    "far": [1e6, 999_999.0, 123_457.0, 500_000.0, 0.0],
}
positions_given = pytest.mark.parametrize("where", WHERE)
every_size = pytest.mark.parametrize("size", SIZES)


def angle(position, pair, size):
    return position / 10_000 ** (2 * pair / size)


def slow_sinusoids(positions, size):
    """The formula, number by number."""
    rows = [
        [
            (math.cos if column % 2 else math.sin)(angle(position, column // 2, size))
            for column in range(size)
        ]
        for position in positions
    ]
    return torch.tensor(rows, dtype=torch.float64)


def slow_rotation(vector, position):
    turned = list(vector)
    for pair in range(len(vector) // 2):
        theta = angle(position, pair, len(vector))
        a, b = vector[2 * pair], vector[2 * pair + 1]
        turned[2 * pair] = a * math.cos(theta) - b * math.sin(theta)
        turned[2 * pair + 1] = a * math.sin(theta) + b * math.cos(theta)
    return turned


# Sinusoids


def test_position_1_of_size_4_by_hand():
    # Wavelengths 2π and 100 times as much.
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    assert torch.allclose(sinusoidal_encoding(2, 4), torch.tensor(expected), atol=1e-7)


@every_size
@positions_given
def test_sinusoids_agree_with_the_formula(where, size, device):
    positions = torch.tensor(WHERE[where], device=device)
    encoding = sinusoidal_encoding(positions, size, dtype=torch.float64)
    assert encoding.device.type == device.type
    assert torch.allclose(encoding.cpu(), slow_sinusoids(WHERE[where], size), rtol=0, atol=1e-9)


@every_size
@positions_given
def test_far_positions_are_accurate_in_float32(where, size):
    encoding = sinusoidal_encoding(torch.tensor(WHERE[where]), size)
    assert encoding.dtype == torch.float32
    assert torch.allclose(encoding.double(), slow_sinusoids(WHERE[where], size), rtol=0, atol=1e-6)


@every_size
def test_a_number_of_positions_means_the_first_ones(size):
    assert torch.equal(sinusoidal_encoding(5, size), sinusoidal_encoding(torch.arange(5), size))


def test_an_odd_size_ends_with_a_sine():
    encoding = sinusoidal_encoding(torch.tensor([3]), 3, dtype=torch.float64)
    expected = [math.sin(3), math.cos(3), math.sin(3 / 10_000 ** (2 / 3))]
    assert encoding[0].tolist() == pytest.approx(expected, abs=1e-12)


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_a_shift_is_the_same_linear_map_everywhere(position, shift):
    # sin(a + b) and cos(a + b) from sin(a) and cos(a): by b alone.
    here, there, step = sinusoidal_encoding(
        torch.tensor([position, position + shift, shift], dtype=torch.float64),
        6,
        dtype=torch.float64,
    )
    sine = here[0::2] * step[1::2] + here[1::2] * step[0::2]
    assert torch.allclose(there[0::2], sine, atol=1e-9)


def test_the_type_and_device_asked_for_are_given(dtype, device):
    encoding = sinusoidal_encoding(5, 6, device=device, dtype=dtype)
    assert encoding.dtype == dtype
    assert encoding.device.type == device.type
    expected = slow_sinusoids(range(5), 6).to(dtype)
    assert torch.allclose(encoding.cpu(), expected, atol=1e-6)


def test_the_default_type_is_torchs():
    torch.set_default_dtype(torch.float64)
    try:
        assert sinusoidal_encoding(2, 3).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_positions_without_values_give_shapes():
    assert sinusoidal_encoding(5, 7, device="meta").shape == (5, 7)
    assert rotary_encoding(torch.ones(2, 5, 7, device="meta")).shape == (2, 5, 7)


def test_no_positions_give_no_vectors():
    assert sinusoidal_encoding(torch.arange(0), 7).shape == (0, 7)
    assert rotary_encoding(torch.ones(2, 0, 7)).shape == (2, 0, 7)


# Rotation


def test_a_quarter_turn_by_hand():
    turned = rotary_encoding(torch.tensor([[3.0, 5.0]]), torch.tensor([math.pi / 2]))
    assert torch.allclose(turned, torch.tensor([[-5.0, 3.0]]), atol=1e-6)


@every_size
@positions_given
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 3, 2)])
def test_rotation_agrees_with_the_formula(where, size, batch, rng, device):
    vectors = torch.randn(*batch, 5, size, generator=rng, dtype=torch.float64)
    positions = torch.tensor(WHERE[where])
    turned = rotary_encoding(vectors.to(device), positions.to(device)).cpu()
    rows = zip(vectors.reshape(-1, size).tolist(), WHERE[where] * batch_numel(batch), strict=True)
    expected = torch.tensor([slow_rotation(*row) for row in rows], dtype=torch.float64)
    assert torch.allclose(turned, expected.reshape(vectors.shape), rtol=0, atol=1e-8)


def batch_numel(batch):
    return math.prod(batch)


@every_size
def test_far_rotations_are_accurate_in_float32(size, rng):
    vectors = torch.randn(5, size, generator=rng)
    turned = rotary_encoding(vectors, torch.tensor(WHERE["far"]))
    expected = [slow_rotation(*row) for row in zip(vectors.tolist(), WHERE["far"], strict=True)]
    expected = torch.tensor(expected, dtype=torch.float64)
    assert torch.allclose(turned.double(), expected, rtol=0, atol=1e-6)


@given(seeds, st.sampled_from(SIZES), st.integers(0, 100), st.integers(0, 100))
def test_the_product_of_two_turned_vectors_depends_on_their_distance_alone(
    seed, size, distance, shift
):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2, size, generator=generator, dtype=torch.float64)

    def product(start):
        query, key = rotary_encoding(vectors, torch.tensor([start + distance, start]))
        return (query @ key).item()

    assert product(shift) == pytest.approx(product(0), abs=1e-12)


@given(seeds, st.sampled_from(SIZES))
def test_lengths_of_vectors_are_kept(seed, size):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2, 5, size, generator=generator, dtype=torch.float64)
    lengths = rotary_encoding(vectors, torch.tensor(WHERE["far"])).norm(dim=-1)
    assert torch.allclose(lengths, vectors.norm(dim=-1), atol=1e-12)


def test_position_0_is_not_turned_and_positions_count_from_there(qkv):
    queries = qkv[0]
    turned = rotary_encoding(queries)
    assert torch.equal(turned[:, 0], queries[:, 0])
    assert not torch.allclose(turned[:, 1], queries[:, 1])
    assert torch.equal(turned, rotary_encoding(queries, torch.arange(3)))


@pytest.mark.parametrize("size", [1, 3, 7])
def test_an_odd_size_keeps_its_last_number(size, rng):
    vectors = torch.randn(2, 5, size, generator=rng)
    turned = rotary_encoding(vectors)
    assert torch.equal(turned[..., -1], vectors[..., -1])
    assert size == 1 or not torch.allclose(turned[..., 1:, :-1], vectors[..., 1:, :-1])


def test_every_head_is_turned_alike(rng):
    heads = torch.randn(2, 3, 5, 7, generator=rng)
    turned = rotary_encoding(heads)
    for head in range(3):
        assert torch.equal(turned[:, head], rotary_encoding(heads[:, head]))


def test_half_precision_is_turned_in_float32(dtype, rng):
    vectors = torch.randn(2, 5, 7, generator=rng).to(dtype)
    turned = rotary_encoding(vectors, torch.tensor(WHERE["far"]))
    assert turned.dtype == dtype
    exact = rotary_encoding(vectors.double(), torch.tensor(WHERE["far"]))
    # Rounded once, at the end: by half of the last digit.
    assert torch.allclose(turned.double(), exact, rtol=0.51 * torch.finfo(dtype).eps, atol=1e-6)


def test_vectors_are_left_as_they_came(qkv):
    before = qkv[0].clone()
    rotary_encoding(qkv[0])
    assert torch.equal(qkv[0], before)
    assert qkv[0]._version == 0


@every_size
def test_its_gradient_is_right(size, rng):
    vectors = torch.randn(2, 5, size, generator=rng, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(rotary_encoding, vectors)


def test_compiled_in_one_graph_they_give_the_same(qkv):
    torch.compiler.reset()
    turn = torch.compile(rotary_encoding, fullgraph=True, backend="aot_eager")
    assert torch.allclose(turn(qkv[0]), rotary_encoding(qkv[0]), atol=1e-6)
    encode = torch.compile(sinusoidal_encoding, fullgraph=True, backend="aot_eager")
    assert torch.allclose(encode(5, 7), sinusoidal_encoding(5, 7), atol=1e-6)
    torch.compiler.reset()


def test_examples_can_be_mapped_over(rng):
    vectors = torch.randn(2, 5, 7, generator=rng)
    assert torch.allclose(torch.vmap(rotary_encoding)(vectors), rotary_encoding(vectors))


# Devices


class NoFloat64(TorchDispatchMode):
    """Refuses what such a device refuses: to be given, or to make, a float64 tensor."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float64:
                assert tensor.device.type != self.device, f"{func} made float64 on {self.device}"
        return made


def test_a_device_without_float64_is_noticed():
    with NoFloat64("meta"):
        torch.arange(3, device="meta")
        torch.arange(3, device="cpu").double()
        with pytest.raises(AssertionError, match="made float64 on meta"):
            torch.arange(3, device="meta").double()
        with pytest.raises(AssertionError, match="made float64 on meta"):
            torch.arange(3, device="cpu").double().to("meta")


def test_an_encoding_needs_no_float64_on_its_device():
    with NoFloat64("meta"):
        for positions in (5, torch.arange(5), torch.tensor(WHERE["far"], dtype=torch.float64)):
            encoding = sinusoidal_encoding(positions, 7, device="meta", dtype=torch.float32)
            assert (encoding.device.type, encoding.dtype) == ("meta", torch.float32)


def test_a_rotation_needs_no_float64_where_there_is_none(monkeypatch):
    # Vectors made up for Apple's GPU cannot be sliced without one; those on "meta" can.
    monkeypatch.setattr("attnbook.position.WITHOUT_FLOAT64", ("meta",))
    vectors = torch.ones(2, 5, 7, device="meta")
    with NoFloat64("meta"):
        for positions in (None, torch.arange(5), torch.tensor(WHERE["far"], dtype=torch.float64)):
            turned = rotary_encoding(vectors, positions)
            assert (turned.device.type, turned.dtype) == ("meta", torch.float32)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float16], ids=str)
def test_positions_on_apples_gpus_need_no_float64_there(dtype):
    with FakeTensorMode(), NoFloat64("mps"):
        positions = torch.arange(5, dtype=dtype, device="mps")
        encoding = sinusoidal_encoding(positions, 7)
        assert (encoding.device.type, encoding.dtype) == ("mps", torch.float32)


@pytest.mark.parametrize("positions", [5, torch.arange(5)], ids=["number", "tensor"])
def test_an_encoding_is_where_it_is_asked_for_or_where_positions_are(positions):
    with torch.device("meta"):
        expected = "cpu" if isinstance(positions, torch.Tensor) else "meta"
        assert sinusoidal_encoding(positions, 7).device.type == expected
        asked = sinusoidal_encoding(positions, 7, device="cpu")
    assert torch.equal(asked, sinusoidal_encoding(5, 7))


# Refusals

bad_positions = pytest.mark.parametrize(
    ("wrong", "error", "rule"),
    [
        (torch.ones(2, 3), ValueError, r"positions must have shape \(num_positions.*got \(2, 3\)"),
        (torch.tensor(3), ValueError, r"positions must have shape \(num_positions.*got \(\)"),
        (torch.ones(5).bool(), TypeError, "positions must hold real numbers, got torch.bool"),
        (torch.ones(5).cfloat(), TypeError, "positions must hold real numbers, got torch.complex"),
    ],
)


@bad_positions
def test_wrong_positions_of_sinusoids_are_refused(wrong, error, rule):
    with pytest.raises(error, match=rule):
        sinusoidal_encoding(wrong, 6)


@bad_positions
def test_wrong_positions_of_a_rotation_are_refused(wrong, error, rule):
    with pytest.raises(error, match=rule):
        rotary_encoding(torch.ones(2, 5, 6), wrong)


def test_as_many_positions_as_vectors_are_wanted():
    rule = r"positions must have shape \(num_positions=5,\), got \(4,\)"
    with pytest.raises(ValueError, match=rule):
        rotary_encoding(torch.ones(2, 5, 6), torch.arange(4))


def test_positions_in_a_list_are_refused():
    with pytest.raises(TypeError, match="positions must be a tensor of numbers, got list"):
        rotary_encoding(torch.ones(2, 2, 6), [0, 1])


@pytest.mark.parametrize(
    ("wrong", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), ([0, 1], TypeError)]
)
def test_a_number_of_positions_that_is_none_is_refused(wrong, error):
    with pytest.raises(error, match=r"positions must be .*, got"):
        sinusoidal_encoding(wrong, 6)


@pytest.mark.parametrize(
    ("wrong", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_a_size_that_is_none_is_refused(wrong, error):
    with pytest.raises(error, match=r"size must be .*, got"):
        sinusoidal_encoding(3, wrong)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64, "float32"], ids=str)
def test_a_type_that_cannot_hold_sines_is_refused(dtype):
    with pytest.raises(TypeError, match=f"dtype must be a floating-point type, got {dtype!r}"):
        sinusoidal_encoding(3, 6, dtype=dtype)


@pytest.mark.parametrize(
    ("wrong", "error", "rule"),
    [
        ([[1.0, 2.0]], TypeError, "vectors must be a tensor, got list"),
        (torch.ones(2, 6).long(), TypeError, "vectors must hold floating-point .*torch.int64"),
        (torch.ones(6), ValueError, r"vectors must have shape \(…, num_positions, size\), got \(6"),
        (torch.tensor(1.0), ValueError, r"vectors must have shape .*, got \(\)"),
    ],
)
def test_what_is_no_row_of_vectors_is_refused(wrong, error, rule):
    with pytest.raises(error, match=rule):
        rotary_encoding(wrong)
