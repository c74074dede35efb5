"""Whether the queue is the bottleneck, and what its silence means."""

import copy

import pytest

from vermilion.online.sense.link_state import LinkWatch
from vermilion.online.sense.sampler import Sample
from vermilion.online.sense.senses import Senses
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import scenario_from_document


class Link:
    """A link of 10 Mbit/s, a sample after the other; packets of 1000 bytes."""

    def __init__(self, rate=10e6):
        self.rate = rate
        self.samples = []
        self.watch = LinkWatch()

    def go_on(self, seconds, packets=0, backlog=0, drops=0, flows=None):
        for _ in range(round(10 * seconds)):
            before = self.samples[-1].backlog_packets if self.samples else backlog
            self.samples.append(
                Sample(
                    time_s=0.1 * (len(self.samples) + 1),
                    interval_s=0.1,
                    backlog_before_packets=before,
                    backlog_packets=backlog,
                    backlog_bytes=1000 * backlog,
                    packets=packets,
                    bytes=1000 * packets,
                    drops=drops,
                    marks=0,
                    active_flows=flows,
                    heard_flows=None,
                    rtt_samples=None,
                    mean_rtt_s=None,
                )
            )
            self.watch = self.watch.updated(self.samples, self.rate, flows)
        return self.watch.state

    def busy(self):
        assert self.go_on(2.0, packets=125, backlog=30, flows=16).kind == "busy"
        return self


def test_nothing_seen_is_unknown():
    state = LinkWatch().state
    assert state.kind == "unknown"
    assert state.words


def test_a_link_with_a_queue_is_busy_within_half_a_second():
    link = Link()
    assert link.go_on(0.2, packets=125, backlog=30).kind == "unknown"
    state = link.go_on(0.4, packets=125, backlog=30)
    assert state.kind == "busy"
    assert "10 Mbit/s, 100% of its rate" in state.words


def test_a_full_link_is_busy_though_nothing_waits_when_it_is_read():
    assert Link().go_on(2.0, packets=120, backlog=0).kind == "busy"


def test_a_link_that_drops_is_busy_however_short_its_queue():
    """Two flows of a long round trip under a strict queue: it is empty, and the reason for it."""
    assert Link().go_on(2.0, packets=60, backlog=0, drops=1).kind == "busy"


@pytest.mark.parametrize("flows", [0, None])
def test_silence_without_flows_is_idle_after_three_seconds(flows):
    link = Link().busy()
    assert link.go_on(2.8, flows=flows).kind == "busy"
    assert link.go_on(0.3, flows=flows).kind == "idle"


def test_silence_although_there_are_flows_is_an_outage_after_two_seconds():
    link = Link().busy()
    assert link.go_on(1.8, flows=16).kind == "busy"
    state = link.go_on(0.3, flows=16)
    assert state.kind == "outage"
    assert state.words == "16 flows open, and no packet came in 1.0 s"


def test_a_backlog_that_stands_is_an_outage_whoever_there_is():
    link = Link().busy()
    state = link.go_on(2.2, backlog=100)
    assert state.kind == "outage"
    assert state.words == "100 packets in the queue, and none has left for 1.0 s"


@pytest.mark.parametrize("flows", [16, None])
def test_a_queue_that_drops_all_that_comes_is_an_outage_though_none_waits(flows):
    link = Link().busy()
    state = link.go_on(2.2, drops=3, flows=flows)
    assert state.kind == "outage"
    assert state.words == "30 packets came in 1.0 s and none got through, though none waits"


def test_next_to_nothing_is_an_outage_too():
    link = Link().busy()
    link.go_on(5.0, flows=16)
    for _ in range(5):
        link.go_on(0.1, packets=1, flows=16)
        assert link.go_on(1.9, flows=16).kind == "outage"


def test_a_trickle_that_never_waits_is_idle_though_packets_were_dropped_lately():
    link = Link().busy()
    for _ in range(5):  # 5 packets of 1250 in a second
        link.go_on(0.5)
        link.go_on(0.1, packets=5, drops=1)
        state = link.go_on(0.4)
    assert state.kind == "idle"
    assert state.words == "the link carried 0.04 Mbit/s, 0% of its rate for 1.0 s"


def test_silence_is_seen_before_it_is_believed():
    link = Link().busy()
    link.go_on(0.9, flows=16)
    assert not link.watch.seems_silent
    assert link.go_on(0.2, flows=16).kind == "busy"
    assert link.watch.seems_silent


def test_a_sample_without_a_packet_may_be_how_a_silence_begins():
    link = Link().busy()
    assert not link.watch.may_be_silent
    link.go_on(0.1, flows=16)
    assert link.watch.may_be_silent
    link.go_on(0.1, packets=125, backlog=30, flows=16)
    assert not link.watch.may_be_silent
    assert not link.watch.seems_silent  # it was a moment


def test_a_slow_link_may_be_silent_after_the_time_of_two_packets():
    """At 12 kbit/s a packet of 1000 bytes takes 0.67 s."""
    link = Link(rate=12e3)
    link.go_on(2.0, packets=1, backlog=5, flows=2)
    link.go_on(1.3, backlog=5, flows=2)
    assert not link.watch.may_be_silent
    link.go_on(0.1, backlog=5, flows=2)
    assert link.watch.may_be_silent


def test_a_link_that_another_one_starves_is_told_from_a_busy_one():
    link = Link().busy()
    assert link.go_on(3.5, packets=60, flows=16).kind == "busy"
    state = link.go_on(1.0, packets=60, flows=16)
    assert state.kind == "elsewhere"
    assert "4.8 Mbit/s, 48% of its rate" in state.words


def test_a_moment_of_silence_is_no_state():
    link = Link().busy()
    for _ in range(20):
        assert link.go_on(0.9, flows=16).kind == "busy"
        assert link.go_on(1.0, packets=125, backlog=30, flows=16).kind == "busy"


def test_a_state_ends_within_a_second_when_traffic_comes_back():
    for flows, kind in ((0, "idle"), (16, "outage")):
        link = Link().busy()
        assert link.go_on(5.0, flows=flows).kind == kind
        assert link.go_on(1.0, packets=125, backlog=30, flows=16).kind == "busy"


def test_a_slow_link_is_looked_at_for_long_enough():
    """At 12 kbit/s a packet of 1000 bytes takes 0.67 s: a second without one is nothing."""
    link = Link(rate=12e3)
    for _ in range(20):
        link.go_on(0.1, packets=1, backlog=5, flows=2)
        link.go_on(1.2, packets=0, backlog=5, flows=2)
    assert link.watch.state.kind == "busy"


def test_a_state_is_a_value():
    link = Link().busy()
    before, kept = link.watch, copy.deepcopy(link.watch)
    link.go_on(5.0)
    assert before == kept


# --- in simulated networks -----------------------------------------------------------------

RED = {
    "discipline": "red",
    "limit": "100 packets",
    "min_threshold": "15 packets",
    "max_threshold": "45 packets",
    "max_probability": 0.1,
    "weight": 0.002,
}


def group(**changes):
    return {
        "count": 16,
        "path": ["bottleneck"],
        "rtt": "60 ms",
        "sender": "newreno",
        "packet_size": "1000 bytes",
        "start": "0 s .. 1 s",
    } | changes


def states(flows, until_s, knowledge="full", links=(), changes=()):
    """(time, kind) of each new state."""
    scenario = scenario_from_document(
        {
            "title": "What the link does",
            "duration": "60 s",
            "warm_up": "5 s",
            "links": {
                "bottleneck": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": RED},
                **dict(links),
            },
            "flows": flows,
            "changes": list(changes),
        },
        origin="test",
    )
    router = SimulatedRouter(scenario.core_json(), "bottleneck", 1, knowledge)
    senses, _ = Senses.begin().after(router.observe())
    told = []
    for step in range(1, round(10 * until_s) + 1):
        router.wait(0.1 * step)
        senses, _ = senses.after(router.observe())
        kind = senses.link_state.kind
        if not told or told[-1][1] != kind:
            told.append((0.1 * step, kind))
    return told


@pytest.mark.parametrize("knowledge", ["full", "flow count", "counters"])
def test_a_link_whose_flows_end_is_idle_until_others_come(knowledge):
    flows = {"early": group(stop="15 s"), "late": group(start="30 s")}
    told = states(flows, 40.0, knowledge)
    assert [kind for _, kind in told] == ["unknown", "busy", "idle", "busy"]
    assert 17.0 < told[2][0] < 20.0
    assert 30.0 < told[3][0] < 32.0


@pytest.mark.parametrize("knowledge", ["full", "counters"])
def test_a_link_that_stops_sending_is_out_until_it_sends_again(knowledge):
    changes = [
        {"at": "15 s", "link": "bottleneck", "rate": "1 kbit/s"},
        {"at": "25 s", "link": "bottleneck", "rate": "10 Mbit/s"},
    ]
    told = states({"bulk": group()}, 40.0, knowledge, changes=changes)
    assert [kind for _, kind in told] == ["unknown", "busy", "outage", "busy"]
    assert 16.0 < told[2][0] < 18.0
    assert 25.0 < told[3][0] < 27.0


def test_a_link_behind_or_before_a_narrower_one_is_not_the_bottleneck():
    other = {"other": {"rate": "5 Mbit/s", "delay": "1 ms", "queue": RED}}
    for path in (["bottleneck", "other"], ["other", "bottleneck"]):
        told = states({"bulk": group(path=path)}, 30.0, links=other.items())
        assert told[-1][1] == "elsewhere"


@pytest.mark.parametrize("count", [1, 4, 16, 64])
def test_a_bottleneck_is_busy_all_the_time(count):
    told = states({"bulk": group(count=count)}, 60.0)
    assert [kind for _, kind in told] == ["unknown", "busy"]


def test_a_little_web_traffic_is_no_bottleneck():
    web = group(
        count=5,
        traffic={
            "kind": "web",
            "mean_gap": "2 s",
            "size": {"distribution": "exponential", "mean": "30 kB"},
        },
    )
    assert "busy" not in [kind for _, kind in states({"web": web}, 60.0)]
