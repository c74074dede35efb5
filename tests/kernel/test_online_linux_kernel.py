"""A queue of a real Linux kernel on line; see ``linux_guest.py`` for how it is run.

What is in force is what tc says. The search is a stand-in: the guest's time stands still while
anything computes.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from linux_guest import HELPERS, run_in_guest

HERE = Path(__file__).parent
LINK = "v0"
ADDRESS = f"linux:{LINK}/1:10"
SHAPED = [
    ["call", "ip", "link", "add", LINK, "type", "veth", "peer", "name", "v1"],
    ["call", "ip", "link", "set", LINK, "up"],
    ["call", "ip", "link", "set", "v1", "up"],
    ["call", "tc", *f"qdisc replace dev {LINK} root handle 1: htb default 10".split()],
    [
        *["call", "tc", *f"class add dev {LINK} parent 1: classid 1:10 htb rate".split()],
        *["400kbit", "quantum", "1514"],
    ],
    ["call", "tc", *f"qdisc replace dev {LINK} parent 1:10 handle 5: codel".split()],
]


def program(*words):
    """A step that runs Python in the guest with this one's modules."""
    path = ":".join([str(HERE), str(HELPERS), *(each for each in sys.path if each)])
    return [
        *["call", "env", f"PYTHONPATH={path}", "XDG_STATE_HOME=/run/state"],
        *[str(Path(sys.executable).resolve()), *words],
    ]


def controlled(mode, until):
    """The outcome of a run, and what tc says of the queue before and after it."""
    run = program(str(HERE / "linux_guest_online.py"), ADDRESS, LINK, mode, until, "/run/j.sqlite")
    *_, before, outcome, after = run_in_guest([*SHAPED, ["show", LINK], run, ["show", LINK]])
    assert outcome["code"] == 0, outcome["error"]
    return json.loads(outcome["out"]), settings(before), settings(after)


def settings(shown):
    """What the queue is set to, as tc says."""
    [own] = [each["options"] for each in shown if each["kind"] == "codel"]
    return own


def test_a_setting_is_applied_to_the_kernel_and_taken_back_at_the_end():
    outcome, before, after = controlled("control", "applied")
    kinds = [kind for kind, _ in outcome["in_force"]]
    assert kinds[:2] == ["found", "start"]
    assert kinds[-3:] == ["applied", "restored", "end"]
    # What the kernel has when each decision is told; CoDel rounds to units of 1.024 us.
    in_force = dict(outcome["in_force"])
    assert in_force["found"] == 0.005
    assert in_force["applied"] == pytest.approx(0.008, abs=2e-6)
    assert in_force["end"] == 0.005
    assert after == before
    assert outcome["missed"] == 0
    undo = shlex.split(outcome["undo"])
    assert undo[:7] == ["tc", "qdisc", "change", "dev", LINK, "parent", "1:10"]


def test_observing_a_kernel_changes_nothing():
    outcome, before, after = controlled("observe", "proposed")
    assert "proposed" in [kind for kind, _ in outcome["in_force"]]
    assert {target for _, target in outcome["in_force"]} == {0.005}
    assert after == before


def test_the_command_watches_an_idle_queue_and_leaves_it_alone():
    command = program("-m", "vermilion", "online", "--router", ADDRESS, "--for", "5 s")
    *_, before, done, after = run_in_guest([*SHAPED, ["show", LINK], command, ["show", LINK]])
    assert (done["code"], done["error"]) == (0, "")
    assert "mode observe: nothing is changed" in done["out"]
    assert "/run/state/vermilion/linux-v0-1-10.sqlite" in done["out"]
    assert "the run has ended" in done["out"]
    assert settings(after) == settings(before)
