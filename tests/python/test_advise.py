"""Advice: what is asked, how queues are judged, what is answered, and the commands."""

import json
import math

import pytest

from vermilion.advise import advice as engine
from vermilion.advise import advise, assumed, read_question
from vermilion.advise.commands import commands
from vermilion.advise.conditions import grid, nominal
from vermilion.advise.document import document
from vermilion.advise.families import families
from vermilion.advise.judgement import worst_p95_ms, worst_sparse_ms
from vermilion.advise.measuring import _jain_index
from vermilion.advise.number_words import megabits, milliseconds
from vermilion.advise.page import advice_page
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.cli import main
from vermilion.scenario import ScenarioError

ASKED = {"rate": "10 Mbit/s", "rtt": "10 ms .. 40 ms", "flows": "2 .. 8", "delay_at_most": "25 ms"}
OPTIONS = ["--rate=10 Mbit/s", "--rtt=10 ms .. 40 ms", "--flows=2 .. 8", "--delay-at-most=25 ms"]
DEEP = "qdisc pfifo 8001: dev eth0 root refcnt 2 limit 1000p\n"


def question(**changes):
    return read_question(**{**ASKED, "quick": True, **changes})


def deep(asked):
    return present_of(asked, read_tc_text(DEEP), "--now")


@pytest.fixture
def little(monkeypatch):
    """Less simulated than anybody would want for an answer, and enough to go through everything."""
    monkeypatch.setattr(engine, "QUICK_PACKETS", 2e6)


@pytest.fixture(scope="module")
def against_deep():
    """The answer to somebody with 1000 packets of drop-tail."""
    asked = question()
    return advise(asked, deep(asked))


@pytest.fixture(scope="module")
def of_the_issue():
    """The question to which a target of 31.9 ms was once the answer."""
    asked = question(rate="50 Mbit/s", rtt="30 ms", flows="10", delay_at_most="20 ms")
    return advise(asked, assumed(asked))


class TestQuestion:
    def test_ranges_and_units(self):
        asked = question(rate="1.25 MB/s", flows="3")
        assert asked.rate_bit_per_s == 10e6
        assert asked.round_trip_s == (0.01, 0.04)
        assert asked.flows == (3, 3)
        assert asked.bound_ms == pytest.approx(25.0)

    @pytest.mark.parametrize(
        ("name", "value", "field"),
        [
            ("rate", "50", "--rate"),
            ("rate", "0 Mbit/s", "--rate"),
            ("rtt", "60 ms .. 10 ms", "--rtt"),
            ("rtt", "10 ms .. 20 ms .. 30 ms", "--rtt"),
            ("rtt", "..", "--rtt"),
            ("flows", "0", "--flows"),
            ("flows", "1.5", "--flows"),
            ("flows", "2 .. many", "--flows"),
            ("delay_at_most", "soon", "--delay-at-most"),
            ("device", "windows", "--device"),
            ("interface", "eth0; reboot", "--interface"),
            ("parent", "$(x)", "--parent"),
            ("ecn", "maybe", "--ecn"),
        ],
    )
    def test_what_is_no_answer_is_refused_by_name(self, name, value, field):
        with pytest.raises(ScenarioError) as refused:
            question(**{name: value})
        assert refused.value.field == field

    def test_a_device_has_only_its_own_disciplines(self):
        with pytest.raises(ScenarioError, match="for the device cisco"):
            families(question(device="cisco", discipline="fq_codel"))
        assert [each.kind for each in families(question(discipline="fq-codel"))] == ["fq_codel"]


class TestGrid:
    def test_corners_a_middle_and_two_for_robustness(self):
        places = grid(question(), 0.0)
        corners = {(each.flows, each.round_trip_s) for each in nominal(places)}
        assert {(2, 0.01), (2, 0.04), (8, 0.01), (8, 0.04), (4, 0.02)} == corners
        assert [each.traffic for each in places[-2:]] == ["web", "mixed"]

    def test_single_values_are_one_condition(self):
        places = grid(question(rtt="20 ms", flows="4"), 0.0)
        assert len(nominal(places)) == 1


def test_short_times_and_slow_lines_have_units_of_their_own():
    assert [milliseconds(each) for each in (0.036, 18.8, 242.0)] == ["36 µs", "18.8 ms", "242 ms"]
    assert [megabits(each) for each in (61_100.0, 47.8e6)] == ["61.1 kbit/s", "47.8 Mbit/s"]


def test_jain_of_groups_is_jain_of_all_their_flows():
    flows = [[3.0, 5.0], [1.0, 1.0, 4.0]]
    groups = [
        {
            "flows": len(each),
            "goodput_bit_per_s": {"total": sum(each)},
            "jain_index": sum(each) ** 2 / (len(each) * sum(x * x for x in each)),
        }
        for each in flows
    ]
    everyone = [x for each in flows for x in each]
    expected = sum(everyone) ** 2 / (5 * sum(x * x for x in everyone))
    assert _jain_index(groups) == pytest.approx(expected)


class TestAnswer:
    def test_a_deep_buffer_is_replaced(self, against_deep):
        # 1000 packets of 1514 bytes at 10 Mbit/s are 1.2 s.
        assert worst_p95_ms(against_deep.before) > 300.0
        assert not against_deep.keep
        assert against_deep.verdict == "set: bound"
        assert worst_sparse_ms(against_deep.after) <= 25.0

    def test_and_nobody_pays_more_than_the_margins(self, against_deep):
        for at in nominal(against_deep.conditions):
            before, after = (
                {name: each.mean(at, name) for name in ("jain_index", "starved_flows")}
                for each in (against_deep.before, against_deep.after)
            )
            assert after["jain_index"] >= before["jain_index"] - 0.05
            assert after["starved_flows"] <= before["starved_flows"] + 1

    @pytest.mark.evidence
    def test_a_short_queue_is_not_made_longer(self, of_the_issue):
        # fq_codel's defaults wait half of what was asked for: there is nothing to do.
        assert of_the_issue.keep
        assert worst_p95_ms(of_the_issue.before) < 20.0
        assert of_the_issue.chosen.discipline == "fq-codel"

    def test_fresh_seeds_are_not_those_of_the_search(self, against_deep):
        assert len(against_deep.seeds) >= 5
        assert min(against_deep.seeds) >= 10_000 + 5000

    def test_json_has_what_is_promised(self, against_deep):
        found = json.loads(json.dumps(document(against_deep), allow_nan=False))
        promised = {
            "goal", "keep", "discipline", "parameters", "before", "after", "conditions",
            "warnings", "commands", "verdict", "reason", "price", "tried", "seed", "version",
        }  # fmt: skip
        assert promised <= set(found)
        assert {"check", "apply", "undo"} <= set(found["commands"])
        assert found["keep"] is False
        assert found["after"]["call_delay_p95_ms"] <= 25.0
        assert len(found["conditions"]) == 7

    def test_the_page_fetches_nothing(self, against_deep):
        page = advice_page(against_deep)
        assert page.count("<svg") == 2
        assert page.count('class="on-wide"') == page.count('class="on-narrow"') == 1
        for outside in ("http://", "https://", "<script", "<link", "@import"):
            assert outside not in page.replace("http://www.w3.org", "")

    @pytest.mark.usefixtures("little")
    def test_the_same_whatever_the_threads(self):
        asked = question()
        first, second = (
            document(advise(asked, assumed(asked), threads=threads)) for threads in (1, 2)
        )
        assert first == second
        other = question(seed=2)
        assert document(advise(other, assumed(other)))["seeds"] != first["seeds"]

    @pytest.mark.usefixtures("little")
    @pytest.mark.parametrize("device", ["sonic", "cisco"])
    def test_switches_and_routers_have_wred(self, device):
        asked = question(device=device)
        found = advise(asked, assumed(asked))
        assert "wred" in found.tried
        assert set(found.tried) <= {"wred", "tail-drop"}
        assert all(math.isfinite(found.after.p95_ms(at)) for at in found.conditions)


def chosen(kind="pie", **values):
    """A setting that some family of Linux has."""
    asked = question()
    [family] = families(question(discipline=kind))
    return family.setting(asked, values)


PIE = {"target": 0.01}


class TestCommands:
    def test_the_shaper_is_included_where_the_interface_may_be_faster(self):
        asked = question(interface="wan0")
        own = commands(asked, assumed(asked), chosen(**PIE), keep=False)
        assert own.apply == (
            "tc qdisc replace dev wan0 root handle 7e51: htb default 1 &&\n"
            "tc class replace dev wan0 parent 7e51: classid 7e51:1 htb rate 10000000bit "
            "ceil 10000000bit quantum 1514 &&\n"
            "tc qdisc replace dev wan0 parent 7e51:1 pie limit 1000 target 10000us tupdate 15000us "
            "alpha 2 beta 20 noecn"
        )
        assert own.undo == "tc qdisc del dev wan0 root handle 7e51:"

    def test_a_line_as_fast_as_the_interface_needs_none(self):
        asked = question(interface_rate="10 Mbit/s")
        own = commands(asked, assumed(asked), chosen(**PIE), keep=False)
        assert own.apply.startswith("tc qdisc replace dev eth0 root pie limit 1000")

    def test_below_a_shaper_only_the_leaf_is_replaced(self):
        asked = question(parent="1:10")
        own = commands(asked, assumed(asked), chosen(**PIE), keep=False)
        assert own.apply.startswith("tc qdisc replace dev eth0 parent 1:10 pie ")
        assert "htb" not in own.apply
        assert own.undo == "tc qdisc replace dev eth0 parent 1:10 pfifo limit 1000"

    def test_undo_restores_what_tc_showed(self):
        asked = question()
        own = commands(asked, deep(asked), chosen(**PIE), keep=False)
        assert own.undo == "tc qdisc replace dev eth0 root pfifo limit 1000"

    def test_undo_of_the_kernels_own_deletes(self):
        asked = question()
        text = DEEP.replace("8001:", "0:")
        own = commands(
            asked, present_of(asked, read_tc_text(text), "--now"), chosen(**PIE), keep=False
        )
        assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"

    def test_cake_makes_room_for_a_shaper_and_comes_back(self):
        asked = question()
        text = (
            "qdisc cake 800b: dev eth0 root refcnt 2 bandwidth 20Mbit diffserv3 triple-isolate "
            "nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0"
        )
        present = present_of(asked, read_tc_text(text), "--now")
        own = commands(asked, present, chosen(**PIE), keep=False)
        assert own.apply.startswith("tc qdisc replace dev eth0 root handle 7e51: htb")
        assert own.undo.startswith(
            "tc qdisc replace dev eth0 root cake bandwidth 20000000bit diffserv3 triple-isolate"
        )
        assert not present.exact

    def test_nothing_is_applied_where_all_stays(self):
        asked = question(interface_rate="10 Mbit/s")
        own = commands(asked, assumed(asked), assumed(asked).queue, keep=True)
        assert own.apply == own.undo == own.if_elsewhere == own.save == ""

    def test_what_brings_the_queue_here_can_be_undone(self):
        asked = question()
        own = commands(asked, assumed(asked), assumed(asked).queue, keep=True)
        assert own.apply == ""
        assert "htb" in own.if_elsewhere
        assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"
        assert own.save.startswith("tc -s -d qdisc show dev eth0 > ")
        own = commands(asked, deep(asked), deep(asked).queue, keep=True)
        assert own.if_elsewhere.endswith("parent 7e51:1 pfifo limit 1000")
        assert own.undo == "tc qdisc replace dev eth0 root pfifo limit 1000"
        assert own.save == ""

    def test_what_is_kept_is_not_what_stands_for_it_in_the_simulation(self):
        asked = question()
        text = "qdisc fq 0: dev eth0 root limit 10000p flow_limit 100p buckets 1024 quantum 3028b"
        present = present_of(asked, read_tc_text(text), "--now")
        own = commands(asked, present, present.queue, keep=True)
        leaf = own.if_elsewhere.splitlines()[-1]
        assert leaf == (
            "tc qdisc replace dev eth0 parent 7e51:1 fq limit 10000 flow_limit 100 buckets 1024 "
            "quantum 3028"
        )

    def test_a_cisco_policy_is_attached_and_taken_off(self):
        asked = question(device="cisco", interface="Gi0/1", interface_rate="10 Mbit/s")
        family = next(each for each in families(asked) if each.kind == "wred")
        values = {
            "green_min_threshold": 10.0, "green_max_threshold": 30.0,
            "green_max_probability": 0.1, "weight": 0.5**9,
        }  # fmt: skip
        own = commands(asked, assumed(asked), family.setting(asked, values), keep=False)
        assert "random-detect precedence 0 10 30 10" in own.apply
        assert "random-detect exponential-weighting-constant 9" in own.apply
        assert own.apply.endswith("interface Gi0/1\n service-policy output VERMILION-Gi0-1")
        assert "no policy-map VERMILION-Gi0-1" in own.undo
        assert own.save == "show running-config interface Gi0/1"

    def test_two_interfaces_of_a_cisco_router_have_policies_of_their_own(self):
        family = next(each for each in families(question(device="cisco")) if each.kind == "wred")
        values = {
            "green_min_threshold": 10.0, "green_max_threshold": 30.0,
            "green_max_probability": 0.1, "weight": 0.5**9,
        }  # fmt: skip
        heads = set()
        for name in ("Gi0/1", "Gi0/2"):
            asked = question(device="cisco", interface=name)
            own = commands(asked, assumed(asked), family.setting(asked, values), keep=False)
            heads.add(own.apply.splitlines()[0])
        assert len(heads) == 2


class TestCommandLine:
    def run(self, capsys, *arguments):
        code = main(["advise", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    @pytest.mark.usefixtures("little")
    def test_json_and_page(self, capsys, tmp_path):
        page = tmp_path / "answer.html"
        code, out, _ = self.run(
            capsys, *OPTIONS, "--quick", "--json=-", f"--report={page}", f"--now={DEEP}"
        )
        assert code == 0
        found = json.loads(out)
        assert found["now"]["discipline"] == "pfifo"
        assert isinstance(found["keep"], bool)
        assert "<svg" in page.read_text(encoding="utf-8")

    @pytest.mark.usefixtures("little")
    def test_the_terminal_gets_the_answer_and_the_commands(self, capsys):
        code, out, _ = self.run(capsys, *OPTIONS, "--quick", f"--now={DEEP}")
        assert code == 0
        assert out.startswith(("Set ", "Keep "))
        assert len(out.splitlines()) <= 32
        assert "tc -s -d qdisc show dev eth0" not in out
        code, out, _ = self.run(capsys, *OPTIONS, "--quick", "--all", f"--now={DEEP}")
        assert "\ntc -s -d qdisc show dev eth0\n" in out

    @pytest.mark.usefixtures("little")
    def test_what_is_pasted_from_a_terminal_ends_where_a_shell_ends_it(self, capsys):
        arguments = ["--device=sonic", "--interface=Ethernet4|1", "--harm=none"]
        code, out, _ = self.run(capsys, *OPTIONS, "--quick", "--all", *arguments)
        assert code == 0
        assert out.startswith("Set ")
        assert "\nEND\nsudo config apply-patch VERMILION_Ethernet4_1.json\n" in out
        assert "\nsudo config checkpoint VERMILION_Ethernet4_1-before\n" in out

    def test_missing_options_are_named_where_nobody_can_be_asked(self, capsys):
        code, out, err = self.run(capsys, OPTIONS[0], OPTIONS[1])
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert "--flows, --delay-at-most are missing" in err

    @pytest.mark.usefixtures("little")
    def test_on_a_terminal_they_are_asked_for_until_they_are_right(self, capsys, monkeypatch):
        answers = iter(["many", "2 .. 8", "25 ms"])
        asked = []

        def prompt(text, **_options):
            asked.append(text)
            return next(answers)

        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        monkeypatch.setattr("typer.prompt", prompt)
        code, out, err = self.run(capsys, *OPTIONS[:2], "--quick", "--json=-")
        assert code == 0
        assert json.loads(out)["goal"]["flows"] == [2, 8]
        assert len(asked) == 3
        assert '"many" is not accepted' in err

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["--now=rubbish"], "--now"),
            (["--now="], "--now"),
            (["--now-json=/nowhere/at/all"], "cannot be read"),
            (["--now=x", "--now-json=y"], "--now-json"),
            (["--device=cisco", "--now=x"], "--device"),
            (["--device=sonic", "--now=x"], "--now"),
            (["--device=sonic", "--interface=Ethernet4|9-1"], "--interface"),
            (["--device=sonic", "--interface=Ethernet4", "--parent=1:10"], "--parent"),
            (["--discipline=nonsense"], "--discipline"),
            (["--seed=-1"], "seed"),
            (["--json=-", "--report=-"], 'cannot both be "-"'),
        ],
    )
    def test_mistakes_are_one_line(self, capsys, arguments, expected):
        code, out, err = self.run(capsys, *OPTIONS, *arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert expected in err

    def test_a_file_that_is_no_json_is_one_line(self, capsys, tmp_path):
        file = tmp_path / "now.json"
        file.write_bytes(b"\xff\xfe[{]")
        code, _, err = self.run(capsys, *OPTIONS, f"--now-json={file}")
        assert code == 2
        assert err.count("\n") == 1
