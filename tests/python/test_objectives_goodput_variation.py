"""The coefficient of variation of all flows' goodputs, from what the groups report."""

import math
import statistics

import pytest

import vermilion
from vermilion.objectives import NotMeasuredError, objective_of
from vermilion.objectives.goodput_variation import GoodputVariation
from vermilion.scenario import load_scenario
from vermilion.simulate import Result

VARIATION = GoodputVariation()


def group(*goodputs, start=0.0, end=1.0):
    """What a group reports of flows with these goodputs."""
    metrics = {"start_s": start, "end_s": end, "flows": len(goodputs)}
    metrics |= {"timeouts": 0, "retransmissions": 0}
    if goodputs:
        metrics["goodput_bit_per_s"] = {
            "total": sum(goodputs),
            "mean": statistics.fmean(goodputs),
            "sd": statistics.pstdev(goodputs),
            "min": min(goodputs),
            "max": max(goodputs),
        }
        if sum(goodputs):
            cov = statistics.pstdev(goodputs) / statistics.fmean(goodputs)
            metrics["goodput_cov"] = cov
    return metrics


def variation(*groups):
    """Of a run without phases that has these groups."""
    flows = {str(number): {"total": each, "phases": []} for number, each in enumerate(groups)}
    return VARIATION.evaluate(Result({"seed": 1, "links": {}, "flows": flows}))


def test_all_flows_count_alike_whatever_their_group():
    # 1, 3 and 8: mean 4, squared distances 9 + 1 + 16, variance 26/3.
    assert variation(group(1.0, 3.0), group(8.0)) == pytest.approx(math.sqrt(26 / 3) / 4)
    assert variation(group(5.0, 5.0), group(5.0)) == pytest.approx(0.0)


def test_one_of_n_taking_all_is_the_worst():
    assert variation(group(0.0, 0.0, 7.0), group(0.0)) == pytest.approx(3**0.5)


def test_where_nothing_arrives_counts_as_the_worst():
    assert variation(group(0.0, 0.0), group(0.0, 0.0)) == pytest.approx(3**0.5)
    assert variation(group(0.0, 0.0, 0.0, 0.0), group()) == pytest.approx(3**0.5)


def test_a_group_without_flows_in_the_phase_says_nothing():
    assert variation(group(1.0, 3.0), group()) == pytest.approx(0.5)
    with pytest.raises(NotMeasuredError, match="no flow is ever active"):
        variation(group(), group())


def test_flows_that_come_and_go_have_no_goodput_of_their_own():
    web = {"start_s": 0.0, "end_s": 1.0, "flows": 9, "goodput_bit_per_s": {"total": 5e6}}
    for groups in ([group(1.0), web], [web]):
        with pytest.raises(NotMeasuredError, match="goodput_cov"):
            variation(*groups)


def test_phases_are_weighted_by_their_durations():
    phased = {
        "a": {"total": group(9.0), "phases": [group(1.0, end=10.0), group(1.0, 1.0, end=30.0)]},
        "b": {"total": group(9.0), "phases": [group(1.0, end=10.0), group(3.0, 3.0, end=30.0)]},
    }
    result = Result({"seed": 1, "links": {}, "flows": phased})
    assert VARIATION.evaluate(result) == pytest.approx((10 * 0.0 + 30 * 0.5) / 40)
    assert GoodputVariation(over="total").evaluate(result) == pytest.approx(0.0)


def test_it_may_be_of_some_flows_only():
    flows = {name: {"total": group(*goodputs), "phases": []} for name, goodputs in
             {"web-a": (1.0, 3.0), "web-b": (1.0, 3.0), "bulk": (100.0,)}.items()}  # fmt: skip
    result = Result({"seed": 1, "links": {}, "flows": flows})
    assert GoodputVariation("web-*").evaluate(result) == pytest.approx(0.5)


def test_it_is_that_of_the_single_flows_of_a_real_run():
    scenario = load_scenario("four-red-queues", ["duration=15 s"])
    run = vermilion.run(scenario)
    goodputs = [
        flow["goodput_bit_per_s"] for name in run.groups for flow in run.flows(name).total["each"]
    ]
    assert len(goodputs) == 40
    expected = statistics.pstdev(goodputs) / statistics.fmean(goodputs)
    objective = objective_of(scenario)
    assert objective == VARIATION
    assert objective.evaluate(run) == pytest.approx(expected)
