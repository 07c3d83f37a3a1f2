"""Find lines of a trace, and their notes."""

from __future__ import annotations


def find_line(result, text):
    """Find the one line whose source contains a text."""
    (line,) = [line for line in result.lines if text in line.source]
    return line


def notes(line):
    return [text for _, text in line.notes]


def list_made(result):
    return [(it.name, it.shape) for line in result.lines for it in line.made]
