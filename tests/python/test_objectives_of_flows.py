"""Objectives and constraints on flows: groups taken together, idle phases, absent numbers."""

import math

import numpy as np
import pytest

from vermilion import load_scenario, run
from vermilion.objectives import (
    FLOW_METRICS,
    Constraint,
    NotMeasuredError,
    flow_windows,
    objective_from_text,
    objective_of,
)
from vermilion.objectives.harm import harm_bounds
from vermilion.scenario import ScenarioError, parse_scenario, scenario_from_document
from vermilion.simulate import Result
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.verdict import judge, mean_violation


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load")


def goodputs(start, end, *rates, **more):
    """A group's window as the core writes it, from the single flows' goodputs."""
    window = {"start_s": start, "end_s": end, "flows": len(rates), **more}
    window |= {"timeouts": 0, "retransmissions": len(rates)}
    if rates:
        window["goodput_bit_per_s"] = {
            "total": sum(rates), "mean": np.mean(rates), "sd": np.std(rates),
            "min": min(rates), "max": max(rates),
        }  # fmt: skip
    return window


def result(**groups):
    flows = {
        name: {"total": windows[-1], "phases": list(windows)} for name, windows in groups.items()
    }
    return Result({"seed": 1, "links": {}, "flows": flows})


def measured(text, outcome, known=None):
    return objective_from_text(text, known or load_scenario("varying-load"))[0].measure(outcome)


def test_the_flows_of_several_groups_count_as_if_they_were_of_one():
    near, far = (3.0, 4.0, 8.0), (1.0, 2.0)
    [window] = flow_windows(result(near=[goodputs(0, 1, *near)], far=[goodputs(0, 1, *far)]))
    every = np.array(near + far)
    assert window["flows"] == 5
    assert window["retransmissions"] == 5
    assert window["goodput_bit_per_s"]["total"] == pytest.approx(every.sum())
    assert window["goodput_bit_per_s"]["mean"] == pytest.approx(every.mean())
    assert window["goodput_bit_per_s"]["sd"] == pytest.approx(every.std())
    assert window["jain_index"] == pytest.approx(every.sum() ** 2 / (5 * (every**2).sum()))
    assert window["goodput_cov"] == pytest.approx(every.std() / every.mean())
    assert window["slowest_share"] == pytest.approx(1.0 / every.mean())


def test_how_alike_flows_fare_is_said_of_the_bulk_flows_where_others_are_beside_them():
    # Of 4 and 2 Mbit/s: (4 + 2)^2 / (2 (16 + 4)) = 0.9, sd / mean = 1/3, slowest 2/3.
    calls = goodputs(0, 1, *[0.1] * 30)
    indices = {"jain_index": 0.9, "goodput_cov": 1 / 3, "slowest_share": 2 / 3}

    def of(**groups):
        [window] = flow_windows(result(**{name: [each] for name, each in groups.items()}))
        return {key: window.get(key) for key in indices}, window

    near, far = goodputs(0, 1, 4.0, starved=0), goodputs(0, 1, 2.0, starved=0)
    found, window = of(near=near, far=far, calls=calls)
    assert found == pytest.approx(indices)
    assert window["flows"] == 32
    assert window["goodput_bit_per_s"]["total"] == pytest.approx(9.0)
    assert window["goodput_bit_per_s"]["mean"] == pytest.approx(9.0 / 32)

    one = goodputs(0, 1, 4.0, 2.0, starved=0, jain_index=0.9, goodput_cov=1 / 3)
    assert of(bulk=one, calls=calls)[0] == pytest.approx(indices)
    web = {**goodputs(0, 1), "flows": 7, "goodput_bit_per_s": {"total": 3.0}}
    found, window = of(near=near, far=far, web=web)
    assert found == pytest.approx(indices)
    assert window["goodput_bit_per_s"] == {"total": 9.0}
    # Where no bulk flow is, there is nothing else to compare.
    assert of(calls=calls, more=calls)[0]["jain_index"] == pytest.approx(1.0)


def test_bulk_flows_that_get_nothing_beside_calls_are_the_most_unequal():
    def starving(bulk):
        calls = goodputs(0, 1, *[0.1] * 30)
        return result(early=[goodputs(0, 1, *bulk, starved=0)], late=[calls])

    known = load_scenario("varying-load").document
    for name, number in (("jain-index", 1 / 4), ("slowest-flow", 0), ("goodput-variation", 3**0.5)):
        stated = scenario_from_document({**known, "tuning": {"objective": {"name": name}}})
        assert objective_of(stated).measure(starving([0.0] * 4)) == pytest.approx(number)
    assert "jain_index" not in flow_windows(starving([0.0] * 4))[0]


def test_calls_do_not_hide_that_a_download_starves():
    """Two downloads, one from ten times as far away: a short queue takes what the far one had."""
    scenario = parse_scenario("""
        duration = "40 s"
        warm_up = "10 s"
        [links.wan]
        rate = "20 Mbit/s"
        delay = "2 ms"
        queue = { discipline = "drop-tail", limit = "600 packets" }
        [flows.near]
        path = ["wan"]
        rtt = "10 ms"
        sender = "newreno"
        packet_size = "1500 bytes"
        [flows.far]
        path = ["wan"]
        rtt = "100 ms"
        sender = "newreno"
        packet_size = "1500 bytes"
        [flows.calls]
        count = 30
        path = ["wan"]
        rtt = "40 ms"
        traffic = { kind = "constant-rate", rate = "100 kbit/s" }
        packet_size = "200 bytes"
    """)
    [fairness] = [each for each in harm_bounds(scenario, ["wan"]) if "jain" in each.text]
    long = run(scenario, seed=1)
    short = run(scenario.with_values({"links.wan.queue.limit": 34}), seed=1)
    rates = [
        [outcome.flows(name).total["goodput_bit_per_s"]["total"] for name in ("near", "far")]
        for outcome in (long, short)
    ]
    indices = [sum(each) ** 2 / 2 / np.square(each).sum() for each in rates]
    assert [fairness.values(each) for each in (long, short)] == [
        pytest.approx([each]) for each in indices
    ]
    assert indices[0] - indices[1] > 0.05
    assert fairness.margin(short, long) == pytest.approx(indices[1] - indices[0] + 0.05)


def test_flows_without_a_goodput_are_pooled_without_one():
    # As in results that are asked for before the warm-up is over.
    near, far = goodputs(1, 1, 3.0), goodputs(1, 1, 1.0, 2.0)
    for window in (near, far):
        del window["goodput_bit_per_s"]
    [window] = flow_windows(result(near=[near], far=[far]))
    assert window["flows"] == 3
    assert not {"goodput_bit_per_s", "jain_index", "goodput_cov", "slowest_share"} & set(window)


def test_a_pattern_means_the_groups_that_fit():
    outcome = result(**{name: [goodputs(0, 1, 2.0)] for name in ("web-1", "web-2", "bulk")})
    assert [len(flow_windows(outcome, flows)) for flows in ("bulk", "*")] == [1, 1]
    assert flow_windows(outcome, "web-*")[0]["flows"] == 2


def test_groups_of_a_real_run_together_agree_with_its_single_flows(scenario):
    outcome = run(scenario, seed=2)
    single = [
        flow["goodput_bit_per_s"]
        for group in outcome.groups
        for flow in outcome.flows(group).phases[1]["each"]
    ]
    window = flow_windows(outcome)[1]
    assert len(single) == window["flows"] == 64
    assert window["jain_index"] == pytest.approx(sum(single) ** 2 / 64 / np.square(single).sum())
    assert window["slowest_share"] == pytest.approx(min(single) / np.mean(single))


def test_percentiles_of_several_groups_are_absent_and_their_moments_are_not():
    def one(count, mean, sd):
        times = {"count": count, "mean": mean, "sd": sd, "p95": mean, "min": mean, "max": mean}
        return [goodputs(0, 1, 1.0, completion_time_s=times)]

    [window] = flow_windows(result(a=one(1, 1.0, 0.0), b=one(3, 5.0, 2.0)))
    assert window["completion_time_s"]["mean"] == pytest.approx(4.0)
    assert window["completion_time_s"]["sd"] == pytest.approx(math.sqrt(12 / 4 + 12 / 4))
    assert "p95" not in window["completion_time_s"]


def test_an_objective_passes_over_phases_in_which_no_flow_is_active():
    outcome = result(
        early=[goodputs(0, 1, 1.0), goodputs(1, 4, 1.0)],
        late=[goodputs(0, 1), goodputs(1, 4, 2.0, 6.0)],
    )
    assert measured("flows.late.goodput_bit_per_s.min", outcome) == 2.0
    assert measured("flows.*.goodput_bit_per_s.total", outcome) == (1 * 1 + 3 * 9) / 4


def test_an_objective_of_flows_that_never_run_cannot_be_computed():
    idle = result(early=[goodputs(0, 1, 1.0)], late=[goodputs(0, 1)])
    with pytest.raises(NotMeasuredError, match="no flow is ever active"):
        measured("flows.late.goodput_bit_per_s.min", idle)


def test_a_constraint_asks_nothing_of_a_phase_in_which_no_flow_is_active():
    constraint = Constraint.parse("flows.late.goodput_bit_per_s.min >= 3 bit/s")
    outcome = result(late=[goodputs(0, 1), goodputs(1, 4, 2.0, 6.0)])
    assert constraint.values(outcome) == [math.inf, 2.0]
    assert constraint.margin(outcome) == -1.0
    relative = Constraint.parse("flows.late.goodput_bit_per_s.min >= 0.5 of reference")
    assert relative.margin(outcome, outcome) == 1.0


def test_a_phase_without_flows_does_not_decide_a_verdict():
    constraints = [Constraint.parse("flows.late.goodput_bit_per_s.min >= 3 bit/s")]

    def evaluation(*windows):
        outcome = Evaluation({}, [1, 2], [0.0, 0.0])
        outcome.constrained = [[constraints[0].values(result(late=windows))] * 2]
        return outcome

    broken = evaluation(goodputs(0, 1), goodputs(1, 4, 2.0, 6.0))
    [verdict] = judge(constraints, broken, broken)
    assert (verdict.holds, verdict.phase, verdict.bound) == ("broken", 2, 3.0)
    assert mean_violation(constraints, broken, broken) == pytest.approx(1 / 3)

    idle = evaluation(goodputs(0, 1))
    [verdict] = judge(constraints, idle, idle)
    assert verdict.holds == "met"
    assert str(verdict).endswith("is met, as no flow is active")
    assert mean_violation(constraints, idle, idle) == 0.0


def test_flows_that_starve_break_a_constraint_that_utilisation_keeps():
    """One flow has all: the link is as busy as with fair shares, and the index says so."""
    constraint = Constraint.parse("flows.*.jain_index >= 0.5")
    fair = result(a=[goodputs(0, 1, 4.0, 4.0)], b=[goodputs(0, 1, 4.0, 4.0)])
    starved = result(a=[goodputs(0, 1, 16.0, 0.0)], b=[goodputs(0, 1, 0.0, 0.0)])
    assert constraint.margin(fair) == pytest.approx(0.5)
    assert constraint.margin(starved) == pytest.approx(0.25 - 0.5)


def test_every_metric_of_flows_that_a_run_has_can_be_constrained():
    web = parse_scenario("""
        duration = "20 s"
        [links.l]
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = { discipline = "drop-tail" }
        [flows.web]
        path = ["l"]
        rtt = "20 ms"
        sender = "reno"
        traffic = { kind = "web", mean_gap = "100 ms", size = "30 kB" }
        [flows.bulk]
        path = ["l"]
        rtt = "20 ms"
        sender = "reno"
    """)
    outcome = run(web, flow_delays=True)
    for metric in FLOW_METRICS:
        values = [
            Constraint.parse(f"flows.{group}.{metric} >= 0", scenario=web).values(outcome)[0]
            for group in ("web", "bulk")
        ]
        assert values != [None, None], metric


@pytest.mark.parametrize(
    ("text", "metric", "maximised"),
    [
        ("minimise links.bottleneck.sojourn_ms.p99", "sojourn_ms.p99", False),
        ("maximize flows.*.jain_index", "jain_index", True),
        ("links.bottleneck.utilization", "utilization", True),
        ("links.bottleneck.drop_rate", "drop_rate", False),
        ("minimize links.bottleneck.utilization", "utilization", False),
    ],
)
def test_a_short_form_says_which_metric_and_which_way(scenario, text, metric, maximised):
    objective, constraints = objective_from_text(text, scenario)
    assert objective.path.metric == metric
    assert objective.maximised == maximised
    assert constraints == ()


def test_what_is_to_be_maximised_is_minimised_with_the_other_sign(scenario):
    outcome = run(scenario)
    objective = objective_from_text("links.bottleneck.utilization", scenario)[0]
    assert objective.evaluate(outcome) == -objective.measure(outcome)
    assert 0.9 < objective.measure(outcome) <= 1.0


def test_a_short_form_may_state_constraints(scenario):
    text = (
        "minimise links.bottleneck.sojourn_ms.p99 subject to links.bottleneck.utilization >= 0.98 "
        "and flows.*.jain_index >= 0.8"
    )
    objective, constraints = objective_from_text(text, scenario)
    assert objective.label == "links.bottleneck.sojourn_ms.p99"
    assert constraints == ("links.bottleneck.utilization >= 0.98", "flows.*.jain_index >= 0.8")


def test_a_scenario_may_say_it_in_the_short_form():
    from vermilion.objectives import constraints_of
    from vermilion.scenario import scenario_from_document

    document = {**load_scenario("varying-load").document}
    text = "maximise flows.*.jain_index subject to links.bottleneck.utilization >= 0.98"
    document["tuning"] = {**document["tuning"], "objective": text, "constraints": []}
    stated = scenario_from_document(document)
    objective = objective_of(stated)
    assert objective.label == "flows.*.jain_index"
    [constraint] = constraints_of(stated, objective)
    assert constraint.text == "links.bottleneck.utilization >= 0.98"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "minimise METRIC"),
        ("minimise", "links.NAME.METRIC"),
        ("shrink links.bottleneck.drop_rate", "minimise METRIC"),
        ("minimise links.bottleneck.drop_rat", '"drop_rate"'),
        ("minimise links.x.drop_rate", '"bottleneck"'),
        ("flows.x.jain_index", '"early", "late"'),
        ("flows.early.jain", "jain_index"),
        ("minimise links.bottleneck.drop_rate subject to", "minimise METRIC"),
    ],
)
def test_a_wrong_short_form_is_refused(scenario, text, expected):
    with pytest.raises(ScenarioError) as refused:
        objective_from_text(text, scenario)
    assert refused.value.field == "tuning.objective"
    assert expected in refused.value.accepted


def test_a_flow_with_less_than_a_twentieth_of_the_mean_is_starved():
    # A flow whose window is one segment and whose round trip is forty times as long as the others'
    # gets about a fortieth of what they get.
    scenario = scenario_from_document(
        {
            "title": "One flow from far away",
            "duration": "20 s",
            "warm_up": "5 s",
            "links": {
                "bottleneck": {
                    "rate": "10 Mbit/s",
                    "delay": "1 ms",
                    "queue": {"discipline": "drop-tail", "limit": "100 packets"},
                }
            },
            "flows": {
                "near": {
                    "count": 3,
                    "path": ["bottleneck"],
                    "rtt": "20 ms",
                    "sender": {"congestion_control": "reno", "window_cap": "4 packets"},
                    "packet_size": "1000 bytes",
                },
                "far": {
                    "count": 2,
                    "path": ["bottleneck"],
                    "rtt": "800 ms",
                    "sender": {"congestion_control": "reno", "window_cap": "4 packets"},
                    "packet_size": "1000 bytes",
                },
            },
        },
        "test",
    )
    result = run(scenario, seed=1)
    [window] = flow_windows(result)
    each = [f for group in result.groups for f in result.flows(group).total["each"]]
    goodputs = [flow["goodput_bit_per_s"] for flow in each]
    assert sum(goodput < sum(goodputs) / 5 / 20 for goodput in goodputs) == 2
    assert window["starved"] == 2
    assert [result.flows(group).total["starved"] for group in ("near", "far")] == [0, 2]


def test_calls_and_short_transfers_are_never_counted_as_starved():
    result = run(load_scenario("rfc7928-traffic-mix"), seed=1)
    kinds = {group: "starved" in result.flows(group).total for group in result.groups}
    assert any(kinds.values())
    assert not all(kinds.values())
