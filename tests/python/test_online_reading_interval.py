"""A router that does not want to be asked ten times a second is not."""

from __future__ import annotations

import pytest

import slow_searches
from online_world import CONFIGURATION, LINK, POLICY, TARGET, World
from vermilion.online.decide.controller import Controller
from vermilion.online.drive.driver import NetworkTimeDriver, fixed_pace
from vermilion.online.drive.real_router import OperatedQueue
from vermilion.online.drive.wall_clock import WallClockDriver
from vermilion.online.record.journal import Journal, Log
from vermilion.routers.base import ManagedQueue

SECONDS = 3.0


class Asked(ManagedQueue):
    """A queue whose time passes by waiting alone, and that counts how often it is looked at."""

    kind = "asked"

    def __init__(self, interval_s):
        self.world = World()
        self.now_s = 0.0
        self.times = []
        self.reading_interval_s = interval_s

    @property
    def configuration(self):
        return CONFIGURATION

    def read(self):
        return self.world.observe(self.now_s).observation.reading

    def observe(self):
        self.times.append(self.now_s)
        return self.world.observe(self.now_s).observation

    def parameters(self):
        return dict(self.world.in_force)

    def apply(self, parameters):
        self.world.in_force.update(parameters)

    def wait(self, until_s):
        self.now_s = max(self.now_s, until_s)


def by_network_time(queue, controller, log, _router):
    NetworkTimeDriver(queue, controller, log, fixed_pace, solve=slow_searches.answers).run(SECONDS)


def by_wall_clock(queue, controller, log, router):
    driver = WallClockDriver(
        queue,
        controller,
        log,
        solve=slow_searches.answers,
        clock=lambda: router.now_s,
        sleep=lambda seconds: router.wait(router.now_s + seconds),
    )
    driver.run(SECONDS)


@pytest.mark.parametrize("drive", [by_network_time, by_wall_clock])
@pytest.mark.parametrize(("interval_s", "looks"), [(0.0, 31), (1.0, 4)])
def test_a_router_is_looked_at_as_often_as_it_lets_itself(drive, interval_s, looks):
    router = Asked(interval_s)
    queue = OperatedQueue(router, CONFIGURATION, may_change=False)
    with Journal(
        None,
        version="test",
        title="asked",
        router=router.kind,
        link=LINK,
        discipline="fake",
        target_packets=TARGET,
    ) as journal:
        drive(queue, Controller.of(POLICY, CONFIGURATION, evaluations=1), Log(journal), router)
    in_time = [each for each in router.times if each <= SECONDS + 1e-6]
    assert abs(len(in_time) - looks) <= 1  # the last one may be rounded away
