"""A real kernel's RED set over SNMP: the router kind, snmpd, the agent and netlink; tc judges.

See ``linux_guest.py`` for how the kernel is run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linux_guest import run_in_guest
from snmpd_process import program_or_skip
from test_online_linux_kernel import program
from test_routers_linux_kernel import RED

LINK = "v0"
SHAPED = [
    ["call", "ip", "link", "add", LINK, "type", "veth", "peer", "name", "v1"],
    ["call", "ip", "link", "set", LINK, "up"],
    ["call", "ip", "link", "set", "v1", "up"],
    ["call", "tc", *f"qdisc replace dev {LINK} root handle 1: htb default 10".split()],
    [
        *["call", "tc", *f"class add dev {LINK} parent 1: classid 1:10 htb rate".split()],
        *["400kbit", "quantum", "1514"],
    ],
    ["call", "tc", *f"qdisc replace dev {LINK} parent 1:10 handle 5: {RED}".split()],
]


def told(*words):
    """What the program in the guest has printed."""
    program_or_skip("snmpd", "snmpd")
    program_or_skip("snmpset", "snmp")
    run = program(str(Path(__file__).with_name("linux_guest_snmp.py")), *words)
    *_, outcome = run_in_guest([*SHAPED, ["send", LINK, 30, 1000], run])
    assert outcome["code"] == 0, outcome["error"]
    return json.loads(outcome["out"])


def test_a_kernels_red_is_set_refused_and_put_back_over_snmp():
    outcome = told("once")
    original = [30_000, 90_000, pytest.approx(0.02), 5, 400_000]
    assert outcome["before"] == original
    assert outcome["parameters"]["shaped"] is True
    assert outcome["first"] == [12_000, 36_000, pytest.approx(0.05), 9, 400_000]
    assert outcome["read"]["max_probability"] == pytest.approx(0.05)
    assert "min_threshold: 99000 is not accepted" in outcome["refusal"]
    assert outcome["refused"] == outcome["first"]
    for name in ("drops", "sent", "backlog"):
        by_snmp, by_tc = outcome[name]
        assert by_snmp == by_tc, name
    assert outcome["drops"][0] > 20  # a change of RED drops what waits
    # A monitor listens there, and has heard of no flow yet: none is not "not known".
    assert (outcome["traffic known"], outcome["flows"]) == ("1", "0")
    assert not outcome["round trips"].isdecimal()
    assert outcome["undo"][0] == 0, outcome["undo"][1]
    assert outcome["after"] == original
    # A line for each change, so that each was one message to the kernel.
    assert outcome["agent"].count("changed:") == 2
