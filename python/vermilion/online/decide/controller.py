"""Budget of router changes.

Every change costs: a human reads about it, some routers flush their queue, and what was learned of
the setting before is of no more use. So changes are counted, and beyond the operator's budget the
next one waits. A setting that proved to be bad is taken back at any time.

Which of the operator's bounds are said to be broken: a value.

All that a controller knows and remembers: one value, from which everything it does follows.

:func:`vermilion.online.decide.step.step` makes the next one of it. Nothing here touches a router, a
clock or a file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from vermilion.online.decide.detection import Fluctuation
from vermilion.online.decide.states import HandsOff, State, Waiting
from vermilion.online.model.senders import SenderBelief
from vermilion.online.plan.correction import Correction
from vermilion.online.plan.task import COMPARISONS, FIRST_MODEL_SEED, RE_EVALUATIONS, AnswerMemory
from vermilion.online.sense.senses import Senses
from vermilion.routers.base import HeldValues, PushPrice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.online.decide.detection import ConditionWatch, SetConditionWatch, StarvationWatch
    from vermilion.online.decide.states import Promise
    from vermilion.online.decide.verification import BrokenBound
    from vermilion.online.policy import Policy
    from vermilion.online.record.restart import Remembered
    from vermilion.online.sense.set_senses import SetSenses
    from vermilion.online.sense.traffic_estimate import TrafficEstimate
    from vermilion.routers.base import LinkConfiguration, ParameterValue


_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """The changes of the last minute.

    A value: every change makes the next one.

    Attributes:
        per_minute: how many are allowed.
        changes_s: when the last ones were made, ascending.
    """

    per_minute: int
    changes_s: tuple[float, ...] = ()

    def spent(self, now_s: float) -> ChangeBudget:
        """The budget after a change now."""
        return replace(self, changes_s=(*self._lately(now_s), now_s))

    def allows(self, now_s: float) -> bool:
        """Check whether one more change may be made now."""
        return len(self._lately(now_s)) < self.per_minute

    def allows_return(self, now_s: float) -> bool:
        """Check whether a change may be made now, and another one after it."""
        return len(self._lately(now_s)) + 1 < self.per_minute

    def next_s(self, now_s: float) -> float:
        """Earliest time of the next change."""
        lately = self._lately(now_s)
        if len(lately) < self.per_minute:
            return now_s
        return (
            lately[len(lately) - self.per_minute] + _MINUTE_S if self.per_minute else float("inf")
        )

    def _lately(self, now_s: float) -> tuple[float, ...]:
        return tuple(time_s for time_s in self.changes_s if time_s > now_s - _MINUTE_S)


@dataclass(frozen=True, slots=True)
class BoundsWatch:
    """Bounds that have been reported broken; a value.

    Attributes:
        since_s: from when on measurements count.
        looked_s: when the bounds were last looked at.
        said: the text of each bound said to be broken, and when it last was.
    """

    since_s: float = 0.0
    looked_s: float = 0.0
    said: tuple[tuple[str, float], ...] = ()

    def knows(self, bound: str) -> bool:
        """Check whether a bound has been reported broken."""
        return any(text == bound for text, _ in self.said)

    def with_broken(self, bounds: Iterable[str], now_s: float) -> BoundsWatch:
        """Return the watch after these bounds have been reported broken."""
        broken = dict.fromkeys(bounds, now_s)
        return replace(self, said=tuple({**dict(self.said), **broken}.items()))

    def without_old(self, time_s: float) -> BoundsWatch:
        """Without what has been kept since then."""
        return replace(self, said=tuple(each for each in self.said if each[1] >= time_s))


DRIFT_HOLD_S = (5.0, 60.0)
"""How long a drift without a cause is not answered again: at first, and at most."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Limit on answers to a drift without a known cause.

    Attributes:
        hold_s: how long the next one has to wait.
        allowed_s: from when on one is answered.
    """

    hold_s: float = DRIFT_HOLD_S[0]
    allowed_s: float = 0.0

    def answered(self, now_s: float) -> Drift:
        """After one was answered now: the next has to wait twice as long."""
        return Drift(min(2.0 * self.hold_s, DRIFT_HOLD_S[1]), now_s + self.hold_s)


@dataclass(frozen=True, slots=True)
class SeenTraffic:
    """Conditions of the model in use, and what became of them.

    Attributes:
        modelled: the conditions of the model in use.
        lately_modelled: those of the last models, oldest first.
        conditions: the watch that compares the traffic with them.
        conditions_since_s: since when the present conditions have lasted.
        pictures: the pictures of the last samples, oldest first.
        flows_changed_s: when the number of flows last changed noticeably.
        flows_counted: how many there were then.
        fluctuation: how often conditions have changed lately, and within which span.
        drift: how often a drift without a cause may be answered.
    """

    modelled: TrafficEstimate | None = None
    lately_modelled: tuple[TrafficEstimate, ...] = ()
    conditions: ConditionWatch | SetConditionWatch | None = None
    conditions_since_s: float = 0.0
    pictures: tuple[TrafficEstimate, ...] = ()
    flows_changed_s: float = 0.0
    flows_counted: int = 0
    fluctuation: Fluctuation = field(default_factory=Fluctuation)
    drift: Drift = field(default_factory=Drift)


@dataclass(frozen=True, slots=True)
class Learned:
    """Knowledge that comparisons of models with the network have brought.

    Attributes:
        belief: what is believed of the senders.
        correction: what is known of the model's bias.
        memory: earlier answers, where searches begin.
        calibrated_s: when the belief was last revised.
        sought_young_s: when an answer was last sought while flows were young, though no quick one.
        senders: the kind last named in the log, "likely" before it where it was not told apart.
        refuted_s: when the senders believed in last did not explain what was seen, unless others
            have been looked for since.
        fruitless: searches in a row that no model explained, in these conditions.
        promise: what the last quick answer was to deliver.
        law_refuted_s: when the network last did worse under the queue's own law.
    """

    belief: SenderBelief = field(default_factory=SenderBelief)
    correction: Correction = field(default_factory=lambda: Correction.begin(1.0))
    memory: AnswerMemory = field(default_factory=AnswerMemory)
    calibrated_s: float = -1.0
    sought_young_s: float = -1.0
    senders: str = ""
    refuted_s: float = -math.inf
    fruitless: int = 0
    promise: Promise | None = None
    law_refuted_s: float = -math.inf


@dataclass(frozen=True, slots=True)
class Alarms:
    """Breaches that are counted, and those that have been said.

    Attributes:
        starvation: what is counted of starved flows under the setting in force; ``None`` where that
            is the operator's own, or no model has said how many may starve.
        broken: the bound that was last answered with a search.
        bounds_watch: which bounds are said to be broken.
        behind: whether packets are said to wait behind this queue.
        newcomers_starve: looks in a row at which newcomers have starved.
    """

    starvation: StarvationWatch | None = None
    broken: BrokenBound | None = None
    bounds_watch: BoundsWatch = field(default_factory=BoundsWatch)
    behind: bool = False
    newcomers_starve: int = 0


@dataclass(frozen=True, slots=True)
class RouterBook:
    """Settings of the router besides the one in force, and its silences.

    Attributes:
        unanswered: changes that the router was told and that it has not answered: any of them may
            be in force, whole or in part.
        restarted: queues whose counters have fallen since the setting was last compared: each by
            its link, the only one by "".
        replaced: every parameter before the last change, which a person may want back; ``None``
            where there was none, or it has been taken back.
        left_unjudged: whether an earlier run was killed before it had judged its last change.
        reopening: what of the first setting had to be changed so that queues let packets through.
        blackout_again_s: from when on a queue that drops everything is given a setting (again).
        unheard_since_s: since when the router has not answered; ``None`` while it does.
    """

    unanswered: tuple[Mapping[str, ParameterValue], ...] = ()
    restarted: frozenset[str] = frozenset()
    replaced: Mapping[str, ParameterValue] | None = None
    left_unjudged: bool = False
    reopening: Mapping[str, ParameterValue] = field(default_factory=dict)
    blackout_again_s: float = 0.0
    unheard_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """Limits of searches, and numbers given so far.

    Attributes:
        evaluations: settings that each search tries, where runs must repeat exactly.
        re_evaluations: further seeds that the best few of a search may meet.
        comparisons: fresh seeds on which a search's best meets the setting in force.
        packets_per_s: what this machine simulates per second, as searches have found.
        samples: how many were taken.
        next_number: of the next effect that is answered.
        next_seed: of the next search.
    """

    evaluations: int | None = None
    re_evaluations: int = RE_EVALUATIONS
    comparisons: int = COMPARISONS
    packets_per_s: float | None = None
    samples: int = 0
    next_number: int = 1
    next_seed: int = FIRST_MODEL_SEED


@dataclass(frozen=True, slots=True)
class Controller:
    """The whole state of a controller.

    Attributes:
        policy: what the operator wants.
        configuration: what the operator configured of the link.
        push_price: what a change costs the traffic, as the router declares.
        held: what the router makes of the values that it is told, likewise.
        state: what it is doing.
        senses: what has been seen lately.
        in_force: every discipline parameter, as last read back.
        original: every parameter before the first change; what somebody else has set since, before
            they gave the queue back, takes the place of what stood there.
        proven: the last setting, complete, that was found to do no harm on the network.
        budget: how often the router may be changed.
        paused_by_person: whether a person has asked that nothing be changed.
        traffic: the conditions of the model in use, and what became of them.
        learned: what comparisons with the network have brought.
        alarms: breaches counted and said.
        router: other settings of the router, and its silences.
        work: limits of searches, and numbers given.
    """

    policy: Policy
    configuration: LinkConfiguration
    push_price: PushPrice = field(default_factory=PushPrice)
    held: HeldValues = field(default_factory=HeldValues)
    state: State = field(default_factory=lambda: Waiting(0.0, 0.0, "the controller has started"))
    senses: Senses | SetSenses = field(default_factory=Senses.begin)
    in_force: Mapping[str, ParameterValue] = field(default_factory=dict)
    original: Mapping[str, ParameterValue] = field(default_factory=dict)
    proven: Mapping[str, ParameterValue] = field(default_factory=dict)
    budget: ChangeBudget = field(default_factory=lambda: ChangeBudget(0))
    paused_by_person: bool = False
    traffic: SeenTraffic = field(default_factory=SeenTraffic)
    learned: Learned = field(default_factory=Learned)
    alarms: Alarms = field(default_factory=Alarms)
    router: RouterBook = field(default_factory=RouterBook)
    work: Work = field(default_factory=Work)

    def changed(self, **fields: Any) -> Controller:  # noqa: ANN401 - checked by the classes of them
        """The controller with other fields, its own or those of its groups."""
        own: dict[str, Any] = {}
        for name, value in fields.items():
            group = _GROUP_OF.get(name)
            if group is None:
                own[name] = value
            else:
                own[group] = replace(own.get(group, getattr(self, group)), **{name: value})
        return replace(self, **own) if own else self

    def get(self, name: str) -> object:
        """A field by its name, its own or one of its groups."""
        group = _GROUP_OF.get(name)
        return getattr(self if group is None else getattr(self, group), name)

    @property
    def way_back(self) -> Mapping[str, ParameterValue]:
        """Setting to fall back to where no other is known to be harmless.

        That is what stood before the first change, but for what shut a queue.
        """
        return {**self.original, **self.router.reopening}

    @classmethod
    def of(
        cls,
        policy: Policy,
        configuration: LinkConfiguration,
        *,
        push_price: PushPrice | None = None,
        held: HeldValues | None = None,
        evaluations: int | None = None,
        re_evaluations: int = RE_EVALUATIONS,
        comparisons: int = COMPARISONS,
        remembered: Remembered | None = None,
        senses: Senses | SetSenses | None = None,
    ) -> Controller:
        """A controller that has seen nothing yet.

        Args:
            policy: what the operator wants.
            configuration: what the operator configured of the link.
            push_price: what a change costs the traffic, as the router declares.
            held: what the router makes of the values that it is told, likewise.
            evaluations: settings that each search tries, so that runs repeat exactly; ``None``
                tries as many as the deadline allows.
            re_evaluations: further seeds that the best few of a search may meet.
            comparisons: fresh seeds on which a search's best meets the setting in force.
            remembered: what a run has left that was not ended in order, and is to be gone on with.
            senses: that have seen nothing yet; by default those of one queue.
        """
        begun = cls(
            policy=policy,
            configuration=configuration,
            push_price=push_price or PushPrice(),
            held=held or HeldValues(),
            work=Work(evaluations, re_evaluations, comparisons),
            learned=Learned(correction=Correction.begin(policy.target_packets or 1.0)),
            budget=ChangeBudget(policy.changes_per_minute),
            senses=senses or Senses.begin(discipline=configuration.discipline),
        )
        if remembered is None:
            return begun
        if remembered.hands_off:
            left_alone = HandsOff(0.0, remembered.hands_off, remembered.hands_off_changed)
            begun = replace(begun, state=left_alone)
        return begun.changed(
            in_force=remembered.in_force,
            original=remembered.original,
            proven=remembered.proven,
            left_unjudged=remembered.is_unjudged,
            unanswered=remembered.unanswered,
            paused_by_person=remembered.paused_by_person,
        )


_GROUP_OF: Final = {
    each.name: group
    for group, kind in (
        ("traffic", SeenTraffic),
        ("learned", Learned),
        ("alarms", Alarms),
        ("router", RouterBook),
        ("work", Work),
    )
    for each in fields(kind)
}
"""The group of each field that belongs to one."""
