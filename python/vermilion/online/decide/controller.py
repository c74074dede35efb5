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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

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
class Controller:
    """The whole state of a controller.

    Attributes:
        policy: what the operator wants.
        configuration: what the operator configured of the link.
        push_price: what a change costs the traffic, as the router declares.
        held: what the router makes of the values that it is told, likewise.
        evaluations: settings that each search tries, where runs must repeat exactly.
        re_evaluations: further seeds that the best few of a search may meet.
        comparisons: fresh seeds on which a search's best meets the setting in force.
        state: what it is doing.
        senses: what has been seen lately.
        in_force: every discipline parameter, as last read back.
        unanswered: changes that the router was told and that it has not answered: any of them may
            be in force, whole or in part.
        restarted: queues whose counters have fallen since the setting was last compared: each by
            its link, the only one by "".
        original: every parameter before the first change; what somebody else has set since, before
            they gave the queue back, takes the place of what stood there.
        replaced: every parameter before the last change, which a person may want back; ``None``
            where there was none, or it has been taken back.
        proven: the last setting, complete, that was found to do no harm on the network.
        left_unjudged: whether an earlier run was killed before it had judged its last change.
        belief: what is believed of the senders.
        correction: what is known of the model's bias.
        memory: earlier answers, where searches begin.
        budget: how often the router may be changed.
        modelled: the conditions of the model in use.
        lately_modelled: those of the last models, oldest first.
        conditions: the watch that compares the traffic with them.
        conditions_since_s: since when the present conditions have lasted.
        pictures: the pictures of the last samples, oldest first.
        flows_changed_s: when the number of flows last changed noticeably.
        flows_counted: how many there were then.
        calibrated_s: when the belief was last revised.
        sought_young_s: when an answer was last sought while flows were young, though no quick one.
        senders: the kind last named in the log, "likely" before it where it was not told apart.
        refuted_s: when the senders believed in last did not explain what was seen, unless others
            have been looked for since.
        promise: what the last quick answer was to deliver.
        fluctuation: how often conditions have changed lately, and within which span.
        behind: whether packets are said to wait behind this queue.
        newcomers_starve: looks in a row at which newcomers have starved.
        law_refuted_s: when the network last did worse under the queue's own law.
        starvation: what is counted of starved flows under the setting in force; ``None`` where that
            is the operator's own, or no model has said how many may starve.
        drift: how often a drift without a cause may be answered.
        broken: the bound that was last answered with a search.
        bounds_watch: which bounds are said to be broken.
        reopening: what of the first setting had to be changed so that queues let packets through.
        fruitless: searches in a row that no model explained, in these conditions.
        blackout_again_s: from when on a queue that drops everything is given a setting (again).
        unheard_since_s: since when the router has not answered; ``None`` while it does.
        samples: how many were taken.
        paused_by_person: whether a person has asked that nothing be changed.
        packets_per_s: what this machine simulates per second, as searches have found.
        next_number: of the next effect that is answered.
        next_seed: of the next search.
    """

    policy: Policy
    configuration: LinkConfiguration
    push_price: PushPrice = field(default_factory=PushPrice)
    held: HeldValues = field(default_factory=HeldValues)
    evaluations: int | None = None
    re_evaluations: int = RE_EVALUATIONS
    comparisons: int = COMPARISONS
    state: State = field(default_factory=lambda: Waiting(0.0, 0.0, "the controller has started"))
    senses: Senses | SetSenses = field(default_factory=Senses.begin)
    in_force: Mapping[str, ParameterValue] = field(default_factory=dict)
    unanswered: tuple[Mapping[str, ParameterValue], ...] = ()
    restarted: frozenset[str] = frozenset()
    original: Mapping[str, ParameterValue] = field(default_factory=dict)
    replaced: Mapping[str, ParameterValue] | None = None
    proven: Mapping[str, ParameterValue] = field(default_factory=dict)
    left_unjudged: bool = False
    belief: SenderBelief = field(default_factory=SenderBelief)
    correction: Correction = field(default_factory=lambda: Correction.begin(1.0))
    memory: AnswerMemory = field(default_factory=AnswerMemory)
    budget: ChangeBudget = field(default_factory=lambda: ChangeBudget(0))
    modelled: TrafficEstimate | None = None
    lately_modelled: tuple[TrafficEstimate, ...] = ()
    conditions: ConditionWatch | SetConditionWatch | None = None
    conditions_since_s: float = 0.0
    pictures: tuple[TrafficEstimate, ...] = ()
    flows_changed_s: float = 0.0
    flows_counted: int = 0
    calibrated_s: float = -1.0
    sought_young_s: float = -1.0
    senders: str = ""
    refuted_s: float = -math.inf
    promise: Promise | None = None
    fluctuation: Fluctuation = field(default_factory=Fluctuation)
    behind: bool = False
    newcomers_starve: int = 0
    law_refuted_s: float = -math.inf
    starvation: StarvationWatch | None = None
    drift: Drift = field(default_factory=Drift)
    broken: BrokenBound | None = None
    bounds_watch: BoundsWatch = field(default_factory=BoundsWatch)
    reopening: Mapping[str, ParameterValue] = field(default_factory=dict)
    fruitless: int = 0
    blackout_again_s: float = 0.0
    unheard_since_s: float | None = None
    samples: int = 0
    paused_by_person: bool = False
    packets_per_s: float | None = None
    next_number: int = 1
    next_seed: int = FIRST_MODEL_SEED

    @property
    def way_back(self) -> Mapping[str, ParameterValue]:
        """Setting to fall back to where no other is known to be harmless.

        That is what stood before the first change, but for what shut a queue.
        """
        return {**self.original, **self.reopening}

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
            evaluations=evaluations,
            re_evaluations=re_evaluations,
            comparisons=comparisons,
            correction=Correction.begin(policy.target_packets or 1.0),
            budget=ChangeBudget(policy.changes_per_minute),
            senses=senses or Senses.begin(discipline=configuration.discipline),
        )
        if remembered is None:
            return begun
        if remembered.hands_off:
            left_alone = HandsOff(0.0, remembered.hands_off, remembered.hands_off_changed)
            begun = replace(begun, state=left_alone)
        return replace(
            begun,
            in_force=remembered.in_force,
            original=remembered.original,
            proven=remembered.proven,
            left_unjudged=remembered.is_unjudged,
            unanswered=remembered.unanswered,
            paused_by_person=remembered.paused_by_person,
        )
