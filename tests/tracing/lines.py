"""What a trace lists, as text and as pairs."""

from __future__ import annotations

import re


def results_at(result, code):
    """List what the table writes next to the rows whose code holds a text."""
    rows = re.findall(r"^ *\d+  (.*?)(?:  +(.*))?$", repr(result), re.MULTILINE)
    return [text for made, text in rows if code in made]


def list_made(result, *, part=False):
    """List the name and the shape of each result, or of each part, line by line."""
    steps = sorted(result.steps, key=lambda it: (it.section, it.line))
    return [(it.name, it.shape) for it in steps if it.part == part]


def written(result):
    """Write each step as `name (shape)`, and then the table."""
    shapes = [", ".join(it.symbols) + "," * (len(it.symbols) == 1) for it in result.steps]
    lines = [f"{it.name} ({shape})" for it, shape in zip(result.steps, shapes, strict=True)]
    return "\n".join([*lines, repr(result)])
