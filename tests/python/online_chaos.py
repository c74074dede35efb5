"""Everything goes wrong, from a seed: routers, clocks, monitors, searches, journals, processes.

A run has two phases. In the first faults happen, and whatever happens must be safe; in the second
nothing happens any more, and the controller must come to rest with the queue where it should be, or
left alone with a reason. It is driven in the network's time, on a queue that behaves as told
(:class:`online_world.World`), so that minutes of it take a second.
"""

import json
import random
import sqlite3
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from online_world import CONFIGURATION, FIRST, LINK, POLICY, TARGET, TICK_S, World, best
from vermilion.online.decide.controller import Controller
from vermilion.online.decide.states import Blind, Ended, HandsOff, Paused, Proposing, Watching
from vermilion.online.drive.driver import NetworkTimeDriver, fixed_pace
from vermilion.online.events import Command
from vermilion.online.record.journal import Journal, Log
from vermilion.routers.base import (
    FlowTraffic,
    ManagedQueue,
    RouterError,
    RouterSilent,
    RttSamples,
)

FAULTY_S = 60.0
QUIET_S = 75.0
REST_S = 60.0
MOST_DECISIONS_A_MINUTE = 120  # while a fault, or a change of traffic, comes every three seconds
MOST_IN_THE_END = 30

APPLY = ("refuse", "lose", "lose the answer", "half")
READ = ("mute", "mute parameters")
COUNTERS = ("wrap", "freeze", "back", "jump", "lie")
ONCE = ("reboot", "hand", "clock forward", "clock back", "flows", "offset")
MONITOR = ("deaf", "phantoms", "idle", "outage")
SEARCH = ("search raises", "search hangs", "search is nonsense")
JOURNAL = ("disk full",)
KINDS = (*APPLY, *READ, *COUNTERS, *ONCE, *MONITOR, *SEARCH, *JOURNAL)


class Killed(BaseException):
    """As by ``kill -9``: nothing is tidied up."""


class UnsafeError(AssertionError):
    """What must never happen has happened."""


def unsafe(what):
    """Something must not be as it is."""
    raise UnsafeError(what)


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        begins_s: when.
        ends_s: until when, where it lasts.
        kind: what.
    """

    begins_s: float
    ends_s: float
    kind: str


def faults_of(coins, number):
    """So many faults, spread over the first phase."""
    faults = []
    for _ in range(number):
        begins_s = coins.uniform(0.0, FAULTY_S - 1.0)
        lasts_s = coins.choice([0.2, 1.0, 4.0, 12.0])
        faults.append(Fault(begins_s, min(begins_s + lasts_s, FAULTY_S), coins.choice(KINDS)))
    # Without a change of traffic now and then, there would be little to do and to go wrong.
    faults += [
        Fault(begins_s + coins.random(), FAULTY_S, coins.choice(["flows", "offset"]))
        for begins_s in range(6, int(FAULTY_S), 6)
    ]
    return sorted(faults, key=lambda each: each.begins_s)


class FaultyRouter(ManagedQueue):
    """A queue in a world where things go wrong."""

    kind = "faulty"

    def __init__(self, coins, faults):
        self.world = World(coins=random.Random(coins.random()))
        self.now_s = 0.0
        self.clock_s = 0.0  # by which the router's clock is ahead
        self.faults = faults
        self.coins = coins
        self.begun = set()
        self.latest = self.world.observe(0.0).observation
        self.frozen = None
        self.values = {name: {value} for name, value in FIRST.items()}
        self.before_apply = lambda _parameters: None
        self.maybe_kill = lambda _where: None

    @property
    def configuration(self):
        return CONFIGURATION

    def now(self, *kinds):
        """Whether such a fault lasts now."""
        return any(
            each.begins_s <= self.now_s < each.ends_s and each.kind in kinds for each in self.faults
        )

    def wait(self, until_s):
        while self.now_s < until_s - 1e-9:
            self.now_s = min(self.now_s + TICK_S, until_s)
            for fault in self.faults:
                if fault.begins_s <= self.now_s and fault not in self.begun:
                    self.begun.add(fault)
                    self._once(fault.kind)
            self.world.drops = 3
            packets, self.world.packets = self.world.packets, 0 if self.now("outage") else 125
            flows = self.world.flows
            if self.now("idle"):
                self.world.flows = 0
            self.latest = self.world.observe(self.now_s).observation
            self.world.flows, self.world.packets = flows, packets
        self.maybe_kill("between two observations")

    def _once(self, kind):
        world, coins = self.world, self.coins
        match kind:
            case "reboot":
                world.restart(FIRST)
            case "hand":
                name, value = coins.choice([("level", 60.0), ("level", 45.0), ("weight", 0.3)])
                world.in_force[name] = value
                self.values[name].add(value)
            case "clock forward":
                self.clock_s += coins.choice([3.0, 4000.0])
            case "clock back":
                self.clock_s -= coins.choice([3.0, 4000.0])
            case "flows":
                world.flows = coins.choice([4, 16, 64])
            case "offset":
                world.offset = coins.choice([0.0, 6.0, 12.0])
            case _:
                pass

    def read(self):
        if self.now("mute"):
            message = "no answer"
            raise RouterSilent(message)
        reading = replace(self.latest.reading, time_s=self.latest.reading.time_s + self.clock_s)
        if not self.now("freeze"):
            self.frozen = None
        else:
            self.frozen = self.frozen or reading
            return replace(self.frozen, time_s=reading.time_s)
        if self.now("wrap"):
            reading = replace(
                reading,
                forwarded_bytes=(reading.forwarded_bytes + 2**32 - 2_000_000) % 2**32,
                forwarded_packets=(reading.forwarded_packets + 2**32 - 2_000) % 2**32,
            )
        if self.now("back"):
            back = self.coins.randrange(1000)
            reading = replace(reading, forwarded_packets=max(0, reading.forwarded_packets - back))
        if self.now("jump"):
            reading = replace(reading, drops=reading.drops + self.coins.choice([10, 2**40, 2**70]))
        if self.now("lie"):
            fields = ("backlog_packets", "backlog_bytes", "forwarded_bytes", "marks", "drops")
            lie = self.coins.choice([-1, 0, 1, 2**31, 2**64, 2**80])
            reading = replace(reading, **{self.coins.choice(fields): lie})
            if self.coins.random() < 0.1:
                reading = replace(reading, time_s=self.coins.choice([float("nan"), float("inf")]))
        return reading

    def active_flows(self):
        if self.now("deaf"):
            return 0
        return (self.latest.active_flows or 0) + (100 if self.now("phantoms") else 0)

    def rtt_samples(self):
        trips = self.latest.round_trips
        if self.now("deaf") or trips is None:
            return RttSamples(np.zeros(0, dtype=np.int64), np.zeros(0))
        if self.now("phantoms"):
            return RttSamples(
                np.concatenate((trips.flows, np.arange(1000, 1100))),
                np.concatenate((trips.seconds, np.full(100, 0.3))),
            )
        return trips

    def flow_traffic(self) -> FlowTraffic | None:
        return None

    def parameters(self):
        if self.now("mute", "mute parameters"):
            message = "no answer"
            raise RouterSilent(message)
        return dict(self.world.in_force)

    def apply(self, parameters):
        self.before_apply(parameters)
        self.maybe_kill("before the router has changed")
        if self.now("mute", "lose"):
            message = "no answer"
            raise RouterSilent(message)
        if self.now("refuse"):
            message = "busy"
            raise RouterError(message)
        items = list(parameters.items())
        if self.now("half"):
            items = items[: max(1, len(items) // 2)]
        self.put(dict(items))
        self.maybe_kill("after the router has changed")
        if self.now("lose the answer", "half"):
            message = "the answer was lost"
            raise RouterSilent(message)

    def put(self, parameters):
        """Put in force what has got through."""
        self.world.in_force.update(parameters)


class Searches:
    """Searches that know the world, if nothing goes wrong."""

    def __init__(self, router):
        self.router = router

    def __call__(self, task):
        router = self.router
        if router.now("search raises"):
            message = "out of memory"
            raise MemoryError(message)
        found = best(task, offset=router.world.offset, weight=router.coins.choice([0.5, 0.4]))
        if router.now("search is nonsense"):
            setting = router.coins.choice(
                [
                    {"level": float("nan"), "weight": 0.5},
                    {"level": float("-inf"), "weight": 0.5},
                    {"level": 30.0},
                    {"level": None, "weight": 0.5},
                    {},
                ]
            )
            found = replace(found, answer=replace(found.answer, setting=setting))
        return found


class Driver(NetworkTimeDriver):
    """Searches may hang, and the process may be killed at any moment."""

    def _search(self, search):
        if not self._router.now("search hangs"):
            super()._search(search)

    def give(self, event):
        super().give(event)
        self._router.maybe_kill("after a step")
        coins, faulty = self._router.coins, self._router.now_s < FAULTY_S
        if isinstance(self.controller.state, HandsOff) and faulty and coins.random() < 0.03:
            super().give(Command("resume"))
        elif faulty and coins.random() < 0.002:
            super().give(Command(coins.choice(["pause", "resume"])))
        elif self.controller.paused_by_person and not faulty:
            super().give(Command("resume"))


class ChaosRun:
    """One run of both phases, over as many processes as kills make of it.

    What it is played on can be another queue than the one that behaves as told.
    """

    base_policy = POLICY
    configuration = CONFIGURATION
    fall_back: ClassVar = {"level": 40.0}
    evaluations = 1

    def __init__(self, seed, path, *, faults=10, kills=2):
        self.coins = coins = random.Random(seed)
        self.policy = replace(
            self.base_policy,
            mode=coins.choice(["control", "control", "control", "propose", "observe"]),
            changes_per_minute=coins.choice([2, 6]),
            fall_back=coins.choice([None, None, self.fall_back]),
        )
        self.path = path
        self.seed = seed
        self.router = self._make_router(coins, faults_of(coins, faults))
        self.router.before_apply = self._check_apply
        self.router.maybe_kill = self._maybe_kill
        self.kill_s = sorted(coins.uniform(0.0, FAULTY_S) for _ in range(kills))
        self.kill_where = [
            coins.choice(["", "before the router has changed", "after the router has changed"])
            for _ in self.kill_s
        ]
        self.killed = 0
        self.processes = 0
        self.driver = None
        self.running = False
        self.full = False
        self.rested = False
        self.hands_off = False
        self.decided = []
        self.fallen_back = set()

    def _make_router(self, coins, faults):
        return FaultyRouter(coins, faults)

    def _searches(self):
        return Searches(self.router)

    def play(self):
        """Both phases; raises where anything is not as it must be."""
        while self.router.now_s < FAULTY_S + QUIET_S - 1.0:
            self.processes += 1
            try:
                self._process()
            except Killed:
                continue
            except RouterError:  # at the very beginning: whoever started it tries again
                self.router.wait(self.router.now_s + 1.0)
        self._check_end()

    def _process(self):
        journal = Journal(
            self.path,
            version="test",
            title="chaos",
            router="faulty",
            link=LINK,
            discipline=self.configuration.discipline,
            target_packets=TARGET,
        )
        self.running = True
        self.router.clock_s = 0.0  # a driver's time begins with the router's
        try:
            controller = Controller.of(
                self.policy,
                self.configuration,
                evaluations=self.evaluations,
                remembered=journal.remembered(),
            )
            log = Log(journal, self.decided.append)
            self.journal = journal
            self.driver = Driver(
                self.router,
                controller,
                log,
                fixed_pace,
                solve=self._searches(),
                answer_proposal=self._person,
            )
            self.driver.run(FAULTY_S + QUIET_S)
            journal.close()
        finally:
            self.running = False
            journal._database.close()

    def _person(self, proposal):
        verb = self.coins.choice(["accept", "accept", "decline", None])
        return None if verb is None else Command(verb, proposal.number)

    def _maybe_kill(self, where):
        if not self.running:
            return
        self._fill_disk()
        state = self.driver.controller.state
        if self.router.now_s > FAULTY_S + QUIET_S - 15.0:
            self.rested |= isinstance(state, Watching | Paused | HandsOff | Proposing)
        self.hands_off = isinstance(state, HandsOff) or (
            isinstance(state, Ended) and self.hands_off
        )
        self._check_in_force()
        if self.kill_s and self.router.now_s >= self.kill_s[0]:
            wanted = self.kill_where[0]
            late = self.router.now_s > self.kill_s[0] + 20.0
            if wanted in {"", where} or late:
                self.kill_s.pop(0)
                self.kill_where.pop(0)
                self.killed += 1
                raise Killed

    def _fill_disk(self):
        """Make SQLite find the disk full, or no longer so."""
        full = self.router.now("disk full")
        if full != self.full:
            self.full = full
            database = self.journal._database
            (pages,) = database.execute("PRAGMA page_count").fetchone()
            database.execute(f"PRAGMA max_page_count = {pages if full else 2**30}")

    def _check_apply(self, parameters):
        state = self.driver.controller.state
        if self.policy.mode == "observe":
            unsafe("a change in mode observe")
        if isinstance(state, HandsOff):
            unsafe("a change while somebody else is in charge")
        if isinstance(state, Blind):
            if state.since_s in self.fallen_back:
                unsafe("a second change while blind")
            self.fallen_back.add(state.since_s)
        text = json.dumps(dict(parameters))
        with sqlite3.connect(self.path) as database:
            rows = database.execute(
                "SELECT count(*) FROM effect WHERE parameters = ? AND answer IS NULL", (text,)
            ).fetchone()
        database.close()
        if rows[0] < 1:
            unsafe("a change that is not in the journal")
        for name, value in parameters.items():
            self.router.values[name].add(value)

    def _check_in_force(self):
        for name, value in self.router.world.in_force.items():
            if value not in self.router.values[name]:
                unsafe(f"{name} {value} is in force, which nobody has asked for")

    def _left_alone(self):
        """Whether somebody else, or nobody, was to set the queue in the end."""
        return self.hands_off or self.policy.mode != "control"

    def _check_end(self):
        with sqlite3.connect(self.path) as database:
            [(whole,)] = database.execute("PRAGMA integrity_check").fetchall()
        database.close()
        if whole != "ok":
            unsafe(f"the journal is not whole: {whole}")
        if not self.rested:
            unsafe(f"no rest in the end, but {self.driver.controller.state}")
        minutes = Counter(int(each.time_s // 60.0) for each in self.decided)
        if max(minutes.values()) > MOST_DECISIONS_A_MINUTE:
            unsafe(f"a flood of decisions: {minutes}")
        if (
            sum(each.time_s > FAULTY_S + QUIET_S - REST_S for each in self.decided)
            > MOST_IN_THE_END
        ):
            unsafe("a flood of decisions when all is well")
        # Counters that stand still hide a reboot, which then looks like somebody's hand.
        frozen = [each for each in self.router.begun if each.kind == "freeze"]
        foreign = any(
            each.kind == "hand"
            or (
                each.kind == "reboot"
                and any(it.begins_s <= each.begins_s < it.ends_s for it in frozen)
            )
            for each in self.router.begun
        )
        if not foreign and any(each.kind == "hands-off" for each in self.decided):
            unsafe("somebody else is suspected, and nobody else was there")
        self._check_outcome()

    def _check_outcome(self):
        world = self.router.world
        left = self._left_alone()
        off = abs(world.in_force["level"] + world.offset - TARGET)
        alone = abs(FIRST["level"] + world.offset - TARGET)
        if not left and off > alone + 2.0:
            unsafe(f"the queue is {off} packets off; left alone it would be {alone}")
