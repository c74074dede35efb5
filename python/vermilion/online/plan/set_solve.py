"""Thinking about several queues: one search for all their parameters, in one model of them all.

As for one queue (:mod:`vermilion.online.plan.solve`): a refined answer is asked for only of a model
that explains what was seen of every queue. The parameters are as many as all queues have together,
and the search is the one that is best with so many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.objectives import NotMeasuredError, constraints_of
from vermilion.online.model.network import (
    SetTraffic,
    build_set_model,
    searched,
    set_by_turns,
    set_possibilities,
)
from vermilion.online.model.possibilities import is_asked_of
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.traffic import TooLittleIsKnown, horizon_for
from vermilion.online.plan.examination import examine_set
from vermilion.online.plan.judgement import (
    PUSHES,
    estimated_charge,
    judge,
    pays_in_the_model,
    simulated_charge,
)
from vermilion.online.plan.search import (
    Looking,
    ModelCase,
    best_of,
    first_beside_in_force,
    most_starved,
)
from vermilion.online.plan.settings import HeldByPath, joint_name_of, searched_values
from vermilion.online.plan.task import Answer, without_answer
from vermilion.online.sense.picture import SetPicture
from vermilion.search import AUTOMATIC, CountedFromBelow, SettableSpace, Space, chosen_search
from vermilion.simulate import run_many
from vermilion.tuning.evaluation import Seeds
from vermilion.tuning.simulations import needs_flow_delays
from vermilion.tuning.verdict import on_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Constraint
    from vermilion.online.model.network import SetPossibility
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.judgement import PushCharge
    from vermilion.online.plan.task import Finding, Task
    from vermilion.online.policy import SetPolicy
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting

_EXAMINING_SHARE = 0.3  # of a refined answer's time
_SEEDS_TO_EXAMINE = 100
_SEARCH_SEEDS = {"quick": 1, "refined": 2}
_NOISE_RUNS = 3
_HARM_RUNS = 6
_TIME_FOR_THE_SEARCH = 0.85


def solve_set(task: Task, policy: SetPolicy) -> Finding:
    """Do a task about several queues.

    Raises:
        KeyboardInterrupt: at Ctrl-C.
    """
    picture = task.picture
    if not isinstance(picture, SetPicture):
        message = f"{type(picture).__name__} is no picture of several queues"
        raise TypeError(message)
    try:
        traffic = SetTraffic.of_picture(picture, policy)
    except TooLittleIsKnown as missing:
        return without_answer(task, str(missing))
    explanation, deadline_s, first_seed = None, task.deadline_s, task.first_seed
    if task.kind == "refined" and task.settled:
        explanation, belief = examine_set(task, policy, traffic, _EXAMINING_SHARE * deadline_s)
        task = replace(task, belief=belief)
        deadline_s *= 1.0 - _EXAMINING_SHARE
        first_seed += _SEEDS_TO_EXAMINE
        if not explanation.explained:
            nothing = without_answer(task, explanation.in_words())
            box = _box(task, policy, traffic)
            return replace(nothing, explanation=explanation, space=box)
    try:
        search = _Search(task, policy, picture, traffic, deadline_s, first_seed)
        answer, packets_per_s = search.answer()
    except (TooLittleIsKnown, NotMeasuredError) as missing:
        return replace(without_answer(task, str(missing)), explanation=explanation)
    return replace(
        without_answer(task, ""),
        answer=answer,
        packets_per_s=packets_per_s,
        explanation=explanation,
    )


def _box(task: Task, policy: SetPolicy, traffic: SetTraffic) -> Space | None:
    """Where to step without a model, if that is wanted and the parameters are numbers."""
    names = searched(policy, traffic)
    known = searched_values(names, task.in_force)
    if policy.without_model == "stay" or len(known) < len(names):
        return None
    horizon = horizon_for(traffic.whole, task.deadline_s, task.packets_per_s)
    queues, kind = task.configuration.queues, task.belief.best
    box = CountedFromBelow.from_scenario(
        build_set_model(queues, task.in_force, traffic, kind, policy, horizon)
    )
    return SettableSpace(box, HeldByPath(task.held, joint_name_of))


class _Search:
    """One search in the models of a task."""

    def __init__(
        self,
        task: Task,
        policy: SetPolicy,
        picture: SetPicture,
        traffic: SetTraffic,
        deadline_s: float,
        first_seed: int,
    ) -> None:
        self._task, self._policy, self._traffic = task, policy, traffic
        self._links = tuple(traffic.queues)
        self._first_seed, self._deadline_s = first_seed, deadline_s
        self._possible = _possible(task, policy, picture, traffic)
        self._seeds = Seeds.counted(
            first_seed,
            search=_SEARCH_SEEDS[task.kind],
            re_evaluation=task.re_evaluations,
            comparison=task.comparisons,
        )
        slowest = max(self._possible, key=lambda each: each.traffic.whole.longest_round_trip_s)
        self._horizon = horizon_for(
            slowest.traffic.whole, deadline_s / len(self._possible), task.packets_per_s
        )

    def answer(self) -> tuple[Answer, float | None]:
        """The best joint setting, and how many packets this machine simulates per second.

        Raises:
            TooLittleIsKnown: the search did not get far enough.
            NotMeasuredError: the model lacks what the goal is about.
        """
        task, policy = self._task, self._policy
        cases = [self._case(each) for each in self._possible]
        names = searched(policy, self._traffic)
        model = cases[0].model
        known = searched_values(policy.parameters, task.in_force)
        found = best_of(
            cases,
            Looking(
                link=self._links,
                space=SettableSpace(
                    CountedFromBelow.from_scenario(model), HeldByPath(task.held, joint_name_of)
                ),
                incumbent={policy.path(name): model.get(policy.path(name)) for name in names},
                starts=[
                    {policy.path(name): (known | dict(start))[name] for name in names}
                    for start in task.starts
                    if set(names) <= set(known | dict(start))
                ],
                seeds=self._seeds,
                search_seed=self._first_seed,
                evaluations=task.evaluations,
                deadline_s=_TIME_FOR_THE_SEARCH * self._deadline_s,
                workers=None,
                search=chosen_search(AUTOMATIC, len(names), "hurry"),
                name_of=joint_name_of,
            ),
        )
        in_force = searched_values(policy.parameters, task.in_force)
        # What was not searched stays what it is.
        setting = in_force | {
            joint_name_of(path): value for path, value in found.setting.items() if value is not None
        }
        goal = cases[0].goal
        candidate = replace(found.candidate, setting=setting)
        incumbent = replace(found.incumbent, setting=in_force)
        believed = sum(case.share > 0.0 for case in cases)
        charge = self._push_charge(cases, found.setting, candidate, incumbent.value.mean)
        answer = Answer(
            kind=task.kind,
            picture=task.picture,
            in_force=task.in_force,
            internal_target=None,
            goal=goal.label,
            unit=goal.unit,
            setting=setting,
            candidate=candidate,
            incumbent=incumbent,
            verdict=judge(
                candidate,
                incumbent,
                goal,
                found.candidate_verdicts,
                found.incumbent_verdicts,
                charge,
                believed,
                excused=found.spared_verdicts,
                beyond_aims=found.aimed_verdicts,
            ),
            candidate_noise=self._noise(cases, found.setting),
            incumbent_noise=self._noise(cases, {}),
            evaluations=found.evaluations,
            models=believed,
            most_starved=most_starved(cases, incumbent),
            starved_over_s=self._horizon.measured_s,
            first_beside_in_force=first_beside_in_force(cases, incumbent),
            took_s=found.seconds,
        )
        # What answers must repeat on depends on nothing of the machine.
        return answer, None if task.evaluations is not None else found.packets_per_s

    def _push_charge(
        self,
        cases: Sequence[ModelCase],
        setting: Setting,
        candidate: Prediction,
        in_force: float,
    ) -> PushCharge:
        """What it costs to put a joint setting in force."""
        price, changes = self._task.push_price, self._policy.changes_per_minute
        queues = self._task.configuration.queues
        if pays_in_the_model(price, [each.discipline for each in queues]):
            seeds = self._seeds.comparison[:PUSHES]
            return simulated_charge(price, cases, setting, candidate, seeds, None, changes)
        goal, whole = cases[0].goal, self._traffic.whole
        return estimated_charge(price, whole, {}, goal, candidate, in_force, changes)

    def _case(self, possibility: SetPossibility) -> ModelCase:
        """What the network may be, and what is wanted in it."""
        policy = self._policy
        model = self._model(possibility, self._task.in_force)
        goal = policy.objective.for_scenario(model)
        if goal.needs_incumbent:
            delays = needs_flow_delays(goal)
            goal = goal.relative_to(_runs(model, self._seeds.search, flow_delays=delays))
        stated = policy.constraints
        if stated is not None:
            # Of a link that never queued nothing is modelled, and so nothing can be held to.
            left_out = tuple(f"links.{each}." for each in policy.links if each not in model.links)
            stated = tuple(each for each in stated if not each.strip().startswith(left_out))
        asked: list[Constraint] = []
        if possibility.share > 0.0:
            asked = [
                each
                for each in constraints_of(model, goal, stated, links=self._links)
                if each.path.room == "flows" or each.path.name in self._links
            ]
        constraints = (*asked, *self._harm_bounds(possibility, model))
        return ModelCase(model, goal, constraints, possibility.share)

    def _harm_bounds(self, possibility: SetPossibility, model: Scenario) -> list[Constraint]:
        """What a setting may cost, against the one that the controller met when it began.

        If that one had stayed, all flows would have come under it.
        """
        task = self._task
        bounds = [
            replace(bound, text=f"{bound.text} {possibility.words}".strip())
            for bound in self._policy.harm_bounds(model, self._links)
            if is_asked_of(bound, possibility.kind, task.belief)
        ]
        if task.held.is_unchanged(task.original, task.in_force):
            return bounds
        untouched = self._model(possibility, task.original, anew=True)
        delays = any(needs_flow_delays(bound) for bound in bounds)
        results = _runs(untouched, self._seeds.comparison[:_HARM_RUNS], flow_delays=delays)
        return [on_known(bound, results) for bound in bounds]

    def _model(
        self,
        possibility: SetPossibility,
        parameters: Mapping[str, ParameterValue],
        *,
        anew: bool = False,
    ) -> Scenario:
        return build_set_model(
            self._task.configuration.queues,
            parameters,
            possibility.traffic,
            possibility.kind,
            self._policy,
            self._horizon,
            possibility.joining,
            anew=anew,
        )

    def _noise(self, cases: Sequence[ModelCase], setting: Mapping[str, float | None]) -> float:
        """How far a second's mean of all queues strays in the model where it strays furthest."""
        seeds = self._seeds.comparison[:_NOISE_RUNS]
        return max(
            queue_noise(
                case.model.with_values(setting), self._links, seeds, self._task.reading_interval_s
            )
            for case in cases
            if case.share > 0.0
        )


def _possible(
    task: Task, policy: SetPolicy, picture: SetPicture, traffic: SetTraffic
) -> tuple[SetPossibility, ...]:
    """What the network may be: by doubt, or by turns."""
    if not task.met:
        return set_possibilities(traffic, picture, task.belief)
    others: list[SetTraffic] = []
    for met in task.met:
        if not isinstance(met, SetPicture):
            continue
        try:
            other = SetTraffic.of_picture(met, policy)
        except TooLittleIsKnown:
            continue
        if set(other.queues) == set(traffic.queues):
            others.append(other)
    return set_by_turns(traffic, others, task.belief)


def _runs(model: Scenario, seeds: Sequence[int], *, flow_delays: bool) -> list[Result]:
    [row] = run_many([model], seeds, flow_delays=flow_delays)
    return [result for result in row if result is not None]
