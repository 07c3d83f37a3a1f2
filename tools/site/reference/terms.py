"""The meaning of each glossary term, as plain text on every link to it.

`static/terms.js` shows it there.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tools.site.chapter.formulas import FormulaError, typeset
from tools.site.page_tree import change_body, has_changed

STORED = "attnbook_meanings"  # what the environment remembers of the last build
LINK = re.compile(
    r'<a class="reference internal" href="[^"#]*#(term-[^"]+)"(?=><span class="xref std std-term)'
)
MATHML = re.compile(r"<math.*</math>")
NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
# Not every font has subscripts of other letters; these stay as in the code, such as W_q.
INDICES = dict(zip("0123456789ij", "₀₁₂₃₄₅₆₇₈₉ᵢⱼ", strict=True))
EXPONENTS = dict(zip("0123456789⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵀ", strict=True))

logger = logging.getLogger(__name__)


def formula_text(latex: str) -> str:
    """A formula as one line of text: letters, signs, and what is above or below them.

    Raises:
        FormulaError: it has no such form, or KaTeX refuses it.
    """
    mathml = MATHML.search(typeset(latex, display=False))
    if not mathml:
        raise FormulaError("KaTeX wrote no MathML")
    return element_text(ET.fromstring(mathml[0]))  # noqa: S314 - of our own making


def element_text(element: ET.Element) -> str:
    """One element of MathML as text."""
    name = element.tag.removeprefix(NAMESPACE)
    if name in ("mi", "mn", "mo", "mtext"):
        return (element.text or "").strip("\u2061")  # the sign between a function and its argument
    parts = [element_text(child) for child in element if not child.tag.endswith("annotation")]
    if name in ("math", "semantics", "mrow"):
        return row_text(parts)
    if name == "msub":
        return parts[0] + as_index(parts[1])
    if name == "msup":
        return parts[0] + as_exponent(parts[1])
    if name == "msubsup":
        return parts[0] + as_index(parts[1]) + as_exponent(parts[2])
    raise FormulaError(f"<{name}> has no plain text")


def row_text(parts: list[str]) -> str:
    """Signs side by side, with the spaces of a typeset line."""
    text = ""
    for part in parts:
        glued = not part or text in ("", "−") or text[-1] == "(" or part[0] in "(),"
        text += part if glued else f" {part}"
    return text


def as_index(text: str) -> str:
    """An index."""
    if not text.isalnum():
        raise FormulaError(f"the index {text!r} has no plain text")
    return "".join(INDICES[sign] for sign in text) if {*text} <= {*INDICES} else f"_{text}"


def as_exponent(text: str) -> str:
    """An exponent, or the sign of a transposed matrix."""
    if not {*text} <= {*EXPONENTS}:
        raise FormulaError(f"the exponent {text!r} has no plain text")
    return "".join(EXPONENTS[sign] for sign in text)


def node_text(node: nodes.Node) -> str:
    """The text of a part of a definition, with formulas and without citations."""
    if isinstance(node, nodes.math):
        try:
            return formula_text(node.astext())
        except FormulaError as error:
            logger.warning("formula in the meaning of a term: %s", error, location=node)
            return ""
    if isinstance(node, addnodes.pending_xref) and node["refdomain"] == "cite":
        return ""
    if isinstance(node, nodes.Text):
        return str(node.astext())
    return "".join(map(node_text, node.children))


def meanings_in(doctree: nodes.document) -> dict[str, str]:
    """By the id of each term of a page's glossary, the first paragraph of what it means."""
    found: dict[str, str] = {}
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            for paragraph in list(item.findall(nodes.paragraph))[:1]:
                # A removed citation leaves a space before the full stop.
                text = re.sub(r" +(?=[.,;:)]|$)", "", " ".join(node_text(paragraph).split()))
                found |= {name: text for term in item.findall(nodes.term) for name in term["ids"]}
    return found


def collect_meanings(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Collect the meanings; all pages are written again if one of them has changed."""
    if app.builder.format != "html":
        return []
    objects = env.get_domain("std").get_objects()
    pages = sorted({page for _, _, kind, page, *_ in objects if kind == "term"})
    now: dict[str, str] = {}
    for page in pages:
        now |= meanings_in(env.get_doctree(page))
    return sorted(env.found_docs) if has_changed(env, STORED, now) else []


def add_meanings(body: str, meanings: dict[str, str]) -> str:
    """Add its meaning to each link to a term."""

    def with_meaning(link: re.Match[str]) -> str:
        meaning = meanings.get(link[1])
        return f'{link[0]} data-meaning="{escape(meaning)}"' if meaning else link[0]

    return LINK.sub(with_meaning, body)


def write(app: Sphinx, context: dict[str, Any]) -> None:
    """Put the meanings into one page."""
    change_body(context, lambda body: add_meanings(body, vars(app.env)[STORED]))
