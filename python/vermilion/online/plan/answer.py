"""What a search found, and how it compares with what is in force."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.judgement import ChangeVerdict
    from vermilion.online.plan.task_kind import TaskKind
    from vermilion.online.sense.picture import TrafficPicture
    from vermilion.routers.base import ParameterValue


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found, and how it compares.

    Attributes:
        kind: of the task.
        picture: the traffic that it is for.
        in_force: every discipline parameter that was in force.
        internal_target: where the model's queue was put, packets; ``None`` where the goal has no
            target.
        goal: what was pursued, in words.
        unit: of the goal's values.
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
        took_s: wall seconds of the search; not compared, for everything else repeats.
    """

    kind: TaskKind
    picture: TrafficPicture
    in_force: Mapping[str, ParameterValue]
    internal_target: float | None
    goal: str
    unit: str
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
    took_s: float = field(default=0.0, compare=False)
