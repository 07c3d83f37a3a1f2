"""On a GPU that is only pretended: nothing leaves it, and nothing waits for it.

Its tensors are FakeTensors: they have a device and a shape, and no numbers. What would mix
devices is refused, as CUDA refuses it, and so is what would read numbers. Tensors on the CPU are
real ones. It is not called "cuda", because a torch without CUDA cannot note gradients there; to
our code any device but the CPU is a GPU. What a GPU computes is for a machine with one (`device`
in `tests/conftest.py`).
"""

from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from attnbook import kernel_pool, rotary_encoding, sinusoidal_encoding, window_mask
from attnbook.fused import when_faster
from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.translator.checkpoints import book_model
from tests.cases import MASKS, PER_EXAMPLE, every_layer_kept_or_not, make
from tests.core.random_calls import THRESHOLDS

# torch's own, for backends written in Python. It lasts as long as the process, and disturbs others
# there: `test_gpu.py` gives these tests one of their own.
_setup_privateuseone_for_python_backend("pretended")
GPU = torch.device("pretended:0")


class Both(TorchDispatchMode):
    """Runs what is on the CPU there, and what is on the GPU without numbers."""

    def __init__(self, fake):
        super().__init__()
        self.fake = fake

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = tree_leaves((args, kwargs))
        there = torch.device(kwargs.get("device") or "cpu") == GPU
        if not (there or any(isinstance(value, FakeTensor) for value in given)):
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        args, kwargs = tree_map(self.known, (args, kwargs))
        return func(*args, **kwargs)

    def known(self, value):
        real = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
        return self.fake.from_tensor(value) if real else value


@contextmanager
def gpu():
    with FakeTensorMode() as fake, Both(fake):
        yield


def moved(module):
    """A copy on the GPU; `module.to` would have to change tensors in place."""
    for part in module.modules():
        for kind in (part._parameters, part._buffers):
            for name, tensor in kind.items():
                there = None if tensor is None else tensor.detach().to(GPU)
                parameter = isinstance(tensor, nn.Parameter)
                kind[name] = nn.Parameter(there) if parameter else there
    return module


def inputs(*heads):
    shapes = (3, 5), (7, 5), (7, 11)
    return [torch.randn(2, *heads, *shape).to(GPU).requires_grad_() for shape in shapes]


def check_there(output, *leaves):
    """Of a result and the gradients of what it was made from, nothing has left the GPU."""
    found = [output, *torch.autograd.grad(output.sum(), leaves)]
    assert {tensor.device for tensor in found} == {GPU}


@pytest.fixture(params=["formula", "fast"])
def path(request, monkeypatch):
    """The formulas, or the fast paths, which have nothing against tensors without numbers here."""
    if request.param == "fast":
        for name in THRESHOLDS:
            monkeypatch.setattr(when_faster, name, 0)
        monkeypatch.setattr(when_faster, "needs_fallback", lambda *_: False)
    return request.param


def test_a_pretended_gpu_refuses_to_mix_devices_and_to_be_read():
    with gpu():
        there = torch.ones(3).to(GPU)
        assert (there + there).device == GPU
        assert (torch.ones(3) + 1).tolist() == [2, 2, 2]  # the CPU has numbers
        with pytest.raises(RuntimeError, match="at least two devices, pretended:0 and cpu"):
            there + torch.arange(3)
        for read in (torch.Tensor.item, bool, int):
            with pytest.raises(DataDependentOutputException):
                read(there.sum())


@pytest.mark.usefixtures("path")
@every_layer_kept_or_not
@pytest.mark.parametrize("mask", [*MASKS, "a window", "lengths on the GPU"])
def test_a_layer_stays_on_the_gpu_and_reads_nothing_there(name, mask):
    options = MASKS.get(mask, {})
    with gpu():
        if mask == "a window":
            options = {"mask": window_mask((2, 3, 7), 2, device=GPU)}
        elif not options and mask != "all keys":
            options = {"valid_lens": PER_EXAMPLE.to(GPU)}
        layer = moved(make(name))
        given = inputs()
        check_there(layer(*given, **options), *given, *layer.parameters())
        if layer.keep_weights:
            assert layer.attention_weights.device == GPU


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", ["additive", "dot"])
def test_layers_with_heads_and_kept_keys_stay_there_too(name):
    with gpu():
        layer = moved(make(name, keep_weights=False))
        given = inputs(4)
        check_there(layer(*given, PER_EXAMPLE, causal=True), *given)
        if name == "additive":
            queries, keys, values = inputs()
            projected = layer.project_keys(keys)
            output = layer.attend(queries, projected, values, PER_EXAMPLE)
            check_there(output, queries, keys, values)


def test_positions_and_kernel_regression_stay_on_the_gpu():
    with gpu():
        given = inputs()
        assert sinusoidal_encoding(5, 7, device=GPU).device == GPU
        check_there(rotary_encoding(given[0]), given[0])
        check_there(kernel_pool(*given, 0.5, PER_EXAMPLE), *given)


def test_the_decoder_and_the_translators_encoder_stay_on_the_gpu():
    with gpu():
        with unset_fake_temporarily():
            decoder, translator = book_decoder("copying"), book_model("convolutional")
        tokens = torch.tensor([[1, 2, 3, 4], [2, 3, 4, 5]]).to(GPU)
        check_there(moved(decoder)(tokens), *decoder.parameters())
        # torch's recurrent cell, which writes the translation, has no form without numbers.
        encoder = moved(translator.encoder)
        states, whole = encoder(tokens, torch.tensor([4, 2]).to(GPU))
        check_there(states + whole[:, None], *encoder.parameters())
