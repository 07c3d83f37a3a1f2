"""Matplotlib's pictures as a part of a page, the same on every processor."""

from __future__ import annotations

import re
import zlib

# What is written for browsers; what stands between two tags is for readers, and stays.
TAG = re.compile(r"<[^>]*>")
# The name of a part, or a reference to it.
NAME = re.compile(r'( id="|url\(#|href="#)([^")]+)(["\)])')


def inline(svg: str, ink: str) -> str:
    """Make matplotlib's file part of a page: no header, no ids that clash, the page's font.

    What is drawn in the colour `ink` takes the page's text colour.
    """
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg ") :], flags=re.DOTALL)
    return _name_parts(TAG.sub(lambda tag: _restyle(tag[0], ink), svg.strip()))


def _restyle(tag: str, ink: str) -> str:
    """Leave fonts and ink to the page, and write places that no processor turns."""
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    # Black goes without saying in a file, a legend's words for instance; on a dark page it hides.
    tag = re.sub(r'^(<text style=")(?!.*fill:)', r"\1fill: currentColor; ", tag)
    # Decimals beyond the third, and the sign of 0, may turn.
    tag = re.sub(r"(?<!opacity: )-?\d+\.\d{4,}", lambda found: f"{float(found[0]):.3f}", tag)
    tag = re.sub(r"(?<=[ \"(])-0(?:\.0*)?(?=[ \"\n])", "0", tag)
    return tag.replace(ink, "currentColor")


def _name_parts(svg: str) -> str:
    """Name what is referred to after the whole picture, and leave other names out."""
    found = [part for tag in TAG.findall(svg) for part in NAME.findall(tag)]
    used = list(dict.fromkeys(name for start, name, _ in found if "#" in start))

    def named(picture: str) -> str:
        def anew(part: re.Match[str]) -> str:
            start, name, end = part.groups()
            return f"{start}{picture}-{used.index(name)}{end}" if name in used else ""

        return TAG.sub(lambda tag: NAME.sub(anew, tag[0]), svg)

    return named(f"picture-{zlib.crc32(named('part').encode()):08x}")
