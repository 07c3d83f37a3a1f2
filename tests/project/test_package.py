"""The package as others get it: built, and installed in a new environment.

The environment is installed from the package index: without a network this fails. Torch is
gigabytes, so it is borrowed from this environment, with its requirements only.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from email import message_from_bytes
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import attnbook
from attnbook import figures
from tests.project.recipes import programs
from tools import ROOT
from tools.book.notebooks import read
from tools.colab.clean_environment import borrow, needed_by
from tools.release import distributions
from tools.release.distributions import UV, Distributions

pytestmark = pytest.mark.slow

NOT_IN_THE_CORE = {"IPython", "anywidget", "ipywidgets", "matplotlib", "numpy", "traitlets"}
TORCH_MISSES_NUMPY = "Failed to initialize NumPy"

VERSION = attnbook.__version__
BUILT_HERE = ".git .venv _build build node_modules __pycache__ *.egg-info .*_cache .hypothesis"
# setuptools warns where Python writes no byte code; a path would lead to other packages.
LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "MYPYPATH")


def run(*command: object, **options) -> subprocess.CompletedProcess:
    """Run a command; if it fails, the error holds its whole output."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False,
        env={name: text for name, text in os.environ.items() if name not in LEFT_OUT}, **options,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Distributions:
    """Build sdist and wheel from a clean copy of the repository."""
    folder = tmp_path_factory.mktemp("package")
    source, dist = folder / "source", folder / "dist"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*BUILT_HERE.split()))
    here = ["--no-build-isolation", "--python", sys.executable]
    return distributions.build(source, dist, *here)


# The sdist and the wheel


def test_sdist_and_wheel_hold_the_package_and_its_licence_and_nothing_else(package):
    assert "Successfully built" in package.output
    assert {"attnbook/py.typed", "attnbook/tracing/style.css"} <= {*package.in_wheel()}
    assert [*distributions.problems(package)] == []


def test_the_metadata_are_complete_and_name_no_address(package):
    about = message_from_bytes(package.metadata())
    assert about["Version"] == VERSION == distribution("attnbook").version
    text = package.metadata().partition(b"\n\n")[2].decode()
    assert text.strip() == (ROOT / "README.md").read_text("utf-8").strip()
    assert about["License-Expression"] == "MIT"
    assert about["Home-page"] is about["Project-URL"] is about["Download-URL"] is None


def requirements(about: Message, extra: str = "") -> set[str]:
    """The requirements of an extra, without those of the core."""
    all_of_them = [Requirement(line) for line in about.get_all("Requires-Dist")]
    return {
        canonicalize_name(each.name)
        for each in all_of_them
        if (each.marker.evaluate({"extra": extra}) if each.marker else not extra)
    }


def test_the_core_requires_torch_alone_and_there_are_six_extras(package):
    about = message_from_bytes(package.metadata())
    assert requirements(about) == {"torch"}
    extras = {"types", "display", "figures", "seq2seq", "book", "test"}
    assert {*about.get_all("Provides-Extra")} == extras
    assert requirements(about, "types") == {"jaxtyping"}
    assert requirements(about, "figures") == {"anywidget"}
    assert requirements(about, "display") == {"ipython", "matplotlib"}
    assert requirements(about, "seq2seq") == {"babel", "numpy", "safetensors"}


@pytest.mark.weekly
def test_make_lock_writes_the_stored_lock(package):
    venv = f"VENV={Path(UV).parents[1]}"
    done = run("make", "--no-print-directory", "--dry-run", "lock", venv, cwd=package.source)
    command = done.stdout.replace("\\\n", "")
    run(*shlex.split(command[command.index(str(UV)) :]), cwd=package.source)
    lock = "requirements.txt"
    assert (package.source / lock).read_text() == (ROOT / lock).read_text()


# Installed in a new environment: first the core, then one extra after the other


def install(package: Distributions, python: Path, extra: str = "") -> None:
    """Install the wheel with an extra; torch is there already."""
    no_torch = python.parents[2] / "no-torch.txt"
    no_torch.write_text("torch; python_version < '3'\n")
    wheel = f"attnbook{extra} @ {package.wheel.as_uri()}"
    run(UV, "pip", "install", "--python", python, "--overrides", no_torch, wheel)


@pytest.fixture(scope="module")
def python(package, tmp_path_factory) -> Path:
    """The Python of an environment with the wheel and a borrowed torch."""
    folder = tmp_path_factory.mktemp("environment")
    python = folder / "venv" / "bin" / "python"
    run(UV, "venv", "--python", sys.executable, folder / "venv")
    borrow("torch", folder / "borrowed", python)
    install(package, python)
    return python


def run_program(python: Path, program: str, folder: Path, *arguments: Path):
    """Run a program there and parse its output as JSON; a warning is an error."""
    # -P and another folder: the package comes from where it is installed.
    warnings = ["-W", "error", "-W", f"ignore:{TORCH_MISSES_NUMPY}:UserWarning"]
    return json.loads(run(python, "-P", *warnings, "-c", program, *arguments, cwd=folder).stdout)


MISSING = {
    "figures": ("figures", "anywidget", "figures"),
    "models.translator.dates": ("models.translator.dates", "Babel", "seq2seq"),
    "models.translator.checkpoints": ("models.checkpoint_files", "safetensors", "seq2seq"),
}
IN_THE_CORE = f"""
import importlib, json, pkgutil, torch
from importlib.metadata import distributions
import attnbook
from attnbook import AdditiveAttention, DotProductAttention

queries, keys = torch.ones(2, 1, 2), torch.ones(2, 10, 2)
values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
layers = [DotProductAttention(0.5), AdditiveAttention(2, 2, 8, 0.1)]
outputs = [layer.eval()(queries, keys, values, torch.tensor([2, 6])) for layer in layers]

messages = {{}}
for name in {[*MISSING]}:
    try:
        importlib.import_module(f"attnbook.{{name}}")
    except ImportError as error:
        messages[name] = str(error)
print(json.dumps({{
    "file": attnbook.__file__,
    "installed": sorted({{d.metadata["Name"] for d in distributions()}}),
    "importable": [module.name for module in pkgutil.iter_modules()],
    "outputs": [[[round(x, 3) for x in row] for row in o[:, 0].tolist()] for o in outputs],
    "messages": messages,
}}))
"""


@pytest.fixture(scope="module")
def core(python, tmp_path_factory):
    """The facts that a program prints before an extra is installed."""
    return run_program(python, IN_THE_CORE, tmp_path_factory.mktemp("core"))


def test_the_core_runs_with_its_requirements_alone_and_names_the_extras_it_misses(python, core):
    expected = {"attnbook", *needed_by("torch")}
    assert {canonicalize_name(name) for name in core["installed"]} == expected
    assert NOT_IN_THE_CORE & {*core["importable"]} == set()
    assert Path(core["file"]).is_relative_to(python.parents[1])
    assert core["outputs"] == [[[2, 3, 4, 5], [10, 11, 12, 13]]] * 2
    assert core["messages"] == {
        name: f"attnbook.{file} needs {needed}: pip install 'attnbook[{extra}]'"
        for name, (file, needed, extra) in MISSING.items()
    }


# A file for each recipe, because one of them reads its own source.
RECIPES = """
import contextlib, io, json, pathlib, runpy, sys
results = {}
for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            runpy.run_path(str(file))
            results[file.stem] = printed.getvalue()
        except ImportError as error:
            results[file.stem] = str(error)
print(json.dumps(results))
"""


@pytest.mark.usefixtures("core")
def test_recipes_print_the_same_with_the_core_alone_or_name_the_extra_that_the_page_names(
    python, tmp_path
):
    page, stored = read(ROOT / "chapters" / "recipes.ipynb").cells, {}
    for cell, code in programs(page):
        (tmp_path / f"{cell.id}.py").write_text(code, "utf-8")
        stored[cell.id] = "".join(output.get("text", "") for output in cell.outputs)
    results = run_program(python, RECIPES, tmp_path, tmp_path)
    needy = "weights-per-head", "cached-equals-uncached", "generate"
    display, *seq2seq = (results.pop(f"recipes-{name}") for name in needy)
    extras = re.findall(r"`pip install ('.*?')`", page[0].source)
    named = [message.partition("pip install ")[2] for message in (display, *seq2seq)]
    assert named == [extras[0], extras[1], extras[1]]
    assert len(extras) == 2
    assert results == {name: text for name, text in stored.items() if name in results}


FIGURE = """
import json, torch
from importlib.util import find_spec
from attnbook import DotProductAttention, figures

ones = torch.ones(1, 3, 2)
figure = figures.AttentionFigure(DotProductAttention(), ones, ones, ones, torch.tensor([2]))
modules = {name: getattr(figures, name)._esm + getattr(figures, name)._css
    for name in figures.__all__}
print(json.dumps([repr(figure), modules, bool(find_spec("matplotlib"))]))
"""
TRANSLATE = """
import datetime, json
from attnbook.models.translator.checkpoints import BOOK, book_model
from attnbook.models.translator.dates import write_date

text = write_date(datetime.date(1987, 3, 9), "de").text
print(json.dumps({name: book_model(name).translate([text])[0].output for name in BOOK}))
"""


@pytest.mark.weekly
@pytest.mark.usefixtures("core")
def test_figures_and_trained_models_are_complete_with_their_extras_alone(package, python, tmp_path):
    install(package, python, "[figures]")
    text, modules, has_matplotlib = run_program(python, FIGURE, tmp_path)
    kinds = [getattr(figures, name) for name in figures.__all__]
    assert modules == {kind.__name__: kind._esm + kind._css for kind in kinds}
    assert "example 0: valid_lens 2" in text
    assert not has_matplotlib

    install(package, python, "[seq2seq]")
    outputs = run_program(python, TRANSLATE, tmp_path)
    assert {*outputs.values()} == {"1987-03-09"}
    assert "convolutional" in outputs
