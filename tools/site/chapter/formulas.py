"""Formulas set by KaTeX while the book is built, so that no page needs a script for them."""

from __future__ import annotations

import atexit
import json
import re
import shutil
from functools import cache
from pathlib import Path
from subprocess import PIPE, Popen

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from tools.site import TEXT
from tools.site.assets.node import NODE, TOOLS, install_packages
from tools.site.chapter import lines

PROGRAM = Path(__file__).with_suffix(".mjs")
KATEX = TOOLS / "node_modules" / "katex" / "dist"
STYLE = "katex/katex.css"


logger = logging.getLogger(__name__)


class FormulaError(ValueError):
    """A formula that KaTeX refuses, with its reason."""


@cache
def typesetter() -> Popen[str]:
    """The one node process of this build; it ends when our end of its input closes."""
    process = Popen([NODE, PROGRAM], stdin=PIPE, stdout=PIPE, encoding="utf-8")
    atexit.register(process.communicate)
    return process


@cache
def typeset(latex: str, *, display: bool) -> str:
    """The HTML (with MathML for screen readers) of one formula."""
    process = typesetter()
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("node was started without pipes")
    print(json.dumps({"latex": latex, "display": display}), file=process.stdin, flush=True)
    answer = json.loads(process.stdout.readline() or '{"error": "node stopped"}')
    if "error" in answer:
        raise FormulaError(answer["error"])
    return str(answer["html"])


def typeset_node(node: nodes.math | nodes.math_block) -> str:
    """The HTML of a formula in a page, or a warning with its line."""
    try:
        return typeset(node.astext(), display=isinstance(node, nodes.math_block))
    except FormulaError as error:
        logger.warning("formula cannot be set: %s", error, location=node)
        return ""


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a sentence."""
    self.body.append(self.starttag(node, "span", "", CLASS="math"))
    self.body.append(f"{typeset_node(node)}</span>{lines.END}")
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(typeset_node(node))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, TEXT("link_to_equation"))
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def copy_style(app: Sphinx) -> None:
    """Put KaTeX's style sheet and the fonts that browsers of today ask for on the site."""
    install_packages()
    target = Path(app.outdir) / "_static" / STYLE
    target.parent.mkdir(parents=True, exist_ok=True)
    style = (KATEX / "katex.min.css").read_text("utf-8")
    older = r',url\([^)]*\) format\("(?:woff|truetype)"\)'
    target.write_text(re.sub(older, "", style), "utf-8")
    shutil.copytree(
        KATEX / "fonts",
        target.parent / "fonts",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("*.ttf", "*.woff"),
    )
    app.add_css_file(STYLE)
