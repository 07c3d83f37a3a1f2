"""Ctrl-C reaches our programs, however they were started."""

from __future__ import annotations

import signal


def listen() -> None:
    """Raise KeyboardInterrupt at SIGINT again.

    A command that a shell without job control starts in the background, under `nohup` or by a CI
    runner inherits an ignored SIGINT; Python then installs no handler, and nothing is cleaned up.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
