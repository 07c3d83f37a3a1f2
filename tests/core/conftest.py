"""Shared by the tests of layers."""

import pytest

from attnbook.fused import kernels


@pytest.fixture(autouse=True)
def _blocks_instead_of_kernels(request, monkeypatch):
    """Let compiled layers score in blocks: compiling kernels takes up to half a minute for each.

    `tests/fused/test_kernels.py` tests the kernels, and with `--full` these tests use them too.
    """
    if not request.config.getoption("--full"):
        monkeypatch.setattr(kernels, "has_cpp_compiler", lambda: False)
