"""Queues of a real Linux kernel, read and changed; see ``linux_guest.py`` for how it is run.

What is expected is what tc, which shares no code with Vermilion, reads after a change, or what it
takes for an undo.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

import pytest

from linux_guest import run_in_guest
from netlink_reference import REQUESTS
from vermilion.routers.linux.codel import FqCodelOptions
from vermilion.routers.linux.message import (
    ACKNOWLEDGE,
    NEW_QUEUE,
    ROOT,
    queue_body,
    queue_settings,
    request,
)
from vermilion.routers.linux.red import RedOptions
from vermilion.routers.linux.red_family import RedBlock, idle_table

DEVICE = "dummy0"
ADDRESS = f"linux:{DEVICE}"
HANDLE = 1 << 16
RED = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10Mbit probability 0.02"
CHOKE = "choke limit 1000 min 83 max 250 avpkt 1000 burst 139 bandwidth 10mbit probability 0.02"


class Case(NamedTuple):
    """A queue, a change of it through Vermilion, and what tc reads after that."""

    name: str
    make: str
    parameters: dict
    expected: dict
    made_with: dict = {}  # noqa: RUF012 - nobody changes it


class Refused(NamedTuple):
    """A queue, and a change that must not happen, with a part of the message."""

    name: str
    make: str
    parameters: dict
    part: str


CASES = [
    Case(
        "red: probability and marks",
        RED,
        {"max_probability": 0.1, "ecn": True},
        {"probability": 0.1, "ecn": True, "limit": 400_000, "min": 30_000, "ewma": 5},
    ),
    Case(
        "red: thresholds, weight and limit",
        RED,
        {"min_threshold": 10_000, "max_threshold": 40_000, "weight_log": 9, "limit": 100_000},
        {"min": 10_000, "max": 40_000, "ewma": 9, "limit": 100_000, "probability": 0.02},
    ),
    Case(
        "red: packets that cannot be marked pass",
        RED,
        {"ecn": True, "no_drop": True},
        {"ecn": True, "nodrop": True, "adaptive": False},
    ),
    Case("red: nodrop off again", f"{RED} ecn nodrop", {"no_drop": False}, {"nodrop": False}),
    Case("red: adaptive", RED, {"adaptive": True}, {"adaptive": True, "probability": 0.02}),
    Case("red: harddrop", f"{RED} ecn", {"drop_above_maximum": True}, {"harddrop": True}),
    Case(
        "red: a table in microseconds",
        RED,
        {"idle_table": "microseconds"},
        {"Scell_log": 11},
        {"rate_bit_per_s": 1e7},
    ),
    Case(
        "red: the limit is kept with the packets",
        RED,
        {"keep_packets": True, "ecn": True},
        {"limit": 0, "ecn": True},
    ),
    Case(
        "pie: target, interval, gains",
        "pie",
        {"target": 0.02, "interval": 0.03, "alpha": 0.25, "beta": 1.5, "limit": 500},
        {"target": 20_000, "tupdate": 30_000, "alpha": 4, "beta": 24, "limit": 500},
    ),
    Case("pie: an odd target", "pie", {"target": 0.016001}, {"target": 16_000}),
    Case("pie: a target above 4.29 s", "pie", {"target": 5.0}, {"target": 705_032}),
    Case(
        "pie: switches",
        "pie",
        {"ecn": True, "byte_mode": True, "estimate_rate": True},
        {"ecn": True, "bytemode": True, "dq_rate_estimator": True, "target": 15_000},
    ),
    Case(
        "fq_pie: everything",
        "fq_pie flows 64",
        {"target": 0.02, "quantum": 300, "mark_probability": 0.2, "ecn": True, "limit": 700},
        {"target": 20_000, "quantum": 300, "ecn_prob": 20, "ecn": True, "limit": 700, "flows": 64},
    ),
    Case(
        "codel: times and marks",
        "codel",
        {"target": 0.02, "interval": 0.2, "ecn": True, "limit": 300},
        {"target": 19_999, "interval": 199_999, "ecn": True, "limit": 300},
    ),
    Case("codel: a threshold on", "codel", {"ce_threshold": 0.001}, {"ce_threshold": 999}),
    Case(
        "fq_codel: everything",
        "fq_codel flows 256",
        {"target": 0.01, "quantum": 300, "memory_limit": 4_000_000, "drop_batch": 32, "ecn": False},
        {
            "target": 9999,
            "quantum": 300,
            "memory_limit": 4_000_000,
            "drop_batch": 32,
            "flows": 256,
            "interval": 99_999,
            "ecn": False,
        },
    ),
    Case(
        "fq: limits, quanta and a threshold",
        "fq",
        {
            "limit": 500,
            "flow_limit": 20,
            "quantum": 1514,
            "initial_quantum": 3028,
            "ce_threshold": 0.005,
        },
        {
            "limit": 500,
            "flow_limit": 20,
            "quantum": 1514,
            "initial_quantum": 3028,
            "ce_threshold": 5000,
            "refill_delay": 40_000,
        },
    ),
    Case(
        "fq: a threshold off",
        "fq ce_threshold 1ms",
        {"ce_threshold": None},
        {"ce_threshold": False},
    ),
    Case(
        "choke: all of it",
        CHOKE,
        {"min_threshold": 20, "max_threshold": 60, "weight": 2.0**-9, "limit": 200, "ecn": True},
        {"min": 20, "max": 60, "ewma": 9, "limit": 200, "ecn": True, "probability": 0.02},
    ),
    Case("pfifo: limit", "pfifo limit 100", {"limit": 30}, {"limit": 30}),
    Case("bfifo: limit", "bfifo limit 100000", {"limit_bytes": 30_000}, {"limit": 30_000}),
    Case("pfifo_head_drop: limit", "pfifo_head_drop limit 9", {"limit": 30}, {"limit": 30}),
]

REFUSED = [
    Refused("red: min above max", RED, {"min_threshold": 100_000}, "no more than max_threshold"),
    Refused("red: no room for the weight", RED, {"weight_log": 20}, "no weight below"),
    Refused("red: nodrop without ECN", RED, {"no_drop": True}, "ecn to be on"),
    Refused("red: probability 1", RED, {"max_probability": 1.0}, "below 1"),
    Refused("pie: a negative target", "pie", {"target": -1.0}, "from 0 s"),
    Refused("codel: flows", "codel", {"flows": 7}, "a parameter of codel"),
    Refused("fq_codel: flows", "fq_codel", {"flows": 7}, "fixed once the queue is there"),
    Refused("fq: flows", "fq", {"flows": 64}, "as the queue was made"),
    Refused("fq: quantum", "fq", {"quantum": 2**20 + 1}, "1 byte to 1048576 bytes"),
    Refused("fq_pie: limit and flows", "fq_pie", {"limit": 7, "flows": 7}, "fixed once"),
    Refused("choke: limit", CHOKE, {"limit": 200_000}, "131071"),
    Refused("bfifo: packets", "bfifo limit 9999", {"limit": 30}, "only limit_bytes"),
]


def tc(words):
    return ["call", "tc", *words.split()]


def made(queue):
    return tc(f"qdisc replace dev {DEVICE} root handle 1: {queue}")


def is_unknown(outcome):
    """Whether tc has said that this kernel has no such queue."""
    return "Specified qdisc kind is unknown" in outcome["error"]


def check_made(outcome):
    """Skips where the kernel has no such queue; anything else is a failure of the test."""
    if is_unknown(outcome):
        pytest.skip(f"the kernel has no such queue: {outcome['error'].strip()}")
    assert outcome["code"] == 0, outcome["error"]


GONE = tc(f"qdisc del dev {DEVICE} root")


def told(kind, options, number=2):
    """A request that goes to the kernel as it is, past Vermilion's own checks."""
    body = queue_body(1, HANDLE, ROOT) + queue_settings(kind, options.encode(), nested=number)
    return ["replay", request(NEW_QUEUE, ACKNOWLEDGE, 0, body).hex(), DEVICE]


@pytest.fixture(scope="module")
def changed():
    """What came of the cases: by name, the outcome, what tc reads, and after tc's undo."""
    steps, names = [["call", "ip", "link", "set", DEVICE, "up"]], []
    for case in CASES:
        names.append(case.name)
        steps += [made(case.make), ["show", DEVICE]]
        steps += [["apply", ADDRESS, case.parameters, case.made_with], ["show", DEVICE]]
        steps += [["apply", ADDRESS, case.parameters, case.made_with], GONE]
    _, *outcomes = run_in_guest(steps)
    return {name: outcomes[6 * at : 6 * at + 6] for at, name in enumerate(names)}


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.name)
def test_a_change_is_what_tc_reads_afterwards(changed, case):
    made_by_tc, before, outcome, after, _, _ = changed[case.name]
    check_made(made_by_tc)
    assert outcome.get("refused", outcome.get("crash")) is None
    assert outcome["told"] == 1
    assert {name: after[0]["options"].get(name, False) for name in case.expected} == case.expected
    untouched = set(before[0]["options"]) - set(case.expected) - {"Scell_log"}
    assert {name: after[0]["options"].get(name) for name in untouched} == {
        name: before[0]["options"][name] for name in untouched
    }
    assert after[0]["handle"] == before[0]["handle"] == "1:"


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.name)
def test_the_same_change_again_sends_nothing(changed, case):
    made_by_tc, _, _, _, again, _ = changed[case.name]
    check_made(made_by_tc)
    # Where a table is asked for, nobody can know whether it is in force.
    assert again["told"] == (1 if "idle_table" in case.parameters else 0)
    assert again["refused"] is None


@pytest.fixture(scope="module")
def refused():
    """What came of the changes that must not happen: by name."""
    steps = [["call", "ip", "link", "set", DEVICE, "up"]]
    for case in REFUSED:
        steps += [made(case.make), ["show", DEVICE], ["apply", ADDRESS, case.parameters]]
        steps += [["show", DEVICE], GONE]
    _, *outcomes = run_in_guest(steps)
    return {case.name: outcomes[5 * at : 5 * at + 5] for at, case in enumerate(REFUSED)}


@pytest.mark.parametrize("case", REFUSED, ids=lambda each: each.name)
def test_a_change_that_must_not_happen_does_not(refused, case):
    made_by_tc, before, outcome, after, _ = refused[case.name]
    check_made(made_by_tc)
    assert case.part in outcome["refused"]
    assert outcome["told"] == 0
    assert after == before


def test_what_undoes_a_change_leads_back_to_what_tc_has_read_before():
    steps = [["call", "ip", "link", "set", DEVICE, "up"]]
    for case in CASES:
        steps += [made(case.make), ["show", DEVICE]]
        steps += [["apply_and_undo", ADDRESS, case.parameters, case.made_with], ["show", DEVICE]]
        steps.append(GONE)
    _, *outcomes = run_in_guest(steps)
    for at, case in enumerate(CASES):
        made_by_tc, before, left, after, _ = outcomes[5 * at : 5 * at + 5]
        if is_unknown(made_by_tc):
            continue  # the test of the change itself says so
        assert left == [], case.name
        assert after[0]["options"] == before[0]["options"], case.name


UNDONE = [
    *CASES,
    Case(
        "red: thresholds below the usual packet",
        "red limit 40000 min 500 max 1500 avpkt 250 burst 5 bandwidth 10Mbit probability 0.5",
        {"max_probability": 0.1},
        {},
    ),
    Case(
        "red: equal thresholds",
        "red limit 400000 min 30000 max 30000 avpkt 1000 burst 40 bandwidth 10Mbit probability 0.5",
        {"max_probability": 0.1},
        {},
    ),
    Case("red: harddrop without ECN", f"{RED} harddrop", {"max_probability": 0.1}, {}),
    Case("pfifo: no packet", "pfifo limit 0", {"limit": 30}, {}),
]


def test_the_commands_of_tc_for_an_undo_lead_back():
    # Boots once for the changes and the commands, once more to run those.
    first = [["call", "ip", "link", "set", DEVICE, "up"]]
    for case in UNDONE:
        first += [made(case.make), ["apply", ADDRESS, case.parameters, case.made_with], GONE]
    _, *outcomes = run_in_guest(first)
    commands = {
        at: outcomes[3 * at + 1]["undo"]
        for at in range(len(UNDONE))
        if not is_unknown(outcomes[3 * at])
    }
    assert commands
    assert all(commands.values()), commands
    second = [["call", "ip", "link", "set", DEVICE, "up"]]
    for at, command in commands.items():
        case = UNDONE[at]
        second += [made(case.make), ["show", DEVICE]]
        second += [["apply", ADDRESS, case.parameters, case.made_with]]
        second += [["call", *shlex.split(command)], ["show", DEVICE], GONE]
    _, *outcomes = run_in_guest(second)
    for at, number in enumerate(commands):
        case = UNDONE[number]
        _, before, outcome, undone, after, _ = outcomes[6 * at : 6 * at + 6]
        assert outcome["refused"] is None, case.name
        assert undone["code"] == 0, f"{case.name}: {undone['error']}"
        assert after[0]["kind"] == before[0]["kind"], case.name
        assert after[0]["handle"] == before[0]["handle"], case.name
        # Which packet the table of decay was made for, the kernel does not say.
        assert told_of(after) == told_of(before), case.name


def told_of(shown):
    return {name: value for name, value in shown[0]["options"].items() if name != "Scell_log"}


def test_an_undo_does_not_touch_a_queue_of_another_kind():
    """Neither one that somebody has put there since, nor one with the same handle."""
    first = [["call", "ip", "link", "set", DEVICE, "up"], made("pfifo_head_drop limit 9")]
    _, _, outcome = run_in_guest([*first, ["apply", ADDRESS, {}, None]])
    command = ["call", *shlex.split(outcome["undo"])]
    replaced = tc(f"qdisc replace dev {DEVICE} root codel")
    same_handle = made("codel")
    steps = [*first, replaced, command, ["show", DEVICE]]
    _, _, *others = run_in_guest([*steps, GONE, same_handle, command, ["show", DEVICE]])
    for at in (0, 4):
        made_by_tc, undone, shown = others[at : at + 3]
        check_made(made_by_tc)
        assert undone["code"] != 0
        assert shown[0]["kind"] == "codel"


def test_the_kernel_takes_what_tc_sends_and_vermilion_repeats():
    steps = [["call", "ip", "link", "set", DEVICE, "up"]]
    for each in REQUESTS:
        if " change " in each["command"]:
            steps.append(made(RED))
        steps += [["replay", each["hex"], DEVICE], ["show", DEVICE], GONE]
    _, *outcomes = run_in_guest(steps)
    replies = [each["refused"] for each in outcomes if "refused" in each]
    assert len(replies) == len(REQUESTS)
    unknown = [each for each in replies if "Specified qdisc kind is unknown" in (each or "")]
    assert set(replies) - set(unknown) == {None}
    assert len(unknown) <= 1  # fq_pie came later than the others


def test_the_kernels_own_words_come_with_a_refusal():
    _, table = idle_table(9, 12_500)
    block = RedBlock(400_000, 30_000, 90_000, 9, 22, 15, 0)
    no_marks = RedOptions(block=block, table=table, max_p=9, flag_values=8, flag_selector=15)
    wrong_table = RedOptions(block=block, table=b"\xff" * 256, max_p=9)
    steps = [
        ["call", "ip", "link", "set", DEVICE, "up"],
        made(RED),
        told("red", no_marks),
        told("red", wrong_table),
        told("pie", no_marks),
        GONE,
        made("fq_codel"),
        told("fq_codel", FqCodelOptions(quantum=2**20 + 1)),
        GONE,
        told("red", no_marks),
        ["apply", "linux:nowhere", {}],
    ]
    _, _, *found = run_in_guest(steps)
    words = [each["refused"] for each in found if "refused" in each]
    assert "nodrop mode is only meaningful with ECN" in words[0]
    assert words[1] == "the kernel refused: Invalid argument"
    assert "Invalid qdisc name" in words[2]
    assert "Invalid quantum" in words[3]
    assert "Qdisc not found. To create specify NLM_F_CREATE flag" in words[4]
    assert 'there is no interface "nowhere"' in words[5]


def test_red_without_privileges_is_read_and_not_changed():
    steps = [
        ["call", "ip", "link", "set", DEVICE, "up"],
        made(RED),
        ["unprivileged_apply", ADDRESS, {"limit": 200_000}],
        ["show", DEVICE],
    ]
    _, _, outcome, after = run_in_guest(steps)
    assert "CAP_NET_ADMIN" in outcome["refused"]
    assert outcome["options"]["limit"] == 400_000
    assert after[0]["options"]["limit"] == 400_000
    [own] = [each for each in outcome["list"] if each["name"] == DEVICE]
    assert own["queues"][0]["router"] == ADDRESS


LINKED = [
    ["call", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
    ["call", "ip", "link", "set", "v0", "up"],
    ["call", "ip", "link", "set", "v1", "up"],
]
WIDE_PAIR = ["ip", "link", "add", "w0", "numtxqueues", "2", "type", "veth", "peer", "name", "w1"]
SHAPER = [
    tc("qdisc replace dev v0 root handle 1: htb default 10"),
    tc("class add dev v0 parent 1: classid 1:10 htb rate 800bit quantum 1514"),
]
SHAPED = "linux:v0/1:10"
WIDE_CHOKE = "choke limit 100 min 50 max 90 avpkt 1000 burst 60 bandwidth 10mbit probability 0.02"


class Filled(NamedTuple):
    """A queue with many packets in it, a change, and how many are left: ``None`` for all."""

    queue: str
    change: dict
    left: int | None
    forgets: bool = False


FILLED = [
    Filled(RED, {"max_probability": 0.1}, 0, forgets=True),
    Filled(RED, {"max_probability": 0.1, "keep_packets": True}, None, forgets=True),
    Filled("pie", {"target": 0.1}, None),
    Filled("pie", {"limit": 12}, 12),
    Filled("codel", {"limit": 12}, 12),
    Filled("fq_codel", {"limit": 12}, 12),
    Filled("fq_pie", {"limit": 12}, 12),
    Filled("fq", {"limit": 12}, 12),
    Filled("fq", {"flow_limit": 2}, None),
    Filled("pfifo limit 100", {"limit": 12}, None),
    Filled(WIDE_CHOKE, {"limit": 12}, 15, forgets=True),
    Filled(WIDE_CHOKE, {"max_probability": 0.1}, None, forgets=True),
]


@pytest.fixture(scope="module")
def filled():
    """Readings before and after a change of a queue with packets in it, and its outcome.

    Forty packets of 1000 bytes are sent into a queue that lets one of them pass in ten seconds.
    """
    steps = [*LINKED]
    for each in FILLED:
        steps += [
            *SHAPER,
            tc(f"qdisc replace dev v0 parent 1:10 handle 5: {each.queue}"),
            ["send", "v0", 40, 1000],
            ["read", SHAPED],
            ["apply", SHAPED, each.change],
            ["read", SHAPED],
            tc("qdisc del dev v0 root"),
        ]
    outcomes = run_in_guest(steps)[len(LINKED) :]
    return [outcomes[8 * at + 2 : 8 * at + 7] for at in range(len(FILLED))]


@pytest.mark.parametrize("at", range(len(FILLED)), ids=[f"{each}"[7:80] for each in FILLED])
def test_the_price_that_is_said_is_what_the_kernel_takes(filled, at):
    case, (made_by_tc, _, before, outcome, after) = FILLED[at], filled[at]
    check_made(made_by_tc)
    assert outcome["refused"] is None
    waiting = before["backlog_packets"]
    assert waiting > 20
    left = waiting if case.left is None else case.left
    assert after["backlog_packets"] == left
    dropped = waiting - left
    expected = f"drops {dropped} waiting packets" if dropped else "forgets the average"
    if not dropped and not case.forgets:
        expected = "The change costs no packet."
    assert expected in outcome["price"]
    assert ("forgets" in outcome["price"]) == case.forgets


def test_packets_that_a_change_of_red_drops_are_counted(filled):
    _, _, before, _, after = filled[0]
    assert after["drops"] - before["drops"] == before["backlog_packets"]


def test_queues_are_found_with_their_parents_and_their_names():
    steps = [
        *LINKED,
        *SHAPER,
        tc("class add dev v0 parent 1: classid 1:11 htb rate 80kbit quantum 1514"),
        tc(f"qdisc replace dev v0 parent 1:10 handle 5: {RED}"),
        tc("qdisc replace dev ifb0 root handle 1: tbf rate 1mbit burst 10k limit 20k"),
        tc("qdisc replace dev ifb0 parent 1:1 handle 2: codel"),
        ["call", *WIDE_PAIR],
        tc("qdisc replace dev w0 root handle 1: mq"),
        tc("qdisc replace dev w0 parent 1:2 handle 20: pie"),
        ["call", "ip", "link", "add", "i0", "numtxqueues", "2", "type", "ifb"],
        ["call", "ip", "link", "set", "i0", "up"],
        tc("qdisc add dev v1 ingress"),
        ["everything"],
        ["apply", "linux:i0/0:1", {}],
        ["apply", "linux:v1", {}],
        ["apply", "linux:v0", {}],
        ["apply", "linux:v0/7:7", {}],
    ]
    *_, found, default, none, container, nowhere = run_in_guest(steps)
    queues = {each["router"]: each for interface in found for each in interface["queues"]}
    controlled = {name for name, each in queues.items() if each["can_be_controlled"]}
    assert controlled == {"linux:v0/1:10", "linux:ifb0/1:1", "linux:w0/1:2"}
    assert queues["linux:v0/1:10"]["discipline"] == "linux-red"
    assert queues["linux:v0/1:10"]["parameters"]["shaped"] is True
    assert queues["linux:ifb0/1:1"]["discipline"] == "codel"
    assert queues["linux:v0"]["kind"] == "htb"
    assert "tc qdisc replace dev v0 parent 1:11" in queues["linux:v0/1:11"]["why_not"]
    assert queues["linux:i0"]["kind"] == "mq"
    assert queues["linux:i0/0:2"]["handle"] == "0:"
    assert queues["linux:v1/ingress"]["why_not"].startswith("it is for what arrives")
    assert "tc qdisc replace dev i0 root handle 1: mq" in default["refused"]
    assert "there is no queue here" in none["refused"]
    assert container["refused"] == (
        'linux:v0: htb holds other queues; control one of those; expected "linux:v0/1:10"'
    )
    assert nowhere["refused"].endswith('no queue at this place; expected "linux:v0/1:10"')
    # The queue inside of red is no place of its own.
    assert not any(name.startswith("linux:v0/5:") for name in queues)
