"""Baselines: what an engineer would set without simulating."""

import statistics

import pytest

from vermilion import load_scenario
from vermilion.objectives import (
    constraints_of,
    flow_windows,
    objective_from_table,
    objective_from_text,
    objective_of,
)
from vermilion.scenario import ScenarioError, parse_scenario
from vermilion.simulate import Result
from vermilion.tuning import Seeds, tune
from vermilion.tuning.baselines import expert_baselines, told_delay
from vermilion.tuning.verdict import on_known

LIMIT = "links.bottleneck.queue.limit"
TARGET = "links.bottleneck.queue.target"

SMALL = """
duration = "8 s"
warm_up = "2 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", limit = "60 packets" }
[flows.all]
count = 8
path = ["bottleneck"]
rtt = "40 ms"
sender = "sack"
packet_size = "1000 bytes"
"""
"""The bandwidth-delay product is 50 packets; a packet takes 0.8 ms."""

BOUND = "minimise links.bottleneck.queue_packets.mean subject to links.bottleneck.sojourn_ms.{}"


def baselines_of(scenario, objective, constraints=(), **options):
    objective, stated = objective_from_text(objective, scenario)
    held = constraints_of(scenario, objective, (*constraints, *stated))
    defaults = {"links": list(scenario.links), "seeds": (1, 2), "threads": 2}
    found = expert_baselines(scenario, objective, held, **{**defaults, **options})
    return {each.scenario.links["bottleneck"].queue.discipline: each for each in found}


@pytest.fixture(scope="module")
def of_varying_load():
    scenario = load_scenario("varying-load")
    objective = objective_of(scenario)
    found = expert_baselines(
        scenario,
        objective,
        constraints_of(scenario, objective),
        links=["bottleneck"],
        seeds=(1, 2, 3, 4, 5),
        threads=2,
    )
    return {each.scenario.links["bottleneck"].queue.discipline: each for each in found}


def mean(baseline, phase, metric):
    """A mean over the seeds, of the link's or all flows' metrics."""
    values = []
    for result in baseline.results:
        queue = result.link("bottleneck").phases[phase]["queue_packets"]
        flows = flow_windows(result)[phase]
        squared = queue["sd"] ** 2 + (queue["mean"] - 30.0) ** 2
        values.append(squared if metric == "squared deviation" else flows[metric])
    return statistics.mean(values)


def test_pie_told_the_target_holds_it_and_starves_nobody(of_varying_load):
    # Measured before there was this: PIE at 24 ms has 47 and .94 at 64 flows, 39 and .998 at 16.
    pie = of_varying_load["pie"]
    assert pie.name == "PIE, 24 ms"
    assert pie.parameters == {TARGET: pytest.approx(0.024)}
    assert mean(pie, 1, "squared deviation") == pytest.approx(47.0, rel=0.25)
    assert mean(pie, 1, "jain_index") == pytest.approx(0.94, abs=0.02)
    assert mean(pie, 0, "squared deviation") == pytest.approx(39.0, rel=0.25)


def test_a_quick_average_holds_the_target_far_better_than_a_slow_one(of_varying_load):
    # RED as published has a squared deviation of about 135 over these loads, a steep one of 32.
    for kind in ("red", "adaptive-red"):
        deviations = [mean(of_varying_load[kind], phase, "squared deviation") for phase in (0, 1)]
        assert statistics.mean(deviations) < 80.0
    thresholds = [of_varying_load["red"].scenario.get(f"links.bottleneck.queue.{end}_threshold")
                  for end in ("min", "max")]  # fmt: skip
    assert thresholds == pytest.approx([24.0, 66.0])


def test_the_buffer_in_force_stays_and_only_the_tuned_links_change():
    scenario = parse_scenario(
        SMALL
        + """
        [links.other]
        rate = "100 Mbit/s"
        delay = "1 ms"
        queue = { discipline = "codel", target = "7 ms" }
        [flows.across]
        path = ["other"]
        rtt = "20 ms"
        sender = "sack"
        """
    )
    found = baselines_of(
        scenario, "minimise links.bottleneck.queue_packets.sd", links=["bottleneck"]
    )
    for baseline in found.values():
        assert baseline.scenario.links["other"] == scenario.links["other"]
    # nothing asks for a delay, so no threshold follows
    assert list(found) == ["drop-tail", "pie", "codel", "fq-codel"]
    assert found["pie"].scenario.get(LIMIT) == 60
    assert found["pie"].scenario.get(TARGET) == 0.015
    # 50 packets over the square root of eight
    assert found["drop-tail"].parameters == {LIMIT: pytest.approx(18, abs=1)}
    assert found["codel"].scenario.get(TARGET) == pytest.approx(0.005)


def test_bytes_in_force_are_packets_of_the_flows_size():
    text = SMALL.replace('"red", limit = "60 packets"', '"linux-red", limit = "40 kB"')
    found = baselines_of(parse_scenario(text), "minimise links.bottleneck.queue_packets.mean")
    assert found["pie"].scenario.get(LIMIT) == 40


def test_changes_of_the_queue_that_is_gone_are_left_out_and_others_stay():
    scenario = parse_scenario(
        SMALL
        + """
        [[changes]]
        at = "4 s"
        link = "bottleneck"
        queue = { max_probability = 0.5 }
        [[changes]]
        at = "6 s"
        link = "bottleneck"
        rate = "8 Mbit/s"
        queue = { max_probability = 0.2 }
        """
    )
    goal = "minimise links.bottleneck.queue_packets.mean"
    for baseline in baselines_of(scenario, goal).values():
        [change] = baseline.scenario.changes
        assert (change.at, change.rate, change.queue) == (6.0, 8e6, None)


def test_a_mean_is_told_the_tightest_bound_and_half_of_a_percentile():
    scenario = parse_scenario(SMALL)
    objective, stated = objective_from_text(
        "maximise flows.*.goodput_bit_per_s.total subject to links.bottleneck.sojourn_ms.p95 <= 20 "
        "and links.bottleneck.queue_packets.p99 <= 20 and links.bottleneck.sojourn_ms.mean >= 1",
        scenario,
    )
    delay_s = told_delay(
        scenario, "bottleneck", objective, constraints_of(scenario, objective, stated)
    )
    assert delay_s == pytest.approx(0.5 * 20 * 0.0008)
    for statistic, expected in (("p95", 0.010), ("mean", 0.020)):
        text = f"links.bottleneck.sojourn_ms.{statistic} <= 20"
        [alone] = constraints_of(scenario, objective, [text])
        assert told_delay(scenario, "bottleneck", objective, [alone]) == pytest.approx(expected)
    assert told_delay(scenario, "bottleneck", objective, ()) is None


def test_a_target_inside_a_sum_counts_before_bounds():
    scenario = parse_scenario(SMALL)
    table = {
        "name": "weighted-sum",
        "parts": [
            {"weight": 1, "name": "jain-index"},
            {"weight": 1, "name": "queue-deviation", "link": "bottleneck", "target": "10 packets"},
        ],
    }
    objective = objective_from_table(table, scenario)
    held = constraints_of(scenario, objective, ["links.bottleneck.sojourn_ms.p95 <= 5"])
    assert told_delay(scenario, "bottleneck", objective, held) == pytest.approx(0.008)


def test_a_device_is_shown_what_it_has():
    scenario = parse_scenario(SMALL)
    goal = BOUND.format("mean <= 12.3456789")
    for device in ("sonic", "cisco"):
        assert list(baselines_of(scenario, goal, device=device)) == ["drop-tail", "red"]
    for device in ("linux", "linux-red"):
        found = baselines_of(scenario, goal, device=device)
        assert list(found) == ["drop-tail", "red", "pie", "codel", "fq-codel"]
        pie = found["pie"]
        assert pie.parameters[TARGET] == pytest.approx(0.012346, abs=1e-12)  # whole microseconds
        assert pie.scenario.get(TARGET) == pie.parameters[TARGET]
    with pytest.raises(ScenarioError, match=r"device.*linx.*linux"):
        baselines_of(scenario, goal, device="linx")


def test_without_time_there_are_no_baselines():
    scenario = parse_scenario(SMALL)
    goal = "minimise links.bottleneck.queue_packets.mean"
    assert baselines_of(scenario, goal, deadline_s=0.0) == {}


def of_one_link(utilization):
    window = {"start_s": 0.0, "end_s": 1.0, "utilization": utilization}
    links = {"bottleneck": {"total": window, "phases": [], "ledger": {}}}
    return Result({"seed": 1, "links": links, "flows": {}})


def test_a_known_reference_is_the_mean_over_its_seeds():
    scenario = parse_scenario(SMALL)
    objective, _ = objective_from_text("minimise links.bottleneck.queue_packets.mean", scenario)
    relative, absolute = constraints_of(
        scenario,
        objective,
        ["links.bottleneck.utilization >= 0.5 of reference", "links.bottleneck.utilization >= 0.9"],
    )
    known = on_known(relative, [of_one_link(0.4), of_one_link(0.8)])
    # Half of 0.6, whatever the other reference would be.
    assert known.bounds([0.7], [0.1]) == [pytest.approx(0.3)]
    assert known.margins([0.7], [0.1]) == [pytest.approx(0.4)]
    assert known.text == relative.text
    assert on_known(absolute, []) is absolute


def test_baselines_are_judged_by_what_a_change_may_cost_packets():
    found = tune(
        parse_scenario(SMALL),
        parameters=["links.bottleneck.queue.weight"],
        objective="minimise links.bottleneck.queue_packets.mean",
        harm=["flows.all.delay_ms.p95=50 %"],
        exactly=True,
        budget=4,
        seeds=Seeds.counted(1, search=1, re_evaluation=1, comparison=3),
    )
    missed = [text for each in found.rivals for text in each.missed]
    assert len(found.rivals) > 1
    assert not any("delay_ms" in text and "not measured" in text for text in missed)
