"""A real JupyterLab with a real kernel, and functions that use it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest
from nbformat import v4
from playwright.sync_api import Page, expect

from tests.engines.engine import end_process

START = 60  # seconds


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(server: subprocess.Popen, address: str) -> None:
    """Wait until the server answers; if it ends or does not answer, that is a failure."""
    limit = time.monotonic() + START
    while time.monotonic() < limit:
        assert server.poll() is None, "jupyter lab ended"
        try:
            urlopen(address, timeout=5).close()  # noqa: S310 - our own server
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"jupyter lab did not answer within {START} s")


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab in a folder, without this machine's settings."""
    port = free_port()
    options = [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--no-browser"]
    options += ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", "--allow-root"]
    options += ["--ServerApp.root_dir=.", "--log-level=ERROR"]
    own = {
        name: str(folder / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", *options], cwd=folder, env=os.environ | own
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(server, f"{address}/api/status")
        yield address
    finally:
        end_process(server)


def write_notebook(path: Path, *sources: str) -> None:
    """A notebook with these cells of code."""
    cells = [v4.new_code_cell(source.strip()) for source in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def printed(tab):
    """What the last cell has printed."""
    return tab.locator(".jp-Cell").last.locator(".jp-OutputArea-output")


def run_all(tab, address):
    """Open the notebook and run its cells."""
    tab.goto(address)
    # Before the kernel is there, a menu closes again and cells are not run.
    tab.get_by_text(re.compile(r"\| Idle$")).wait_for(timeout=START * 1000)
    tab.get_by_role("menuitem", name="Run", exact=True).click()
    tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def last_output(tab: Page, words: str | re.Pattern[str]) -> None:
    """Run the last cell until it prints this: messages wait while a kernel is busy."""
    end = time.monotonic() + START
    while True:
        tab.locator(".jp-Cell").last.locator(".cm-content").click()
        tab.keyboard.press("Control+Enter")
        try:
            expect(printed(tab)).to_have_text(words)
        except AssertionError:
            if time.monotonic() > end:
                raise
        else:
            return
