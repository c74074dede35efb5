"""Fills in the options of each command, from the commands themselves.

A page holds the line ``<!-- options COMMAND -->``, which becomes a table of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import typer

from vermilion.cli.application import application

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PLACE = re.compile(r"^<!-- options ([a-z-]+) -->$", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.connect("source-read", _fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def table(command: str) -> str:
    """The options of a command, a row each."""
    group = typer.main.get_command(application())
    context = typer.Context(group)
    own = group.get_command(context, command)  # type: ignore[attr-defined] # of groups
    rows = [record for each in own.params if (record := each.get_help_record(context))]
    lines = [f"| `{name.replace('|', _BAR)}` | {_described(text)} |" for name, text in rows]
    return "\n".join(["| option | |", "| --- | --- |", *lines])


_BAR = r"\|"


def _described(text: str) -> str:
    text = text.replace("|", _BAR).replace("<", r"\<")
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", text)


def _fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = PLACE.sub(lambda found: table(found[1]), source[0])
