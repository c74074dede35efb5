"""``vermilion objectives``: what can be minimised or maximised, and what each has to be told."""

import json
from typing import Annotated

import typer

from vermilion.cli import completion, options
from vermilion.cli.output import console, output_file, say
from vermilion.cli.user_error import UserError


def objectives(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show this one alone.",
            show_default=False,
            autocompletion=completion.objective_names,
        ),
    ] = None,
    target: options.Json = None,
) -> None:
    """List what a tuning can minimise or maximise, or show one."""
    from vermilion.objectives import OBJECTIVES
    from vermilion.objectives.fields import fields_of, required_fields

    if name is not None and name not in OBJECTIVES:
        from vermilion.scenario.errors import did_you_mean, value_text

        accepted = did_you_mean(name, OBJECTIVES)
        message = f"NAME: {value_text(name)} is not accepted; expected {accepted}"
        raise UserError(message)
    shown = [each for each in OBJECTIVES.values() if name in {None, each.name}]
    rows = [
        {
            "name": objective.name,
            "summary": objective.summary,
            "goal": objective.goal,
            "unit": objective.unit,
            "noticeable": objective.noticeable,
            "noticeable_share": objective.noticeable_share,
            "required": required_fields(objective),
            "fields": {name: kind.meaning for name, kind in fields_of(objective).items()},
        }
        for objective in shown
    ]
    if target is not None:
        with output_file("--json", target) as file:
            file.write(f"{json.dumps(rows if name is None else rows[0], indent=2)}\n")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)  # a name that is cut off cannot be typed
    meanings: dict[str, str] = {}
    for objective in shown:
        needed, known = required_fields(objective), fields_of(objective)
        meanings.update((name, kind.meaning) for name, kind in known.items())
        optional = [f"[{name}]" for name in known if name not in needed and name != "over"]
        # Rich would take brackets for markup.
        fields = " ".join([*needed, *optional]).replace("[", "\\[")
        table.add_row(objective.name, objective.summary, fields)
    console().print(table)
    if not meanings:
        return
    width = max(map(len, meanings))
    say("\nfields")
    for field, meaning in sorted(meanings.items()):
        say(f"  {field:<{width}} {meaning}")
