"""Budget of router changes.

Every change costs: a human reads about it, some routers flush their queue, and what was learned of
the setting before is of no more use. So changes are counted, and beyond the operator's budget the
next one waits. A setting that proved to be bad is taken back at any time.

Which of the operator's bounds are said to be broken: a value.

All that a controller knows and remembers: one value, from which everything it does follows.

:func:`vermilion.online.decide.step.step` makes the next one of it. Nothing here touches a router, a
clock or a file.

One step while it is being made: the controller so far, and what it asks for so far.

A turn lives no longer than its step. What goes in and what comes out are values; only the way
between them is written as one change after another, because it reads better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from vermilion.online.decide.detection import Fluctuation
from vermilion.online.decide.states import Ended, HandsOff, Searching, State, Waiting
from vermilion.online.entries import Decision, SettingInForce
from vermilion.online.events import Apply, Cancel, End, ReadBack, Record, Search
from vermilion.online.model.senders import SenderBelief
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic
from vermilion.online.plan.correction import Correction
from vermilion.online.plan.laws import as_first_set, laws_for, without_law
from vermilion.online.plan.problem import searched_values
from vermilion.online.plan.task import (
    COMPARISONS,
    FIRST_MODEL_SEED,
    RE_EVALUATIONS,
    REFINING_DEADLINES,
    SEEDS_PER_TASK,
    AnswerMemory,
    Task,
)
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S
from vermilion.online.sense.senses import Senses
from vermilion.routers.base import HeldValues, PushPrice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.online.decide.detection import ConditionWatch, StarvationWatch
    from vermilion.online.decide.states import Promise
    from vermilion.online.decide.verification import BrokenBound
    from vermilion.online.entries import DecisionKind, Entry
    from vermilion.online.events import Effect
    from vermilion.online.plan.laws import Law
    from vermilion.online.plan.task import TaskKind
    from vermilion.online.policy import Policy
    from vermilion.online.record.restart import Remembered
    from vermilion.online.sense.sampler import Sample
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
    conditions: ConditionWatch | None = None
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
        refusals: settings in a row that it has refused.
    """

    unanswered: tuple[Mapping[str, ParameterValue], ...] = ()
    restarted: frozenset[str] = frozenset()
    replaced: Mapping[str, ParameterValue] | None = None
    left_unjudged: bool = False
    reopening: Mapping[str, ParameterValue] = field(default_factory=dict)
    blackout_again_s: float = 0.0
    unheard_since_s: float | None = None
    refusals: int = 0


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
    senses: Senses = field(default_factory=Senses.begin)
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
        """
        begun = cls(
            policy=policy,
            configuration=configuration,
            push_price=push_price or PushPrice(),
            held=held or HeldValues(),
            work=Work(evaluations, re_evaluations, comparisons),
            learned=Learned(correction=Correction.begin(policy.target_packets or 1.0)),
            budget=ChangeBudget(policy.changes_per_minute),
            senses=Senses.begin(policy.links, policy.paths, configuration.discipline),
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


_LATELY_S = 10.0
_TURNOVER_S = 60.0
_STARTS = 4  # earlier answers to try first
_UNANSWERED_KEPT = 4  # changes that may be in force for all that is known


class Turn:
    """The making of one step.

    Attributes:
        controller: as it is so far.
        now_s: the time of the event.
        effects: asked for so far, in this order.
    """

    def __init__(self, controller: Controller, now_s: float) -> None:
        self.controller = controller
        self.now_s = now_s
        self.effects: list[Effect] = []

    # --- what changes -------------------------------------------------------------------------

    def change(self, **fields: Any) -> None:  # noqa: ANN401 - the fields of Controller, checked there
        """Change fields of the controller."""
        # A copy is the dearest thing that a look at a queue costs, and most change nothing.
        new = {
            name: value for name, value in fields.items() if value is not self.controller.get(name)
        }
        if new:
            self.controller = self.controller.changed(**new)

    def become(self, state: State) -> None:
        """Enter a state; a search that is left behind is cancelled."""
        left = self.controller.state
        if isinstance(left, Searching) and not (
            isinstance(state, Searching) and state.number == left.number
        ):
            self.effects.append(Cancel(left.number))
        self.change(state=state)

    def number(self) -> int:
        """A number for an effect that will be answered."""
        number = self.controller.work.next_number
        self.change(next_number=number + 1)
        return number

    # --- what is asked for --------------------------------------------------------------------

    def decide(self, kind: DecisionKind, reason: str, **details: object) -> None:
        """Say what is done, and why."""
        self.record(Decision(self.now_s, kind, reason, details))

    def record(self, entry: Entry) -> None:
        """Write something down."""
        self.effects.append(Record(entry))

    def read_back(self) -> None:
        """Ask for the parameters in force."""
        self.effects.append(ReadBack())

    def believe_in_force(self, parameters: Mapping[str, ParameterValue]) -> None:
        """The router has said what is in force."""
        self.change(in_force=dict(parameters), unanswered=())
        self.record(SettingInForce(self.now_s, dict(parameters)))

    def ask_router(
        self, parameters: Mapping[str, ParameterValue], *, takes_back: bool = False
    ) -> int:
        """Ask for a change; the number under which it will be answered."""
        number, unanswered = self.number(), self.controller.router.unanswered
        believed = dict(self.controller.in_force)
        self.change(unanswered=(*unanswered, dict(parameters))[-_UNANSWERED_KEPT:])
        self.effects.append(Apply(number, dict(parameters), believed, unanswered, takes_back))
        return number

    def ask_search(
        self, kind: TaskKind, picture: TrafficEstimate, settled: tuple[Sample, ...]
    ) -> int:
        """Ask for a search; the number under which it will be answered."""
        controller = self.controller
        number = self.number()
        first_seed = controller.work.next_seed
        self.change(next_seed=first_seed + SEEDS_PER_TASK[kind])
        similar = controller.learned.memory.similar(picture, self.queueing_s(picture), _STARTS)
        self.effects.append(
            Search(
                number,
                Task(
                    kind=kind,
                    configuration=controller.configuration,
                    policy=self.searched_policy,
                    picture=picture,
                    in_force=controller.in_force,
                    original=controller.way_back,
                    correction=controller.learned.correction,
                    settled=settled,
                    starts=(*(setting for _, setting in similar), *self._first_setting()),
                    belief=controller.learned.belief.aged(
                        self.now_s - controller.learned.calibrated_s
                    ),
                    first_seed=first_seed,
                    deadline_s=self.deadline_s(kind),
                    evaluations=controller.work.evaluations,
                    packets_per_s=controller.work.packets_per_s,
                    re_evaluations=controller.work.re_evaluations,
                    comparisons=controller.work.comparisons,
                    push_price=controller.push_price,
                    held=controller.held,
                    met=controller.traffic.fluctuation.met,
                    reading_interval_s=self._reading_interval_s(),
                    laws=self.laws(picture),
                    turnover=self._turnover(picture),
                ),
            )
        )
        return number

    @property
    def searched_policy(self) -> Policy:
        """The policy, without parameters that the queue moves by itself: nobody can hold those."""
        controller = self.controller
        static = controller.in_force
        if controller.budget.changes_s:  # else a law that stands is somebody else's
            static = without_law(controller.configuration, static, controller.original)
        policy, moving = controller.policy, controller.held.moving(static)
        if moving.isdisjoint(policy.parameters):
            return policy
        return replace(
            policy, parameters=tuple(name for name in policy.parameters if name not in moving)
        )

    def laws(self, picture: TrafficEstimate) -> tuple[Law, ...]:
        """Rules of thumb for these conditions; none where the network has refuted the law."""
        controller, traffic = self.controller, self.traffic(picture)
        policy, stands = controller.policy, controller.in_force
        refuted = controller.learned.law_refuted_s >= controller.traffic.conditions_since_s
        if traffic is None or refuted:
            return ()
        return laws_for(controller.configuration, stands, policy, traffic)

    def law(self, picture: TrafficEstimate) -> Law | None:
        """The queue's own law, told the goal; ``None`` where there is none.

        Where the goal has no number for it, the law as it was first set, if the line varies.
        """
        law = next((each for each in self.laws(picture) if each.adapts), None)
        if law is None and self.controller.traffic.fluctuation.is_of_the_line:
            return as_first_set(self.controller.configuration, self.controller.way_back)
        return law

    def law_stands(self, picture: TrafficEstimate) -> bool:
        """Return True if the queue's own law is in force."""
        law = self.law(picture)
        return law is not None and law.stands(self.controller.in_force)

    def _reading_interval_s(self) -> float:
        """Recent interval between readings of the queue's counters, s."""
        lately = self.controller.senses.since(self.now_s - _LATELY_S)
        if not lately:
            return SAMPLE_INTERVAL_S
        return max(SAMPLE_INTERVAL_S, median(sample.interval_s for sample in lately))

    def _turnover(self, picture: TrafficEstimate) -> tuple[float, float]:
        """Share of the flows that come and go in a second, as in the last minute."""
        senses = self.controller.senses
        history, flows = senses.since(self.now_s - _TURNOVER_S), max(picture.flows, 1)
        seconds = math.fsum(sample.interval_s for sample in history)
        came, went = senses.turnover()
        return (came / seconds / flows, went / seconds / flows) if seconds > 0.0 else (0.0, 0.0)

    def _first_setting(self) -> list[Mapping[str, float]]:
        """Setting before the first change, where it is no longer in force.

        It does no harm against itself, so that a search which finds nothing else that does none has
        at least the way back.
        """
        controller = self.controller
        policy, way_back = controller.policy, controller.way_back
        first = searched_values((*policy.parameters, *policy.switches), way_back)
        stands = controller.held.holds(first, controller.in_force)
        return [] if stands or not first.keys() >= set(policy.parameters) else [first]

    def deadline_s(self, kind: TaskKind) -> float:
        """Time allowed for a search of this kind, s."""
        deadlines = REFINING_DEADLINES if kind == "refined" else 1.0
        return deadlines * self.controller.policy.deadline_s

    def end(self) -> None:
        """Nothing follows."""
        self.become(Ended())
        self.effects.append(End())

    # --- what is known ------------------------------------------------------------------------

    @property
    def picture(self) -> TrafficEstimate:
        """The traffic after the last sample."""
        return self.controller.traffic.pictures[-1]

    def scale_packets(self, picture: TrafficEstimate) -> float:
        """The length of queue that the goal is about, packets."""
        rate, size = picture.rate_bit_per_s, picture.packet_bytes
        per_second = rate / (8.0 * size) if rate and size else 0.0
        return self.controller.policy.scale_packets(per_second)

    def queueing_s(self, picture: TrafficEstimate) -> float:
        """Queueing delay of the wanted queue, s."""
        rate, size = picture.rate_bit_per_s, picture.packet_bytes
        return 8.0 * size * self.scale_packets(picture) / rate if rate and size else 0.0

    def traffic(self, picture: TrafficEstimate) -> Traffic | None:
        """The traffic of a picture; ``None`` where too little is known."""
        try:
            return Traffic.of_picture(picture, self.controller.policy)
        except TooLittleIsKnown:
            return None
