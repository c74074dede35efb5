"""Disciplines and senders for reading: a list of all, or one with its parameter table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vermilion.cli.output import console, output_file
from vermilion.cli.user_error import UserError
from vermilion.scenario.algorithms import accepted_algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.algorithms import Algorithm, Parameter

_WITH_SOURCES: Final = 110
"""Columns of a terminal in which a table of parameters also has their sources."""


def show(
    kind: str, name: str | None, known: Mapping[str, Algorithm], raw: str, target: str | None
) -> None:
    """Prints the algorithms of one kind, or one of them in full.

    Args:
        kind: "discipline" or "sender".
        name: the one to show; ``None`` for a list of all.
        known: all of them.
        raw: the core's own JSON of them, which is what ``--json`` writes.
        target: of ``--json``.

    Raises:
        UserError: there is none of this name.
    """
    if name is not None and name not in known:
        message = f'{kind}: "{name}" is not accepted; expected {accepted_algorithm(name, known)}'
        raise UserError(message)
    if target is not None:
        rows = [row for row in json.loads(raw) if name is None or row["name"] == name]
        with output_file("--json", target) as file:
            file.write(f"{json.dumps(rows if name is None else rows[0], indent=2)}\n")
    elif name is None:
        _print_list(known)
    else:
        _print_one(known[name])


def _print_list(known: Mapping[str, Algorithm]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)  # a name that is cut off cannot be typed
    for algorithm in known.values():
        table.add_row(algorithm.name, algorithm.title, algorithm.summary)
    console().print(table)


def _print_one(algorithm: Algorithm) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    screen = console()
    screen.print(f"[bold]{escape(algorithm.name)}[/bold]: {escape(algorithm.title)}")
    screen.print(f"{algorithm.summary}.", markup=False)
    screen.print(f"Source: {algorithm.source}", markup=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("parameter", no_wrap=True)
    sourced = screen.width >= _WITH_SOURCES
    for heading in ("default", "accepted", "meaning", *(["source"] if sourced else [])):
        table.add_column(heading)
    for parameter in algorithm.parameters.values():
        cells = (
            parameter.name,
            parameter.readable(parameter.default),
            _accepted(parameter),
            parameter.meaning,
            *([parameter.source] if sourced else []),
        )
        table.add_row(*(escape(cell) for cell in cells))
    screen.print(table)
    if not sourced:
        screen.print(f"Sources: --json -, or a terminal of {_WITH_SOURCES} columns.", markup=False)
    for lower, upper in algorithm.ordered:
        screen.print(f"{lower} must be below {upper}.", markup=False)
    for name, values in algorithm.option_sets.items():
        if values:
            rows = (f"{key} {algorithm.parameters[key].readable(values[key])}" for key in values)
            screen.print(f"option_set {name}: {', '.join(rows)}", markup=False, highlight=False)


def _accepted(parameter: Parameter) -> str:
    """What is accepted, short enough for a table."""
    if parameter.kind == "switch":
        return "true, false"
    if parameter.kind == "choice":
        return ", ".join(parameter.choices or ())
    kind = "whole, " if parameter.integer else ""
    low = "" if parameter.minimum is None else parameter.readable(parameter.minimum)
    high = "" if parameter.maximum is None else parameter.readable(parameter.maximum)
    sign = ">" if parameter.minimum_excluded else ">="
    bounds = [f"{sign} {low}"] if low else []
    bounds += [f"<= {high}"] if high else []
    return f"{kind}{', '.join(bounds)}"
