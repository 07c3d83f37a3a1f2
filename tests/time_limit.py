"""Ends a process in which one test takes too long, and prints what each of its threads was doing.

A thread of C does it, so neither a browser that never answers nor a lock in torch can prevent it.
pytest-xdist then reports the test as failed, and starts another worker for the tests that are left.
"""

from __future__ import annotations

import faulthandler
import os

import pytest

LIMIT, FULL_LIMIT = 600, 7200  # seconds; no whole file of seconds.json takes 240
STDERR = pytest.StashKey[int]()


def pytest_addoption(parser):
    text = f"end the process if one test takes longer ({LIMIT}, with --full {FULL_LIMIT})"
    parser.addoption("--seconds-per-test", type=float, help=text)


def pytest_configure(config):
    config.stash[STDERR] = os.dup(2)  # later it is captured


def pytest_unconfigure(config):
    os.close(config.stash[STDERR])


def begin(config: pytest.Config) -> None:
    """Let the time of a test begin now."""
    usual = FULL_LIMIT if config.getoption("--full") else LIMIT
    seconds = config.getoption("--seconds-per-test") or usual
    faulthandler.dump_traceback_later(seconds, exit=True, file=config.stash[STDERR])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    begin(item.config)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_enter_pdb():
    faulthandler.cancel_dump_traceback_later()
