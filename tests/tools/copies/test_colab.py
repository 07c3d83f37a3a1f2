"""The package in an environment with the widgets of Google Colab.

The environment is made anew from the package index: without a network this fails.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT
from tools.copies.clean_environment import make_environment, run
from tools.copies.colab_versions import COLAB

WIDGETS = {name: COLAB[name] for name in ("ipywidgets", "anywidget", "ipython")}

# The same lines in both environments; what they print is compared.
SCRIPT = """
import json, sys
from importlib.metadata import version
import torch
from attnbook import DotProductAttention
from attnbook.figures import AttentionFigure
import attnbook

queries, keys = torch.ones(2, 1, 2), torch.ones(2, 10, 2)
values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
layer, lens = DotProductAttention(dropout=0), torch.tensor([2, 6])
figure = AttentionFigure(layer, queries, keys, values, lens)
first = repr(figure)
heard = []
figure.observe(lambda change: heard.append(change["new"]), "valid_lens")
figure.valid_lens, figure.temperature, figure.query = [0, 10], 0.5, 0

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.user_ns["figure"] = figure
with capture_output() as shown:
    shell.run_cell("from IPython.display import display; display(figure)")
forms = [output.data for output in shown.outputs]

state = {name: value for name, value in figure.get_state().items() if name[0] != "_"}
print(json.dumps({
    "versions": {name: version(name) for name in ("ipywidgets", "anywidget", "ipython")},
    "package": attnbook.__file__,
    "reprs": [first, repr(figure)],
    "heard": heard,
    "state": {name: state[name] for name in figure.trait_names(sync=True) if name in (
        "kind", "static_text", "valid_lens", "temperature", "query", "scores", "values")},
    "module": figure._esm + figure._css,
    "shown": [sorted(data) for data in forms],
    "text": [data.get("text/plain") for data in forms],
}))
"""


def report(python: Path | str, folder: Path) -> dict:
    """What the script prints there."""
    # -P and another folder: the package comes from where it is installed.
    return json.loads(run([python, "-P", "-c", SCRIPT], cwd=folder))


@pytest.fixture(scope="module")
def colab(tmp_path_factory) -> Path:
    """The Python of an environment that has Colab's widgets, our package, and our torch."""
    folder = tmp_path_factory.mktemp("colab")
    python = make_environment(folder)
    source = folder / "source"
    ours = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attnbook", source / "attnbook", ignore=ours)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run([python, "-m", "pip", "install", "--quiet", source], cwd=folder)
    return python


@pytest.fixture(scope="module")
def there(colab, tmp_path_factory) -> dict:
    """What the script prints with Colab's widgets."""
    return report(colab, tmp_path_factory.mktemp("there"))


@pytest.mark.slow
def test_a_figure_is_the_same_with_colabs_widgets(colab, there, tmp_path):
    here = report(sys.executable, tmp_path)
    assert there["versions"] == WIDGETS
    assert here["versions"] != WIDGETS
    assert Path(there["package"]).is_relative_to(colab.parents[1])
    same = ("reprs", "heard", "state", "module", "shown", "text")
    assert {name: there[name] for name in same} == {name: here[name] for name in same}


@pytest.mark.slow
def test_what_colab_shows_is_the_figure_and_its_numbers(there):
    assert there["shown"] == [["application/vnd.jupyter.widget-view+json", "text/plain"]]
    assert there["text"] == [there["reprs"][1]]
    assert "valid_lens 6" in there["reprs"][0]
    assert there["heard"] == [[0, 10]]


@pytest.mark.slow
def test_an_environment_without_anywidget_says_what_to_install(colab, tmp_path):
    hide = "import sys; sys.modules['anywidget'] = None; import attnbook.figures"
    failed = subprocess.run(
        [colab, "-P", "-c", hide], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "pip install 'attnbook[figures]'" in failed.stderr.splitlines()[-1]
