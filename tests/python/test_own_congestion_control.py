"""Congestion controls in Python: as good as the core's, and their faults are told in a line."""
# ruff: noqa: ARG001, ARG002, ARG005, RUF012 - methods look at a part of what they are shown

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np
import pytest

import own_congestion_controls
import vermilion
from own_classes import numbers, registering
from vermilion.cli import main
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import senders
from vermilion.simulate.congestion_control_testing import CongestionControlConformance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.scenario import Scenario

RENO = own_congestion_controls.PythonReno
CUBIC = own_congestion_controls.PythonCubic
RECOVERIES = ["sack", "rack", "sack1", "newreno", "linux-newreno", "reno", "tahoe"]


@pytest.fixture
def register() -> Iterator:
    """Registers classes for one test."""
    yield from registering(
        vermilion.register_congestion_control, vermilion.unregister_congestion_control, senders
    )


def network(name: str, queue: str = "drop-tail", duration: str = "4 s", **sender) -> Scenario:
    """Six flows at one bottleneck for some seconds."""
    net = vermilion.Network("Six flows", duration=duration, warm_up="1 s")
    net.link("bottleneck", rate="8 Mbit/s", delay="5 ms", queue=queue)
    net.flows(
        "all",
        count=6,
        path="bottleneck",
        rtt="30 ms .. 60 ms",
        sender={"congestion_control": name, **sender},
        start="0 s .. 1 s",
    )
    return net.scenario()


class Own(vermilion.CongestionControl):
    """Halves its window, and adds some packets to it in each round trip."""

    name = "own"
    parameters = (vermilion.number("step", "packets", 1, 0.1, 10, search=(0.2, 4)),)

    def on_ack(self, ack, window):
        window.size += 1 if window.in_slow_start else self.step / window.size

    def on_loss(self, loss, window):
        return loss.base / 2


class Paced(vermilion.CongestionControl):
    """Sends at a rate of its own, a little above what the network delivers."""

    name = "paced"
    governs_window = True
    defaults = {"pacing": True, "timestamps": True}

    def __init__(self):
        self.best, self.shortest = 0.0, math.inf
        self.grown = 0

    def on_ack(self, ack, window):
        self.shortest = min(self.shortest, ack.round_trip or math.inf)
        if ack.delivery_rate and self.shortest < math.inf:
            if ack.delivery_rate > 1.05 * self.best:
                self.grown = ack.now
            self.best = max(0.999 * self.best, ack.delivery_rate)
            gain = 2.0 if ack.now - self.grown < 3 * self.shortest else 1.05
            window.pacing_rate = gain * self.best
            window.size = 4 + 1.5 * gain * self.best * self.shortest / 1e9

    def on_loss(self, loss, window):
        return window.size


def alike(own: Scenario, core: Scenario, seeds=(1, 2)) -> None:
    for seed in seeds:
        first = vermilion.run(core, seed, probe_interval_s=0.05)
        second = vermilion.run(own, seed, probe_interval_s=0.05)
        assert numbers(first) == numbers(second)
        for name, column in first.series("bottleneck").items():
            np.testing.assert_array_equal(column, second.series("bottleneck")[name])


@pytest.mark.parametrize("recovery", ["reno", "newreno", "tahoe", "sack", "rack", "sack1"])
def test_renos_twin_has_the_same_window_with_every_recovery(register, recovery):
    register(RENO)
    # With a selective recovery the core's name for additive increase is sack.
    selective = recovery in {"sack", "rack", "sack1"}
    core = network("sack", recovery=recovery) if selective else network(recovery)
    alike(network("python-reno", recovery=recovery), core)


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("queue", ["drop-tail", "red"])
def test_cubics_twin_has_the_same_window_with_every_recovery(register, recovery, queue):
    register(CUBIC)
    sender = {"recovery": recovery, "ecn": queue == "red"}
    alike(network("python-cubic", queue, **sender), network("cubic", queue, **sender))


def test_twins_are_alike_over_seeds_on_the_source_papers_scenario(register):
    register(RENO)
    register(CUBIC)
    scenario = vermilion.load_scenario("varying-load")
    for core, own in (("reno", "python-reno"), ("cubic", "python-cubic")):
        pair = [
            scenario.with_values(
                {f"flows.{group}.sender.congestion_control": name for group in scenario.flows}
            )
            for name in (core, own)
        ]
        alike(pair[1], pair[0], seeds=(3, 4))


def test_a_long_cubic_is_alike_beyond_its_plateau(register):
    register(CUBIC)
    options = {"delayed_acknowledgements": True, "fast_convergence": False, "hystart": False}
    own = network("python-cubic", duration="60 s", **options)
    core = network("cubic", duration="60 s", **options)
    faster = {"links.bottleneck.rate": "80 Mbit/s", "flows.all.count": 2}
    alike(own.with_values(faster), core.with_values(faster), seeds=(1,))


class TestOwnConforms(CongestionControlConformance):
    own = Own


class TestCubicConforms(CongestionControlConformance):
    own = CUBIC


class TestPacedConforms(CongestionControlConformance):
    own = Paced


class Deaf(Own):
    """Answers nothing."""

    name = "deaf"

    def on_loss(self, loss, window):
        return 500.0

    def on_ack(self, ack, window):
        window.size = 500.0


class Silent(Own):
    """Hardly sends."""

    name = "silent"

    def on_ack(self, ack, window):
        window.size = 1.0


class Chancy(Own):
    """Is not the same twice."""

    name = "chancy"

    def on_loss(self, loss, window):
        return max(1.0, loss.base * float.fromhex("0x1p-32") * int.from_bytes(os.urandom(4)))


class Sharing(Own):
    """Keeps the state of all flows in one place, which a copy shares."""

    name = "sharing"
    seen: list = []

    def on_loss(self, loss, window):
        self.seen.append(loss.now)
        return loss.base / (2 + len(self.seen) / 100)


@pytest.mark.parametrize(
    ("own", "promise", "words"),
    [
        (Deaf, "test_it_uses_the_link_and_backs_off", "it loses"),
        (Silent, "test_it_uses_the_link_and_backs_off", "it uses"),
        (Chancy, "test_the_same_seed_gives_the_same_run", "two runs with one seed differ"),
        (Sharing, "test_the_same_seed_gives_the_same_run", "two runs with one seed differ"),
    ],
)
def test_broken_promises_are_found(own, promise, words):
    tests = type("Tests", (CongestionControlConformance,), {"own": own})()
    with pytest.raises(AssertionError, match=words):
        getattr(tests, promise)()
    assert own.name not in senders()


def test_what_is_shown_is_what_happens(register):
    seen = []

    def on_ack(self, ack, window):
        assert ack.delivered >= 1 == ack.counted
        assert ack.unacknowledged <= ack.highest
        assert ack.smoothed_round_trip is None or ack.smoothed_round_trip >= 28_000_000
        assert 0 < window.size <= window.cap + 1
        assert not ack.in_recovery
        assert ack.delivery_rate is None
        seen.append((ack.now, ack.round_trip))
        Own.on_ack(self, ack, window)

    def on_loss(self, loss, window):
        assert loss.base == window.size
        seen.append((loss.now, None))
        return loss.base / 2

    register(Own, on_ack=on_ack, on_loss=on_loss)
    vermilion.run(network("own"))
    times = [now for now, _ in seen]
    assert times == sorted(times)
    assert len(times) > 1000
    assert any(trip for _, trip in seen)


def test_a_class_without_answers_to_marks_and_timeouts_answers_as_to_losses(register):
    asked = []

    def on_loss(self, loss, window):
        asked.append(loss.now)
        return loss.base / 2

    register(Own, on_loss=on_loss)
    result = vermilion.run(network("own", "red", ecn=True))
    assert result.link("bottleneck").total["marks"] > 0
    told = {"mark": 0, "timeout": 0}

    def count(kind):
        def answer(self, sign, window):
            told[kind] += 1
            return sign.base / 2

        return answer

    register(Own, on_loss=on_loss, on_mark=count("mark"), on_timeout=count("timeout"))
    again = vermilion.run(network("own", "red", ecn=True))
    assert numbers(again) == numbers(result)
    assert told["mark"] > 0


def test_sendings_rounds_and_timers_are_told_to_a_class_that_asks_for_them(register):
    sent, rounds, calls = [], [], []

    def on_sent(self, packet, window):
        sent.append((packet.number, packet.again))
        if window.wake_at is None:
            window.wake_at = packet.now + 10_000_000

    def on_round(self, ack, window):
        rounds.append(ack.now)

    def on_timer(self, now, window):
        assert window.wake_at is None
        calls.append(now)
        window.wake_at = now + 10_000_000
        window.size = min(window.size, 20)

    register(Own)
    one = network("own").with_values({"flows.all.count": 1})
    plain = vermilion.run(one)
    register(Own, on_sent=on_sent, on_round=on_round)
    with pytest.raises(vermilion.CongestionControlError, match="for a class with on_timer"):
        vermilion.run(one)
    sent.clear()

    def note(self, packet, window):
        sent.append((packet.number, packet.again))

    register(Own, on_sent=note, on_round=on_round)
    assert numbers(vermilion.run(one)) == numbers(plain)
    first = [number for number, again in sent if not again]
    assert first == list(range(len(first)))
    assert any(again for _, again in sent)
    # Four seconds of 30 to 160 ms, of which most is queue.
    assert 20 < len(rounds) < 134
    sent.clear()
    register(Own, on_sent=on_sent, on_timer=on_timer)
    vermilion.run(one)
    assert set(np.diff(calls)) == {10_000_000}
    assert len(calls) > 290

    def on_ack(self, ack, window):
        window.wake_at = ack.now

    register(Own, on_ack=on_ack, on_timer=on_timer)
    with pytest.raises(vermilion.CongestionControlError, match="an instant after the present"):
        vermilion.run(one)


def test_every_mark_is_told_to_a_class_that_answers_each(register):
    marks = []

    def on_ack(self, ack, window):
        marks.append(ack.marked)
        window.size = max(1.0, window.size + 1 / window.size - ack.marked / 2)

    register(Own, on_ack=on_ack, answers_marks=True, defaults={"ecn": True})
    total = vermilion.run(network("own", "codel")).link("bottleneck").total
    # Those of the end are still on their way.
    assert sum(marks) > 0.9 * total["marks"] > 0
    with pytest.raises(vermilion.ScenarioError, match=r"ecn_feedback.*own answers every mark"):
        network("own", ecn_feedback="classic")


def test_a_rate_of_its_own_keeps_the_queue_short(register):
    register(Paced)
    governed = network("paced", duration="10 s").with_values({"flows.all.count": 1})
    total = vermilion.run(governed).link("bottleneck").total
    assert total["utilization"] > 0.9
    assert total["queue_packets"]["mean"] < 40
    with pytest.raises(vermilion.ScenarioError, match=r'recovery: "reno".*one of "rack", "sack"'):
        network("paced", recovery="reno")
    slow = register(
        Own, name="slow", defaults={"pacing": True}, on_ack=_at_a_hundred_packets_a_second
    )
    result = vermilion.run(network(slow.name, duration="20 s").with_values({"flows.all.count": 1}))
    goodput = result.flows("all").total["goodput_bit_per_s"]["total"]
    assert goodput == pytest.approx(100 * 8000, rel=0.02)


def _at_a_hundred_packets_a_second(self, ack, window):
    window.size = 50
    window.pacing_rate = 100


def test_parameters_are_those_of_the_table_and_of_all_senders(register):
    register(Own, prepare=lambda self: values.append((self.step, self.minimum_timeout)))
    values: list[tuple[float, float]] = []
    network("own", step="2.5 packets", minimum_timeout="1 s")
    assert set(values) == {(2.5, 1.0)}
    for field, value, accepted in (
        ("step", "1 s", "a number of packets"),
        ("step", "20 packets", "from 0.1 packets"),
        ("stop", 2, "a parameter of own"),
        ("recovery", "hope", 'one of "sack"'),
    ):
        with pytest.raises(vermilion.ScenarioError, match=accepted):
            network("own", **{field: value})


def test_settings_that_do_not_go_together_are_refused_with_the_classs_words(register):
    def prepare(self):
        if self.step == 3:
            message = "three is one too many"
            raise ValueError(message)

    register(Own, prepare=prepare)
    with pytest.raises(vermilion.ScenarioError, match=r"flows\.all\.sender.*three is one too many"):
        network("own", step="3 packets")


def test_it_is_tuned_like_any_other_parameter(register):
    register(Own)
    recommendation = vermilion.tune(
        network("own"),
        parameters=["flows.all.sender.step"],
        objective="minimise links.bottleneck.sojourn_ms.mean",
        budget=6,
    )
    assert 0.2 <= recommendation.parameters["flows.all.sender.step"] <= 4


def test_batches_and_steps_give_the_same(register):
    register(CUBIC)
    scenario = network("python-cubic")
    whole = vermilion.run(scenario, 4)
    (many,) = vermilion.run_many([scenario], [4, 5])
    assert many[0].link("bottleneck").total == whole.link("bottleneck").total
    router = SimulatedRouter(scenario.core_json(), "bottleneck", 4)
    for step in range(1, 41):
        router.wait(step / 10)
        router.result()
    assert json.loads(router.result()[0])["links"] == whole.data["links"]


def test_it_meets_the_cores_senders_at_a_bottleneck(register):
    register(RENO)
    net = vermilion.Network(duration="30 s", warm_up="5 s")
    net.link("bottleneck", rate="10 Mbit/s", delay="5 ms", queue="red")
    for name in ("reno", "python-reno"):
        net.flows(name, count=4, path="bottleneck", rtt="40 ms", sender=name, start="0 s .. 2 s")
    result = vermilion.run(net.scenario())
    shares = [
        result.flows(name).total["goodput_bit_per_s"]["total"] for name in ("reno", "python-reno")
    ]
    assert shares[0] == pytest.approx(shares[1], rel=0.15)


FAULTS = {
    "raises": ({"on_ack": lambda self, ack, window: 1 / 0}, "on_ack at .*ZeroDivisionError"),
    "not a number": (
        {"on_ack": lambda self, ack, window: setattr(window, "size", math.nan)},
        r"window\.size: NaN is not accepted; expected packets above 0",
    ),
    "endless": (
        {"on_ack": lambda self, ack, window: setattr(window, "size", math.inf)},
        r"window\.size: inf is not accepted",
    ),
    "negative": (
        {"on_ack": lambda self, ack, window: setattr(window, "size", -1)},
        r"window\.size: -1 is not accepted",
    ),
    "text": (
        {"on_ack": lambda self, ack, window: setattr(window, "size", "big")},
        "on_ack at .*TypeError",
    ),
    "threshold": (
        {"on_ack": lambda self, ack, window: setattr(window, "threshold", math.nan)},
        r"window\.threshold: NaN is not accepted",
    ),
    "rate": (
        {"on_ack": lambda self, ack, window: setattr(window, "pacing_rate", 0.0)},
        r"window\.pacing_rate: 0 is not accepted.*or None",
    ),
    "an answer to an acknowledgement": (
        {"on_ack": lambda self, ack, window: window.size},
        "the answer .* is not accepted; expected none",
    ),
    "no answer to a loss": (
        {"on_loss": lambda self, loss, window: None},
        "on_loss at .*the answer None is not accepted; expected the window in packets",
    ),
    "an answer that is no number": (
        {"on_loss": lambda self, loss, window: math.nan},
        "on_loss at .*the answer nan is not accepted",
    ),
    "a negative answer": (
        {"on_loss": lambda self, loss, window: -2},
        "on_loss at .*the answer -2 is not accepted",
    ),
    "setting where it answers": (
        {"on_loss": lambda self, loss, window: setattr(window, "size", 2)},
        "can be set by on_ack, on_round, on_sent and on_timer",
    ),
    "an unknown attribute": (
        {"on_ack": lambda self, ack, window: setattr(window, "sise", 2)},
        "on_ack at .*AttributeError",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_nonsense_ends_the_run_and_says_what_and_where(register, fault):
    members, pattern = FAULTS[fault]
    register(Own, **members)
    scenario = network("own")
    for run in (
        lambda: vermilion.run(scenario),
        lambda: vermilion.run_many([scenario], [1]),
        lambda: vermilion.run(scenario, progress=lambda _: None),
    ):
        with pytest.raises(vermilion.CongestionControlError, match=pattern) as caught:
            run()
        assert str(caught.value).startswith("congestion control own: ")
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is not None


def test_a_failure_while_beginning_is_told_when_the_scenario_is_read(register):
    def __init__(self):  # noqa: N807 - becomes a class's own
        self.nothing += 1

    register(Own, __init__=__init__)
    with pytest.raises(vermilion.CongestionControlError, match="its beginning: AttributeError"):
        network("own")


def test_an_instance_that_cannot_be_copied_says_so(register):
    def __init__(self):  # noqa: N807 - becomes a class's own
        self.lock = threading.Lock()

    register(Own, __init__=__init__)
    scenario = network("own")
    vermilion.run(scenario)
    router = SimulatedRouter(scenario.core_json(), "bottleneck", 1)
    router.wait(2.0)
    with pytest.raises(vermilion.CongestionControlError, match=r"copying it.*pickle"):
        router.result()


def test_ctrl_c_ends_a_run_in_python(register):
    register(RENO)
    scenario = network("python-reno", duration="10000 s")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        vermilion.run(scenario)
    timer.join()


NUMBER = Own.parameters[0]


@pytest.mark.parametrize(
    ("members", "accepted"),
    [
        ({"name": "reno"}, "a name that no sender of Vermilion has"),
        ({"name": "My CC"}, "small letters"),
        ({"on_ack": vermilion.CongestionControl.on_ack}, "a method that lets the window grow"),
        ({"on_loss": vermilion.CongestionControl.on_loss}, "gives the window after a loss"),
        ({"parameters": (replace(NUMBER, default=0.0),)}, "parameters.step.default: 0.0"),
        ({"parameters": (replace(NUMBER, name="recovery"),)}, "no parameter of all senders has"),
        ({"parameters": (replace(NUMBER, name="defaults"),)}, "vermilion.CongestionControl does"),
        ({"ordered": (("step", "top"),)}, 'ordered: "top"'),
        ({"defaults": {"pasing": True}}, 'defaults: "pasing".*did you mean "pacing"'),
        ({"defaults": {"recovery": "hope"}}, 'defaults.recovery: "hope"'),
        ({"defaults": {"minimum_timeout": "2 packets"}}, "defaults.minimum_timeout"),
        ({"governs_window": True, "defaults": {"recovery": "reno"}}, "defaults.recovery"),
        ({"governs_window": 1}, "governs_window: 1 is not accepted; expected True or False"),
    ],
)
def test_tables_are_checked(members, accepted):
    with pytest.raises(vermilion.ScenarioError, match=accepted):
        vermilion.register_congestion_control(type("Wrong", (Own,), members))
    assert "own" not in senders()


def test_only_classes_of_the_right_kind_are_registered():
    with pytest.raises(vermilion.ScenarioError, match=r"derived from vermilion\.CongestionControl"):
        vermilion.register_congestion_control(int)
    with pytest.raises(vermilion.ScenarioError, match="written in Python"):
        vermilion.unregister_congestion_control("reno")


def test_it_can_be_registered_anew_and_forgotten(register):
    register(Own)
    register(Own, title="Another")
    assert senders()["own"].title == "Another"
    vermilion.unregister_congestion_control("own")
    with pytest.raises(vermilion.ScenarioError, match='"own" is not accepted'):
        network("own")


def load_example():
    """The class of the documentation's example."""
    path = Path(__file__).parents[2] / "docs" / "examples" / "square_root_increase.py"
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.SquareRootIncrease


class TestTheExampleConforms(CongestionControlConformance):
    own = load_example()


PLUGIN = """
    import vermilion

    class Careful(vermilion.CongestionControl):
        '''Adds half a packet in a round trip.'''

        name = "careful"
        parameters = (vermilion.number("step", "packets", 0.5, 0.1, 10, search=(0.2, 4)),)

        def on_ack(self, ack, window):
            window.size += 1 if window.in_slow_start else self.step / window.size

        def on_loss(self, loss, window):
            return loss.base / 2
"""
SHORT = (
    "--set=duration=8 s",
    "--set=warm_up=2 s",
    "--set=settle=2 s",
    "--set=flows.late.start=4 s .. 4.5 s",
)


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "careful.py"
    path.write_text(dedent(PLUGIN), encoding="utf-8")
    yield path
    if "careful" in senders():
        vermilion.unregister_congestion_control("careful")


def test_a_plugins_sender_is_named_on_the_command_line(plugin, capsys):
    assert main(["senders", "careful", "--plugin", str(plugin)]) == 0
    assert "step" in capsys.readouterr().out
    choice = "--set=flows.*.sender.congestion_control=careful"
    assert main(["run", "varying-load", "--plugin", str(plugin), *SHORT, choice, "--json=-"]) == 0
    assert json.loads(capsys.readouterr().out)["packets_forwarded"] > 1000


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("return loss.base / 2", "return loss.bass", "AttributeError"),
        ("return loss.base / 2", "return float('nan')", "the answer nan is not accepted"),
        ('"packets", 0.5', '"packets", 500', "parameters.step.default"),
        ('name = "careful"', 'name = "cubic"', "a name that no sender of Vermilion has"),
    ],
)
def test_a_plugins_fault_is_one_line_and_exit_code_2(plugin, capsys, old, new, words):
    plugin.write_text(plugin.read_text().replace(old, new))
    choice = "--set=flows.*.sender.congestion_control=careful"
    assert main(["run", "varying-load", "--plugin", str(plugin), *SHORT, choice]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.startswith("vermilion: ")
    assert error.count("\n") == 1
