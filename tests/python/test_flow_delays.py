"""Delay, jitter and loss of a group's packets: measured for those who ask, pooled, searched for."""

import copy
import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from vermilion.cli import main
from vermilion.objectives import FLOW_METRICS, CalledFunction, Constraint, MetricPath, flow_windows
from vermilion.objectives.registry import objective_from_text, read_table
from vermilion.scenario import ScenarioError, load_scenario, parse_scenario
from vermilion.simulate import run, run_many, sweep
from vermilion.simulate.batches import BatchRunner
from vermilion.tuning import Seeds, tune
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.front_search import Second
from vermilion.tuning.simulations import Condition, Simulations

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")

KEYS = {
    "packets_sent", "packets_delivered", "packets_lost", "packet_loss_rate", "losses_in_a_row",
    "delay_ms", "jitter_ms", "jitter_pairs",
}  # fmt: skip

# Two groups whose packets, of a millisecond each, never meet: 100 of one in a second, 50 of the
# other. One way: the link's 10 ms, half of the other 10 ms and 70 ms of the round trip, 1 ms.
APART = """
title = "Two ways"
duration = "10 s"
warm_up = "1 s"
[links.near]
rate = "8 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "10 packets" }
[links.far]
rate = "8 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "10 packets" }
[flows.near]
path = ["near"]
rtt = "20 ms"
packet_size = "1000 bytes"
traffic = { kind = "constant-rate", rate = "800 kbit/s" }
[flows.far]
path = ["far"]
rtt = "80 ms"
packet_size = "1000 bytes"
traffic = { kind = "constant-rate", rate = "400 kbit/s" }
"""


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load", SHORT)


def groups_without(result, keys):
    return {
        name: [
            {key: value for key, value in window.items() if key not in keys | {"each"}}
            for window in (entry["total"], *entry["phases"])
        ]
        for name, entry in result.data["flows"].items()
    }


def test_asking_adds_keys_to_groups_and_changes_nothing(scenario):
    plain, asked = run(scenario), run(scenario, flow_delays=True)
    [[many]] = run_many([scenario], [1], flow_delays=True)
    stepped = run(scenario, flow_delays=True, progress=lambda _: None)
    assert many.data["links"] == asked.data["links"] == plain.data["links"]
    assert groups_without(asked, KEYS) == groups_without(plain, set())
    assert groups_without(many, set()) == groups_without(asked, set())
    assert groups_without(stepped, set()) == groups_without(asked, set())
    assert set(asked.flows("early").total) >= KEYS
    [[ordinary]] = run_many([scenario], [1])
    assert not KEYS & set(ordinary.flows("early").total)


def test_workers_measure_what_is_asked_for(scenario):
    texts = [scenario.core_json()]
    with ThreadPoolExecutor(1) as executor:
        workers = BatchRunner(executor, 1, least_s=0.0)
        assert workers.run_many(texts, [1, 2], flow_delays=True) == run_many(
            texts, [1, 2], flow_delays=True
        )
        assert workers.sent == 2
        assert workers.run_many(texts, [1]) == run_many(texts, [1])


def test_groups_that_never_queue_have_the_delays_of_their_ways():
    result = run(parse_scenario(APART), flow_delays=True)
    for name, delay in (("near", 16.0), ("far", 46.0)):
        total = result.flows(name).total
        for statistic in ("mean", "p5", "p50", "p99", "max"):
            assert total["delay_ms"][statistic] == pytest.approx(delay, abs=1e-9)
        assert total["delay_ms"]["sd"] == 0.0
        assert total["jitter_ms"] == 0.0
        assert total["packet_loss_rate"] == 0.0
        assert "losses_in_a_row" not in total


def test_packets_of_several_groups_are_taken_together():
    result = run(parse_scenario(APART), flow_delays=True)
    [window] = flow_windows(result, over="total")
    # 900 packets of 16 ms and 450 of 46 ms.
    delays = np.repeat([16.0, 46.0], [900, 450])
    assert window["packets_delivered"] == len(delays)
    assert window["delay_ms"]["mean"] == pytest.approx(delays.mean())
    assert window["delay_ms"]["sd"] == pytest.approx(delays.std())
    assert window["delay_ms"]["max"] == pytest.approx(46.0)
    assert "p95" not in window["delay_ms"]
    assert window["jitter_ms"] == 0.0
    assert window["packet_loss_rate"] == 0.0
    assert "losses_in_a_row" not in window


def test_shares_jitter_and_runs_are_weighted_by_what_they_are_of(scenario):
    result = run(scenario, flow_delays=True)
    [window] = flow_windows(result, over="total")
    groups = [result.flows(name).total for name in result.groups]
    assert len(groups) == 2
    assert min(group["packets_lost"] for group in groups) > 0
    lost, delivered = (
        sum(group[key] for group in groups) for key in ("packets_lost", "packets_delivered")
    )
    assert window["packet_loss_rate"] == pytest.approx(lost / (lost + delivered))
    runs = [group["losses_in_a_row"] for group in groups]
    in_runs = sum(run["count"] * run["mean"] for run in runs)
    assert window["losses_in_a_row"]["count"] == sum(run["count"] for run in runs)
    assert window["losses_in_a_row"]["mean"] == pytest.approx(
        in_runs / window["losses_in_a_row"]["count"]
    )
    assert window["losses_in_a_row"]["max"] == max(run["max"] for run in runs)
    pairs = sum(group["jitter_pairs"] for group in groups)
    jitter = math.fsum(group["jitter_ms"] * group["jitter_pairs"] for group in groups) / pairs
    assert window["jitter_ms"] == pytest.approx(jitter)


def test_the_metrics_have_units_and_say_that_they_have_to_be_asked_for(scenario):
    for metric in ("delay_ms.p95", "jitter_ms"):
        path = MetricPath.parse(f"flows.early.{metric}", scenario)
        assert (path.unit, path.scale, path.needs_flow_delays) == ("ms", 1e3, True)
        assert not path.higher_is_better
    bound = Constraint.parse("flows.early.delay_ms.p95 <= 40 ms", scenario=scenario)
    assert bound.bound == 40.0
    share = Constraint.parse("flows.*.packet_loss_rate <= 1 %", scenario=scenario)
    assert share.bound == 0.01
    asked = {
        metric for metric in FLOW_METRICS if MetricPath("flows", "*", metric).needs_flow_delays
    }
    assert {metric.partition(".")[0] for metric in asked} == KEYS - {"jitter_pairs"}
    assert not MetricPath("links", "bottleneck", "sojourn_ms.p95").needs_flow_delays
    assert MetricPath("links", "bottleneck", "sojourn_ms.p95").unit == "ms"


@pytest.mark.parametrize("key", sorted(KEYS))
def test_what_was_not_asked_for_says_how_to_ask_for_it(scenario, key):
    metrics = run(scenario).flows("early")
    for window in (metrics.total, *metrics.phases):
        with pytest.raises(KeyError, match=rf"'{key}'.* only with flow_delays=True"):
            window[key]
        assert window.get(key) is None
        assert key not in window
    with pytest.raises(ScenarioError, match=rf"early\.{key}.* with flow_delays=True"):
        sweep(scenario, {"discipline": ["red"]}).rows([f"flows.early.{key}"])


def test_a_metric_that_there_is_not_says_what_there_is(scenario):
    result = run(scenario)
    with pytest.raises(KeyError, match=r"did you mean \"jain_index\""):
        result.flows("early").total["jain_indx"]
    with pytest.raises(KeyError, match=r"'sojourn_distribution_ms'.* only with distributions=True"):
        result.data["links"]["bottleneck"]["total"]["sojourn_distribution_ms"]
    [[one]] = run_many([scenario], [1])
    with pytest.raises(KeyError, match=r"'each'.* only a single run"):
        one.flows("early").total["each"]
    assert json.loads(result.to_json()) == result.data
    assert copy.deepcopy(result).data == result.data


def test_a_function_that_is_minimised_can_ask_for_delays(scenario):
    def late(result):
        return result.flows("early").total["delay_ms"]["p95"]

    options = {
        "budget": 2,
        "rivals": False,
        "robustness": False,
        "seeds": Seeds((1,), (), (2, 3)),
    }
    with pytest.raises(KeyError, match=r"'delay_ms'.*CalledFunction\(.*needs_flow_delays=True"):
        tune(scenario, objective=late, **options)
    found = tune(scenario, objective=CalledFunction(late, needs_flow_delays=True), **options)
    # The base round trip is 28 ms: one way takes 14 ms at least.
    assert found.comparison.incumbent.mean > 14.0


DELAY = "minimise flows.early.delay_ms.p95"
WAITING = "minimise links.bottleneck.sojourn_ms.p95"
SUM = [
    {"weight": 1, "scale": 1, "name": "mean-sojourn", "link": "bottleneck"},
    {"weight": 2, "scale": 1, "name": "metric", "path": "flows.*.packet_loss_rate"},
]


@pytest.mark.parametrize(
    ("objective", "watched", "asked"),
    [
        (DELAY, [], True),
        (WAITING, [], False),
        (WAITING, ["flows.*.goodput_bit_per_s.min >= 1 kbit/s"], False),
        (WAITING, ["flows.early.jitter_ms <= 1 s"], True),
        (WAITING, [DELAY], True),
        ({"name": "weighted-sum", "parts": SUM}, [], True),
    ],
)
def test_a_tuning_asks_for_what_its_objective_or_a_constraint_needs(
    scenario, objective, watched, asked
):
    def judged(given):
        if isinstance(given, str):
            return objective_from_text(given, scenario)[0]
        return read_table(given, scenario)

    def kept(text):
        if text.startswith("minimise"):
            return Second(judged(text))  # of a front
        return Constraint.parse(text, scenario=scenario)

    measure, kept_with_it = judged(objective), [kept(text) for text in watched]
    path = "links.bottleneck.queue.max_probability"
    condition = Condition.of(scenario.core_json(), {path: None}, measure, [])
    simulations = Simulations([replace(condition, besides=tuple(kept_with_it))])
    evaluation = Evaluation({path: 0.1})
    [[result]] = simulations.run([evaluation], [1])
    assert ("delay_ms" in result.flows("early").total) == asked
    assert math.isfinite(evaluation.objective)
    assert all(value is not None for seeds in evaluation.constrained for [*values] in seeds
               for value in values)  # fmt: skip


def test_a_run_on_the_command_line_has_them(capsys):
    assert main(["run", "varying-load", *(f"--set={text}" for text in SHORT), "--json", "-"]) == 0
    total = json.loads(capsys.readouterr().out)["flows"]["early"]["total"]
    assert set(total) >= KEYS
    assert total["delay_ms"]["p5"] <= total["delay_ms"]["p50"] <= total["delay_ms"]["max"]


def test_an_objective_of_them_is_the_metric(scenario):
    objective, _ = objective_from_text("minimise flows.early.packet_loss_rate", scenario)
    result = run(scenario, flow_delays=True)
    phases = result.flows("early").phases
    lengths = [phase["end_s"] - phase["start_s"] for phase in phases]
    rates = [phase["packet_loss_rate"] for phase in phases]
    assert objective.measure(result) == pytest.approx(np.average(rates, weights=lengths))
