"""Time series on disk: documented columns, the same numbers in every format, never half a file."""

import csv
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from vermilion.cli import main
from vermilion.scenario import load_scenario
from vermilion.scenario.other_values import with_discipline
from vermilion.simulate import run, traces
from vermilion.simulate.traces import SERIES_COLUMNS

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")
NAMES = [column.name for column in SERIES_COLUMNS]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def result():
    return run(load_scenario("varying-load", SHORT), 3, 0.5)


@pytest.fixture(scope="module")
def without_average():
    red = load_scenario("varying-load", SHORT)
    return run(with_discipline(red, "drop-tail")[0], 3, 0.5)


def test_the_columns_are_those_of_the_core(result):
    assert ["link", *result.series("bottleneck")] == NAMES


def test_the_metrics_page_documents_exactly_the_columns_and_their_units():
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    section = page.partition("## Time series\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", section, re.MULTILINE)
    assert [(name, unit) for name, unit, _ in rows] == [
        (column.name, column.unit.replace("1", "0..1")) for column in SERIES_COLUMNS
    ]
    assert all(meaning for _, _, meaning in rows)


def test_csv_and_parquet_hold_the_series(result, tmp_path):
    for name in ("x.csv", "x.parquet", "no-suffix"):
        result.write_series(tmp_path / name)
    frames = [
        pd.read_csv(tmp_path / "x.csv"),
        pd.read_csv(tmp_path / "no-suffix"),
        pd.read_parquet(tmp_path / "x.parquet"),
    ]
    for frame in frames:
        assert list(frame.columns) == NAMES
        assert frame["link"].tolist() == ["bottleneck"] * 17
        for column, values in result.series("bottleneck").items():
            np.testing.assert_array_equal(frame[column], values)


def test_what_does_not_exist_is_empty_in_csv_and_null_in_parquet(without_average, tmp_path):
    without_average.write_series(tmp_path / "x.csv")
    without_average.write_series(tmp_path / "x.parquet")
    with (tmp_path / "x.csv").open(newline="") as file:
        assert {row["average_queue_packets"] for row in csv.DictReader(file)} == {""}
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column("average_queue_packets").null_count == len(table) == 17
    assert table.column("queue_packets").null_count == 0


def test_parquet_carries_units_meanings_and_the_seed(result, tmp_path):
    result.write_series(tmp_path / "x.parquet")
    schema = pq.read_schema(tmp_path / "x.parquet")
    for column in SERIES_COLUMNS:
        metadata = schema.field(column.name).metadata
        assert metadata[b"unit"].decode() == column.unit
        assert metadata[b"meaning"].decode() == column.meaning
    assert schema.metadata[b"seed"] == b"3"


@pytest.mark.parametrize("writer", ["write_csv", "write_parquet"])
def test_a_failure_leaves_what_was_there_before(result, tmp_path, monkeypatch, writer):
    name = "x.parquet" if writer == "write_parquet" else "x.csv"
    target = tmp_path / name
    target.write_text("before")

    def fail(file, _):
        file.write(b"half" if writer == "write_parquet" else "half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(traces, writer, fail)
    with pytest.raises(OSError, match="No space"):
        result.write_series(target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_run_without_a_probe_writes_nothing(tmp_path):
    plain = run(load_scenario("varying-load", SHORT))
    with pytest.raises(KeyError, match="probe_interval_s"):
        plain.write_series(tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_ending_is_refused(result, tmp_path):
    with pytest.raises(ValueError, match=r"x\.xlsx.*\.csv or \.parquet"):
        result.write_series(tmp_path / "x.xlsx")


def set_options():
    return [f"--set={setting}" for setting in SHORT]


@pytest.mark.parametrize("option", ["--trace", "--series"])
@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_the_command_writes_the_same_file(result, tmp_path, capsys, option, name):
    result.write_series(tmp_path / f"expected-{name}")
    arguments = ["run", "varying-load", "--seed=3", option, str(tmp_path / name), "--probe=0.5s"]
    assert main([*arguments, *set_options()]) == 0
    assert "whole run" in capsys.readouterr().out
    assert (tmp_path / name).read_bytes() == (tmp_path / f"expected-{name}").read_bytes()


def test_the_command_refuses_before_it_simulates(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "varying-load", "--trace", "x.feather"]) == 2
    captured = capsys.readouterr()
    assert ".csv or .parquet" in captured.err
    assert captured.out == ""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["run", "varying-load", "--trace", "x.parquet"]) == 2
    assert "pip install pandas pyarrow" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
