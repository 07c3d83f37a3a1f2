"""What the tests of the mask figure's module share: node's answers."""

from __future__ import annotations

import pytest

from attnbook.figures import MaskFigure
from tests.figures.mask.cases import settings
from tests.figures.mask.engine import run


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A function that asks the shipped module."""
    return lambda **asked: run(str(MaskFigure._esm), tmp_path_factory.mktemp("mask"), **asked)


@pytest.fixture(scope="module")
def asked():
    return settings()


@pytest.fixture(scope="module")
def shown(page, asked):
    """What the page shows for each setting."""
    return page(settings=asked)["shown"]
