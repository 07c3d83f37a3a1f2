"""An entry of the API: a short signature, a table of shapes, and links to what explains it.

A docstring's sections are put into one order: what it is, arguments, shapes, example, errors,
source, and links.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from docutils.utils import unescape
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tools.site import TEXT
from tools.site.page_tree import root_of
from tools.site.reference.api import rooms

FILE = "chapters/explained.toml"
# The pages on which each name needs a section that explains it.
EXPLAINED = {
    f"chapters/api-{name}" for name in ("layers", "scoring", "masks", "position-and-cache")
}
DTYPES = {"Bool": "bool", "Float": "float", "Int": "int", "Shaped": "any"}
# Arguments whose numbers are whole, in any dtype.
WHOLE = {"valid_lens", "prefix_lens", "starts"}
# The axes of lengths: one for each example, or for each query.
LENGTHS = re.compile(r"(\w+) \*(\w+)")
SHAPE = re.compile(rf"""\b(?:{"|".join(DTYPES)})\[Tensor, ?(['"]).*?\1\]""")
# Sections of a docstring; "Source" is a paragraph, and the text between others is of the first.
HEADER = re.compile(r"(Args|Attributes|Returns|Yields|Example|Raises):$|(Source): ")
ORDER = ("", "Args", "Attributes", "Returns", "Yields", "Shapes", "Example", "Raises", "Source")

Row = tuple[str, str, str]

logger = logging.getLogger(__name__)


def shorten_signature(text: str | None) -> str | None:
    """A signature whose shapes are left to the table."""
    return text and re.sub(r"\bTensor( \| Tensor)+\b", "Tensor", SHAPE.sub("Tensor", text))


def shorten_signatures(text: str | None, returns: str | None) -> tuple[str | None, str | None]:
    """The arguments and what is returned, both without shapes."""
    return shorten_signature(text), shorten_signature(returns)


def shorten_heading(content: nodes.Element) -> None:
    """Leave the shape of a property to the table, too."""
    for heading in content.parent.findall(addnodes.desc_signature):
        for annotation in [*heading.findall(addnodes.desc_annotation)]:
            text = annotation.astext()
            if SHAPE.search(text):
                annotation.clear()
                annotation.append(nodes.Text(SHAPE.sub("Tensor", text)))


def axes(names: str) -> str:
    """The axes of a tensor, from jaxtyping's text."""
    if lengths := LENGTHS.fullmatch(names):
        one, other = f"({lengths[1]},)", f"({lengths[1]}, {lengths[2]})"
        return TEXT("one_of_axes", one=one, other=other)
    texts = [
        name.replace("...", "…").replace("_", "any") if name in ("...", "_") else name
        for name in names.split()
    ]
    texts = [TEXT("or_one", axis=name[1:]) if name.startswith("#") else name for name in texts]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def shapes_in(argument: str, annotation: object) -> Iterator[Row]:
    """A row for each tensor in an annotation, which is text."""
    if not isinstance(annotation, str):
        return
    tree = ast.parse(annotation, mode="eval")
    # None next to the tensor, not what a function in the annotation returns.
    optional = annotation.endswith("| None")
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(
                value=ast.Name(id=kind), slice=ast.Tuple(elts=[_, ast.Constant(value=str(names))])
            ) if kind in DTYPES:
                dtype = TEXT("whole_numbers") if argument in WHOLE else DTYPES[kind]
                yield argument, axes(names), TEXT("or_none", dtype=dtype) if optional else dtype


def shapes(thing: object) -> list[Row]:
    """The tensors that a function, class or property takes, and what it returns."""
    called = thing.fget if isinstance(thing, property) else thing
    try:
        signature = inspect.signature(called)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    rows = [
        row for it in signature.parameters.values() for row in shapes_in(it.name, it.annotation)
    ]
    return [*rows, *shapes_in("", signature.return_annotation)]


def table(rows: list[Row]) -> list[str]:
    """The rows as reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: attnbook-shapes", ""]
    tensor, axis, dtype = TEXT("tensor_column"), TEXT("axes_column"), TEXT("type_column")
    lines += [f"   * - {tensor}", f"     - {axis}", f"     - {dtype}"]
    for argument, names, dtype in rows:
        text = f"``{argument}``" if argument else TEXT("returned")
        lines += [f"   * - {text}", f"     - ``{names}``", f"     - {dtype}"]
    return [*lines, ""]


def sections_of(lines: list[str]) -> dict[str, list[str]]:
    """The sections of a docstring, each with its header."""
    found: dict[str, list[str]] = {"": []}
    now = ""
    for line in lines:
        if header := HEADER.match(line):
            now = header[1] or header[2]
        elif line and not line[0].isspace() and (now != "Source" or not found[now][-1]):
            now = ""
        found.setdefault(now, []).append(line)
    return found


def links(name: str, explained: dict[str, str], related: list[list[str]]) -> list[str]:
    """Where to read on: what explains a name, and the others of its groups."""
    others = dict.fromkeys(other for group in related if name in group for other in group)
    others.pop(name, None)
    found = [f":explained:`{explained[name]}`"] if name in explained else []
    if others:
        names = ", ".join(f":py:obj:`~{other}`" for other in others)
        found.append(TEXT("see_also", names=names))
    return [line for text in found for line in (text, "")]


def write_entry(app: Sphinx, what: str, name: str, thing: object, lines: list[str]) -> None:
    """Put a docstring's sections in order, with the table and the links."""
    if what == "module":
        return
    app.env.note_dependency(FILE)
    found = sections_of(lines)
    rows = shapes(thing)
    found["Shapes"] = table(rows) if rows else []
    lines[:] = [line for part in ORDER for line in [*found.get(part, []), ""]]
    lines += links(name, *read_explained(app.srcdir))


def read_explained(folder: str | Path) -> tuple[dict[str, str], list[list[str]]]:
    """The section that explains each name, and the groups of related names."""
    file = Path(folder, FILE)
    explained = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    related = explained.pop("see_also", [])
    return explained, related


def explained_role(
    _role: str, rawtext: str, text: str, _line: int, inliner: Inliner
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Link a page and its section, which must exist: MyST warns of others."""
    page, _, anchor = unescape(text).partition("#")
    env = inliner.document.settings.env
    parts = [
        addnodes.pending_xref(
            rawtext,
            nodes.inline(classes=["xref", "myst"]),
            refdomain="doc",
            reftype="myst",
            reftarget=f"chapters/{page}",
            reftargetid=target,
            refdoc=env.docname,
            refexplicit=False,
        )
        for target in (None, anchor)
        if target is None or target
    ]
    joined = [parts[0], *(node for part in parts[1:] for node in (nodes.Text(", "), part))]
    return [nodes.Text(TEXT("explained_in")), *joined], []


def check_explained(app: Sphinx) -> None:
    """Warn of a name without a section that explains it, and of a name that no page lists."""
    found = rooms(root_of(app))
    explained, related = read_explained(app.srcdir)
    for room in found:
        for name in room.names:
            if room.page in EXPLAINED and name not in explained:
                logger.warning("%s names no section that explains %s", FILE, name)
    for name in {*explained, *chain(*related)} - {*chain(*(room.names for room in found))}:
        logger.warning("%s names %s, which no page of the API lists", FILE, name)
