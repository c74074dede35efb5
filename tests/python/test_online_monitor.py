"""What the monitor makes of a router's counters."""

from dataclasses import replace

import numpy as np
import pytest

from vermilion.online.sense.monitor import Monitor
from vermilion.routers.base import LinkConfiguration, ManagedQueue, Reading, RttSamples


class ScriptedRouter(ManagedQueue):
    """Gives prepared readings, one per call."""

    kind = "scripted"

    def __init__(self, readings, flows=16, rtts=()):
        self.readings = list(readings)
        self.flows = flows
        self.rtts = list(rtts)

    @property
    def configuration(self):
        return LinkConfiguration("bottleneck", "red", 0.010)

    def read(self):
        return self.readings.pop(0)

    def active_flows(self):
        return self.flows

    def rtt_samples(self):
        pairs = self.rtts.pop(0) if self.rtts else []
        return RttSamples(
            np.array([flow for flow, _ in pairs], dtype=np.int64),
            np.array([seconds for _, seconds in pairs], dtype=np.float64),
        )

    def parameters(self):
        return {}

    def apply(self, parameters):
        raise NotImplementedError

    def wait(self, until_s):
        pass


def steady_readings(count, packets=125, backlog=30, drops=1):
    return [
        Reading(
            time_s=0.1 * n,
            backlog_packets=backlog,
            backlog_bytes=1000 * backlog,
            forwarded_packets=packets * n,
            forwarded_bytes=1000 * packets * n,
            drops=drops * n,
            marks=0,
        )
        for n in range(count)
    ]


def test_the_first_reading_is_no_sample():
    assert Monitor(ScriptedRouter(steady_readings(1))).take() is None


def test_a_sample_is_the_difference_of_two_readings():
    monitor = Monitor(ScriptedRouter(steady_readings(2)))
    monitor.take()
    sample = monitor.take()
    assert (sample.packets, sample.bytes, sample.drops) == (125, 125_000, 1)
    assert sample.backlog_packets == 30
    assert sample.interval_s == pytest.approx(0.1)


def test_an_interval_in_which_the_router_restarted_is_left_out():
    readings = steady_readings(3)
    readings[2] = replace(readings[2], forwarded_packets=5, forwarded_bytes=5000, drops=0)
    after = replace(readings[2], time_s=0.3, forwarded_packets=130, forwarded_bytes=130_000)
    monitor = Monitor(ScriptedRouter([*readings, after]))
    taken = [monitor.take() for _ in range(4)]
    assert taken[2] is None
    assert taken[3].packets == 125


def test_a_clock_that_stands_still_gives_no_sample():
    readings = steady_readings(2)
    monitor = Monitor(ScriptedRouter([readings[0], replace(readings[1], time_s=0.0)]))
    monitor.take()
    assert monitor.take() is None


def test_the_picture_has_rate_packet_size_and_base_round_trips():
    rtts = [[(flow, 0.028 + 0.024 + 0.0008) for flow in range(16)]] * 20
    monitor = Monitor(ScriptedRouter(steady_readings(20), rtts=rtts))
    for _ in range(20):
        monitor.take()
    picture = monitor.picture()
    assert picture.flows == 16
    assert picture.rate_bit_per_s == pytest.approx(10e6)
    assert picture.packet_bytes == pytest.approx(1000)
    assert picture.base_rtts_s == pytest.approx((0.028,) * 16)
    assert picture.marked_share == 0.0


def test_the_share_of_marks_tells_who_understands_them():
    readings = [replace(r, marks=3 * r.drops) for r in steady_readings(10)]
    monitor = Monitor(ScriptedRouter(readings))
    for _ in range(10):
        monitor.take()
    assert monitor.picture().marked_share == pytest.approx(0.75)


def test_a_quiet_link_has_a_picture_without_rate_or_round_trips():
    monitor = Monitor(ScriptedRouter(steady_readings(10, packets=0, backlog=0, drops=0), flows=0))
    for _ in range(10):
        monitor.take()
    picture = monitor.picture()
    assert picture.flows == 0
    assert picture.rate_bit_per_s is None
    assert picture.packet_bytes is None
    assert picture.marked_share is None


def test_the_history_is_bounded_and_in_order():
    monitor = Monitor(ScriptedRouter(steady_readings(3000)))
    for _ in range(3000):
        monitor.take()
    kept = monitor.since(0.0)
    assert len(kept) == 1200
    assert [s.time_s for s in kept] == sorted(s.time_s for s in kept)
    assert len(monitor.since(kept[-1].time_s - 0.95)) == 10
