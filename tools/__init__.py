"""What makes the book; to read it, or to use attnbook, nothing here is needed."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
