"""What a search for two objectives has found: the front, for people and for machines."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.seeds import Seeds


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A setting of the front, on fresh seeds.

    Attributes:
        parameters: the setting, by path.
        values: both objectives in their own units, with 95 % t intervals.
        better: for each, whether it is significantly better than the incumbent's (paired t
            interval of the difference, seed by seed).
        command: a device's own words for it, if a profile was asked for.
    """

    parameters: Setting
    values: tuple[Interval, Interval]
    better: tuple[bool, bool]
    command: str = ""


@dataclass(frozen=True, slots=True)
class Front:
    """Settings of which none is better in both objectives than another.

    Attributes:
        scenario: its file or name.
        objectives: what both are called.
        units: theirs.
        maximised: for each, whether high values are wanted.
        constraints: what every setting of the front keeps beyond doubt.
        points: the front, from the best in the first objective to the best in the second.
        incumbent: the scenario's own setting on the same seeds.
        dropped: settings that led in the search and that fresh seeds did not confirm: dominated
            by another's means, or a constraint not kept beyond doubt.
        tried: both objectives of every setting that the search simulated, the incumbent first.
        evaluations: how many settings that were, besides the incumbent.
        simulations: runs of the simulator in all.
        seeds: of the simulations.
        search: the name of the search.
        interrupted: whether Ctrl-C ended it.
        version: of Vermilion.
    """

    scenario: str
    objectives: tuple[str, ...]
    units: tuple[str, ...]
    maximised: tuple[bool, ...]
    constraints: tuple[str, ...]
    points: tuple[FrontPoint, ...]
    incumbent: FrontPoint
    dropped: int
    tried: tuple[tuple[float, float], ...]
    evaluations: int
    simulations: int
    seeds: Seeds
    search: str
    interrupted: bool
    version: str

    def to_json(self, indent: int | None = 2) -> str:
        """All of it as strict JSON."""
        data = {
            "scenario": self.scenario,
            "version": self.version,
            "objectives": [
                {"name": name, "unit": unit, "goal": "maximise" if high else "minimise"}
                for name, unit, high in zip(
                    self.objectives, self.units, self.maximised, strict=True
                )
            ],
            "constraints": list(self.constraints),
            "points": [_point(point) for point in self.points],
            "incumbent": _point(self.incumbent),
            "dropped": self.dropped,
            "tried": [list(values) for values in self.tried],
            "evaluations": self.evaluations,
            "simulations": self.simulations,
            "seeds": {
                key: value for key, value in asdict(self.seeds).items() if key != "re_evaluation"
            },
            "search": {"name": self.search},
            "end": "interrupted" if self.interrupted else "budget",
        }
        return json.dumps(data, indent=indent, allow_nan=False)

    def __str__(self) -> str:
        """A page of text: the front with its intervals, and the incumbent."""
        headings = [
            f"{name}{f' ({unit})' if unit else ''}"
            for name, unit in zip(self.objectives, self.units, strict=True)
        ]
        names = list(self.incumbent.parameters)
        rows = [["", *headings, *(name.rpartition(".")[2] for name in names)]]
        rows += [
            [str(number), *_texts(point, names)] for number, point in enumerate(self.points, 1)
        ]
        rows += [["now", *_texts(self.incumbent, names)]]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        wanted = " against ".join(
            f"{'more' if high else 'less'} {name}"
            for name, high in zip(self.objectives, self.maximised, strict=True)
        )
        first, last = self.seeds.comparison[0], self.seeds.comparison[-1]
        tried = (
            f"{self.evaluations} settings tried by {self.search}, {self.dropped} that led were "
            f"not confirmed; seeds {first} .. {last} for the figures above"
        )
        return "\n".join(
            [
                f"{self.scenario}: the front of {wanted}",
                "",
                *lines,
                "",
                "*: significantly better than now, on the same seeds",
                tried,
                *([f"every setting keeps: {', '.join(self.constraints)}"] * bool(self.constraints)),
                f"{self.simulations} simulations{', ended by Ctrl-C' * self.interrupted}",
            ]
        )


def _texts(point: FrontPoint, names: list[str]) -> list[str]:
    cells = []
    for interval, better in zip(point.values, point.better, strict=True):
        half = "" if interval.half_width is None else f" +- {interval.half_width:.2g}"
        cells.append(f"{interval.mean:.4g}{half}{'*' if better else ' '}")
    values = [point.parameters[name] for name in names]
    return cells + ["automatic" if value is None else f"{value:.4g}" for value in values]


def _point(point: FrontPoint) -> Mapping[str, Any]:
    data: dict[str, Any] = {
        "parameters": dict(point.parameters),
        "values": [
            {"mean": each.mean, "low": each.low, "high": each.high, "count": each.count}
            for each in point.values
        ],
        "better": list(point.better),
    }
    return {**data, "command": point.command} if point.command else data
