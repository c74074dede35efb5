"""Everything goes wrong on a simulated network: real packets, real senders, real searches.

The faults and what is checked of safety are those of :mod:`online_chaos`; what cannot be arranged
with a running simulation, a link with nothing to carry, is an outage here. Changes of traffic are
flows that come and a link whose rate falls, so that the network with its whole history can be run
again without a controller: in the end it must not be worse than that.
"""

import json
from dataclasses import replace
from typing import ClassVar

import numpy as np

from online_chaos import (
    FAULTY_S,
    QUIET_S,
    ChaosRun,
    FaultyRouter,
    Searches,
    unsafe,
)
from online_world import LINK, TARGET, TICK_S
from vermilion.online.plan.solve import solve
from vermilion.online.policy import stated_policy
from vermilion.routers.base import (
    FlowTraffic,
    LinkConfiguration,
    RouterError,
    RttSamples,
)
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import load_scenario, scenario_from_document

END_S = 60.0  # that putting the first setting back over a bad line may take
JUDGED_S = 40.0  # at the end, over which the network is compared with the one left alone
EVALUATIONS = 30
WORSE = 1.25  # times the squared deviation that chance may make of the same in so short a time
NOISE = 9.0  # packets squared
LESS_GOODPUT = 0.97
USUAL_RATE = 10e6
OUTAGE_RATE = 1_000
OUTAGES = ("outage", "idle")
LESS = 0.8  # of the rate, where it falls
HANDS = ({"max_threshold": 60.0}, {"min_threshold": 10.0}, {"weight": 0.003})


def scenario_of(coins, faults):
    """The example network with the changes that a run's faults are to its traffic."""
    document = dict(load_scenario("varying-load").document)
    document["duration"] = f"{FAULTY_S + QUIET_S + END_S} s"
    document["warm_up"], document["settle"] = "0 s", "0 s"
    flows = {"early": dict(document["flows"]["early"])}
    changes, usual = [], USUAL_RATE
    down_until_s = 0.0
    for number, fault in enumerate(faults):
        begins_s = round(fault.begins_s, 3)
        if fault.kind == "flows":
            stops_s = round(min(begins_s + coins.uniform(5.0, 40.0), FAULTY_S), 3)
            flows[f"more-{number}"] = flows["early"] | {
                "count": coins.choice([4, 16, 32]),
                "start": f"{begins_s} s .. {begins_s + 0.5} s",
                "stop": f"{stops_s + 0.5} s .. {stops_s + 1.0} s",
            }
        elif fault.kind == "offset":
            usual = USUAL_RATE * coins.choice([LESS, 1.0])
            changes.append((max(begins_s, down_until_s), usual))
        elif fault.kind in OUTAGES:
            changes.append((begins_s, OUTAGE_RATE))
            down_until_s = max(down_until_s, fault.ends_s)
            changes.append((round(down_until_s, 3), usual))
    document["flows"] = flows
    document["changes"] = [
        {"at": f"{at_s} s", "link": LINK, "rate": f"{rate:.0f} bit/s"}
        for at_s, rate in sorted(dict(sorted(changes)).items())
    ]
    return scenario_from_document(document)


class SimulatedWorld:
    """What :class:`online_chaos.FaultyRouter` asks of a world, of a simulation."""

    def __init__(self, scenario, seed):
        self.network = SimulatedRouter(scenario.core(), LINK, seed)
        self.original = self.network.parameters()

    @property
    def in_force(self):
        """Every parameter of the queue."""
        return self.network.parameters()


class FaultyNetwork(FaultyRouter):
    """A simulated network of which everything else goes wrong.

    Attributes:
        backlogs: (time, packets that really waited) at each tenth of a second.
    """

    kind = "faulty"

    def __init__(self, coins, faults, seed):
        super().__init__(coins, faults)
        self.scenario = scenario_of(coins, faults)
        self.world = SimulatedWorld(self.scenario, seed)
        self.network = self.world.network
        self.values = {name: {value} for name, value in self.world.original.items()}
        self.latest = self.network.observe()
        self.zero = self.latest.reading  # from where a restarted router counts
        self.backlogs = []

    @property
    def configuration(self):
        return self.network.configuration

    def wait(self, until_s):
        while self.now_s < until_s - 1e-9:
            self.now_s = min(self.now_s + TICK_S, until_s)
            for fault in self.faults:
                if fault.begins_s <= self.now_s and fault not in self.begun:
                    self.begun.add(fault)
                    self._once(fault.kind)
            self.network.wait(self.now_s)
            seen = self.network.observe()
            self.backlogs.append((self.now_s, seen.reading.backlog_packets))
            reading = replace(
                seen.reading,
                **{
                    name: getattr(seen.reading, name) - getattr(self.zero, name)
                    for name in ("forwarded_packets", "forwarded_bytes", "drops", "marks")
                },
            )
            self.latest = replace(seen, reading=reading)
        self.maybe_kill("between two observations")

    def _once(self, kind):
        match kind:
            case "reboot":
                self.network.apply(self.world.original)
                self.zero = self.network.read()
            case "hand":
                setting = self.coins.choice(HANDS)
                try:
                    self.network.apply(setting)
                except RouterError:  # it does not fit what is in force: the person leaves it
                    return
                for name, value in setting.items():
                    self.values[name].add(value)
            case "clock forward" | "clock back":
                super()._once(kind)
            case _:
                pass

    def flow_traffic(self):
        if self.now("deaf"):
            none = np.zeros(0, np.int64)
            return FlowTraffic(none, none, none, np.zeros(0, np.bool_))
        return self.latest.traffic

    def rtt_samples(self):
        trips = super().rtt_samples()
        return RttSamples(np.asarray(trips.flows, np.int64), trips.seconds)

    def put(self, parameters):
        self.network.apply(parameters)


class RealSearches(Searches):
    """The controller's own searches, if nothing goes wrong."""

    def __call__(self, task):
        router = self.router
        if router.now("search raises"):
            message = "out of memory"
            raise MemoryError(message)
        found = solve(task)
        if router.now("search is nonsense") and found.answer is not None:
            names = list(found.answer.setting)
            setting = router.coins.choice(
                [
                    {**found.answer.setting, names[0]: float("nan")},
                    {**found.answer.setting, names[0]: float("-inf")},
                    {names[0]: 30.0},
                    {**found.answer.setting, names[0]: None},
                    {},
                ]
            )
            found = replace(found, answer=replace(found.answer, setting=setting))
        return found


class SimulatedChaosRun(ChaosRun):
    """One run of both phases on a simulated network.

    Attributes:
        cost: in the end, mean squared deviation of the queue, packets squared.
        alone: the same of the network without a controller.
    """

    base_policy = stated_policy(load_scenario("varying-load"))
    configuration = LinkConfiguration(LINK, "red", 0.010)
    fall_back: ClassVar = {"max_threshold": 50.0}
    evaluations = EVALUATIONS

    def _make_router(self, coins, faults):
        self.cost = self.alone = None
        return FaultyNetwork(coins, faults, self.seed)

    def _searches(self):
        return RealSearches(self.router)

    def _check_in_force(self):
        for name, value in self.router.world.in_force.items():
            asked = self.router.values[name]
            near = isinstance(value, float) and any(
                isinstance(each, int | float) and abs(each - value) <= 1e-6 * abs(value)
                for each in asked
            )
            if value not in asked and not near:
                unsafe(f"{name} {value} is in force, which nobody has asked for: {asked}")

    def _check_outcome(self):
        """Never worse than the same network, with the same traffic and outages, left alone."""
        from_s, until_s = FAULTY_S + QUIET_S - JUDGED_S, FAULTY_S + QUIET_S
        self.cost = _cost(self.router.backlogs, from_s, until_s)
        reference = SimulatedWorld(self.router.scenario, self.seed).network
        backlogs = []
        for tick in range(1, round(until_s / TICK_S) + 1):
            reference.wait(tick * TICK_S)
            backlogs.append((tick * TICK_S, reference.read().backlog_packets))
        self.alone = _cost(backlogs, from_s, until_s)
        if self._left_alone():
            return
        goodput = _goodput(self.router.network) / _goodput(reference)
        if self.cost > WORSE * self.alone + NOISE:
            unsafe(f"the queue's deviation is {self.cost:.0f}; left alone it is {self.alone:.0f}")
        if goodput < LESS_GOODPUT:
            unsafe(f"goodput is {goodput:.1%} of what it is left alone")


def _cost(backlogs, from_s, until_s):
    kept = [packets for time_s, packets in backlogs if from_s <= time_s <= until_s]
    return float(np.mean([(packets - TARGET) ** 2 for packets in kept]))


def _goodput(network):
    result = json.loads(network.result()[0])
    seconds = result["links"][LINK]["total"]["end_s"]
    groups = [group["total"]["goodput_bit_per_s"]["total"] for group in result["flows"].values()]
    return sum(groups) * seconds / network.read().time_s
