"""Recommendation for several scenarios, for people and for machines."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal

from vermilion.files.document import document
from vermilion.scenario.quantities import how_many
from vermilion.simulate.tables import Section, ShownTable
from vermilion.tuning.recommendation import (
    OneSetting,
    Recommendation,
    aligned,
    decision_lines,
    ended_by,
    fresh_rows,
    interval_text,
    kept_lines,
    missed_lines,
    objective_row,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.simulate.statistics import Interval, SettingPair
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.comparison import Comparison, Judgement
    from vermilion.tuning.recommendation import BaselineOutcome


@document(
    "scenario weight incumbent objective.name=objective objective.unit??=unit"
    " objective.best?=comparison.best objective.incumbent?=comparison.incumbent"
    " objective.difference?=comparison.difference objective.improvement?=comparison.improvement"
    " objective.least_gain?=comparison.least_gain constraints?=comparison.constraints"
    " harm?=comparison.harm metrics?? rivals"
)
@dataclass(frozen=True, slots=True)
class RobustCase:
    """Outcome in one of the scenarios.

    Attributes:
        scenario: its file or name, numbered where several have the same.
        objective: what its objective is called.
        incumbent: its own setting.
        weight: its share in a mean.
        comparison: of the best setting with the incumbent on fresh seeds in this scenario, whose
            ``accepted`` and ``reason`` speak of this scenario alone; ``None`` if it did not come
            to that.
        metrics: the price (:mod:`vermilion.objectives.price`) of the best and of the incumbent
            here.
        unit: of the objective, "" for a plain number.
        rivals: baselines of this scenario alone.
    """

    scenario: str
    objective: str
    incumbent: Setting
    weight: float
    comparison: Comparison | None
    metrics: Mapping[str, SettingPair] = field(default_factory=dict)
    unit: str = ""
    rivals: tuple[BaselineOutcome, ...] = ()


@document(
    "version robust=over accepted verdict? refused reason warnings parameters scenarios=cases"
    " evaluations simulations end seeds search.name=search objective?=together fidelity? race?"
    " change? device?"
)
@dataclass(frozen=True, slots=True, kw_only=True)
class RobustRecommendation(OneSetting):
    """The best setting found for several scenarios, and whether it should be used in all.

    Attributes:
        over: "worst" or "mean".
        cases: the scenarios.
        together: what the best setting and the incumbents reach in all scenarios together, measured
            by the incumbents' means with the fresh seeds: theirs is 1, or -1 of what is maximised.
            This is what was minimised. ``None`` if it did not come to that.
        change: the weighted mean of the relative changes of the objectives, to be minimised, with
            its 95 % t interval over the fresh seeds: -0.2 is a fifth less.
        readable: the best setting as one would write it in a scenario, by path.
    """

    over: str
    cases: tuple[RobustCase, ...]
    together: SettingPair | None
    change: Interval | None
    readable: Mapping[str, str]

    @property
    def refused(self) -> bool:
        """True if a constraint, or harm, in one of the scenarios decided against the best found."""
        return any(each.decision.refused for each in self._comparisons)

    @property
    def verdict(self) -> Judgement | None:
        """The comparison in a word; ``None`` if it did not come to that.

        What breaks something somewhere is worse; so is, of the worst case, what is surely worse in
        one of the scenarios, and of the mean, what is surely worse on average.
        """
        comparisons = self._comparisons
        if not comparisons:
            return None
        if self.accepted:
            return "better"
        refusals = [each.decision for each in comparisons if each.decision.refused]
        if refusals:
            worse = any(each.judgement == "worse" for each in refusals)
        elif self.over == "mean":
            worse = self.change is not None and (self.change.low or 0.0) > 0.0
        else:
            worse = any(each.decision.judgement == "worse" for each in comparisons)
        return "worse" if worse else "no difference"

    @property
    def _comparisons(self) -> list[Comparison]:
        return [case.comparison for case in self.cases if case.comparison is not None]

    def _repr_html_(self) -> str:
        """Render the decision, the setting and its figures in each scenario for a notebook."""
        said = [self.reason, *(f"warning: {warning}" for warning in self.warnings)]
        settings = [(path, [text]) for path, text in self.readable.items()]
        table = ShownTable(self.title, ["best found"], [Section("parameter", settings)])
        parts = [table.html(), *(f"<p>{escape(line)}</p>" for line in said)]
        for case in self.cases:
            if rows := _price_rows(case):
                [(title, *headings), *cells] = rows
                section = Section(title, [(label, each) for label, *each in cells])
                parts.append(ShownTable(case.scenario, headings, [section]).html())
            parts += [f"<p>{escape(line)}</p>" for line in _constraint_lines(case)]
        return "\n".join(["<div>", *parts, "</div>"]).replace(" +- ", " ± ")

    @property
    def title(self) -> str:
        """The decision in a line."""
        decision = "use the best setting found in all of them" if self.accepted else "no change"
        return f"{len(self.cases)} scenarios, {self.over}: {decision}"

    @property
    def summary(self) -> str:
        """A screen of text: the decision, the setting, and a line for each scenario."""
        lines = decision_lines(self.title, self.reason, self.warnings)
        lines += ["", *aligned(list(self.readable.items())), ""]
        rows = [("scenario", "goal", "in force", "best found", "best baseline")]
        for case in self.cases:
            if (each := case.comparison) is not None:
                rival = next(iter(case.rivals), None)
                rule = "" if rival is None else f"{rival.objective.mean:.4g} ({rival.label})"
                unit = f", {case.unit}" if case.unit else ""
                reached = (interval_text(each.incumbent), interval_text(each.best))
                rows.append((case.scenario, f"{case.objective}{unit}", *reached, rule))
        lines += [*aligned(rows), ""] if len(rows) > 1 else []
        for case in self.cases:
            verdicts = () if case.comparison is None else case.comparison.best_verdicts
            for verdict in verdicts:
                missed = verdict.holds != "met"
                lines += wrapped(f"{case.scenario}: {verdict}") if missed else []
        effort = f"{how_many(self.evaluations, 'setting')} tried{ended_by(self.end)}"
        lines += [f"{effort}; every figure of each scenario: --all"]
        device = () if self.device is None else self.device.lines("the best found")
        return "\n".join([*lines, *device])

    def __str__(self) -> str:
        """A page of text: the decision and what it rests on."""
        lines = [self.title, self.reason]
        lines += [*(f"warning: {warning}" for warning in self.warnings), ""]
        widest = max((len(path) for path in self.readable), default=0)
        lines += [f"  {path:<{widest}}  {text}" for path, text in self.readable.items()]
        for case in self.cases:
            lines += ["", f"{case.scenario}"]
            each = case.comparison
            if each is not None:
                unit = f" {case.unit}" if case.unit else ""
                best, now, change = map(interval_text, (each.best, each.incumbent, each.difference))
                reached = f"{best}{unit} instead of {now}{unit}, difference {change}"
                lines += [f"  {case.objective}: {reached}"]
                lines += [f"  {line}" for line in kept_lines(each.best_verdicts)]
                lines += aligned(_price_rows(case))
                lines += [f"  {line}" for line in missed_lines(case.rivals)]
        last = self.seeds.comparison
        reports = (self.fidelity, self.race)
        lines += ["", *(str(report) for report in reports if report is not None)]
        tried = how_many(self.evaluations, "setting")
        simulations = how_many(self.simulations, "simulation")
        seeds = f"seeds {last[0]} .. {last[-1]} for the figures above"
        lines += [
            f"{tried} tried by {self.search}; {seeds}; {simulations}{ended_by(self.end)}",
        ]
        if self.device is not None:
            lines += self.device.lines("the best found")
        return "\n".join(lines)


def _constraint_lines(case: RobustCase) -> list[str]:
    """Bounds kept and missed by the best found and its baselines in a scenario."""
    each = case.comparison
    return [] if each is None else [*kept_lines(each.best_verdicts), *missed_lines(case.rivals)]


def _price_rows(case: RobustCase) -> list[tuple[str, ...]]:
    """Table of both settings and the baselines in a scenario."""
    if not case.metrics:
        return []
    each, rows = case.comparison, []
    if case.rivals and each is not None:
        reached = [each.incumbent, each.best, *(rival.objective for rival in case.rivals)]
        rows = [objective_row(case.objective, case.unit, reached)]
    return fresh_rows(case.metrics, [(each.heading, each.metrics) for each in case.rivals], rows)


Conclusion = Literal["recommended", "kept", "refused"]
"""Whether the best setting should replace the one in force; else whether the latter is kept because
nothing is surely better, or because the best does not surely keep what must hold."""


def conclusion_of(outcome: Recommendation | RobustRecommendation) -> Conclusion:
    """Conclusion of a recommendation.

    A tuning that was cut short before its comparison has kept what is in force.
    """
    if outcome.accepted:
        return "recommended"
    return "refused" if outcome.refused else "kept"
