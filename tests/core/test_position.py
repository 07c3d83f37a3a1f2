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
POSITIONS = {
    "first": [0, 1, 2, 3, 4],
    "anywhere": [7, 3, 3, 1000, 11],
    "fractions": [0.5, 2.25, -3.5, 0.0, 1e3],
    "far": [1e6, 999_999.0, 123_457.0, 500_000.0, 0.0],
}
every_kind_of_positions = pytest.mark.parametrize("kind", POSITIONS)
every_size = pytest.mark.parametrize("size", SIZES)
# Rounded once, at the end: by half of the last digit.
HALF = 0.51


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


def slow_rotation(vectors, positions):
    rows, size = vectors.double().reshape(-1, vectors.shape[-1]).tolist(), vectors.shape[-1]
    for row, position in zip(rows, positions * (len(rows) // len(positions)), strict=True):
        for pair in range(size // 2):
            theta = angle(position, pair, size)
            a, b = row[2 * pair], row[2 * pair + 1]
            row[2 * pair] = a * math.cos(theta) - b * math.sin(theta)
            row[2 * pair + 1] = a * math.sin(theta) + b * math.cos(theta)
    return torch.tensor(rows, dtype=torch.float64).reshape(vectors.shape)


# Sinusoids


def test_position_1_of_size_4_by_hand():
    # Wavelengths 2π and 100 times as much.
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    assert torch.allclose(sinusoidal_encoding(2, 4), torch.tensor(expected), atol=1e-7)


@every_size
@every_kind_of_positions
def test_sinusoids_agree_with_the_formula(kind, size, dtype):
    encoding = sinusoidal_encoding(torch.tensor(POSITIONS[kind]), size, dtype=dtype)
    assert encoding.dtype == dtype
    expected = slow_sinusoids(POSITIONS[kind], size)
    tolerance = {"rtol": HALF * torch.finfo(dtype).eps, "atol": 1e-9}
    assert torch.allclose(encoding.double(), expected, **tolerance)


@every_size
def test_a_number_of_positions_means_positions_from_0(size):
    assert torch.equal(sinusoidal_encoding(5, size), sinusoidal_encoding(torch.arange(5), size))


def test_the_default_dtype_is_that_of_torch():
    torch.set_default_dtype(torch.float64)
    try:
        assert sinusoidal_encoding(2, 3).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_meta_positions_give_shapes_and_empty_positions_no_vectors():
    assert sinusoidal_encoding(5, 7, device="meta").shape == (5, 7)
    assert rotary_encoding(torch.ones(2, 5, 7, device="meta")).shape == (2, 5, 7)
    assert sinusoidal_encoding(torch.arange(0), 7).shape == (0, 7)
    assert rotary_encoding(torch.ones(2, 0, 7)).shape == (2, 0, 7)


# Rotation


def test_a_quarter_turn_by_hand():
    turned = rotary_encoding(torch.tensor([[3.0, 5.0]]), torch.tensor([math.pi / 2]))
    assert torch.allclose(turned, torch.tensor([[-5.0, 3.0]]), atol=1e-6)


@every_size
@every_kind_of_positions
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 3, 2)])
def test_rotation_agrees_with_the_formula(kind, size, batch, dtype, rng):
    vectors = torch.randn(*batch, 5, size, generator=rng).to(dtype)
    before = vectors.clone()
    turned = rotary_encoding(vectors, torch.tensor(POSITIONS[kind]))
    assert turned.dtype == dtype
    expected = slow_rotation(vectors, POSITIONS[kind])
    tolerance = {"rtol": HALF * torch.finfo(dtype).eps, "atol": 1e-6}
    if dtype == torch.float64:
        tolerance = {"rtol": 0, "atol": 1e-8}
    assert torch.allclose(turned.double(), expected, **tolerance)
    assert torch.equal(vectors, before)
    assert vectors._version == 0


@given(seeds, st.sampled_from(SIZES), st.integers(0, 100), st.integers(0, 100))
def test_the_product_of_two_rotated_vectors_depends_only_on_their_distance(
    seed, size, distance, shift
):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2, size, generator=generator, dtype=torch.float64)

    def product(start):
        query, key = rotary_encoding(vectors, torch.tensor([start + distance, start]))
        return (query @ key).item()

    assert product(shift) == pytest.approx(product(0), abs=1e-12)


def test_position_0_is_not_rotated_and_positions_begin_at_0(qkv):
    turned = rotary_encoding(qkv[0])
    assert torch.equal(turned[:, 0], qkv[0][:, 0])
    assert not torch.allclose(turned[:, 1], qkv[0][:, 1])
    assert torch.equal(turned, rotary_encoding(qkv[0], torch.arange(3)))


@every_size
def test_its_gradient_is_right(size, rng):
    vectors = torch.randn(2, 5, size, generator=rng, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(rotary_encoding, vectors)


def test_encodings_compiled_in_one_graph_or_mapped_give_the_same(qkv):
    torch.compiler.reset()
    turn = torch.compile(rotary_encoding, fullgraph=True, backend="aot_eager")
    expected = rotary_encoding(qkv[0])
    assert torch.allclose(turn(qkv[0]), expected, atol=1e-6)
    assert torch.allclose(torch.vmap(rotary_encoding)(qkv[0]), expected)
    encode = torch.compile(sinusoidal_encoding, fullgraph=True, backend="aot_eager")
    assert torch.allclose(encode(5, 7), sinusoidal_encoding(5, 7), atol=1e-6)
    torch.compiler.reset()


# Devices


class NoFloat64(TorchDispatchMode):
    """Fails where a float64 tensor is moved to a device or made there."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float64:
                assert tensor.device.type != self.device, f"{func} made float64 on {self.device}"
        return made


FAR = torch.tensor(POSITIONS["far"], dtype=torch.float64)


@pytest.mark.parametrize("positions", [5, torch.arange(5), FAR], ids=["5", "whole", "far"])
def test_nothing_needs_float64_on_its_device(positions, monkeypatch):
    # Vectors of FakeTensors for Apple's GPU cannot be sliced without one; those on "meta" can.
    monkeypatch.setattr("attnbook.position.WITHOUT_FLOAT64", ("meta",))
    with NoFloat64("meta"):
        encoding = sinusoidal_encoding(positions, 7, device="meta", dtype=torch.float32)
        of_vectors = None if isinstance(positions, int) else positions
        turned = rotary_encoding(torch.ones(2, 5, 7, device="meta"), of_vectors)
    assert (encoding.device.type, encoding.dtype) == ("meta", torch.float32)
    assert (turned.device.type, turned.dtype) == ("meta", torch.float32)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float16], ids=str)
def test_positions_on_apples_gpus_need_no_float64_there(dtype):
    with FakeTensorMode(), NoFloat64("mps"):
        positions = torch.arange(5, dtype=dtype, device="mps")
        encoding = sinusoidal_encoding(positions, 7)
        assert (encoding.device.type, encoding.dtype) == ("mps", torch.float32)


@pytest.mark.parametrize("positions", [5, torch.arange(5)], ids=["number", "tensor"])
def test_an_encoding_is_on_the_requested_device_or_on_that_of_its_positions(positions):
    with torch.device("meta"):
        expected = "cpu" if isinstance(positions, torch.Tensor) else "meta"
        assert sinusoidal_encoding(positions, 7).device.type == expected
        asked = sinusoidal_encoding(positions, 7, device="cpu")
    assert torch.equal(asked, sinusoidal_encoding(5, 7))


# Refusals

VECTORS = torch.ones(2, 5, 6)


@pytest.mark.parametrize(
    "encode", [lambda p: sinusoidal_encoding(p, 6), lambda p: rotary_encoding(VECTORS, p)]
)
@pytest.mark.parametrize(
    ("wrong", "error", "rule"),
    [
        (torch.ones(2, 3), ValueError, r"have shape \(num_positions.*got \(2, 3\)"),
        (torch.tensor(3), ValueError, r"have shape \(num_positions.*got \(\)"),
        (torch.ones(5).bool(), TypeError, "hold real numbers, got torch.bool"),
        (torch.ones(5).cfloat(), TypeError, "hold real numbers, got torch.complex"),
    ],
)
def test_wrong_positions_are_refused(encode, wrong, error, rule):
    with pytest.raises(error, match="positions must " + rule):
        encode(wrong)


@pytest.mark.parametrize(
    ("positions", "error", "rule"),
    [
        (torch.arange(4), ValueError, r"have shape \(num_positions=5,\), got \(4,\)"),
        ([0, 1], TypeError, "be a tensor of numbers, got list"),
    ],
)
def test_another_number_of_positions_than_of_vectors_is_refused(positions, error, rule):
    with pytest.raises(error, match="positions must " + rule):
        rotary_encoding(VECTORS, positions)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64, "float32"], ids=str)
def test_a_dtype_that_is_not_floating_point_is_refused(dtype):
    with pytest.raises(TypeError, match=f"dtype must be a floating-point type, got {dtype!r}"):
        sinusoidal_encoding(3, 6, dtype=dtype)
