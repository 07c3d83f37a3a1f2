"""What the book contains, in order: `_toc.yml` alone says it, and this module alone reads it."""

from __future__ import annotations

from pathlib import Path

from sphinx_external_toc.parsing import parse_toc_yaml

from tools import ROOT


def pages(root: Path = ROOT) -> list[str]:
    """The pages of the book in this folder, named as in `_toc.yml`, the first one first."""
    return list(parse_toc_yaml(root / "_toc.yml"))
