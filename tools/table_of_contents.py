"""The pages of the book in order, from `_toc.yml`, which only this module reads."""

from __future__ import annotations

from pathlib import Path

from sphinx_external_toc.parsing import parse_toc_yaml

from tools import ROOT


def pages(root: Path = ROOT) -> list[str]:
    """The pages of the book in this folder, named as in `_toc.yml`, the first one first."""
    return list(parse_toc_yaml(root / "_toc.yml"))


def parts(root: Path = ROOT) -> dict[str, list[str]]:
    """The captions of the sidebar, with the pages below each."""
    trees = parse_toc_yaml(root / "_toc.yml").root.subtrees
    return {tree.caption or "": [str(page) for page in tree.items] for tree in trees}


def short_path(root: Path = ROOT) -> list[str]:
    """The pages whose cores a newcomer reads first: the first page and the first part."""
    first, *_ = pages(root)
    return [first, *next(iter(parts(root).values()))]
