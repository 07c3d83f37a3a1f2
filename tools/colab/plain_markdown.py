"""Write a page that Sphinx has resolved as Markdown for Colab and JupyterLab.

sphinx-markdown-builder does not fit: it writes anchors as HTML, notes as headings, and a dollar
sign as the beginning of a formula. A node without a plain form here is an error with its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import indent

from docutils import nodes
from markdown_it import MarkdownIt

from attnbook.messages import Messages

FAR = re.compile(r"https?:|mailto:")
# Characters with a meaning in Markdown: inside a line, and at its beginning.
MARK = re.compile(r"[\\`*$~]|(?<!\w)_|_(?!\w)|<(?=\S)|\](?=\()|&(?=[\w#]+;)")
FIRST_MARK = re.compile(r"^(?:(\d+)(?=[.)](?:\s|$))|(?=[-+]+(?:\s|$)|[#>=|[]|:-))")
RULES = {"text-left": ":--", "text-center": ":-:", "text-right": "--:"}
TEXT = Messages(__file__)
KINDS = {"seealso": TEXT("see_also")}
LISTS = (nodes.bullet_list, nodes.enumerated_list)


class PlainError(ValueError):
    """A part of a page that has no form in plain Markdown here."""


def link_to(text: str, address: str, title: str = "") -> str:
    """A link, or only its text if it would lead nowhere."""
    if not FAR.match(address):
        return text
    quoted = title.replace('"', "'")
    return f'[{text}]({address} "{quoted}")' if title else f"[{text}]({address})"


# Inside a line


def line(node: nodes.Element) -> str:
    """The content of a paragraph, a heading or a link."""
    return "".join(inline(child) for child in node.children)


def inline(node: nodes.Node) -> str:  # noqa: PLR0911 - one for each kind
    """A part of a sentence in plain Markdown.

    Raises:
        PlainError: it has no plain form.
    """
    match node:
        case nodes.Text():
            return escape(node)
        case nodes.emphasis():
            return f"*{line(node)}*"
        case nodes.strong():
            return f"**{line(node)}**"
        case nodes.inline():
            return line(node)
        case nodes.math():
            return f"${node.astext()}$"
        case nodes.literal():
            return code(node.astext())
        case nodes.reference():
            return link_to(line(node), node.get("refuri", ""), node.get("reftitle", ""))
        case nodes.image():
            return f"![{node.get('alt', '')}]({node['uri']})"
        case nodes.raw():
            return node.astext() if node["format"] == "html" else ""
    text = " ".join(node.astext().split())
    raise PlainError(f"has <{node.tagname}>, which has no plain form: {text}")


def escape(node: nodes.Text) -> str:
    """A text with a backslash before each character that has a meaning in Markdown."""
    text = MARK.sub(r"\\\g<0>", node.astext())
    return FIRST_MARK.sub(r"\1\\", text) if begins_a_line(node) else text


def begins_a_line(node: nodes.Text) -> bool:
    """Whether a text begins its line; the parser makes one text for each line."""
    index = node.parent.index(node)
    if index == 0:
        return isinstance(node.parent, nodes.paragraph)
    return str(node.parent[index - 1].astext()).endswith("\n")


def code(text: str) -> str:
    """Code within a sentence."""
    fence = "`" * (1 + longest_run(text))
    # Markdown removes one space if there is one on both sides.
    padded = text.startswith("`") or text.endswith("`") or re.fullmatch(" .*[^ ].* ", text)
    space = " " if padded else ""
    return f"{fence}{space}{text}{space}{fence}"


def longest_run(text: str) -> int:
    """The length of the longest run of backticks in some code."""
    return max(map(len, re.findall("`+", text)), default=0)


# Blocks


def blocks(children: list[nodes.Node]) -> str:
    """Blocks with an empty line between each two."""
    return "\n\n".join(text for child in children if (text := block(child)))


def block(node: nodes.Node) -> str:  # noqa: PLR0911 - one for each kind
    """A paragraph, list, table, formula or note in plain Markdown.

    Raises:
        PlainError: it has no plain form.
    """
    match node:
        case nodes.paragraph():
            return line(node)
        case nodes.bullet_list():
            return items(node, ["- "] * len(node.children))
        case nodes.enumerated_list():
            first = node.get("start", 1)
            return items(node, [f"{first + i}. " for i in range(len(node.children))])
        case nodes.table():
            return table(node)
        case nodes.block_quote():
            return quotation(blocks(node.children))
        case nodes.literal_block():
            return listing(node)
        case nodes.math_block() if not node.get("nowrap"):
            return formula(node)
        case nodes.transition():
            return "---"
        case nodes.container(attributes={"design_component": "dropdown"}):
            return render_fold(node)
        case nodes.Admonition():
            return note(node)
        case nodes.target() | nodes.comment():
            return ""
        case nodes.compound() if "toctree-wrapper" in node["classes"]:
            return ""
    return inline(node)


def is_close(item: nodes.list_item) -> bool:
    """Whether an item is a paragraph, or one with lists below it."""
    paragraphs, others = item.children[:1], item.children[1:]
    return all(isinstance(node, nodes.paragraph) for node in paragraphs) and all(
        isinstance(node, LISTS) for node in others
    )


def items(node: nodes.Element, marks: Iterable[str]) -> str:
    """A list, with empty lines only where an item needs them."""
    gap = "\n" if all(is_close(item) for item in node.children) else "\n\n"
    texts = []
    for item, mark in zip(node.children, marks, strict=True):
        text = gap.join(block(child) for child in item.children)
        texts.append(mark + indent(text, " " * len(mark))[len(mark) :])
    return gap.join(texts)


def table(node: nodes.table) -> str:
    """A table; in Markdown each bar begins a cell, even within code."""
    rows = list(node.findall(nodes.row))
    texts = [[blocks(cell.children).replace("|", r"\|") for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in texts]
    rules = [next((RULES[name] for name in cell["classes"]), "---") for cell in rows[0]]
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]])


def listing(node: nodes.literal_block) -> str:
    """A block of code."""
    fence = "`" * max(3, 1 + longest_run(node.astext()))
    language = node.get("language", "")
    name = "" if language in ("default", "none") else language
    return f"{fence}{name}\n{node.astext().rstrip()}\n{fence}"


def formula(node: nodes.math_block) -> str:
    """A block with a formula, and its number if it has one."""
    # In plain Markdown a blank line would end the formula.
    lines = [text for text in node.astext().split("\n") if text.strip()]
    number = rf" \tag{{{node['number']}}}" if node.get("label") else ""
    return "\n".join(["$$", *lines[:-1], f"{lines[-1]}{number}", "$$"])


def render_fold(node: nodes.container) -> str:
    """An answer that the reader opens."""
    title, *body = node.children
    return folded_text(line(title), blocks(body), is_open=node["opened"])


def folded_text(title: str, text: str, *, is_open: bool = False) -> str:
    """A text that opens when the reader clicks its title."""
    start = "<details open>" if is_open else "<details>"
    # Markdown inside HTML is read only after a blank line, and never within a summary.
    summary = MarkdownIt().renderInline(title)
    return f"{start}\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def note(node: nodes.Element) -> str:
    """A note as a quotation that begins with its kind."""
    if isinstance(node, nodes.admonition):
        kind, body = line(node[0]), node[1:]
    else:
        kind, body = KINDS.get(node.tagname, node.tagname.capitalize()), node.children
    return quotation(f"**{kind}**\n\n{blocks(body)}")


def quotation(text: str) -> str:
    """A text as a quotation."""
    return indent(text, "> ", lambda _: True).replace("> \n", ">\n")
