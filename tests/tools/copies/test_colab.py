"""The package in an environment with the widgets of Google Colab.

The environment is installed from the package index: without a network this fails.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tools import ROOT
from tools.copies.clean_environment import make_environment, run
from tools.copies.colab_versions import COLAB

pytestmark = pytest.mark.weekly  # `make test` also runs two Colab copies in such an environment

WIDGETS = {name: COLAB[name] for name in ("ipywidgets", "anywidget", "ipython")}

# Runs in both environments; the printed facts are compared.
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
changes = []
figure.observe(lambda change: changes.append(change["new"]), "valid_lens")
figure.valid_lens, figure.temperature, figure.query = [0, 10], 0.5, 0

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.user_ns["figure"] = figure
with capture_output() as captured:
    shell.run_cell("from IPython.display import display; display(figure)")
forms = [output.data for output in captured.outputs]

state = {name: value for name, value in figure.get_state().items() if name[0] != "_"}
print(json.dumps({
    "versions": {name: version(name) for name in ("ipywidgets", "anywidget", "ipython")},
    "package": attnbook.__file__,
    "reprs": [first, repr(figure)],
    "changes": changes,
    "state": {name: state[name] for name in figure.trait_names(sync=True) if name in (
        "kind", "static_text", "valid_lens", "temperature", "query", "scores", "values")},
    "module": figure._esm + figure._css,
    "displayed": [sorted(data) for data in forms],
    "text": [data.get("text/plain") for data in forms],
}))
"""


def run_script(python: Path | str, folder: Path) -> dict:
    """The facts that the script prints there."""
    # -P and another folder: the package comes from where it is installed.
    return json.loads(run([python, "-P", "-c", SCRIPT], cwd=folder))


@pytest.fixture
def colab(tmp_path) -> Path:
    """The Python of an environment that has Colab's widgets, our package, and our torch."""
    folder = tmp_path / "colab"
    folder.mkdir()
    python = make_environment(folder)
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attnbook", source / "attnbook", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run([python, "-m", "pip", "install", "--quiet", source], cwd=folder)
    return python


def test_a_figure_is_the_same_with_colabs_widgets(colab, tmp_path):
    there, here = run_script(colab, tmp_path), run_script(sys.executable, tmp_path)
    assert there["versions"] == WIDGETS
    assert here["versions"] != WIDGETS
    assert Path(there["package"]).is_relative_to(colab.parents[1])
    same = ("reprs", "changes", "state", "module", "displayed", "text")
    assert {name: there[name] for name in same} == {name: here[name] for name in same}
