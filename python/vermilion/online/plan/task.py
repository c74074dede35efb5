"""Earlier answers of the controller, and how similar the traffic was to today's.

How answers are ranked is the tuner's (:mod:`vermilion.tuning.earlier_answers`); here is what
conditions are on line: a picture of the traffic.

How thorough an answer has to be.

What a search found, and how it compares with what is in force.

Thinking as a value: everything a search is told, and everything it comes back with.

A task holds all that its answer depends on, and a finding all that it teaches, so that the work
can be done anywhere (in this process, in another one, or tomorrow from the journal) and a task
done twice gives the same finding where it is told how many settings to try.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from vermilion.online.plan.laws import without_law
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S
from vermilion.online.sense.traffic_estimate import round_trip_distance
from vermilion.routers.base import HeldValues, PushPrice
from vermilion.tuning.earlier_answers import EarlierAnswer, nearest_answers, times_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.model.explanation import Explanation
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.model.senders import SenderBelief
    from vermilion.online.plan.correction import Correction
    from vermilion.online.plan.judgement import ChangeVerdict
    from vermilion.online.plan.laws import Law
    from vermilion.online.policy import Policy
    from vermilion.online.sense.sampler import Sample
    from vermilion.online.sense.traffic_estimate import TrafficEstimate
    from vermilion.routers.base import LinkConfiguration, ParameterValue


_MOST_ANSWERS = 64


@dataclass(frozen=True, slots=True)
class AnswerMemory:
    """Settings that were found for conditions, the oldest forgotten first.

    A value: what is kept makes the next one.

    Attributes:
        answers: the oldest first.
    """

    answers: tuple[EarlierAnswer[TrafficEstimate], ...] = ()

    def kept(self, conditions: TrafficEstimate, setting: Mapping[str, float]) -> AnswerMemory:
        """The memory with the answer for these conditions."""
        answers = (*self.answers, EarlierAnswer(conditions, dict(setting)))[-_MOST_ANSWERS:]
        return replace(self, answers=answers)

    def similar(
        self, conditions: TrafficEstimate, queueing_s: float, most: int
    ) -> tuple[tuple[float, Mapping[str, float]], ...]:
        """(distance, setting) for the most similar conditions, these first, all different."""
        nearest = nearest_answers(
            self.answers,
            lambda earlier: condition_distance(earlier, conditions, queueing_s),
            most,
        )
        return tuple((apart, answer.setting) for apart, answer in nearest)


def condition_distance(one: TrafficEstimate, other: TrafficEstimate, queueing_s: float) -> float:
    """Distance of two conditions: 0 for equal ones, ln 2 for twice the flows or rate.

    Of several queues the one that differs most counts.
    """
    if len(one.parts) > 1 and len(one.parts) == len(other.parts):
        return max(
            condition_distance(mine, theirs, queueing_s)
            for mine, theirs in zip(one.parts, other.parts, strict=True)
        )
    distance = round_trip_distance(one, other, queueing_s)
    distance += times_apart(max(one.flows, 1), max(other.flows, 1))
    if one.rate_bit_per_s and other.rate_bit_per_s:
        distance += times_apart(one.rate_bit_per_s, other.rate_bit_per_s)
    return distance


TaskKind = Literal["quick", "refined"]
"""A quick answer is for conditions that nothing is known of; a refined one follows what was seen
under a setting and is searched longer, with more seeds."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a search, and its comparison with the setting in force.

    Attributes:
        picture: the traffic that it is for.
        internal_target: where the model's queue was put, packets; ``None`` where the goal has no
            target.
        setting: the parameters found, in their tables' units.
        candidate: what the model says of it, on fresh seeds.
        incumbent: the same of the setting in force, on the same seeds.
        verdict: whether the candidate is worth applying.
        candidate_noise: how far a second's mean queue strays under the candidate, packets.
        incumbent_noise: the same under the setting in force.
        evaluations: how many settings the search tried.
        models: in how many models each of them was tried.
        alternatives: where these differ in the kind of senders alone, one of which is the right
            one: what each says of the setting in force, on the same seeds. Else none.
        most_starved: how many flows may starve without harm, by the setting that stood when the
            controller began; ``None`` for any number.
        starved_over_s: in stretches of this length, which is the models'.
        first_beside_in_force: what each metric with a bound of harm would be more under the
            setting that stood when the controller began than under the one in force, by its path;
            none while they are the same.
        scale: of the network's flows and rate the part that the models had.
        law: the name of the law that is told the goal; "" for a setting that was searched.
    """

    picture: TrafficEstimate
    internal_target: float | None
    setting: Mapping[str, float]
    candidate: Prediction
    incumbent: Prediction
    verdict: ChangeVerdict
    candidate_noise: float
    incumbent_noise: float
    evaluations: int
    models: int = 1
    alternatives: tuple[Prediction, ...] = ()
    most_starved: float | None = None
    starved_over_s: float = 0.0
    first_beside_in_force: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0
    law: str = ""


RE_EVALUATIONS = 4
"""Further seeds that the best few settings of a search may meet, unless told otherwise."""
COMPARISONS = 12
"""Fresh seeds on which the best meets the setting in force, unless told otherwise."""

FIRST_MODEL_SEED = 1 << 32
"""Models use seeds from here on; a simulated network's hidden seed is a small number."""

SEEDS_PER_TASK: dict[TaskKind, int] = {"quick": 100, "refined": 200}
"""Seeds that a task of each kind may use; the next task's begin after them."""

REFINING_DEADLINES = 2.0
"""Deadlines a refined answer may take: nobody waits for it as for the first."""


@dataclass(frozen=True, slots=True)
class Task:
    """Search task of the controller.

    Attributes:
        kind: how thorough the answer has to be.
        configuration: what the operator configured of the link.
        policy: what the operator wants.
        picture: the traffic as observed.
        in_force: every discipline parameter now in force.
        original: the same when the controller began, but for what shut a queue then; harm is
            measured against it.
        correction: what is known of the model's bias.
        settled: samples of settled traffic under the setting in force, oldest first; may be empty.
        starts: settings to try first: answers to similar conditions.
        belief: what is believed of the senders.
        first_seed: the first of the seeds that the models may use.
        deadline_s: how long finding the answer may take.
        evaluations: settings to try, whatever the time it takes, so that answers repeat exactly;
            ``None`` tries as many as the deadline allows.
        packets_per_s: what this machine has simulated per second lately; ``None`` for a guess.
        re_evaluations: further seeds that the best few settings may meet.
        comparisons: fresh seeds on which the best meets the setting in force, at least 3.
        push_price: what it costs the traffic to change a parameter.
        held: what the router makes of the values that it is told.
        met: conditions that come and go, for all of which one setting is sought; empty for one for
            the present ones.
        reading_interval_s: how far apart the network's counters are read.
        laws: rules of thumb for the queue, its own law first (:mod:`.laws`).
        turnover: shares of the flows that come and that go in a second: candidates meet as many.
    """

    kind: TaskKind
    configuration: LinkConfiguration
    policy: Policy
    picture: TrafficEstimate
    in_force: Mapping[str, ParameterValue]
    original: Mapping[str, ParameterValue]
    correction: Correction
    settled: tuple[Sample, ...]
    starts: tuple[Mapping[str, float], ...]
    belief: SenderBelief
    first_seed: int
    deadline_s: float
    evaluations: int | None
    packets_per_s: float | None
    re_evaluations: int = RE_EVALUATIONS
    comparisons: int = COMPARISONS
    push_price: PushPrice = field(default_factory=PushPrice)
    held: HeldValues = field(default_factory=HeldValues)
    met: tuple[TrafficEstimate, ...] = ()
    reading_interval_s: float = SAMPLE_INTERVAL_S
    laws: tuple[Law, ...] = ()
    turnover: tuple[float, float] = (0.0, 0.0)

    @property
    def static(self) -> Mapping[str, ParameterValue]:
        """The parameters in force with the law off that this controller switched on."""
        return without_law(self.configuration, self.in_force, self.original)


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a task.

    Attributes:
        answer: the search's; ``None`` if there is none.
        obstacle: why there is none, in words.
        explanation: how well the model explains what was seen under the setting in force;
            ``None`` where nothing settled had been seen.
        correction: what is now known of the model's bias.
        belief: what is now believed of the senders.
        packets_per_s: what this machine simulates per second; ``None`` where nothing was learned.
    """

    answer: Answer | None
    obstacle: str
    explanation: Explanation | None
    correction: Correction
    belief: SenderBelief
    packets_per_s: float | None


def without_answer(task: Task, obstacle: str) -> Finding:
    """A finding that has no answer, and has taught nothing.

    Args:
        task: what was asked.
        obstacle: why there is none, in words.
    """
    return Finding(None, obstacle, None, task.correction, task.belief, None)
