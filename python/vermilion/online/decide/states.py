"""The states of the control loop, and what each has to remember."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from vermilion.online.decide.detection import QueueWatch
    from vermilion.online.decide.verification import Expectation, Measurement
    from vermilion.online.drive.pacing import Pending
    from vermilion.online.model.network import Traffic
    from vermilion.online.plan.deliberation import Finding
    from vermilion.routers.base import ParameterValue

_SETTLING_ROUND_TRIPS = 10.0
_SETTLING_S = (1.0, 4.0)
_VERIFYING_ROUND_TRIPS = 60.0
_VERIFYING_S = (4.0, 8.0)
_OBSERVING_ROUND_TRIPS = 20.0
_OBSERVING_S = (2.0, 4.0)


@dataclass(slots=True)
class Waiting:
    """For a steady picture.

    Attributes:
        begun_s: since when.
        known_s: since when enough has been known to make a model.
        why: what happened.
        told: the last obstacle reported.
    """

    begun_s: float
    known_s: float
    why: str
    told: str = ""


@dataclass(slots=True)
class Searching:
    """For the answer in ``pending``.

    Attributes:
        pending: the work.
        why: what it is for.
        refining: whether an answer for these conditions is in force already.
        unverified: the applied setting that is not verified yet, if any.
        stale: why the answer no longer fits, if so.
    """

    pending: Pending[Finding]
    why: str
    refining: bool = False
    unverified: Verifying | None = None
    stale: str = ""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When what is due after a setting has come into force.

    Attributes:
        begun_s: when it came into force.
        half_settled_s: from when on observations tell what senders do.
        observed_s: when there are enough of them.
        settled_s: from when on measurements count.
        verified_s: when there are enough of them.
    """

    begun_s: float
    half_settled_s: float
    observed_s: float
    settled_s: float
    verified_s: float

    @classmethod
    def after(cls, now_s: float, traffic: Traffic) -> Schedule:
        """The schedule for a setting that comes into force now: slower for longer round trips."""
        trip_s = traffic.longest_round_trip_s
        settling_s = _between(_SETTLING_ROUND_TRIPS * trip_s, _SETTLING_S)
        half_settled_s = now_s + settling_s / 2.0
        settled_s = now_s + settling_s
        return cls(
            begun_s=now_s,
            half_settled_s=half_settled_s,
            observed_s=half_settled_s + _between(_OBSERVING_ROUND_TRIPS * trip_s, _OBSERVING_S),
            settled_s=settled_s,
            verified_s=settled_s + _between(_VERIFYING_ROUND_TRIPS * trip_s, _VERIFYING_S),
        )


@dataclass(slots=True)
class Verifying:
    """What an applied setting does.

    Attributes:
        expected: what the model says of it and of the one before.
        noise: how far a second's mean queue strays in the model, packets.
        previous: every parameter before it.
        before: what was measured under those, in the same conditions, if there was time.
        schedule: when what is due.
        learned_s: up to when the model's bias has been learned.
    """

    expected: Expectation
    noise: float
    previous: dict[str, ParameterValue]
    before: Measurement | None
    schedule: Schedule
    learned_s: float


@dataclass(slots=True)
class Observing:
    """What the network does under the quick answer, before it is refined.

    Attributes:
        schedule: when what is due.
        unverified: the applied setting, or ``None`` if the old one was kept.
    """

    schedule: Schedule
    unverified: Verifying | None


@dataclass(frozen=True, slots=True)
class Promise:
    """What the last quick answer was to deliver.

    Attributes:
        mean: the predicted mean queue, packets.
        noise: how far a second's mean strays from it in the model, packets.
        since_s: from when on it should.
    """

    mean: float
    noise: float
    since_s: float


@dataclass(slots=True)
class Watching:
    """That all stays well.

    Attributes:
        since_s: since when the present setting has been watched.
        predicted_mean: the model's mean queue under it, packets.
        noise: how far a second's mean strays from it in the model, packets.
        queue: the drift test; ``None`` where the model is known not to predict this setting.
        learned_s: up to when the model's bias has been learned.
    """

    since_s: float
    predicted_mean: float
    noise: float
    queue: QueueWatch | None
    learned_s: float


State: TypeAlias = Waiting | Searching | Observing | Verifying | Watching


def _between(value: float, ends: tuple[float, float]) -> float:
    return min(max(value, ends[0]), ends[1])
