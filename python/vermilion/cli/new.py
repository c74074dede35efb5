"""``vermilion new``: a scenario to begin with, in a file of one's own."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from vermilion.cli.endings import UserError
from vermilion.cli.listings import shipped_text
from vermilion.cli.output import output_file, say

_OF_OTHER_FILES = {".csv", ".html", ".json", ".md", ".pcap", ".py", ".txt", ".yaml", ".yml"}
"""Endings of names that nobody gives to a scenario on purpose."""


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name of the file; .toml is added.",
            show_default=False,
        ),
    ],
    *,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO",
            help="Shipped scenario to begin with (default: one link with uploads and a call).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a commented scenario to begin with.

    Nothing that is there is overwritten.
    """
    ending = Path(name).suffix.lower()
    if ending in _OF_OTHER_FILES:
        message = f'NAME: "{name}" is not accepted; expected a name that ends in .toml'
        raise UserError(message)
    path = Path(name if name.lower().endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        message = f'NAME: "{name}" is not accepted; expected a file name, like "mine"'
        raise UserError(message)
    text = _starter() if like is None else shipped_text("--like", like)
    if path.exists():
        message = f'NAME: "{path}" exists; expected a new name'
        raise UserError(message)
    with output_file("NAME", str(path)) as file:
        file.write(text)
    said = shlex.quote(str(path))
    say(f"{path} is written. Next:\n  vermilion run {said}\n  vermilion tune {said}")


def _starter() -> str:
    from importlib import resources

    return (resources.files("vermilion.scenario") / "starter.toml").read_text(encoding="utf-8")
