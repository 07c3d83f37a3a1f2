"""Installing beside what is there: by pip and by uv, from the folder and from a wheel."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.project.built_package import (
    ROOT,
    UV,
    VERSION,
    Built,
    build,
    new_environment,
    run,
    site_of,
)

pytestmark = pytest.mark.slow

NEWER = "2.99.0"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    return build(tmp_path_factory.mktemp("package"))


def named(built: Built, where: str, extra: str = "") -> str:
    """What is asked for: the folder that one stands in, or a wheel."""
    return f".{extra}" if where == "folder" else f"attnbook{extra} @ {built.wheel.as_uri()}"


def plan(python: Path, asked: str, folder: Path) -> dict[str, str]:
    """What uv would install if it were asked in a folder, each with its version."""
    said = run(UV, "pip", "install", "--dry-run", "--python", python, asked, cwd=folder).stderr
    lines = re.findall(r"^ \+ ([\w.-]+)(?:==| @ )(.*)$", said, re.MULTILINE)
    return dict(lines) | {"attnbook": VERSION}


def test_the_folder_asks_for_what_a_wheel_of_it_asks_for(built, tmp_path):
    run(UV, "venv", "--python", sys.executable, tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    asked = plan(python, named(built, "folder", "[figures]"), built.source)
    assert asked == plan(python, named(built, "wheel", "[figures]"), tmp_path)
    assert {"torch", "jaxtyping", "anywidget"} <= {*asked}


# Beside a torch that is newer than any


@pytest.fixture
def newer(tmp_path) -> Path:
    """An environment whose torch, a borrowed one, goes by a number that no index has."""
    python = new_environment(tmp_path)
    about = site_of(python) / f"torch-{NEWER}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {NEWER}\n")
    (about / "RECORD").touch()
    return python


def pip(python: Path) -> list[object]:
    return [sys.executable, "-m", "pip", "--python", python, "install"]


def uv(python: Path) -> list[object]:
    return [UV, "pip", "install", "--python", python]


LOOK = """
import json, torch
from importlib.metadata import version
from attnbook import masked_softmax

weights = masked_softmax(torch.zeros(1, 1, 3), torch.tensor([2]))
print(json.dumps([version("torch"), weights.tolist()]))
"""


@pytest.mark.parametrize("where", ["folder", "wheel"])
@pytest.mark.parametrize("tool", [pip, uv])
def test_a_newer_torch_stays_and_the_layers_run_on_it(built, newer, tmp_path, where, tool):
    # With nothing else allowed, a wish for another torch fails at once, not after gigabytes.
    (tmp_path / "allowed.txt").write_text(f"torch=={NEWER}\n")
    allowed = ["--constraint", tmp_path / "allowed.txt"]
    run(*tool(newer), *allowed, named(built, where), cwd=built.source)
    found = json.loads(run(newer, "-P", "-c", LOOK, cwd=tmp_path).stdout)
    assert found == [NEWER, [[[0.5, 0.5, 0.0]]]]


# The lock


def lock_command(built: Built) -> list[str]:
    """What `make lock` runs."""
    venv = f"VENV={Path(UV).parents[1]}"
    said = run(
        "make", "--no-print-directory", "--dry-run", "lock", venv, cwd=built.source
    ).stdout.replace("\\\n", "")
    return shlex.split(said[said.index(str(UV)) :])


def test_make_lock_writes_the_lock_that_is_there(built):
    run(*lock_command(built), cwd=built.source)
    assert (built.source / "requirements.txt").read_text() == (
        ROOT / "requirements.txt"
    ).read_text()
