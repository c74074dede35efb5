"""A red below a shaper and one at the root are two queues, and advice simulates the right one."""

import pytest

from vermilion.advise import advice as engine
from vermilion.advise import advise, assumed, read_question
from vermilion.advise.commands import as_it_stands, candidate_families, commands, is_shaped
from vermilion.advise.families import families
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text

ASKED = {
    "rate": "1 Gbit/s", "rtt": "200 us", "flows": "2 .. 8", "delay_at_most": "200 us",
    "ecn": "on", "discipline": "red", "quick": True,
}  # fmt: skip
RED = (
    "qdisc red 8001: dev eth0 root refcnt 2 limit 100000b min 5000b max 15000b ewma 9 "
    "probability 0.1"
)
BELOW_HTB = (
    f"qdisc htb 1: dev eth0 root refcnt 2 default 0x1\n{RED.replace('root refcnt 2', 'parent 1:1')}"
)
BELOW_PRIO = BELOW_HTB.replace("htb", "prio")
CAKE = "qdisc cake 8001: dev eth0 root refcnt 2 bandwidth 1Gbit diffserv3 rtt 100ms raw overhead 0"


def question(**changes):
    return read_question(**{**ASKED, **changes})


def shown(asked, text):
    return assumed(asked) if text is None else present_of(asked, read_tc_text(text), "--now")


@pytest.mark.parametrize(
    ("text", "changes", "shaped"),
    [
        (None, {}, True),  # the commands have an htb
        (None, {"interface_rate": "1 Gbit/s"}, False),
        (None, {"parent": "1:10"}, True),
        (RED, {}, True),
        (RED, {"interface_rate": "1 Gbit/s"}, False),
        (BELOW_HTB, {}, True),
        (BELOW_HTB, {"interface_rate": "1 Gbit/s"}, True),
        (BELOW_PRIO, {"interface_rate": "1 Gbit/s"}, False),
        (BELOW_PRIO, {"parent": "1:1"}, False),
        (CAKE, {}, True),  # an htb in its place
        (CAKE, {"interface_rate": "1 Gbit/s"}, False),  # and nothing in its place
    ],
)
def test_a_red_is_shaped_where_a_shaper_is(text, changes, shaped):
    asked = question(**changes)
    present = shown(asked, text)
    assert is_shaped(asked, present) == shaped
    [family] = families(asked, shaped=is_shaped(asked, present))
    assert all(each.parameters["shaped"] is shaped for each in family.candidates(asked))
    own = as_it_stands(asked, present)
    assert own.parameters.get("shaped") == (shaped if own.discipline == "linux-red" else None)


def test_advice_compares_the_red_that_would_be_there(monkeypatch):
    monkeypatch.setattr(engine, "QUICK_PACKETS", 4e6)
    for rate, shaped in (("10 Mbit/s", False), (None, True)):
        asked = question(rate="10 Mbit/s", rtt="20 ms", delay_at_most="20 ms", interface_rate=rate)
        answer = advise(asked, shown(asked, RED))
        queues = [answer.before.queue, *(each.measured.queue for each in answer.compared)]
        assert {each.parameters["shaped"] for each in queues} == {shaped}


@pytest.mark.parametrize(
    ("text", "changes", "tried"),
    [
        (None, {}, True),
        (None, {"interface_rate": "2 Mbit/s"}, True),
        (BELOW_HTB, {}, False),  # below another shaper
        (CAKE.replace("1Gbit", "2Mbit"), {}, False),  # the options of one that is there stay
    ],
)
def test_a_cake_is_tried_where_it_can_be_the_shaper(text, changes, tried):
    asked = question(rate="2 Mbit/s", rtt="40 ms", discipline="any", **changes)
    kinds = [each.kind for each in candidate_families(asked, shown(asked, text))]
    assert ("cake" in kinds) is tried


def test_a_cake_is_its_own_shaper():
    asked = question(rate="2 Mbit/s", rtt="300 ms", discipline="cake")
    [family] = families(asked)
    default, rule = family.candidates(asked)
    # 1514 bytes take 6 ms there: one and a half of them are more than a twentieth of 100 ms.
    assert default.parameters["bandwidth"] == 2e6
    own = commands(asked, assumed(asked), default, keep=False)
    root = "tc qdisc replace dev eth0 root handle 7e51: cake bandwidth 2000000bit"
    assert own.apply == root
    assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"
    assert commands(asked, assumed(asked), rule, keep=False).apply == f"{root} rtt 300000us"
    as_fast = question(rate="2 Mbit/s", rtt="300 ms", interface_rate="2 Mbit/s")
    own = commands(as_fast, assumed(as_fast), default, keep=False)
    assert own.apply == "tc qdisc replace dev eth0 root cake bandwidth 2000000bit"
    assert own.undo == "tc qdisc del dev eth0 root"
