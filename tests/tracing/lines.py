"""Find lines of a trace, their notes, and what they made."""

from __future__ import annotations


def find_line(result, text):
    """Find the one line whose source contains a text."""
    (line,) = [line for line in result.lines if text in line.source]
    return line


def notes(line):
    return [text for _, text in line.notes]


def list_made(result, *, part=False):
    """List the name and the shape of each result, or of each part, line by line."""
    steps = sorted(result.steps, key=lambda it: (it.section, it.line))
    return [(it.name, it.shape) for it in steps if it.part == part]
