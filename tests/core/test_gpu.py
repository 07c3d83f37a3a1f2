"""On a fake GPU on every machine, and on a real one where there is one."""

import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
import torch

from attnbook import (
    checked,
    length_mask,
)
from tests.cases import (
    MASKS,
    every_layer_with_or_without_weights,
    every_mask,
    gradients,
    make,
)
from tools import ROOT

SHAPE = (2, 3, 7)


def test_all_tensors_stay_on_a_fake_gpu_and_none_is_read():
    # In a process of their own, because the device cannot be unregistered.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "tests/core/fake_gpu.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


@contextmanager
def no_waiting():
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def refuses_on_gpu():
    try:
        length_mask(torch.tensor([99, -1], device="cuda"), SHAPE)
    except ValueError as error:
        return "got 99 at index (0,)" in str(error)
    return False


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU")
class TestOnARealGpu:
    @pytest.mark.usefixtures("every_path")
    @every_layer_with_or_without_weights
    @every_mask
    def test_a_layer_gives_the_same_on_a_gpu(self, name, mask, qkv):
        expected = gradients(make(name), qkv, **mask)
        found = gradients(make(name).cuda(), [x.cuda() for x in qkv], **mask)
        for left, right in zip(found, expected, strict=True):
            assert left.is_cuda
            assert torch.allclose(left.cpu(), right, atol=1e-4)

    @every_layer_with_or_without_weights
    @pytest.mark.parametrize("mask", MASKS)
    def test_a_layer_does_not_wait_for_the_gpu(self, name, mask, qkv):
        options = {k: x.cuda() if torch.is_tensor(x) else x for k, x in MASKS[mask].items()}
        layer, inputs = make(name).cuda(), [x.cuda() for x in qkv]
        layer(*inputs, **options)
        with no_waiting():
            layer(*inputs, **options)

    def test_lengths_are_read_on_the_cpu_and_by_checked(self):
        with pytest.raises(ValueError, match=r"got 99 at index \(0,\)"):
            length_mask(torch.tensor([99, -1]), SHAPE, "cuda")
        unread = length_mask(torch.tensor([99, -1], device="cuda"), SHAPE)
        assert unread.sum(-1).flatten().tolist() == [7, 0]
        outcome = []
        with checked():
            assert refuses_on_gpu()
            thread = threading.Thread(target=lambda: outcome.append(refuses_on_gpu()))
            thread.start()
            thread.join()
        assert outcome == [False]
