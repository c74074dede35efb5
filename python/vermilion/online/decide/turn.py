"""One step while it is being made: the controller so far, and what it asks for so far.

A turn lives no longer than its step. What goes in and what comes out are values; only the way
between them is written as one change after another, because it reads better.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from vermilion.online.decide.states import Ended
from vermilion.online.entries import Decision, SettingInForce
from vermilion.online.events import Apply, Cancel, End, Propose, ReadBack, Record, Search
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic
from vermilion.online.plan.laws import as_first_set, laws_for, without_law
from vermilion.online.plan.settings import searched_values
from vermilion.online.plan.task import REFINING_DEADLINES, SEEDS_PER_TASK, Task
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S
from vermilion.online.sense.set_senses import SetSenses
from vermilion.online.sense.stretch import Stretch, batches_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.controller import Controller
    from vermilion.online.decide.states import State
    from vermilion.online.entries import DecisionKind, Entry
    from vermilion.online.events import Effect
    from vermilion.online.plan.laws import Law
    from vermilion.online.plan.task import TaskKind
    from vermilion.online.policy import Policy
    from vermilion.online.sense.sampler import Sample
    from vermilion.online.sense.traffic_estimate import TrafficEstimate
    from vermilion.routers.base import ParameterValue

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
        from vermilion.online.decide.states import Searching

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

    def ask_person(self, number: int, parameters: Mapping[str, ParameterValue], why: str) -> None:
        """Ask a person for a change, which has been said to be a proposal of this number."""
        self.effects.append(Propose(number, dict(parameters), why))

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
        came, went = senses.activity.turnover()
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

    def missing(self, picture: TrafficEstimate) -> str:
        """Return what the estimate lacks to make a model; "" for nothing."""
        try:
            Traffic.of_picture(picture, self.controller.policy)
        except TooLittleIsKnown as missing:
            return str(missing)
        return ""

    def measured_since(self, time_s: float) -> Stretch | None:
        """Measurements since then; ``None`` where they are too few."""
        return self.controller.senses.stretch(time_s)

    def moments_since(self, time_s: float, length_s: float) -> Stretch | None:
        """The same in batches that are shorter than seconds; ``None`` of several queues."""
        if isinstance(self.controller.senses, SetSenses):
            return None
        rate = self.controller.senses.rate.bit_per_s
        samples = self.controller.senses.since(time_s)
        return Stretch(tuple(batches_of(samples, rate, length_s))) if rate else None
