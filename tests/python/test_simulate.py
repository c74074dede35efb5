"""Running scenarios: the same seed gives the same result, however it is run."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import vermilion
from vermilion.scenario import ScenarioError, load_scenario
from vermilion.simulate import metric_of, run, run_many, runs

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load", SHORT)


def measured(result):
    """Everything but what the clock says."""
    return {key: value for key, value in result.data.items() if key not in {"wall_s", "cpu_s"}}


def test_a_result_has_the_documented_keys(scenario):
    result = run(scenario, seed=3)
    assert list(result.data)[:4] == ["seed", "version", "wall_s", "cpu_s"]
    assert result.data["seed"] == result.seed == 3
    assert result.data["version"] == vermilion.__version__
    assert result.data["packets_forwarded"] > 0
    assert result.links == ["bottleneck"]
    assert set(result.groups) == {"early", "late"}
    total = result.link("bottleneck").total
    for key in ("utilization", "arrivals", "drops", "marks", "drop_rate", "mark_rate"):
        assert key in total
    for key in ("queue_packets", "queue_bytes", "average_queue_packets", "sojourn_ms"):
        assert list(total[key]) == ["mean", "sd", "p5", "p50", "p95", "p99", "max"]
    assert [(phase["start_s"], phase["end_s"]) for phase in result.link("bottleneck").phases] == [
        (2.0, 4.0),
        (6.0, 8.0),
    ]
    flows = result.flows("early").total
    assert list(flows["goodput_bit_per_s"]) == ["total", "mean", "sd", "min", "max"]
    assert len(flows["each"]) == 16


def test_times_are_those_of_the_simulation(scenario):
    result = run(scenario)
    assert 0 < result.data["wall_s"] < 10
    assert 0 < result.data["cpu_s"] < 10


def test_a_result_is_strict_json(scenario):
    def refuse(constant):
        raise AssertionError(constant)

    text = run(scenario).to_json()
    assert json.loads(text, parse_constant=refuse)["seed"] == 1


def test_the_same_seed_gives_the_same_result_and_another_seed_another(scenario):
    assert measured(run(scenario, 5)) == measured(run(scenario, 5))
    assert measured(run(scenario, 5)) != measured(run(scenario, 6))


def test_a_run_that_reports_its_progress_has_the_same_outcome(scenario):
    parts = []
    stepped = run(scenario, 5, 0.1, progress=parts.append)
    plain = run(scenario, 5, 0.1)
    assert measured(stepped) == measured(plain)
    for column, values in plain.series("bottleneck").items():
        np.testing.assert_array_equal(stepped.series("bottleneck")[column], values)
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


def test_probing_changes_nothing_but_adds_series(scenario):
    probed, plain = run(scenario, 5, 0.1), run(scenario, 5)
    assert probed.data["links"] == plain.data["links"]
    assert probed.data["flows"] == plain.data["flows"]
    series = probed.series("bottleneck")
    assert set(series) == {
        "time_s",
        "queue_packets",
        "queue_bytes",
        "average_queue_packets",
        "drop_probability",
        "throughput_bit_per_s",
        "rate_bit_per_s",
        "arrivals",
        "drops",
        "marks",
    }
    assert {len(values) for values in series.values()} == {81}
    assert series["time_s"][-1] == pytest.approx(8.0)
    assert series["queue_packets"].max() <= 100


def test_what_arrives_in_a_series_is_sent_dropped_or_still_waits(scenario):
    result = run(scenario, 5, 0.1)
    series = result.series("bottleneck")
    gone = result.data["packets_forwarded"] + series["drops"].sum()
    assert series["drops"].sum() > 0
    assert series["arrivals"].sum() == gone + series["queue_packets"][-1]


def test_what_does_not_exist_is_named(scenario):
    result = run(scenario)
    with pytest.raises(KeyError, match="no link 'x'; there is bottleneck"):
        result.link("x")
    with pytest.raises(KeyError, match="no flow group"):
        result.flows("x")
    with pytest.raises(KeyError, match="probe_interval_s"):
        result.series("bottleneck")


def test_an_absent_number_is_none():
    assert metric_of({"queue_packets": {"mean": 3}}, "queue_packets.mean") == 3.0
    assert metric_of({"queue_packets": {}}, "queue_packets.mean") is None
    assert metric_of({}, "utilization") is None


def test_many_runs_are_what_single_runs_are_on_any_number_of_threads(scenario):
    other = scenario.with_values({"links.bottleneck.queue.weight": 0.01})
    one = run_many([scenario, other], [4, 7], threads=1)
    two = run_many([scenario, other.core_json()], [4, 7], threads=2)
    for candidate, of_one, of_two in zip((scenario, other), one, two, strict=True):
        for seed, left, right in zip((4, 7), of_one, of_two, strict=True):
            assert left.data == right.data
            single = run(candidate, seed)
            assert left.link("bottleneck") == single.link("bottleneck")
            assert left.seed == seed


def test_two_processes_agree(scenario):
    program = (
        "import sys, vermilion; from vermilion.simulate import run; "
        f"print(run(vermilion.load_scenario('varying-load', {SHORT!r}), 5).to_json(None))"
    )
    command = [sys.executable, "-c", program]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    other = json.loads(shown.stdout)
    here = measured(run(scenario, 5))
    assert {key: other[key] for key in here} == json.loads(json.dumps(here))


def test_progress_counts_the_runs_done(scenario):
    counts = []
    run_many([scenario], list(range(1, 9)), progress=counts.append)
    assert counts == sorted(counts)
    assert counts[-1] == 8


def test_a_deadline_leaves_none_where_it_came_first(scenario):
    long = load_scenario("varying-load", ["duration=100000 s"])
    [[result]] = run_many([long], [1], deadline_s=0.05)
    assert result is None
    [[result]] = run_many([scenario], [1], deadline_s=60)
    assert result is not None


def test_nothing_to_do_is_done_at_once(scenario):
    assert run_many([], [1, 2]) == []
    assert run_many([scenario], []) == [[]]


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1", True, None])
def test_a_seed_that_is_none_is_refused(scenario, seed):
    with pytest.raises(ScenarioError, match=r"seed: .* whole number from 0"):
        run(scenario, seed)
    with pytest.raises(ScenarioError, match=r"seed: .* whole number from 0"):
        run_many([scenario], [seed])


def test_the_largest_seed_is_a_seed(scenario):
    assert run(scenario, 2**64 - 1).seed == 2**64 - 1


def test_a_probe_interval_that_is_none_is_refused(scenario):
    with pytest.raises(ScenarioError, match="probe"):
        run(scenario, 1, math.nan)


def test_what_only_the_core_refuses_is_a_scenario_error_too():
    broken = json.loads(load_scenario("varying-load").core_json())
    broken["links"][0]["rate_bit_per_s"] = 0
    with pytest.raises(ScenarioError, match=r"links\.bottleneck\.rate"):
        run_many([json.dumps(broken)], [1])


def test_a_core_without_optimisation_says_so_loudly_and_once(scenario, monkeypatch, capsys):
    from vermilion import _core

    monkeypatch.setattr(_core, "OPTIMISED", False)
    runs.warn_if_not_optimised.cache_clear()
    run(scenario)
    run(scenario)
    assert capsys.readouterr().err.count("WITHOUT OPTIMISATION") == 1
    runs.warn_if_not_optimised.cache_clear()


def test_every_arrival_is_accounted_for(scenario):
    link = run(scenario).link("bottleneck")
    for window in (link.total, *link.phases):
        waiting = window["queued_at_end"] - window["queued_at_start"]
        assert window["arrivals"] == window["packets_forwarded"] + window["drops"] + waiting
    ledger = link.ledger
    assert ledger["arrivals"] == ledger["forwarded"] + ledger["drops"] + ledger["queued"]
    assert ledger["backlog_packet_s"] == pytest.approx(ledger["sojourn_packet_s"])
