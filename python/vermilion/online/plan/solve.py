"""Thinking: from what is seen to an answer. A pure function of its task, for any process to do.

Nothing here touches the network, and nothing is remembered between two tasks but what findings
bring back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.objectives import NotMeasuredError, constraints_of
from vermilion.online.model.network import build_model
from vermilion.online.model.possibilities import by_turns, is_asked_of, possibilities
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.scaling import SmallRuns, scaling_for
from vermilion.online.model.traffic import (
    TooLittleIsKnown,
    Traffic,
    horizon_for,
    least_queue_packets,
)
from vermilion.online.plan.examination import examine
from vermilion.online.plan.judgement import (
    PUSHES,
    estimated_charge,
    goal_of,
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
from vermilion.online.plan.settings import (
    HeldByPath,
    bare_name,
    first_guesses,
    held_setting,
    searched_values,
)
from vermilion.online.plan.task import Answer, without_answer
from vermilion.online.policy import SetPolicy, marks
from vermilion.online.sense.sampler import mean_and_seconds, scatter
from vermilion.search import CountedFromBelow, SettableSpace, Space
from vermilion.simulate import run_many
from vermilion.tuning.evaluation import Seeds
from vermilion.tuning.simulations import needs_flow_delays
from vermilion.tuning.verdict import on_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Constraint
    from vermilion.online.model.possibilities import Possibility
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.model.scaling import Scaling
    from vermilion.online.plan.judgement import PushCharge
    from vermilion.online.plan.task import Finding, Task
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting

_EXAMINING_SHARE = 0.3  # of a refined answer's time
_SEEDS_TO_EXAMINE = 100
_SEARCH_SEEDS = {"quick": 1, "refined": 2}  # runs per setting; more are slower and surer
# Of a margin of harm the part that the settings tried may use up. The best of many is the luckiest
# of them, and the network is rougher than a model in which all flows start together and stay. A
# quick search for steady conditions has one run of each setting, by chance further from a margin
# than this is, and would find too little.
_MARGIN_SEARCHED = 0.6
_NOISE_RUNS = 3
_HARM_RUNS = 6
_ONE_END = 0.5  # of a box of which the model cannot tell the two ends apart
_TIME_FOR_THE_SEARCH = 0.85  # of the deadline; the rest is for building models and noise


def solve(task: Task) -> Finding:
    """Do a task.

    A quick one searches the best setting for the traffic as it looks. A refined one first finds out
    which senders explain what was seen under the setting in force; where none do, the model has no
    word on other settings and there is no answer.

    Raises:
        KeyboardInterrupt: at Ctrl-C.
    """
    if not task.policy.parameters:
        obstacle = "the queue itself moves every parameter that may be changed"
        return without_answer(task, obstacle)
    task = replace(task, belief=task.belief.after_seeing(task.picture.selective_share))
    if isinstance(task.policy, SetPolicy):
        from vermilion.online.plan.set_solve import solve_set

        return solve_set(task, task.policy)
    try:
        traffic = Traffic.of_picture(task.picture, task.policy)
    except TooLittleIsKnown as missing:
        return without_answer(task, str(missing))
    searched = searched_parameters(task, traffic)
    task = replace(task, policy=replace(task.policy, parameters=searched))
    if task.kind == "quick":
        return _answered(task, traffic, task.deadline_s, task.first_seed)
    examination, belief = None, task.belief
    correction = task.correction
    if task.settled:
        examining_s = _EXAMINING_SHARE * task.deadline_s
        examination, belief = examine(task, traffic, examining_s)
        if examination.explained and task.policy.target_packets is not None:
            measured, seconds = mean_and_seconds(task.settled)
            correction = correction.learned(
                measured,
                seconds,
                examination.noise,
                examination.predicted_mean,
                scatter(task.settled),
            )
    learned = replace(task, belief=belief, correction=correction)
    if examination is not None and not examination.explained:
        nothing = without_answer(learned, examination.in_words())
        return replace(nothing, explanation=examination, space=_box(learned, traffic))
    finding = _answered(
        learned,
        traffic,
        (1.0 - _EXAMINING_SHARE) * task.deadline_s,
        task.first_seed + _SEEDS_TO_EXAMINE,
    )
    return replace(finding, explanation=examination)


def searched_parameters(task: Task, traffic: Traffic) -> tuple[str, ...]:
    """The names of what a search may change: the policy's, and switches where they matter."""
    policy, in_force = task.policy, task.in_force
    if not marks(in_force):
        return policy.parameters
    too_long = least_queue_packets(traffic) > policy.scale_packets(traffic.packets_per_s)
    return (
        *policy.parameters,
        *(
            name
            for name in policy.switches
            if name in in_force and (too_long or in_force[name] != task.original.get(name))
        ),
    )


def _box(task: Task, traffic: Traffic) -> Space | None:
    """Where to step without a model, if that is wanted and the parameters in force are numbers."""
    policy = task.policy
    if policy.without_model == "stay" or len(_known(task)) < len(policy.parameters):
        return None
    horizon = horizon_for(traffic, task.deadline_s, task.packets_per_s)
    box = CountedFromBelow.from_scenario(
        build_model(task.configuration, task.in_force, traffic, task.belief.best, policy, horizon)
    )
    return SettableSpace(box, HeldByPath(task.held, bare_name))


def _answered(task: Task, traffic: Traffic, deadline_s: float, first_seed: int) -> Finding:
    """The best setting for the traffic, found within a deadline."""
    try:
        answer, packets_per_s = _search(task, traffic, deadline_s, first_seed)
    except (TooLittleIsKnown, NotMeasuredError) as missing:
        return without_answer(task, str(missing))
    return replace(without_answer(task, ""), answer=answer, packets_per_s=packets_per_s)


def _search(
    task: Task, traffic: Traffic, deadline_s: float, first_seed: int
) -> tuple[Answer, float | None]:
    """The answer, and how many packets this machine simulates per second.

    Raises:
        TooLittleIsKnown: the search did not get far enough.
        NotMeasuredError: the model lacks what the goal is about.
    """
    policy = task.policy
    wanted = policy.scale_packets(traffic.packets_per_s)
    possible = _possible(task, traffic)
    models = _Models(
        task,
        traffic,
        scaling_for(
            traffic, task.configuration.discipline, wanted, [each.kind for each in possible]
        ),
        Seeds.counted(
            first_seed,
            search=_SEARCH_SEEDS[task.kind],
            re_evaluation=task.re_evaluations,
            comparison=task.comparisons,
        ),
        possible,
        deadline_s,
    )
    internal = None if policy.target_packets is None else task.correction.internal_target
    target = wanted if internal is None else internal
    cases = [models.case(possibility, target) for possibility in models.possible]
    discipline = task.configuration.discipline
    guesses = first_guesses(discipline, policy.parameters, traffic, target)
    found = best_of(
        cases,
        Looking(
            link=policy.link,
            space=models.space(traffic, cases[0].model),
            incumbent={
                policy.path(name): cases[0].model.get(policy.path(name))
                for name in policy.parameters
            },
            starts=[models.small(each) for each in (*_starts(task), *guesses)],
            seeds=models.seeds,
            search_seed=first_seed,
            evaluations=task.evaluations,
            deadline_s=_TIME_FOR_THE_SEARCH * deadline_s,
            workers=models.workers,
            spares_incumbent=not task.met,
        ),
    )
    setting = held_setting(task.held, models.large(found.setting))
    candidate = replace(found.candidate, setting=setting)
    believed = sum(case.share > 0.0 for case in cases)
    incumbent = replace(found.incumbent, setting=_known(task))
    goal = cases[0].goal
    answer = Answer(
        kind=task.kind,
        picture=task.picture,
        in_force=task.in_force,
        internal_target=internal,
        goal=goal.label,
        unit=goal.unit,
        setting=candidate.setting,
        candidate=candidate,
        incumbent=incumbent,
        verdict=judge(
            candidate,
            incumbent,
            goal,
            found.candidate_verdicts,
            found.incumbent_verdicts,
            models.push_charge(cases, found.setting, candidate, incumbent.value.mean, traffic),
            believed,
            excused=found.spared_verdicts,
            beyond_aims=found.aimed_verdicts,
        ),
        candidate_noise=models.noise(cases, found.setting),
        incumbent_noise=models.noise(cases, {}),
        evaluations=found.evaluations,
        models=believed,
        alternatives=found.believed_incumbents if models.differ_in_kind_alone else (),
        most_starved=most_starved(cases, incumbent),
        starved_over_s=models.measured_s,
        first_beside_in_force=first_beside_in_force(cases, incumbent),
        scale=models.scaling.share,
        took_s=found.seconds,
    )
    # What answers must repeat on depends on nothing of the machine.
    return answer, None if task.evaluations is not None else found.packets_per_s


def _possible(task: Task, traffic: Traffic) -> tuple[Possibility, ...]:
    """What the network may be: by doubt, or by turns."""
    if not task.met:
        return possibilities(traffic, task.picture, task.belief)
    others: list[Traffic] = []
    for picture in task.met:
        try:
            others.append(Traffic.of_picture(picture, task.policy))
        except TooLittleIsKnown:
            continue
    return by_turns(traffic, others, task.belief)


class _Models:
    """The models of a task, all as small as they may be."""

    def __init__(
        self,
        task: Task,
        traffic: Traffic,
        scaling: Scaling,
        seeds: Seeds,
        possible: Sequence[Possibility],
        deadline_s: float,
    ) -> None:
        self._task = task
        self.scaling = scaling
        self.seeds = seeds
        self.possible = possible
        self._box: Space | None = None  # in the network's numbers
        self.workers = SmallRuns(scaling) if scaling.is_smaller else None
        # The slowest flows of any decide, so that all are simulated for as long.
        slowest = max(
            (scaling.traffic(each.traffic) for each in possible),
            key=lambda traffic: traffic.longest_round_trip_s,
        )
        self._horizon = horizon_for(
            slowest, deadline_s / len(possible), task.packets_per_s, scaling.epoch_s(traffic)
        )

    @property
    def measured_s(self) -> float:
        """How much of a model is measured."""
        return self._horizon.measured_s

    @property
    def differ_in_kind_alone(self) -> bool:
        """Whether there are several that are believed, and all have the same traffic."""
        believed = [each.traffic for each in self.possible if each.share > 0.0]
        return len(believed) > 1 and all(each == believed[0] for each in believed)

    def case(self, possibility: Possibility, target: float) -> ModelCase:
        """What the network may be, and what is wanted in it."""
        task, policy = self._task, self._task.policy
        model = self._model(possibility, task.in_force)
        goal = goal_of(policy, model, target)
        if goal.needs_incumbent:
            goal = goal.relative_to(
                self._runs(model, self.seeds.search, flow_delays=needs_flow_delays(goal))
            )
        asked: Sequence[Constraint] = ()
        if possibility.share > 0.0:
            asked = constraints_of(model, goal, policy.constraints, links=[policy.link])
        constraints = (*asked, *self._harm_bounds(possibility, model))
        narrower = task.kind == "refined" or task.met
        margin = _MARGIN_SEARCHED if narrower else 1.0
        return ModelCase(model, goal, constraints, possibility.share, margin)

    def space(self, traffic: Traffic, model: Scenario) -> Space:
        """The box to search, in the model's own numbers."""
        task = self._task
        whole = build_model(
            task.configuration,
            task.in_force,
            traffic,
            self.possible[0].kind,
            task.policy,
            self._horizon,
        )
        self._box = CountedFromBelow.from_scenario(whole)
        if not self.scaling.is_smaller:
            return SettableSpace(self._box, HeldByPath(task.held, bare_name))
        ends: dict[str, tuple[float, float]] = {}
        for each in self._box.dimensions:
            lower = self._small_path(each.name, each.lower)
            upper = self._small_path(each.name, each.upper)
            # Probabilities that all mean "every packet" are one in the model.
            ends[each.name] = (min(lower, _ONE_END * upper), upper)
        return SettableSpace(CountedFromBelow.from_scenario(model, boxes=ends), self)

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest setting that the router can hold, in the smaller model, by path."""
        large = self.large(values)
        near = held_setting(self._task.held, large)
        found: dict[str, float] = {}
        for path, value in values.items():
            name = bare_name(path)
            # There and back again a number may miss itself by its last digit.
            same = near[name] == large[name]
            found[path] = value if same else self._small_path(path, near[name])
        return found

    def small(self, setting: Mapping[str, float]) -> dict[str, float]:
        """A setting of the network in the smaller model, by path."""
        path = self._task.policy.path
        return {path(name): self._small_path(name, value) for name, value in setting.items()}

    def large(self, setting: Mapping[str, float | None]) -> dict[str, float]:
        """A setting found in the smaller model for the network, by name."""
        ends = {} if self._box is None else {each.name: each for each in self._box.dimensions}
        found: dict[str, float] = {}
        for path, value in setting.items():
            if value is None:
                continue
            name = bare_name(path)
            large, box = self.scaling.out_of(name, value), ends.get(path)
            # The model's box reaches further down where it cannot tell the network's ends apart.
            if self.scaling.windows and box is not None:
                large = max(large, box.lower)
            found[name] = large
        return found

    def push_charge(
        self,
        cases: Sequence[ModelCase],
        setting: Setting,
        candidate: Prediction,
        in_force: float,
        traffic: Traffic,
    ) -> PushCharge:
        """What it costs to put a setting in force that was found in the smaller model."""
        task = self._task
        price, changes = task.push_price, task.policy.changes_per_minute
        if pays_in_the_model(price, [task.configuration.discipline]):
            seeds = self.seeds.comparison[:PUSHES]
            return simulated_charge(price, cases, setting, candidate, seeds, self.workers, changes)
        return estimated_charge(
            price,
            traffic,
            {**task.in_force, **candidate.setting},
            cases[0].goal,
            candidate,
            in_force,
            changes,
        )

    def noise(self, cases: Sequence[ModelCase], setting: Mapping[str, float | None]) -> float:
        """How far a second's mean queue strays in the model where it strays furthest, packets."""
        link, seeds = self._task.policy.link, self.seeds.comparison[:_NOISE_RUNS]
        most = max(
            queue_noise(case.model.with_values(setting), link, seeds, self._task.reading_interval_s)
            for case in cases
            if case.share > 0.0
        )
        return most / self.scaling.share

    def _small_path(self, path: str, value: float) -> float:
        """A parameter's value in the smaller model, by its name or path."""
        found = self.scaling.into(bare_name(path), value)
        return value if found is None or isinstance(found, str) else float(found)

    def _harm_bounds(self, possibility: Possibility, model: Scenario) -> list[Constraint]:
        """What a setting may cost, against the one that the controller met when it began.

        Against the setting in force each of many small steps could cost as much again. If the first
        one had stayed, all flows would have come under it.
        """
        task = self._task
        bounds = [
            replace(bound, text=f"{bound.text} {possibility.words}".strip())
            for bound in task.policy.harm_bounds(model, [task.policy.link])
            if is_asked_of(bound, possibility.kind, task.belief)
        ]
        if task.held.is_unchanged(task.original, task.in_force):
            return bounds
        untouched = self._model(possibility, task.original, anew=True)
        delays = any(needs_flow_delays(bound) for bound in bounds)
        results = self._runs(untouched, self.seeds.comparison[:_HARM_RUNS], flow_delays=delays)
        return [on_known(bound, results) for bound in bounds]

    def _model(
        self,
        possibility: Possibility,
        parameters: Mapping[str, ParameterValue],
        *,
        anew: bool = False,
    ) -> Scenario:
        task, scaling = self._task, self.scaling
        return build_model(
            task.configuration,
            {name: scaling.into(name, value) for name, value in parameters.items()},
            scaling.traffic(possibility.traffic),
            scaling.senders(possibility.kind),
            task.policy,
            self._horizon,
            possibility.joining,
            anew=anew,
        )

    def _runs(self, model: Scenario, seeds: Sequence[int], *, flow_delays: bool) -> list[Result]:
        """Simulations of a model, in the network's numbers."""
        [row] = run_many([model], seeds, flow_delays=flow_delays)
        return [self.scaling.result(result) for result in row if result is not None]


def _known(task: Task) -> dict[str, float]:
    """What is in force of the parameters that are searched, as far as a search can begin there."""
    return searched_values(task.policy.parameters, task.in_force)


def _starts(task: Task) -> list[dict[str, float]]:
    """Settings to try first; what they do not say, or what is not searched, is as it is now."""
    known = _known(task)
    return [
        {name: (known | dict(start))[name] for name in task.policy.parameters}
        for start in task.starts
        if known.keys() | start.keys() >= set(task.policy.parameters)
    ]
