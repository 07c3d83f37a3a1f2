"""Kernels that are forks of a process with torch and Matplotlib."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

from tools.book.kernels import Kernels, forked_kernels

PATIENCE = 60  # seconds
STATE = """
import json, os, sys
imported = [name in sys.modules for name in ("torch", "matplotlib.pyplot", "attnbook")]
print(json.dumps([os.getpid(), os.getppid(), imported, os.getcwd(), sys.path[0]]))
"""


@pytest.fixture
def kernel(tmp_path):
    """A kernel's manager, and what it says about its process."""
    with forked_kernels():
        manager, client = start_new_kernel(cwd=str(tmp_path))
        try:
            printed = []
            client.execute_interactive(STATE, output_hook=printed.append, timeout=PATIENCE)
            messages = [message["content"] for message in printed]
            yield manager, *json.loads("".join(each.get("text", "") for each in messages))
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def has_ended(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_ended(pid):
    end = time.monotonic() + PATIENCE
    while not has_ended(pid):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_kernel_has_the_imports_that_are_slow_and_none_of_ours(kernel, tmp_path):
    manager, pid, _, imported, folder, first = kernel
    assert imported == [True, True, False]
    assert folder == str(tmp_path)
    assert "book" not in first
    assert manager.is_alive()
    manager.shutdown_kernel(now=True)
    assert not manager.is_alive()
    assert has_ended(pid)


@pytest.mark.weekly
def test_a_kernel_ends_if_the_process_that_it_was_forked_from_is_killed(kernel):
    _, pid, parent, *_ = kernel
    os.kill(parent, signal.SIGKILL)
    wait_until_ended(pid)


@pytest.mark.weekly
def test_a_kernel_ends_with_the_context():
    kernels = Kernels()
    command = [sys.executable, "-m", "ipykernel_launcher"]
    fork = kernels.start(command, env=dict(os.environ))
    assert fork.poll() is None
    kernels.end()
    wait_until_ended(fork.pid)
    assert fork.wait() == -signal.SIGKILL
