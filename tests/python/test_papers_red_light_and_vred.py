"""What the runs of the RED Light talk and of the VRED paper work out besides the simulator."""

import numpy as np
import pytest

from vermilion.simulate import run
from vermilion_lab.papers.jamali_2013.settings import SCENARIOS, SETTINGS, queues, scenario_of
from vermilion_lab.papers.jamali_2013.totals import saves
from vermilion_lab.papers.nichols_1998.filters import gain_for, light_filter
from vermilion_lab.papers.nichols_1998.loads import mostly_forced, packets_between_drops
from vermilion_lab.papers.nichols_1998.network import LOADS, QUEUES, RATES, TRANSFERS_AT, load, pipe
from vermilion_lab.papers.verdict import Ruling


def test_the_filter_follows_an_emptying_queue_at_once_and_averages_a_growing_one():
    assert light_filter([8, 8, 0, 4], 0.5) == [4, 6, 0, 2]


@pytest.mark.parametrize(
    # The talk has 1/16 for samples of 1 ms and its example; 100 ms have 100 samples, of which 64
    # are the power of two below, and 83 of 1.2 ms.
    ("interval_s", "round_trip_s", "gain"),
    [(0.001, 0.031, 1 / 16), (0.001, 0.1, 1 / 64), (0.0012, 0.1, 1 / 64), (0.008, 0.1, 1 / 8)],
)
def test_the_gain_is_the_inverse_of_the_samples_in_a_round_trip_rounded_down(
    interval_s, round_trip_s, gain
):
    assert gain_for(interval_s, round_trip_s) == gain


def test_packets_between_drops_are_those_that_arrived_since_the_drop_before():
    series = {
        "time_s": np.array([1.0, 2.0, 3.0, 4.0]),
        "arrivals": np.array([10.0, 5.0, 7.0, 3.0]),
        "drops": np.array([1.0, 0.0, 2.0, 1.0]),
    }
    # Drops are taken to be the last arrivals of their moment: the 10th, 21st, 22nd and 25th.
    times, gaps = packets_between_drops(series)
    assert times == [3.0, 3.0, 4.0]
    assert gaps == [11.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("rate", "packets"), [(1.5, 12), (10.0, 83), (45.0, 375)], ids=["1.5", "10", "45"]
)
def test_the_pipe_is_the_rate_times_a_tenth_of_a_second(rate, packets):
    # 12000 bits each: 12.5, 83.3 and 375 packets; a half is rounded to the even number.
    assert pipe(rate) == packets


def test_every_load_of_the_talk_runs_and_drops():
    for kind in LOADS:
        for rate in RATES:
            for queue in QUEUES:
                scenario = load(kind, rate, TRANSFERS_AT[rate][1], queue)
                short = scenario.with_values({"duration": "4 s", "warm_up": "0 s"})
                total = run(short, 1).link("bottleneck").total
                assert total["drops"] > 0, (kind, rate, queue)


def test_forced_drops_are_those_above_the_threshold_and_of_a_full_buffer():
    found = {"drops": [10.0, 10.0], "forced": [4.0, 4.0], "full": [3.0, 3.0]}
    [check] = mostly_forced({"forced-drops": {"a reading": {"a load": found}}})
    assert check.interval.mean == 0.7
    assert check.verdict is Ruling.HOLDS
    found["full"] = [0.0, 0.0]
    [check] = mostly_forced({"forced-drops": {"a reading": {"a load": found}}})
    assert check.verdict is Ruling.FAILS


def test_every_reading_of_vred_runs_under_every_setting_of_its_ns2():
    for scenario in SCENARIOS:
        for settings in SETTINGS:
            for queue in queues():
                short = scenario_of(scenario, settings, queue).with_values({"duration": "42 s"})
                assert run(short, 1).link("bottleneck").total["drops"] > 0


def test_a_saving_is_of_reds_mean_count():
    scenario = next(iter(SCENARIOS))
    # 15.6 % are published. Here a red of 100 drops, and 84 to 85 with VRED.
    by_queue = {name: {"drops": [84.0, 85.0, 84.0, 85.0]} for name in queues()}
    by_queue["RED"] = {"drops": [100.0, 100.0, 100.0, 100.0]}
    checks = saves({"table-1": {scenario: {"a setting": by_queue}}}, scenario)
    assert {check.verdict for check in checks} == {Ruling.HOLDS}
    assert checks[0].interval.mean == pytest.approx(-0.155)
    by_queue["RED"] = {"drops": [85.0, 84.0, 85.0, 84.0]}
    checks = saves({"table-1": {scenario: {"a setting": by_queue}}}, scenario)
    assert {check.verdict for check in checks} == {Ruling.FAILS}
