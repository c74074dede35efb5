"""Front of two objectives, for people and for machines; of an empty one, why it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from vermilion.files.document import document
from vermilion.objectives.price import METRIC_WORDS, PRICE, shown_objectives
from vermilion.scenario.algorithms import AUTOMATIC
from vermilion.scenario.quantities import how_many, shown_unit, with_shown_unit
from vermilion.simulate.statistics import Interval
from vermilion.simulate.tables import Section, ShownTable
from vermilion.tuning.evaluation import Seeds
from vermilion.tuning.recommendation import ABSENT, TuningOutcome, ended_by, interval_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives.price import PriceRow, ShownObjective
    from vermilion.tuning.candidates import Setting


@document()
@dataclass(frozen=True, slots=True)
class NearestSetting:
    """The setting that came nearest to keeping the constraints.

    Attributes:
        parameters: it, by path.
        missed: what it does not surely keep, with what it reached, a text for each constraint.
    """

    parameters: Setting
    missed: tuple[str, ...]


def why_empty(tried: int, dropped: int, constraints: Sequence[str], *, beaten: bool = False) -> str:
    """Say why the front is empty.

    Args:
        tried: settings that the search simulated.
        dropped: those that led in the search and that fresh seeds did not confirm.
        constraints: that settings had to keep.
        beaten: whether the setting in force is as good as those that keep them in both objectives.
    """
    if not tried:
        return "the search ended before it had tried a setting"
    if beaten:
        return "no setting that was tried beats the one in force in either objective"
    if not constraints:
        return "both objectives could be measured with no setting that was tried"
    asked = ", ".join(constraints)
    if dropped:
        led = how_many(dropped, "setting")
        return f"{led} led in the search, and none surely keeps on fresh seeds: {asked}"
    return f"no setting that was tried keeps: {asked}"


def what_to_do(tried: int, constraints: Sequence[str], *, beaten: bool = False) -> str:
    """Advice for a search whose front is empty."""
    if not tried:
        return "give the search more time"
    if beaten:
        return "search more parameters or a larger box, or give a larger budget"
    if not constraints:
        return "simulate for longer, or take other objectives"
    return "loosen the constraints, search more parameters, or give a larger budget"


def describe_nearest(nearest: NearestSetting, headings: Sequence[str], cells: Sequence[str]) -> str:
    """Describe the setting that came nearest, in a line.

    Args:
        nearest: the setting.
        headings: of its parameters, each with its unit.
        cells: their values in these units.
    """
    setting = ", ".join(" ".join(pair) for pair in zip(headings, cells, strict=True))
    return f"the nearest is {setting}: {'; '.join(nearest.missed)}"


_HEADING: Final = 14
"""Characters of a line of a heading."""

BESIDE: Final = ("goodput_bit_per_s.total", "sojourn_ms.p95", "drop_rate", "jain_index")
"""What of the price stands beside the objectives in a table."""


@document("parameters values better metrics?? harm?? command??")
@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A setting of the front, on fresh seeds.

    Attributes:
        parameters: the setting, by path.
        values: both objectives in their own units, with 95 % t intervals.
        better: for each, whether it is significantly better than the incumbent's (paired t
            interval of the difference, seed by seed).
        command: a device's own words for it, if a profile was asked for.
        metrics: its price (:mod:`vermilion.objectives.price`).
        harm: the bounds of harm that it breaks (:mod:`vermilion.objectives.harm`). They do not cut
            a front off, and a tuning for one setting would refuse it for them.
    """

    parameters: Setting
    values: tuple[Interval, Interval]
    better: tuple[bool, bool]
    command: str = ""
    metrics: Mapping[str, Interval] = field(default_factory=dict)
    harm: tuple[str, ...] = ()


_PLAIN: Final = ("scenario", "version", "dropped", "evaluations", "simulations", "end", "fresh")
_LISTS: Final = ("constraints", "parameters", "parameter_units")
"""Fields of a front that are the same in its JSON."""


@document("name unit goal")
class FrontObjective(NamedTuple):
    """One of the two objectives of a front."""

    name: str
    unit: str
    goal: Literal["minimise", "maximise"]


@document(
    "scenario version objectives=axes constraints points nothing_keeps_constraints warnings"
    " dropped beaten_by_incumbent=beaten tried evaluations simulations end fresh parameters"
    " parameter_units seeds.search seeds.comparison search.name=search incumbent?? nearest??",
    nulls=True,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Front(TuningOutcome):
    """Settings of which none is better in both objectives than another.

    Attributes:
        scenario: its file or name.
        objectives: what both are called.
        units: theirs.
        maximised: for each, whether high values are wanted.
        constraints: what every setting of the front keeps beyond doubt.
        points: the front, from the best in the first objective to the best in the second.
        incumbent: the scenario's own setting on the same seeds; ``None`` if there was no time for
            it.
        dropped: settings that led in the search and that fresh seeds did not confirm: dominated
            by another's means or by the incumbent's, or a constraint not kept beyond doubt.
        tried: both objectives of every setting that the search simulated, the incumbent first.
        parameters: paths of what was searched.
        parameter_units: theirs.
        fresh: whether the figures are of fresh seeds. If it was cut short before that, they are of
            the search's, which favoured the settings of the front.
        nearest: where nothing keeps the constraints, the setting that came nearest to it.
        beaten: settings that only the incumbent keeps from the front: it is at least as good in
            both objectives.
    """

    scenario: str
    objectives: tuple[str, ...]
    units: tuple[str, ...]
    maximised: tuple[bool, ...]
    constraints: tuple[str, ...]
    points: tuple[FrontPoint, ...]
    incumbent: FrontPoint | None
    dropped: int
    tried: tuple[tuple[float, float], ...]
    parameters: tuple[str, ...]
    parameter_units: tuple[str, ...]
    fresh: bool = True
    nearest: NearestSetting | None = None
    beaten: int = 0

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Front:
        """The front whose :meth:`to_json` had these data.

        Raises:
            KeyError: they are of something else; also ValueError or TypeError.
        """
        same: dict[str, Any] = {name: data[name] for name in _PLAIN}
        same |= {name: tuple(data[name]) for name in _LISTS}
        first, second = data["objectives"]
        now = data.get("incumbent")
        nearest = data.get("nearest")  # older ones have none
        return cls(
            **same,
            objectives=(first["name"], second["name"]),
            units=(first["unit"], second["unit"]),
            maximised=(first["goal"] == "maximise", second["goal"] == "maximise"),
            points=tuple(map(_point_from_data, data["points"])),
            incumbent=None if now is None else _point_from_data(now),
            tried=tuple((float(one), float(other)) for one, other in data["tried"]),
            seeds=Seeds(tuple(data["seeds"]["search"]), (), tuple(data["seeds"]["comparison"])),
            search=data["search"]["name"],
            nearest=nearest
            and NearestSetting(dict(nearest["parameters"]), tuple(nearest["missed"])),
            warnings=tuple(data.get("warnings", ())),
            beaten=data.get("beaten_by_incumbent", 0),
        )

    @property
    def axes(self) -> list[FrontObjective]:
        """Both objectives, for JSON."""
        return [
            FrontObjective(name, unit, "maximise" if high else "minimise")
            for name, unit, high in zip(self.objectives, self.units, self.maximised, strict=True)
        ]

    @property
    def seed_count(self) -> int:
        """Number of seeds behind the figures."""
        return 0 if self.incumbent is None else self.incumbent.values[0].count

    @property
    def nothing_keeps_constraints(self) -> bool:
        """True if settings were tried, and none is on the front because of the constraints."""
        tried = self.evaluations > 0 and not self.beaten
        return not self.points and tried and bool(self.constraints)

    @property
    def why_empty(self) -> list[str]:
        """Lines that say why the front is empty and what to do; none if it is not."""
        if self.points:
            return []
        beaten = self.beaten > 0
        lines = [why_empty(self.evaluations, self.dropped, self.constraints, beaten=beaten)]
        if self.nearest is not None:
            cells = self.parameter_cells(self.nearest.parameters)
            lines.append(describe_nearest(self.nearest, self.parameter_headings(), cells))
        to_do = what_to_do(self.evaluations, self.constraints, beaten=beaten)
        return [*lines, f"for a front: {to_do}"]

    @property
    def who_beats(self) -> str:
        """Settings left out for the one in force, in a line."""
        verb = "was" if self.beaten == 1 else "were"
        left = f"{how_many(self.beaten, 'setting')} that led {verb} left out"
        return f"{left}: the one in force is as good in one objective and no worse in the other"

    @property
    def harmful(self) -> list[str]:
        """A line for each bound of harm that settings break, which it names."""
        by_bound: dict[str, list[int]] = {}
        for number, point in enumerate(self.points, 1):
            for bound in point.harm:
                by_bound.setdefault(bound, []).append(number)
        return [
            f"tune without --pareto would refuse setting{'s' * (len(numbers) > 1)} "
            f"{', '.join(map(str, numbers))}, for harm: {bound}"
            for bound, numbers in by_bound.items()
        ]

    def parameter_headings(self) -> list[str]:
        """Headings of the parameters' columns, with the units shown."""
        return [
            with_shown_unit(path.rpartition(".")[2], unit)
            for path, unit in zip(self.parameters, self.parameter_units, strict=True)
        ]

    def parameter_cells(self, setting: Setting) -> list[str]:
        """The values of a setting in the units of :meth:`parameter_headings`."""
        cells = []
        for path, unit in zip(self.parameters, self.parameter_units, strict=True):
            if path not in setting:  # another discipline is in force
                cells.append(ABSENT)
                continue
            value = setting[path]
            if isinstance(value, bool):
                cells.append("on" if value else "off")
                continue
            _, factor = shown_unit(unit)
            cells.append(AUTOMATIC if value is None else f"{value * factor:.4g}")
        return cells

    @property
    def beside(self) -> list[tuple[str, PriceRow]]:
        """Rows of the price shown beside the objectives, after short headings.

        What a setting of the front and the one in force have measured, and what says the same as
        one of the objectives left out.
        """
        points = [*self.points, *([] if self.incumbent is None else [self.incumbent])]
        rows = [row for row in PRICE if row.metric in BESIDE]
        return [
            (f"{METRIC_WORDS[row.metric]}{f' ({row.unit})' if row.unit else ''}", row)
            for row in rows
            if any(row.metric in point.metrics for point in points)
            and not any(_is_same_metric(points, row, axis) for axis in (0, 1))
        ]

    def beside_cells(self, point: FrontPoint) -> list[str]:
        """Means of :attr:`beside` for a setting, in the units of the headings."""
        means = ((row, point.metrics.get(row.metric)) for _, row in self.beside)
        return [
            ABSENT if each is None else f"{each.mean * row.factor:.{row.decimals}f}"
            for row, each in means
        ]

    def shown(self) -> Front:
        """The same in the words and units of a reader: "mean queueing delay", "%"."""
        objectives = shown_objectives(self.objectives, self.units)
        first, second = (each.factor for each in objectives)
        return replace(
            self,
            objectives=tuple(each.name for each in objectives),
            units=tuple(each.unit for each in objectives),
            points=tuple(_shown_point(point, objectives) for point in self.points),
            incumbent=None if self.incumbent is None else _shown_point(self.incumbent, objectives),
            tried=tuple((first * one, second * other) for one, other in self.tried),
        )

    @property
    def summary(self) -> str:
        """The same page as of all: a front is short."""
        return str(self)

    def __str__(self) -> str:
        """A page of text: the front with its intervals, and the incumbent."""
        shown = self.shown()
        rows = [[name, *cells] for name, cells in shown.rows()]
        figures = 1 + len(shown.headings()) - len(self.parameters)
        lines = []
        for columns in (slice(1, figures), slice(figures, None)):  # what is reached, what is set
            headings = [
                wrap(each, _HEADING, break_long_words=False)
                for each in ["", *shown.headings()][columns]
            ]
            height = max(map(len, headings), default=0)
            above = [[*[""] * (height - len(each)), *each] for each in headings]
            table = [["", *row] for row in zip(*above, strict=True)]
            table += [[row[0], *row[columns]] for row in rows]
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            lines += ["  ".join(map(str.rjust, row, widths)).rstrip() for row in table]
            lines.append("")
        remarks = [line for each in self._remarks() for line in wrapped(each)]
        return "\n".join([shown.title, "", *lines, *remarks])

    def _repr_html_(self) -> str:
        """Render as a table for a notebook."""
        shown = self.shown()
        table = ShownTable(shown.title, shown.headings(), [Section("setting", shown.rows())])
        paragraphs = "\n".join(f"<p>{escape(line)}</p>" for line in self._remarks())
        return f"<div>\n{table.html()}\n{paragraphs}\n</div>".replace(" +- ", " ± ")

    @property
    def title(self) -> str:
        """Objectives of the search, in a line."""
        wanted = " against ".join(
            f"{'more' if high else 'less'} {name}"
            for name, high in zip(self.objectives, self.maximised, strict=True)
        )
        return f"{self.scenario}: the front of {wanted}"

    def headings(self) -> list[str]:
        """Headings of both objectives, the price beside them, and the parameters."""
        objectives = [
            f"{name}{f' ({unit})' if unit else ''}"
            for name, unit in zip(self.objectives, self.units, strict=True)
        ]
        beside = [heading for heading, _ in self.beside]
        return [*objectives, *beside, *self.parameter_headings()]

    def rows(self) -> list[tuple[str, list[str]]]:
        """The settings by their numbers, and the one in force."""
        named = [(str(number), point) for number, point in enumerate(self.points, 1)]
        named += [] if self.incumbent is None else [("now", self.incumbent)]
        return [
            (
                name,
                [
                    *_objectives(point),
                    *self.beside_cells(point),
                    *self.parameter_cells(point.parameters),
                ],
            )
            for name, point in named
        ]

    def _remarks(self) -> list[str]:
        """Lines below the table."""
        met = (self.seeds.comparison if self.fresh else self.seeds.search)[: self.seed_count]
        tried = f"{how_many(self.evaluations, 'setting')} tried by {self.search}"
        if self.fresh and self.points:
            verb = "was" if self.dropped == 1 else "were"
            lost = f"{self.dropped} that led {verb} not confirmed"
            tried += f", {lost if self.dropped else 'all that led were confirmed'}"
        if met:
            tried += f"; seeds {met[0]} .. {met[-1]} for the figures above"
        paths = [each for each in self.objectives if each not in self.shown().objectives]
        why = [] if self.points else [f"no front: {self.why_empty[0]}", *self.why_empty[1:]]
        better = (
            "*: significantly better than now on the same seeds, each by itself (chance "
            "gives one star in 40)"
        )
        unsure = "not confirmed on fresh seeds: the search's own seeds favour these settings"
        kept = f"every setting keeps: {', '.join(self.constraints)}"
        return [
            *([f"metric{'s' * (len(paths) > 1)}: {', '.join(paths)}"] * bool(paths)),
            *why,
            *(f"warning: {warning}" for warning in self.warnings),
            *([] if self.fresh else [unsure]),
            *([better] if self.fresh and self.points else []),
            *self.harmful,
            tried,
            *([self.who_beats] if self.beaten and self.points else []),
            *([kept] if self.points and self.constraints else []),
            f"{how_many(self.simulations, 'simulation')}{ended_by(self.end)}",
        ]


def _objectives(point: FrontPoint) -> list[str]:
    return [
        f"{interval_text(interval)}{'*' if better else ' '}"
        for interval, better in zip(point.values, point.better, strict=True)
    ]


def _is_same_metric(points: Sequence[FrontPoint], row: PriceRow, axis: int) -> bool:
    """True if an objective is this very metric: its means are the same at every setting.

    In the metric's own unit, or in the one that is shown.
    """
    return any(
        all(
            row.metric in point.metrics
            and math.isclose(
                factor * point.metrics[row.metric].mean, point.values[axis].mean, rel_tol=1e-9
            )
            for point in points
        )
        for factor in (1.0, row.factor)
    )


def _shown_point(point: FrontPoint, objectives: Sequence[ShownObjective]) -> FrontPoint:
    """A setting with both objectives in the units of a reader."""
    first, second = (
        value.scaled(each.factor) for value, each in zip(point.values, objectives, strict=True)
    )
    return replace(point, values=(first, second))


def _interval_from_data(data: Mapping[str, Any]) -> Interval:
    mean, high = float(data["mean"]), data["high"]
    return Interval(mean, None if high is None else float(high) - mean, int(data["count"]))


def _point_from_data(data: Mapping[str, Any]) -> FrontPoint:
    first, second = map(_interval_from_data, data["values"])
    better, other = data["better"]
    metrics = data.get("metrics", {})  # older ones have none
    return FrontPoint(
        dict(data["parameters"]),
        (first, second),
        (better, other),
        data.get("command", ""),
        {name: _interval_from_data(each) for name, each in metrics.items()},
        tuple(data.get("harm", ())),
    )
