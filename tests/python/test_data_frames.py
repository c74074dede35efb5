"""Results as data frames: every number is there once, with its unit, and nothing is made up."""

import math
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import vermilion
from vermilion.objectives.metrics import FLOW_METRICS, METRICS
from vermilion.scenario import load_scenario
from vermilion.scenario.quantities import PACKETS
from vermilion.simulate import MissingPackageError, run, run_many
from vermilion.simulate.comparison import COMPARISON_COLUMNS
from vermilion.simulate.data_frames import MANY_COLUMNS
from vermilion.simulate.extras import EXTRAS
from vermilion.simulate.result_frames import COLUMNS, unit_of

ROOT = Path(__file__).parents[2]

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load", SHORT)


@pytest.fixture(scope="module")
def result(scenario):
    return run(scenario, 3, 0.5, distributions=True)


def numbers(window):
    return sum(
        numbers(value) if isinstance(value, dict) else 1
        for key, value in window.items()
        if key not in {"start_s", "end_s", "each", "sojourn_distribution_ms"}
    )


def test_a_frame_has_a_row_for_each_number(result):
    frame = result.to_frame()
    assert tuple(frame.columns) == COLUMNS
    entries = [*result.data["links"].values(), *result.data["flows"].values()]
    windows = [window for entry in entries for window in (entry["total"], *entry["phases"])]
    assert len(frame) == sum(map(numbers, windows))
    assert not frame.duplicated(["kind", "name", "phase", "metric"]).any()
    assert np.isfinite(frame["value"]).all()


def test_phase_0_is_the_whole_run_and_the_others_follow(result):
    frame = result.to_frame()
    queue = frame[(frame["kind"] == "link") & (frame["metric"] == "queue_packets.mean")]
    link = result.link("bottleneck")
    windows = [link.total, *link.phases]
    assert queue["phase"].tolist() == [0, 1, 2]
    assert queue["start_s"].tolist() == [window["start_s"] for window in windows] == [2, 2, 6]
    assert queue["value"].tolist() == [window["queue_packets"]["mean"] for window in windows]
    assert set(queue["unit"]) == {"packets"}


def test_what_could_not_be_computed_has_no_row(result):
    late = result.to_frame().query("name == 'late' and phase == 1")
    assert late.query("metric == 'flows'")["value"].tolist() == [0]
    assert late.query("metric == 'jain_index'").empty


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("utilization", "1"),
        ("queue_bytes.p95", "bytes"),
        ("average_queue_packets.sd", "packets"),
        ("sojourn_ms.mean", "ms"),
        ("goodput_bit_per_s.total", "bit/s"),
        ("completion_time_s.p50", "s"),
        ("packets_forwarded", "packets"),
        ("retransmissions", "packets"),
        ("timeouts", "1"),
        ("flows", "1"),
    ],
)
def test_a_metric_has_the_unit_of_the_documentation(metric, unit):
    assert unit_of(metric) == unit


def documented_units():
    """The unit of each key in the tables of docs/metrics.md, "1" for a ratio or a plain count."""
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    units = {}
    for table in page.split("| key | unit | definition |\n")[1:]:
        for line in table.split("\n\n")[0].splitlines()[1:]:
            keys, unit = (cell.strip() for cell in line.split("|")[1:3])
            named = re.findall("`([^`]*)`", keys)
            each = unit.split(", ") if ", " in unit else [unit] * len(named)
            units |= zip(named, each, strict=True)
    return {key: "1" if unit in ("", "0..1", "1/n..1") else unit for key, unit in units.items()}


def test_every_metric_has_the_unit_of_the_documentation():
    documented = documented_units()
    assert len(documented) > 30
    for metric in (*METRICS, *FLOW_METRICS, *documented):
        assert unit_of(metric) == documented[metric.partition(".")[0]], metric
    for metric, dimension in METRICS.items():
        if dimension is PACKETS:
            assert unit_of(metric) == "packets"


def test_every_number_of_a_run_has_the_unit_of_the_documentation():
    lossy = "links.bottleneck.loss={ model = 'bernoulli', probability = 0.01 }"
    losing = load_scenario("rfc7928-traffic-mix", ["duration=20 s", lossy])
    frame = run(losing, flow_delays=True).to_frame()
    units = dict(zip(frame["metric"], frame["unit"], strict=True))
    assert {"losses", "losses_in_a_row.mean", "completion_time_s.count"} <= set(units)
    documented = documented_units()
    for metric, unit in units.items():
        key, _, statistic = metric.partition(".")
        assert unit == ("1" if statistic == "count" else documented[key]), metric


def test_a_frame_of_flows_has_each_flow_in_each_phase(result):
    frame = result.flows_frame()
    assert list(frame.columns[:5]) == ["group", "flow", "phase", "start_s", "end_s"]
    assert frame.groupby(["group", "phase"]).size().to_dict() == {
        ("early", 0): 16,
        ("early", 1): 16,
        ("early", 2): 16,
        ("late", 0): 48,
        ("late", 2): 48,
    }
    whole = frame.query("group == 'early' and phase == 0")
    total = result.flows("early").total["goodput_bit_per_s"]["total"]
    assert whole["goodput_bit_per_s"].sum() == pytest.approx(total)


def test_a_frame_of_series_is_the_series(result):
    frame = result.series_frame("bottleneck")
    assert len(frame) == 17
    for column, values in result.series("bottleneck").items():
        np.testing.assert_array_equal(frame[column], values)
    pd.testing.assert_frame_equal(frame, result.series_frame())
    with pytest.raises(KeyError, match="there is bottleneck"):
        result.series_frame("x")


def test_many_results_make_one_frame(scenario):
    other = scenario.with_values({"links.bottleneck.queue.weight": 0.01})
    results = run_many([scenario, other], [4, 7])
    frame = vermilion.frames(results)
    assert tuple(frame.columns) == MANY_COLUMNS
    assert sorted(frame.groupby(["variant", "seed"]).groups) == [
        ("0", 4),
        ("0", 7),
        ("1", 4),
        ("1", 7),
    ]
    table = frame.query("name == 'bottleneck' and phase == 0").pivot_table(
        index="seed", columns="variant", values="value", aggfunc="mean"
    )
    assert table.shape == (2, 2)
    by_name = run_many({"slow": scenario, "fast": other}, [4, 7])
    assert [result.data for result in by_name["fast"]] == [result.data for result in results[1]]
    named = vermilion.frames(by_name)
    assert named["variant"].unique().tolist() == ["slow", "fast"]
    assert named["value"].tolist() == frame["value"].tolist()


def test_one_result_and_a_list_of_results_make_a_frame_too(scenario):
    [[first, second]] = run_many([scenario], [1, 2])
    assert vermilion.frames(first)["seed"].unique().tolist() == [1]
    both = vermilion.frames([first, None, second])
    assert both["seed"].unique().tolist() == [1, 2]
    assert both["variant"].unique().tolist() == ["0"]
    assert tuple(vermilion.frames([]).columns) == MANY_COLUMNS


def test_results_of_many_runs_have_no_single_flows(scenario):
    [[result]] = run_many([scenario], [1])
    assert result.flows_frame().empty


def test_a_comparison_is_a_frame_with_intervals(scenario):
    comparison = vermilion.compare(scenario, ["red", "drop-tail"], seeds=3)
    frame = comparison.to_frame()
    assert tuple(frame.columns) == COMPARISON_COLUMNS
    [row] = frame.query(
        "variant == 'drop-tail' and name == 'bottleneck' and phase == 0 "
        "and metric == 'queue_packets.mean'"
    ).to_dict("records")
    values = comparison.runs_frame().query(
        "name == 'bottleneck' and phase == 0 and metric == 'queue_packets.mean'"
    )
    by_variant = values.pivot_table(index="seed", columns="variant", values="value")
    mean, sd = by_variant["drop-tail"].mean(), by_variant["drop-tail"].std()
    assert row["mean"] == pytest.approx(mean)
    assert row["high"] - mean == pytest.approx(4.303 * sd / math.sqrt(3), rel=1e-3)  # t, 2 d.f.
    assert row["difference"] == pytest.approx((by_variant["drop-tail"] - by_variant["red"]).mean())
    assert (row["replications"], row["unit"]) == (3, "packets")
    assert frame.query("variant == 'red'")["difference"].isna().all()


@pytest.mark.parametrize(
    ("package", "what"),
    [
        ("pandas", lambda result, _: result.to_frame()),
        ("pandas", lambda result, _: result.flows_frame()),
        ("pandas", lambda result, _: result.series_frame()),
        ("pandas", lambda result, _: vermilion.frames([result])),
        ("pyarrow", lambda result, path: result.write_series(path / "x.parquet")),
    ],
)
def test_without_the_package_one_line_says_what_to_install(
    result, tmp_path, monkeypatch, package, what
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match="-m pip install pandas pyarrow") as caught:
        what(result, tmp_path)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith(f"{package} is needed for")
    assert list(tmp_path.iterdir()) == []


def test_the_hint_names_what_the_extra_brings(result, monkeypatch):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        name: tuple(re.split(r"[<>=]", package)[0] for package in packages)
        for name, packages in project["optional-dependencies"].items()
    }
    assert extras == EXTRAS
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError) as caught:
        result.to_frame()
    assert f"{sys.executable} -m pip install pandas pyarrow" in str(caught.value)


def test_a_single_result_may_stand_for_a_variant(scenario):
    one, other = run(scenario, 1), run(scenario, 2)
    frame = vermilion.frames({"a": one, "b": [one, other]})
    assert frame.groupby("variant")["seed"].unique().map(sorted).to_dict() == {
        "a": [1],
        "b": [1, 2],
    }


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda scenario, _: scenario, "Scenario"),
        (lambda scenario, _: {"a": scenario}, "Scenario"),
        (lambda _, result: result.data, "int"),
        (lambda *_: None, "NoneType"),
        (lambda *_: "varying-load", "str"),
        (lambda *_: [1, 2], "int"),
        (lambda scenario, _: vermilion.compare(scenario, ["red"], seeds=1), "ComparisonReport"),
    ],
)
def test_what_is_no_result_is_refused_with_what_to_do(scenario, result, wrong, kind, monkeypatch):
    # Also where pandas is missing: installing it would not help.
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TypeError, match=rf"frames: {kind} is not accepted; expected .*run_many"):
        vermilion.frames(wrong(scenario, result))


def test_simulating_loads_neither_pandas_nor_pyarrow():
    program = (
        "import sys, vermilion\n"
        f"scenario = vermilion.load_scenario('varying-load', {SHORT!r})\n"
        "vermilion.run(scenario)._repr_html_(); vermilion.run_many([scenario], [1])\n"
        "print(*{'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (shown.stdout.strip(), shown.stderr) == ("", "")
