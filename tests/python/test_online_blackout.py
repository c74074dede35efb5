"""A queue that drops everything though none waits: how it is seen, and what is done about it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from online_world import CONFIGURATION, FIRST, POLICY, TICK_S, World
from test_cli import vermilion
from vermilion.online import run_online
from vermilion.online.decide.controller import Controller
from vermilion.online.decide.states import Applying
from vermilion.online.decide.step import step
from vermilion.online.entries import DecisionKind
from vermilion.online.events import Began, Command
from vermilion.online.sense.link_state import Blackout, blackout_of
from vermilion.online.sense.sampler import Sample
from vermilion.scenario import load_scenario

__all__ = ["vermilion"]  # the fixture

SHUT_RED = Path(__file__).parents[2] / "benches" / "kernel_networks" / "shut-red.toml"
SHUT_S = 3.0


def sample(time_s, *, packets=0, drops=0, marks=0, backlog=0, interval_s=1.0):
    return Sample(
        time_s=time_s,
        interval_s=interval_s,
        backlog_before_packets=0,
        backlog_packets=backlog,
        backlog_bytes=1000 * backlog,
        packets=packets,
        bytes=1000 * packets,
        drops=drops,
        marks=marks,
        active_flows=None,
        heard_flows=None,
        rtt_samples=None,
        mean_rtt_s=None,
    )


def test_a_queue_that_is_empty_and_drops_all_that_comes_is_blacked_out():
    carried = [sample(1.0, packets=700, drops=9), sample(2.0, packets=800)]
    shut = [sample(3.0 + each, drops=each % 2) for each in range(6)]
    assert blackout_of([*carried, *shut]) == Blackout(2.0, 6.0, 3, 3, 0, 800.0)


@pytest.mark.parametrize(
    "last",
    [
        sample(8.0, packets=2, drops=9),  # some got through
        sample(8.0, backlog=2, drops=9),  # some wait: the link may be cut off
    ],
)
def test_packets_that_get_in_end_it(last):
    shut = [sample(1.0 + each, drops=5) for each in range(7)]
    assert blackout_of(shut) is not None
    assert blackout_of([*shut, last]) is None


def test_a_queue_that_marks_all_it_does_not_drop_is_blacked_out_as_well():
    """As a Linux queue was seen to do whose senders understand marks: 3 % of the link in use."""
    carried = sample(1.0, packets=700, drops=466, marks=198)
    shut = [sample(2.0 + each, packets=70, drops=4, marks=69 + each % 2) for each in range(5)]
    assert blackout_of([carried, *shut]) == Blackout(1.0, 5.0, 370, 20, 347, 700.0)
    in_use = [replace(each, packets=each.packets + 10, marks=each.marks + 10) for each in shut]
    assert blackout_of([carried, *in_use]) is None  # more than a tenth of what it has carried
    waiting = [replace(each, backlog_packets=1) for each in shut[:1]]
    assert blackout_of([carried, *waiting, *shut[1:]]) is None
    unmarked = [replace(each, marks=0) for each in shut]
    assert blackout_of([carried, *unmarked]) is None


@pytest.mark.parametrize(("drops", "found"), [(19, True), (18, False)])
def test_of_twenty_packets_one_may_get_through(drops, found):
    shut = [sample(2.0 + each, packets=1, drops=drops) for each in range(5)]
    assert (blackout_of([sample(1.0, packets=700), *shut]) is not None) == found


@pytest.mark.parametrize(("waiting", "found"), [(1, True), (2, False)])
def test_of_ten_readings_one_may_find_a_packet(waiting, found):
    shut = [sample(2.0 + each, drops=5, backlog=each < waiting) for each in range(10)]
    assert (blackout_of([sample(1.0, packets=700), *shut]) is not None) == found


@pytest.mark.parametrize(("packets", "found"), [(70, True), (71, False)])
def test_a_link_that_carries_more_than_a_tenth_of_what_it_has_marks_for_a_reason(packets, found):
    shut = [sample(2.0 + each, packets=packets, marks=packets) for each in range(5)]
    assert (blackout_of([sample(1.0, packets=700), *shut]) is not None) == found


def test_what_is_short_or_has_next_to_nothing_to_carry_is_none():
    assert blackout_of([]) is None
    assert blackout_of([sample(1.0 + each, drops=5) for each in range(4)]) is None
    assert blackout_of([sample(1.0 + each) for each in range(60)]) is None
    assert blackout_of([sample(1.0 + each, drops=each < 2) for each in range(60)]) is None


def shut(policy, in_force, *, rate=125):
    """What a controller asks the router for, after a queue has been shut for a while."""
    world = World(in_force=dict(in_force), packets=rate)
    controller, _ = step(Controller.of(policy, CONFIGURATION), Began(dict(in_force)), 0.0)
    for tick in range(1, 100):
        now_s = tick * TICK_S
        world.shut = 2 if now_s > SHUT_S else 0
        controller, _ = step(controller, world.observe(now_s), now_s)
        if isinstance(controller.state, Applying):
            return now_s, dict(controller.state.change.parameters)
    return None


SLOW = {**FIRST, "weight": 0.0003}


def test_the_average_is_made_to_remember_what_leaves_in_twenty_milliseconds():
    at_s, setting = shut(POLICY, SLOW)
    assert at_s == pytest.approx(SHUT_S + 5.0)
    assert setting == {"weight": pytest.approx(1.0 / 25.0)}  # 1250 packets/s
    assert shut(POLICY, SLOW, rate=1250)[1] == {"weight": pytest.approx(1.0 / 250.0)}
    assert shut(POLICY, SLOW, rate=10)[1] == {"weight": pytest.approx(1.0 / 10.0)}


def test_linux_has_the_weights_that_are_powers_of_two():
    names = ("level", "weight_log")
    setting = {"level": 45.0, "weight_log": 12.0}
    policy = replace(POLICY, parameters=names, space={})
    assert shut(policy, setting)[1] == {"weight_log": 4.0}
    assert shut(policy, {**setting, "weight_log": 3.0}) is None


def test_nothing_goes_beyond_what_the_operator_lets_be_changed():
    box = {"links.bottleneck.queue.weight": [0.0001, 0.002]}
    assert shut(replace(POLICY, space=box), SLOW)[1] == {"weight": 0.002}
    assert shut(replace(POLICY, space=box), {**SLOW, "weight": 0.002}) is None
    assert shut(replace(POLICY, parameters=("level",)), SLOW) is None


def test_nothing_is_changed_where_a_person_has_paused_everything():
    world = World(in_force=dict(SLOW))
    controller, _ = step(Controller.of(POLICY, CONFIGURATION), Began(dict(SLOW)), 0.0)
    controller, _ = step(controller, Command("pause"), 0.0)
    for tick in range(1, 100):
        world.shut = 2 * (tick > 30)
        controller, _ = step(controller, world.observe(tick * TICK_S), tick * TICK_S)
        assert not isinstance(controller.state, Applying)


def test_what_is_watched_first_is_left_alone_for_so_long():
    watched = replace(POLICY, watch_first_s=9.0)
    assert shut(watched, SLOW)[0] == pytest.approx(9.0)


def test_red_below_a_shaper_shuts_its_queue_and_is_opened_again():
    """Floyd's and Jacobson's example of 1993 with Linux senders; left alone, it stays shut."""
    run = run_online(
        load_scenario(SHUT_RED, ["duration=30 s"]),
        seed=1,
        clock="fixed",
        evaluations=20,
        re_evaluations=1,
        comparisons=3,
    )
    left_alone, tuned = (
        result.link("bottleneck").phases[-1]["utilization"] for result in (run.reference, run.tuned)
    )
    assert left_alone < 0.001
    assert tuned > 0.7
    [blackout] = [each for each in run.decisions if each.kind == DecisionKind.BLACKOUT]
    follows = run.decisions[run.decisions.index(blackout) + 1]
    assert follows.kind == DecisionKind.APPLIED
    assert follows.details["setting"] == {"weight_log": 4.0}
    assert follows.time_s < 6.5


def test_a_phase_in_which_nothing_gets_through_is_waited_for_to_its_end(vermilion):
    code, shown, told = vermilion(
        "online", SHUT_RED, "--mode", "observe", "--set", "duration=3 s", "--all"
    )
    assert (code, told) == (0, "")
    _, shut, whole = re.split(
        r"1 \.\. 3 s *$|whole run *$", shown.partition("flows long")[0], flags=re.MULTILINE
    )
    assert re.search(r"  knee \(ms\) +2000(\.0)? +2000(\.0)?\n", shut)
    assert "  knee (ms)" in whole


@pytest.mark.evidence
def test_a_tuning_finds_its_way_out_of_a_shut_queue(vermilion):
    """The setting in force lets nothing through, and is compared with for all that."""
    code, shown, told = vermilion("tune", SHUT_RED, "--budget", "20", "--set", "duration=10 s")
    assert (code, told) == (0, "")
    assert "significantly better" in shown
