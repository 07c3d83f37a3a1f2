"""Ctrl-C and SIGTERM: our programs clean up, and their handlers are removed afterwards."""

from __future__ import annotations

import signal

import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from tools import interrupts
from tools.book.build import end_kernels_at_once


@pytest.mark.parametrize(
    ("sent", "status"),
    [(signal.SIGINT, interrupts.INTERRUPTED), (signal.SIGTERM, interrupts.TERMINATED)],
)
def test_a_signal_calls_the_preparation_and_is_raised(sent, status):
    before, prepared = signal.getsignal(sent), []
    with (
        pytest.raises(KeyboardInterrupt) as caught,
        interrupts.listening(lambda: prepared.append(sent)),
    ):
        signal.raise_signal(sent)
    assert prepared == [sent]
    assert interrupts.status(caught.value) == status
    assert signal.getsignal(sent) == before


def test_an_interrupted_build_kills_its_kernels_without_a_signal(monkeypatch):
    # Both are restored after the test.
    monkeypatch.setattr(NotebookClient, "shutdown_kernel", NotebookClient.shutdown_kernel)
    original = KernelManager._async_interrupt_kernel
    monkeypatch.setattr(KernelManager, "_async_interrupt_kernel", original)
    end_kernels_at_once()
    assert NotebookClient.shutdown_kernel == "immediate"
    assert KernelManager._async_interrupt_kernel is not original
