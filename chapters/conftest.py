"""What `pytest --nbval chapters/` cannot do without."""

from importlib.util import find_spec

import pytest


def pytest_configure() -> None:
    """Stop before every chapter fails on its first line."""
    if not find_spec("attnbook"):
        raise pytest.UsageError(
            "attnbook, which every chapter imports, is not installed: "
            "run `pip install -r requirements.txt -e .` "
            "in the book's folder first"
        )
