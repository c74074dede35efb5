"""Advice rests on how a line stays, and not on how transfers begin."""

import json
import math
from dataclasses import replace

import pytest

from vermilion.advise import Advice, advise, assumed, read_question
from vermilion.advise import advice as engine
from vermilion.advise.advice import Compared
from vermilion.advise.conditions import (
    HEADER_BYTES,
    PACKET_BYTES,
    condition,
    grid,
    network,
    nominal,
    with_ramp,
)
from vermilion.advise.document import document
from vermilion.advise.judgement import continued, goodput_share, judge
from vermilion.advise.measuring import DRIFT, Laboratory, Measured
from vermilion.advise.question import QueueSetting
from vermilion.advise.wording import limits, reason, warnings
from vermilion.simulate.runs import run_jobs

DEEP = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": 1000.0})


def question(**changes):
    asked = {"rate": "50 Mbit/s", "rtt": "40 ms", "flows": "20", "delay_at_most": "25 ms",
             "quick": True, **changes}  # fmt: skip
    return read_question(**asked)


def rows(asked, seeds=5, **metrics):
    """Hand-made figures, the same in all conditions, but for a little by seed."""
    usual = {"delay_p95_ms": 30.0, "goodput_bit_per_s": 45e6, "jain_index": 0.99,
             "starved_flows": 0.0, "drop_rate": 0.01}  # fmt: skip
    runs = {
        at: [
            {name: value * (1.0 + 1e-6 * seed) for name, value in {**usual, **metrics}.items()}
            for seed in range(seeds)
        ]
        for at in grid(asked, 0.0)
    }
    return Measured(DEEP, runs)


class TestConditions:
    @pytest.mark.parametrize(
        ("rate", "flows", "rtt"), [("1 Gbit/s", 10, 0.06), ("50 Mbit/s", 20, 0.04)]
    )
    def test_settled_ones_wait_for_all_beginnings_and_show_a_whole_cycle(self, rate, flows, rtt):
        asked = question(rate=rate, flows=str(flows), rtt=f"{rtt} s", delay_at_most="12 ms")
        at = condition(asked, flows, rtt, "bulk", 0.0).settled()
        window = asked.rate_bit_per_s / 8 / 1514 * (rtt + 0.012) / flows
        # RFC 9438, section 4.2: K with beta 0.7 and C 0.4, or Reno's cycle
        cycle = min((0.3 * window / 0.4) ** (1 / 3), 0.6 * window * rtt)
        # All start within a second, and slow start takes a few round trips.
        assert at.warm_up(0.0) >= 1.0 + math.log2(window) * rtt + cycle
        assert at.seconds(0.0) >= cycle

    def test_a_fast_line_drains_sooner(self):
        # 10,240 packets of 1514 bytes take 12.4 ms at 10 Gbit/s, and show for twenty times as long.
        slow, fast = (
            condition(question(rate=rate), 20, 0.04, "bulk", 0.0)
            for rate in ("100 Mbit/s", "10 Gbit/s")
        )
        for at, longer_s in ((slow, 2.0), (fast, 20 * 0.0124)):
            found = at.settled().warm_up(0.0) - at.warm_up(1.0)
            assert found == pytest.approx(longer_s, rel=0.01)

    @pytest.mark.parametrize("flows", [4, 20])
    def test_a_short_settled_run_says_what_a_long_one_says(self, flows):
        asked = question(flows=str(flows))
        queue = assumed(asked).queue
        laboratory = Laboratory(asked, None, None, 1e9)
        brief = condition(asked, flows, 0.04, "bulk", 0.0)
        long = replace(brief, least_warm_up_s=30.0, least_measured_s=30.0)
        [found] = laboratory.measure([queue], [brief, brief.settled(), long], [1, 2, 3], 0.0)
        truth = found.p95_ms(long)
        assert found.p95_ms(brief.settled()) == pytest.approx(truth, rel=0.15)
        if flows > 4:
            # What slow start has left in the queue drains into the measurement.
            assert found.p95_ms(brief) > 3.0 * truth

    def test_codel_is_waited_for_until_it_drops_often_enough(self):
        # 200 flows over 50 ms at 100 Mbit/s have 2.3 packets each, and 0.75 / 2.3^2 of them are to
        # be dropped: 1190 in a second. 1 / (2 x 0.1^2) more in each second come to that after 24 s.
        asked = question(rate="100 Mbit/s", rtt="50 ms", flows="200")
        [codel, fair] = [QueueSetting(each, each, each) for each in ("codel", "fq-codel")]
        places = nominal(grid(asked, 0.0))
        [plain], [ramped] = (with_ramp(places, asked, queue) for queue in (fair, codel))
        assert plain == places[0]
        longer_s = ramped.settled().warm_up(0.0) - plain.settled().warm_up(0.0)
        assert longer_s == pytest.approx(24.0, rel=0.05)
        laboratory = Laboratory(asked, None, None, 1e9)
        late = replace(ramped.settled(), warm_up_s=60.0, least_warm_up_s=60.0)
        rows = laboratory.measure(
            [codel], [plain.settled(), ramped.settled(), late], [1, 2, 3], 0.0
        )
        early, waited, truth = (rows[0].p95_ms(at) for at in rows[0].runs)
        assert early > 2.0 * truth
        # What the start has left is gone. A cycle of CoDel's own is longer than the measurement
        # here: over 12 seeds it is 16 ms then, and 40 after a minute.
        assert waited < early / 3.0

    def test_telling_the_halves_apart_changes_nothing(self):
        asked = question()
        at = condition(asked, 20, 0.04, "mixed", 0.0)
        halves = network(asked, at, assumed(asked).queue, 0.0).core_json()
        whole = json.loads(halves)
        assert len(whole["changes"]) == 1
        whole["changes"] = []
        one, other = run_jobs([halves, json.dumps(whole)], [(0, 1), (1, 1)])
        assert one.link("bottleneck").total == other.link("bottleneck").total
        assert one.flows("cubic").total == other.flows("cubic").total


class TestContinued:
    def test_what_falls_between_the_halves_goes_on_falling(self):
        asked = question()
        found = continued(asked, rows(asked, **{f"delay_p95_ms{DRIFT}": -8.0}))
        assert found.p95_ms(nominal(found.runs)[0]) == pytest.approx(30.0 - 1.5 * 8.0, rel=1e-3)

    def test_what_may_be_chance_does_not(self):
        asked = question()
        measured = rows(asked)
        for runs in measured.runs.values():
            for run, drift in zip(runs, (-8.0, 9.0, -7.0, 1.0, 2.0), strict=True):
                run[f"delay_p95_ms{DRIFT}"] = drift
        found = continued(asked, measured)
        for at in measured.runs:
            assert found.p95_ms(at) == measured.p95_ms(at)

    def test_no_more_arrives_than_the_line_carries(self):
        asked = question()
        most = 50e6 * (1.0 - HEADER_BYTES / PACKET_BYTES)
        before = rows(asked, delay_p95_ms=20.0, goodput_bit_per_s=0.994 * most)
        stock = rows(asked, delay_p95_ms=20.0, goodput_bit_per_s=1.008 * most)
        assert judge(asked, before, stock).by == "goodput"
        assert goodput_share(asked, continued(asked, stock)) == pytest.approx(1.0)
        assert judge(asked, continued(asked, before), continued(asked, stock)).by is None

    def test_what_does_not_last_is_not_taken(self):
        asked = question()
        before = rows(asked, **{f"delay_p95_ms{DRIFT}": -8.0})
        after = rows(asked, delay_p95_ms=20.0)
        case = engine._Case(asked, Laboratory(asked, None, None, 1e9), [], [], DEEP)
        case._judge(before, [after])
        [only] = case.compared
        assert only.accepted
        assert not only.lasts
        assert engine._recommended(asked, case.compared) is None
        steady = engine._Case(asked, Laboratory(asked, None, None, 1e9), [], [], DEEP)
        steady._judge(rows(asked), [after])
        assert engine._recommended(asked, steady.compared) is steady.compared[0]

    def test_that_it_was_still_changing_is_said(self):
        asked = question()
        before, after = rows(asked), rows(asked, delay_p95_ms=20.0)
        judgement = judge(asked, before, after)
        compared = (Compared(after, judgement, keeps_bound=True, lasts=False),)
        said = reason(
            Advice(
                asked,
                assumed(asked),
                "keep: not settled",
                before,
                before,
                judgement,
                compared,
                before,
                before,
            )
        )
        assert "Pfifo seemed better, but its figures were still changing" in said


class TestAdvice:
    def asked(self):
        return question(
            rate="20 Mbit/s", rtt="20 ms .. 60 ms", flows="4 .. 12", delay_at_most="40 ms"
        )

    def answer(self, deadline_s=None):
        asked = self.asked()
        present = replace(assumed(asked), queue=DEEP)
        # A clock that stands still is that of a machine without end.
        return advise(asked, present, deadline_s=deadline_s, clock=lambda: 0.0)

    def test_too_few_packets_to_settle_recommend_nothing_and_say_what_would_do(self, monkeypatch):
        monkeypatch.setattr(engine, "QUICK_PACKETS", 0.7e6)
        found = self.answer()
        assert found.verdict == "keep: not settled"
        said = json.loads(json.dumps(document(found), allow_nan=False))
        assert said["settled"] is False
        assert said["keep"] is True
        needed = said["deadline_needed_s"]
        assert needed > engine.QUICK_S
        assert f"--deadline '{needed:g} s'" in said["reason"]
        assert "not enough time for the transfers to settle" in said["reason"]
        assert limits(found)[0].startswith("Half and twice")
        # Nothing is recommended, so nothing is "the best of what was".
        hurried = replace(found, time_was_up=True, deadline_s=1.0)
        assert not any("best" in each for each in warnings(hurried))
        assert any("best" in each for each in warnings(replace(hurried, settled=True)))
        # And that is enough: the budget grows with the deadline, but only as far as is needed.
        again = self.answer(needed)
        assert again.settled
        assert again.verdict == "set: bound"
        assert again.packets > found.packets
        much = self.answer(1000.0 * needed)
        assert replace(much, deadline_s=needed) == again

    def test_an_ordinary_line_settles_within_the_usual_packets(self):
        asked = self.asked()
        laboratory = Laboratory(asked, None, None, engine.QUICK_PACKETS)
        places = grid(asked, 8 * 1.5e6)
        assert engine.settling_budget(places, laboratory) <= engine.QUICK_PACKETS
