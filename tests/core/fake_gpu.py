"""On a fake GPU: all tensors stay there, and nothing waits for it.

Its tensors are FakeTensors: they have a device and a shape, and no numbers. Mixing devices is an
error, as with CUDA, and so is reading numbers. Tensors on the CPU are real. It is not called
"cuda", because a torch without CUDA cannot record gradients there; our code treats any device but
the CPU as a GPU. Results are tested on a machine with a GPU (`device` in `tests/conftest.py`).
"""

from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from attnbook import kernel_pool, rotary_encoding, sinusoidal_encoding, window_mask
from attnbook.fused import choose
from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.translator.checkpoints import book_model
from tests.cases import MASKS, PER_EXAMPLE, every_layer_with_or_without_weights, make
from tests.core.random_calls import THRESHOLDS

# torch's own, for backends written in Python. It affects the whole process, so `test_gpu.py` runs
# these tests in a process of their own.
_setup_privateuseone_for_python_backend("fakegpu")
GPU = torch.device("fakegpu:0")


class CpuAndFakeGpu(TorchDispatchMode):
    """Runs operations on the CPU with numbers, and those on the GPU without."""

    def __init__(self, fake):
        super().__init__()
        self.fake = fake

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        inputs = tree_leaves((args, kwargs))
        on_gpu = torch.device(kwargs.get("device") or "cpu") == GPU
        if not (on_gpu or any(isinstance(value, FakeTensor) for value in inputs)):
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        args, kwargs = tree_map(self.as_fake, (args, kwargs))
        return func(*args, **kwargs)

    def as_fake(self, value):
        real = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
        return self.fake.from_tensor(value) if real else value


@contextmanager
def gpu():
    with FakeTensorMode() as fake, CpuAndFakeGpu(fake):
        yield


def move_to_gpu(module):
    """Move a module to the GPU; `module.to` would change tensors in place, which fails here."""
    for part in module.modules():
        for kind in (part._parameters, part._buffers):
            for name, tensor in kind.items():
                moved = None if tensor is None else tensor.detach().to(GPU)
                parameter = isinstance(tensor, nn.Parameter)
                kind[name] = nn.Parameter(moved) if parameter else moved
    return module


def inputs(*heads):
    shapes = (3, 5), (7, 5), (7, 11)
    return [torch.randn(2, *heads, *shape).to(GPU).requires_grad_() for shape in shapes]


def check_on_gpu(output, *leaves):
    """Check that a result and the gradients of its inputs are on the GPU."""
    found = [output, *torch.autograd.grad(output.sum(), leaves)]
    assert {tensor.device for tensor in found} == {GPU}


@pytest.fixture(params=["formula", "fast"])
def path(request, monkeypatch):
    """The formulas, or the fast paths, which take tensors without numbers here."""
    if request.param == "fast":
        for name in THRESHOLDS:
            monkeypatch.setattr(choose, name, 0)
        monkeypatch.setattr(choose, "needs_fallback", lambda *_: False)
    return request.param


@pytest.mark.usefixtures("path")
@pytest.mark.few(10)
@every_layer_with_or_without_weights
@pytest.mark.parametrize("mask", [*MASKS, "a window", "lengths on the GPU"])
def test_a_layer_stays_on_the_gpu_and_reads_nothing_there(name, mask):
    options = MASKS.get(mask, {})
    with gpu():
        if mask == "a window":
            options = {"mask": window_mask((2, 3, 7), 2, device=GPU)}
        elif not options and mask != "all keys":
            options = {"valid_lens": PER_EXAMPLE.to(GPU)}
        layer = move_to_gpu(make(name))
        given = inputs()
        check_on_gpu(layer(*given, **options), *given, *layer.parameters())
        if layer.keep_weights:
            assert layer.attention_weights.device == GPU


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", ["additive", "dot"])
def test_layers_with_heads_and_projected_keys_stay_on_the_gpu_too(name):
    with gpu():
        layer = move_to_gpu(make(name, keep_weights=False))
        given = inputs(4)
        check_on_gpu(layer(*given, PER_EXAMPLE, causal=True), *given)
        if name == "additive":
            queries, keys, values = inputs()
            projected = layer.project_keys(keys)
            output = layer.attend(queries, projected, values, PER_EXAMPLE)
            check_on_gpu(output, queries, keys, values)


def test_positions_and_kernel_regression_stay_on_the_gpu():
    with gpu():
        given = inputs()
        assert sinusoidal_encoding(5, 7, device=GPU).device == GPU
        check_on_gpu(rotary_encoding(given[0]), given[0])
        check_on_gpu(kernel_pool(*given, 0.5, PER_EXAMPLE), *given)


def test_the_decoder_and_the_translators_encoder_stay_on_the_gpu():
    with gpu():
        with unset_fake_temporarily():
            decoder, translator = book_decoder("copying"), book_model("convolutional")
        tokens = torch.tensor([[1, 2, 3, 4], [2, 3, 4, 5]]).to(GPU)
        check_on_gpu(move_to_gpu(decoder)(tokens), *decoder.parameters())
        # torch's recurrent cell, which generates the translation, does not run without numbers.
        encoder = move_to_gpu(translator.encoder)
        states, whole = encoder(tokens, torch.tensor([4, 2]).to(GPU))
        check_on_gpu(states + whole[:, None], *encoder.parameters())
