"""Start kernels as forks of one process that has imported what every chapter imports.

Importing torch and Matplotlib takes some seconds of a processor for each chapter. Nothing of
`attnbook` is imported before the fork.

As a plugin of pytest (`-p tools.book.kernels`) this forks the kernels of nbval.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, TextIO
from unittest.mock import patch

from jupyter_client.provisioning import local_provisioner

PRELOADED = ("torch", "matplotlib.pyplot", "ipykernel.kernelapp", "ipywidgets", "anywidget")
# A kernel sets this before a chapter imports Matplotlib.
BACKEND = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}


class Kernels:
    """The process that has imported the modules; it starts with the first kernel."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(
        self,
        command: Sequence[str],
        env: dict[str, str],
        cwd: str | None = None,
        stderr: Any = None,  # noqa: ANN401 - what Popen takes
        **_others: object,
    ) -> Fork:
        """Start a kernel; takes the arguments of `jupyter_client.launch_kernel`."""
        if self.process is None:
            self.socket, theirs = socket.socketpair()
            self.channel = self.socket.makefile("rw")
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                env=env | BACKEND,
                stdin=theirs.fileno(),
                stderr=stderr,
                start_new_session=True,  # Ctrl+C is for the process that has started it
            )
            theirs.close()
        arguments = command[command.index("ipykernel_launcher") :]
        return Fork(self, self.ask(arguments=arguments, environment=env, folder=cwd or os.curdir))

    def ask(self, **request: object) -> Any:  # noqa: ANN401 - JSON
        """Send a request to the process, and wait for its answer."""
        print(json.dumps(request), file=self.channel, flush=True)
        return json.loads(self.channel.readline())

    def end(self) -> None:
        """End the process; a kernel that still runs notices within a second, and ends."""
        if self.process is not None:
            self.channel.close()
            self.socket.close()
            self.process.wait()


class Fork:
    """A kernel, with what jupyter_client uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, kernels: Kernels, pid: int) -> None:
        self.kernels = kernels
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        if self.returncode is None:
            lost = self.kernels.process is None or self.kernels.process.poll() is not None
            self.returncode = -signal.SIGKILL if lost else self.kernels.ask(ended=self.pid)
        return self.returncode

    def wait(self) -> int:
        """Wait for the exit code."""
        while (code := self.poll()) is None:
            time.sleep(0.05)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to this process."""
        os.kill(self.pid, number)


@contextmanager
def forked_kernels() -> Iterator[None]:
    """All kernels that start in this context are forks, and end at the latest soon after it."""
    kernels = Kernels()
    try:
        with patch.object(local_provisioner, "launch_kernel", kernels.start):
            yield
    finally:
        kernels.end()


def pytest_configure(config: Any) -> None:  # noqa: ANN401 - pytest is not always installed
    """Fork the kernels of nbval."""
    stack = ExitStack()
    stack.enter_context(forked_kernels())
    config.add_cleanup(stack.close)


def pytest_collection_modifyitems(items: Sequence[Any]) -> None:
    """Do not compare what code outputs that the reader has yet to write: it is not stored."""
    for item in items:
        if "to-write" in item.cell.metadata.get("tags", []):
            item.options["check"] = False


def serve(requests: TextIO) -> dict[str, Any] | None:
    """Answer requests until the process that sends them ends; in a fork, gives its request."""
    for line in iter(requests.readline, ""):
        request: dict[str, Any] = json.loads(line)
        if pid := request.get("ended"):
            ended, state = os.waitpid(pid, os.WNOHANG)
            answer = os.waitstatus_to_exitcode(state) if ended else None
        else:
            answer = os.fork()
            if not answer:
                return request
            os.setpgid(answer, answer)  # a signal to a kernel goes to its group
        print(json.dumps(answer), file=requests, flush=True)
    return None


def become_kernel(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Run a kernel in this process, with its own environment and folder."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = ""  # ipykernel_launcher removes it
    # It ends when its parent has ended.
    sys.argv = [*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for module in PRELOADED:
        import_module(module)
    gc.freeze()  # a collection in a fork would copy all pages of memory
    channel = socket.socket(fileno=0)
    if fork := serve(channel.makefile("rw")):
        channel.detach()
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        become_kernel(**fork)
