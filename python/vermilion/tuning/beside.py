"""What stands beside a recommendation: the simplest rivals, and the conditions around its own.

Both are simulated after the tuning, in the time that is left. With a study every run is remembered
(:mod:`vermilion.tuning.measure.remembered_runs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

from vermilion.objectives.price import over_of, price_intervals
from vermilion.scenario.algorithms import discipline
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.check.neighbourhood import neighbours
from vermilion.tuning.check.rivals import RIVAL_BUDGET, simple_rivals
from vermilion.tuning.check.robustness import check_robustness
from vermilion.tuning.find.progress import TuningProgress
from vermilion.tuning.judge.verdict import judge
from vermilion.tuning.measure.evaluation import Evaluation
from vermilion.tuning.measure.remembered_runs import RememberedRuns
from vermilion.tuning.measure.simulations import needs_flow_delays
from vermilion.tuning.recommend.recommendation import RivalOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate import Result
    from vermilion.tuning.check.robustness import Robustness
    from vermilion.tuning.find.progress import Stage
    from vermilion.tuning.measure.candidates import Setting
    from vermilion.tuning.measure.remembered_runs import Runner
    from vermilion.tuning.prepare.preparation import Case, PreparedTuning
    from vermilion.tuning.session import TuningSession

ROBUSTNESS_SEEDS: Final = 5
"""Fresh seeds that the chosen setting and the incumbent meet under each neighbouring condition."""

LEAST_DEADLINE_S: Final = 10.0
"""Deadlines from which on there is time to look beyond the setting itself."""

BESIDE: Final = 0.25
"""The part of such a deadline that is set aside for that."""


def is_time_for_more(session: TuningSession, end: str) -> bool:
    """Whether to look beyond the setting itself: not after Ctrl-C, nor within short deadlines."""
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
    """

    tuning: PreparedTuning
    session: TuningSession
    case: Case
    share: float = 1.0

    @property
    def link(self) -> str:
        """Whose price is shown."""
        return (*self.case.objective.links, *self.tuning.links)[0]

    def rivals(self, incumbent: Sequence[Result]) -> tuple[RivalOutcome, ...]:
        """The simplest things that might do the same, beside what was found.

        Args:
            incumbent: simulations of what is in force, with the first seeds of the comparison.
        """
        tuning, case, session = self.tuning, self.case, self.session
        plan = tuning.plan
        links = list(
            dict.fromkeys(
                path.split(".")[1] for path in tuning.space.names if path.startswith("links")
            )
        )
        if not plan.rivals or not links:
            return ()
        self._report("rivals", 0, RIVAL_BUDGET)
        rivals = simple_rivals(
            case.standing,
            case.objective,
            case.asked,
            links=links,
            seeds=tuning.seeds,
            budget=min(RIVAL_BUDGET, plan.budget),
            device=plan.profile,
            search_seed=plan.seed,
            threads=session.threads,
            workers=self._runner,
            deadline_s=self._seconds,
            progress=lambda progress: self._report("rivals", progress.done, progress.total),
        )
        now = self._evaluated(tuning.seeds.comparison, incumbent)
        found = [
            self._outcome(rival.name, rival.parameters, rival.seeds, rival.results, now)
            for rival in rivals
            if rival.objective is not None
        ]
        return tuple(each for each in (*self._carried_over(now), *found) if each is not None)

    def robustness(self, best: Setting) -> Robustness | None:
        """How a setting fares around the conditions that it was found for."""
        tuning, case, session = self.tuning, self.case, self.session
        if not tuning.plan.robustness:
            return None
        seeds = tuning.seeds.comparison[:ROBUSTNESS_SEEDS]
        total = 2 * len(seeds) * len(neighbours(case.scenario, tuning.links))
        self._report("neighbourhood", 0, total)
        return check_robustness(
            case.scenario,
            tuning.space.names,
            best,
            case.incumbent if case.before is None else {},
            case.objective,
            case.constraints,
            seeds=seeds,
            in_force=case.before,
            least_loss=case.objective.least_gain(0.0),
            threads=session.threads,
            workers=self._runner,
            deadline_s=self._seconds,
            progress=lambda done: self._report("neighbourhood", done, total),
        )

    def _carried_over(self, now: Evaluation) -> list[RivalOutcome | None]:
        """The new discipline as it takes over, untuned, where it is another one."""
        tuning, case = self.tuning, self.case
        if case.before is None:
            return []
        runner, seeds = self._runner, tuning.seeds.comparison
        run = run_many if runner is None else runner.run_many
        needed = any(needs_flow_delays(each) for each in (case.objective, *case.constraints))
        [row] = run(
            [case.text],
            seeds,
            threads=self.session.threads,
            deadline_s=self._seconds,
            flow_delays=needed,
        )
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
    ) -> RivalOutcome | None:
        """What something reaches and costs, and what it does not keep."""
        case = self.case
        evaluation = self._evaluated(seeds, results)
        if evaluation.not_measured is not None:
            return None
        sign = -1.0 if case.objective.maximised else 1.0
        verdicts = judge(case.constraints, evaluation, now)
        return RivalOutcome(
            label=label,
            parameters=parameters,
            objective=mean_interval(sign * value for value in evaluation.objectives),
            metrics=price_intervals(results, self.link, over_of(case.objective)),
            missed=tuple(str(each) for each in verdicts if each.holds != "met"),
        )

    def _evaluated(self, seeds: Sequence[int], results: Sequence[Result]) -> Evaluation:
        """Runs of whatever stands in the queue, by the objective and all constraints."""
        evaluation = Evaluation({})
        for seed, result in zip(seeds, results, strict=False):
            evaluation.add(seed, result, self.case.objective, self.case.constraints)
        return evaluation

    @property
    def _runner(self) -> Runner | None:
        session = self.session
        if session.study is None:
            return session.workers
        return RememberedRuns(session.study, session.workers, session.threads)

    @property
    def _seconds(self) -> float | None:
        left = self.tuning.seconds_left(self.session.deadline_s)
        return None if left is None else self.share * left

    def _report(self, stage: Stage, done: int, total: int) -> None:
        if self.session.progress is not None:
            self.session.progress(TuningProgress(stage, done, total, inf))
