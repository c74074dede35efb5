"""What is made of a router's counters, and of what a monitor adds to them."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from vermilion.online.sense.senses import Senses
from vermilion.routers.base import FlowTraffic, Observation, Reading, RttSamples


def steady_readings(count, packets=125, backlog=30, drops=1, step_s=0.1):
    return [
        Reading(
            time_s=step_s * n,
            backlog_packets=backlog,
            backlog_bytes=1000 * backlog,
            forwarded_packets=packets * n,
            forwarded_bytes=1000 * packets * n,
            drops=drops * n,
            marks=0,
        )
        for n in range(count)
    ]


def round_trips(pairs):
    return RttSamples(
        np.array([flow for flow, _ in pairs], dtype=np.int64),
        np.array([seconds for _, seconds in pairs], dtype=np.float64),
    )


def traffic(packets_of, size=1000, responsive=None):
    """Packets by flow, all of one size."""
    flows = np.array(list(packets_of), dtype=np.int64)
    packets = np.array(list(packets_of.values()), dtype=np.int64)
    answers = np.array(
        [responsive is None or flow in responsive for flow in packets_of], dtype=bool
    )
    return FlowTraffic(flows, packets, packets * size, answers)


def take_all(observations, senses=None):
    """(the senses after all of them, the sample or None of each)."""
    senses = Senses.begin() if senses is None else senses
    samples = []
    for observation in observations:
        senses, sample = senses.after(observation)
        samples.append(sample)
    return senses, samples


def observed(readings, flows=16, **others):
    return [Observation(reading, flows, **others) for reading in readings]


def looked_at(one_in, flows, sampled, intervals, since):
    """Readings and traffic of ``flows`` equal flows, of which ``sampled`` are looked at."""
    numbers = [1024 * flow + sibling for flow in sampled for sibling in range(one_in)]
    seen = replace(traffic(dict.fromkeys(numbers, 160 // flows)), one_in=one_in)
    readings = steady_readings(since + intervals)[since:]
    return [
        Observation(reading, None, round_trips([(1024 * flow, 0.06) for flow in sampled]), seen)
        for reading in readings
    ]


# --- flows that a monitor looks at one in so many of -----------------------------------------


def test_another_share_of_the_flows_that_are_looked_at_is_no_other_traffic():
    everyone, some = range(16), (0, 1, 3, 4, 7, 9, 11, 12, 14)  # 9 of 16, which say 18
    senses = Senses.begin()
    stages = ((1, everyone, 0), (2, some, 80), (1, everyone, 160), (4, (1, 2, 3), 240))
    for one_in, sampled, since in stages:
        for observation in looked_at(one_in, 16, sampled, 80, since):
            senses, _ = senses.after(observation)
            if senses.history and senses.latest.time_s > 0.15:
                assert senses.picture().flows == 16, senses.latest.time_s
    assert len(senses.picture().base_rtts_s) > 0


def test_flows_that_come_while_some_are_looked_at_are_noticed():
    senses, _ = take_all(looked_at(1, 16, range(16), 80, 0))
    senses, _ = take_all(looked_at(2, 16, range(9), 80, 80), senses)
    senses, _ = take_all(looked_at(2, 32, range(18), 80, 160), senses)
    assert senses.picture().flows == 32
    # Where all are looked at again, they are counted.
    senses, _ = take_all(looked_at(1, 20, range(20), 80, 240), senses)
    assert senses.picture().flows == 20


# --- samples -------------------------------------------------------------------------------


def test_the_first_reading_is_no_sample():
    senses, samples = take_all(observed(steady_readings(1)))
    assert samples == [None]
    assert senses.picture() is None
    assert senses.latest is None


def test_a_sample_is_the_difference_of_two_readings():
    senses, (_, sample) = take_all(observed(steady_readings(2)))
    assert (sample.packets, sample.bytes, sample.drops) == (125, 125_000, 1)
    assert sample.backlog_packets == 30
    assert sample.interval_s == pytest.approx(0.1)
    assert senses.latest is sample


def test_an_interval_in_which_the_router_restarted_is_left_out():
    readings = steady_readings(3)
    readings[2] = replace(readings[2], forwarded_packets=5, forwarded_bytes=5000, drops=0)
    after = replace(readings[2], time_s=0.3, forwarded_packets=130, forwarded_bytes=130_000)
    _, taken = take_all(observed([*readings, after]))
    assert taken[2] is None
    assert taken[3].packets == 125


def test_a_counter_that_wraps_at_32_bits_costs_one_sample():
    top = 2**32
    readings = [
        replace(r, forwarded_bytes=(top - 200_000 + r.forwarded_bytes) % top)
        for r in steady_readings(5)
    ]
    _, taken = take_all(observed(readings))
    assert [sample is None for sample in taken] == [True, False, True, False, False]
    assert taken[3].bytes == 125_000


def test_bytes_that_the_packets_cannot_add_up_to_make_no_sample():
    readings = steady_readings(4)
    readings[2] = replace(readings[2], forwarded_bytes=2**62)
    readings[3] = replace(readings[3], forwarded_bytes=2**62 + 125_000)
    _, taken = take_all(observed(readings))
    assert taken[2] is None
    assert taken[3].bytes == 125_000


@pytest.mark.parametrize(
    "nonsense",
    [{"time_s": float("nan")}, {"time_s": float("inf")}, {"drops": -1}, {"backlog_packets": -5}],
)
def test_a_reading_that_cannot_be_one_changes_nothing(nonsense):
    readings = steady_readings(3)
    before, _ = take_all(observed(readings[:2]))
    after, sample = before.after(Observation(replace(readings[2], **nonsense)))
    assert sample is None
    assert after == before


def test_a_clock_that_stands_still_gives_no_sample_and_loses_nothing():
    readings = steady_readings(3)
    _, taken = take_all(observed([readings[0], replace(readings[1], time_s=0.0), readings[2]]))
    assert taken[1] is None
    assert taken[2].packets == 250


def test_a_clock_that_goes_back_begins_anew():
    readings = steady_readings(4)
    _, taken = take_all(observed([readings[0], replace(readings[1], time_s=-5.0), *readings[2:]]))
    assert [sample is None for sample in taken] == [True, True, False, False]


def test_counters_from_a_cache_make_one_sample_when_they_move_again():
    """An agent that renews its counters every 0.3 s: flows move, the counters stand still."""
    readings = steady_readings(7)
    stale = [
        replace(readings[3 * (n // 3)], time_s=readings[n].time_s) for n in range(len(readings))
    ]
    seen = traffic(dict.fromkeys(range(25), 5))
    senses, taken = take_all(observed(stale, flows=25, traffic=seen))
    made = [sample for sample in taken if sample is not None]
    assert [sample.time_s for sample in made] == pytest.approx([0.3, 0.6])
    assert made[1].packets == 375
    assert made[1].interval_s == pytest.approx(0.3)
    # What the monitor told while the counters stood still is not lost.
    assert senses.parts[""].activity.packets.tolist() == [30] * 25


def test_a_backlog_that_vanishes_while_nothing_leaves_is_no_sample():
    readings = steady_readings(2)
    frozen = replace(readings[1], time_s=0.2, backlog_packets=3)
    _, taken = take_all(observed([*readings, frozen]))
    assert taken[2] is None


def test_a_link_that_carries_nothing_makes_samples():
    _, taken = take_all(observed(steady_readings(3, packets=0, drops=0)))
    assert [sample is None for sample in taken] == [True, False, False]


def test_what_nobody_tells_is_absent_and_not_zero():
    _, (_, sample) = take_all([Observation(reading) for reading in steady_readings(2)])
    assert sample.active_flows is None
    assert sample.heard_flows is None
    assert sample.rtt_samples is None


def silent_after(seconds, *, moves_on_s=0.0):
    """The senses of a queue whose counters stand still for so long, and when that ended."""
    moving = steady_readings(31)
    still = [replace(moving[-1], time_s=3.0 + n / 10) for n in range(1, round(10 * seconds) + 1)]
    again = [
        replace(
            moving[-1],
            time_s=still[-1].time_s + n / 10,
            forwarded_packets=moving[-1].forwarded_packets + 125 * n,
            forwarded_bytes=moving[-1].forwarded_bytes + 125_000 * n,
        )
        for n in range(1, round(10 * moves_on_s) + 1)
    ]
    senses, _ = take_all(observed([*moving, *still, *again], flows=16))
    return senses, still[-1].time_s


def test_when_the_link_was_silent_last_is_remembered():
    senses, ended_s = silent_after(1.5, moves_on_s=5.0)
    assert not senses.seems_silent
    assert senses.silent_s == ended_s


def test_a_moment_without_a_packet_is_no_silence():
    senses, _ = silent_after(0.1)
    assert senses.may_be_silent
    senses, _ = silent_after(0.1, moves_on_s=0.1)
    assert not senses.may_be_silent
    assert senses.silent_s < 0.0


# --- values --------------------------------------------------------------------------------


def test_what_was_known_before_stays_what_it_was():
    seen = traffic(dict.fromkeys(range(25), 5))
    trips = round_trips([(flow, 0.05) for flow in range(25)])
    observations = observed(steady_readings(60), flows=25, traffic=seen, round_trips=trips)
    before, _ = take_all(observations[:30])
    kept = copy.deepcopy(before)
    after, _ = take_all(observations[30:], before)
    assert before == kept
    assert after != before
    assert before.picture() == kept.picture()


def test_the_same_observations_make_the_same_senses():
    seen = traffic(dict.fromkeys(range(25), 5))
    observations = observed(steady_readings(40), flows=25, traffic=seen)
    assert take_all(observations) == take_all(copy.deepcopy(observations))


def test_the_history_is_bounded_and_in_order():
    senses, _ = take_all(observed(steady_readings(3000)))
    kept = senses.since(0.0)
    assert kept == senses.history
    assert len(kept) == 1200
    assert [s.time_s for s in kept] == sorted(s.time_s for s in kept)
    assert len(senses.since(kept[-1].time_s - 0.95)) == 10


def test_a_slow_monitor_keeps_as_long_a_history():
    senses, _ = take_all(observed(steady_readings(100, step_s=5.0)))
    assert len(senses.history) == 24


# --- pictures ------------------------------------------------------------------------------


def test_the_picture_has_rate_packet_size_and_base_round_trips():
    trips = round_trips([(flow, 0.028 + 0.024 + 0.0008) for flow in range(16)])
    senses, _ = take_all(observed(steady_readings(20), round_trips=trips))
    picture = senses.picture()
    assert picture.flows == 16
    assert picture.rate_bit_per_s == pytest.approx(10e6)
    assert picture.packet_bytes == pytest.approx(1000)
    assert picture.base_rtts_s == pytest.approx((0.028,) * 16)
    assert picture.marked_share == 0.0
    assert picture.knowledge == "full"


def test_the_share_of_marks_tells_who_understands_them():
    readings = [replace(r, marks=3 * r.drops) for r in steady_readings(10)]
    senses, _ = take_all(observed(readings))
    assert senses.picture().marked_share == pytest.approx(0.75)


def test_a_quiet_link_has_a_picture_without_rate_or_round_trips():
    readings = steady_readings(10, packets=0, backlog=0, drops=0)
    picture = take_all(observed(readings, flows=0))[0].picture()
    assert picture.flows == 0
    assert picture.rate_bit_per_s is None
    assert picture.packet_bytes is None
    assert picture.marked_share is None


def test_an_interval_much_longer_than_usual_says_nothing_of_the_rate():
    """For twenty seconds nobody asked; the link may have been idle for half of them."""
    readings = steady_readings(10)
    gap = replace(readings[-1], time_s=21.0, forwarded_packets=12_500, forwarded_bytes=12_500_000)
    senses, taken = take_all(observed([*readings, gap]))
    assert taken[-1].interval_s > 20.0
    assert senses.picture().rate_bit_per_s == pytest.approx(10e6)


def test_a_router_that_is_asked_once_a_second_and_answers_late_tells_its_rate():
    """As over SNMP: intervals of a second and some milliseconds, all the time under load."""
    late = steady_readings(5, packets=1262, step_s=1.01)
    senses, _ = take_all(observed(late))
    assert senses.picture().rate_bit_per_s == pytest.approx(1262 * 8000 / 1.01, rel=0.01)


def test_traffic_that_no_loss_slows_down_is_lost_capacity():
    """25 of 125 packets of 1000 bytes in each tenth of a second: 2 of 10 Mbit/s."""
    seen = traffic({1: 50, 2: 50, 9: 25}, responsive={1, 2})
    senses, _ = take_all(observed(steady_readings(50), flows=3, traffic=seen))
    picture = senses.picture()
    assert picture.unresponsive_bit_per_s == pytest.approx(2e6)
    assert picture.flows == 2


def test_packet_sizes_are_told_where_they_differ():
    small, large = traffic({1: 50, 2: 50}, 500), traffic({3: 50, 4: 50}, 1500)
    both = FlowTraffic(
        *(
            np.concatenate((getattr(small, name), getattr(large, name)))
            for name in ("flows", "packets", "bytes", "responsive")
        )
    )
    senses, _ = take_all(observed(steady_readings(50, packets=200), flows=4, traffic=both))
    assert senses.picture().packet_sizes == ((500.0, 2), (1500.0, 2))


def test_packet_sizes_are_not_told_where_all_are_usual():
    seen = traffic({1: 50, 2: 75})
    senses, _ = take_all(observed(steady_readings(50), flows=2, traffic=seen))
    assert senses.picture().packet_sizes == ()


# --- less than everything ------------------------------------------------------------------


def test_counters_alone_make_a_whole_picture():
    """By hand: 100 ms believed and 24 ms queued, 1250 packets/s, 1 of 126 lost.

    A window of sqrt(1.5 * 126) = 13.7 packets; 1250 * 0.124 = 155 packets on their way: 11 flows.
    """
    senses, _ = take_all([Observation(reading) for reading in steady_readings(700)])
    picture = senses.picture()
    assert picture.knowledge == "counters"
    assert picture.flows == 11
    assert picture.base_rtts_s == (0.1,) * 11
    assert picture.known_share == 1.0
    # Who believes that round trips lie between 10 ms and 1 s knows flows to a factor of 3 or so.
    assert 0.8 < picture.flows_doubt < 1.5
    assert picture.rtts_doubt == pytest.approx(1.15, abs=0.01)


def test_marks_count_like_drops():
    readings = [replace(r, marks=r.drops, drops=0) for r in steady_readings(700)]
    dropped, _ = take_all([Observation(reading) for reading in steady_readings(700)])
    marked, _ = take_all([Observation(reading) for reading in readings])
    assert marked.picture().flows == dropped.picture().flows


def test_a_count_of_flows_says_how_far_away_they_are():
    """The same link with 11 flows named: a window of 13.7, 151 packets on their way: 121 ms."""
    senses, _ = take_all(observed(steady_readings(700), flows=11))
    picture = senses.picture()
    assert picture.knowledge == "flow count"
    assert picture.flows == 11
    # 121 - 24 = 97 ms by the law, 100 ms believed.
    assert picture.base_rtts_s == pytest.approx((0.097,) * 11, rel=0.03)
    assert picture.rtts_doubt < 1.15


def test_knowing_the_number_narrows_the_doubt_about_the_rest():
    alone = take_all([Observation(r) for r in steady_readings(700)])[0].picture()
    counted = take_all(observed(steady_readings(700), flows=11))[0].picture()
    assert counted.flows_doubt < alone.flows_doubt
    assert counted.rtts_doubt < alone.rtts_doubt


def test_a_monitor_that_never_hears_a_round_trip_is_given_up():
    """It may sit where acknowledgements do not pass."""
    readings = observed(steady_readings(100), flows=11, round_trips=round_trips([]))
    early, _ = take_all(readings[:30])
    assert early.picture().base_rtts_s == ()
    late, _ = take_all(readings)
    assert late.picture().knowledge == "flow count"
    assert late.picture().known_share == 1.0


def test_a_lossless_busy_link_still_has_flows():
    senses, _ = take_all([Observation(r) for r in steady_readings(700, drops=0)])
    picture = senses.picture()
    assert picture.flows >= 1
    assert picture.flows_doubt > 1.0


def test_counters_of_an_idle_link_tell_of_no_flow():
    readings = [Observation(r) for r in steady_readings(100, packets=0, backlog=0, drops=0)]
    assert take_all(readings)[0].picture().flows == 0
