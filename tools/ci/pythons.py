"""Run the tests of the package and all chapters on each promised Python that is found.

python -m tools.ci.pythons [PYTHON ...]

Without arguments it looks for them on the PATH. Each has an environment of its own in
`_build/pythons`. They run one after the other, and a table at the end has their results.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT
from tools.ci.run_tests import clock

PARTS = {"package": "unit", "chapters": "nbval"}
VERSION = "import platform; print(platform.python_version())"


def oldest_torch(root: Path) -> str:
    """The requirement of the oldest torch that the metadata promise."""
    about = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    (least,) = re.findall(r"^torch>=([\d.]+)$", "\n".join(about["project"]["dependencies"]), re.M)
    return f"torch=={least}.*"


def promised_versions(root: Path = ROOT) -> list[str]:
    """Read the versions that the package's metadata promises, such as 3.12."""
    about = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    ends = [line.rpartition(" :: ")[2] for line in about["project"]["classifiers"]]
    return [end for end in ends if end.startswith("3.")]


def version_of(python: str) -> str:
    """Ask a program for its version, such as 3.12.1; empty if it is no Python."""
    try:
        done = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def find(series: str, programs: Sequence[str]) -> tuple[str, str] | None:
    """Find the first program of a version: its name, and its whole version."""
    for python in programs or [f"python{series}", "python3"]:
        if (version := version_of(python)).startswith(f"{series}."):
            return python, version
    return None


def run(series: str, python: str) -> list[str]:
    """Make the environment, run each part in it, and say how it ended."""
    make = ["make", "--no-print-directory", f"VENV=_build/pythons/{series}", f"PYTHON={python}"]
    codes = [
        subprocess.run([*make, part], cwd=ROOT, check=False).returncode for part in PARTS.values()
    ]
    return ["FAILED" if code else "passed" for code in codes]


def main(programs: Sequence[str]) -> int:
    """Run all that are found; 1 if a part of one failed, or none is found."""
    rows = [("Python", *PARTS, "time")]
    for series in promised_versions():
        found = find(series, programs)
        if found is None:
            rows.append((series, *["not run"] * len(PARTS), ""))
            continue
        python, version = found
        print(f"\n--- Python {version} ({python})", flush=True)
        start = time.monotonic()
        results = run(series, python)
        rows.append((version, *results, clock(time.monotonic() - start)))
    print("\n".join(["", *("".join(f"{cell:10}" for cell in row).rstrip() for row in rows)]))
    results = [cell for row in rows for cell in row]
    return int("FAILED" in results or "passed" not in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
