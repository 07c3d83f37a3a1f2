"""The page that lists the masks of all libraries: its versions, and its names of arguments."""

import importlib.metadata
import re

import pytest

from attnbook.masking import conversion, interop
from attnbook.masking.interop import MaskRules
from tools import ROOT
from tools.book.notebooks import read

PAGE = "\n".join(
    cell.source
    for cell in read(ROOT / "chapters" / "mask-table.ipynb").cells
    if cell.cell_type == "markdown"
)
TEXTS = {"the page": PAGE, "interop": interop.__doc__, "conversion": conversion.__doc__}
NAME = re.compile(r"`([\w.]+)`")


def rows():
    """The cells of the two tables, by the first of a row and the heads of the others."""
    lines = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("|")]
    found = {}
    for start in (index for index, cells in enumerate(lines) if cells[0] == "call"):
        for name, *cells in lines[start + 2 :][:7]:
            found.setdefault(name, {}).update(zip(lines[start][1:], cells, strict=True))
    assert [*found][-1] == "`transformers`"
    return found


TABLE = rows()


def named(text, package):
    """The one version of a package that a text names."""
    (version,) = {*re.findall(rf"{package} (\d+\.\d+)", text)}
    return version


def minor(version):
    return ".".join(version.split(".")[:2])


@pytest.mark.parametrize("where", TEXTS)
def test_the_version_of_torch_that_is_named_is_the_pinned_one(where):
    pinned = re.search(
        r"^torch==(\S+)", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE
    )
    assert named(TEXTS[where], "torch") == minor(pinned[1])


@pytest.mark.parametrize("where", TEXTS)
def test_the_version_of_transformers_that_is_named_is_the_installed_one(where):
    # No requirement of the book: the weekly run installs the newest.
    pytest.importorskip("transformers")
    assert named(TEXTS[where], "transformers") == minor(importlib.metadata.version("transformers"))


def test_the_table_names_every_function_and_no_other():
    functions = {name for row in TABLE.values() for name in NAME.findall(row["functions"])}
    assert functions - {"create_mask"} == {
        n for n in interop.__all__ if n.startswith(("for", "from"))
    }


RULES = {
    "padding": [{"valid_len": 4}, {"start": 2}],
    "order": [{"causal": "last"}, {"causal": "first"}],
    "window, documents": [{"window": 3}, {"documents": (0, 0, 0, 1, 1, 1)}],
}
WITH_ARGUMENTS = [name for name in TABLE if name not in ("`flex_attention`", "`transformers`")]


@pytest.mark.parametrize("column", RULES)
@pytest.mark.parametrize("call", WITH_ARGUMENTS)
def test_a_rule_goes_to_the_arguments_that_the_table_names(call, column):
    make = getattr(interop, NAME.search(TABLE[call]["functions"])[1])
    found = {name for rule in RULES[column] for name in make(MaskRules(6, 6, **rule))}
    named_here = {*NAME.findall(TABLE[call][column])}
    assert found <= named_here
    # The others are another way to pass the same: a mask of the caller's.
    assert named_here - found <= {"mask", "attn_mask"}
