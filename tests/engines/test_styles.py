"""Every engine supports our style sheets; it would ignore other declarations silently."""

from __future__ import annotations

import re

from tools import ROOT

SHEETS = [*ROOT.glob("attnbook/figures/*/*.css"), *ROOT.glob("tools/site/static/*.css")]
DECLARATION = re.compile(r"^\s+([a-z-]+):\s([^;{}]+?)(?: !important)?;$", re.MULTILINE)
UNSUPPORTED = "pairs => pairs.filter(([name, value]) => !CSS.supports(name, value))"
# Newer than Debian's WebKit: there a text that is too long for its field scrolls. Firefox fills
# one column of the printed cheat sheet after the other; what is set for a page is no property; and
# WebKit, which has no forced colours, needs no exception from them.
NEWER = {("field-sizing", "content"), ("break-after", "column"), ("size", "landscape")}
NEWER |= {("forced-color-adjust", "none")}
# The value of a variable is not in the sheet.
VARIABLE = "var("


def list_declarations() -> list[tuple[str, str]]:
    """All declarations of our style sheets, each once."""
    pairs = {pair for sheet in SHEETS for pair in DECLARATION.findall(sheet.read_text("utf-8"))}
    return sorted(pair for pair in pairs - NEWER if VARIABLE not in pair[1])


def test_each_declaration_is_supported(engine, watched_url):
    engine.open(f"{watched_url}chapters/welcome.html")
    assert len(list_declarations()) > 300
    assert engine.evaluate(UNSUPPORTED, list_declarations()) == []
