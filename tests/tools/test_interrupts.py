"""Ctrl-C and SIGTERM: our programs clean up, and their handlers are removed afterwards."""

from __future__ import annotations

import signal

import pytest

from tools import interrupts


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
