"""The tests of a pretended GPU, in a process of their own: its registration cannot be undone."""

import subprocess
import sys

from tools import ROOT


def test_nothing_leaves_a_pretended_gpu_and_nothing_waits_for_it():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "tests/core/pretended_gpu.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
