"""What holds the house together: who imports whom, what is public, what is pinned."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import attnbook

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attnbook"

# Each room of the core, and the rooms it may import.
CORE = {
    "__init__": {
        *(
            "_version",
            "attention",
            "heads",
            "layers",
            "masking",
            "multihead",
            "pooling",
            "position",
        ),
        *("scoring", "weighting"),
    },
    "_version": set(),
    "checks": set(),
    "masking": {"checks"},
    "scoring": {"checks"},
    "weighting": {"checks", "masking"},
    "pooling": {"checks", "masking", "scoring", "weighting"},
    "fused/__init__": set(),
    "fused/fallback": set(),
    "fused/blocks": {"masking"},
    "fused/kernels": {"masking", "fused", "fused.blocks"},
    "fused/choice": {"fused.fallback"},
    "fused/additive": {"masking", "scoring", "fused.blocks", "fused.kernels", "fused.fallback"},
    "fused/streaming": {
        *("pooling", "weighting", "fused.additive", "fused.blocks", "fused.fallback"),
    },
    "fused/softmax": set(),
    "fused/dot": {"masking", "pooling", "scoring", "weighting", "fused.choice"},
    "heads": {"checks"},
    "position": {"checks"},
    "attention": {
        *("checks", "masking", "pooling", "weighting"),
        *("fused.choice", "fused.softmax", "fused.fallback"),
    },
    "layers": {
        *("attention", "checks", "masking", "scoring"),
        *("fused.additive", "fused.choice", "fused.dot", "fused.fallback", "fused.streaming"),
    },
    "multihead": {"attention", "checks", "heads", "layers", "masking"},
}
# The models: they import the core, and no room of the core imports them.
TRANSLATOR = {
    "__init__": set(),
    "vocabulary": set(),
    "encoders": set(),
    "config": {"encoders"},
    "dates": set(),
    "decoding": set(),
    "model": {"config", "decoding", "encoders", "vocabulary"},
    "checkpoints/__init__": {"config", "model", "vocabulary"},
    "interventions": {"dates", "model", "vocabulary"},
    "grading": {"dates", "interventions", "model", "vocabulary"},
}
MODELS = {
    "models/__init__": set(),
    "models/training": {
        *("checks", "models.translator.model", "models.translator.vocabulary"),
    },
} | {
    f"models/translator/{room}": {"checks", "layers", "pooling"}
    | {f"models.translator.{other}" for other in rooms}
    for room, rooms in TRANSLATOR.items()
}
# What a room of the models may import besides.
EXTRA = {
    "models/translator/dates": {"babel"},
    "models/translator/checkpoints/__init__": {"safetensors"},
}
OUTSIDE = {"torch", "jaxtyping", *sys.stdlib_module_names}
PUBLIC = [name for name in attnbook.__all__ if name != "__version__"]


def imports(source):
    """Every module that a source imports, under `if TYPE_CHECKING` and in functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import would slip past this test"
            if node.module == "attnbook":
                yield from (f"attnbook.{alias.name}" for alias in node.names)
            else:
                yield node.module


def wrong_imports(source, rooms, extra=frozenset()):
    for module in imports(source):
        top, _, room = module.partition(".")
        allowed = room in rooms if top == "attnbook" else top in OUTSIDE | extra
        if not allowed:
            yield module


@pytest.mark.parametrize("room", CORE)
def test_a_room_of_the_core_imports_only_what_it_may(room):
    source = (PACKAGE / f"{room}.py").read_text(encoding="utf-8")
    assert list(wrong_imports(source, CORE[room])) == []


@pytest.mark.parametrize("room", MODELS)
def test_a_room_of_the_models_imports_only_what_it_may(room):
    source = (PACKAGE / f"{room}.py").read_text(encoding="utf-8")
    assert list(wrong_imports(source, MODELS[room], EXTRA.get(room, set()))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import numpy",
        "import babel",
        "from attnbook.models.translator.model import Translator",
        "from attnbook.display import heatmap",
        "from attnbook import display",
        "import attnbook",
        "def f():\n    from attnbook import layers",
        "if TYPE_CHECKING:\n    import matplotlib.pyplot",
    ],
)
def test_a_wrong_import_is_noticed(source):
    assert list(wrong_imports(f"import torch\n{source}", {"masking"})) != []


def test_no_two_rooms_import_each_other():
    every = CORE | MODELS
    for room, rooms in every.items():
        for other in rooms:
            assert room.replace("/", ".") not in every.get(other.replace(".", "/"), {})


def modules_after(program):
    program += "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_only_the_core_and_torch():
    added = modules_after("import attnbook") - modules_after("import torch")
    # Small helpers of the standard library are no weight; whole libraries are.
    added = {name for name in added if name.split(".")[0] not in sys.stdlib_module_names}
    rooms = {f"attnbook.{room.replace('/', '.').removesuffix('.__init__')}" for room in CORE}
    assert added == {"attnbook", *rooms} - {"attnbook.__init__"}


def test_all_is_sorted_and_every_name_is_there():
    assert sorted(attnbook.__all__) == attnbook.__all__
    assert all(hasattr(attnbook, name) for name in attnbook.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    first = getattr(attnbook, name).__doc__.splitlines()[0]
    assert first.endswith((".", ":"))


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ("Attention", "checked")])
def test_every_formula_names_its_source(name):
    documented = attnbook.AdditiveAttention if name == "MLPAttention" else getattr(attnbook, name)
    assert "Source: " in documented.__doc__


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_the_version_is_that_of_the_installed_package():
    assert attnbook.__version__ == importlib.metadata.version("attnbook")


@pytest.mark.parametrize("room", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_a_module_stays_under_250_lines(room):
    assert len(room.read_text(encoding="utf-8").splitlines()) < 250


# The lock


def locked():
    return (ROOT / "requirements.txt").read_text(encoding="utf-8")


NEVER_LOCKED = re.compile(
    r"\+cpu|nvidia|triton|cuda|file:|https?:|--(index|extra-index|find-links)|^-|@|^[./]|[a-z]:\\",
    re.IGNORECASE | re.MULTILINE,
)


def test_the_lock_serves_every_machine():
    assert NEVER_LOCKED.findall(locked()) == []


@pytest.mark.parametrize(
    "line",
    [
        "torch==2.13.0+cpu",
        "nvidia-nccl-cu13==2.27",
        "triton==3.5",
        "--index-url https://example.org/simple",
        "-e .",
        "torch @ file:///wheels/torch.whl",
        "/wheels/torch.whl",
        "./torch.whl",
    ],
)
def test_a_line_that_serves_one_machine_is_noticed(line):
    assert NEVER_LOCKED.search(f"attrs==1.0\n{line}\n")


def canonical(requirement):
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_pins_everything_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    lines = [line for line in locked().splitlines() if not line.startswith("#")]
    assert all("==" in line for line in lines)
    missing = {canonical(r) for r in asked} - {canonical(line) for line in lines} - {"attnbook"}
    assert missing == set()


def test_what_the_package_itself_needs_is_few_and_loose():
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {canonical(need) for need in needs["dependencies"]} == {"torch", "jaxtyping"}
    assert not any(re.search(r"==|<|~=", need) for need in needs["dependencies"])


# Machine paths

# In parts, so that this file passes too.
HOMES = "|".join(["ro" + "ot", "ho" + "me", "wo" + "rk", "Us" + "ers"])
MACHINE_PATH = re.compile(rf"(?<![\w.~)}}])/({HOMES})/\w")
TEXT = {".py", ".md", ".toml", ".txt", ".yml", ".ipynb", ".js", ".mjs", ".css", ".html", ".svg"}


def text_files():
    """The files that git tracks, or would; without git, those of the source folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.splitlines()]
    else:
        folders = ("attnbook", "chapters", "tests", "tools", "img")
        paths = [path for folder in folders for path in (ROOT / folder).rglob("*")]
        paths += list(ROOT.glob("*"))
        paths = [path for path in paths if "node_modules" not in path.parts]
    return [path for path in paths if path.is_file() and (path.suffix in TEXT or not path.suffix)]


def test_no_file_holds_a_path_of_somebodys_machine():
    found = {}
    for path in text_files():
        for hit in MACHINE_PATH.finditer(path.read_text(encoding="utf-8")):
            found[str(path.relative_to(ROOT))] = hit[0]
    assert found == {}
    assert len(text_files()) > 20


def test_a_path_of_somebodys_machine_is_noticed():
    below_home = "/" + "home/somebody/data.txt"
    assert MACHINE_PATH.search(f"open('{below_home}')")
    assert not MACHINE_PATH.search(f"https://example.org{below_home}, $(HOME){below_home}")
