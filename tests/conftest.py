"""Shared by all tests of the package: devices, reproducible numbers, settings of Hypothesis."""

import atexit
import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from attnbook.selftest.paths import PATHS, take_path

# So that failed assertions in helpers show what was compared.
pytest.register_assert_rewrite(*(f"tests.{room.name}" for room in Path(__file__).parent.iterdir()))

pytest_plugins = ["tests.browsing", "tests.sampling", "tests.schedule"]

for name, examples in (("sample", 20), ("full", 100)):
    settings.register_profile(name, derandomize=True, deadline=None, max_examples=examples)

# torch stores compiled kernels in one folder for each user. A run that is killed leaves half a
# kernel there, on which later runs fail, and ATEN_CPU_CAPABILITY would mix two kinds of kernels. So
# each run has a folder of its own, which its workers inherit.
if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="torchinductor_")
    atexit.register(shutil.rmtree, os.environ["TORCHINDUCTOR_CACHE_DIR"], ignore_errors=True)


def pytest_configure(config):
    settings.load_profile("full" if config.getoption("--full") else "sample")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Garbage collection leaves out what is imported by now: it is large, and lives to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


# On tensors this small a second thread only waits for the first.
torch.set_num_threads(1)

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="this machine has no CUDA GPU"
)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=needs_cuda)])
def device(request):
    return torch.device(request.param)


@pytest.fixture(params=[torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def dtype(request):
    return request.param


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(20)


@pytest.fixture
def qkv(rng):
    """Queries, keys and values whose axes are all different primes."""
    return (
        torch.randn(2, 3, 5, generator=rng),
        torch.randn(2, 7, 5, generator=rng),
        torch.randn(2, 7, 11, generator=rng),
    )


@pytest.fixture(scope="module", params=[*PATHS[:2], pytest.param(PATHS[2], marks=pytest.mark.slow)])
def every_path(request):
    """Run a test by the plain formulas, and by the fast paths with small and large blocks."""
    with take_path(request.param):
        yield request.param
