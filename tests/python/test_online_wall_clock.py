"""The driver of routers that do not wait: it looks on while searches answer, hang and die."""

import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace

import pytest

import slow_searches
from online_world import CONFIGURATION, LINK, POLICY, TARGET, TICK_S, World
from vermilion.online.decide.controller import Controller
from vermilion.online.drive.wall_clock import WallClockDriver
from vermilion.online.events import Command
from vermilion.online.record.journal import Journal, Log
from vermilion.routers.base import ManagedQueue, RouterSilent

READ_S = 0.02
LONG_ENOUGH_S = 120.0


class SlowRouter(ManagedQueue):
    """A queue in real time, whose every answer takes a while."""

    kind = "slow"

    def __init__(self):
        self.world = World()
        self.begun_s = time.monotonic()
        self.ticks = 0
        self.reads = 0
        self.silent = False
        self.latest = self.world.observe(self.begun_s).observation

    @property
    def configuration(self):
        return CONFIGURATION

    def read(self):
        time.sleep(READ_S)
        if self.silent:
            message = "no answer"
            raise RouterSilent(message)
        self.reads += 1
        now_s = time.monotonic()
        while self.begun_s + (self.ticks + 1) * TICK_S <= now_s:
            self.ticks += 1
            self.latest = self.world.observe(now_s).observation
        return replace(self.latest.reading, time_s=now_s)

    def active_flows(self):
        return self.latest.active_flows

    def rtt_samples(self):
        return self.latest.round_trips

    def parameters(self):
        time.sleep(READ_S)
        return dict(self.world.in_force)

    def apply(self, parameters):
        time.sleep(READ_S)
        self.world.in_force.update(parameters)

    def wait(self, until_s):
        time.sleep(max(0.0, until_s - time.monotonic()))


def driven(solve, until, *, during=lambda _driver: None, router=None, **policy):
    """Drive until the log satisfies ``until``; the driver and its log."""
    router = router or SlowRouter()
    with Journal(
        None,
        version="test",
        title="slow",
        router=router.kind,
        link=LINK,
        discipline="fake",
        target_packets=TARGET,
    ) as journal:
        log = Log(journal)
        controller = Controller.of(replace(POLICY, **policy), CONFIGURATION, evaluations=1)
        driver = WallClockDriver(router, controller, log, solve=solve, least_patience_s=2.0)

        def watch():
            begun_s = time.monotonic()
            while time.monotonic() - begun_s < LONG_ENOUGH_S:
                during(driver)
                if until([each.kind for each in list(log.decisions)]):
                    break
                time.sleep(0.05)
            driver.commands.put(Command("stop"))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        driver.run()
        watcher.join()
    assert multiprocessing.active_children() == [], "a process has been left behind"
    return driver, log, router


def kinds(log):
    return [each.kind for each in log.decisions]


def test_an_answer_is_applied_while_sampling_goes_on():
    _, log, router = driven(slow_searches.thinks, lambda seen: "applied" in seen)
    assert kinds(log)[-1] == "end"
    assert router.world.in_force["level"] == TARGET
    assert router.reads >= 10


def test_a_search_that_hangs_is_ended_and_sampling_goes_on_meanwhile():
    _, log, router = driven(slow_searches.hangs, lambda seen: "search-failed" in seen)
    begun = next(each.time_s for each in log.decisions if each.kind == "model-built")
    failed, *_ = [each for each in log.decisions if each.kind == "search-failed"]
    assert "has not ended after" in failed.reason
    assert failed.time_s - begun >= POLICY.deadline_s
    assert router.reads >= 20


def test_a_process_that_is_killed_is_noticed_and_replaced():
    pids = []

    def kill(driver):
        searching = type(driver.controller.state).__name__ == "Searching"
        if searching and not pids and driver._worker._process.pid:
            pids.append(driver._worker._process.pid)
            os.kill(pids[0], signal.SIGKILL)

    driver, log, _ = driven(slow_searches.hangs, lambda seen: "search-failed" in seen, during=kill)
    failed, *_ = [each for each in log.decisions if each.kind == "search-failed"]
    assert "the process that searches has died" in failed.reason
    assert driver._worker._process.pid != pids[0]
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_search_that_raises_is_told_with_its_reason():
    _, log, _ = driven(slow_searches.raises, lambda seen: "search-failed" in seen)
    failed, *_ = [each for each in log.decisions if each.kind == "search-failed"]
    assert "ValueError: no such model" in failed.reason


def test_a_router_that_falls_silent_makes_it_blind_and_a_stop_still_ends_it():
    router = SlowRouter()

    def silence(driver):
        router.silent = router.silent or driver.controller.work.samples > 10

    _, log, _ = driven(
        slow_searches.hangs,
        lambda seen: "blind" in seen,
        during=silence,
        router=router,
        blind_after_s=1.0,
        at_exit="restore",
    )
    assert kinds(log)[-1] == "end"
