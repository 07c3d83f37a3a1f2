import math

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnbook import (
    MultiHeadAttention,
    causal_mask,
    convert_layout,
    position_mask,
    rotary_encoding,
    rotary_frequencies,
    sinusoidal_encoding,
    split_heads,
    window_mask,
)
from attnbook.selftest.oracle import rotate_vector

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


def angle(position, pair, size, base=10_000):
    return position / base ** (2 * pair / size)


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


def slow_rotation(vectors, positions, size=None, base=10_000, layout="adjacent"):
    rows, size = vectors.double().reshape(-1, vectors.shape[-1]), size or vectors.shape[-1]
    at = positions * (len(rows) // len(positions))
    turned = [rotate_vector(*pair, size, base, layout) for pair in zip(rows, at, strict=True)]
    return torch.stack(turned).reshape(vectors.shape)


# Sinusoids


@every_size
@every_kind_of_positions
def test_sinusoids_agree_with_the_formula(kind, size, dtype):
    encoding = sinusoidal_encoding(torch.tensor(POSITIONS[kind]), size, dtype=dtype)
    assert encoding.dtype == dtype
    expected = slow_sinusoids(POSITIONS[kind], size)
    tolerance = {"rtol": HALF * torch.finfo(dtype).eps, "atol": 1e-9}
    assert torch.allclose(encoding.double(), expected, **tolerance)


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


@pytest.mark.parametrize("layout", ["adjacent", "halves"])
@pytest.mark.parametrize(("size", "base"), [(None, 500_000.0), (4, 10_000), (2, 7.5)])
def test_a_part_is_rotated_in_either_layout_by_its_base(layout, size, base, rng):
    vectors = torch.randn(2, 3, 5, 6, generator=rng, dtype=torch.float64)
    options = {"layout": layout, "size": size, "base": base}
    turned = rotary_encoding(vectors, torch.tensor(POSITIONS["anywhere"]), **options)
    expected = slow_rotation(vectors, POSITIONS["anywhere"], size, base, layout)
    assert torch.allclose(turned, expected, rtol=0, atol=1e-10)
    assert torch.equal(turned[..., size or 6 :], vectors[..., size or 6 :])
    frequencies = rotary_frequencies(size or 6, base)
    again = rotary_encoding(
        vectors, torch.tensor(POSITIONS["anywhere"]), layout=layout, frequencies=frequencies
    )
    assert torch.allclose(again, turned, rtol=0, atol=1e-10)


@pytest.mark.parametrize("heads", [(), (3,), (3, 2)])
def test_each_example_can_have_its_own_positions(heads, rng):
    vectors = torch.randn(2, *heads, 5, 6, generator=rng)
    positions = torch.tensor([[0, 0, 0, 1, 2], [7, 8, 9, 10, 11]])
    expected = [rotary_encoding(*pair) for pair in zip(vectors, positions, strict=True)]
    assert torch.equal(rotary_encoding(vectors, positions), torch.stack(expected))
    sines = torch.stack([sinusoidal_encoding(row, 7) for row in positions])
    assert torch.equal(sinusoidal_encoding(positions, 7), sines)


@pytest.mark.parametrize("size", [None, 4])
@pytest.mark.parametrize("to", ["adjacent", "halves"])
def test_projections_in_another_layout_give_equal_scores(to, size, rng):
    weights, x = torch.randn(18, 7, generator=rng).double(), torch.randn(2, 5, 7).double()
    had = "halves" if to == "adjacent" else "adjacent"
    converted = convert_layout(weights, 3, to, size=size)
    scores = []
    for rows, layout in ((weights, had), (converted, to)):
        heads = rotary_encoding(split_heads(x @ rows.T, 3), layout=layout, size=size)
        scores.append(heads @ heads.mT)
    assert torch.allclose(*scores, rtol=0, atol=1e-12)
    assert torch.equal(convert_layout(converted, 3, had, size=size), weights)
    assert torch.equal(convert_layout(weights[:, 0], 3, to, size=size), converted[:, 0])


def test_slow_pairs_are_slowed_down_and_fast_ones_are_not():
    plain = rotary_frequencies(8, 100.0)
    assert torch.allclose(plain, torch.tensor([angle(1, i, 8, 100) for i in range(4)]).double())
    assert torch.equal(rotary_frequencies(8, 100.0, scaling="linear", factor=4), plain / 4)
    # In 100 positions the pairs make 16, 5, 1.6 and 0.5 turns.
    long = {"factor": 4.0, "original_length": 100}
    llama = plain / rotary_frequencies(8, 100.0, scaling="llama3", **long)
    assert llama[:2].tolist() == [1, 1]
    share = (100 * 0.1 / (2 * math.pi) - 1) / 3
    assert llama[2].item() == pytest.approx(1 / (share + (1 - share) / 4))
    assert llama[3].item() == pytest.approx(4)
    # Fewer turns than 32 in the first pair, fewer than 1 from index 2.4: floor and ceil.
    yarn = plain / rotary_frequencies(8, 100.0, scaling="yarn", **long)
    expected = [1 / (share + (1 - share) / 4) for share in (1, 2 / 3, 1 / 3, 0)]
    assert yarn.tolist() == pytest.approx(expected)


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


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32], ids=str)
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


SHAPE, AT = (2, 5, 5), torch.arange(5)
LAYER = MultiHeadAttention(6, 6, 6, 6, 2)
LAYER_THAT_TURNS = MultiHeadAttention(6, 6, 6, 6, 1, rotary=rotary_encoding)
TAKE_POSITIONS = {
    "sinusoidal": lambda p: sinusoidal_encoding(p, 6),
    "rotary": lambda p: rotary_encoding(VECTORS, p),
    "causal": lambda p: causal_mask(SHAPE, query_positions=p, key_positions=AT),
    "causal, of keys": lambda p: causal_mask(SHAPE, query_positions=AT, key_positions=p),
    "window": lambda p: window_mask(SHAPE, 2, query_positions=p, key_positions=AT),
    "position": lambda p: position_mask(AT, p, SHAPE),
    "layer": lambda p: LAYER(VECTORS, VECTORS, VECTORS, positions=p, causal=True),
    "layer, of keys": lambda p: LAYER(*[VECTORS] * 3, positions=AT, key_positions=p),
    "layer that turns": lambda p: LAYER_THAT_TURNS(*[VECTORS] * 3, positions=p),
}


@pytest.mark.parametrize("take", TAKE_POSITIONS.values(), ids=TAKE_POSITIONS)
@pytest.mark.parametrize(
    ("wrong", "error", "rule"),
    [
        (torch.ones(2, 3, 5), ValueError, r"have shape \(num_.*got \(2, 3, 5\)"),
        (torch.ones(5).bool(), TypeError, "hold real numbers, got torch.bool"),
        (torch.ones(5).cfloat(), TypeError, "hold real numbers, got torch.complex64"),
        (AT.bfloat16(), TypeError, "hold whole .*, got torch.bfloat16, in which 257 is 256: make"),
        (AT.half(), TypeError, "hold whole numbers, .* got torch.float16, in which 2049 is 2048"),
        (AT.to(torch.float8_e5m2), TypeError, "hold whole .* got torch.float8_e5m2, .* 9 is 8"),
    ],
)
def test_wrong_positions_are_refused_wherever_they_are_given(take, wrong, error, rule):
    with pytest.raises(error, match="positions must " + rule):
        take(wrong)


@pytest.mark.parametrize(
    ("positions", "error", "rule"),
    [
        (torch.arange(4), ValueError, r"have shape \(num_positions=5,\) or .*got \(4,\)"),
        (torch.ones(3, 5), ValueError, r"have shape .* or \(batch=2, .*, got \(3, 5\)"),
    ],
)
def test_another_number_of_positions_than_of_vectors_is_refused(positions, error, rule):
    with pytest.raises(error, match="positions must " + rule):
        rotary_encoding(VECTORS, positions)


@pytest.mark.parametrize("dtype", [torch.int64, "float32"], ids=str)
def test_a_dtype_that_is_not_floating_point_is_refused(dtype):
    with pytest.raises(TypeError, match=f"dtype must be a floating-point type, got {dtype!r}"):
        sinusoidal_encoding(3, 6, dtype=dtype)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layout": "pairs"}, ValueError, "layout must be 'adjacent' or 'halves', got 'pairs'"),
        ({"size": 3}, ValueError, "size must be even, .* got 3"),
        ({"size": 8}, ValueError, "size must be at most 6, the size of a vector, got 8"),
        ({"base": 1}, ValueError, "base must be above 1 and finite, got 1"),
        ({"base": "x"}, TypeError, "base must be a number, got 'x'"),
        ({"frequencies": torch.ones(4)}, ValueError, "frequencies must be of at most 3 pairs"),
        ({"frequencies": torch.ones(2, 1)}, ValueError, "frequencies must be one .* per pair"),
        ({"frequencies": torch.ones(2), "size": 4}, ValueError, "without base and size, got both"),
    ],
)
def test_a_rotation_that_does_not_fit_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        rotary_encoding(VECTORS, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scaling": "ntk"}, ValueError, "scaling must be None or one of .*llama3.*got 'ntk'"),
        ({"scaling": "linear", "factor": 0.5}, ValueError, "factor must be at least 1 and finite"),
        ({"scaling": "yarn", "factor": 2}, ValueError, "original_length must be given for"),
        (
            {"scaling": "yarn", "original_length": 9, "slow_turns": 40},
            ValueError,
            "fast_turns must be above 40 and finite, got 32",
        ),
    ],
)
def test_a_scaling_that_cannot_be_right_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        rotary_frequencies(8, **options)
