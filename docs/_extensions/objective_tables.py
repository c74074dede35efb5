"""Puts the objectives, and what difference of each anyone would notice, into the documentation.

A page holds the line ``<!-- objectives -->``, ``<!-- noticeable -->`` or
``<!-- noticeable metrics -->``; what stands there in the end is asked of the registry, so it cannot
be out of date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.objectives import OBJECTIVES
from vermilion.objectives.fields import fields_of, required_fields
from vermilion.objectives.noticeable import OF_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

    from vermilion.objectives import Objective

_OBJECTIVES: Final = "<!-- objectives -->"
_NOTICEABLE: Final = "<!-- noticeable -->"
_OF_METRICS: Final = "<!-- noticeable metrics -->"
_UNITS: Final = {
    "sojourn_ms": "ms",
    "delay_ms": "ms",
    "jitter_ms": "ms",
    "queue_packets": "packets",
    "average_queue_packets": "packets",
    "packets_forwarded": "packets",
    "queue_bytes": "bytes",
    "completion_time_s": "s",
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.connect("source-read", _fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    tables = (
        (_OBJECTIVES, objectives_table),
        (_NOTICEABLE, noticeable_table),
        (_OF_METRICS, metrics_table),
    )
    for place, table in tables:
        if place in source[0]:
            source[0] = source[0].replace(place, "\n".join(table()))


def objectives_table() -> Iterator[str]:
    """A row for each objective: what it is, its unit, and the fields of its table."""
    yield "| name | what it is | unit | fields; those in brackets may stay away |"
    yield "| --- | --- | --- | --- |"
    for objective in OBJECTIVES.values():
        cells = (f"`{objective.name}`", objective.summary, objective.unit, _fields(objective))
        yield f"| {' | '.join(cells)} |"


def _fields(objective: type[Objective]) -> str:
    needed = required_fields(objective)
    names = [*needed, *(name for name in fields_of(objective) if name not in needed)]
    return ", ".join(f"`{name}`" if name in needed else f"[`{name}`]" for name in names)


def noticeable_table() -> Iterator[str]:
    """A row for each objective: the floor in its unit, and the share of what there was."""
    yield "| objective | at least | and at least of what there was |"
    yield "| --- | --- | --- |"
    for objective in OBJECTIVES.values():
        floor = _floor(objective.noticeable, objective.unit)
        if objective.unit == "the metric's":
            floor = "that of the metric"
        share = (
            "that of the metric"
            if objective.name == "metric"
            else _percent(objective.noticeable_share)
        )
        yield f"| `{objective.name}` | {floor} | {share} |"


def metrics_table() -> Iterator[str]:
    """The same for each metric that has a row of its own."""
    yield "| metric | at least | and at least of what there was |"
    yield "| --- | --- | --- |"
    for metric, noticed in OF_METRICS.items():
        unit = _UNITS.get(metric, "")
        yield f"| `{metric}` | {_floor(noticed.floor, unit)} | {_percent(noticed.share)} |"


def _floor(floor: float, unit: str) -> str:
    if floor == 1.0:
        unit = unit.replace("packets", "packet")
    return f"{floor:g} {unit}".rstrip() if floor else ""


def _percent(share: float) -> str:
    return f"{100.0 * share:g} %"
