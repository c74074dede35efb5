"""Two queues in a row and their traffic, for tests of a controller of several queues."""

from dataclasses import dataclass, field, replace

import numpy as np

from online_world import FIRST, RATE_BIT_PER_S, World
from vermilion.objectives.goodput_variation import GoodputVariation
from vermilion.online.decide.controller import Controller
from vermilion.online.events import Observed
from vermilion.online.model.explanation import Explanation
from vermilion.online.model.prediction import Outcome, Prediction
from vermilion.online.plan.judgement import judge
from vermilion.online.plan.task import Answer, Finding
from vermilion.online.policy import Policy
from vermilion.routers.base import (
    FlowTraffic,
    LinkConfiguration,
    Observation,
    Reading,
    RttSamples,
)

LINKS = ("near", "far")
JOINT_FIRST = {f"{link}.{name}": value for link in LINKS for name, value in FIRST.items()}
CONFIGURATION = LinkConfiguration(
    "near+far",
    "fake",
    0.020,
    tuple(LinkConfiguration(link, "fake", 0.010) for link in LINKS),
)
POLICY = Policy(
    link="near+far",
    objective=GoodputVariation(),
    parameters=("near.level", "near.weight", "far.level", "far.weight"),
    links=LINKS,
)
OWN = {"near": 0, "far": 1000}
"""The first number of a queue's own flows."""
THROUGH = 2000
"""The first number of the flows that cross both."""
PACKET_BYTES = 1000


def controller_of(**policy):
    """A controller of both queues that has seen nothing yet."""
    return Controller.of(replace(POLICY, **policy), CONFIGURATION, evaluations=1)


@dataclass
class SetWorld:
    """Two queues, of which each stands at its own level; some flows cross both.

    Attributes:
        near: the first queue, with the flows that cross it alone.
        far: the second one.
        through: how many flows cross both.
        share: of the mean that a flow through both gets.
        monitor: whether packets and round trips are seen.
    """

    near: World = field(default_factory=lambda: World(flows=8))
    far: World = field(default_factory=lambda: World(flows=8))
    through: int = 8
    share: float = 0.5
    monitor: bool = True

    @property
    def in_force(self):
        """Every parameter of both."""
        return {
            f"{link}.{name}": value
            for link in LINKS
            for name, value in getattr(self, link).in_force.items()
        }

    def put_in_force(self, parameters):
        """Change some."""
        for name, value in parameters.items():
            link, _, parameter = name.partition(".")
            getattr(self, link).in_force[parameter] = value

    def observe(self, now_s, *, with_parameters=False):
        """What is seen a tenth of a second later."""
        queues = {link: self._seen(link, now_s) for link in LINKS}
        readings = [each.reading for each in queues.values()]
        total = Reading(
            now_s,
            *(
                sum(getattr(each, name) for each in readings)
                for name in (
                    "backlog_packets",
                    "backlog_bytes",
                    "forwarded_packets",
                    "forwarded_bytes",
                    "drops",
                    "marks",
                )
            ),
        )
        return Observed(
            Observation(total, queues=queues), dict(self.in_force) if with_parameters else None
        )

    def _seen(self, link, now_s):
        world = getattr(self, link)
        before = world.forwarded
        world.monitor = False
        seen = world.observe(now_s).observation
        if not self.monitor:
            return seen
        sent = world.forwarded - before
        own = np.arange(OWN[link], OWN[link] + world.flows)
        flows = np.concatenate((own, np.arange(THROUGH, THROUGH + self.through)))
        if sent == 0:
            flows = flows[:0]
        weights = np.where(flows >= THROUGH, self.share, 1.0)
        packets = np.round(sent * weights / max(weights.sum(), 1.0)).astype(np.int64)
        waiting_s = 8.0 * PACKET_BYTES * (seen.reading.backlog_packets + 1) / RATE_BIT_PER_S
        both_s = sum(
            8.0 * PACKET_BYTES * (self._level(each) + 1) / RATE_BIT_PER_S for each in LINKS
        )
        trips = np.where(
            flows >= THROUGH, 2.0 * world.round_trip_s + both_s, world.round_trip_s + waiting_s
        )
        return replace(
            seen,
            active_flows=self.near.flows + self.far.flows + self.through,
            round_trips=RttSamples(flows, trips),
            traffic=FlowTraffic(
                flows, packets, PACKET_BYTES * packets, np.ones(len(flows), np.bool_)
            ),
        )

    def _level(self, link):
        world = getattr(self, link)
        return world.in_force["level"] + world.offset


def finding(task, setting=None, *, value=0.3, before=0.5, obstacle="nothing was found"):
    """What a search comes to that believes in this variation of goodputs."""
    explanation = None
    if task.settled:
        explanation = Explanation(
            "newreno senders",
            told_apart=True,
            explained=True,
            figures=(),
            predicted_mean=90.0,
            noise=2.0,
        )
    answer = None
    if setting is not None:
        candidate = _predicted(setting, value)
        incumbent = _predicted({n: task.in_force[n] for n in task.policy.parameters}, before)
        answer = Answer(
            picture=task.picture,
            internal_target=None,
            setting=dict(setting),
            candidate=candidate,
            incumbent=incumbent,
            verdict=judge(candidate, incumbent, GoodputVariation()),
            candidate_noise=2.0,
            incumbent_noise=2.0,
            evaluations=1,
        )
    obstacle = "" if answer else obstacle
    return Finding(answer, obstacle, explanation, task.correction, task.belief, None)


def _predicted(setting, value):
    mean = float(setting["near.level"]) + float(setting["far.level"])
    return Prediction(
        setting=dict(setting),
        outcomes=tuple(
            Outcome(mean, 2.0, 1.0, 0.0, value + shift) for shift in (-0.001, 0.0, 0.001)
        ),
    )
