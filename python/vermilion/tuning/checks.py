"""Checks of a recommendation: baselines, and values at an end of their box.

Baselines are simulated after the tuning, in the time that is left. No run is made twice
(:mod:`vermilion.tuning.memory`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from vermilion.objectives.price import over_of, price_intervals
from vermilion.scenario.algorithms import discipline
from vermilion.simulate.statistics import SettingPair, mean_interval
from vermilion.tuning.baselines import expert_baselines
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.memory import RememberedRuns, RunsOfNow
from vermilion.tuning.recommendation import BaselineOutcome
from vermilion.tuning.simulations import needs_flow_delays
from vermilion.tuning.state import TuningProgress
from vermilion.tuning.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Dimension, Space
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.memory import RunMemory
    from vermilion.tuning.preparation import Case, PreparedTuning
    from vermilion.tuning.session import TuningSession
    from vermilion.tuning.state import Stage


AT_THE_END: Final = 0.01
"""The part of the box, on the scale on which it is searched, that counts as its end."""


def box_warnings(scenario: Scenario, space: Space, setting: Setting) -> tuple[str, ...]:
    """A sentence for each value that lies at an end of its box.

    An end beyond which the parameter itself does not go, like a probability of 1, is none; nor is
    the least distance to another parameter.

    Args:
        scenario: to which the parameters belong.
        space: that was searched.
        setting: what was found; automatic values lie at no end.
    """
    return tuple(
        _end_warning(scenario, dimension, end)
        for dimension in space.dimensions
        for end in _ends_reached(scenario, dimension, setting.get(dimension.name))
    )


def _ends_reached(scenario: Scenario, dimension: Dimension, value: float | None) -> Iterator[str]:
    """The names of the ends where a value lies."""
    if value is None or dimension.switch:
        return
    parameter = scenario.parameter(dimension.name)
    if not _equals_limit(parameter.minimum, dimension.lower) and _is_at_end(dimension, value, 0.0):
        yield "lower"
    if not _equals_limit(parameter.maximum, dimension.upper) and _is_at_end(dimension, value, 1.0):
        yield "upper"


def _is_at_end(dimension: Dimension, value: float, end: float) -> bool:
    """True if a value lies at the end whose coordinate is 0 or 1, or beyond."""
    if dimension.integer:
        return value <= dimension.lower if end == 0.0 else value >= dimension.upper
    return abs(dimension.coordinate(value) - end) <= AT_THE_END


def _equals_limit(limit: float | None, end: float) -> bool:
    return limit is not None and math.isclose(limit, end, rel_tol=1e-9, abs_tol=1e-12)


def _end_warning(scenario: Scenario, dimension: Dimension, end: str) -> str:
    value = dimension.lower if end == "lower" else dimension.upper
    readable = scenario.parameter(dimension.name).readable(value)
    return (
        f"{dimension.name} is at the {end} end of its box ({readable}): "
        "a better value may lie beyond"
    )


def paired_prices(
    runs: tuple[Sequence[Result], Sequence[Result]], link: str, objective: Objective
) -> dict[str, SettingPair]:
    """The price of two settings, as far as every run has measured it."""
    best, incumbent = (price_intervals(results, link, over_of(objective)) for results in runs)
    return {name: SettingPair(best[name], incumbent[name]) for name in best if name in incumbent}


LEAST_DEADLINE_S: Final = 10.0
"""Deadlines from which on there is time to look beyond the setting itself."""

BESIDE: Final = 0.25
"""The part of such a deadline that is set aside for that."""


def is_time_for_more(session: TuningSession, end: str) -> bool:
    """True if there is time for checks: not after Ctrl-C, nor within short deadlines."""
    deadline = session.deadline_s
    return end != "interrupted" and (deadline is None or deadline >= LEAST_DEADLINE_S)


@dataclass(frozen=True, slots=True)
class Beside:
    """Looks beyond what was found in one scenario of a tuning.

    Attributes:
        tuning: whose plan says what is wanted.
        session: how it is done.
        case: the scenario.
        share: of the time that is left, for one call.
        runs: those that were made, where no study keeps them.
    """

    tuning: PreparedTuning
    session: TuningSession
    case: Case
    share: float = 1.0
    runs: RunMemory = field(default_factory=RunsOfNow)

    @property
    def link(self) -> str:
        """Whose price is shown."""
        return (*self.case.objective.links, *self.tuning.links)[0]

    def rivals(self, incumbent: Sequence[Result]) -> tuple[BaselineOutcome, ...]:
        """Queues set by rules of thumb, beside what was found.

        Args:
            incumbent: simulations of what is in force, with the first seeds of the comparison.
        """
        tuning, case, session = self.tuning, self.case, self.session
        plan, seeds = tuning.plan, self._evaluated_seeds(incumbent)
        links = list(
            dict.fromkeys(
                path.split(".")[1] for path in tuning.space.names if path.startswith("links")
            )
        )
        if not plan.rivals or not links or len(seeds) < 2:  # noqa: PLR2004 - an interval needs two
            return ()
        self._report("rivals", 0, 1)
        baselines = expert_baselines(
            case.standing,
            case.objective,
            case.stated,
            links=links,
            seeds=seeds,
            device=plan.profile,
            threads=session.threads,
            workers=self._runner,
            deadline_s=self._time_share,
        )
        now = self._evaluated(seeds, incumbent)
        found = [
            self._outcome(each.name, each.parameters, seeds, each.results, now)
            for each in baselines
        ]
        sign = -1.0 if case.objective.maximised else 1.0
        met = [each for each in found if each is not None]
        met.sort(key=lambda each: (bool(each.missed), sign * each.objective.mean))
        untuned = self._untuned_baseline(seeds, now)
        return tuple(each for each in (*untuned, *met) if each is not None)

    def _evaluated_seeds(self, incumbent: Sequence[Result]) -> tuple[int, ...]:
        """The seeds of the comparison that what is in force has met, before time was up."""
        return self.tuning.seeds.comparison[: len(incumbent)]

    def _untuned_baseline(
        self, seeds: Sequence[int], now: Evaluation
    ) -> list[BaselineOutcome | None]:
        """The new discipline as it takes over, untuned, where it is another one."""
        tuning, case = self.tuning, self.case
        if case.before is None:
            return []
        [row] = self._run([case.text], seeds)
        results = [result for result in row if result is not None]
        if len(results) < len(seeds):
            return []
        names = dict.fromkeys(
            discipline(case.scenario.links[report.link].queue.discipline).title
            for report in tuning.carried_over
            if report.link in case.scenario.links
        )
        label = f"{' and '.join(names)}, not tuned"
        return [self._outcome(label, case.incumbent, seeds, results, now)]

    def _outcome(
        self,
        label: str,
        parameters: Setting,
        seeds: Sequence[int],
        results: Sequence[Result],
        now: Evaluation,
    ) -> BaselineOutcome | None:
        """Objective, price and missed constraints of a baseline."""
        case = self.case
        evaluation = self._evaluated(seeds, results)
        if evaluation.not_measured is not None:
            return None
        sign = -1.0 if case.objective.maximised else 1.0
        verdicts = judge(case.constraints, evaluation, now)
        return BaselineOutcome(
            label=label,
            parameters=parameters,
            objective=mean_interval(sign * value for value in evaluation.objectives),
            metrics=price_intervals(results, self.link, over_of(case.objective)),
            missed=tuple(dict.fromkeys(str(each) for each in verdicts if each.holds != "met")),
        )

    def _evaluated(self, seeds: Sequence[int], results: Sequence[Result]) -> Evaluation:
        """Runs of whatever stands in the queue, by the objective and all constraints."""
        evaluation = Evaluation({})
        for seed, result in zip(seeds, results, strict=False):
            evaluation.add(seed, result, self.case.objective, self.case.constraints)
        return evaluation

    def _run(self, texts: Sequence[str], seeds: Sequence[int]) -> list[list[Result | None]]:
        """Simulates what the core reads, as far as there is time."""
        measured = (self.case.objective, *self.case.constraints)
        return self._runner.run_many(
            texts,
            seeds,
            threads=self.session.threads,
            deadline_s=self._time_share,
            flow_delays=any(needs_flow_delays(each) for each in measured),
        )

    @property
    def _runner(self) -> RememberedRuns:
        session = self.session
        kept = self.runs if session.study is None else session.study
        return RememberedRuns(kept, session.workers, session.threads)

    @property
    def _time_share(self) -> float | None:
        left = self.tuning.seconds_left(self.session.deadline_s)
        return None if left is None else self.share * left

    def _report(self, stage: Stage, done: int, total: int) -> None:
        if self.session.progress is not None:
            self.session.progress(TuningProgress(stage, done, total, inf))
