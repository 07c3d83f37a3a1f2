"""Matplotlib's pictures as a part of a page, the same on every processor."""

from __future__ import annotations

import re
import zlib


def inline(svg: str, ink: str) -> str:
    """Make matplotlib's file part of a page: no header, no ids that clash, the page's font.

    What is drawn in the colour `ink` takes the page's text colour.
    """
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg ") :], flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    # Black goes without saying in a file, a legend's words for instance; on a dark page it hides.
    svg = re.sub(r'(<text style=")(?![^"]*fill:)', r"\1fill: currentColor; ", svg)
    return _name_parts(_shorten(svg).replace(ink, "currentColor").strip())


def _shorten(svg: str) -> str:
    """Write places with three decimals: further ones, and the sign of 0, may turn."""
    svg = re.sub(r"(?<!opacity: )-?\d+\.\d{4,}", lambda found: f"{float(found[0]):.3f}", svg)
    return re.sub(r"(?<=[ \"(])-0(?:\.0*)?(?=[ \"\n])", "0", svg)


def _name_parts(svg: str) -> str:
    """Name what is referred to after the whole picture, and leave other names out."""
    used = list(dict.fromkeys(re.findall(r'(?:url\(|href=")#([\w-]+)', svg)))
    svg = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", svg)
    for number, name in enumerate(used):
        svg = re.sub(rf"(?<=[\"#]){name}(?=[\")])", f"part-{number}", svg)
    return svg.replace("part-", f"picture-{zlib.crc32(svg.encode()):08x}-")
