"""Puts the parameter tables of the core into the documentation while it is built.

A page holds the line ``<!-- algorithms: senders -->`` or ``<!-- option sets -->``; what stands
there in the end is asked of the very core that runs, so it cannot be out of date.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vermilion.scenario import format_quantity, senders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sphinx.application import Sphinx

    from vermilion.scenario import Algorithm, Parameter

_PLACE = re.compile(r"^<!-- algorithms: (\w+) -->$", re.MULTILINE)
_OPTION_SETS = "<!-- option sets -->"
_LISTS = {"senders": senders}


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.connect("source-read", _fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = _PLACE.sub(lambda place: "\n".join(_sections(_LISTS[place[1]]())), source[0])
    if _OPTION_SETS in source[0]:
        source[0] = source[0].replace(_OPTION_SETS, "\n".join(_option_sets(senders().values())))


def _sections(algorithms: Mapping[str, Algorithm]) -> Iterator[str]:
    shared = _shared_parameters(algorithms.values())
    if shared:
        yield from ("## Parameters of all of them", "", *parameter_table(shared), "")
    for algorithm in algorithms.values():
        yield from (f"## `{algorithm.name}`: {algorithm.title}", "")
        yield from (f"{algorithm.summary}. Source: {algorithm.source}.", "")
        own = [row for row in algorithm.parameters.values() if row not in shared]
        if own:
            yield from (*parameter_table(own), "")
        elif not algorithm.parameters:
            yield from ("No parameters.", "")
        for lower, upper in algorithm.ordered:
            yield from (f"`{lower}` must be below `{upper}`.", "")


def _option_sets(algorithms: Iterable[Algorithm]) -> Iterator[str]:
    """What each named set of defaults replaces, over all senders."""
    rows: dict[str, Parameter] = {}
    sets: dict[str, dict[str, str]] = {}
    for algorithm in algorithms:
        for name, values in algorithm.option_sets.items():
            chosen = sets.setdefault(name, {})
            for key, value in values.items():
                rows.setdefault(key, algorithm.parameters[key])
                chosen[key] = algorithm.parameters[key].readable(value)
    yield "| parameter | " + " | ".join(f"`{name}`" for name in sets) + " |"
    yield "| --- |" + " --- |" * len(sets)
    for key, row in rows.items():
        cells = [chosen.get(key, row.readable(row.default)) for chosen in sets.values()]
        yield f"| `{key}` | " + " | ".join(cells) + " |"


def _shared_parameters(algorithms: Iterable[Algorithm]) -> list[Parameter]:
    """The rows that every algorithm of a list has, word for word, if there are several."""
    tables = [list(algorithm.parameters.values()) for algorithm in algorithms]
    if len(tables) < 2:  # noqa: PLR2004 - one algorithm shares with nobody
        return []
    return [row for row in tables[0] if all(row in table for table in tables[1:])]


def parameter_table(rows: Iterable[Parameter]) -> Iterator[str]:
    """The rows of a parameter table, for a page."""
    yield "| parameter | default | accepted | meaning |"
    yield "| --- | --- | --- | --- |"
    for row in rows:
        cells = (f"`{row.name}`", row.readable(row.default), _accepted(row), _meaning(row))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _accepted(row: Parameter) -> str:
    """The range, short enough for a column."""
    if row.kind == "switch":
        return "true, false"
    if row.kind == "choice":
        return ", ".join(row.choices or ())
    words = "whole, " if row.integer else ""
    if row.minimum is not None:
        words += f"{'above' if row.minimum_excluded else 'from'} {_bound(row, row.minimum)}"
    if row.maximum is not None:
        words += f" to {_bound(row, row.maximum)}"
    return words


def _bound(row: Parameter, value: float) -> str:
    """An end of a range; a count in groups of three digits."""
    if row.unit == "packets":
        return f"{value:,.0f}"
    return format_quantity(value, row.dimension)


def _meaning(row: Parameter) -> str:
    """One line, with its source and the box that a tuner searches unless told otherwise."""
    words = f"{row.meaning} ({row.source})"
    if row.search is None:
        return words
    low, high = (format_quantity(end, row.dimension) for end in row.search)
    walk = "logarithmically " if row.scale == "log" else ""
    return f"{words}; *searched {walk}from {low} to {high}*"
