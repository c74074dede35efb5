"""Advice at the edges: any line in time, what a user may change, and what has to be said."""

import json
from dataclasses import replace

import pytest

from vermilion.advise import Advice, advise, assumed, read_question
from vermilion.advise import advice as engine
from vermilion.advise.commands import commands
from vermilion.advise.conditions import PACKET_BYTES, grid, network, nominal, subset
from vermilion.advise.document import document
from vermilion.advise.families import families
from vermilion.advise.harms import harms
from vermilion.advise.judgement import Judgement, judge, keeps
from vermilion.advise.margins import METRICS, Margin, margins_for
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.metrics import sparse_points
from vermilion.advise.plan import affordable_conditions, seeds_for
from vermilion.advise.question import QueueSetting
from vermilion.advise.wording import headline, warnings
from vermilion.cli import main
from vermilion.objectives.constraint import Constraint
from vermilion.profiles import PROFILES
from vermilion.scenario import ScenarioError
from vermilion.tuning.rules_of_thumb import rounded

ASKED = {"rate": "10 Mbit/s", "rtt": "10 ms .. 40 ms", "flows": "2 .. 8", "delay_at_most": "25 ms"}
DROP_TAIL = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": 1000.0})


def question(**changes):
    return read_question(**{**ASKED, "quick": True, **changes})


def measured(asked, queue=DROP_TAIL, **metrics):
    """Hand-made figures of a queue, the same in all conditions, but for a little by seed."""
    usual = {
        "delay_p50_ms": 1.0, "delay_p95_ms": 10.0, "goodput_bit_per_s": 9e6, "jain_index": 0.99,
        "starved_flows": 0.0, "drop_rate": 0.01, "call_delay_p95_ms": 2.0, "call_loss_rate": 0.0,
    }  # fmt: skip
    known = {**usual, **metrics}
    wait, lost = known["call_delay_p95_ms"], known["call_loss_rate"]
    known["sparse_points"] = sparse_points(wait, lost, asked.bound_ms)
    runs = {
        at: [
            {name: value * (1.0 + 1e-6 * seed) for name, value in known.items()}
            for seed in range(5)
        ]
        for at in grid(asked, 0.0)
    }
    return Measured(queue, runs)


def answer(asked, before, after, present=None):
    """An answer made of hand-made figures."""
    present = present or assumed(asked)
    judgement = judge(asked, before, after)
    return Advice(asked, present, "set: bound", before, after, judgement, (), before, after)


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
        usual, little = (Laboratory(asked, None, None, budget) for budget in (2e9, 1.5e8))
        everything = grid(asked, 0.0)
        assert affordable_conditions(everything, usual) == everything
        few = affordable_conditions(everything, little)
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
        once = laboratory.cost(places, 0.0, 4, 1), laboratory.cost(places, 1.0, 4, 1)
        found = [seeds_for(places, laboratory, 4, 5, packets)
                 for packets in (0.0, 4.5 * once[0], 7.5 * once[1], 1e3 * once[1])]  # fmt: skip
        assert found == [3, 4, 7, 15]

    def test_a_line_too_fast_is_not_judged_and_says_what_would_do(self):
        asked = question(rate="1 Tbit/s")
        found = document(advise(asked, assumed(asked)))
        assert (found["answer"], found["simulations"]) == ("not judged", 0)
        assert found["deadline_needed_s"] > 60.0
        json.dumps(found, allow_nan=False)

    def test_what_is_measured_is_longer_than_from_loss_to_loss(self):
        asked = question(rate="1 Gbit/s", rtt="100 ms", flows="1")
        [at] = nominal(grid(asked, 0.0))
        # RFC 9438, section 4.2, K of beta 0.7 and C 0.4, W in packets of the line and the bound
        window = 1e9 / 8 / 1514 * 0.125
        assert at.least_measured_s == pytest.approx((window * 0.3 / 0.4) ** (1 / 3))


USUAL = {
    "goodput_bit_per_s", "jain_index", "starved_flows", "drop_rate", "delay_p95_ms",
    "short_transfer_s", "sparse_points",
}  # fmt: skip


class TestHarm:
    @pytest.mark.parametrize(
        ("texts", "kept"),
        [
            ((), {*USUAL}),
            (("none",), set()),
            (("goodput=none",), USUAL - {"goodput_bit_per_s"}),
            (("jain_index=0.1",), USUAL - {"jain_index"}),
            (("delay_p95=3 ms",), USUAL - {"delay_p95_ms"}),
            (
                ("short_transfer=none", "call_delay=5 ms"),
                USUAL - {"short_transfer_s", "sparse_points"},
            ),
            (("sparse=none",), USUAL - {"sparse_points"}),
            (("none", "call_loss=0.01"), set()),
        ],
    )
    def test_what_is_not_named_keeps_its_margin(self, texts, kept):
        found = margins_for(question(harm=texts))
        assert {each.metric for each in found if not each.own} == kept

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
            found = {each.what for each in harms(asked, *rows)}
            usual = "sparse_points" if name.startswith("call") and not texts else metric
            assert found == ({usual} if harmful else set())

    def test_it_holds_where_the_bound_is_broken_too(self):
        # 5 % less goodput is nothing beside a call that waits too long now, unless somebody says so
        for texts, harmful in (((), False), (("goodput=2 %",), True)):
            asked = question(harm=texts)
            before = measured(asked, call_delay_p95_ms=60.0)
            after = measured(asked, goodput_bit_per_s=9e6 * 0.95)
            assert bool(harms(asked, before, after)) is harmful

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
        assert Margin("x", constraint).used(before, after) == pytest.approx(used)

    def test_of_a_margin_of_nothing_anything_is_too_much(self):
        own = Margin("x", Constraint.parse("links.bottleneck.drop_rate <= reference + 0"))
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
            "starved", "drop_rate", "jain_index", "delay_p95", "short_transfer", "sparse",
        }  # fmt: skip
        assert set(found["margins"]) <= set(METRICS)


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
            assert f"random-detect precedence 0 {low} {high} 2\n" in own
        else:
            patch = json.loads(own.partition("\n")[2].partition("\nEND")[0])[0]["value"]
            for colour in ("green", "yellow", "red"):
                threshold = int(patch[f"{colour}_max_threshold"])
                assert threshold == round(wanted["green_max_threshold"] * PACKET_BYTES)

    def test_a_router_can_have_a_longer_tail_drop_queue(self):
        asked = question(device="cisco", rate="500 Mbit/s", interface_rate="500 Mbit/s")
        family = next(each for each in families(asked) if each.kind == "tail-drop")
        product, longest = family.candidates(asked)[1:]
        # 500 Mbit/s x 25 ms are 1032 packets of 1514 bytes, of which 95 % are taken; and 40 ms of
        # two flows
        assert longest.parameters["limit"] == 980
        assert product.parameters["limit"] == pytest.approx(1651 / 2**0.5, rel=0.05)
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

    @pytest.mark.parametrize(
        ("rate", "rtt", "target_s", "interval_s"),
        [
            ("50 Mbit/s", "10 ms .. 60 ms", 0.005, 0.1),  # RFC 8289: the defaults
            ("50 Mbit/s", "20 ms .. 600 ms", 0.03, 0.6),
            # RFC 8290, section 5.2.1: 1514 bytes at 1 Mbit/s take 12.1 ms
            ("1 Mbit/s", "10 ms .. 60 ms", 0.02, 0.2),
            ("1 Gbit/s", "200 us", 6e-5, 1.2e-3),
            ("4 Gbit/s", "50 us", 1.5e-5, 3e-4),
        ],
    )
    def test_codel_is_set_by_its_rfc(self, rate, rtt, target_s, interval_s):
        for kind in ("codel", "fq_codel"):
            asked = question(rate=rate, rtt=rtt, discipline=kind)
            own = families(asked)[0].candidates(asked)
            [found] = [each for each in own if "interval" in each.tuned] or own[:1]
            target, interval = (found.parameters.get(name) for name in ("target", "interval"))
            assert (target or 0.005) == pytest.approx(target_s, rel=0.15)
            assert (interval or 0.1) == pytest.approx(interval_s, rel=0.15)
            assert 0.04 <= (target or 0.005) / (interval or 0.1) <= 0.11

    def test_pie_is_told_half_of_a_bound(self):
        asked = question(delay_at_most="20 ms", discipline="pie")
        [rule] = [each for each in families(asked)[0].candidates(asked) if each.tuned]
        assert rule.parameters["target"] == 0.01
        assert set(rule.tuned) == {"target"}

    def test_a_queue_for_each_flow_is_not_searched(self):
        for each in families(question()):
            assert bool(each.box(question())) is not each.keeps_apart

    @pytest.mark.parametrize(("value", "written"), [(4.62, 5.0), (0.00137, 0.0015), (68.3, 60.0)])
    def test_numbers_are_those_that_a_person_would_write(self, value, written):
        assert rounded(value) == written

    def test_a_data_centre_has_a_bound_that_a_rule_of_thumb_keeps(self):
        # CoDel waits for an interval before it drops: with 20 ms, 20 flows over 200 µs waited
        # 5.5 ms at a gigabit.
        asked = question(rate="1 Gbit/s", rtt="200 us", flows="2 .. 20", delay_at_most="1 ms",
                         discipline="fq_codel")  # fmt: skip
        places = nominal(grid(asked, 0.0))
        [family] = families(asked)
        own = [each for each in family.candidates(asked) if each.tuned]
        rows = Laboratory(asked, None, None, 1e9).measure(own, places, [31], 0.0)
        assert any(keeps(each, asked.bound_ms) for each in rows)
        assert all(each.p95_ms(at) <= 1.0 for each in rows for at in places)
        assert all(each.goodput(at) > 0.95 * 1e9 for each in rows for at in places)

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
        assert headline(own) == f"Keep {line}."

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
