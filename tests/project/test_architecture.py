"""The structure of the project: imports, public names, and pinned versions."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import attnbook
from attnbook import figures
from tools import ROOT, project_files
from tools.site.reference.api import rooms

PACKAGE = ROOT / "attnbook"

# Imports of other packages; import-linter checks those of our own (pyproject.toml).
FOLDERS = ("cache", "fused", "masking")
CORE = sorted([*PACKAGE.glob("[!_]*.py"), *(p for f in FOLDERS for p in PACKAGE.glob(f"{f}/*.py"))])
CORE.remove(PACKAGE / "display.py")  # it draws, with matplotlib
# `import attnbook` does not import these.
NOT_LOADED = ("colors", "conversion", "forms", "interop", "messages", "mistakes", "timing")
ROOMS = ("models", "tracing", "figures")
REST = [path for room in ROOMS for path in PACKAGE.glob(f"{room}/**/*.py")]
EXTRA = {"dates": {"babel"}, "checkpoint_files": {"safetensors"}}
OF_FIGURES = {"anywidget", "traitlets"}
OUTSIDE = {"attnbook", "torch", "jaxtyping", *sys.stdlib_module_names}
PUBLIC = [name for name in attnbook.__all__ if name != "__version__"]


def outside(source, extra=frozenset()):
    """What a source imports in addition to the library, torch and jaxtyping, also in functions."""
    nodes = [*ast.walk(ast.parse(source))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names} - OUTSIDE - extra


def test_the_package_imports_only_what_the_core_or_an_extra_installs():
    imported = {}
    for path in CORE + REST:
        extra = OF_FIGURES if "figures" in path.parts else EXTRA.get(path.stem, set())
        imported[path] = outside(path.read_text("utf-8"), extra)
    assert {path: names for path, names in imported.items() if names} == {}
    assert len(imported) > 50


# A line that a module must not contain, and how import-linter names the import.
WRONG_IMPORTS = [
    ("attnbook/masking/masks", "from attnbook.display import heatmap", "masks -> attnbook.display"),
    ("attnbook/scoring", "def f():\n    from attnbook import layers", "scoring -> attnbook.layers"),
    (
        "attnbook/figures/shared/base",
        "from attnbook.figures.cost.figure import CostFigure",
        "shared.base -> attnbook.figures.cost.figure",
    ),
    ("attnbook/new_room", "", "- attnbook.new_room"),
    ("attnbook/timing", "import tools", "attnbook.timing -> tools"),
    (
        "tools/repository_address",
        "from tools.book import server",
        "repository_address -> tools.book.server",
    ),
]


@pytest.mark.slow
def test_import_linter_reports_each_wrong_import(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", "*.safetensors", "node_modules")
    for package in ("attnbook", "tools"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room, line, _ in WRONG_IMPORTS:
        with (tmp_path / f"{room}.py").open("a", encoding="utf-8") as file:
            file.write(f"\n\n{line}\n")
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [message for *_, message in WRONG_IMPORTS if message not in done.stdout] == []


LOADED = """
import json, sys, torch
before = {*sys.modules}
import attnbook
by_the_core = [*{*sys.modules} - before]
from attnbook.tracing import trace
trace(torch.nn.ReLU(), torch.ones(2))
print(json.dumps([by_the_core, [*{*sys.modules} - before]]))
"""


def test_the_package_loads_only_the_core_and_torch_and_tracing_no_compiler():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, check=True)
    by_the_core, by_a_trace = json.loads(done.stdout)
    # Modules of the standard library do not count.
    added = {name for name in by_the_core if name.split(".")[0] not in sys.stdlib_module_names}
    files = {
        path.relative_to(PACKAGE).with_suffix("") for path in CORE if path.stem not in NOT_LOADED
    }
    rooms = {".".join(["attnbook", *file.parts]).removesuffix(".__init__") for file in files}
    assert added == {"attnbook", "attnbook._version", *rooms}
    assert not {"torch._dynamo", "IPython", "matplotlib"} & {*by_a_trace}


def test_every_public_name_is_documented_and_on_a_page_and_every_formula_names_its_source():
    for name in PUBLIC:
        documented = "AdditiveAttention" if name == "MLPAttention" else name
        assert getattr(attnbook, name).__doc__.splitlines()[0].endswith((".", ":")), name
        text = getattr(attnbook, documented).__doc__
        assert name in ("Attention", "checked") or "Source: " in text, name

    listed = {name for room in rooms() for name in room.names}
    public = {f"attnbook.{name}" for name in PUBLIC}
    public |= {f"attnbook.figures.{name}" for name in figures.__all__}
    assert public - listed == set()


# The lock


NEVER_LOCKED = re.compile(
    r"\+cpu|nvidia|triton|cuda|file:|https?:|--(index|extra-index|find-links)|^-|@|^[./]|[a-z]:\\",
    re.IGNORECASE | re.MULTILINE,
)


def canonical(requirement):
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_serves_every_machine_and_pins_all_requirements_of_the_project():
    lock = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert NEVER_LOCKED.findall(lock) == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    assert not any(re.search(r"==|<|~=", need) for need in project["dependencies"])
    lines = [line for line in lock.splitlines() if not line.startswith("#")]
    assert all("==" in line for line in lines)
    missing = (
        {canonical(r) for r in requirements} - {canonical(line) for line in lines} - {"attnbook"}
    )
    assert missing == set()


# Paths of one machine

# In parts, so that this file passes too.
HOMES = "|".join(["ro" + "ot", "ho" + "me", "wo" + "rk", "Us" + "ers"])
MACHINE_PATH = re.compile(rf"(?<![\w.~)}}])/({HOMES})/\w")
TEXT = {".py", ".md", ".toml", ".txt", ".yml", ".ipynb", ".js", ".mjs", ".css", ".html", ".svg"}


def test_no_file_contains_a_path_of_one_machine():
    files = [path for path in project_files() if path.suffix in TEXT or not path.suffix]
    assert len(files) > 20
    paths = {}
    for path in files:
        for match in MACHINE_PATH.finditer(path.read_text(encoding="utf-8")):
            paths[str(path.relative_to(ROOT))] = match[0]
    assert paths == {}
