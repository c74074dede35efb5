"""Thinking: from what is seen to an answer, without touching the network or the loop's state.

Everything here may run while the network goes on. It works on copies and hands back what it
found; only the loop decides what becomes of it.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from vermilion.online.model.network import TooLittleIsKnown, Traffic
from vermilion.online.plan.first_guesses import first_guesses
from vermilion.online.plan.planner import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.plan.correction import OuterCorrection
    from vermilion.online.plan.memory import AnswerMemory
    from vermilion.online.plan.planner import Answer, Examination, Planner
    from vermilion.online.policy import Policy
    from vermilion.online.sense.picture import TrafficPicture
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue

REFINING_DEADLINES = 2.0
"""Deadlines a refined answer may take: nobody waits for it as for the first."""

_STARTS = 4  # earlier answers to try first
_EXAMINING_SHARE = 0.3  # of a refined answer's time
_REFINING_SEEDS = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """What a piece of work came to.

    Attributes:
        answer: the search's; ``None`` if there is none.
        obstacle: why there is none.
        examination: of the setting in force, where it was examined first.
        correction: what the examination taught about the model's bias.
    """

    answer: Answer | None
    obstacle: str = ""
    examination: Examination | None = None
    correction: OuterCorrection | None = None


class Deliberation:
    """Asks a planner for answers, and remembers those it got."""

    def __init__(self, planner: Planner, policy: Policy, memory: AnswerMemory) -> None:
        self._planner = planner
        self._policy = policy
        self._memory = memory

    def quick(
        self,
        picture: TrafficPicture,
        in_force: Mapping[str, ParameterValue],
        correction: OuterCorrection,
    ) -> Finding:
        """An answer within one deadline."""
        try:
            return Finding(
                self._plan(picture, in_force, correction, self._policy.deadline_s, search_seeds=1)
            )
        except TooLittleIsKnown as missing:
            return Finding(None, str(missing))

    def refined(
        self,
        picture: TrafficPicture,
        in_force: Mapping[str, ParameterValue],
        correction: OuterCorrection,
        settled: Sequence[Sample],
    ) -> Finding:
        """A better answer: the model is first fitted to what was seen.

        Args:
            picture: the traffic as observed.
            in_force: every discipline parameter now in force.
            correction: what is known of the model's bias; it is not changed.
            settled: samples of settled traffic under the setting in force; may be empty.
        """
        deadline_s = REFINING_DEADLINES * self._policy.deadline_s
        learned = deepcopy(correction)
        try:
            examination = self._planner.examine(
                picture, in_force, settled, _EXAMINING_SHARE * deadline_s
            )
            if settled:
                learned.learn(
                    *mean_and_seconds(settled), examination.noise, examination.predicted_mean
                )
            answer = self._plan(
                picture,
                in_force,
                learned,
                (1.0 - _EXAMINING_SHARE) * deadline_s,
                search_seeds=_REFINING_SEEDS,
            )
        except TooLittleIsKnown as missing:
            return Finding(None, str(missing))
        return Finding(answer, "", examination, learned)

    def _plan(
        self,
        picture: TrafficPicture,
        in_force: Mapping[str, ParameterValue],
        correction: OuterCorrection,
        deadline_s: float,
        *,
        search_seeds: int,
    ) -> Answer:
        policy = self._policy
        traffic = Traffic.of_picture(picture, policy.target_packets)
        target = correction.internal_target
        question = Question(
            picture=picture,
            in_force=in_force,
            internal_target=target,
            starts=(
                *self._memory.similar(picture, traffic.queueing_s, _STARTS),
                *first_guesses(policy.parameters, traffic, target),
            ),
            deadline_s=deadline_s,
            search_seeds=search_seeds,
        )
        return self._planner.plan(question)


def mean_and_seconds(samples: Sequence[Sample]) -> tuple[float, float]:
    """The mean backlog of some samples, and how long they lasted."""
    return (
        fmean(sample.backlog_packets for sample in samples),
        sum(sample.interval_s for sample in samples),
    )
