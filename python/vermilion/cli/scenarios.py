"""``vermilion scenarios``: the scenarios that come with the package."""

import json

from vermilion.cli import options
from vermilion.cli.output import console, output_file


def scenarios(target: options.Json = None) -> None:
    """List the shipped scenarios."""
    from vermilion.scenario.library import scenario_summaries

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
    for name, _, text in summaries:
        table.add_row(name, text)
    console().print(table)
