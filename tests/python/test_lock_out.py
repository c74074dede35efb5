"""The kernel's RED locks its queue after a common slow start; RED as published does not."""

import pytest

import vermilion
from linux_reference import CASES, queue_table, scenario_text
from vermilion.scenario import parse_scenario

CASE = next(case for case in CASES.values() if case["case"] == "L1")
AS_PUBLISHED = """discipline = "red"
            limit = "99 packets"
            min_threshold = "9.9 packets"
            max_threshold = "29.7 packets"
            max_probability = 0.1
            weight = 0.001953125"""
"""The kernel's thresholds in packets of 1514 bytes, and its weight, 2^-9."""


GENTLE = 'option_set = "linux", handshake_loss = "timeout"'
"""Senders that begin without slow start where their SYN was lost: what the queue does is its own
doing then, and not that of late slow starts."""


def first_seconds(queue, senders='option_set = "linux"'):
    """The link's metrics from 1 to 4 s in case L1 with this queue, for each of 12 seeds."""
    text = scenario_text(CASE, warm_up_s=1).replace('option_set = "linux"', senders)
    text = text.replace(f'duration = "{CASE["settings"]["T"]} s"', 'duration = "4 s"')
    text = text.replace(queue_table(CASE["settings"]), queue)
    (results,) = vermilion.run_many([parse_scenario(text)], seeds=range(1, 13))
    return [result.link("r0").total for result in results]


def test_the_kernel_is_locked_out_in_these_seconds():
    backlog = CASE["queue_series_seed1"]["backlog_100ms"]
    assert max(backlog[:4]) > 2 * CASE["settings"]["red"]["max"]
    assert set(backlog[10:40]) == {0}


def test_so_is_linux_red_with_every_seed():
    windows = first_seconds(queue_table(CASE["settings"]))
    assert [window["utilization"] for window in windows] == pytest.approx([0] * 12, abs=0.001)
    assert all(window["drop_rate"] == 1 for window in windows)


def test_red_as_published_forgets_while_it_is_idle_and_stays_open():
    windows = first_seconds(AS_PUBLISHED, GENTLE)
    assert all(window["utilization"] > 0.9 for window in windows)
    assert all(window["drop_rate"] < 0.2 for window in windows)
