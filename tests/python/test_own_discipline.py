"""Disciplines in Python: as good as the core's, and their faults are told in a line."""
# ruff: noqa: ARG001, ARG002, ARG005 - methods look at a part of what they are shown

from __future__ import annotations

import copy
import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np
import pytest

import own_disciplines
import vermilion
from own_classes import numbers, registering
from own_disciplines import ACCEPT, DROP, MARK, NOTIFY, OVERFLOW
from vermilion.cli import main
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import disciplines, scenario_from_document
from vermilion.scenario.other_values import with_discipline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.scenario import Scenario


@pytest.fixture
def register() -> Iterator:
    """Registers classes for one test."""
    yield from registering(
        vermilion.register_discipline, vermilion.unregister_discipline, disciplines
    )


SHORT = (
    "--set=duration=8 s",
    "--set=warm_up=2 s",
    "--set=settle=2 s",
    "--set=flows.late.start=4 s .. 4.5 s",
)


def network(discipline: str, rate: str = "5 Mbit/s", **queue: object) -> Scenario:
    """Eight flows of two groups, one of them with ECN, at one bottleneck for four seconds."""
    rows = "".join(f"{name} = {json.dumps(value)}\n" for name, value in queue.items())
    return vermilion.parse_scenario(
        dedent(f"""
        title = "Eight flows"
        duration = "4 s"
        warm_up = "1 s"
        [links.bottleneck]
        rate = "{rate}"
        delay = "5 ms"
        [links.bottleneck.queue]
        discipline = "{discipline}"
        """)
        + rows
        + dedent("""
        [flows.plain]
        count = 4
        path = ["bottleneck"]
        rtt = "30 ms"
        sender = "newreno"
        [flows.capable]
        count = 4
        path = ["bottleneck"]
        rtt = "50 ms"
        sender = { congestion_control = "newreno", ecn = true }
        """)
    )


def always(verdict):
    """A method that gives one answer."""
    return lambda *_: verdict


class Own(vermilion.Discipline):
    """Keeps at most so many packets."""

    name = "own"
    parameters = (vermilion.number("limit", "packets", 50, 1, 1e6, whole=True, search=(5, 100)),)

    def on_arrival(self, packet, queue, coin):
        return ACCEPT if queue.packets < self.limit else OVERFLOW


@pytest.mark.parametrize(
    ("core", "own", "queue"),
    [
        ("drop-tail", own_disciplines.PythonDropTail, {"limit": "20 packets"}),
        ("red", own_disciplines.PythonRed, {}),
        ("red", own_disciplines.PythonRed, {"weight": 0.02, "max_probability": 0.3}),
    ],
)
def test_python_and_rust_decide_alike_packet_by_packet(register, core, own, queue):
    register(own)
    for seed in (1, 2):
        first = vermilion.run(network(core, **queue), seed, probe_interval_s=0.05)
        second = vermilion.run(network(own.name, **queue), seed, probe_interval_s=0.05)
        assert numbers(first) == numbers(second)
        assert first.link("bottleneck").total["drops"] > 0
        series = first.series("bottleneck")
        for name, column in second.series("bottleneck").items():
            # The core has a series in place of the power in RED's average: last bits may differ.
            np.testing.assert_allclose(column, series[name], rtol=1e-12)


def test_the_source_papers_scenario_comes_out_alike(register):
    register(own_disciplines.PythonRed)
    scenario = vermilion.load_scenario("varying-load")
    own, _ = with_discipline(scenario, "python-red")
    assert numbers(vermilion.run(own, 3)) == numbers(vermilion.run(scenario, 3))


def test_watching_departures_without_a_decision_changes_nothing(register):
    register(own_disciplines.PythonDropTail)
    register(own_disciplines.PythonDropTailWatching)
    # A packet's turn and an arrival at the same instant have an order of their own where departures
    # are events; at this rate none coincide.
    first, second = (
        vermilion.run(network(name, "4.9876543 Mbit/s", limit="20 packets")).link("bottleneck")
        for name in ("python-drop-tail", "python-drop-tail-watching")
    )
    assert first.total["drops"] == second.total["drops"]
    assert first.total["queue_packets"]["mean"] == second.total["queue_packets"]["mean"]


def test_what_is_shown_is_what_happens(register):
    seen = []

    def on_arrival(self, packet, queue, coin):
        seen.append(("in", queue.now, packet.arrived, packet.size, queue.packets, queue.bytes))
        assert 0 <= coin() < 1
        assert (queue.empty_since is None) == (queue.packets > 0)
        assert queue.idle_since is None or queue.idle_since <= queue.now
        return ACCEPT

    def on_departure(self, packet, queue, coin):
        seen.append(("out", queue.now, packet.arrived, packet.size, queue.packets, queue.bytes))
        return ACCEPT

    register(Own, on_arrival=on_arrival, on_departure=on_departure)
    vermilion.run(network("own"))
    waiting: list[tuple[int, int]] = []
    for what, now, arrived, size, packets, held in seen:
        if what == "in":
            assert arrived == now
            assert (packets, held) == (len(waiting), sum(size for _, size in waiting))
            waiting.append((arrived, size))
        else:
            assert waiting.pop(0) == (arrived, size)
            assert (packets, held) == (len(waiting), sum(size for _, size in waiting))
    assert len(seen) > 1000


def test_a_notice_marks_those_who_can_be_marked_and_drops_the_others(register):
    register(Own, on_arrival=lambda self, packet, queue, coin: NOTIFY if coin() < 0.01 else ACCEPT)
    total = vermilion.run(network("own")).link("bottleneck").total
    assert total["marks"] > 0
    assert total["drops"] > 0
    assert total["overflow_drops"] == total["forced_drops"] == 0


def test_parameters_are_those_of_the_table(register):
    register(Own)
    assert Own.name in disciplines()
    limits = [
        vermilion.run(network("own", limit=f"{limit} packets")).link("bottleneck").total
        for limit in (10, 40)
    ]
    assert [total["queue_packets"]["max"] for total in limits] == [10, 40]
    for value, accepted in (("0 packets", "from 1 packet"), ("1 s", "a number of packets")):
        with pytest.raises(vermilion.ScenarioError, match=accepted):
            network("own", limit=value)
    with pytest.raises(vermilion.ScenarioError, match="a parameter of own"):
        network("own", weight=1)


def test_settings_that_do_not_go_together_are_refused_with_the_disciplines_words(register):
    def prepare(self):
        if self.limit == 13:
            message = "thirteen is an unlucky limit"
            raise ValueError(message)

    register(Own, prepare=prepare)
    with pytest.raises(vermilion.ScenarioError, match="thirteen is an unlucky limit"):
        network("own", limit="13 packets")
    router = SimulatedRouter(network("own").core_json(), "bottleneck", 1)
    router.wait(1.0)
    with pytest.raises(Exception, match="unlucky"):
        router.apply({"limit": 13})
    router.wait(2.0)
    assert router.parameters() == {"limit": 50}
    router.apply({"limit": 5})
    router.wait(3.0)
    assert router.read().backlog_packets <= 5


def test_a_change_of_link_and_setting_reaches_it(register):
    told = []
    register(Own, prepare=lambda self: told.append((self.limit, self.link_rate, self.link_delay)))
    document = dict(network("own").document)
    changes = [
        {"at": "2 s", "link": "bottleneck", "rate": "2 Mbit/s"},
        {"at": "3 s", "link": "bottleneck", "queue": {"limit": "7 packets"}},
    ]
    scenario = scenario_from_document({**document, "changes": changes}, "test")
    told.clear()
    vermilion.run(scenario)
    # Once for the copy on which changes are tried beforehand, once for the run.
    assert told[0] == (50, 5e6, 0.005)
    assert told[-2:] == [(50, 2e6, 0.005), (7, 2e6, 0.005)]


def test_each_run_and_each_queue_has_an_instance_of_its_own(register):
    register(own_disciplines.PythonRed)
    scenario = network("python-red")
    (many,) = vermilion.run_many([scenario], [1, 2, 1])
    assert numbers(many[0]) == numbers(many[2]) != numbers(many[1])
    single = vermilion.run(scenario, 2)
    assert many[1].link("bottleneck").total == single.link("bottleneck").total


def test_a_batch_mixes_both_kinds_in_order(register):
    register(own_disciplines.PythonRed)
    done: list[int] = []
    results = vermilion.run_many(
        {"own": network("python-red"), "core": network("red")}, [1, 2], progress=done.append
    )
    for own, core in zip(results["own"], results["core"], strict=True):
        assert numbers(own) == numbers(core)
    assert done[-1] == 4
    assert done == sorted(done)
    late = vermilion.run_many([network("python-red")], [1], deadline_s=0)
    assert late == [[None]]


def test_it_is_tuned_like_any_other(register):
    register(Own)
    recommendation = vermilion.tune(
        network("own"),
        parameters=["links.bottleneck.queue.limit"],
        objective="minimise links.bottleneck.sojourn_ms.mean",
        budget=6,
    )
    assert 5 <= recommendation.parameters["links.bottleneck.queue.limit"] <= 100


def test_what_python_raises_ends_the_run_and_says_where(register):
    def on_arrival(self, packet, queue, coin):
        return ACCEPT if 1 / (queue.packets - 5) else DROP

    register(Own, on_arrival=on_arrival)
    pattern = r"^discipline own: on_arrival at \d[.\d]* s: ZeroDivisionError: .*\.py, line \d+\)$"
    scenario = network("own")
    with pytest.raises(vermilion.DisciplineError, match=pattern):
        vermilion.run(scenario)
    with pytest.raises(vermilion.DisciplineError, match=pattern):
        vermilion.run_many([scenario], [1])
    with pytest.raises(vermilion.DisciplineError, match=pattern):
        vermilion.run(scenario, progress=lambda _: None)
    router = SimulatedRouter(scenario.core_json(), "bottleneck", 1)
    for _ in range(2):
        with pytest.raises(vermilion.DisciplineError, match=pattern):
            router.wait(4.0)


def test_the_cause_of_a_failure_is_kept(register):
    def on_arrival(self, packet, queue, coin):
        return self.nothing

    register(Own, on_arrival=on_arrival)
    with pytest.raises(vermilion.DisciplineError, match=r"AttributeError.*nothing") as caught:
        vermilion.run(network("own"))
    assert isinstance(caught.value.__cause__, AttributeError)
    assert f"{__file__}, line " in str(caught.value)


@pytest.mark.parametrize("answer", [None, True, 1, "accept"])
def test_an_answer_that_is_no_verdict_is_refused_with_those_there_are(register, answer):
    register(Own, on_arrival=always(answer))
    with pytest.raises(vermilion.DisciplineError, match="expected ACCEPT, MARK, NOTIFY, DROP"):
        vermilion.run(network("own"))


def test_what_cannot_be_marked_is_not(register):
    register(Own, on_arrival=always(MARK))
    with pytest.raises(vermilion.DisciplineError, match="not ECN-capable"):
        vermilion.run(network("own"))


def test_dropping_everything_is_a_discipline_too(register):
    register(Own, on_arrival=always(DROP))
    result = vermilion.run(network("own"))
    assert result.data["packets_forwarded"] == 0


def test_a_coin_outlives_no_decision(register):
    kept = []

    def on_arrival(self, packet, queue, coin):
        kept.append(coin)
        return ACCEPT if coin() < 2 else DROP

    register(Own, on_arrival=on_arrival)
    vermilion.run(network("own"))
    with pytest.raises(RuntimeError, match="at most 256 coins"):
        [kept[0]() for _ in range(257)]


def test_coins_are_the_simulators(register):
    drawn = {}

    def on_arrival(self, packet, queue, coin):
        drawn.setdefault(self.limit, []).append(coin())
        return ACCEPT

    register(Own, on_arrival=on_arrival)
    for limit in (10, 20):
        vermilion.run(network("own", limit=f"{limit} packets"), seed=5)
    assert drawn[10] == drawn[20]
    assert len(set(drawn[10])) == len(drawn[10])


def test_a_stepped_runs_results_do_not_touch_the_run(register):
    register(own_disciplines.PythonRed)
    whole = vermilion.run(network("python-red"), 4)
    router = SimulatedRouter(network("python-red").core_json(), "bottleneck", 4)
    for step in range(1, 41):
        router.wait(step / 10)
        router.result()
    assert json.loads(router.result()[0])["links"] == whole.data["links"]


def test_an_instance_that_cannot_be_copied_says_so(register):
    def __init__(self):  # noqa: N807 - becomes a class's own
        self.lock = threading.Lock()

    register(Own, __init__=__init__)
    scenario = network("own")
    vermilion.run(scenario)
    router = SimulatedRouter(scenario.core_json(), "bottleneck", 1)
    with pytest.raises(vermilion.DisciplineError, match=r"copying it.*pickle"):
        router.result()


def test_ctrl_c_ends_a_run_in_python(register):
    register(own_disciplines.PythonRed)
    scenario = network("python-red", "1 Gbit/s").with_values({"duration": "10000 s"})
    for run in (lambda: vermilion.run(scenario), lambda: vermilion.run_many([scenario], [1])):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run()
        timer.join()


@pytest.mark.parametrize("name", ["red", "fq-codel", "My-Red", "my red", "", None, 3])
def test_names_are_checked(name):
    with pytest.raises(vermilion.ScenarioError, match=r"name: .* is not accepted; expected"):
        vermilion.register_discipline(type("Named", (Own,), {"name": name}))


NUMBER = vermilion.number("limit", "packets", 50.0, 1, 100)


@pytest.mark.parametrize(
    ("members", "accepted"),
    [
        ({"parameters": (replace(NUMBER, default=0.0),)}, "parameters.limit.default: 0.0"),
        ({"parameters": (replace(NUMBER, default="many"),)}, 'parameters.limit.default: "many"'),
        ({"parameters": (replace(NUMBER, unit="pints"),)}, 'parameters.limit.unit: "pints"'),
        ({"parameters": (replace(NUMBER, search=(5.0, 200.0)),)}, "parameters.limit.search: 200"),
        ({"parameters": (replace(NUMBER, search=(9.0, 5.0)),)}, "a lower and an upper bound"),
        ({"parameters": (replace(NUMBER, scale="cubic"),)}, 'parameters.limit.scale: "cubic"'),
        ({"parameters": (NUMBER, NUMBER)}, "each name once"),
        ({"parameters": (replace(NUMBER, name="link_rate"),)}, "vermilion.Discipline does not use"),
        ({"parameters": (replace(NUMBER, name="on-arrival"),)}, "can be an attribute"),
        ({"parameters": ("limit",)}, "vermilion.number, .switch or .choice"),
        ({"parameters": (vermilion.choice("limit", "a", ["b"]),)}, 'limit.default: "a"'),
        ({"ordered": (("limit", "top"),)}, 'ordered: "top"'),
        ({"on_arrival": vermilion.Discipline.on_arrival}, "a method that decides over a packet"),
    ],
)
def test_tables_are_checked(members, accepted):
    with pytest.raises(vermilion.ScenarioError) as caught:
        vermilion.register_discipline(type("Wrong", (Own,), members))
    assert accepted in str(caught.value)
    assert "own" not in disciplines()


def test_it_can_be_registered_anew_and_forgotten(register):
    register(Own)
    register(Own, title="Another")
    assert disciplines()["own"].title == "Another"
    vermilion.unregister_discipline("own")
    with pytest.raises(vermilion.ScenarioError, match='"own" is not accepted'):
        network("own")
    vermilion.register_discipline(Own)
    with pytest.raises(vermilion.ScenarioError, match="written in Python"):
        vermilion.unregister_discipline("red")
    register(Own)
    vermilion.unregister_discipline("own")
    vermilion.register_discipline(Own)


PLUGIN = '''
import vermilion


class Plugged(vermilion.Discipline):
    """Keeps at most so many packets."""

    name = "plugged"
    parameters = (vermilion.number("limit", "packets", 50, 1, 1e6, meaning="what it holds"),)

    def on_arrival(self, packet, queue, coin):
        return vermilion.Verdict.ACCEPT if queue.packets < self.limit else BROKEN
'''


@pytest.fixture
def plugin(tmp_path) -> Iterator:
    """Writes a plug-in, and forgets its discipline afterwards."""

    def write(text: str) -> str:
        path = tmp_path / "plugin.py"
        path.write_text(text, encoding="utf-8")
        return str(path)

    yield write
    if "plugged" in disciplines():
        vermilion.unregister_discipline("plugged")


def test_a_plug_in_is_a_discipline_of_every_command(plugin, capsys):
    good = plugin(PLUGIN.replace("BROKEN", "vermilion.Verdict.OVERFLOW"))
    assert main(["disciplines", "plugged", "--plugin", good]) == 0
    assert "what it holds" in capsys.readouterr().out
    short = [*SHORT, "--plugin", good]
    one = ["run", "varying-load", "--discipline", "plugged", "--json", "-", *short]
    assert main(one) == 0
    assert json.loads(capsys.readouterr().out)["packets_forwarded"] > 1000
    both = ["--discipline", "drop-tail", "--discipline", "plugged:limit=9 packets", "--seeds", "2"]
    assert main(["compare", "varying-load", *both, *short]) == 0
    assert "plugged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLUGIN, "NameError: name 'BROKEN' is not defined"),
        (PLUGIN.replace("BROKEN", "__import__('sys').exit(7)"), "SystemExit: 7"),
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "a file of Python that runs: SystemExit: 3 (line 1)"),
        ("def f(:", "SyntaxError"),
        ("", "a file with a named class derived from vermilion.Discipline"),
        (PLUGIN.replace('"plugged"', '"red"'), "a name that no discipline of Vermilion has"),
    ],
)
def test_a_plug_in_that_fails_is_one_line_and_exit_code_2(plugin, capsys, text, message):
    arguments = ["--plugin", plugin(text), "--discipline", "plugged", *SHORT]
    assert main(["run", "varying-load", *arguments]) == 2
    (error,) = (
        line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")
    )
    assert error.startswith("vermilion: ")
    assert message in error


def test_a_plug_in_has_to_be_a_file_of_python(tmp_path, capsys):
    for path, expected in (
        (tmp_path / "none.py", "expected a file that is there"),
        (tmp_path, "expected a file of Python (.py)"),
    ):
        assert main(["run", "varying-load", "--plugin", str(path)]) == 2
        assert expected in capsys.readouterr().err


def test_the_documentations_example_is_the_file_and_has_twenty_lines(capsys):
    docs = Path(__file__).parents[2] / "docs"
    file = docs / "examples" / "proportional_early_drop.py"
    *_, code = file.read_text(encoding="utf-8").split("\n", 3)
    assert f"```python\n{code}```" in (docs / "own-discipline.md").read_text(encoding="utf-8")
    assert len(code.strip().splitlines()) <= 20
    name = "proportional-early-drop"
    try:
        assert main(["disciplines", name, "--plugin", str(file)]) == 0
        assert "certain_at" in capsys.readouterr().out
        # Certain at 300 packets: of those that meet q packets, q / 300 are notified.
        total = vermilion.run(network(name, limit="1000 packets")).link("bottleneck").total
    finally:
        vermilion.unregister_discipline(name)
    notices = (total["drops"] + total["marks"]) / total["arrivals"]
    assert notices == pytest.approx(total["queue_packets"]["mean"] / 300, rel=0.2)


class Explains(vermilion.Discipline):
    """Drops for reasons that it names."""

    name = "explains"
    crowd = vermilion.Verdict.DROP.because("a crowd")
    full = vermilion.Verdict.OVERFLOW.because("30 packets")
    third = vermilion.Verdict.NOTIFY.because("every third")

    def __init__(self):
        self.seen = 0
        self.kept = self.third  # goes along when an instance is copied

    def on_arrival(self, _packet, queue, _coin):
        self.seen += 1
        if queue.packets >= 30:
            return self.full
        if queue.packets > 20 and self.seen % 2:
            return self.crowd
        if queue.packets > 10 and self.seen % 3 == 0:
            return self.kept
        return DROP if self.seen % 500 == 0 else ACCEPT


def test_drops_have_the_causes_that_a_class_gives_them(register):
    register(Explains)
    scenario = network("explains")
    result = vermilion.run(scenario, seed=2, instruments=[vermilion.PacketTrace(at="bottleneck")])
    packets = result.packets
    dropped = packets.where(event="drop")
    pairs = {
        (packets.names["reason"][reason], packets.names["cause"][cause])
        for reason, cause in zip(dropped["reason"], dropped["cause"], strict=True)
    }
    assert pairs >= {("early", "a crowd"), ("early", "every third"), ("early", "")}
    assert pairs <= {
        ("early", "a crowd"), ("early", "every third"), ("early", ""), ("overflow", "30 packets"),
    }  # fmt: skip
    total = result.link("bottleneck").total
    assert total["marks"] > 0  # NOTIFY, of those who can be marked
    assert len(dropped["time_ns"]) == result.link("bottleneck").ledger["drops"]
    assert numbers(result) == numbers(vermilion.run(scenario, seed=2))


def test_a_cause_survives_copying():
    copied = copy.deepcopy(Explains.crowd)
    assert (copied.cause, repr(copied)) == ("a crowd", 'Verdict.DROP.because("a crowd")')


@pytest.mark.parametrize(
    ("verdict", "cause", "words"),
    [
        (ACCEPT, "late", "ACCEPT drops nothing, so that it has no cause"),
        (MARK, "late", "MARK drops nothing"),
        (DROP, "", "is not accepted; expected up to 40 letters"),
        (DROP, "x" * 41, "is not accepted; expected up to 40 letters"),
        (DROP, "one,two", "is not accepted; expected up to 40 letters"),
        (DROP, " late", "is not accepted; expected up to 40 letters"),
        (DROP, "la\nte", "is not accepted; expected up to 40 letters"),
    ],
)
def test_causes_are_checked(verdict, cause, words):
    with pytest.raises(ValueError, match=words):
        verdict.because(cause)
