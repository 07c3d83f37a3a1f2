"""Ctrl-C and SIGTERM: what our programs do first, and that their handlers go again."""

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
def test_a_signal_is_prepared_for_and_raised(sent, status):
    before, prepared = signal.getsignal(sent), []
    with (
        pytest.raises(KeyboardInterrupt) as caught,
        interrupts.listening(lambda: prepared.append(sent)),
    ):
        signal.raise_signal(sent)
    assert prepared == [sent]
    assert interrupts.status(caught.value) == status
    assert signal.getsignal(sent) == before


def test_an_interrupted_build_sends_no_signal_to_its_kernels_and_does_not_wait(monkeypatch):
    # So that both are restored.
    monkeypatch.setattr(NotebookClient, "shutdown_kernel", NotebookClient.shutdown_kernel)
    usual = KernelManager._async_interrupt_kernel
    monkeypatch.setattr(KernelManager, "_async_interrupt_kernel", usual)
    end_kernels_at_once()
    assert NotebookClient.shutdown_kernel == "immediate"
    assert KernelManager._async_interrupt_kernel is not usual
