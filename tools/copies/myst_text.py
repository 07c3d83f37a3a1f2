"""Find MyST in Markdown with the book's own parser; what stands in code or in math is neither."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import yaml  # type: ignore[import-untyped]  # it has no types
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from tools import ROOT

CONTAINERS = set("heading paragraph bullet_list ordered_list list_item blockquote".split()) | set(
    "table thead tbody tr th td".split()
)
LEAVES = set("inline fence colon_fence math_block code_block html_block hr".split())
INLINE = set("text softbreak hardbreak code_inline math_inline math_inline_double".split()) | set(
    "em strong link image html_inline myst_role".split()
)
COUNTED = {
    "myst_role": "role",
    "code_inline": "code",
    "math_inline": "math",
    "math_inline_double": "math",
}
DIRECTIVE = re.compile(r"\{([\w:+-]+)\}\s*(.*)")
OPTION = re.compile(r":([\w-]+):\s*(.*)")
SPAN = re.compile(
    r"""
      (?P<escaped>\\.)
    | \{(?P<role>[\w+:-]+)\}(?P<ticks>`+)(?P<content>.+?)(?<!`)(?P=ticks)(?!`)
    | (?P<fence>`+)(?P<code>.+?)(?<!`)(?P=fence)(?!`)
    | (?P<math>\$\$.+?\$\$ | \$(?:\\.|[^$\\])+\$)
    | !\[(?P<alt>[^\]]*)\]\((?P<picture>[^()\s]+)\)
    | \[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)
    """,
    re.VERBOSE | re.DOTALL,
)


class MystError(ValueError):
    """MyST that has no form in plain Markdown here."""


@dataclass(frozen=True)
class Block:
    """Some lines of a text, and what the parser sees in them."""

    kind: str
    start: int
    end: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class Directive:
    """A directive's parts."""

    name: str
    argument: str
    options: dict[str, str]
    body: str


@cache
def parser() -> MarkdownIt:
    """The book's parser, with the extensions that _config.yml names."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    extensions = set(settings["parse"]["myst_enable_extensions"])
    return create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)


def blocks(text: str) -> list[Block]:
    """The text's paragraphs, formulas, pieces of code and directives, in order.

    Raises:
        MystError: there is something else than those, lists, quotes and tables.
    """
    found: dict[tuple[int, int], Block] = {}
    lines = text.split("\n")
    for token in parser().parse(text):
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if kind not in (CONTAINERS if token.nesting else LEAVES):
            raise MystError(f"has {kind}, which has no plain form: {quoted(token, lines)}")
        if token.nesting == 0 and token.map:
            start, end = token.map
            before = found.get((start, end))  # the cells of a table share their row's lines
            tokens = (*before.tokens, token) if before else (token,)
            found[start, end] = Block(kind, start, end, tokens)
    return list(found.values())


def quoted(token: Token, lines: list[str]) -> str:
    """The first line of what a token stands for."""
    return lines[token.map[0]].strip() if token.map else token.content


def directive(token: Token) -> Directive | None:
    """The directive that a fence of backticks or colons opens, if it is one."""
    head = DIRECTIVE.fullmatch(token.info.strip())
    if not head:
        return None
    lines = token.content.rstrip().split("\n")
    options = {}
    while lines and (option := OPTION.fullmatch(lines[0].strip())):
        options[option[1]] = option[2]
        lines.pop(0)
    return Directive(head[1], head[2].strip(), options, "\n".join(lines).strip("\n"))


def spans(text: str) -> Iterator[re.Match[str]]:
    """Roles, code, formulas, pictures and links of a paragraph, and those inside a link's text."""
    for match in SPAN.finditer(text):
        yield match
        if match["text"]:
            yield from spans(match["text"])


def check_spans(text: str, block: Block) -> None:
    """Refuse a paragraph in which the parser sees other things than `spans` does."""
    children = [child for token in block.tokens for child in token.children or []]
    for child in children:
        kind = child.type.removesuffix("_open").removesuffix("_close")
        if kind not in INLINE:
            raise MystError(f"has {kind}, which has no plain form: {text.strip()}")
    seen = Counter(COUNTED[child.type] for child in children if child.type in COUNTED)
    ours = Counter(
        kind for match in spans(text) for kind in ("role", "code", "math") if match[kind]
    )
    if seen != ours:
        raise MystError(f"has {dict(seen)}, of which only {dict(ours)} were found: {text.strip()}")


def labels(text: str) -> Iterator[str]:
    """The labels of formulas, in the order in which the page counts them."""
    for block in blocks(text):
        token = block.tokens[0]
        found = directive(token) if block.kind in ("fence", "colon_fence") else None
        if found and found.name == "math" and "label" in found.options:
            yield found.options["label"]
        elif found and block.kind == "colon_fence":
            yield from labels(found.body)
