"""A call beside bulk flows, tuned for what its packets feel: from the search to the last table."""

import json

import pytest

from vermilion import parse_scenario
from vermilion.objectives import objective_from_text
from vermilion.report.study import study_report
from vermilion.simulate import run_many
from vermilion.tuning import Seeds, Study, read_studies, tune, tune_front, tune_robust
from vermilion.tuning.simulations import needs_flow_delays

CALL = """
title = "A call beside bulk flows"
duration = "8 s"
warm_up = "2 s"
[links.bottleneck]
rate = "8 Mbit/s"
delay = "5 ms"
[links.bottleneck.queue]
discipline = "red"
limit = "120 packets"
min_threshold = "30 packets"
max_threshold = "90 packets"
max_probability = 0.1
weight = 0.002
[flows.bulk]
count = 4
path = ["bottleneck"]
rtt = "40 ms"
sender = "sack"
packet_size = "1000 bytes"
[flows.call]
path = ["bottleneck"]
rtt = "40 ms"
packet_size = "200 bytes"
traffic = { kind = "constant-rate", rate = "80 kbit/s" }
[tuning]
parameters = ["links.bottleneck.queue.min_threshold", "links.bottleneck.queue.max_threshold"]
objective = { name = "latency-under-load", flows = "call" }
constraints = ["links.bottleneck.utilization >= 0.9"]
"""
SEEDS = Seeds.counted(1, search=2, re_evaluation=4, comparison=5)
SUM = (
    '{ name = "weighted-sum", parts = [{ weight = 1, name = "latency-under-load", '
    'flows = "call" }, { weight = 1, name = "goodput" }] }'
)


@pytest.fixture(scope="module")
def scenario():
    return parse_scenario(CALL, origin="call")


def delay_of_call(scenario, setting):
    """The call's 95th percentile, the mean over the fresh seeds of runs apart from any tuning."""
    changed = scenario.with_values(setting) if setting else scenario
    [row] = run_many([changed], SEEDS.comparison, flow_delays=True)
    values = [result.flows("call").phases[0]["delay_ms"]["p95"] for result in row]
    return sum(values) / len(values)


@pytest.mark.evidence
def test_what_is_recommended_is_what_the_call_feels(scenario, tmp_path):
    with Study(path := tmp_path / "call.study") as study:
        outcome = tune(scenario, budget=16, seeds=SEEDS, study=study)
    assert outcome.accepted
    assert outcome.unit == "ms"
    assert outcome.comparison.best.mean == pytest.approx(
        delay_of_call(scenario, outcome.parameters)
    )
    assert outcome.comparison.incumbent.mean == pytest.approx(delay_of_call(scenario, {}))
    # What stands beside it has measured the same.
    assert [rival.label.partition(",")[0] for rival in outcome.rivals] == ["drop-tail", "PIE"]
    assert all(20.0 < rival.objective.mean < 100.0 for rival in outcome.rivals)
    assert outcome.robustness.unit == "ms"
    assert {each.verdict for each in outcome.robustness.outcomes} <= {
        "better", "no difference", "undecided", "worse",
    }  # fmt: skip
    page = study_report(read_studies(path))
    assert "latency-under-load call delay_ms.p95 (ms)" in page
    assert "the metric's" not in page
    assert "the metric&#39;s" not in page


def test_a_part_of_a_sum_is_measured_by_what_the_call_feels_now(scenario):
    outcome = tune(scenario, budget=6, seeds=SEEDS, objective=SUM, rivals=False, robustness=False)
    # The parts are 1 and -1 with the seeds of the search, so about nothing with others.
    assert outcome.comparison.incumbent.mean == pytest.approx(0.0, abs=0.1)


@pytest.mark.evidence
def test_robust_tunings_and_fronts_measure_it_too(scenario):
    other = parse_scenario(CALL.replace("count = 4", "count = 8"), origin="more")
    together = tune_robust([scenario, other], budget=6, seeds=SEEDS)
    [one, more] = json.loads(together.to_json())["scenarios"]
    assert one["objective"]["unit"] == "ms"
    assert one["objective"]["incumbent"]["mean"] == pytest.approx(delay_of_call(scenario, {}))
    assert more["objective"]["incumbent"]["mean"] == pytest.approx(delay_of_call(other, {}))
    goals = ['{ name = "latency-under-load", flows = "call" }', "links.bottleneck.utilization"]
    found = tune_front(scenario, goals, budget=8, seeds=SEEDS)
    assert found.units == ("ms", "")
    assert found.incumbent.values[0].mean == pytest.approx(delay_of_call(scenario, {}))


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (SUM, True),
        ("minimise flows.call.jitter_ms", True),
        ("flows.*.goodput_bit_per_s.total", False),
        ("minimise links.bottleneck.sojourn_ms.p95", False),
    ],
)
def test_only_what_packets_of_flows_feel_has_to_be_asked_for(scenario, text, needed):
    assert needs_flow_delays(objective_from_text(text, scenario)[0]) == needed
