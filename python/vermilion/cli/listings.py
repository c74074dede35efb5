"""``vermilion disciplines``, ``senders``, ``objectives`` and ``scenarios``: what there is."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from vermilion.cli import completion, options
from vermilion.cli.endings import UserError
from vermilion.cli.json_output import save_json
from vermilion.cli.output import cell, console, say
from vermilion.scenario.errors import did_you_mean, likeliest, value_text

if TYPE_CHECKING:
    from vermilion.cli.json_documents import ObjectiveDocument
    from vermilion.objectives import Objective
    from vermilion.scenario.algorithms import Algorithm, Parameter

_Everything = Annotated[
    bool, typer.Option("--all", help="Show all parameters, with their sources.")
]


_FEW: Final = 5
_ENDLESS: Final = 1e9
"""From here on a maximum tells nobody anything; refusals name it."""


def _name(complete: Any) -> Any:  # noqa: ANN401 - typer's
    return typer.Argument(
        metavar="[NAME]",
        help="Show this one in full.",
        show_default=False,
        autocompletion=complete,
    )


def disciplines(
    name: Annotated[str | None, _name(completion.discipline_names)] = None,
    plugins: options.Plugins = None,
    *,
    everything: _Everything = False,
    target: options.Json = None,
) -> None:
    """List the queue disciplines, or show one."""
    from vermilion import _core
    from vermilion.scenario import algorithms

    options.load_plugins(plugins)
    known = algorithms.disciplines()
    _show_algorithms("discipline", name, known, _core.disciplines(), target, everything=everything)


def senders(
    name: Annotated[str | None, _name(completion.sender_names)] = None,
    plugins: options.Plugins = None,
    *,
    everything: _Everything = False,
    target: options.Json = None,
) -> None:
    """List the senders, or show one.

    A sender is a congestion control: what a flow does with acknowledgements and losses.
    """
    from vermilion import _core
    from vermilion.scenario import algorithms

    options.load_plugins(plugins)
    known = algorithms.senders()
    _show_algorithms("sender", name, known, _core.senders(), target, everything=everything)


def objectives(
    name: Annotated[str | None, _name(completion.objective_names)] = None,
    target: options.Json = None,
) -> None:
    """List what a tuning can minimise or maximise, or show one."""
    from vermilion.objectives import OBJECTIVES

    if name is not None and name not in OBJECTIVES:
        accepted = did_you_mean(name, OBJECTIVES)
        message = f"NAME: {value_text(name)} is not accepted; expected {accepted}"
        raise UserError(message)
    shown = [each for each in OBJECTIVES.values() if name in {None, each.name}]
    if target is not None:
        rows = [_objective(each) for each in shown]
        save_json(target, rows if name is None else rows[0])
    else:
        _print_objectives(shown)


def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Print this scenario as TOML.",
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
            message = "--json needs the list; expected no NAME"
            raise UserError(message)
        sys.stdout.write(shipped_text("NAME", name))
        return
    summaries = scenario_summaries()
    if target is None:
        _print_list((name, text) for name, _, text in summaries)
        return
    save_json(target, summaries)


def shipped_text(option: str, name: str) -> str:
    """Return the TOML of a shipped scenario.

    Raises:
        UserError: there is none of this name.
    """
    from vermilion.scenario.library import scenario_names, scenario_text

    text = scenario_text(name)
    if text is None:
        listed = "a shipped scenario (see vermilion scenarios)"
        accepted = f"{listed}{likeliest(name, scenario_names())}"
        message = f"{option}: {value_text(name)} is not accepted; expected {accepted}"
        raise UserError(message)
    return text


def _print_list(rows: Iterable[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)  # a name that is cut off cannot be typed
    for row in rows:
        table.add_row(*map(cell, row))
    console().print(table)


def _show_algorithms(
    kind: str,
    name: str | None,
    known: "Mapping[str, Algorithm]",
    raw: str,
    target: str | None,
    *,
    everything: bool,
) -> None:
    """Show algorithms as tables, or the core's own JSON of them."""
    from vermilion.scenario.algorithms import accepted_algorithm

    if name is not None and name not in known:
        message = f'{kind}: "{name}" is not accepted; expected {accepted_algorithm(name, known)}'
        raise UserError(message)
    if target is not None:
        rows = [row for row in json.loads(raw) if name is None or row["name"] == name]
        save_json(target, rows if name is None else rows[0])
    elif name is None:
        _print_list((each.name, each.title, each.summary) for each in known.values())
    else:
        shared = set.intersection(*(set(each.parameters) for each in known.values()))
        _print_algorithm(known[name], set() if everything else shared, sources=everything)


def _print_algorithm(algorithm: "Algorithm", left_out: set[str], *, sources: bool) -> None:
    """Print a table of parameters, without those that all algorithms of a kind have."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    # The few that all disciplines share are worth a line.
    left_out = left_out if len(left_out) > _FEW else set()

    screen = console()
    screen.print(f"[bold]{cell(algorithm.name)}[/bold]: {cell(algorithm.title)}")
    screen.print(f"{algorithm.summary}.", markup=False)
    screen.print(f"Source: {algorithm.source}", markup=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("parameter", no_wrap=True)
    for heading in ("default", "accepted", "meaning", *(["source"] if sources else [])):
        table.add_column(heading)
    for parameter in algorithm.parameters.values():
        if parameter.name in left_out:
            continue
        cells = (
            parameter.name,
            parameter.readable(parameter.default),
            _accepted(parameter),
            parameter.meaning,
            *([parameter.source] if sources else []),
        )
        table.add_row(*map(cell, cells))
    screen.print(table)
    if not sources:
        more = f"{len(left_out)} parameters that all senders have, and " if left_out else ""
        screen.print(f"With {more}sources: --all", markup=False)
    for lower, upper in algorithm.ordered:
        screen.print(f"{lower} must be below {upper}.", markup=False)
    for name, values in algorithm.option_sets.items():
        if values and not left_out:
            rows = (f"{key} {algorithm.parameters[key].readable(values[key])}" for key in values)
            screen.print(f"option_set {name}: {', '.join(rows)}", markup=False, highlight=False)


def _accepted(parameter: "Parameter") -> str:
    if parameter.kind == "switch":
        return "true, false"
    if parameter.kind == "choice":
        return ", ".join(parameter.choices or ())
    low, high = (
        "" if bound is None else parameter.readable(bound)
        for bound in (parameter.minimum, parameter.maximum)
    )
    above = "above " if parameter.minimum_excluded else ""
    number, _, unit = low.partition(" ")
    if (parameter.maximum or 0) >= _ENDLESS:
        high = ""
    elif high and unit and high.partition(" ")[2].startswith(unit):
        low = number
    bounds = (
        f"{above}{low} to {high}"
        if low and high
        else f"{above}{low}"
        if above
        else f"{low} or more"
    )
    return f"{'whole, ' if parameter.integer else ''}{bounds}"


def _objective(objective: "type[Objective]") -> "ObjectiveDocument":
    from vermilion.objectives.fields import fields_of, required_fields

    return {
        "name": objective.name,
        "summary": objective.summary,
        "goal": objective.goal,
        "unit": objective.unit,
        "noticeable": objective.noticeable,
        "noticeable_share": objective.noticeable_share,
        "required": list(required_fields(objective)),
        "fields": {name: kind.meaning for name, kind in fields_of(objective).items()},
    }


def _print_objectives(shown: "Sequence[type[Objective]]") -> None:
    from vermilion.objectives.fields import fields_of, required_fields

    rows: list[tuple[str, str, str]] = []
    meanings: dict[str, str] = {}
    for objective in shown:
        needed, known = required_fields(objective), fields_of(objective)
        meanings.update((name, kind.meaning) for name, kind in known.items())
        optional = [f"[{name}]" for name in known if name not in needed and name != "over"]
        rows.append((objective.name, objective.summary, " ".join([*needed, *optional])))
    _print_list(rows)
    if meanings:
        width = max(map(len, meanings))
        say("\nfields")
        for field, meaning in sorted(meanings.items()):
            say(f"  {field:<{width}} {meaning}")
