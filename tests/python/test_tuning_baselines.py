"""The simplest queues that might do the same: drop-tail at its best, and PIE told the target."""

import statistics

import pytest

from vermilion import load_scenario, run_many
from vermilion.objectives import (
    constraints_of,
    flow_windows,
    objective_from_table,
    objective_from_text,
    objective_of,
)
from vermilion.scenario import ScenarioError, parse_scenario
from vermilion.simulate import Result
from vermilion.tuning import Seeds
from vermilion.tuning.baselines import SharedBuffer, simple_baselines, told_delay
from vermilion.tuning.verdict import on_known

LIMIT = "links.bottleneck.queue.limit"
TARGET = "links.bottleneck.queue.target"
FEW = Seeds((11,), (12, 13), (1, 2))

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


def baselines_of(scenario, objective, constraints=(), **options):
    objective, stated = objective_from_text(objective, scenario)
    held = constraints_of(scenario, objective, (*constraints, *stated))
    defaults = {"links": list(scenario.links), "seeds": FEW, "budget": 8, "threads": 2}
    return simple_baselines(scenario, objective, held, **{**defaults, **options})


def disciplines(baselines):
    return [each.scenario.links["bottleneck"].queue.discipline for each in baselines]


@pytest.fixture(scope="module")
def of_varying_load():
    scenario = load_scenario("varying-load")
    objective = objective_of(scenario)
    return simple_baselines(
        scenario,
        objective,
        constraints_of(scenario, objective),
        links=["bottleneck"],
        seeds=Seeds((11,), (12, 13, 14), (1, 2, 3, 4, 5)),
        threads=2,
    )


def mean(baseline, phase, metric):
    """A mean over the seeds, of the link's or all flows' metrics."""
    values = []
    for result in baseline.results:
        queue = result.link("bottleneck").phases[phase]["queue_packets"]
        flows = flow_windows(result)[phase]
        squared = queue["sd"] ** 2 + (queue["mean"] - 30.0) ** 2
        values.append(squared if metric == "squared deviation" else flows[metric])
    return statistics.mean(values)


def test_drop_tail_at_its_best_is_the_wall_that_was_measured(of_varying_load):
    # Issue 12, 64 flows, seeds 1 to 5: drop-tail with a limit of 30 has a squared deviation of
    # 0.1, Jain's index .65 and 16 starved flows.
    drop_tail, _ = of_varying_load
    assert drop_tail.name == f"drop-tail, limit {drop_tail.parameters[LIMIT]:.0f} packets"
    assert 29 <= drop_tail.parameters[LIMIT] <= 32
    assert mean(drop_tail, 1, "squared deviation") < 5.0
    assert mean(drop_tail, 1, "jain_index") == pytest.approx(0.65, abs=0.08)
    assert mean(drop_tail, 1, "starved") == pytest.approx(16.0, abs=5.0)


def test_pie_told_the_target_holds_it_and_starves_nobody(of_varying_load):
    # The same: PIE at 24 ms has 47 and .94 at 64 flows, 39 and .998 at 16.
    _, pie = of_varying_load
    assert pie.name == "PIE, target 24 ms"
    assert pie.parameters == {TARGET: pytest.approx(0.024)}
    assert mean(pie, 1, "squared deviation") == pytest.approx(47.0, rel=0.25)
    assert mean(pie, 1, "jain_index") == pytest.approx(0.94, abs=0.02)
    assert mean(pie, 0, "squared deviation") == pytest.approx(39.0, rel=0.25)
    assert mean(pie, 0, "jain_index") == pytest.approx(0.998, abs=0.015)


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
    goal = "minimise links.bottleneck.queue_packets.sd"
    baselines = baselines_of(scenario, goal, links=["bottleneck"])
    for baseline in baselines:
        assert baseline.scenario.links["other"] == scenario.links["other"]
    assert disciplines(baselines) == ["drop-tail", "pie"]
    assert baselines[1].scenario.get(LIMIT) == 60
    assert baselines[1].parameters == {TARGET: 0.015}


def test_bytes_in_force_are_packets_of_the_flows_size():
    text = SMALL.replace('"red", limit = "60 packets"', '"linux-red", limit = "40 kB"')
    _, pie = baselines_of(parse_scenario(text), "minimise links.bottleneck.queue_packets.mean")
    assert pie.scenario.get(LIMIT) == 40


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
    for baseline in baselines_of(scenario, "minimise links.bottleneck.queue_packets.mean"):
        [change] = baseline.scenario.changes
        assert (change.at, change.rate, change.queue) == (6.0, 8e6, None)


def test_pie_is_told_the_tightest_bound():
    scenario = parse_scenario(SMALL)
    objective, stated = objective_from_text(
        "maximise flows.*.goodput_bit_per_s.total subject to links.bottleneck.sojourn_ms.p95 <= 20 "
        "and links.bottleneck.queue_packets.p99 <= 20 and links.bottleneck.sojourn_ms.mean >= 1",
        scenario,
    )
    delay_s = told_delay(
        scenario, "bottleneck", objective, constraints_of(scenario, objective, stated)
    )
    assert delay_s == pytest.approx(20 * 0.0008)
    [alone] = constraints_of(scenario, objective, ["links.bottleneck.sojourn_ms.p95 <= 20"])
    assert told_delay(scenario, "bottleneck", objective, [alone]) == pytest.approx(0.020)
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


def test_a_device_without_pie_is_shown_none():
    scenario = parse_scenario(SMALL)
    goal = "minimise links.bottleneck.queue_packets.mean"
    for device in ("sonic", "cisco"):
        assert disciplines(baselines_of(scenario, goal, device=device)) == ["drop-tail"]
    goal += " subject to links.bottleneck.sojourn_ms.mean <= 12.3456789"
    for device in ("linux", "linux-red"):
        _, pie = baselines_of(scenario, goal, device=device)
        assert pie.parameters[TARGET] == pytest.approx(0.012346, abs=1e-12)  # whole microseconds
        assert pie.scenario.get(TARGET) == pie.parameters[TARGET]
    with pytest.raises(ScenarioError, match=r"device.*linx.*linux"):
        baselines_of(scenario, goal, device="linx")


def test_drop_tail_has_no_average_queue_to_be_judged_by():
    table = '{ name = "published-queue-variance", link = "bottleneck", target = "10 packets" }'
    [pie] = baselines_of(parse_scenario(SMALL), table)
    assert disciplines([pie]) == ["pie"]
    assert len(pie.results) == 2


def test_without_time_there_are_no_baselines():
    scenario = parse_scenario(SMALL)
    goal = "minimise links.bottleneck.queue_packets.mean"
    assert baselines_of(scenario, goal, deadline_s=0.0) == ()


def test_the_limit_keeps_the_bound_relative_to_the_setting_in_force():
    # RED that drops every second packet waiting leaves much of the link idle, and drop-tail with
    # 60 packets fills it. As much as RED carries needs few packets, as much as that needs many.
    text = SMALL.replace(
        'limit = "60 packets"',
        'limit = "60 packets", min_threshold = "1 packet", max_threshold = "2 packets", '
        "max_probability = 1, weight = 1",
    )
    scenario = parse_scenario(text.replace("count = 8", "count = 1"))
    drop_tail, _ = baselines_of(
        scenario,
        "minimise links.bottleneck.queue_packets.mean",
        ["links.bottleneck.utilization >= 1 of reference"],
        budget=16,
    )
    reached = utilization(scenario)
    assert reached < 0.9
    assert utilization(drop_tail.scenario) >= reached - 0.02
    assert drop_tail.parameters[LIMIT] < 20


def utilization(scenario):
    [results] = run_many([scenario], FEW.comparison, threads=2)
    return statistics.mean(result.link("bottleneck").total["utilization"] for result in results)


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


def test_buffers_of_several_links_last_equally_long():
    space = SharedBuffer({"slow": 0.0008, "fast": 0.00008}, 0.08)
    assert len(space) == 1
    assert space.names == ("slow", "fast")
    assert space.values((1.0,)) == {"slow": 100.0, "fast": 1000.0}
    # The lower end is two packets of the faster link, and no queue is shorter than two packets.
    assert space.values((0.0,)) == {"slow": 2.0, "fast": 2.0}
    point = space.point({"slow": 10.0, "fast": 3.0})
    assert space.values(point) == {"slow": 10.0, "fast": 100.0}


def test_the_longest_buffer_is_the_one_in_force_or_twice_the_pipe():
    # 60 packets are in force; twice the bandwidth-delay product is 100.
    scenario = parse_scenario(SMALL)
    baseline, _ = baselines_of(scenario, "maximise links.bottleneck.queue_packets.mean", budget=30)
    assert 80 <= baseline.parameters[LIMIT] <= 100
