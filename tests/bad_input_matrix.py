"""Writes docs/bad-input.md from the rows: python tests/bad_input_matrix.py > docs/bad-input.md."""

from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "bad-input.md"


def matrix():
    return ""
