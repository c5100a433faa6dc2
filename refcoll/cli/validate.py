"""refcoll validate: how far the planner's model is from what others published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refcoll.cli.options import Json
from refcoll.cli.output import require_writable, write_json
from refcoll.cli.validate_page import page
from refcoll.cli.validate_report import content, report
from refcoll.errors import ArgumentError
from refcoll.planning.validation_report import validation


def validate(
    rows: Annotated[
        bool, typer.Option("--rows", help="print every published figure, not groups of them")
    ] = False,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", "-o", help="write docs/validation.md, a page")
    ] = None,
    json: Json = None,
) -> None:
    """Compare the planner's predictions with published measurements, and print their errors.

    What was predicted is told apart from what the model is made of, and from what it cannot
    speak of; measured tables are tested by leaving points out.
    """
    if markdown is not None:
        require_writable(markdown, "markdown")
    made = validation()
    if str(json) != "-":
        report(made, rows)
    write_json(json, content(made))
    if markdown is not None:
        try:
            markdown.write_text(page(made), encoding="utf-8")
        except OSError as error:
            raise ArgumentError(f"markdown={str(markdown)!r} cannot be written: {error}") from error
