"""Tools that build, test and publish the book; attnbook does not need them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
