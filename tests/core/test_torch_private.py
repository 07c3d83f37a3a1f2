"""What torch keeps private: looked up in one module, and nothing fails where it is missing."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnbook.torch_private import HOOKS, NAMES, missing_names
from tools import ROOT

EVERY = [*NAMES, *HOOKS]
# What may be refused without a name; everything else must be as right as with it.
REFUSALS = {
    "weights": ("maybe_get_bdim", "get_unwrapped"),
    "numbers_written": ("TorchDispatchMode", "_schema"),
    "module must have no hooks": HOOKS,
}


@pytest.fixture(scope="module")
def torch_without():
    """Gives what a run of the layers reports in a torch without some names."""
    command = [sys.executable, "-m", "tests.core.without_names"]
    environment = {**os.environ, "CXX": "no-such-compiler"}  # kernels would take minutes
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as process:

        def run(names):
            process.stdin.write(" ".join(names) + "\n")
            process.stdin.flush()
            return "".join(iter(process.stdout.readline, "end\n"))

        yield run
        process.stdin.close()


def test_this_torch_has_every_name():
    assert missing_names() == []


@pytest.mark.skipif(sys.platform != "linux", reason="copies of a process with torch in it")
@pytest.mark.slow
@pytest.mark.few(6)
@pytest.mark.parametrize("name", EVERY)
def test_without_a_name_the_layers_run_and_compile_and_are_right(name, torch_without):
    last = re.split("[:.]", name)[-1]
    expected = [start for start, names in REFUSALS.items() if last in names]
    lines = torch_without([name]).splitlines()
    refusals = [line.removeprefix("refused: ") for line in lines]
    assert {start for start in REFUSALS for it in refusals if start in it} == {*expected}, lines
    assert all(line.startswith("refused: ") for line in lines), lines


@pytest.mark.skipif(sys.platform != "linux", reason="copies of a process with torch in it")
@pytest.mark.slow
def test_without_any_of_the_names_the_layers_are_right(torch_without):
    lines = torch_without(EVERY).splitlines()
    assert all(line.startswith("refused: ") for line in lines), lines


SOURCES = {path: path.read_text("utf-8") for path in (ROOT / "attnbook").rglob("*.py")}
OF_PYTHON = {"_replace", "_exit"}


def names_of(node):
    """The names that a part of a source imports, reads, writes out or defines."""
    if isinstance(node, ast.ImportFrom):
        return [*(node.module or "").split("."), *(it.name for it in node.names)]
    if isinstance(node, ast.Import):
        return [part for it in node.names for part in it.name.split(".")]
    if isinstance(node, ast.Constant):
        return str(node.value).split(".") if str(node.value).replace(".", "").isidentifier() else []
    return [getattr(node, field) for field in ("attr", "id", "name") if hasattr(node, field)]


def is_private(name):
    return str(name).startswith("_") and not str(name).startswith("__") and name != "_"


def defines(node):
    return isinstance(node, ast.FunctionDef | ast.ClassDef) or isinstance(
        getattr(node, "ctx", None), ast.Store
    )


def foreign_names(source, own):
    """The private names of others in a source; `experimental` is no promise, either."""
    found = {name for node in ast.walk(ast.parse(source)) for name in names_of(node)}
    return {name for name in found if is_private(name) or name == "experimental"} - own - OF_PYTHON


OWN = {
    name
    for source in SOURCES.values()
    for node in ast.walk(ast.parse(source))
    if defines(node)
    for name in names_of(node)
}


def test_nothing_private_of_torch_is_used_elsewhere():
    own = OWN | {path.stem for path in SOURCES}
    used = {str(path.relative_to(ROOT)): foreign_names(text, own) for path, text in SOURCES.items()}
    [(where, names)] = [(path, names) for path, names in used.items() if names]
    assert where == str(Path("attnbook/torch_private.py"))
    assert names > {*HOOKS}


@pytest.mark.parametrize(
    "line",
    [
        "from torch._C import _functorch",
        "import torch._dynamo",
        "from torch.fx.experimental import proxy_tensor",
        "torch.utils._pytree.tree_leaves([])",
        "layer._forward_hooks",
        "getattr(layer, '_forward_hooks')",
        "find('torch._C')",
    ],
)
def test_each_way_to_use_a_private_name_is_found(line):
    assert foreign_names(line, OWN)
