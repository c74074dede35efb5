"""A red below a shaper and one at the root are two queues, and advice simulates the right one."""

import math

import pytest

from vermilion.advise import Advice, advise, assumed, read_question
from vermilion.advise import advice as engine
from vermilion.advise.advice import Compared
from vermilion.advise.commands import as_it_stands, is_shaped
from vermilion.advise.conditions import grid, nominal
from vermilion.advise.families import families
from vermilion.advise.harms import Harm
from vermilion.advise.judgement import Judgement
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.advise.wording import harm_words, warnings

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


def test_at_the_root_the_average_falls_and_packets_come_through():
    # Below a shaper the average never falls, and one burst shuts the queue (net/sched/sch_red.c).
    asked = question()
    [at, *_] = nominal(grid(asked, 0.0))
    carried = {}
    for shaped in (True, False):
        [family] = families(asked, shaped=shaped)
        rows = Laboratory(asked, None, None, 1e9).measure(family.candidates(asked), [at], [1], 0.0)
        carried[shaped] = min(each.goodput(at) for each in rows)
    assert carried[True] == 0.0
    assert carried[False] > 0.25e9


def test_advice_compares_the_red_that_would_be_there(monkeypatch):
    monkeypatch.setattr(engine, "QUICK_PACKETS", 4e6)
    for rate, shaped in (("10 Mbit/s", False), (None, True)):
        asked = question(rate="10 Mbit/s", rtt="20 ms", delay_at_most="20 ms", interface_rate=rate)
        answer = advise(asked, shown(asked, RED))
        queues = [answer.before.queue, *(each.measured.queue for each in answer.compared)]
        assert {each.parameters["shaped"] for each in queues} == {shaped}


def test_what_lets_nothing_through_is_said_to():
    asked = question()
    before = assumed(asked).queue
    [family] = families(asked)
    red = family.candidates(asked)[0]
    usual = {"delay_p95_ms": 5.0, "goodput_bit_per_s": 9e8}
    rows = Measured(before, {at: [usual] for at in grid(asked, 0.0)})
    shut = Measured(red, {at: [{"goodput_bit_per_s": 0.0}] for at in rows.runs})
    harm = Harm(nominal(rows.runs)[0], "goodput_bit_per_s", 9e8, 0.0, 4.0)
    refused = Compared(shut, Judgement(None, harms=(harm,)), keeps_bound=False)
    answer = Advice(asked, assumed(asked), "keep: nothing better", rows, rows, Judgement(None),
                    (refused,), Measured(before), Measured(before))  # fmt: skip
    assert math.isinf(shut.p95_ms(harm.condition))
    assert harm_words(harm) == "nothing comes through with 2 flows, 200 µs"
    said = [each for each in warnings(answer) if "through" in each]
    assert said == ["Red, rule of thumb: nothing comes through with 2 flows, 200 µs."]
