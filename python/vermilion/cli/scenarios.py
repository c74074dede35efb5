"""``vermilion scenarios``: the scenarios that come with the package."""

import json
import sys
from typing import Annotated

import typer

from vermilion.cli import completion, options
from vermilion.cli.output import console, output_file
from vermilion.cli.user_error import UserError


def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Print this one, as TOML with its comments, instead of the list.",
            show_default=False,
            autocompletion=completion.scenario_names,
        ),
    ] = None,
    target: options.Json = None,
) -> None:
    """List the shipped scenarios, or print one."""
    from vermilion.scenario.library import scenario_summaries

    if name is not None:
        if target is not None:
            message = "--json is about the list; expected it without NAME"
            raise UserError(message)
        sys.stdout.write(shipped_text("NAME", name))
        return
    summaries = scenario_summaries()
    if target is not None:
        rows = [
            {"name": name, "title": title, "description": text} for name, title, text in summaries
        ]
        with output_file("--json", target) as file:
            file.write(f"{json.dumps(rows, indent=2)}\n")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)  # a name that is cut off cannot be typed
    for each, _, text in summaries:
        table.add_row(each, text)
    console().print(table)


def shipped_text(option: str, name: str) -> str:
    """The TOML of a shipped scenario.

    Raises:
        UserError: there is none of this name.
    """
    from vermilion.scenario.errors import likeliest, value_text
    from vermilion.scenario.library import scenario_names, scenario_text

    text = scenario_text(name)
    if text is None:
        listed = "the name of a shipped scenario (vermilion scenarios lists them)"
        accepted = f"{listed}{likeliest(name, scenario_names())}"
        message = f"{option}: {value_text(name)} is not accepted; expected {accepted}"
        raise UserError(message)
    return text
