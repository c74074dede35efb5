"""Where packets wait somewhere else, the answer says so and brings them to the queue.

The commands are those of tc(8), tc-cake(8) and tc-tbf(8); tests/kernel/test_advise_kernel.py has a
kernel take them.
"""

import pytest

from vermilion.advise import Advice, assumed, read_question
from vermilion.advise.commands import commands
from vermilion.advise.conditions import grid
from vermilion.advise.judgement import Judgement
from vermilion.advise.measuring import Measured
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.advise.wording import headline, reason, warnings

ASKED = {"rate": "50 Mbit/s", "rtt": "10 ms .. 60 ms", "flows": "2 .. 8", "delay_at_most": "20 ms"}
CAKE = (
    "qdisc cake 8001: dev eth0 root refcnt 2 bandwidth {} diffserv3 triple-isolate nonat nowash "
    "no-ack-filter split-gso rtt 100ms raw overhead 0"
)
TBF = (
    "qdisc tbf 8003: dev eth0 root refcnt 2 rate {} burst 5Kb lat 400ms\n"
    "qdisc fq_codel 8004: dev eth0 parent 8003: limit 10240p flows 1024 target 5ms interval 100ms"
)


def question(**changes):
    return read_question(**{**ASKED, **changes})


def shown(asked, text):
    return present_of(asked, read_tc_text(text), "--now")


def keeping(asked, present):
    """An answer to keep what stands there, with figures in which nothing is bad."""
    usual = {"delay_p95_ms": 11.9, "goodput_bit_per_s": 47e6}
    rows = Measured(present.queue, {at: [usual, usual] for at in grid(asked, 0.0)})
    around = Measured(present.queue)
    return Advice(asked, present, "keep: nothing better", rows, rows, Judgement(None), (), around,
                  around)  # fmt: skip


class TestShapersThatHoldNothingBack:
    @pytest.mark.parametrize(
        ("line", "now", "then"),
        [
            (CAKE.format("unlimited"), "cake unlimited", "cake bandwidth 50000000bit"),
            (CAKE.format("95Mbit"), "cake bandwidth 95000000bit", "cake bandwidth 50000000bit"),
            (
                TBF.format("95Mbit"),
                "tbf rate 95000000bit burst 5120 latency 400000us",
                "tbf rate 50000000bit burst 5120 latency 400000us",
            ),
        ],
    )
    def test_they_get_the_rate_of_the_line(self, line, now, then):
        for changes in ({}, {"interface_rate": "1 Gbit/s"}):
            asked = question(**changes)
            answer = keeping(asked, shown(asked, line))
            own = commands(asked, answer.present, answer.chosen, keep=True)
            assert own.apply == ""
            assert own.if_elsewhere == f"tc qdisc change dev eth0 root {then}"
            assert own.undo == f"tc qdisc change dev eth0 root {now}"
            said = " ".join(warnings(answer))
            assert "where no queue of yours has any effect" in said
            assert f"your {now.split()[0]} the line's rate, which brings them here" in said
            known = "interface_rate" in changes
            assert ("eth0 is faster than the line. So packets wait in the modem" in said) == known
            assert headline(answer).startswith("Keep what you have: ")
            assert ("packets wait elsewhere now" in headline(answer)) == known
            assert reason(answer).startswith("Once packets wait in what you have, ") == known

    @pytest.mark.parametrize(
        ("line", "rate"),
        [
            (CAKE.format("50Mbit"), None),
            (CAKE.format("54Mbit"), None),  # --rate is to be a little below it
            (TBF.format("50Mbit"), None),
            (CAKE.format("95Mbit"), "50 Mbit/s"),
            (CAKE.format("unlimited"), "50 Mbit/s"),
        ],
    )
    def test_nothing_has_to_be_brought_where_they_hold_it_or_the_interface_does(self, line, rate):
        asked = question(interface_rate=rate)
        answer = keeping(asked, shown(asked, line))
        own = commands(asked, answer.present, answer.chosen, keep=True)
        assert own.if_elsewhere == own.undo == ""
        assert not any("no queue of yours" in each for each in warnings(answer))
        assert "elsewhere" not in headline(answer)

    def test_what_is_set_below_a_tbf_gets_its_packets_too(self):
        asked = question()
        present = shown(asked, TBF.format("95Mbit"))
        own = commands(asked, present, present.queue, keep=False)
        change, leaf = own.apply.split(" &&\n")
        assert change == (
            "tc qdisc change dev eth0 root tbf rate 50000000bit burst 5120 latency 400000us"
        )
        assert leaf.startswith("tc qdisc replace dev eth0 parent 8003: fq_codel ")
        assert own.undo.endswith("root tbf rate 95000000bit burst 5120 latency 400000us")

    def test_a_cake_that_is_replaced_takes_its_rate_with_it(self):
        asked = question()
        for rate in ("95Mbit", "unlimited"):
            present = shown(asked, CAKE.format(rate))
            own = commands(asked, present, assumed(asked).queue, keep=False)
            assert own.apply.startswith("tc qdisc replace dev eth0 root handle 7e51: htb ")
            assert own.shaper
            assert "root cake " in own.undo


def test_a_cisco_router_gets_the_shaper_that_the_answer_speaks_of():
    asked = question(device="cisco")
    answer = keeping(asked, assumed(asked))
    own = commands(asked, answer.present, answer.chosen, keep=True)
    assert own.apply == ""
    assert "  shape average 50000000" in own.if_elsewhere.splitlines()
    assert "  queue-limit 64 packets" in own.if_elsewhere.splitlines()
    assert own.undo.splitlines()[1].startswith(" no service-policy output ")
    assert any("The shaper in the commands brings them here" in each for each in warnings(answer))
    asked = question(device="cisco", interface_rate="50 Mbit/s")
    answer = keeping(asked, assumed(asked))
    own = commands(asked, answer.present, answer.chosen, keep=True)
    assert own.if_elsewhere == own.undo == ""
    assert not any("shaper" in each for each in warnings(answer))
