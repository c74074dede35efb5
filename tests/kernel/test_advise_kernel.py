"""What ``vermilion advise`` prints for Linux, pasted into a shell of a real Linux kernel.

What is expected is what tc, which shares no code with Vermilion, shows before and after.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from linux_guest import run_in_guest
from vermilion.advise import assumed, read_question
from vermilion.advise.commands import commands
from vermilion.advise.families import families
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text

WIDE = "i0"
LINKED = [
    ["call", *f"ip link add {WIDE} numtxqueues 12 type ifb".split()],
    ["call", *f"ip link set {WIDE} up".split()],
]
SHOW = f"tc -d qdisc show dev {WIDE}"
ASKED = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": "4", "delay_at_most": "20 ms"}
VALUES = {
    "pie": {"target": 0.01, "interval": 0.015, "alpha": 0.125, "beta": 1.25},
    "fq_codel": {"target": 0.01, "interval": 0.1},
}


class Case(NamedTuple):
    """What stands there, a line for each call of tc, and what is set in its place.

    Whether the interface is as fast as the line, so that no shaper is needed, and how many queues
    are set then.
    """

    made: str
    as_fast: bool = False
    set_there: int = 1
    sets: str = "pie"


CAKE = (
    "root cake bandwidth 9mbit autorate-ingress diffserv4 dual-srchost wash ack-filter-aggressive "
    "no-split-gso rtt 50ms atm overhead 44 mpu 64 memlimit 2mb fwmark 0xff"
)
FQ = (
    "root fq limit 9000 flow_limit 90 buckets 512 quantum 3000 initial_quantum 15000 "
    "maxrate 10mbit low_rate_threshold 600kbit refill_delay 50ms orphan_mask 511 nopacing "
    "horizon 2s horizon_cap timer_slack 20us ce_threshold 5ms"
)
FQ_CODEL = "root fq_codel limit 999 flows 4096 target 3ms ce_threshold 1ms quantum 300 noecn"
MQ = "\n".join(
    [
        "root handle 1: mq",
        *(f"parent 1:{number:x} codel target {1 + number}ms" for number in range(1, 13)),
    ]
)
CASES = {
    "pfifo with the handle 1:": Case("root handle 1: pfifo limit 900"),
    "cake": Case(CAKE),
    "cake of flows": Case("root cake besteffort flows ptm overhead 30"),
    "fq": Case(FQ),
    "sfq": Case("root sfq limit 300 depth 40 divisor 2048 perturb 10 headdrop"),
    "fq_codel": Case(FQ_CODEL),
    "fq_codel that is only changed": Case(FQ_CODEL, as_fast=True, sets="fq_codel"),
    "fq_pie": Case("root fq_pie limit 999 flows 64 memory_limit 1mb bytemode ecn"),
    "the kernel's own mq, below a shaper": Case(""),
    "the kernel's own mq": Case("", as_fast=True, set_there=12),
    "mq": Case(MQ, as_fast=True, set_there=12),
    "mq, below a shaper": Case(MQ),
}


def tc(words):
    return ["call", "tc", *words.split()]


def pasted(lines):
    return ["call", "sh", "-c", lines]


def made(case):
    return [tc(f"qdisc replace dev {WIDE} {words}") for words in case.made.splitlines()]


def advised(shown, sets="pie", **more):
    """The commands for what tc has shown."""
    asked = read_question(**ASKED, interface=WIDE, **more)
    present = present_of(asked, read_tc_text(shown), "--now")
    return commands(asked, present, setting(asked, sets), keep=False)


def without_now():
    asked = read_question(**ASKED, interface=WIDE)
    return commands(asked, assumed(asked), setting(asked, "pie"), keep=False)


def setting(asked, kind):
    [family] = families(read_question(**ASKED, discipline=kind))
    return family.setting(asked, VALUES[kind])


def told(shown):
    """What tc has shown, without the handles of queues that have no others below them."""
    lines = re.sub(r"^(qdisc (?!mq)\S+) [0-9a-f]{1,4}:", r"\1", shown, flags=re.MULTILINE)
    return sorted(line.strip() for line in lines.splitlines() if line.strip())


@pytest.fixture(scope="module")
def outcomes():
    """Of each case: what tc shows first, then the outcomes of apply and undo, and tc after each."""
    steps = [*LINKED]
    for case in CASES.values():
        steps += [*made(case), pasted(SHOW), tc(f"qdisc del dev {WIDE} root")]
    found = iter(run_in_guest(steps)[len(LINKED) :])
    shown = {}
    for name, case in CASES.items():
        for each in [next(found) for _ in made(case)]:
            assert (each["code"], each["error"]) == (0, "")
        shown[name] = next(found)["out"]
        next(found)
    own = {}
    for name, case in CASES.items():
        rate = {"interface_rate": ASKED["rate"]} if case.as_fast else {}
        own[name] = advised(shown[name], case.sets, **rate)
    steps = [*LINKED]
    for name, case in CASES.items():
        steps += [*made(case), pasted(own[name].apply), pasted(SHOW), pasted(own[name].undo)]
        steps += [pasted(SHOW), tc(f"qdisc del dev {WIDE} root")]
    found = iter(run_in_guest(steps)[len(LINKED) :])
    done = {}
    for name, case in CASES.items():
        for _ in made(case):
            next(found)
        done[name] = [shown[name], *(next(found) for _ in range(4))]
        next(found)
    return done


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_takes_the_commands_and_undo_brings_back_what_stood_there(outcomes, name):
    before, apply, between, undo, after = outcomes[name]
    assert (apply["code"], apply["error"]) == (0, "")
    assert between["out"].count(" target 10ms ") == CASES[name].set_there
    assert (undo["code"], undo["error"]) == (0, "")
    assert told(after["out"]) == told(before)


def test_without_now_the_commands_are_taken_whatever_stands_there():
    own = without_now()
    steps = [*LINKED]
    for root in ("handle 1: prio", "handle 1: tbf rate 1mbit burst 10k limit 20k"):
        steps += [tc(f"qdisc replace dev {WIDE} root {root}"), pasted(own.apply)]
        steps += [pasted(SHOW), pasted(own.undo)]
    _, _, *found = run_in_guest(steps)
    for _, apply, shown, undo in (found[:4], found[4:]):
        assert (apply["code"], apply["error"]) == (0, "")
        assert "pie" in shown["out"]
        assert (undo["code"], undo["error"]) == (0, "")


def test_where_the_first_command_is_refused_nothing_is_set_and_undo_deletes_nothing():
    own = without_now()
    steps = [
        *LINKED,
        tc(f"qdisc replace dev {WIDE} root handle 7e51: prio"),
        pasted(SHOW),
        pasted(own.apply),
        pasted(SHOW),
        tc(f"qdisc replace dev {WIDE} root handle 1: pfifo limit 9"),
        pasted(own.undo),
        pasted(SHOW),
    ]
    _, _, _, before, refused, after, _, not_deleted, pfifo = run_in_guest(steps)
    assert refused["error"].count("Error: ") == 1
    assert after["out"] == before["out"]
    assert "Invalid handle" in not_deleted["error"]
    assert pfifo["out"].startswith("qdisc pfifo 1: root")


def test_the_shaper_counts_the_cells_of_atm():
    own = advised(
        f"qdisc cake 8001: dev {WIDE} root bandwidth 10Mbit diffserv3 rtt 100ms atm overhead 44 "
        "mpu 64\n"
    )
    steps = [*LINKED, pasted(own.apply), pasted(f"tc -d class show dev {WIDE}")]
    *_, applied, shown = run_in_guest(steps)
    assert (applied["code"], applied["error"]) == (0, "")
    assert "overhead 44" in shown["out"]
    assert "linklayer atm" in shown["out"]
    assert "mpu 64b" in shown["out"]


SHORT = [
    ["call", "ip", "link", "add", "p0", "type", "ifb"],
    ["call", "ip", "link", "set", "p0", "txqueuelen", "3"],
    ["call", "ip", "link", "set", "p0", "up"],
]
CLASSES = {
    "htb": ("htb default 10", "htb rate 1mbit"),
    "hfsc": ("hfsc default 10", "hfsc sc rate 1mbit ul rate 1mbit"),
}
FULL = (
    "ip addr replace 10.9.9.1/24 dev p0 && "
    'ip neigh replace 10.9.9.2 lladdr 02:00:00:00:00:01 dev p0 && python3 -c "import socket;'
    "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);"
    "[s.sendto(b'x'*1400,('10.9.9.2',9)) for _ in range(200)]\" && tc -s class show dev p0"
)
"""More packets at once than the queue of the class holds, and what waits in it then."""


@pytest.mark.parametrize("kind", CLASSES)
def test_undo_below_a_class_brings_back_the_queue_that_it_has_by_itself(kind):
    root, rate = CLASSES[kind]
    made = [
        *SHORT,
        tc(f"qdisc add dev p0 root handle 1: {root}"),
        tc(f"class add dev p0 parent 1: classid 1:10 {rate}"),
    ]
    *_, found = run_in_guest([*made, pasted("tc -d qdisc show dev p0")])
    asked = read_question(**ASKED, interface="p0")
    present = present_of(asked, read_tc_text(found["out"]), "--now")
    if kind == "htb":  # which tells the interface's txqueuelen
        assert present.queue.parameters["limit"] == 3
    own = commands(asked, present, setting(asked, "pie"), keep=False)
    steps = [
        *made,
        pasted(FULL),
        pasted("sleep 1"),
        pasted(own.apply),
        pasted("tc qdisc show dev p0"),
    ]
    steps += [pasted(own.undo), pasted("tc -d qdisc show dev p0"), pasted(FULL)]
    _, _, _, _, _, before, _, apply, between, undo, shown, after = run_in_guest(steps)
    assert (apply["code"], apply["error"]) == (0, "")
    assert "pie" in between["out"]
    assert (undo["code"], undo["error"]) == (0, "")
    assert shown["out"] == found["out"]
    for each in (before, after):
        assert max(re.findall(r"backlog \S+ (\d+)p", each["out"])) == "3"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (["root cake unlimited diffserv4 rtt 50ms overhead 44 mpu 64"], "bandwidth 10Mbit"),
        (["root cake bandwidth 95mbit besteffort"], "bandwidth 10Mbit"),
        (
            [
                "root handle 1: tbf rate 95mbit burst 100k latency 400ms",
                "parent 1: fq_codel target 10ms",
            ],
            "rate 10Mbit burst 100Kb/1 mpu 0b lat 400ms",
        ),
    ],
)
def test_a_shaper_gets_the_rate_of_the_line_and_keeps_the_rest(made, expected):
    steps = [*LINKED, *(tc(f"qdisc replace dev {WIDE} {each}") for each in made), pasted(SHOW)]
    *_, found = run_in_guest(steps)
    asked = read_question(**ASKED, interface=WIDE)
    present = present_of(asked, read_tc_text(found["out"]), "--now")
    own = commands(asked, present, present.queue, keep=True)
    steps += [pasted(own.if_elsewhere), pasted(SHOW), pasted(own.undo), pasted(SHOW)]
    *_, apply, between, undo, after = run_in_guest(steps)
    assert (apply["code"], apply["error"]) == (0, "")
    assert expected in between["out"]
    was = re.search(r"bandwidth \S+|rate \S+ burst \S+ mpu 0b lat \S+", found["out"])[0]
    assert between["out"].replace(expected, was) == found["out"]
    assert (undo["code"], undo["error"]) == (0, "")
    assert after["out"] == found["out"]


@pytest.mark.parametrize(
    "words",
    [
        "limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 200mbit probability 0.02",
        "limit 400000 min 30000 max 90000 avpkt 1500 burst 30 bandwidth 1gbit probability 0.1",
        "limit 60000 min 5000 max 15000 avpkt 300 burst 40 bandwidth 64kbit probability 0.5 ecn",
    ],
)
def test_undo_of_a_red_brings_back_its_idle_table(words):
    made = [*LINKED, tc(f"qdisc replace dev {WIDE} root red {words}"), pasted(SHOW)]
    *_, found = run_in_guest(made)
    assert "Scell_log" in found["out"]
    own = advised(found["out"])
    *_, undo, after = run_in_guest([*made, pasted(own.apply), pasted(own.undo), pasted(SHOW)])
    assert (undo["code"], undo["error"]) == (0, "")
    assert told(after["out"]) == told(found["out"])
