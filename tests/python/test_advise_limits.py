"""Advice at the edges: any line in time, what a user may change, and what has to be said."""

import json
import math
from dataclasses import replace

import pytest

from vermilion.advise import Advice, advise, assumed, read_question
from vermilion.advise import advice as engine
from vermilion.advise.advice import Compared
from vermilion.advise.candidates import finalists
from vermilion.advise.commands import commands
from vermilion.advise.conditions import PACKET_BYTES, grid, network, nominal, subset
from vermilion.advise.document import document
from vermilion.advise.families import families
from vermilion.advise.harms import Harm, harms, widened
from vermilion.advise.judgement import Judgement, judge, keeps
from vermilion.advise.margins import OwnMargin, margins_for
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.plan import conditions_for, seeds_for
from vermilion.advise.question import QueueSetting
from vermilion.advise.wording import headline, reason, warnings
from vermilion.cli import main
from vermilion.objectives.constraint import Constraint
from vermilion.profiles import PROFILES
from vermilion.scenario import ScenarioError

ASKED = {"rate": "10 Mbit/s", "rtt": "10 ms .. 40 ms", "flows": "2 .. 8", "delay_at_most": "25 ms"}
DROP_TAIL = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": 1000.0})


def question(**changes):
    return read_question(**{**ASKED, "quick": True, **changes})


def measured(asked, queue=DROP_TAIL, **metrics):
    """Hand-made figures of a queue, the same in all conditions, but for a little by seed."""
    usual = {
        "delay_p50_ms": 1.0, "delay_p95_ms": 10.0, "goodput_bit_per_s": 9e6, "jain_index": 0.99,
        "starved_flows": 0.0, "drop_rate": 0.01,
    }  # fmt: skip
    runs = {
        at: [
            {name: value * (1.0 + 1e-6 * seed) for name, value in {**usual, **metrics}.items()}
            for seed in range(5)
        ]
        for at in grid(asked, 0.0)
    }
    return Measured(queue, runs)


def answer(asked, before, after, present=None, length=1.0):
    """An answer made of hand-made figures."""
    present = present or assumed(asked)
    judgement = judge(asked, before, after)
    return Advice(
        asked, present, "set: bound", before, after, judgement, (), before, after, length=length
    )


@pytest.mark.parametrize(
    ("by", "gains"),
    [("goodput", "fill 5.2 % more of the line"), ("delay", "come to 12.0 ms")],
)
def test_what_costs_too_much_is_said_to_be_better_by_what_it_is(by, gains):
    asked = question()
    before, other = (measured(asked, goodput_bit_per_s=rate) for rate in (9e6, 9.5e6))
    other = replace(other, queue=replace(DROP_TAIL, label="codel, rule of thumb"))
    other.runs.update(measured(asked, goodput_bit_per_s=9.5e6, delay_p95_ms=12.0).runs)
    harm = Harm(nominal(other.runs)[0], "jain_index", 0.991, 0.512, 0.4)
    compared = (Compared(other, Judgement(by, harms=(harm,)), keeps_bound=True),)
    said = reason(replace(answer(asked, before, before), verdict="keep: harm", compared=compared))
    assert f"The best of the others (codel, rule of thumb) would {gains}, but it costs too" in said
    assert "Jain's index of fairness 0.991 -> 0.512" in said


class TestTime:
    @pytest.mark.parametrize(
        ("device", "rate", "flows"),
        [
            ("linux", "1 Mbit/s", "1 .. 40"),
            ("sonic", "30 Mbit/s", "2 .. 9"),
            ("cisco", "100 Mbit/s", "50"),
        ],
    )
    def test_no_network_takes_more_than_its_budget(self, monkeypatch, device, rate, flows):
        budget = 6e6
        monkeypatch.setattr(engine, "QUICK_PACKETS", budget)
        asked = question(rate=rate, flows=flows, device=device, delay_at_most="6 ms")
        deep = replace(assumed(asked), queue=DROP_TAIL)
        assert advise(asked, deep).packets <= 1.6 * budget

    def test_a_fast_line_has_fewer_conditions_and_says_so(self):
        asked = question(rate="1 Gbit/s")
        usual, little = (Laboratory(asked, None, None, budget) for budget in (1e9, 1.5e7))
        everything = grid(asked, 0.0)
        assert conditions_for(asked, 0.0, usual) == everything
        few = conditions_for(asked, 0.0, little)
        assert few == subset(everything)
        before = measured(asked)
        only = {at: before.runs[at] for at in few}
        said = warnings(answer(asked, Measured(DROP_TAIL, only), Measured(DROP_TAIL, only)))
        assert any("Only some conditions could be simulated" in each for each in said)
        whole = warnings(answer(asked, before, before))
        assert not any("Only some conditions" in each for each in whole)

    def test_a_slow_line_is_compared_on_more_seeds_and_a_fast_one_on_fewer(self):
        asked = question()
        places = grid(asked, 0.0)
        laboratory = Laboratory(asked, None, None, 1e9)
        once = laboratory.cost(places, 0.0, 2, 1), laboratory.cost(places, 1.0, 4, 1)
        found = [seeds_for(places, laboratory, 5, packets)
                 for packets in (0.0, 4.5 * once[0], 7.5 * once[1], 1e3 * once[1])]  # fmt: skip
        assert found == [3, 4, 7, 15]

    def test_a_line_too_fast_is_refused_with_a_rate_that_is_not(self):
        asked = question(rate="1 Tbit/s")
        with pytest.raises(ScenarioError) as refused:
            advise(asked, assumed(asked))
        assert refused.value.field == "--rate"
        assert "without --quick more" in refused.value.accepted
        slower = question(rate=" ".join(refused.value.accepted.split()[2:4]))
        assert conditions_for(slower, 0.0, Laboratory(slower, None, None, engine.QUICK_PACKETS))

    def test_runs_shorter_than_from_loss_to_loss_are_said_to_be(self):
        asked = question(rate="1 Gbit/s", rtt="100 ms", flows="1")
        [at] = nominal(grid(asked, 0.0))
        # RFC 9438, section 4.2, K of beta 0.7 and C 0.4, W in packets of the line and the bound
        window = 1e9 / 8 / 1514 * 0.125
        assert at.between_losses_s == pytest.approx((window * 0.3 / 0.4) ** (1 / 3))
        rows = measured(asked)
        short, full = (warnings(answer(asked, rows, rows, length=end)) for end in (0.0, 1.0))
        assert any("how transfers begin" in each for each in short)
        assert not any("how transfers begin" in each for each in full)


class TestFinalists:
    def test_what_keeps_the_bound_is_compared_even_if_few_seeds_find_harm(self):
        asked = question()
        over, much = (measured(asked, delay_p95_ms=ms) for ms in (26.0, 40.0))
        queues = [replace(DROP_TAIL, parameters={"limit": float(n)}) for n in range(6)]
        rows = [measured(asked, each, delay_p95_ms=26.0) for each in queues[:4]]
        within = measured(asked, queues[4], delay_p95_ms=20.0, jain_index=0.5)
        found = finalists(asked, over, [*rows, within])
        assert found[:2] == [over.queue, within.queue]
        assert len(found) == 3
        # Nothing to mend where the choice keeps it, or nothing does
        assert finalists(asked, within, rows)[1:] == queues[:2]
        assert finalists(asked, much, rows)[1:] == queues[:2]
        assert finalists(asked, None, rows) == []


USUAL = {
    "goodput_bit_per_s", "jain_index", "starved_flows", "drop_rate", "delay_p95_ms",
    "short_transfer_s", "call_delay_p95_ms", "call_loss_rate",
}  # fmt: skip


class TestHarm:
    @pytest.mark.parametrize(
        ("texts", "kept"),
        [
            ((), {*USUAL}),
            (("none",), set()),
            (
                ("goodput=none", "links.bottleneck.sojourn_ms.p95=none"),
                USUAL - {"goodput_bit_per_s", "delay_p95_ms"},
            ),
            (("jain_index=0.1",), USUAL - {"jain_index"}),
            (("delay_p95=none",), USUAL - {"delay_p95_ms"}),
            (("delay_p95=3 ms",), USUAL - {"delay_p95_ms"}),
            (
                ("short_transfer=none", "call_delay=5 ms"),
                USUAL - {"short_transfer_s", "call_delay_p95_ms"},
            ),
            (("none", "call_loss=0.01"), set()),
        ],
    )
    def test_what_is_not_named_keeps_its_margin(self, texts, kept):
        assert margins_for(question(harm=texts)).usual == kept

    def test_a_margin_of_ones_own_takes_the_place_of_the_usual_one(self):
        fair, less = 0.99, 0.9
        for texts, harmful in (((), True), (("jain_index=0.1",), False), (("none",), False)):
            asked = question(harm=texts)
            found = harms(asked, measured(asked, jain_index=fair), measured(asked, jain_index=less))
            assert {each.what for each in found} == ({"jain_index"} if harmful else set())

    @pytest.mark.parametrize(
        ("text", "metric", "before", "after"),
        [
            ("short_transfer=20 %", "short_transfer_s", 1.0, 1.15),
            ("short_transfer=300 ms", "short_transfer_s", 1.0, 1.2),
            ("call_delay=20 ms", "call_delay_p95_ms", 10.0, 29.0),
            ("call_loss=0.1", "call_loss_rate", 0.0, 0.09),
        ],
    )
    def test_margins_of_short_transfers_and_of_a_call_have_names(self, text, metric, before, after):
        name = text.partition("=")[0]
        nothing = f"{name}=0.0001" if name == "call_loss" else f"{name}=0 ms"
        whole = {"short_transfer_s": 1.0, "call_delay_p95_ms": 10.0, "call_loss_rate": 0.0}
        for texts, harmful in (
            ((), True), ((text,), False), ((f"{name}=none",), False), (("none",), False),
            (("none", nothing), True),
        ):  # fmt: skip
            asked = question(harm=texts)
            rows = [measured(asked, **{**whole, metric: value}) for value in (before, after)]
            assert {each.what for each in harms(asked, *rows)} == ({metric} if harmful else set())

    def test_a_call_is_known_by_name_where_the_line_is_too_slow_for_one(self):
        asked = question(rate="200 kbit/s", harm=("call_loss=0.1",))
        assert [each.metric for each in margins_for(asked).own] == ["call_loss_rate"]

    def test_it_holds_where_the_bound_is_broken_too(self):
        # 5 % less goodput is within the wider margin of 10 %, and beyond 2 % that somebody asks for
        for texts, harmful in (((), False), (("goodput=2 %",), True)):
            asked = question(harm=texts)
            before = measured(asked, delay_p95_ms=60.0)
            after = measured(asked, goodput_bit_per_s=9e6 * 0.95)
            assert bool(harms(asked, before, after)) is harmful
            assert widened(asked, before, after) == [] if texts else widened(asked, before, after)

    @pytest.mark.parametrize(
        ("bound", "before", "after", "used"),
        [
            (">= 0.98 of reference", 100.0, 99.0, 0.5),
            (">= reference - 0.05", 0.9, 0.8, 2.0),
            ("<= 1.1 of reference", 50.0, 60.0, 2.0),
            ("<= reference + 2", 1.0, 2.0, 0.5),
            ("<= reference + 2", 3.0, 2.0, 0.0),
        ],
    )
    def test_how_much_of_a_margin_is_used(self, bound, before, after, used):
        constraint = Constraint.parse(f"links.bottleneck.drop_rate {bound}")
        assert OwnMargin("x", constraint).used(before, after) == pytest.approx(used)

    def test_of_a_margin_of_nothing_anything_is_too_much(self):
        own = OwnMargin("x", Constraint.parse("links.bottleneck.drop_rate <= reference + 0"))
        assert own.used(0.1, 0.1) == 0.0
        assert own.used(0.1, 0.100001) > 1e6

    def test_any_metric_is_measured(self):
        asked = question(
            harm=("links.bottleneck.sojourn_ms.p99=10 %", "flows.cubic.delay_ms.p95=5 ms")
        )
        laboratory = Laboratory(asked, None, None, 1e9)
        at = grid(asked, 0.0)[-1]
        [row] = laboratory.measure([DROP_TAIL], [at], [1], 0.0)
        p99 = row.mean(at, "links.bottleneck.sojourn_ms.p99")
        assert p99 == row.mean(at, "delay_p99_ms")
        # A packet's whole way takes its base delay, more than half of 20 ms less a tenth, besides
        whole = row.mean(at, "flows.cubic.delay_ms.p95")
        assert whole is not None
        assert whole > row.p95_ms(at)

    @pytest.mark.parametrize(
        "text",
        ["", "goodput", "goodput=", "goodput=lots", "fairness=0.1", "links.other.drop_rate=1",
         "flows.{0}.jain_index=0.1", "links.{x.y}.drop_rate=0.1", "goodput=2 ms",
         "jain_index=-1", "starved=-3", "short_transfers=5 %", "call_loss=lots",
         "call_delay=-1 ms"],
    )  # fmt: skip
    def test_what_is_no_margin_is_one_line(self, capsys, text):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in ASKED.items()]
        assert main(["advise", *options, f"--harm={text}"]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert captured.err.startswith("vermilion: --harm")

    def test_json_tells_which_margins_were_in_force(self):
        asked = question(harm=("jain_index=0.1", "goodput=none"))
        rows = measured(asked)
        found = json.loads(json.dumps(document(answer(asked, rows, rows)), allow_nan=False))
        assert found["goal"]["harm"] == ["jain_index=0.1", "goodput=none"]
        assert found["own_margins"] == ["flows.*.jain_index >= reference - 0.1"]
        assert set(found["margins"]) == {
            "starved_flows", "starved_share", "drop_rate", "delay_ratio", "delay_ms",
            "delay_part_of_gain", "short_transfer_ratio", "call_loss_rate",
            "call_loss_rate_where_the_bound_was_broken", "call_loss_rate_heard",
        }  # fmt: skip


class TestWiderMargins:
    def test_their_use_is_said(self):
        asked = question()
        before = measured(asked, delay_p95_ms=60.0)
        after = measured(asked, goodput_bit_per_s=9e6 * 0.94, drop_rate=0.09)
        advice = answer(asked, before, after)
        assert not advice.judgement.harms
        said = " ".join(document(advice)["warnings"])
        assert "goodput falls by 6.0 % (9.00 Mbit/s -> 8.46 Mbit/s). Elsewhere 2 % would" in said
        assert "here 10 % is, because the present queue breaks the bound there" in said
        assert "1 -> 9 % of the packets are dropped. Elsewhere at most 5 % more" in said

    def test_within_the_usual_ones_nothing_is(self):
        asked = question()
        before = measured(asked, delay_p95_ms=60.0)
        after = measured(asked, goodput_bit_per_s=9e6 * 0.985, drop_rate=0.05)
        assert widened(asked, before, after) == []

    @pytest.mark.parametrize(
        ("worst", "elsewhere", "harmful"),
        [
            ((177.0, 26.0), (30.0, 41.0), False),  # a tenth of 136 ms is 13.6
            ((177.0, 60.0), (30.0, 41.0), False),  # of 117 ms: 11.7
            ((177.0, 60.0), (30.0, 42.0), True),
            ((60.0, 40.0), (30.0, 33.0), True),  # of 20 ms: 2, and 5 % are 1.5
        ],
    )
    def test_what_becomes_longer_is_weighed_against_what_the_worst_case_gains(
        self, worst, elsewhere, harmful
    ):
        asked = question()
        before, after = (measured(asked, delay_p95_ms=each) for each in worst)
        at = nominal(before.runs)[0]
        for rows, delay in zip((before, after), elsewhere, strict=True):
            for run in rows.runs[at]:
                run["delay_p95_ms"] = delay
        assert [each.what for each in harms(asked, before, after)] == (
            ["delay_p95_ms"] if harmful else []
        )
        told = [each.what for each in widened(asked, before, after)]
        assert ("delay_p95_ms" in told) is not harmful
        said = " ".join(document(answer(asked, before, after))["warnings"])
        assert ("packets wait longer than now" in said) is not harmful

    def test_what_becomes_the_longest_where_nobody_asked_is_not(self):
        # The worst case gains 117 ms. Twice a tenth of that may be lost with web traffic, but not
        # so much that packets wait longest there.
        asked = question()
        before, after = (measured(asked, delay_p95_ms=each) for each in (177.0, 60.0))
        [web] = [at for at in before.runs if at.traffic == "web"]
        for delay, harmful in ((50.0, False), (62.0, True)):
            for rows, value in ((before, 30.0), (after, delay)):
                for run in rows.runs[web]:
                    run["delay_p95_ms"] = value
            assert bool(harms(asked, before, after)) is harmful

    def test_where_the_bound_is_kept_there_are_none(self):
        asked = question()
        before, after = measured(asked), measured(asked, drop_rate=0.09)
        assert widened(asked, before, after) == []
        assert {each.what for each in harms(asked, before, after)} == {"drop_rate"}


class TestWred:
    @pytest.mark.parametrize("device", ["sonic", "cisco"])
    def test_it_is_named_and_set_as_the_device_has_it(self, device):
        asked = question(device=device)
        family = next(each for each in families(asked) if each.kind == "wred")
        assert family.discipline == "wred"
        names = {each.name for each in family.box(asked)}
        assert names <= set(PROFILES[device].settable["wred"])
        assert {"green_min_threshold", "green_max_threshold", "green_max_probability"} <= names
        for each in family.candidates(asked):
            assert set(each.tuned) <= set(PROFILES[device].settable["wred"])

    @pytest.mark.parametrize("device", ["sonic", "cisco"])
    def test_what_is_simulated_is_what_is_commanded(self, device):
        queue = {"sonic": "Ethernet4|1", "cisco": None}[device]
        asked = question(device=device, interface=queue, interface_rate="10 Mbit/s")
        family = next(each for each in families(asked) if each.kind == "wred")
        wanted = family.candidates(asked)[0].parameters
        own = commands(asked, assumed(asked), family.candidates(asked)[0], keep=False).apply
        low, high = (round(wanted[f"green_{end}_threshold"]) for end in ("min", "max"))
        if device == "cisco":
            assert f"random-detect precedence 0 {low} {high} 10\n" in own
        else:
            patch = json.loads(own.partition("\n")[2].partition("\nEND")[0])[0]["value"]
            for colour in ("green", "yellow", "red"):
                threshold = int(patch[f"{colour}_max_threshold"])
                assert threshold == round(wanted["green_max_threshold"] * PACKET_BYTES)

    def test_a_router_can_have_a_longer_tail_drop_queue(self):
        asked = question(device="cisco", rate="500 Mbit/s", interface_rate="500 Mbit/s")
        family = next(each for each in families(asked) if each.kind == "tail-drop")
        longest = max(family.candidates(asked)[1:], key=lambda each: each.parameters["limit"])
        # 500 Mbit/s x 25 ms are 1032 packets of 1514 bytes, of which 95 % are taken
        assert longest.parameters["limit"] == pytest.approx(0.95 * 1032, abs=2)
        own = commands(asked, assumed(asked), longest, keep=False).apply
        assert f"queue-limit {longest.parameters['limit']:.0f} packets" in own


class TestWhatAnEngineerWouldSign:
    @pytest.mark.parametrize("rate", ["200 Mbit/s", "1 Gbit/s", "10 Gbit/s", "100 Gbit/s"])
    def test_red_fits_into_the_kernels_bits_or_is_not_proposed(self, rate):
        # net/sched/sch_red.c, include/net/red.h: fls(qth_max) + Wlog must be below 32
        asked = question(rate=rate, delay_at_most="100 ms", discipline="red")
        [family] = families(asked)
        for each in family.candidates(asked):
            network(asked, grid(asked, 0.0)[0], each).core_json()
            high = int(each.parameters["max_threshold"])
            assert high.bit_length() + each.parameters["weight_log"] < 32

    def test_red_of_a_gigabit_line_is_still_there(self):
        asked = question(rate="1 Gbit/s", delay_at_most="100 ms", discipline="red")
        [family] = families(asked)
        assert family.candidates(asked)

    @pytest.mark.parametrize("kind", ["fq_codel", "codel", "fq_pie", "pie"])
    def test_no_target_is_below_a_packets_time(self, kind):
        # RFC 8290, section 5.2.1: 1514 bytes at 1 Mbit/s are 12.1 ms
        asked = question(rate="1 Mbit/s", delay_at_most="20 ms", discipline=kind)
        [family] = families(asked)
        own = [each for each in family.candidates(asked) if each.tuned]
        assert own
        assert all(each.parameters["target"] >= 0.0121 for each in own)
        box = {each.name: each for each in family.box(asked)}
        assert box["target"].lower >= 0.0121
        # but what is not too small stays: a quarter of 100 ms
        asked = question(rate="1 Mbit/s", delay_at_most="100 ms", discipline=kind)
        targets = [each.parameters["target"] for each in families(asked)[0].candidates(asked)
                   if each.tuned]  # fmt: skip
        assert any(math.isclose(each, 0.025) for each in targets)

    @pytest.mark.parametrize("kind", ["fq_codel", "codel"])
    @pytest.mark.parametrize(
        ("rate", "rtt", "longest_s"),
        [
            ("300 Mbit/s", "10 ms .. 30 ms", 0.1),  # the default
            ("300 Mbit/s", "20 ms .. 145 ms", 0.145),
            ("300 Mbit/s", "20 ms .. 600 ms", 0.3),  # a satellite's is waited for half as long
            ("100 kbit/s", "10 ms .. 30 ms", 4 * 8 * 1514 / 1e5),  # twice two packets' time
        ],
    )
    def test_no_interval_is_longer_than_the_longest_round_trip_or_the_default(
        self, kind, rate, rtt, longest_s
    ):
        # RFC 8290, section 5.2.2: on the order of the longest round trip
        asked = question(rate=rate, rtt=rtt, delay_at_most="20 ms", discipline=kind)
        [family] = families(asked)
        box = {each.name: each for each in family.box(asked)}
        assert box["interval"].upper == pytest.approx(longest_s)

    @pytest.mark.parametrize("kind", ["fq_codel", "codel"])
    @pytest.mark.parametrize(
        ("rate", "rtt", "shortest_s"),
        [
            ("300 Mbit/s", "2 ms .. 30 ms", 0.01),
            ("300 Mbit/s", "30 ms", 0.03),
            ("300 Mbit/s", "250 ms .. 600 ms", 0.1),  # the default may stay
        ],
    )
    def test_no_interval_is_shorter_than_the_shortest_round_trip(self, kind, rate, rtt, shortest_s):
        # RFC 8290, section 5.2.2: endpoints are to have time to react
        asked = question(rate=rate, rtt=rtt, delay_at_most="20 ms", discipline=kind)
        [family] = families(asked)
        box = {each.name: each for each in family.box(asked)}
        assert box["interval"].lower == pytest.approx(shortest_s)

    @pytest.mark.parametrize("kind", ["fq_codel", "codel"])
    @pytest.mark.parametrize(
        ("rate", "rtt", "bound", "intervals_ms"),
        [
            # RFC 8290, section 5.2.2: on the order of the longest round trip, and with the queue
            # that may be there where that is more.
            ("1 Gbit/s", "200 us", "1 ms", {0.2, 1.2}),
            ("1 Gbit/s", "200 us .. 4 ms", "2 ms", {4.0}),
            ("4 Gbit/s", "50 us", "100 us", {0.1, 0.2}),  # cards gather interrupts for as long
            ("50 Mbit/s", "10 ms .. 60 ms", "20 ms", {60.0}),
            ("50 Mbit/s", "10 ms .. 40 ms", "90 ms", {40.0, 100.0}),  # not beyond the default
        ],
    )
    def test_a_rule_of_thumb_has_an_interval_of_the_longest_round_trip(
        self, kind, rate, rtt, bound, intervals_ms
    ):
        asked = question(rate=rate, rtt=rtt, delay_at_most=bound, discipline=kind)
        [family] = families(asked)
        own = [each for each in family.candidates(asked) if each.tuned]
        found = {round(1e3 * each.parameters["interval"], 6) for each in own}
        assert found == intervals_ms
        box = {each.name: each for each in family.box(asked)}["interval"]
        assert all(box.lower <= each.parameters["interval"] <= box.upper for each in own)

    def test_a_data_centre_has_a_bound_that_a_rule_of_thumb_keeps(self):
        # CoDel waits for an interval before it drops: with 20 ms, 20 flows over 200 µs waited
        # 5.5 ms at a gigabit.
        asked = question(rate="1 Gbit/s", rtt="200 us", flows="2 .. 20", delay_at_most="1 ms",
                         discipline="fq_codel")  # fmt: skip
        places = [each.settled() for each in nominal(grid(asked, 0.0))]
        [family] = families(asked)
        own = [each for each in family.candidates(asked) if each.tuned]
        rows = Laboratory(asked, None, None, 1e9).measure(own, places, [31], 0.0)
        assert any(keeps(each, asked.bound_ms) for each in rows)
        assert all(each.goodput(at) > 0.95 * 1e9 for each in rows for at in places)

    @pytest.mark.parametrize(
        ("interval", "said"), [(2e-4, True), (0.009, True), (0.02, False), (0.1, False)]
    )
    def test_a_short_interval_is_said_to_be_too_short_for_others(self, interval, said):
        asked = question(rate="1 Gbit/s", rtt="50 us .. 200 us", delay_at_most="1 ms")
        own = {"target": 5e-4, "interval": interval}
        short = QueueSetting("fq_codel, tuned", "fq_codel", "fq-codel", own, ("interval",))
        found = warnings(answer(asked, measured(asked), measured(asked, short)))
        lines = [each for each in found if "Transfers over longer ones" in each]
        assert bool(lines) == said
        assert all("suits round trips of up to 200 µs" in each for each in lines)
        # pie's interval is how often it counts.
        pie = QueueSetting("pie, tuned", "pie", "pie", own, ("interval",))
        found = warnings(answer(asked, measured(asked), measured(asked, pie)))
        assert not any("Transfers over longer ones" in each for each in found)

    def test_a_bound_below_a_packets_time_is_said_to_be_out_of_reach(self):
        for bound, said in (("5 ms", True), ("13 ms", False)):
            asked = question(rate="1 Mbit/s", delay_at_most=bound)
            rows = measured(asked)
            found = " ".join(warnings(answer(asked, rows, rows)))
            assert ("takes 12.1 ms on this line" in found) is said

    def test_giving_up_a_queue_for_each_flow_is_said(self):
        asked = question()
        fair = assumed(asked).queue
        pie = QueueSetting("pie, defaults", "pie", "pie")
        own = answer(asked, measured(asked, fair), measured(asked, pie))
        assert any("keeps the flows apart; pie does not" in each for each in warnings(own))
        back = answer(asked, measured(asked, pie), measured(asked, fair))
        assert not any("keeps the flows apart" in each for each in warnings(back))

    @pytest.mark.parametrize(
        ("device", "line"),
        [("sonic", "tail drop, about 1 MB"), ("cisco", "tail drop, 64 packets")],
    )
    def test_what_is_assumed_is_said_once(self, device, line):
        asked = question(device=device)
        rows = measured(asked, assumed(asked).queue)
        own = replace(
            answer(asked, rows, rows), verdict="keep: nothing better", judgement=Judgement(None)
        )
        assert headline(own) == f"Keep what you have: {line}."

    @pytest.mark.parametrize(
        ("name", "value", "field"),
        [
            ("rate", "9.6 kbit/s", "--rate"),
            ("flows", "0 .. 5", "--flows"),
            ("flows", "40 .. 2", "--flows"),
            ("interface", "eth0|reboot", "--interface"),
            ("interface", "eth0&", "--interface"),
            ("interface", "-eth0", "--interface"),
            ("interface", "eth0\nreboot", "--interface"),
        ],
    )
    def test_odd_input_is_refused_by_name(self, name, value, field):
        with pytest.raises(ScenarioError) as refused:
            question(**{name: value})
        assert refused.value.field == field

    def test_an_interface_slower_than_the_bottleneck_is_refused_with_what_to_say(self, capsys):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in ASKED.items()]
        assert main(["advise", *options, "--interface-rate=8 Mbit/s"]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert said.startswith('vermilion: --interface-rate: "8 Mbit/s" is not accepted; expected')
        assert "10 Mbit/s of --rate" in said
        assert "give --rate '8 Mbit/s'" in said
        assert question(interface_rate="10 Mbit/s").interface_rate_bit_per_s == 10e6

    def test_a_device_without_the_discipline_names_those_it_has(self):
        with pytest.raises(ScenarioError, match='"wred", "tail-drop", for the device cisco'):
            families(question(device="cisco", discipline="fq_codel"))
