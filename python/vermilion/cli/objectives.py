"""``vermilion objectives``: what can be minimised or maximised, and what each has to be told."""

import json

import typer

from vermilion.cli import options
from vermilion.cli.output import console, output_file


def objectives(target: options.Json = None) -> None:
    """List what a tuning can minimise or maximise."""
    from vermilion.objectives import OBJECTIVES
    from vermilion.objectives.fields import fields_of, required_fields

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
        for objective in OBJECTIVES.values()
    ]
    if target is not None:
        with output_file("--json", target) as file:
            file.write(f"{json.dumps(rows, indent=2)}\n")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)  # a name that is cut off cannot be typed
    meanings: dict[str, str] = {}
    for objective in OBJECTIVES.values():
        needed, known = required_fields(objective), fields_of(objective)
        meanings.update((name, kind.meaning) for name, kind in known.items())
        optional = [f"[{name}]" for name in known if name not in needed and name != "over"]
        # Rich would take brackets for markup.
        fields = " ".join([*needed, *optional]).replace("[", "\\[")
        table.add_row(objective.name, objective.summary, fields)
    console().print(table)
    width = max(map(len, meanings))
    typer.echo("\nfields")
    for name, meaning in sorted(meanings.items()):
        typer.echo(f"  {name:<{width}} {meaning}")
