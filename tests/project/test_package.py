"""The package as others get it: built, installed where little else is, and type-checked there.

The environments are made anew from the package index: without a network this fails.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tarfile
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from attnbook import figures
from tests.project.built_package import (
    UV,
    VERSION,
    Built,
    build,
    contents,
    new_environment,
    run,
    text_of,
)
from tools import ROOT
from tools.copies.clean_environment import needed_by

pytestmark = pytest.mark.slow

NOT_IN_THE_CORE = {"IPython", "anywidget", "ipywidgets", "matplotlib", "numpy", "traitlets"}
TORCH_MISSES_NUMPY = "Failed to initialize NumPy"
NEWER = "2.99.0"  # a torch that no index has


# What is built


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    return build(tmp_path_factory.mktemp("package"))


def files_of_the_package() -> dict[str, str]:
    files = [f for f in (ROOT / "attnbook").rglob("*") if f.is_file() and f.suffix != ".pyc"]
    return {str(f.relative_to(ROOT)): text_of(f.name, f.read_bytes()) for f in files}


def test_building_the_package_warns_of_nothing(built):
    assert "Successfully built" in built.output
    assert re.findall(r".*(?:warning|deprecated).*", built.output, re.IGNORECASE) == []


def test_the_wheel_holds_the_package_and_its_licence_and_nothing_else(built):
    about = {name: text for name, text in contents(built.wheel).items() if ".dist-info/" in name}
    rest = {name: text for name, text in contents(built.wheel).items() if name not in about}
    assert rest == files_of_the_package()
    assert {
        "attnbook/py.typed",
        "attnbook/figures/shared/attention.js",
        "attnbook/figures/shape/style.css",
    } <= {*rest}
    files = {name.partition("/")[2] for name in about}
    assert files == {"METADATA", "RECORD", "WHEEL", "licenses/LICENSE", "top_level.txt"}
    assert about[f"attnbook-{VERSION}.dist-info/licenses/LICENSE"] == (ROOT / "LICENSE").read_text()


def test_the_sdist_holds_what_a_wheel_is_built_from_and_nothing_else(built):
    with tarfile.open(built.sdist) as archive:
        files = {member.name.partition("/")[2] for member in archive if member.isfile()}
    made = {name for name in files if name.startswith("attnbook.egg-info/")}
    files_beside = "LICENSE MANIFEST.in PKG-INFO README.md pyproject.toml setup.cfg".split()
    assert files - made == {*files_beside, *files_of_the_package()}


def test_the_versions_agree(built):
    assert built.metadata["Version"] == VERSION == distribution("attnbook").version
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {VERSION} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_metadata_say_what_it_is_and_name_no_address(built):
    about = built.metadata
    assert about.get_payload().strip() == (ROOT / "README.md").read_text("utf-8").strip()
    assert about["Description-Content-Type"] == "text/markdown"
    assert about["License-Expression"] == "MIT"
    assert about["Requires-Python"] == ">=3.11"
    status = [name for name in about.get_all("Classifier") if name.startswith("Dev")]
    assert status == ["Development Status :: 3 - Alpha"]
    assert VERSION.startswith("0.")
    assert about["Home-page"] is about["Project-URL"] is about["Download-URL"] is None


def requirements(about: Message, extra: str = "") -> set[str]:
    """What is asked for with an extra, and not without it."""
    asked = [Requirement(line) for line in about.get_all("Requires-Dist")]
    return {
        canonicalize_name(asked.name)
        for asked in asked
        if (asked.marker.evaluate({"extra": extra}) if asked.marker else not extra)
    }


def test_the_core_asks_for_two_packages_and_the_extras_are_five(built):
    about = built.metadata
    assert requirements(about) == {"torch", "jaxtyping"}
    extras = {"display", "figures", "seq2seq", "book", "test"}
    assert {*about.get_all("Provides-Extra")} == extras
    assert requirements(about, "figures") == {"anywidget"}
    assert requirements(about, "display") == {"ipython", "matplotlib"}
    assert requirements(about, "seq2seq") == {"babel", "numpy", "safetensors"}


def test_make_lock_writes_the_lock_that_is_there(built):
    venv = f"VENV={Path(UV).parents[1]}"
    asked = run("make", "--no-print-directory", "--dry-run", "lock", venv, cwd=built.source)
    shown = asked.stdout.replace("\\\n", "")
    run(*shlex.split(shown[shown.index(str(UV)) :]), cwd=built.source)
    lock = "requirements.txt"
    assert (built.source / lock).read_text() == (ROOT / lock).read_text()


# Where it is installed


@pytest.fixture(scope="module")
def environment(built, tmp_path_factory):
    """A function that makes an environment with the wheel, an extra and a borrowed torch."""

    def make(extra: str = "") -> Path:
        folder = tmp_path_factory.mktemp("environment")
        python = new_environment(folder)
        (folder / "no-torch.txt").write_text("torch; python_version < '3'\n")
        asked = [
            "--overrides",
            folder / "no-torch.txt",
            f"attnbook{extra} @ {built.wheel.as_uri()}",
        ]
        run(UV, "pip", "install", "--python", python, *asked)
        return python

    return make


@pytest.fixture(scope="module")
def core(environment) -> Path:
    return environment()


def answer(python: Path, program: str, folder: Path):
    """What a program prints there, as JSON; a warning is an error."""
    # -P and another folder: the package comes from where it is installed.
    warnings = ["-W", "error", "-W", f"ignore:{TORCH_MISSES_NUMPY}:UserWarning"]
    return json.loads(run(python, "-P", *warnings, "-c", program, cwd=folder).stdout)


LOOK_AROUND = """
import json, pkgutil
from importlib.metadata import distributions
import attnbook
print(json.dumps({
    "file": attnbook.__file__,
    "installed": sorted({d.metadata["Name"] for d in distributions()}),
    "importable": [module.name for module in pkgutil.iter_modules()],
}))
"""


def test_the_core_is_installed_with_what_it_asks_for_and_nothing_else(core, tmp_path):
    found = answer(core, LOOK_AROUND, tmp_path)
    wanted = {"attnbook", "jaxtyping", "wadler-lindig", *needed_by("torch")}
    assert {canonicalize_name(name) for name in found["installed"]} == wanted
    assert NOT_IN_THE_CORE & {*found["importable"]} == set()
    assert {"torch", "jaxtyping"} <= {*found["importable"]}
    assert Path(found["file"]).is_relative_to(core.parents[1])


TOY = """
import json, torch
from attnbook import AdditiveAttention, DotProductAttention

queries, keys = torch.ones(2, 1, 2), torch.ones(2, 10, 2)
values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
layers = [DotProductAttention(0.5), AdditiveAttention(2, 2, 8, 0.1)]
outputs = [layer.eval()(queries, keys, values, torch.tensor([2, 6])) for layer in layers]
print(json.dumps([[[round(x, 3) for x in row] for row in o[:, 0].tolist()] for o in outputs]))
"""


def test_the_layers_run_with_the_core_alone(core, tmp_path):
    assert answer(core, TOY, tmp_path) == [[[2, 3, 4, 5], [10, 11, 12, 13]]] * 2


@pytest.mark.parametrize(
    ("room", "file", "needed", "extra"),
    [
        ("figures", "figures", "anywidget", "figures"),
        ("display", "display", "matplotlib", "display"),
        ("models.translator.dates", "models.translator.dates", "Babel", "seq2seq"),
        ("models.translator.checkpoints", "models.checkpoint_files", "safetensors", "seq2seq"),
    ],
)
def test_a_room_without_its_extra_names_what_to_install(core, tmp_path, room, file, needed, extra):
    failed = run(core, "-P", "-c", f"import attnbook.{room}", fails=True, cwd=tmp_path)
    install = f"attnbook.{file} needs {needed}: pip install 'attnbook[{extra}]'"
    assert failed.stderr.splitlines()[-1] == f"ImportError: {install}"


FIGURE = """
import json, torch
from importlib.util import find_spec
from attnbook import DotProductAttention, figures

ones = torch.ones(1, 3, 2)
lens = torch.tensor([2])
figure = figures.AttentionFigure(DotProductAttention(), ones, ones, ones, lens)
print(json.dumps({
    "text": repr(figure),
    "modules": {name: getattr(figures, name)._esm + getattr(figures, name)._css
        for name in figures.__all__},
    "sent": figure._esm + figure._css,
    "matplotlib": bool(find_spec("matplotlib")),
}))
"""


def test_figures_come_whole_with_their_extra_alone(environment, tmp_path):
    found = answer(environment("[figures]"), FIGURE, tmp_path)
    kinds = [getattr(figures, name) for name in figures.__all__]
    assert found["modules"] == {kind.__name__: kind._esm + kind._css for kind in kinds}
    assert found["sent"] == found["modules"]["AttentionFigure"]
    assert "example 0: valid_lens 2" in found["text"]
    assert not found["matplotlib"]


TRANSLATE = """
import datetime, json
from attnbook.models.translator.checkpoints import BOOK, book_model
from attnbook.models.translator.dates import write_date

text = write_date(datetime.date(1987, 3, 9), "de").text
print(json.dumps({name: book_model(name).translate([text])[0].output for name in BOOK}))
"""


def test_the_trained_models_come_whole_with_their_extra_alone(environment, tmp_path):
    found = answer(environment("[seq2seq]"), TRANSLATE, tmp_path)
    assert {*found.values()} == {"1987-03-09"}
    assert "convolutional" in found


# Next to a torch that is newer than any


@pytest.mark.weekly
def test_the_folder_asks_for_what_a_wheel_of_it_asks_for(built, tmp_path):
    run(UV, "venv", "--python", sys.executable, tmp_path / "venv")

    def plan(asked: str) -> dict[str, str]:
        """What uv would install, each with its version."""
        command = [UV, "pip", "install", "--dry-run", "--python", tmp_path / "venv/bin/python"]
        output = run(*command, asked, cwd=built.source).stderr
        lines = re.findall(r"^ \+ ([\w.-]+)(?:==| @ )(.*)$", output, re.MULTILINE)
        return dict(lines) | {"attnbook": VERSION}

    asked = plan(".[figures]")
    assert asked == plan(f"attnbook[figures] @ {built.wheel.as_uri()}")
    assert {"torch", "jaxtyping", "anywidget"} <= {*asked}


USE = """
import json, torch
from importlib.metadata import version
from attnbook import masked_softmax

weights = masked_softmax(torch.zeros(1, 1, 3), torch.tensor([2]))
print(json.dumps([version("torch"), weights.tolist()]))
"""


@pytest.mark.parametrize("tool", ["uv", pytest.param("pip", marks=pytest.mark.weekly)])
def test_a_newer_torch_stays_and_the_layers_run_on_it(built, tmp_path, monkeypatch, tool):
    python = new_environment(tmp_path)
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    about = packages / f"torch-{NEWER}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {NEWER}\n")
    (about / "RECORD").touch()
    # With nothing else allowed, a wish for another torch fails at once, not after gigabytes.
    (tmp_path / "allowed.txt").write_text(f"torch=={NEWER}\n")
    # A variable replaces the constraints of the machine; an option would add to them.
    monkeypatch.setenv(f"{tool.upper()}_CONSTRAINT", str(tmp_path / "allowed.txt"))
    install = {
        "pip": [sys.executable, "-m", "pip", "--python", python, "install"],
        "uv": [UV, "pip", "install", "--python", python],
    }[tool]
    run(*install, ".", cwd=built.source)
    assert answer(python, USE, tmp_path) == [NEWER, [[[0.5, 0.5, 0.0]]]]


# What a type checker knows of it

CALLER = """
import torch
from torch import Tensor

from attnbook import AdditiveAttention, Attention, DotProductAttention, checked, masked_softmax

x = torch.ones(1, 3, 2)
lens = torch.tensor([2])
layer = DotProductAttention(dropout=0.1, keep_weights=True)
"""
RIGHT = """
class NearestAttention(Attention):
    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -torch.cdist(queries, keys)

output: Tensor = layer(x, x, x, valid_lens=lens)
same: Tensor = layer.forward(x, x, x)
weights: Tensor = layer.attention_weights
shares: Tensor = masked_softmax(x, None)
nearest = NearestAttention(dropout=0)(x, x, x)
with checked():
    AdditiveAttention(2, 2, num_hiddens=4, dropout=0)(x, x, x)
"""
WRONG = """
DotProductAttention(dropout="0.1")  # arg-type
DotProductAttention(drop=0.1)  # call-arg
AdditiveAttention(2, 2, "4", 0.1)  # arg-type
DotProductAttention(0.1, False)  # call-arg
masked_softmax(x, [2])  # arg-type
number: int = masked_softmax(x, lens)  # assignment
count: int = layer(x, x, x)  # assignment
layer(x, x, "x")  # arg-type
share: float = layer.attention_weights  # assignment
layer.forward(x, x)  # call-arg
"""


def test_a_callers_wrong_use_is_reported_and_right_use_is_not(core, tmp_path):
    program = CALLER + RIGHT + WRONG
    (tmp_path / "caller.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", core]
    command += ["--config-file=", "--cache-dir", tmp_path / "types", "caller.py"]
    done = run(*command, cwd=tmp_path, fails=True)
    found = re.findall(r"^caller\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    assert len(found) == done.stdout.count("error: "), done.stdout + done.stderr
    lines = enumerate(program.splitlines(), 1)
    kinds = [(str(number), re.search(r"  # ([a-z-]+)$", line)) for number, line in lines]
    assert found == [(number, kind[1]) for number, kind in kinds if kind]
