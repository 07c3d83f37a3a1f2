"""Finding lines of a trace, and what is written next to them."""

from __future__ import annotations


def found(x_ray, text):
    """The one line whose source holds a text."""
    (line,) = [line for line in x_ray.lines if text in line.source]
    return line


def notes(line):
    return [text for _, text in line.notes]


def error_of(x_ray):
    """The line where an exception was raised, and its message."""
    (line,) = [it for it in x_ray.lines if any(kind == "error" for kind, _ in it.notes)]
    return line.source, " ".join(notes(line))


def all_made(x_ray):
    return [made for line in x_ray.lines for made in line.made]
