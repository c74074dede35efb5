"""A queue and its traffic for tests of the on-line controller: what is observed, and what is found.

The world has no clock of its own and no controller: whoever drives it says what the time is.
"""

import random
from dataclasses import dataclass, field, replace

import numpy as np

from oracle_answer import answer_to
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.online.decide.controller import Controller
from vermilion.online.events import Observed
from vermilion.online.model.explanation import Explanation
from vermilion.online.model.prediction import Outcome, Prediction
from vermilion.online.plan.judgement import HeldQueue
from vermilion.online.plan.task import Finding
from vermilion.online.policy import Policy
from vermilion.online.sense.traffic_estimate import TrafficEstimate
from vermilion.routers.base import FlowTraffic, LinkConfiguration, Observation, Reading, RttSamples

LINK = "bottleneck"
TARGET = 30.0
CONFIGURATION = LinkConfiguration(LINK, "fake", 0.010)
FIRST = {"level": 45.0, "weight": 0.5, "gentle": False}
POLICY = Policy(
    link=LINK,
    objective=QueueDeviation(LINK, TARGET),
    parameters=("level", "weight"),
    space={
        "links.bottleneck.queue.level": ["1 packets", "200 packets"],
        "links.bottleneck.queue.weight": [0.0001, 1.0],
    },
)
PACKET_BYTES = 1000
RATE_BIT_PER_S = 10e6
TICK_S = 0.1
SIXTEEN_FLOWS = TrafficEstimate(
    time_s=0.0,
    flows=16,
    base_rtts_s=(0.028,) * 16,
    rate_bit_per_s=10e6,
    packet_bytes=1000.0,
    marked_share=0.0,
)


def controller_of(**policy):
    """A controller that has seen nothing yet."""
    return Controller.of(replace(POLICY, **policy), CONFIGURATION, evaluations=1)


@dataclass
class World:
    """A queue that stands at ``level`` + ``offset`` and wanders a little.

    Attributes:
        in_force: every parameter of the queue.
        offset: what the traffic adds to the level, packets.
        flows: how many there are; 0 for silence.
        round_trip_s: without queueing.
        packets: forwarded in a tenth of a second.
        monitor: whether round trips and flows are seen.
        sd: how far a tenth of a second strays, packets.
        starving: how many flows get nothing through; below 0 nobody sees what each one moves.
        drops: packets dropped in a tenth of a second in which some are forwarded.
        shut: packets that come in a tenth of a second and are all dropped, though none waits.
        marking: further ones that get through then; they are marked, but for one in half a second.
    """

    in_force: dict = field(default_factory=lambda: dict(FIRST))
    offset: float = 0.0
    flows: int = 16
    round_trip_s: float = 0.028
    packets: int = 125
    monitor: bool = True
    sd: float = 2.0
    starving: int = -1
    drops: int = 0
    shut: int = 0
    marking: int = 0
    marks: int = 0
    forwarded: int = 0
    dropped: int = 0
    marked: int = 0
    coins: random.Random = field(default_factory=lambda: random.Random(1))

    def observe(self, now_s, *, with_parameters=False):
        """What is seen a tenth of a second later."""
        carrying = self.flows > 0 and self.packets > 0 and not self.shut
        if self.shut:
            self.dropped += self.shut
            self.forwarded += self.marking
            self.marked += self.marking - (self.marking > 0 and round(10.0 * now_s) % 5 == 0)
        if carrying:
            self.forwarded += self.packets
            self.dropped += self.drops
            self.marked += self.marks
        height = self.coins.gauss(self.in_force["level"] + self.offset, self.sd)
        backlog = max(0, round(height)) if self.flows and not self.shut else 0
        trips = None
        if self.monitor:
            count = self.flows if carrying else 0
            waiting_s = 8.0 * PACKET_BYTES * (backlog + 1) / RATE_BIT_PER_S
            trips = RttSamples(
                np.arange(count, dtype=np.int64), np.full(count, self.round_trip_s + waiting_s)
            )
        reading = Reading(
            time_s=now_s,
            backlog_packets=backlog,
            backlog_bytes=PACKET_BYTES * backlog,
            forwarded_packets=self.forwarded,
            forwarded_bytes=PACKET_BYTES * self.forwarded,
            drops=self.dropped,
            marks=self.marked,
        )
        observation = Observation(reading, self.flows if self.monitor else None, trips)
        if self.starving >= 0:
            observation = replace(observation, traffic=self._traffic(carrying))
        return Observed(observation, dict(self.in_force) if with_parameters else None)

    def _traffic(self, carrying):
        """What each flow moved: all alike but those that starve, which were there at first."""
        moving = self.flows - self.starving if carrying else 0
        packets = np.full(moving, self.packets // max(1, moving), dtype=np.int64)
        numbers = np.arange(moving, dtype=np.int64)
        return FlowTraffic(
            numbers, packets, PACKET_BYTES * packets, np.full(moving, fill_value=True)
        )

    def restart(self, parameters):
        """The router restarts: counters from nothing, these parameters in force."""
        self.forwarded = self.dropped = 0
        self.in_force = dict(parameters)


def finding(task, setting=None, *, offset=0.0, sd=2.0, obstacle="nothing was found"):
    """What a search comes to that believes the queue to stand at ``level`` + ``offset``."""
    correction, explanation = task.correction, None
    if task.settled:
        predicted = task.in_force["level"] + offset
        explanation = Explanation(
            "newreno senders",
            told_apart=True,
            explained=True,
            figures=(),
            predicted_mean=predicted,
            noise=1.0,
        )
        measured = sum(sample.backlog_packets for sample in task.settled) / len(task.settled)
        seconds = sum(sample.interval_s for sample in task.settled)
        correction = correction.learned(measured, seconds, 1.0, predicted)
    answer = None
    if setting is not None:
        goal = HeldQueue(LINK, correction.internal_target)
        candidate = _predicted(setting, goal, offset, sd)
        names = task.policy.parameters
        incumbent = _predicted({name: task.in_force[name] for name in names}, goal, offset, sd)
        answer = answer_to(task, goal, candidate, incumbent)
    return Finding(answer, "" if answer else obstacle, explanation, correction, task.belief, None)


def best(task, *, offset=0.0, weight=None):
    """The finding of a search that finds what it believes to be best."""
    target = HeldQueue(LINK, task.correction.internal_target).target
    kept = task.in_force["weight"] if weight is None else weight
    return finding(task, {"level": target - offset, "weight": kept}, offset=offset)


def _predicted(setting, goal, offset, sd):
    means = [float(setting["level"]) + offset + shift for shift in (-0.1, 0.0, 0.1)]
    return Prediction(
        setting=dict(setting),
        outcomes=tuple(Outcome(mean, sd, 1.0, 0.0, goal.cost(mean, sd)) for mean in means),
    )
