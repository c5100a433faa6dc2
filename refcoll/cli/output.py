"""Tables for people, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from refcoll.errors import ArgumentError
from refcoll.launching import launched_size


def console() -> Console:
    """Standard output, as wide as any table: wrapped lines are better than cut cells.

    A launcher may give its processes terminals, and write what they say to a file.
    """
    return Console(width=10_000, force_terminal=None if launched_size() is None else False)


def table(title: str | None, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table; columns of numbers are aligned right."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(header):
        cells = [row[place] for row in rows if row[place] != "-"]
        numeric = bool(cells) and all(cell.removeprefix("<= ")[:1].isdigit() for cell in cells)
        made.add_column(name, justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def require_writable(path: Path, option: str) -> None:
    """Raise ArgumentError, before any work is done, where the file could not be written."""
    if (why := unwritable(path)) is not None:
        error = ArgumentError(f"{option}={str(path)!r} cannot be written: {why}")
        raise error from PermissionError(str(path))  # it may be so on this machine alone


def unwritable(path: Path) -> str | None:
    """Why a file could not be written; None where it could."""
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}"
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return "permission denied"
    return None


def write_json(path: Path | None, content: Any) -> None:
    """Write ``content`` to ``path``, to standard output if that is "-"."""
    if path is None:
        return
    text = json.dumps(content, indent=1) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        try:
            path.write_text(text)
        except OSError as error:
            raise ArgumentError(f"json={str(path)!r} cannot be written: {error}") from error
