"""Every objective's value, by hand, from a window with known numbers; and weighted sums of them."""

import json
import math
from typing import ClassVar

import pytest

import vermilion
from vermilion import load_scenario
from vermilion.objectives import (
    OBJECTIVES,
    CalledFunction,
    NotMeasuredError,
    objective_from_table,
)
from vermilion.scenario import ScenarioError
from vermilion.simulate import Result
from vermilion.tuning import Seeds

LINK = {
    "start_s": 0.0,
    "end_s": 1.0,
    "utilization": 0.9,
    "drop_rate": 0.02,
    "mark_rate": 0.05,
    "queue_packets": {"mean": 25.0, "sd": 3.0},
    "average_queue_packets": {"mean": 28.0, "sd": 1.0},
    "sojourn_ms": {"mean": 20.0, "p5": 1.0, "p50": 18.0, "p95": 60.0, "p99": 80.0},
}
FLOWS = {
    "start_s": 0.0,
    "end_s": 1.0,
    "flows": 2,
    "timeouts": 0,
    "retransmissions": 0,
    "goodput_bit_per_s": {"total": 9e6, "mean": 4.5e6, "sd": 1.5e6, "min": 3e6, "max": 6e6},
    "jain_index": 0.9,
    "goodput_cov": 1 / 3,
    "completion_time_s": {"count": 3, "mean": 2.0, "p95": 5.0},
    "delay_ms": {"mean": 40.0, "sd": 9.0, "p50": 38.0, "p95": 55.0},
    "jitter_ms": 4.0,
    "packet_loss_rate": 0.03,
}
IDLE = {"start_s": 0.0, "end_s": 1.0, "flows": 0, "timeouts": 0, "retransmissions": 0}
TABLES = {
    "queue-deviation": ({"link": "bottleneck", "target": "30 packets"}, 3.0**2 + 5.0**2),
    "published-queue-variance": ({"link": "bottleneck", "target": 30}, 1.0**2 + 2.0**2),
    "knee": ({"link": "bottleneck"}, 60.0),
    "delay-bound": ({"link": "bottleneck", "at_most": "70 ms"}, 9e6),
    "latency-under-load": ({"flows": "early"}, 55.0),
    "mean-sojourn": ({"link": "bottleneck"}, 20.0),
    "sojourn-percentile": ({"link": "bottleneck", "percentile": 95}, 60.0),
    "utilization": ({"link": "bottleneck"}, 0.9),
    "drop-rate": ({"link": "bottleneck"}, 0.02),
    "mark-rate": ({"link": "bottleneck"}, 0.05),
    "goodput": ({"flows": "early"}, 9e6),
    "jain-index": ({}, 0.9),
    "slowest-flow": ({"flows": "*"}, 3 / 4.5),
    "completion-time": ({"flows": "early"}, 2.0),
    "power": ({"link": "bottleneck", "base_delay": "28 ms"}, 9e6 / 0.048),
    "metric": ({"path": "links.bottleneck.sojourn_ms.p50"}, 18.0),
    "weighted-sum": (
        {
            "parts": [
                {"weight": 2, "name": "mean-sojourn", "link": "bottleneck", "scale": 10},
                {"weight": 1, "name": "jain-index", "scale": 1},
            ]
        },
        2 * 20.0 / 10 - 0.9,
    ),
}
"""By the objective's name: a table of it, and its value for the windows above."""

MAXIMISED = {"utilization", "goodput", "jain-index", "slowest-flow", "power", "delay-bound"}


def result(link=LINK, early=FLOWS, late=IDLE):
    flows = {"early": early, "late": late}
    return Result(
        {
            "seed": 1,
            "links": {"bottleneck": {"total": link, "phases": [link], "ledger": {}}},
            "flows": {name: {"total": each, "phases": [each]} for name, each in flows.items()},
        }
    )


def objective(name, **more):
    table = {"name": name, **TABLES[name][0], **more}
    return objective_from_table(table, load_scenario("varying-load"))


@pytest.mark.parametrize("name", TABLES)
def test_its_value_is_what_is_written_about_it(name):
    measured = objective(name)
    assert measured.measure(result()) == pytest.approx(TABLES[name][1])
    assert measured.maximised == (name in MAXIMISED)
    sign = -1.0 if name in MAXIMISED else 1.0
    assert measured.evaluate(result()) == pytest.approx(sign * TABLES[name][1])


def test_no_objective_goes_unchecked():
    # goodput-variation has tests of its own, against the groups of a parking lot.
    assert set(OBJECTIVES) - {"goodput-variation"} == set(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_each_can_be_computed_of_a_real_run(name):
    scenario = load_scenario("varying-load")
    if name == "completion-time":
        scenario = load_scenario(
            "varying-load",
            ['flows.early.traffic={ kind = "web", mean_gap = "1 s", size = "20 kB" }'],
        )
    table = {"name": name, **TABLES[name][0]}
    measured = vermilion.run(scenario, seed=1)
    chosen = objective_from_table(table, scenario)
    if name == "latency-under-load" and "delay_ms" not in measured.flows("early").total:
        with pytest.raises(NotMeasuredError, match=r"needs delay_ms\.p95"):
            chosen.measure(measured)
        return
    assert isinstance(chosen.measure(measured), float)


def test_the_percentile_belongs_to_the_name():
    assert objective("sojourn-percentile").label == "sojourn-percentile p95"
    assert objective("completion-time", percentile=95).measure(result()) == 5.0
    assert objective("completion-time").label == "completion-time mean"


def test_latency_under_load_is_of_delay_jitter_or_loss():
    def measured(**more):
        return objective("latency-under-load", **more).measure(result())

    assert measured(percentile=50) == 38.0
    assert measured(what="jitter") == 4.0
    assert measured(what="loss") == 0.03


def test_latency_of_several_groups_together_is_not_known():
    both = objective("latency-under-load", flows="*")
    group = {key: value for key, value in FLOWS.items() if key != "completion_time_s"}
    with pytest.raises(NotMeasuredError, match=r"delay_ms\.p95"):
        both.measure(result(early=group, late=group))


def test_the_knee_and_the_bound_are_of_the_percentile_that_is_asked_for():
    knee = objective("knee", percentile=50, goodput_share="95 %", flows="early")
    assert knee.measure(result()) == 18.0
    assert knee.own_constraints == ("flows.early.goodput_bit_per_s.total >= 0.95 of reference",)
    assert knee.label == "p50 delay (goodput at least 95 % of now)"
    bounded = objective("delay-bound", percentile=50)
    assert bounded.own_constraints == ("links.bottleneck.sojourn_ms.p50 <= 70 ms",)
    assert bounded.label == "goodput (p50 delay at most 70 ms)"
    assert bounded.links == ("bottleneck",)


@pytest.mark.parametrize("name", ["knee", "mean-sojourn", "sojourn-percentile"])
def test_who_gets_nothing_through_has_waited_all_the_time(name):
    shut = {**LINK, "end_s": 1.25, "arrivals": 40, "packets_forwarded": 0}
    del shut["sojourn_ms"]
    more = {"percentile": 95} if name == "sojourn-percentile" else {}
    waiting = objective(name, **more)
    assert waiting.value(shut) == waiting.value_if_measured(shut) == 1250.0
    idle = {**shut, "arrivals": 0}
    assert waiting.value_if_measured(idle) is None
    with pytest.raises(NotMeasuredError, match=f"{name} needs sojourn_ms"):
        waiting.value(idle)


def test_flows_that_all_get_nothing_are_the_most_unequal():
    nothing = dict.fromkeys(("total", "mean", "sd", "min", "max"), 0.0)
    starved = {**FLOWS, "goodput_bit_per_s": nothing}
    del starved["jain_index"]
    assert objective("jain-index").measure(result(early=starved)) == 0.5
    assert objective("slowest-flow").measure(result(early=starved)) == 0.0


def test_a_flow_that_starves_among_many_shows_in_the_slowest_and_hardly_in_the_index():
    """Of 64 flows one gets nothing: by the formula the index is 63/64."""
    assert load_scenario("varying-load").flows["late"].count == 48
    rates = [1.0] * 63 + [0.0]
    goodput = {"total": 63.0, "mean": 63 / 64, "sd": (63 / 64 / 64) ** 0.5, "min": 0.0, "max": 1.0}
    index = sum(rates) ** 2 / (64 * sum(rate**2 for rate in rates))
    window = {**FLOWS, "flows": 64, "goodput_bit_per_s": goodput, "jain_index": index}
    assert objective("jain-index").measure(result(early=window)) == pytest.approx(63 / 64)
    assert objective("slowest-flow").measure(result(early=window)) == 0.0


def test_power_peaks_where_throughput_and_delay_balance():
    """M/M/1: power rho * (1 - rho) is largest at half load (Kleinrock 1979)."""
    service_ms = 1.0

    def at(load):
        waiting = service_ms * load / (1 - load)
        link = {**LINK, "sojourn_ms": {"mean": waiting}}
        flows = {**FLOWS, "goodput_bit_per_s": {"total": load}}
        measured = objective("power", base_delay=f"{service_ms} ms")
        return measured.measure(result(link, flows))

    loads = [0.05 * step for step in range(1, 20)]
    assert max(loads, key=at) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("name", "more", "field", "expected"),
    [
        ("sojourn-percentile", {"percentile": 90}, "percentile", "5, 50, 95, 99"),
        ("sojourn-percentile", {"percentil": 95}, "percentil", '"percentile"'),
        ("mean-sojourn", {"target": 30}, "target", "no such field"),
        ("knee", {"goodput_share": 1.5}, "goodput_share", "a number above 0 up to 1"),
        ("knee", {"percentile": 5}, "percentile", "50, 95, 99"),
        ("delay-bound", {"at_most": "20 packets"}, "at_most", "a time above 0 s"),
        ("latency-under-load", {"what": "pain"}, "what", '"jitter"'),
        ("mean-sojourn", {"link": None}, "link", '"bottleneck"'),
        ("jain-index", {"flows": "lat"}, "flows", '"late"'),
        ("power", {"base_delay": "28 packets"}, "base_delay", "a time above 0 s"),
        ("metric", {"path": "links.bottleneck.x"}, "path", "a metric"),
        ("metric", {"direction": "up"}, "direction", '"minimise"'),
        ("weighted-sum", {"parts": []}, "parts", "a list of tables"),
        ("weighted-sum", {"parts": [3]}, "parts.0", "a table"),
        ("weighted-sum", {"parts": [{"name": "jain-index"}]}, "parts.0.weight", "a number above 0"),
        (
            "weighted-sum",
            {"parts": [{"weight": 1, "name": "jain-index", "flows": "x"}]},
            "parts.0.flows",
            '"early"',
        ),
    ],
)
def test_a_wrong_field_is_refused_by_its_path(name, more, field, expected):
    with pytest.raises(ScenarioError) as refused:
        objective(name, **more)
    assert refused.value.field == f"tuning.objective.{field}"
    assert expected in str(refused.value)


def test_a_required_field_that_is_absent_is_missing():
    with pytest.raises(ScenarioError, match=r"tuning.objective.link is missing; expected a link"):
        objective_from_table({"name": "mean-sojourn"}, load_scenario("varying-load"))


class TestWeightedSum:
    PARTS: ClassVar = [
        {"weight": 3, "path": "links.bottleneck.sojourn_ms.p99"},
        {"weight": 1, "name": "utilization", "link": "bottleneck"},
    ]

    def test_the_incumbent_s_own_values_make_its_parts_dimensionless(self):
        summed = objective("weighted-sum", parts=self.PARTS)
        assert summed.needs_incumbent
        with pytest.raises(NotMeasuredError, match="has no scale"):
            summed.measure(result())
        summed = summed.relative_to([result(), result()])
        assert not summed.needs_incumbent
        assert summed.measure(result()) == pytest.approx(3 - 1)
        halved = {**LINK, "sojourn_ms": {"p99": 40.0}, "utilization": 0.45}
        assert summed.measure(result(link=halved)) == pytest.approx(1.5 - 0.5)

    def test_a_part_that_is_zero_now_needs_a_scale(self):
        parts = [{"weight": 1, "name": "mark-rate", "link": "bottleneck"}]
        with pytest.raises(NotMeasuredError, match="mark-rate is 0 now"):
            objective("weighted-sum", parts=parts).relative_to([result({**LINK, "mark_rate": 0.0})])

    @pytest.mark.evidence
    def test_a_tuning_takes_its_scales_from_the_setting_in_force(self):
        scenario = load_scenario("varying-load", ["duration=25 s"])
        table = {"name": "weighted-sum", "parts": self.PARTS}
        summed = objective_from_table(table, scenario)
        seeds = Seeds.counted(1, search=2, re_evaluation=1, comparison=4)
        found = vermilion.tune(scenario, objective=summed, seeds=seeds, budget=30)
        assert found.objective == "weighted-sum"
        assert found.comparison.incumbent.mean == pytest.approx(3 - 1, rel=0.1)


class TestFunction:
    @pytest.mark.evidence
    def test_any_function_of_a_result_can_be_minimised(self):
        def longest_queue(result):
            return result.link("bottleneck").total["queue_packets"]["max"]

        scenario = load_scenario("varying-load", ["duration=25 s"])
        seeds = Seeds.counted(1, search=1, re_evaluation=1, comparison=4)
        found = vermilion.tune(scenario, objective=longest_queue, seeds=seeds, budget=30)
        assert found.objective == "longest_queue"
        again = vermilion.run(scenario, seed=seeds.comparison[0])
        assert longest_queue(again) > 0
        now = [longest_queue(vermilion.run(scenario, seed=seed)) for seed in seeds.comparison]
        assert found.comparison.incumbent.mean == pytest.approx(sum(now) / len(now))
        assert json.loads(found.to_json())["objective"]["name"] == "longest_queue"

    def test_what_is_no_number_was_not_measured(self):
        for nothing in (None, float("nan"), 1e300, -math.inf, 10**400, "3", [1.0]):
            with pytest.raises(NotMeasuredError, match="peak returned"):
                CalledFunction(lambda _, value=nothing: value, "peak").measure(result())

    def test_it_may_be_maximised(self):
        assert CalledFunction(lambda _: 3.0, maximise=True).evaluate(result()) == -3.0


def test_a_maximised_objective_is_reported_as_it_is_and_not_negated():
    scenario = load_scenario("varying-load", ["duration=25 s"])
    seeds = Seeds.counted(1, search=1, re_evaluation=1, comparison=4)
    best = []
    found = vermilion.tune(
        scenario,
        objective="maximise flows.*.jain_index subject to links.bottleneck.utilization >= 0.9",
        seeds=seeds,
        budget=60,
        progress=lambda moment: best.append(moment.best),
    )
    assert 0.9 < found.comparison.incumbent.mean < 1.0
    known = [value for value in best if math.isfinite(value)]
    assert 0.9 < known[-1] < 1.0
    assert found.comparison.best_verdicts[0].constraint == "links.bottleneck.utilization >= 0.9"
    if found.accepted:
        assert found.comparison.difference.mean > 0.0


def test_a_candidate_without_the_number_is_the_worst_and_ends_nothing():
    """Here the number is absent with one of the fresh seeds, whatever the setting."""
    scenario = load_scenario(
        "varying-load",
        [
            "duration=12 s",
            'flows.early.traffic={ kind = "transfer", size = "100 kB" }',
            'flows.late.start="0 s .. 1 s"',
        ],
    )
    seeds = Seeds.counted(1, search=1, re_evaluation=1, comparison=2)

    def of_all(result):
        window = result.flows("early").total
        return window["completion_time_s"]["mean"] if result.seed != seeds.comparison[1] else None

    found = vermilion.tune(scenario, objective=of_all, constraints=[], seeds=seeds, budget=5)
    assert not found.accepted
    assert "of_all returned None" in found.reason
    assert found.comparison is None
