"""A front in words: a page of text, and the same for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from vermilion.scenario.how_many import how_many
from vermilion.simulate.tables import Section, ShownTable
from vermilion.tuning.recommend.recommendation import ended_by

if TYPE_CHECKING:
    from vermilion.tuning.recommend.front import Front, FrontPoint


def front_text(front: Front) -> str:
    """The front with its intervals, and the incumbent."""
    shown = front.shown()
    rows = [["", *_headings(shown)], *([name, *cells] for name, cells in _rows(shown))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([_title(shown), "", *lines, "", *_said(front)])


def front_html(front: Front) -> str:
    """The same as a table of HTML."""
    shown = front.shown()
    table = ShownTable(_title(shown), _headings(shown), [Section("setting", _rows(shown))])
    paragraphs = "\n".join(f"<p>{escape(line)}</p>" for line in _said(front))
    return f"<div>\n{table.html()}\n{paragraphs}\n</div>".replace(" +- ", " ± ")


def _title(front: Front) -> str:
    wanted = " against ".join(
        f"{'more' if high else 'less'} {name}"
        for name, high in zip(front.objectives, front.maximised, strict=True)
    )
    return f"{front.scenario}: the front of {wanted}"


def _headings(front: Front) -> list[str]:
    """What stands above both objectives, what is shown beside them, and the parameters."""
    objectives = [
        f"{name}{f' ({unit})' if unit else ''}"
        for name, unit in zip(front.objectives, front.units, strict=True)
    ]
    beside = [heading for heading, _ in front.beside]
    return [*objectives, *beside, *front.parameter_headings()]


def _rows(front: Front) -> list[tuple[str, list[str]]]:
    """The settings by their numbers, and the one in force."""
    named = [(str(number), point) for number, point in enumerate(front.points, 1)]
    named += [] if front.incumbent is None else [("now", front.incumbent)]
    return [
        (name, [*_objectives(point), *front.beside_cells(point), *front.parameter_cells(point)])
        for name, point in named
    ]


def _said(front: Front) -> list[str]:
    """What stands below the table."""
    met = (front.seeds.comparison if front.fresh else front.seeds.search)[: front.seeds_met]
    tried = f"{how_many(front.evaluations, 'setting')} tried by {front.search}"
    if front.fresh:
        verb = "was" if front.dropped == 1 else "were"
        lost = f"{front.dropped} that led {verb} not confirmed"
        tried += f", {lost if front.dropped else 'all that led were confirmed'}"
    if met:
        tried += f"; seeds {met[0]} .. {met[-1]} for the figures above"
    paths = [each for each in front.objectives if each not in front.shown().objectives]
    return [
        *([f"the metrics are {' and '.join(paths)}"] * (len(paths) > 1)),
        *([f"the metric is {paths[0]}"] * (len(paths) == 1)),
        "*: significantly better than now, on the same seeds"
        if front.fresh
        else "not confirmed on fresh seeds: the search's own favoured these settings",
        tried,
        *([f"every setting keeps: {', '.join(front.constraints)}"] * bool(front.constraints)),
        f"{how_many(front.simulations, 'simulation')}{ended_by(front.end)}",
    ]


def _objectives(point: FrontPoint) -> list[str]:
    cells = []
    for interval, better in zip(point.values, point.better, strict=True):
        half = "" if interval.half_width is None else f" +- {interval.half_width:.2g}"
        cells.append(f"{interval.mean:.4g}{half}{'*' if better else ' '}")
    return cells
