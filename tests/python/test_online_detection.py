"""Detectors on hand-made observations: what they notice, how soon, and what they leave alone."""

import math
import random
from dataclasses import replace
from typing import NamedTuple

import pytest

from online_world import SIXTEEN_FLOWS
from vermilion.online.decide.detection import ConditionWatch, QueueWatch
from vermilion.online.sense.sampler import Sample

QUEUEING_S = 0.024


def sample(time_s, backlog):
    return Sample(
        time_s=time_s,
        interval_s=0.1,
        backlog_before_packets=30,
        backlog_packets=backlog,
        backlog_bytes=1000 * backlog,
        packets=125,
        bytes=125_000,
        drops=0,
        marks=0,
        active_flows=16,
        heard_flows=16,
        rtt_samples=125,
        mean_rtt_s=0.052,
    )


class Noticed(NamedTuple):
    """An alarm, and when it was given."""

    time_s: float
    watcher: str
    reason: str
    details: dict


def noticed(alarm, number):
    return Noticed(number * 0.1, alarm.watcher, alarm.reason, alarm.details)


def first_alarm(watch, pictures):
    for number, picture in enumerate(pictures, start=1):
        watch, alarm = watch.after(replace(picture, time_s=number * 0.1))
        if alarm is not None:
            return noticed(alarm, number)
    return None


def queue_alarms(watch, backlogs):
    alarms = []
    for number, backlog in enumerate(backlogs, start=1):
        watch, alarm = watch.after(sample(number * 0.1, backlog))
        if alarm is not None:
            alarms.append(noticed(alarm, number))
    return alarms


def noise_of(sd, correlation_s):
    """The long-run standard deviation of the one-second means of that queue."""
    r = math.exp(-0.1 / correlation_s)
    return sd * math.sqrt((1 + r) / (1 - r)) / math.sqrt(10)


def wandering_queue(mean, sd, seconds, correlation_s, seed):
    """A first-order autoregressive backlog, cut off at empty."""
    coins = random.Random(seed)
    keep = math.exp(-0.1 / correlation_s)
    state = 0.0
    for _ in range(round(seconds / 0.1)):
        state = keep * state + math.sqrt(1 - keep**2) * coins.gauss(0, sd)
        yield max(0, round(mean + state))


def test_a_flow_more_in_sixteen_is_no_new_situation():
    assert (
        first_alarm(
            ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), [replace(SIXTEEN_FLOWS, flows=17)] * 100
        )
        is None
    )


def test_forty_eight_flows_arriving_over_a_second_are_noticed_within_four_tenths():
    ramp = [replace(SIXTEEN_FLOWS, flows=16 + round(4.8 * step)) for step in range(1, 11)]
    alarm = first_alarm(ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), ramp)
    assert alarm is not None
    assert alarm.watcher == "flows"
    assert alarm.time_s <= 0.4
    assert alarm.reason == "16 flows have become 30"


def test_one_flow_leaving_a_pair_is_noticed():
    pair = replace(SIXTEEN_FLOWS, flows=2, base_rtts_s=(0.028, 0.028))
    alarm = first_alarm(
        ConditionWatch(pair, QUEUEING_S), [replace(pair, flows=1, base_rtts_s=(0.028,))] * 5
    )
    assert alarm is not None
    assert alarm.watcher == "flows"


def test_a_flow_count_that_flickers_is_no_change():
    flicker = [replace(SIXTEEN_FLOWS, flows=flows) for flows in (20, 20, 16) * 100]
    assert first_alarm(ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), flicker) is None


def test_a_mixture_that_drifts_is_noticed_at_the_second_flow_replaced_of_sixteen():
    one = replace(SIXTEEN_FLOWS, base_rtts_s=(0.028,) * 15 + (0.180,))
    two = replace(SIXTEEN_FLOWS, base_rtts_s=(0.028,) * 14 + (0.180,) * 2)
    assert first_alarm(ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), [one] * 100) is None
    alarm = first_alarm(ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), [two] * 10)
    assert alarm is not None
    assert alarm.watcher == "round-trip"
    assert "28 ms has become 47 ms" in alarm.reason


def test_noise_of_the_round_trip_estimates_is_no_change():
    coins = random.Random(1)
    noisy = [
        replace(
            SIXTEEN_FLOWS, base_rtts_s=tuple(sorted(coins.gauss(0.028, 0.002) for _ in range(16)))
        )
        for _ in range(36_000)
    ]
    assert first_alarm(ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), noisy) is None


def test_a_slower_link_is_noticed_with_both_rates_in_the_reason():
    alarm = first_alarm(
        ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), [replace(SIXTEEN_FLOWS, rate_bit_per_s=6e6)] * 3
    )
    assert alarm is not None
    assert alarm.watcher == "rate"
    assert alarm.reason == "the service rate has gone from 10 to 6 Mbit/s"


def test_a_constant_load_raises_no_alarm_in_an_hour():
    watch = QueueWatch.begin(predicted_mean=30, noise=noise_of(5, 0.3), scale=30)
    assert queue_alarms(watch, wandering_queue(30, 5, 3600, 0.3, seed=1)) == []


def test_a_wildly_swinging_queue_that_the_model_predicted_raises_no_alarm_in_an_hour():
    watch = QueueWatch.begin(predicted_mean=27, noise=noise_of(13, 0.8), scale=30)
    assert queue_alarms(watch, wandering_queue(27, 13, 3600, 0.8, seed=2)) == []


def test_a_queue_that_leaves_the_prediction_is_noticed_within_seconds():
    watch = QueueWatch.begin(predicted_mean=30, noise=2.0, scale=30)
    alarms = queue_alarms(watch, wandering_queue(45, 4, 10, 0.3, seed=3))
    assert alarms[0].watcher == "queue"
    assert alarms[0].time_s <= 3.0
    assert "above the 30.0 packets predicted" in alarms[0].reason


def test_an_error_the_outer_correction_handles_is_left_to_it():
    watch = QueueWatch.begin(predicted_mean=30, noise=1.0, scale=30)
    assert queue_alarms(watch, wandering_queue(32.5, 2, 600, 0.3, seed=4)) == []


@pytest.mark.parametrize(
    ("noise", "backlog", "seconds"),
    [
        # A standard deviation of 8: the slack is 0.75 of it, 6, and the threshold 6 of it, 48.
        (8.0, 30 + 6, None),
        (8.0, 30 - 6, None),
        (8.0, 30 + 11, 10.0),  # 5 a second beyond the slack: 45 after 9 s, and 50 after 10
        (8.0, 30 - 11, 10.0),
        # One of 1: the slack is a tenth of the length of 30, 3, and the threshold half of it, 15.
        (1.0, 30 + 3, None),
        (1.0, 30 + 7, 4.0),  # 4 a second beyond the slack: 12 after 3 s, and 16 after 4
        (1.0, 30 - 7, 4.0),
    ],
)
def test_the_slack_and_the_threshold_are_those_of_the_documentation(noise, backlog, seconds):
    watch = QueueWatch.begin(predicted_mean=30, noise=noise, scale=30)
    alarms = queue_alarms(watch, [backlog] * 400)
    if seconds is None:
        assert alarms == []
    else:
        assert alarms[0].time_s == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("changed", "samples"),
    [
        ({"rate_bit_per_s": 10.39e6}, None),  # 4 % off, twice in a row
        ({"rate_bit_per_s": 10.41e6}, 2),
        ({"rate_bit_per_s": 9.61e6}, None),
        ({"rate_bit_per_s": 9.59e6}, 2),
        ({"flows": 18}, 3),  # 10 % of 16 are 1.6; three in a row
        ({"flows": 14}, 3),
        # Of 28 ms and a queue of 24 ms 20 % are 10.4 ms; five in a row
        ({"base_rtts_s": (0.028 + 0.0102,) * 16}, None),
        ({"base_rtts_s": (0.028 + 0.0130,) * 16}, 5),
        # Where they are estimated, at least twice the doubt.
        ({"flows": 20, "flows_doubt": 0.13}, None),  # 25 % off
        ({"flows": 20, "flows_doubt": 0.12}, 3),
        ({"base_rtts_s": (0.028 + 0.0130,) * 16, "rtts_doubt": 0.13}, None),
    ],
)
def test_a_change_counts_beyond_the_tolerances_of_the_documentation(changed, samples):
    now = replace(SIXTEEN_FLOWS, **changed)
    alarm = first_alarm(ConditionWatch(SIXTEEN_FLOWS, QUEUEING_S), [now] * 20)
    if samples is None:
        assert alarm is None
    else:
        assert alarm.time_s == pytest.approx(samples * 0.1)
