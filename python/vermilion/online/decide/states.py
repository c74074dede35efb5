"""The states of the controller, and what each has to remember. All are values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.detection import QueueWatch
    from vermilion.online.decide.verification import Expectation
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.sense.stretch import Stretch
    from vermilion.online.sense.traffic_estimate import TrafficEstimate
    from vermilion.routers.base import ParameterValue

_SETTLING_ROUND_TRIPS = 10.0
_SETTLING_S = (1.0, 4.0)
_VERIFYING_ROUND_TRIPS = 60.0
_VERIFYING_S = (4.0, 8.0)
_OBSERVING_ROUND_TRIPS = 20.0
_OBSERVING_S = (2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Times of observation and verification after a setting comes into force.

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


@dataclass(frozen=True, slots=True)
class Waiting:
    """No steady traffic estimate is there yet.

    Attributes:
        begun_s: since when.
        known_s: since when enough has been known to make a model.
        why: what happened.
        told: the last obstacle reported.
        cause: the numbers of what happened, for the journal.
    """

    begun_s: float
    known_s: float
    why: str
    told: str = ""
    cause: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Searching:
    """A search runs; the network keeps the old setting.

    Attributes:
        number: of the search.
        begun_s: since when.
        why: what it is for.
        refining: whether an answer for these conditions is in force already.
        unverified: the applied setting that is not verified yet, if any.
        stale: why the answer no longer fits, if so.
        stale_cause: the numbers of that, for the journal.
    """

    number: int
    begun_s: float
    why: str
    refining: bool = False
    unverified: Verifying | None = None
    stale: str = ""
    stale_cause: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verifying:
    """An applied setting settles, then it is measured.

    Attributes:
        picture: the conditions it was found for.
        expected: what the model says of it and of the one before.
        noise: how far a second's mean queue strays in the model, packets.
        previous: every parameter before it.
        before: what was measured under those, in the same conditions, if there was time.
        schedule: when what is due.
        learned_s: up to when the model's bias has been learned.
        mends: whether it was put in force although the objective is worse under it, because the
            one before broke a bound in the model.
        replaces_law: whether the queue's own law stood before.
    """

    picture: TrafficEstimate
    expected: Expectation
    noise: float
    previous: Mapping[str, ParameterValue]
    before: Stretch | None
    schedule: Schedule
    learned_s: float
    mends: bool = False
    replaces_law: bool = False


@dataclass(frozen=True, slots=True)
class Observing:
    """The network runs under the quick answer, before it is refined.

    Attributes:
        schedule: when what is due.
        unverified: the applied setting, or ``None`` if the old one was kept.
    """

    schedule: Schedule
    unverified: Verifying | None


@dataclass(frozen=True, slots=True)
class Promise:
    """Prediction of the last quick answer.

    Attributes:
        mean: the predicted mean queue, packets.
        noise: how far a second's mean strays from it in the model, packets.
        since_s: from when on it should.
    """

    mean: float
    noise: float
    since_s: float


@dataclass(frozen=True, slots=True)
class RouterChange:
    """A change of the router, from the wish to the answer.

    Attributes:
        purpose: what it is for: a search's answer, the end of a blackout, taking a setting back, or
            the setting that stood before the first change.
        parameters: what to put in force.
        reason: why, in words and numbers.
        details: the numbers, for the journal.
        verifying: how it will be verified, where it will; its schedule begins with the change.
        refining: whether it is the refined answer.
        stale: why it no longer fits the conditions quite, if so.
        stale_cause: the numbers of that, for the journal.
        ask_again_s: after taking a setting back: when to search again; infinite for never.
    """

    purpose: Literal["answer", "end blackout", "roll back", "restore"]
    parameters: Mapping[str, ParameterValue]
    reason: str
    details: dict[str, object] = field(default_factory=dict)
    verifying: Verifying | None = None
    refining: bool = False
    stale: str = ""
    stale_cause: Mapping[str, object] = field(default_factory=dict)
    ask_again_s: float = float("inf")

    @property
    def is_free(self) -> bool:
        """True for a rollback or restore, which needs neither budget nor consent."""
        return self.purpose in {"roll back", "restore"}


@dataclass(frozen=True, slots=True)
class Proposing:
    """A person has been asked whether to make a change.

    Attributes:
        number: of the proposal.
        change: the change.
    """

    number: int
    change: RouterChange


@dataclass(frozen=True, slots=True)
class Applying:
    """The router has been told to change and has not answered yet.

    Attributes:
        number: of the effect.
        change: the change.
        since_s: when it was sent.
        before: every parameter in force when it was sent.
        lost: whether the answer is known to be lost: then the router is read instead.
        attempts: how often the same change was refused before.
    """

    number: int
    change: RouterChange
    since_s: float
    before: Mapping[str, ParameterValue]
    lost: bool = False
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Owed:
    """A change that the router refused and that has to be tried again.

    Attributes:
        change: the change.
        not_before_s: when.
        attempts: how often it was tried.
    """

    change: RouterChange
    not_before_s: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """A setting that stays although nobody has measured that it helps.

    Attributes:
        verifying: how it was verified.
        look_s: when to look at it again.
        looks: how often that was done.
    """

    verifying: Verifying
    look_s: float
    looks: int = 1


@dataclass(frozen=True, slots=True)
class Watching:
    """The network is compared with the model.

    Attributes:
        since_s: since when the present setting has been watched.
        predicted_mean: the model's mean queue under it, packets.
        noise: how far a second's mean strays from it in the model, packets.
        queue: the drift test; ``None`` where the model is known not to predict this setting.
        learned_s: up to when the model's bias has been learned.
        doubt: about the setting in force, where there is any.
        owed: a change that is still to be made.
        ask_again_s: when to search again whatever happens; infinite for never.
    """

    since_s: float
    predicted_mean: float
    noise: float
    queue: QueueWatch | None
    learned_s: float
    doubt: Doubt | None = None
    owed: Owed | None = None
    ask_again_s: float = float("inf")


@dataclass(frozen=True, slots=True)
class Paused:
    """The queue tells nothing now; nothing is judged or learned.

    Attributes:
        since_s: since when.
        resume: the state to go on with.
    """

    since_s: float
    resume: Verifying | Watching | Waiting


@dataclass(frozen=True, slots=True)
class Blind:
    """The router has been silent for too long.

    Attributes:
        since_s: since when it has not been heard.
        number: of the change to the setting for blind times; ``None`` if there was none to make.
    """

    since_s: float
    number: int | None


@dataclass(frozen=True, slots=True)
class HandsOff:
    """Nothing is touched until a person says so.

    Attributes:
        since_s: since when.
        why: what happened.
        changed: what somebody else has set, and to what, where that is known.
    """

    since_s: float
    why: str
    changed: Mapping[str, ParameterValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """The controller has ended."""


State: TypeAlias = (
    Waiting
    | Searching
    | Proposing
    | Applying
    | Observing
    | Verifying
    | Watching
    | Paused
    | Blind
    | HandsOff
    | Ended
)


def _between(value: float, ends: tuple[float, float]) -> float:
    return min(max(value, ends[0]), ends[1])
