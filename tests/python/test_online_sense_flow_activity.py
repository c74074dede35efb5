"""How many flows there really are."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from vermilion.online.sense import flow_activity
from vermilion.online.sense.flow_activity import FlowActivity
from vermilion.online.sense.senses import Senses
from vermilion.routers.base import FlowTraffic
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import load_scenario, scenario_from_document


def traffic(packets_of, sizes=None, unresponsive=()):
    flows = np.array(list(packets_of), dtype=np.int64)
    packets = np.array(list(packets_of.values()), dtype=np.int64)
    bytes_each = np.array([(sizes or {}).get(flow, 1000) for flow in packets_of], dtype=np.int64)
    answers = np.array([flow not in unresponsive for flow in packets_of], dtype=bool)
    return FlowTraffic(flows, packets, packets * bytes_each, answers)


class Watched:
    """Intervals of 0.1 s, one after the other."""

    def __init__(self):
        self.activity = FlowActivity()
        self.step = 0

    def go_on(self, intervals, packets_of, open_flows=None, trip_s=None, **others):
        for _ in range(intervals):
            self.step += 1
            now = packets_of(self.step) if callable(packets_of) else packets_of
            self.activity = self.activity.updated(
                0.1 * self.step, 0.1, traffic(now, **others), open_flows, trip_s
            )
        return round(self.activity.effective()[0], 6)


# --- by hand -------------------------------------------------------------------------------


def test_flows_that_send_alike_are_all_flows():
    assert Watched().go_on(40, dict.fromkeys(range(16), 8)) == 16


def test_flows_that_get_next_to_nothing_starve():
    """16 flows that sent 8 packets in 0.1 s; then 13 go on, one sends 1 packet in 2 s, 2 none."""
    watched = Watched()
    watched.go_on(40, dict.fromkeys(range(16), 8), open_flows=16)
    served = dict.fromkeys(range(13), 8)
    watched.go_on(100, lambda step: served | ({13: 1} if step % 20 == 0 else {}), open_flows=16)
    assert watched.activity.starved_since(4.0) == 3
    assert watched.activity.starved_since(0.0) == 0  # all of them had a good beginning


def test_flows_that_come_and_go_more_than_once_will_do_so_again():
    """16 flows; 8 more for ten seconds, and again. What has happened once is over."""
    few, many = dict.fromkeys(range(16), 8), dict.fromkeys(range(24), 8)
    watched = Watched()
    watched.go_on(100, few, open_flows=16)
    watched.go_on(40, many, open_flows=24)
    assert watched.activity.turnover() == (0, 0)
    watched.go_on(60, many, open_flows=24)
    watched.go_on(100, few, open_flows=16)
    assert watched.activity.turnover() == (8, 8)
    again = few | dict.fromkeys(range(32, 40), 8)
    watched.go_on(40, again, open_flows=24)
    assert watched.activity.turnover() == (16, 8)
    watched.go_on(700, again, open_flows=24)
    assert watched.activity.turnover() == (0, 0)
    watched.go_on(1, again)
    assert watched.activity.turnover() == (0, 0)  # nobody counts them


def test_of_those_that_come_at_once_a_few_may_be_late():
    """16 flows, and 20 more of which one has lost its first packets."""
    few = dict.fromkeys(range(16), 8)
    watched = Watched()
    watched.go_on(100, few, open_flows=16)
    watched.go_on(60, few | dict.fromkeys(range(16, 35), 8), open_flows=36)
    watched.go_on(100, few | dict.fromkeys(range(16, 36), 8), open_flows=36)
    assert watched.activity.turnover() == (0, 0)
    watched.go_on(100, few | dict.fromkeys(range(16, 40), 8), open_flows=40)
    assert watched.activity.turnover() == (24, 0)


def test_what_flows_get_in_each_second_has_those_that_get_nothing():
    watched = Watched()
    watched.go_on(40, dict.fromkeys(range(16), 8), open_flows=16)
    watched.go_on(40, dict.fromkeys(range(13), 8), open_flows=16)
    goodput = watched.activity.goodputs_since(4.0)
    assert goodput.shape == (4, 16)
    assert goodput[:, :13] == pytest.approx(640_000.0)  # 80 packets of 1000 bytes in a second
    assert not goodput[:, 13:].any()
    watched.go_on(20, dict.fromkeys(range(8), 8), open_flows=8)  # eight have ended
    assert watched.activity.goodputs_since(4.0) is None
    watched.go_on(20, dict.fromkeys(range(8), 8))
    assert watched.activity.goodputs_since(8.0) is None  # nobody counts them


def test_flows_that_have_ended_do_not_starve():
    watched = Watched()
    watched.go_on(40, dict.fromkeys(range(16), 8), open_flows=16)
    watched.go_on(5, dict.fromkeys(range(16), 8), open_flows=16)
    watched.go_on(95, dict.fromkeys(range(12), 8), open_flows=12)
    assert watched.activity.starved_since(4.0) == 0


def test_flows_that_have_just_come_do_not_starve():
    watched = Watched()
    watched.go_on(40, dict.fromkeys(range(16), 8), open_flows=16)
    watched.go_on(98, dict.fromkeys(range(16), 8), open_flows=16)
    watched.go_on(2, dict.fromkeys(range(20), 8), open_flows=20)
    assert watched.activity.starved_since(4.0) == 0


def test_flows_that_are_open_and_have_sent_nothing_yet_do_not_starve():
    """A connection is known from its first packet on, and its data may come an interval later."""
    watched = Watched()
    watched.go_on(40, dict.fromkeys(range(16), 8), open_flows=16)
    watched.go_on(40, dict.fromkeys(range(15), 8), open_flows=16)
    watched.go_on(1, dict.fromkeys(range(15), 8), open_flows=64)
    assert watched.activity.starved_since(4.0) == 1
    assert watched.activity.goodputs_since(4.0).shape == (4, 16)


def test_starved_flows_are_unknown_where_nobody_counts_flows_or_it_is_too_long_ago():
    watched = Watched()
    watched.go_on(40, dict.fromkeys(range(16), 8))
    assert watched.activity.starved_since(1.0) is None
    watched.go_on(200, dict.fromkeys(range(16), 8), open_flows=16)
    assert watched.activity.starved_since(10.0) == 0
    assert watched.activity.starved_since(1.0) is None  # 15 s are remembered


def test_nothing_is_no_flow():
    watched = Watched()
    assert watched.activity.effective()[0] == 0.0
    assert watched.go_on(10, {}) == 0.0
    assert watched.activity.unresponsive_bit_per_s() == 0.0


def test_flows_of_very_unequal_rates_are_all_flows():
    """Ten times the round trip, a tenth of the rate: 4 near flows and 4 far ones."""
    assert (
        Watched().go_on(40, {**dict.fromkeys(range(4), 20), **dict.fromkeys(range(4, 8), 4)}) == 8
    )


def test_flows_that_are_locked_out_are_none():
    """44 flows try one packet every four seconds beside 20 that have the link."""
    watched = Watched()

    def sent(step):
        trying = [flow for flow in range(20, 64) if step % 40 == flow % 40]
        return {**dict.fromkeys(range(20), 6), **dict.fromkeys(trying, 1)}

    flows = watched.go_on(400, sent, open_flows=64)
    # 44 flows of a packet in 4 s have 0.1 packets/s each, beside 60: less than a hundredth.
    assert flows == pytest.approx(20 + 44 * (1 / 4) / (0.15 * 60), abs=0.8)
    assert watched.activity.effective()[1].tolist() == list(range(20))


def test_new_flows_count_within_half_a_second():
    watched = Watched()
    assert watched.go_on(200, dict.fromkeys(range(16), 8), open_flows=16) == 16
    assert watched.go_on(5, dict.fromkeys(range(64), 2), open_flows=64) == 64


def test_flows_that_have_ended_do_not_count_once_that_is_known():
    watched = Watched()
    watched.go_on(200, dict.fromkeys(range(64), 2), open_flows=64)
    assert watched.go_on(1, dict.fromkeys(range(16), 8), open_flows=16) == 16


def test_flows_that_have_ended_do_not_count_for_long_where_nobody_says_so():
    watched = Watched()
    watched.go_on(200, dict.fromkeys(range(64), 2))
    assert watched.go_on(31, dict.fromkeys(range(16), 8)) == 16


def test_a_flow_that_pauses_for_a_timeout_goes_on_counting():
    watched = Watched()
    watched.go_on(200, dict.fromkeys(range(16), 8), open_flows=16)
    for _ in range(50):
        assert watched.go_on(1, dict.fromkeys(range(14), 9), open_flows=16) == 16


def test_a_pause_is_no_longer_forgiven_when_flows_have_ended():
    """8 of 64 pause when 32 end: the pausing ones are taken for some of those."""
    watched = Watched()
    watched.go_on(200, dict.fromkeys(range(64), 2), open_flows=64)
    watched.go_on(20, dict.fromkeys(range(56), 2), open_flows=64)
    watched.go_on(31, dict.fromkeys(range(24), 5), open_flows=32)
    assert watched.go_on(1, dict.fromkeys(range(24), 5), open_flows=32) == 24


def test_flows_of_which_none_moves_are_none():
    watched = Watched()
    watched.go_on(200, dict.fromkeys(range(16), 8), open_flows=16)
    assert watched.go_on(31, {}, open_flows=16) == 0


def test_one_that_comes_back_after_long_is_not_a_new_flow():
    """A packet of a new flow in its first tenth of a second is a rate; of an old one it is not."""
    sent = dict.fromkeys(range(16), 8)
    watched = Watched()
    watched.go_on(10, {**sent, 99: 1}, open_flows=17)
    watched.go_on(300, sent, open_flows=17)
    assert watched.go_on(1, {**sent, 99: 1}, open_flows=17) < 16.1


def test_long_round_trips_are_looked_at_for_longer():
    """A flow that sends 20 packets once in 5 s, as one of a long round trip may."""

    def sent(step):
        return {1: 2, 2: 2, **({3: 20} if step % 50 == 0 else {})}

    watched = Watched()
    assert watched.go_on(249, sent, trip_s=0.05) == 2.0
    assert watched.go_on(50, sent, trip_s=0.5) == 3.0


def test_what_does_not_slow_down_is_no_flow_but_a_rate():
    watched = Watched()
    sent = {1: 8, 2: 8, 50: 25}
    assert watched.go_on(60, sent, open_flows=3, unresponsive={50}) == 2
    assert watched.activity.unresponsive_bit_per_s() == pytest.approx(2e6)
    assert watched.activity.pausing(watched.activity.effective()[0]) == 0.0


def test_sizes_of_packets_are_classes_of_flows():
    watched = Watched()
    sizes = {1: 100, 2: 100, 3: 1500}
    watched.go_on(60, {1: 8, 2: 8, 3: 8}, sizes=sizes)
    of = watched.activity.effective()[1]
    assert watched.activity.packet_sizes(of, 3) == ((100.0, 2), (1500.0, 1))
    # Six flows of which three are known.
    assert watched.activity.packet_sizes(of, 6) == ((100.0, 4), (1500.0, 2))
    assert watched.activity.packet_sizes(of, 0) == ()


def test_who_is_acknowledged_selectively_is_a_share_of_the_flows_that_move():
    watched = Watched()
    watched.go_on(30, {1: 8, 2: 8, 3: 8, 4: 8})
    assert watched.activity.selective_share() == 0.0
    seen = replace(traffic({1: 8, 2: 8, 3: 8}), selective=np.array([True, False, True]))
    after = watched.activity.updated(3.1, 0.1, seen, 4, None)
    assert after.selective_share() == 0.5
    # Where nobody looks any more, what was seen is still so; who does not slow down is left out.
    again = after.updated(3.2, 0.1, traffic({1: 8, 9: 1}, unresponsive={9}), 5, None)
    assert again.selective_share() == 0.5
    assert FlowActivity().selective_share() == 0.0


def test_whose_packets_may_be_marked_is_a_share_of_the_flows_that_are_there():
    watched = Watched()
    watched.go_on(30, {1: 8, 2: 8, 3: 8, 4: 8})
    assert watched.activity.ecn_capable_share() is None  # nobody looks
    seen = replace(traffic({1: 8, 2: 8, 3: 8}), ecn_capable=np.array([True, False, True]))
    after = watched.activity.updated(3.1, 0.1, seen, 4, None)
    assert after.ecn_capable_share() == 0.5
    # What a capable flow sends again is not, and constant traffic does not count.
    again = replace(traffic({1: 8, 9: 1}, unresponsive={9}), ecn_capable=np.array([False, True]))
    assert after.updated(3.2, 0.1, again, 5, None).ecn_capable_share() == 0.5


def test_a_monitor_may_give_a_flow_in_pieces_and_in_any_order():
    pieces = FlowTraffic(
        np.array([7, 3, 7]), np.array([2, 5, 4]), np.array([200, 500, 400]), np.array([True] * 3)
    )
    whole = traffic({3: 5, 7: 6}, sizes={3: 100, 7: 100})
    begin = FlowActivity()
    assert begin.updated(0.1, 0.1, pieces, 2, None) == begin.updated(0.1, 0.1, whole, 2, None)


def test_memory_is_bounded_however_many_flows_come_and_go(monkeypatch):
    monkeypatch.setattr(flow_activity, "_MOST_REMEMBERED", 200)
    monkeypatch.setattr(flow_activity, "_MOST_ENTRIES", 300)
    watched = Watched()
    for step in range(300):
        watched.go_on(1, dict.fromkeys(range(10 * step, 10 * step + 10), 1))
        # Those of 3 s, of the intervals remembered, and of the one that came.
        assert len(watched.activity.flows) <= 300 + 300 + 10
    assert len(watched.activity.flows) > 300
    watched.go_on(200, {1: 8})
    assert len(watched.activity.flows) <= 201


def test_what_was_known_before_stays_what_it_was():
    watched = Watched()
    watched.go_on(100, dict.fromkeys(range(16), 8), open_flows=16)
    before, kept = watched.activity, copy.deepcopy(watched.activity)
    watched.go_on(200, dict.fromkeys(range(8, 40), 8), open_flows=24)
    assert before == kept
    assert hash(before) == hash(kept)
    assert watched.activity != before


# --- in simulated networks -----------------------------------------------------------------


def network(count, discipline, **queue):
    return scenario_from_document(
        {
            "title": "Flows over one queue",
            "duration": "60 s",
            "warm_up": "5 s",
            "links": {
                "bottleneck": {
                    "rate": "10 Mbit/s",
                    "delay": "10 ms",
                    "queue": {"discipline": discipline, **queue},
                }
            },
            "flows": {
                "bulk": {
                    "count": count,
                    "path": ["bottleneck"],
                    "rtt": "28 ms",
                    "sender": "newreno",
                    "packet_size": "1000 bytes",
                    "start": "0 s .. 1 s",
                }
            },
        },
        origin="test",
    ).core_json()


def watch(core, until_s, seed=1):
    """(time, flows of the picture, packets by flow since 20 s)."""
    router = SimulatedRouter(core, "bottleneck", seed)
    senses, _ = Senses.begin().after(router.observe())
    seen, packets = [], np.zeros(200)
    for step in range(1, round(10 * until_s) + 1):
        router.wait(0.1 * step)
        observation = router.observe()
        senses, _ = senses.after(observation)
        seen.append((0.1 * step, senses.picture().flows))
        if step > 200:
            packets[observation.traffic.flows] += observation.traffic.packets
    return np.array(seen), packets


@pytest.mark.parametrize("seed", [1, 2])
def test_lively_flows_under_red_are_as_many_as_there_are(seed):
    """Of `varying-load`: 16 flows, and 64 once those whose first packet was lost have begun."""
    seen, _ = watch(load_scenario("varying-load").core_json(), 60.0, seed)
    times, flows = seen.T
    for begin_s, end_s, there in ((10.0, 20.0, 16), (30.0, 60.0, 64)):
        between = flows[(times > begin_s) & (times <= end_s)]
        assert np.all(np.abs(between - there) <= 0.1 * there)


def test_flows_that_a_short_queue_locks_out_are_not_counted():
    """Drop-tail of 30 packets: some of 64 flows move next to nothing in 40 s."""
    seen, packets = watch(network(64, "drop-tail", limit="30 packets"), 60.0)
    lively = int((packets > 0.1 * packets.max()).sum())
    assert lively < 58
    late = seen[seen[:, 0] > 20.0, 1]
    assert np.all(np.abs(late - lively) <= 0.1 * lively)


def test_flows_that_ended_while_they_were_locked_out_do_not_pile_up():
    """48 flows come for 3 s out of every 6; in a short queue many never get to say goodbye.

    By the number of open flows there would be well over a hundred, ever more.
    """
    bulk = {
        "path": ["bottleneck"],
        "rtt": "28 ms",
        "sender": "newreno",
        "packet_size": "1000 bytes",
    }
    waves = {
        f"wave-{n}": {**bulk, "count": 48, "start": f"{6 * n + 3} s", "stop": f"{6 * n + 6} s"}
        for n in range(5)
    }
    scenario = scenario_from_document(
        {
            "title": "Waves",
            "duration": "30 s",
            "warm_up": "1 s",
            "links": {
                "bottleneck": {
                    "rate": "10 Mbit/s",
                    "delay": "10 ms",
                    "queue": {"discipline": "drop-tail", "limit": "30 packets"},
                }
            },
            "flows": {"always": {**bulk, "count": 16}, **waves},
        },
        origin="test",
    )
    router = SimulatedRouter(scenario.core_json(), "bottleneck", 1)
    senses, _ = Senses.begin().after(router.observe())
    for step in range(1, 300):
        router.wait(0.1 * step)
        senses, _ = senses.after(router.observe())
        assert senses.picture().flows <= 64
    assert senses.latest.active_flows > 128
    assert senses.picture().flows < 40
