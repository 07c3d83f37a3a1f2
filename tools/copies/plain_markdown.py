"""MyST into Markdown that reads well in Colab and JupyterLab.

Whatever has no plain form stops with its text; nothing is passed on half understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markdown_it import MarkdownIt

from tools.copies.links import Book
from tools.copies.myst_text import (
    SPAN,
    Block,
    Directive,
    MystError,
    blocks,
    check_spans,
    directive,
    parser,
)

ADMONITIONS = set("note tip hint important warning caution attention danger seealso".split())
TITLED = re.compile(r"(?P<title>.+?)\s*<(?P<target>[^<>]+)>", re.DOTALL)
MARKS = re.compile(r":::|\{[A-Za-z][\w:+-]*\}")
ADDRESS = re.compile(r"https://|mailto:")
UNSEEN = re.compile(
    r"^[ ]*(?::{3,}|`{3,})(?:\{[\w:+-]+\})? | ^[ ]*:[\w-]+:.*$"
    r"| \{(?:cite:[pt]|eq)\}`[^`]*` | \{[\w:+-]+\}"
    r"| (?<=\S)[ ]*<[^<>`]+>(?=`) | (?<=\])\([^()\s]*\)",
    re.MULTILINE | re.VERBOSE,
)


def linked(text: str, address: str, title: str = "") -> str:
    """A link, or only its text where it would lead nowhere."""
    if not address:
        return text
    return f'[{text}]({address} "{title}")' if title else f"[{text}]({address})"


def title_and_target(content: str) -> tuple[str, str]:
    """What a role shows and what it means: `text <x>`, or `x` for both."""
    titled = TITLED.fullmatch(content)
    return (titled["title"], titled["target"]) if titled else (content, content)


# Roles: each takes what stands between the backticks.


def term(content: str, _page: str, book: Book) -> str:
    """A word of the glossary."""
    title, target = title_and_target(content)
    return linked(title, book.term(target))


def equation(content: str, page: str, book: Book) -> str:
    """The number of a formula, and its chapter if that is another one."""
    formula = book.formulas.get(content)
    if formula is None:
        raise MystError(f"refers to formula {content}, which no chapter has")
    if formula.page == page:
        return f"({formula.number})"
    return f"({formula.number}) of {linked(book.title(formula.page), book.address(formula.page))}"


def works(content: str, book: Book, form: str) -> str:
    """Works of the bibliography, each in the same form."""
    shown = []
    for key in content.split(","):
        work = book.citations.get(key.strip())
        if work is None:
            raise MystError(f"cites {key.strip()}, which the bibliography lacks")
        name = form.format(authors=work.authors, year=work.year)
        shown.append(linked(name, book.bibliography(), work.title))
    return ", ".join(shown)


def cited(content: str, _page: str, book: Book) -> str:
    """A citation in brackets."""
    return f"[{works(content, book, '{authors}, {year}')}]"


def cited_in_text(content: str, _page: str, book: Book) -> str:
    """A citation whose authors belong to the sentence."""
    return works(content, book, "{authors} ({year})")


def python_name(content: str, _page: str, book: Book, mark: str = "") -> str:
    """A name of the package, as code."""
    title, target = title_and_target(content)
    name = target.removeprefix("~")
    short = name.rpartition(".")[2] if target != name else name
    shown = f"{short}{mark}" if title == target else title
    return linked(f"`{shown}`", book.code(name))


def python_function(content: str, page: str, book: Book) -> str:
    """A function of the package, with the brackets that the page puts after it."""
    return python_name(content, page, book, "()")


ROLES: dict[str, Callable[[str, str, Book], str]] = {
    "term": term,
    "eq": equation,
    "cite:p": cited,
    "cite:t": cited_in_text,
    "py:class": python_name,
    "py:func": python_function,
    "py:meth": python_function,
    "py:attr": python_name,
    "py:mod": python_name,
    "math": lambda content, _page, _book: f"${content}$",
}


def span(match: re.Match[str], page: str, book: Book) -> str:
    """One role, picture or link in its plain form; code and formulas stay."""
    if match["role"]:
        if match["role"] not in ROLES:
            raise MystError(f"has the role {match['role']}, which has no plain form: {match[0]}")
        return ROLES[match["role"]](match["content"], page, book)
    if match["picture"]:
        return f"![{match['alt']}]({book.picture(match['picture'], page)})"
    if match["target"]:
        return linked(inline(match["text"], page, book), book.link(match["target"], page))
    return match[0]


def inline(text: str, page: str, book: Book) -> str:
    """A paragraph in its plain form."""
    return SPAN.sub(lambda match: span(match, page, book), text)


# Directives.


def formula(found: Directive, _page: str, book: Book) -> str:
    """A formula on lines of its own, with its number if it has one."""
    label = found.options.get("label")
    number = rf" \tag{{{book.formulas[label].number}}}" if label else ""
    # A blank line would end the formula where Markdown is plain.
    lines = [line for line in found.body.split("\n") if line.strip()]
    return "\n".join(["$$", *lines[:-1], f"{lines[-1]}{number}", "$$"])


def folded(found: Directive, page: str, book: Book) -> str:
    """An answer that the reader opens."""
    title = MarkdownIt().renderInline(inline(found.argument, page, book))
    start = "<details open>" if "open" in found.options else "<details>"
    body = plain(found.body, page, book)
    # Markdown inside HTML is read only after a blank line.
    return f"{start}\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def note(found: Directive, page: str, book: Book) -> str:
    """A note, as a quotation that begins with what it is."""
    title = inline(found.argument, page, book) if found.name == "admonition" else ""
    kind = {"seealso": "See also"}.get(found.name, found.name.capitalize())
    body = plain(found.body, page, book)
    return quotation(f"**{title or kind}**\n\n{body}")


def quotation(text: str) -> str:
    """The text with Markdown's mark of a quotation before each line."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def directive_in_plain(found: Directive, page: str, book: Book) -> str:
    """A directive in its plain form."""
    if found.name == "math":
        return formula(found, page, book)
    if found.name == "dropdown":
        return folded(found, page, book)
    if found.name == "admonition" or (found.name in ADMONITIONS and not found.argument):
        return note(found, page, book)
    raise MystError(f"has {{{found.name}}} {found.argument}, which has no plain form")


def block_in_plain(block: Block, lines: list[str], page: str, book: Book) -> str:
    """The lines of a block in their plain form."""
    text = "\n".join(lines)
    if block.kind == "inline":
        check_spans(text, block)
        return inline(text, page, book)
    found = directive(block.tokens[0]) if block.kind in ("fence", "colon_fence") else None
    if not found:
        if block.kind == "colon_fence":
            raise MystError(f"has a fence of colons without a name: {lines[0]}")
        return text
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if lines[0][len(margin)] not in ":`":
        raise MystError(f"begins a directive beside something else: {lines[0]}")
    return "\n".join(
        f"{margin}{line}".rstrip() for line in directive_in_plain(found, page, book).split("\n")
    )


def plain(text: str, page: str, book: Book) -> str:
    """Markdown without MyST, for a cell of a page.

    Raises:
        MystError: something has no plain form.
    """
    lines, written, done = text.split("\n"), [], 0
    for block in blocks(text):
        written += lines[done : block.start]
        body = lines[block.start : block.end]
        written.append(block_in_plain(block, body, page, book))
        done = block.end
    return "\n".join([*written, *lines[done:]])


# What the finished copy is held to.


def leftovers(text: str) -> Iterator[str]:
    """What a reader outside the book would see raw, or could not follow."""
    for token in parser().parse(text):
        if token.type == "colon_fence" or (token.type == "fence" and directive(token)):
            yield token.info
        for child in [token, *(token.children or [])]:
            if child.type == "myst_role":
                yield f"{{{child.meta['name']}}}`{child.content}`"
            elif child.type in ("text", "html_block", "html_inline"):
                yield from MARKS.findall(child.content)
            address = child.attrs.get("href") or child.attrs.get("src")
            if address and not ADDRESS.match(str(address)):
                yield str(address)


def words(text: str) -> list[str]:
    """What a reader reads: words, formulas and code, without the marks of MyST."""
    return re.findall(r"\w+", UNSEEN.sub(" ", text))


def lost_words(before: str, after: str) -> list[str]:
    """The first words of a cell that do not come in the same order in its plain form."""
    there = iter(re.findall(r"\w+", after))
    return [word for word in words(before) if word not in there][:5]
