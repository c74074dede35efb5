"""Thinking: from what is seen to an answer. A pure function of its task, for any process to do.

Nothing here touches the network, and nothing is remembered between two tasks but what findings
bring back.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from vermilion.objectives import NotMeasuredError, constraints_of
from vermilion.online.model.possibilities import applies_to
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.scaling import Scaling, SmallRuns
from vermilion.online.model.traffic import TooLittleIsKnown, horizon_for
from vermilion.online.plan.examination import examine
from vermilion.online.plan.judgement import (
    NO_CHARGE,
    PUSHES,
    estimated_charge,
    goal_of,
    judge,
    pays_in_the_model,
    simulated_charge,
)
from vermilion.online.plan.problem import Problem, held_setting, searched_values
from vermilion.online.plan.search import (
    ModelCase,
    best_of,
    compared_in,
    evaluated,
    first_beside_in_force,
    most_starved,
    verdicts_on,
)
from vermilion.online.plan.task import Answer, without_answer
from vermilion.online.sense.sampler import mean_and_seconds, scatter
from vermilion.routers.adaptive_red import ADAPTIVE
from vermilion.search import AUTOMATIC, CountedFromBelow, SettableSpace, Space, chosen_search
from vermilion.simulate import run_many
from vermilion.tuning.evaluation import Seeds
from vermilion.tuning.simulations import needs_flow_delays
from vermilion.tuning.verdict import on_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.online.model.possibilities import Possibility
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.judgement import ChangeVerdict, PushCharge
    from vermilion.online.plan.laws import Law
    from vermilion.online.plan.search import Compared, FoundSetting
    from vermilion.online.plan.task import Finding, Task
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.verdict import ConstraintVerdict

_EXAMINING_SHARE = 0.3  # of a refined answer's time
_SEEDS_TO_EXAMINE = 100
_SEARCH_SEEDS = {"quick": 1, "refined": 2}  # runs per setting; more are slower and surer
# Of a margin of harm the part that the settings tried may use up. The best of many is the luckiest
# of them, and the network is rougher than a model in which all flows start together and stay. A
# quick search for steady conditions has one run of each setting, by chance further from a margin
# than this is, and would find too little.
_MARGIN_SEARCHED = 0.6
_LEAST_OVER_LAW = 0.2  # of what is minimised under it
_NOISE_RUNS = 3
_HARM_RUNS = 6
_ONE_END = 0.5  # of a box of which the model cannot tell the two ends apart
_TIME_FOR_THE_SEARCH = 0.85  # of the deadline; the rest is for building models and noise


def solve(task: Task) -> Finding:
    """Do a task, about one queue or several.

    A quick one searches the best setting for the traffic as it looks. A refined one first finds out
    which senders explain what was seen under the setting in force; where none do, the model
    predicts nothing of other settings and there is no answer.

    Raises:
        KeyboardInterrupt: at Ctrl-C.
    """
    if not task.policy.parameters:
        obstacle = "the queue itself moves every parameter that may be changed"
        return without_answer(task, obstacle)
    task = replace(task, belief=task.belief.after_seeing(task.picture.selective_share))
    try:
        problem = Problem(task)
    except TooLittleIsKnown as missing:
        return without_answer(task, str(missing))
    return _solve(problem)


def _solve(problem: Problem) -> Finding:
    task = problem.task
    if task.kind == "quick":
        return _answered(problem, task.deadline_s, task.first_seed)
    examination, correction = None, task.correction
    if task.settled:
        examination, belief = examine(problem, _EXAMINING_SHARE * task.deadline_s)
        if examination.explained and task.policy.target_packets is not None and not task.met:
            measured, seconds = mean_and_seconds(task.settled)
            correction = correction.learned(
                measured,
                seconds,
                examination.noise,
                examination.predicted_mean,
                scatter(task.settled),
            )
        problem.task = task = replace(task, belief=belief, correction=correction)
        if not examination.explained:
            nothing = without_answer(task, examination.describe())
            return replace(nothing, explanation=examination)
    finding = _answered(
        problem,
        (1.0 - _EXAMINING_SHARE) * task.deadline_s,
        task.first_seed + _SEEDS_TO_EXAMINE,
    )
    return replace(finding, explanation=examination)


def _answered(problem: Problem, deadline_s: float, first_seed: int) -> Finding:
    """The best setting for the traffic, found within a deadline."""
    try:
        answer, packets_per_s = _search(problem, deadline_s, first_seed)
    except (TooLittleIsKnown, NotMeasuredError) as missing:
        return without_answer(problem.task, str(missing))
    return replace(without_answer(problem.task, ""), answer=answer, packets_per_s=packets_per_s)


def _search(problem: Problem, deadline_s: float, first_seed: int) -> tuple[Answer, float | None]:
    """The answer, and how many packets this machine simulates per second.

    Raises:
        TooLittleIsKnown: the search did not get far enough.
        NotMeasuredError: the model lacks what the goal is about.
    """
    task, policy, names = problem.task, problem.task.policy, problem.names
    seeds = Seeds.counted(
        first_seed,
        search=_SEARCH_SEEDS[task.kind],
        re_evaluation=task.re_evaluations,
        comparison=task.comparisons,
    )
    models = _Models(problem, seeds, deadline_s)
    internal = None if policy.target_packets is None else task.correction.internal_target
    target = problem.scale_packets(problem.links[0]) if internal is None else internal
    cases = [models.case(possibility, target) for possibility in models.possible]
    law = task.laws[0] if task.laws and task.laws[0].adapts else None
    if law is not None and task.kind == "quick":
        answer = _law_answer(models, cases, law, internal, None)
        # A law that would do harm is no answer, and waiting for the next search would do some too.
        answers = answer.verdict.apply or law.stands(task.in_force)
        if answers and not _breaks(policy.absolute_bounds, answer.candidate):
            return answer, None
    known = searched_values(policy.parameters, task.static)
    starts = [
        {name: (known | dict(start))[name] for name in names}
        for start in task.starts
        if known.keys() | start.keys() >= set(names)
    ]
    found = best_of(
        cases,
        links=problem.links,
        space=models.space(cases[0].model),
        incumbent={policy.path(name): cases[0].model.get(policy.path(name)) for name in names},
        starts=[
            models.small(each)
            for each in (*starts, *_static_rules(task, names), *problem.guesses(target))
        ],
        seeds=seeds,
        search_seed=first_seed,
        evaluations=task.evaluations,
        deadline_s=_TIME_FOR_THE_SEARCH * deadline_s,
        workers=models.workers,
        name_of=problem.name_of,
        **({"search": chosen_search(AUTOMATIC, len(names), "hurry")} if policy.links else {}),
    )
    # What was not searched stays what it is.
    kept = {name: value for name, value in known.items() if name not in names}
    setting = {**kept, **held_setting(task.held, models.large(found.setting))}
    candidate = replace(found.candidate.prediction, setting=setting)
    incumbent, noise = found.incumbent, models.noise(cases, {})
    incumbent = replace(incumbent, prediction=replace(incumbent.prediction, setting=known))
    goal = cases[0].goal
    stands = dict(task.static) != dict(task.in_force)
    if stands:
        off = {name: False for name in (ADAPTIVE,) if task.static.get(ADAPTIVE) is False}
        setting = {**setting, **off}
        incumbent, noise = models.finalist(cases, task.in_force, found.candidate.pieces[0].seeds)
    in_force = incumbent.prediction.value.mean
    answer = _answer(
        models,
        cases,
        incumbent,
        internal_target=internal,
        setting=setting,
        candidate=candidate,
        verdict=_judged(
            cases,
            replace(found.candidate, prediction=candidate),
            incumbent,
            models.push_charge(cases, found.setting, candidate, in_force),
            spares=not (task.met or policy.links),
            beyond_aims=() if stands else verdicts_on(cases, incumbent, incumbent, aims=True),
        ),
        candidate_noise=models.noise(cases, found.setting),
        incumbent_noise=noise,
        evaluations=found.evaluations,
    )
    harms = {bound.text for case in cases for bound in case.constraints if bound.of_harm}
    mends = answer.verdict.apply and answer.verdict.advantage.mean <= 0.0
    if mends and answer.verdict.details.get("bound") in harms:
        answer = _at_a_price(answer, goal, models.first_value(cases))
    if stands and answer.verdict.apply and not _beats_law(answer, goal):
        few = f"the law stays: less than {_LEAST_OVER_LAW:.0%} would be gained over it"
        unchanged = replace(answer.verdict, apply=False, reason=f"{few}; {answer.verdict.reason}")
        answer = replace(answer, verdict=unchanged)
    if law is not None and not law.stands(task.in_force):
        told = _law_answer(models, cases, law, internal, found)
        if told.verdict.apply:
            answer = told
    # What answers must repeat on depends on nothing of the machine.
    return answer, None if task.evaluations is not None else found.packets_per_s


def _at_a_price(answer: Answer, goal: Objective, first: float) -> Answer:
    """An answer that mends harm, unless the goal is farther away than if nothing had been done.

    Args:
        answer: to be put in force, because what stands breaks a bound of harm.
        goal: what is pursued.
        first: what the first setting would have reached, had it stayed.
    """
    found = answer.candidate.value.mean
    if (found >= first) if goal.maximised else (found <= first):
        return answer
    dear = f"what mends harm here is worse than the first setting was, {found:.4g} and {first:.4g}"
    refused = replace(answer.verdict, apply=False, reason=f"{dear}; {answer.verdict.reason}")
    return replace(answer, verdict=refused)


def _beats_law(answer: Answer, goal: Objective) -> bool:
    """Check whether a setting gains enough over the law, which also answers what comes next."""
    advantage, law = answer.verdict.advantage.mean, answer.incumbent.value.mean
    mends = advantage <= 0.0  # a bound that the law breaks
    return mends or goal.maximised or advantage >= _LEAST_OVER_LAW * abs(law)


def _breaks(bounds: Sequence[Constraint], prediction: Prediction) -> bool:
    """Check whether a setting surely breaks a bound in the models: no law is told of those."""
    for bound in bounds:
        found = prediction.metric(str(bound.path))
        if found is None or found.low is None or found.high is None:
            continue
        if found.high < bound.bound if bound.at_least else found.low > bound.bound:
            return True
    return False


def _static_rules(task: Task, names: Sequence[str]) -> list[dict[str, float]]:
    """Rules of thumb that are points of the search."""
    known = searched_values(names, task.static)
    rules = [searched_values(names, {**known, **law.setting}) for law in task.laws]
    return [
        rule
        for law, rule in zip(task.laws, rules, strict=True)
        if law.setting.keys() <= set(names) and rule.keys() >= set(names)
    ]


def _law_answer(
    models: _Models,
    cases: Sequence[ModelCase],
    law: Law,
    internal: float | None,
    found: FoundSetting | None,
) -> Answer:
    """The answer that the law is: it has to be no worse than what was found, if anything was.

    The law is the default, so that what was found has to be proven better than it.
    """
    task = models.task
    seeds = models.seeds.comparison if found is None else found.candidate.pieces[0].seeds
    (stands, noise), (told, told_noise) = (
        models.finalist(cases, values, seeds)
        for values in (task.in_force, {**task.in_force, **law.setting})
    )
    path, in_force = task.policy.path, stands.prediction.value.mean
    setting = {path(name): value for name, value in law.setting.items()}
    charge = models.push_charge(cases, setting, told.prediction, in_force)
    judged = _judged(cases, told, stands, charge, spares=not task.met)
    if law.stands(task.in_force):
        words = f"{law.name} stays: in the model it breaks no bound that was asked for"
        judged = replace(judged, apply=False, reason=words)
    if judged.apply and found is not None:
        better = _judged(cases, found.candidate, told, NO_CHARGE, spares=True)
        judged = replace(judged, apply=not better.apply)
    return _answer(
        models,
        cases,
        stands,
        internal_target=internal,
        setting=dict(law.setting),
        candidate=told.prediction,
        verdict=judged,
        candidate_noise=told_noise,
        incumbent_noise=noise,
        evaluations=2,
        law=law.name,
    )


def _judged(
    cases: Sequence[ModelCase],
    mine: Compared,
    stands: Compared,
    charge: PushCharge,
    *,
    spares: bool,
    beyond_aims: Sequence[ConstraintVerdict] = (),
) -> ChangeVerdict:
    """The comparison of a setting with another one that stands.

    Args:
        cases: the models.
        mine: the setting.
        stands: the other one.
        charge: what it costs to put the first in force.
        spares: whether what stands may go on with what it would do in models that count for
            nothing: nobody has come yet, and a change costs something too.
        beyond_aims: on what stands by what the search aims at.
    """
    return judge(
        mine.prediction,
        stands.prediction,
        cases[0].goal,
        verdicts_on(cases, mine, stands),
        verdicts_on(cases, stands, stands, models="believed" if spares else "all"),
        charge,
        sum(case.share > 0.0 for case in cases),
        excused=verdicts_on(cases, stands, stands, models="others") if spares else (),
        beyond_aims=beyond_aims,
    )


def _answer(
    models: _Models,
    cases: Sequence[ModelCase],
    incumbent: Compared,
    **found: Any,  # noqa: ANN401 - the other fields of Answer, checked there
) -> Answer:
    """An answer with what the task and the models say of it."""
    stands = incumbent.prediction
    return Answer(
        picture=models.task.picture,
        incumbent=stands,
        models=sum(case.share > 0.0 for case in cases),
        alternatives=incumbent.by_model if models.differ_in_kind_alone else (),
        most_starved=most_starved(cases, stands),
        starved_over_s=models.horizon.measured_s,
        first_beside_in_force=first_beside_in_force(cases, stands),
        scale=models.scaling.share,
        **found,
    )


class _Models:
    """The models of a problem, all as small as they may be."""

    def __init__(self, problem: Problem, seeds: Seeds, deadline_s: float) -> None:
        self._problem, self.task, self.seeds = problem, problem.task, seeds
        self.possible = problem.possible()
        self.scaling = scaling = problem.scaling([each.kind for each in self.possible])
        self._box: Space | None = None  # in the network's numbers
        self.workers = SmallRuns(scaling) if scaling.is_smaller else None
        # The slowest flows of any decide, so that all are simulated for as long.
        slowest = max(
            (scaling.traffic(each.traffic) for each in self.possible),
            key=lambda traffic: traffic.longest_round_trip_s,
        )
        self.horizon = horizon_for(
            slowest,
            deadline_s / len(self.possible),
            self.task.packets_per_s,
            scaling.epoch_s(problem.traffic),
        )

    @property
    def differ_in_kind_alone(self) -> bool:
        """True for several likely models with the same traffic."""
        believed = [each.traffic for each in self.possible if each.share > 0.0]
        return len(believed) > 1 and all(each == believed[0] for each in believed)

    def case(self, possibility: Possibility, target: float) -> ModelCase:
        """A model of what the network may be, and what is wanted in it."""
        task, policy = self.task, self.task.policy
        model = self._model(possibility, task.static)
        goal = goal_of(policy, model, target)
        if goal.needs_incumbent:
            delays = needs_flow_delays(goal)
            goal = goal.relative_to(self._runs(model, self.seeds.search, flow_delays=delays))
        constraints = (
            *self._constraints(possibility, model, goal),
            *self._harm(possibility, model),
        )
        narrower = task.kind == "refined" or task.met
        margin = 1.0 if policy.links or not narrower else _MARGIN_SEARCHED
        return ModelCase(model, goal, constraints, possibility.share, margin)

    def space(self, model: Scenario) -> Space:
        """The box to search, in the model's own numbers."""
        task = self.task
        if not self.scaling.is_smaller:
            self._box = CountedFromBelow.from_scenario(model)
            return SettableSpace(self._box, self)
        whole = self._problem.build(
            Scaling(""), task.static, self._problem.traffic, self.possible[0].kind, self.horizon
        )
        self._box = CountedFromBelow.from_scenario(whole)
        ends: dict[str, tuple[float, float]] = {}
        for each in self._box.dimensions:
            lower = self._small_value(each.name, each.lower)
            upper = self._small_value(each.name, each.upper)
            # Probabilities that all mean "every packet" are one in the model.
            ends[each.name] = (min(lower, _ONE_END * upper), upper)
        return SettableSpace(CountedFromBelow.from_scenario(model, boxes=ends), self)

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest setting that the router can hold, in the smaller model, by path."""
        large = self.large(values)
        near = held_setting(self.task.held, large)
        found: dict[str, float] = {}
        for path, value in values.items():
            name = self._problem.name_of(path)
            # There and back again a number may miss itself by its last digit.
            same = near[name] == large[name]
            found[path] = value if same else self._small_value(path, near[name])
        return found

    def small(self, setting: Mapping[str, float]) -> dict[str, float]:
        """A setting of the network in the smaller model, by path."""
        path = self.task.policy.path
        return {path(name): self._small_value(name, value) for name, value in setting.items()}

    def large(self, setting: Mapping[str, float | None]) -> dict[str, float]:
        """A setting found in the smaller model for the network, by name."""
        ends = {} if self._box is None else {each.name: each for each in self._box.dimensions}
        found: dict[str, float] = {}
        for path, value in setting.items():
            if value is None:
                continue
            name = self._problem.name_of(path)
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
    ) -> PushCharge:
        """Charge for applying a setting that was found in the smaller model."""
        task, problem = self.task, self._problem
        price, changes = task.push_price, task.policy.changes_per_minute
        if pays_in_the_model(price, problem.disciplines):
            seeds = self.seeds.comparison[:PUSHES]
            return simulated_charge(price, cases, setting, candidate, seeds, self.workers, changes)
        return estimated_charge(
            price,
            problem.traffic,
            {**task.in_force, **candidate.setting},
            cases[0].goal,
            candidate,
            in_force,
            changes,
        )

    def finalist(
        self,
        cases: Sequence[ModelCase],
        parameters: Mapping[str, ParameterValue],
        seeds: Sequence[int],
    ) -> tuple[Compared, float]:
        """What a queue with these parameters does in each of the models, and its noise.

        Raises:
            NotMeasuredError: a model lacks what the goal is about.
        """
        models = [self._model(each, parameters) for each in self.possible]
        delays = any(
            needs_flow_delays(each) for case in cases for each in (case.goal, *case.constraints)
        )
        rows = [self._runs(model, seeds, flow_delays=delays) for model in models]
        pieces = [evaluated(case, row) for case, row in zip(cases, rows, strict=True)]
        for piece in pieces:
            if piece.not_measured is not None:
                raise piece.not_measured
        compared = compared_in(cases, {}, pieces, self._problem.links, self._problem.name_of)
        likely = [m for m, case in zip(models, cases, strict=True) if case.share > 0.0]
        return compared, self._noise(likely)

    def noise(self, cases: Sequence[ModelCase], setting: Mapping[str, float | None]) -> float:
        """Largest noise of a second's mean queue in any model, packets."""
        return self._noise([case.model.with_values(setting) for case in cases if case.share > 0.0])

    def _noise(self, models: Sequence[Scenario]) -> float:
        links, seeds = self._problem.links, self.seeds.comparison[:_NOISE_RUNS]
        interval_s = self.task.reading_interval_s
        most = max(queue_noise(model, links, seeds, interval_s) for model in models)
        return most / self.scaling.share

    def _small_value(self, path: str, value: float) -> float:
        """A parameter's value in the smaller model, by its name or path."""
        found = self.scaling.into(path.rpartition(".")[2], value)
        return value if found is None or isinstance(found, str) else float(found)

    def _constraints(
        self, possibility: Possibility, model: Scenario, goal: Objective
    ) -> list[Constraint]:
        """The constraints, where the model is believed."""
        if possibility.share == 0.0:
            return []
        links, stated = self._problem.links, self.task.policy.constraints
        if stated is not None:
            # Of a link that never queued nothing is modelled, and so nothing can be held to.
            policy = self.task.policy
            managed = policy.links or links
            left_out = tuple(f"links.{each}." for each in managed if each not in model.links)
            stated = tuple(each for each in stated if not each.strip().startswith(left_out))
        return [
            each
            for each in constraints_of(model, goal, stated, links=links)
            if each.path.room == "flows" or each.path.name in links
        ]

    def _harm(self, possibility: Possibility, model: Scenario) -> list[Constraint]:
        """Bounds of harm, against the setting in force when the controller began.

        Against the setting in force each of many small steps could cost as much again. If the first
        one had stayed, all flows would have come under it.
        """
        task = self.task
        bounds = [
            replace(bound, text=f"{bound.text} {possibility.words}".strip())
            for bound in task.policy.harm_bounds(model, self._problem.links)
            if applies_to(bound, possibility.kind, task.belief)
        ]
        if task.held.is_unchanged(task.original, task.in_force):
            return bounds
        results = self._first_runs(possibility, bounds)
        return [on_known(bound, results) for bound in bounds]

    def first_value(self, cases: Sequence[ModelCase]) -> float:
        """Value of the goal in the likely models if the first setting had stayed."""
        return math.fsum(
            case.share * fmean(map(case.goal.measure, self._first_runs(possibility, [case.goal])))
            for possibility, case in zip(self.possible, cases, strict=True)
            if case.share > 0.0
        )

    def _first_runs(
        self, possibility: Possibility, measured: Sequence[Objective | Constraint]
    ) -> list[Result]:
        """Simulations in which the first setting has stayed, for what is measured of them."""
        untouched = self._model(possibility, self.task.original, anew=True)
        delays = any(needs_flow_delays(each) for each in measured)
        return self._runs(untouched, self.seeds.comparison[:_HARM_RUNS], flow_delays=delays)

    def _model(
        self,
        possibility: Possibility,
        parameters: Mapping[str, ParameterValue],
        *,
        anew: bool = False,
    ) -> Scenario:
        return self._problem.build(
            self.scaling,
            parameters,
            possibility.traffic,
            possibility.kind,
            self.horizon,
            possibility.joining,
            anew=anew,
            transitions=possibility.share > 0.0,
        )

    def _runs(self, model: Scenario, seeds: Sequence[int], *, flow_delays: bool) -> list[Result]:
        """Simulations of a model, in the network's numbers."""
        [row] = run_many([model], seeds, flow_delays=flow_delays)
        return [self.scaling.result(result) for result in row if result is not None]
