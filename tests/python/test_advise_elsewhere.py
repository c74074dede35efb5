"""Where packets wait somewhere else, the answer says so and brings them to the queue.

The commands are those of tc(8), tc-cake(8) and tc-tbf(8); tests/kernel/test_advise_kernel.py has a
kernel take them.
"""

import pytest

from vermilion.advise import Advice, assumed, read_question
from vermilion.advise.commands import commands
from vermilion.advise.conditions import grid
from vermilion.advise.document import document
from vermilion.advise.judgement import Judgement
from vermilion.advise.measuring import Measured
from vermilion.advise.page import advice_page
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.advise.wording import headline, warnings
from vermilion.cli.advise_tables import print_advice

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
    usual = {"delay_p95_ms": 11.9, "goodput_bit_per_s": 47e6, "sparse_points": 0.5,
             "call_delay_p95_ms": 1.0, "call_loss_rate": 0.0}  # fmt: skip
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
            (CAKE.format("56Mbit"), "cake bandwidth 56000000bit", "cake bandwidth 50000000bit"),
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
            assert "whatever is behind it" in said
            assert f"your {now.split()[0]} the line's rate, which brings them here" in said
            known = "interface_rate" in changes
            assert ("eth0 is faster than the line. So packets wait in the modem" in said) == known
            assert document(answer)["answer"] == "wrong place"
            assert ("most likely" in headline(answer)) is not known

    @pytest.mark.parametrize(
        ("line", "rate"),
        [
            (CAKE.format("50Mbit"), None),
            (CAKE.format("54Mbit"), None),  # --rate is to be a little below it
            (CAKE.format("55Mbit"), None),  # a tenth is a little
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
        assert not any("whatever is behind it" in each for each in warnings(answer))
        assert document(answer)["answer"] == "keep"

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


class TestInterfacesWithoutAQueue:
    """Nobody knows how long packets wait behind them, so no figure says it."""

    def answer(self, text, verdict="set: bound"):
        asked = question()
        present = shown(asked, text)
        places = grid(asked, 0.0)
        # 12.3 s and 33.3 Mbit/s are nobody's but those of what stands in for it.
        guess = {"delay_p95_ms": 12_300.0, "delay_p50_ms": 12_300.0, "goodput_bit_per_s": 33.3e6,
                 "jain_index": 0.333, "call_delay_p95_ms": 12_300.0, "call_loss_rate": 0.333,
                 "short_transfer_s": 12.3, "sparse_points": 99.0}  # fmt: skip
        then = {**guess, "delay_p95_ms": 11.0, "delay_p50_ms": 3.0, "goodput_bit_per_s": 32e6,
                "jain_index": 0.99, "call_delay_p95_ms": 1.0, "call_loss_rate": 0.0,
                "short_transfer_s": 0.1, "sparse_points": 0.5}  # fmt: skip
        before = Measured(present.queue, {at: [guess, guess] for at in places})
        chosen = assumed(asked).queue
        after = Measured(chosen, {at: [then, then] for at in places})
        after = before if verdict.startswith("keep") else after
        return Advice(asked, present, verdict, before, after, Judgement("bound"), (), before, after)

    def test_no_figure_is_told_of_what_is_there(self, capsys):
        answer = self.answer("qdisc noqueue 0: dev br0 root refcnt 2")
        print_advice(answer, everything=True)
        out = capsys.readouterr().out
        page = advice_page(answer)
        for guessed in ("12.3", "12 s", "33.3", "0.33", " -> "):
            assert guessed not in out
        for guessed in ("12 s", "33.3 Mbit", "\u2192"):
            assert guessed not in page
        assert "how long they wait now is not known" in out
        assert "wait at most 1.0 ms" in " ".join(out.split())
        assert document(answer)["now"]["known"] is False

    def test_where_packets_wait_then_is_said(self):
        # net/mac80211/sta_info.c: a CoDel with a target of 20 ms for each station.
        [radio] = [
            each
            for each in warnings(self.answer("qdisc noqueue 0: dev wlan0 root refcnt 2"))
            if "noqueue" in each
        ]
        assert "mac80211" in radio
        assert "20 ms" in radio
        assert "ask about the router's interface to it" in radio
        [bridge] = [
            each
            for each in warnings(self.answer("qdisc noqueue 0: dev br0 root refcnt 2"))
            if "noqueue" in each
        ]
        assert "below a bridge" in bridge
        assert "mac80211" not in bridge

    def test_an_answer_to_leave_it_says_what_its_figures_are_of(self):
        answer = self.answer("qdisc noqueue 0: dev br0 root", "keep: nothing better")
        assert headline(answer) == "Keep noqueue."

    def test_of_every_other_queue_they_are_told(self, capsys):
        print_advice(self.answer("qdisc pfifo 8001: dev br0 root refcnt 2 limit 1000p"))
        assert "12 s" in capsys.readouterr().out
