"""What our style sheets say is understood by every engine; the rest falls away silently."""

from __future__ import annotations

import re

from tools import ROOT

SHEETS = [*ROOT.glob("attnbook/figures/*/*.css"), *ROOT.glob("tools/site/static/*.css")]
DECLARATION = re.compile(r"^\s+([a-z-]+):\s([^;{}]+?)(?: !important)?;$", re.MULTILINE)
UNKNOWN = "given => given.filter(([name, value]) => !CSS.supports(name, value))"
# Newer than Debian's WebKit: there a text scrolls in its field where it is too long for it.
NEWER = {("field-sizing", "content")}
# Told by a variable's value only, which the sheet does not say.
LATER = "var("


def declared() -> list[tuple[str, str]]:
    """All that our sheets declare, once."""
    found = {pair for sheet in SHEETS for pair in DECLARATION.findall(sheet.read_text("utf-8"))}
    return sorted(pair for pair in found - NEWER if LATER not in pair[1])


def test_each_declaration_is_understood(engine, watched_home):
    engine.open(f"{watched_home}chapters/welcome.html")
    assert len(declared()) > 300
    assert engine.evaluate(UNKNOWN, declared()) == []


def test_one_that_is_not_is_noticed(engine, watched_home):
    engine.open(f"{watched_home}chapters/welcome.html")
    given = [["text-decoration-thickness", "3px"], ["text-decoration-thickness", "3 px"]]
    assert engine.evaluate(UNKNOWN, given) == given[1:]


STYLE = """() => {
    const { textDecorationLine, textDecorationStyle } = getComputedStyle(
        document.querySelector('.bd-article a:has(> .std-term)'));
    return [textDecorationLine, textDecorationStyle];
}"""


def test_a_term_is_known_by_its_dots(engine, watched_home):
    engine.open(f"{watched_home}chapters/masks.html")
    assert engine.evaluate(STYLE) == ["underline", "dotted"]
