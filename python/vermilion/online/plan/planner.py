"""The work that costs time: explain what is seen, search a model, compare with what is in force."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Protocol

from vermilion.objectives import constraints_of
from vermilion.objectives.harm import harm_bounds
from vermilion.online.model.calibration import (
    FEWEST_SAMPLES,
    SenderBelief,
    log_likelihoods,
    watch,
)
from vermilion.online.model.network import (
    Horizon,
    TooLittleIsKnown,
    Traffic,
    build_model,
    horizon_for,
)
from vermilion.online.model.prediction import Prediction, outcome_of, queue_noise
from vermilion.online.plan.goal import HeldQueue
from vermilion.online.plan.judgement import judge
from vermilion.search import Space
from vermilion.simulate import mean_interval, run_many
from vermilion.tuning.known_reference import on_known
from vermilion.tuning.model_search import search_best
from vermilion.tuning.seeds import Seeds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Constraint
    from vermilion.online.model.calibration import SenderModel
    from vermilion.online.plan.judgement import Verdict
    from vermilion.online.policy import Policy
    from vermilion.online.sense.picture import TrafficPicture
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import LinkConfiguration, ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.model_search import SearchOutcome

FIRST_MODEL_SEED = 1 << 32
"""Models use seeds from here on; a simulated network's hidden seed is a small number."""

RE_EVALUATIONS = 4
"""Further seeds that the best few settings of a search may meet, unless told otherwise."""
COMPARISONS = 12
"""Fresh seeds on which the best meets the setting in force, unless told otherwise."""

_SEEDS_PER_QUESTION = 100
_NOISE_RUNS = 3
_HARM_RUNS = 6
_MOST_EVALUATIONS = 2000
_TIME_FOR_THE_SEARCH = 0.85  # of the deadline; the rest is for building models and noise
# Good from the first few dozen settings on: docs/search-benchmark.md.
_SEARCH = "recursive-random-search"
_STOP_SIDE = 0.05  # where a local search ends: a twentieth of each parameter's range
_CALIBRATION_S = 20.0  # of simulated observation per kind of sender
_CALIBRATION_SHARE = 0.5  # of the deadline that the kinds of senders may take together


@dataclass(frozen=True, slots=True)
class Question:
    """What the controller wants to know.

    Attributes:
        picture: the traffic as observed.
        in_force: every discipline parameter now in force.
        internal_target: where to put the model's queue, packets.
        starts: settings to try first: good ones for similar conditions.
        deadline_s: how long finding the answer may take.
        search_seeds: runs per setting that the search tries; more are slower and surer.
    """

    picture: TrafficPicture
    in_force: Mapping[str, ParameterValue]
    internal_target: float
    starts: tuple[Mapping[str, float], ...]
    deadline_s: float
    search_seeds: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What the search found, and how it compares.

    Attributes:
        question: what was asked.
        goal: what was minimised.
        candidate: the best setting found, on fresh seeds.
        incumbent: the setting in force, on the same seeds.
        verdict: whether the candidate is worth applying.
        candidate_noise: how far a second's mean queue strays under the candidate, packets.
        incumbent_noise: the same under the setting in force.
        evaluations: how many settings the search tried.
    """

    question: Question
    goal: HeldQueue
    candidate: Prediction
    incumbent: Prediction
    verdict: Verdict
    candidate_noise: float
    incumbent_noise: float
    evaluations: int


@dataclass(frozen=True, slots=True)
class Examination:
    """How well the model explains the setting in force.

    Attributes:
        senders: the kind of senders that explains most, in words.
        predicted_mean: mean queue of the model under the setting in force, packets.
        noise: how far a second's mean strays from it in the model, packets.
    """

    senders: str
    predicted_mean: float
    noise: float


class Planner(Protocol):
    """Whatever answers a question; tests have a quick one."""

    def examine(
        self,
        picture: TrafficPicture,
        in_force: Mapping[str, ParameterValue],
        observed: Sequence[Sample],
        deadline_s: float,
    ) -> Examination:
        """Find out what explains settled observations under the setting in force.

        Raises:
            TooLittleIsKnown: no model can be made of the picture.
        """
        ...

    def plan(self, question: Question) -> Answer:
        """Find the best setting for the question's traffic.

        Raises:
            TooLittleIsKnown: no model can be made of the picture, or none could be searched.
        """
        ...


class SearchPlanner:
    """Answers by simulating a model under hundreds of settings."""

    def __init__(
        self,
        configuration: LinkConfiguration,
        policy: Policy,
        *,
        evaluations: int | None = None,
        re_evaluations: int = RE_EVALUATIONS,
        comparisons: int = COMPARISONS,
    ) -> None:
        """Prepare for one link.

        Args:
            configuration: what the operator configured.
            policy: what the operator wants.
            evaluations: settings to try per question, whatever the time it takes, so that
                answers repeat exactly; ``None`` tries as many as the deadline allows.
            re_evaluations: further seeds that the best few settings may meet.
            comparisons: fresh seeds on which the best meets the setting in force, at least 3.
        """
        self._configuration = configuration
        self._policy = policy
        self._evaluations = evaluations
        self._re_evaluations = re_evaluations
        self._comparisons = comparisons
        self._belief = SenderBelief()
        self._first_seeds = count(FIRST_MODEL_SEED, _SEEDS_PER_QUESTION)
        self._original: dict[str, ParameterValue] = {}  # in force when the loop began
        self._packets_per_s: float | None = None  # simulated per wall second, all cores
        # The first use of scipy costs half a second, which no network should wait for.
        mean_interval((0.0, 1.0))

    def examine(
        self,
        picture: TrafficPicture,
        in_force: Mapping[str, ParameterValue],
        observed: Sequence[Sample],
        deadline_s: float,
    ) -> Examination:
        """Revise the belief about the senders, and say what the model now predicts."""
        traffic = Traffic.of_picture(picture, self._policy.target_packets)
        first_seed = next(self._first_seeds)
        horizon = horizon_for(traffic, deadline_s, self._speed)
        kinds = self._belief.plausible
        speed = self._speed or 1e7
        affordable_s = (
            _CALIBRATION_SHARE * deadline_s * speed / (len(kinds) * traffic.packets_per_s)
        )
        watched_s = min(_CALIBRATION_S, affordable_s - horizon.warm_up_s)
        if len(observed) >= FEWEST_SAMPLES and watched_s >= 2.0 * len(observed) * 0.1:
            until_s = horizon.warm_up_s + watched_s
            simulated = {
                kind: watch(
                    self._model(
                        in_force, traffic, kind, Horizon(horizon.warm_up_s, watched_s)
                    ).core_json(),
                    self._policy.link,
                    first_seed,
                    horizon.warm_up_s,
                    until_s,
                )
                for kind in kinds
            }
            self._belief.learn(log_likelihoods(observed, simulated, self._policy.target_packets))
        model = self._model(in_force, traffic, self._belief.best, horizon)
        seeds = range(first_seed + 1, first_seed + 1 + self._comparisons)
        [results] = run_many([model], seeds)
        outcomes = [outcome_of(result, self._policy.link) for result in results if result]
        return Examination(
            senders=f"{self._belief.best.in_words()} senders",
            predicted_mean=sum(outcome.mean for outcome in outcomes) / len(outcomes),
            noise=queue_noise(model, self._policy.link, seeds[:_NOISE_RUNS]),
        )

    def plan(self, question: Question) -> Answer:
        """Find the best setting for the question's traffic within its deadline."""
        policy = self._policy
        traffic = Traffic.of_picture(question.picture, policy.target_packets)
        horizon = horizon_for(traffic, question.deadline_s, self._speed)
        model = self._model(
            question.in_force, traffic, self._belief.best, horizon, question.internal_target
        )
        goal = HeldQueue(policy.link, question.internal_target)
        first_seed = next(self._first_seeds)
        seeds = Seeds.counted(
            first_seed,
            search=question.search_seeds,
            re_evaluation=self._re_evaluations,
            comparison=self._comparisons,
        )
        in_time = None
        if self._evaluations is None:
            in_time = _TIME_FOR_THE_SEARCH * question.deadline_s
        outcome = search_best(
            model,
            Space.from_scenario(model),
            goal,
            (
                *constraints_of(model, goal),
                *self._harm_bounds(model, question, traffic, horizon, seeds.comparison),
            ),
            incumbent={
                policy.path(name): model.get(policy.path(name)) for name in policy.parameters
            },
            seeds=seeds,
            budget=self._evaluations or _MOST_EVALUATIONS,
            deadline_s=in_time,
            warm_starts=[
                {policy.path(name): value for name, value in start.items()}
                for start in question.starts
            ],
            search=_SEARCH,
            search_seed=first_seed,
            search_settings={"stop_side": _STOP_SIDE},
        )
        if outcome.end == "interrupted":
            raise KeyboardInterrupt
        self._learn_speed(outcome)
        if outcome.best is None or len(outcome.best_results) < 2:  # noqa: PLR2004 - an interval
            message = f"the search did not get far enough: {outcome.reason}"
            raise TooLittleIsKnown(message)
        candidate = self._prediction(outcome.best, outcome.best_results)
        incumbent = self._prediction(outcome.incumbent, outcome.incumbent_results)
        noise_seeds = seeds.comparison[:_NOISE_RUNS]
        return Answer(
            question=question,
            goal=goal,
            candidate=candidate,
            incumbent=incumbent,
            verdict=judge(
                candidate,
                incumbent,
                goal,
                () if outcome.comparison is None else outcome.comparison.best_verdicts,
                () if outcome.comparison is None else outcome.comparison.incumbent_verdicts,
            ),
            candidate_noise=queue_noise(model.with_values(outcome.best), policy.link, noise_seeds),
            incumbent_noise=queue_noise(model, policy.link, noise_seeds),
            evaluations=outcome.evaluations,
        )

    def _harm_bounds(
        self,
        model: Scenario,
        question: Question,
        traffic: Traffic,
        horizon: Horizon,
        seeds: Sequence[int],
    ) -> list[Constraint]:
        """What a setting may cost, against the one that the loop met when it began.

        Against the setting in force each of many small steps could cost as much again.
        """
        self._original = self._original or dict(question.in_force)
        bounds = harm_bounds(model, [self._policy.link])
        if all(self._original[name] == value for name, value in question.in_force.items()):
            return list(bounds)
        untouched = self._model(self._original, traffic, self._belief.best, horizon)
        [row] = run_many([untouched], seeds[:_HARM_RUNS])
        results = [result for result in row if result is not None]
        return [on_known(bound, results) for bound in bounds]

    @property
    def _speed(self) -> float | None:
        """What horizons may depend on: nothing of the machine, where answers must repeat."""
        return None if self._evaluations is not None else self._packets_per_s

    def _model(
        self,
        in_force: Mapping[str, ParameterValue],
        traffic: Traffic,
        kind: SenderModel,
        horizon: Horizon,
        internal_target: float | None = None,
    ) -> Scenario:
        return build_model(
            self._configuration,
            in_force,
            traffic,
            kind,
            self._policy,
            self._policy.target_packets if internal_target is None else internal_target,
            horizon,
        )

    def _prediction(
        self, setting: Mapping[str, float | None], results: Sequence[Result]
    ) -> Prediction:
        return Prediction(
            setting={
                path.rpartition(".")[2]: value
                for path, value in setting.items()
                if value is not None
            },
            outcomes=tuple(outcome_of(result, self._policy.link) for result in results),
        )

    def _learn_speed(self, outcome: SearchOutcome) -> None:
        """Remember how fast this machine simulates, for the next horizon."""
        packets = [result.data["packets_forwarded"] for result in outcome.incumbent_results]
        if packets and outcome.seconds > 0:
            mean_packets = sum(packets) / len(packets)
            self._packets_per_s = mean_packets * outcome.simulations / outcome.seconds
