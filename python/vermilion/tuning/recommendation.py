"""Recommendation of a tuning, for people and for machines, with the price of its settings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from math import isclose
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from vermilion.files.document import document, json_text
from vermilion.objectives.constraint import path_in
from vermilion.objectives.price import PRICE, PriceRow
from vermilion.scenario.quantities import how_many
from vermilion.simulate.tables import Section, ShownTable
from vermilion.tuning.verdict import at_confidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.simulate.statistics import Interval, SettingPair
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.comparison import Comparison, Judgement
    from vermilion.tuning.evaluation import Seeds
    from vermilion.tuning.fidelity import FidelityReport
    from vermilion.tuning.neighbourhood import Around
    from vermilion.tuning.race import RaceReport
    from vermilion.tuning.state import End
    from vermilion.tuning.verdict import ConstraintVerdict

_ROUNDING: Final = 1e-9

ABSENT: Final = "-"
"""What stands where a number was not measured."""


def price_rows(prices: Sequence[Mapping[str, Interval]]) -> list[tuple[str, ...]]:
    """The heading and the cells of each row of the price that says something of these settings.

    Rows that none has measured are left out, and marks where nothing is marked.

    Args:
        prices: by metric, one for each column.
    """
    rows: list[tuple[str, ...]] = []
    for row in PRICE:
        known = [price[row.metric] for price in prices if row.metric in price]
        if known and (row.metric != "mark_rate" or any(each.mean for each in known)):
            cells = (_price_text(price.get(row.metric), row) for price in prices)
            rows.append((row.heading, *cells))
    return rows


def _price_text(interval: Interval | None, row: PriceRow) -> str:
    """A number of the price in the unit and with the decimals of its row."""
    if interval is None:
        return ABSENT
    text = f"{interval.mean * row.factor:.{row.decimals}f}"
    if interval.half_width is not None:
        half = interval.half_width * row.factor
        # What is far below the last decimal is the rounding of equal numbers.
        text += f" +- {half if half > _ROUNDING else 0.0:.2g}"
    return text


def fresh_rows(
    metrics: Mapping[str, SettingPair],
    others: Sequence[tuple[str, Mapping[str, Interval]]],
    reached: Sequence[tuple[str, ...]],
) -> list[tuple[str, ...]]:
    """Table of all settings on the fresh seeds, its heading first.

    Args:
        metrics: the price of the best and of the incumbent.
        others: heading and price of each setting beside them.
        reached: rows about the objective.
    """
    best, incumbent = ({name: pair[place] for name, pair in metrics.items()} for place in (0, 1))
    heading = ("on fresh seeds", "incumbent", "best found", *(name for name, _ in others))
    return [heading, *reached, *price_rows([incumbent, best, *(price for _, price in others)])]


def objective_row(name: str, unit: str, reached: Sequence[Interval]) -> tuple[str, ...]:
    """The row of the objective in such a table."""
    return (f"{name} ({unit})" if unit else name, *map(interval_text, reached))


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of a table as indented lines, labels to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(["", row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


_SCREEN: Final = {
    "goodput_bit_per_s.total": "goodput",
    "sojourn_ms.p95": "delay p95",
    "drop_rate": "dropped",
    "jain_index": "Jain",
    "starved": "starved",
}
"""Columns of a summary, besides the objective."""

_LONGEST_GOAL: Final = 16
"""Characters of an objective's name as a heading; the reason has a longer one."""

WIDTH: Final = 100
"""Characters of a line."""


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines of a text."""
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def summary_table(
    heading: str,
    objective: tuple[str, str],
    settings: Sequence[tuple[str, Interval, Mapping[str, Interval]]],
) -> list[str]:
    """Lines of a table with a line for each setting.

    Args:
        heading: above the settings' names.
        objective: its name and unit.
        settings: the name, what it reaches, and its price.
    """
    columns = [
        row
        for row in PRICE
        if row.metric in _SCREEN and any(row.metric in price for *_, price in settings)
    ]
    goal = objective[0] if len(objective[0]) <= _LONGEST_GOAL else "goal"
    names = [goal, *(_SCREEN[row.metric] for row in columns)]
    units = [objective[1], *(row.unit for row in columns)]
    rows = [(heading, *names), ("", *units)]
    for name, reached, price in settings:
        cells = (
            f"{price[row.metric].mean * row.factor:.4g}" if row.metric in price else ABSENT
            for row in columns
        )
        rows.append((name, interval_text(reached), *cells))
    return aligned(rows)


def kept_lines(verdicts: Sequence[ConstraintVerdict]) -> list[str]:
    """Describe the constraints kept; of harm what is done, or that there is none, in a line."""
    lines = [str(each) for each in verdicts if not each.of_harm]
    harm = [each for each in verdicts if each.of_harm]
    done = [f"harm: {each}" for each in harm if each.holds != "met"]
    if harm and not done:
        paths = ", ".join(path_in(each.constraint) for each in harm)
        done = [f"no harm; within their margins: {paths}"]
    return lines + done


_ENDS: Final = {"deadline": "its deadline", "interrupted": "Ctrl-C"}


@document("profile command?? notes")
@dataclass(frozen=True, slots=True)
class OnDevice:
    """The chosen setting in the words of a device.

    Attributes:
        profile: the name of the device profile.
        command: what to tell the device, one command for each line; empty where the chosen
            setting has automatic values, which only the scenario's discipline understands.
        notes: what of the scenario is lost on the device, a sentence each.
    """

    profile: str
    command: str
    notes: tuple[str, ...]

    def lines(self, what: str) -> list[str]:
        """Lines of text with the command and its notes; none without a command."""
        if not self.command:
            return []
        notes = [f"note: {note}" for note in self.notes]
        return ["", f"{what} on {self.profile}:", self.command, *notes]


_MOST_BASELINES: Final = 3


@document("name=label parameters objective metrics missed")
@dataclass(frozen=True, slots=True)
class BaselineOutcome:
    """Baseline measured on the same fresh seeds.

    Attributes:
        label: what it is, like "drop-tail, 31 packets".
        parameters: its setting, by path.
        objective: what it reaches, in the objective's own direction.
        metrics: its price, by metric.
        missed: constraints and bounds of harm that it does not keep.
    """

    label: str
    parameters: Mapping[str, float | None]
    objective: Interval
    metrics: Mapping[str, Interval]
    missed: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """Label, with a star where it breaks what the recommendation has to keep."""
        return f"{self.label}{'*' if self.missed else ''}"


@document("scenario distance")
class WarmStart(NamedTuple):
    """Earlier answer that a search began with: its scenario, and how far its conditions lie."""

    scenario: str
    distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningOutcome:
    """Outcome of a tuning of any kind.

    Attributes:
        evaluations: settings that the search used.
        simulations: runs of the simulator in all.
        end: what ended it: "budget", "deadline" or "interrupted".
        seeds: of the simulations.
        search: the name of the search.
        version: of Vermilion.
        warnings: what to know before using it, a sentence each.
    """

    evaluations: int
    simulations: int
    end: End
    seeds: Seeds
    search: str
    version: str
    warnings: tuple[str, ...] = ()

    def to_json(self, indent: int | None = 2) -> str:
        """Return strict JSON; what could not be computed is absent."""
        return json_text(self, indent)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSetting(TuningOutcome):
    """Outcome of a tuning that ends with one setting.

    Attributes:
        parameters: the best setting found, by path, in the units of the parameter tables;
            empty if nothing but the incumbent was simulated.
        accepted: whether it should replace what is in force.
        reason: why, in one sentence.
        race: how the leaders of the search were told apart; ``None`` if it did not come to that.
        fidelity: whether the search simulated less than the scenario's duration, and why.
        device: the setting to use in a device's own words, if a profile was asked for.
    """

    parameters: Setting
    accepted: bool
    reason: str
    race: RaceReport | None = None
    fidelity: FidelityReport | None = None
    device: OnDevice | None = None


@document(
    "scenario version accepted verdict? refused reason warnings parameters incumbent"
    " objective.name=objective objective.unit??=unit"
    " objective.best?=comparison.best objective.incumbent?=comparison.incumbent"
    " objective.difference?=comparison.difference objective.improvement?=comparison.improvement"
    " objective.least_gain?=comparison.least_gain objective.confidence?=comparison.confidence"
    " objective.among?=comparison.among"
    " constraints.best?=comparison.constraints"
    " constraints.incumbent?=comparison.constraints_of_incumbent harm?=comparison.harm"
    " metrics rivals robustness? evaluations simulations seconds end seeds race?"
    " fidelity? warm_starts device? search.name=search search.state=search_state"
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(OneSetting):
    """The best setting found for a scenario, and whether it should replace the incumbent.

    All figures of both settings are from fresh seeds, which the search has not seen; their
    intervals are 95 % t intervals over them. Those of the comparison that decide are as wide as
    it says. Where a tuning was cut short before that, they
    are absent.

    Attributes:
        scenario: its file or name.
        objective: the objective's name.
        incumbent: the scenario's own setting.
        comparison: the objective of both with intervals, their difference seed by seed, and
            the verdicts on the constraints; ``None`` if it did not come to that.
        metrics: the price (:mod:`vermilion.objectives.price`) of the best and of the incumbent:
            means over the phases weighted by duration.
        seconds: of wall time.
        search_state: to go on with it.
        readable: both settings as one would write them in a scenario, by path.
        warm_starts: earlier answers that the search began with: the scenario, and how far its
            conditions lie from these (:mod:`vermilion.tuning.earlier_answers`).
        unit: of the objective, "" for a plain number.
        rivals: the baselines; none where there was no time.
        robustness: how it fares under the conditions around those given; ``None`` where they were
            not asked about, or nothing was accepted.
        warnings: what to know before using it, a sentence each.
    """

    scenario: str
    objective: str
    incumbent: Setting
    comparison: Comparison | None
    metrics: Mapping[str, SettingPair]
    seconds: float
    search_state: Mapping[str, Any]
    readable: Mapping[str, tuple[str, str]]
    warm_starts: tuple[WarmStart, ...] = ()
    unit: str = ""
    rivals: tuple[BaselineOutcome, ...] = ()
    robustness: Around | None = None

    @property
    def verdict(self) -> Judgement | None:
        """The comparison in a word; ``None`` if it did not come to that."""
        return None if self.comparison is None else self.comparison.decision.judgement

    @property
    def refused(self) -> bool:
        """True if a constraint, or the harm it would do, decided against the best found."""
        return self.comparison is not None and self.comparison.decision.refused

    @property
    def chosen(self) -> Setting:
        """The setting to use: the best one if it is accepted, the incumbent otherwise."""
        return self.parameters if self.accepted else self.incumbent

    @property
    def title(self) -> str:
        """The decision in a line."""
        if not self.accepted:
            return f"{self.scenario}: no change"
        rule = next(
            (each.label for each in self.rivals if is_within(each.parameters, self.parameters)), ""
        )
        return f"{self.scenario}: use {rule or 'the best setting found'}"

    @property
    def summary(self) -> str:
        """A screen of text: the decision, its price beside the baselines, and what was kept."""
        lines = decision_lines(self.title, self.reason, self.warnings)
        lines += ["", *aligned(self._setting_rows()), ""]
        if self.comparison is not None:
            lines += [*self._summary_table(self.comparison), ""]
            if any(each.missed for each in self._other_baselines):
                lines += ["* breaks a constraint or a bound of harm: --all says which"]
            broken = [each for each in self.comparison.best_verdicts if each.holds != "met"]
            kept = "; ".join(map(str, broken)) or "kept: every constraint and every bound of harm"
            if self.robustness is not None:
                kept += f"; {self.robustness.summary}"
            lines += wrapped(kept)
        tried = how_many(self.evaluations, "setting")
        effort = f"{tried} tried, {how_many(self.simulations, 'simulation')}"
        lines += [f"{effort}{ended_by(self.end)}; every figure, condition and seed: --all"]
        return "\n".join([*lines, *self._device_lines()])

    def _summary_table(self, comparison: Comparison) -> list[str]:
        best, now = ({name: pair[place] for name, pair in self.metrics.items()} for place in (0, 1))
        settings = [
            ("in force", comparison.incumbent, now),
            ("best found", comparison.best, best),
            *((each.heading, each.objective, each.metrics) for each in self._other_baselines),
        ]
        heading = f"on {how_many(comparison.difference.count, 'fresh seed')}"
        return summary_table(heading, (self.objective, self.unit), settings)

    @property
    def _other_baselines(self) -> list[BaselineOutcome]:
        others = [each for each in self.rivals if not is_within(each.parameters, self.parameters)]
        return others[:_MOST_BASELINES]

    def _device_lines(self) -> list[str]:
        if self.device is None:
            return []
        return self.device.lines("the best found" if self.accepted else "the incumbent")

    def __str__(self) -> str:
        """A page of text: the decision and what it rests on."""
        lines = decision_lines(self.title, self.reason, self.warnings)
        lines += ["", *aligned(self._setting_rows()), ""]
        comparison = self.comparison
        if comparison is not None:
            lines += [*aligned(self._price_rows(comparison, ())), ""]
            lines += [*self._summary_table(comparison), ""]
            lines += [
                line for each in missed_lines(self._other_baselines) for line in wrapped(each)
            ]
            kept = kept_lines(comparison.best_verdicts)
            if kept:
                lines += ["of the best found"]
                lines += [line for each in kept for line in wrapped(each, "  ")]
                lines += [""]
        if self.robustness is not None:
            lines += [str(self.robustness), ""]
        seeds = ", ".join(
            f"{_range(numbers)} for the {stage.replace('_', '-')}"
            for stage, numbers in asdict(self.seeds).items()
        )
        notes = []
        if self.warm_starts:
            source, apart = self.warm_starts[0]
            nearest = f"the nearest that to {source} (distance {apart:.2g})"
            notes += [f"began with {len(self.warm_starts)} earlier answers, {nearest}"]
        notes += [str(report) for report in (self.fidelity, self.race) if report is not None]
        notes += [
            f"{how_many(self.evaluations, 'setting')} tried by {self.search}; seeds {seeds}",
            f"{how_many(self.simulations, 'simulation')} in {self.seconds:.1f} s"
            + ended_by(self.end),
        ]
        lines += [line for each in notes for line in wrapped(each)]
        return "\n".join([*lines, *self._device_lines()])

    @property
    def _shown_baselines(self) -> Sequence[BaselineOutcome]:
        """The best of the baselines, as many as a table has room for; the JSON has all."""
        return self.rivals[:_MOST_BASELINES]

    def _setting_rows(self) -> list[tuple[str, ...]]:
        """The settings beside each other."""
        rows: list[tuple[str, ...]] = [("parameter", "incumbent", "best found")]
        return [*rows, *((path, *texts) for path, texts in self.readable.items())]

    def _price_rows(
        self, comparison: Comparison, baselines: Sequence[BaselineOutcome]
    ) -> list[tuple[str, ...]]:
        """Table of both settings and some baselines on the fresh seeds."""
        reached = [comparison.incumbent, comparison.best, *(each.objective for each in baselines)]
        rows = [objective_row(self.objective, self.unit, reached)]
        if gain := _improvement(comparison):
            rows.append(("improvement", "", gain, *("" for _ in baselines)))
        others = [(each.heading, each.metrics) for each in baselines]
        return fresh_rows(self.metrics, others, rows)

    def _repr_html_(self) -> str:
        """Render the decision, both settings and their figures for a notebook."""
        headings = (
            "incumbent",
            "best found",
            *(each.heading for each in self._shown_baselines),
        )
        settings = [(path, texts) for path, *texts in self._setting_rows()[1:]]
        sections = [Section("parameter", settings)]
        comparison = self.comparison
        lines = []
        if comparison is not None:
            [_, *rows] = self._price_rows(comparison, self._shown_baselines)
            sections.append(Section("on fresh seeds", [(row[0], row[1:]) for row in rows]))
            lines = kept_lines(comparison.best_verdicts)
        table = ShownTable(self.title, headings, sections).html()
        constraints = "".join(f"<li>{escape(line)}</li>" for line in lines)
        listed = f"<p>constraints, of the best found</p><ul>{constraints}</ul>" if lines else ""
        warnings = (f"warning: {warning}" for warning in self.warnings)
        said = [self.reason, *warnings, *missed_lines(self._shown_baselines)]
        paragraphs = "\n".join(f"<p>{escape(line)}</p>" for line in said)
        page = f"<div>\n{table}\n{paragraphs}\n{listed}</div>"
        return page.replace(" +- ", " ± ")


def decision_lines(title: str, reason: str, warnings: Sequence[str]) -> list[str]:
    """Lines of a decision, its reason, and what to know before it is followed."""
    said = [title, reason, *(f"warning: {each}" for each in warnings)]
    return [line for each in said for line in wrapped(each)]


def ended_by(end: End) -> str:
    """Describe what has cut a tuning short, to be appended to a line; "" where nothing has."""
    return f", ended by {_ENDS[end]}" if end in _ENDS else ""


def is_within(rule: Setting, setting: Setting) -> bool:
    """Check whether a setting is what a rule of thumb names."""
    return bool(rule) and all(
        value is not None and name in setting and isclose(value, setting[name] or 0.0)
        for name, value in rule.items()
    )


def missed_lines(baselines: Sequence[BaselineOutcome]) -> list[str]:
    """Explain the stars of baselines, a line each."""
    return [
        f"* {each.label} does not keep: {'; '.join(each.missed)}"
        for each in baselines
        if each.missed
    ]


def _improvement(comparison: Comparison) -> str:
    """Format the gain; "" where that is not known."""
    gain = comparison.improvement
    if gain is None:
        return ""
    text = f"{gain.mean:.1%}"
    if gain.low is not None and gain.high is not None:
        text += f" [{gain.low:.1%}, {gain.high:.1%}]{at_confidence(comparison.confidence)}"
    return text


def interval_text(interval: Interval) -> str:
    """Return it as "12.3 +- 0.4"."""
    if interval.half_width is None:
        return f"{interval.mean:.4g}"
    return f"{interval.mean:.4g} +- {interval.half_width:.2g}"


def _range(seeds: Sequence[int]) -> str:
    if not seeds:
        return "none"
    consecutive = list(range(seeds[0], seeds[0] + len(seeds)))
    if len(seeds) > 2 and list(seeds) == consecutive:  # noqa: PLR2004 - "1 .. 2" is no shorter
        return f"{seeds[0]} .. {seeds[-1]}"
    return ", ".join(map(str, seeds))
