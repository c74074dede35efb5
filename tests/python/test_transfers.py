"""Transfers one by one: their table, its files, and percentiles by size."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import vermilion
from vermilion import Transfers
from vermilion.simulate.instruments.transfers import COLUMNS, TransfersData

TEXT = """
duration = "10 s"
warm_up = "0 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "100 packets" }
[flows.web]
count = 5
path = ["bottleneck"]
rtt = "60 ms"
sender = "newreno"
start = "0 s"
traffic = { kind = "web", mean_gap = "100 ms", size = "20 kB" }
[flows.large]
path = ["bottleneck"]
rtt = "60 ms"
sender = "cubic"
start = "1 s"
traffic = { kind = "transfer", size = "1 GB" }
[flows.bulk]
path = ["bottleneck"]
rtt = "60 ms"
sender = "cubic"
start = "1 s"
"""


@pytest.fixture(scope="module")
def result() -> vermilion.Result:
    return vermilion.run(vermilion.parse_scenario(TEXT), instruments=[Transfers()])


@pytest.fixture(scope="module")
def table(result) -> TransfersData:
    assert result.transfers is not None
    return result.transfers


def test_each_transfer_has_a_row_and_the_run_is_the_same_without(result, table):
    web, large = table.of("web"), table.of("large")
    total = result.flows("web").total
    assert len(web) == total["transfers_begun"]
    assert len(web) - web.unfinished == total["completed"]
    times = web["completion_time_s"]
    assert np.nanmean(times) == pytest.approx(total["completion_time_s"]["mean"])
    assert (len(large), large.unfinished, len(table.of("bulk"))) == (1, 1, 0)
    assert (large["bytes"][0], large["start_s"][0]) == (10**9, 1.0)
    assert np.nanmin(table["slowdown"]) >= 1.0
    assert (np.diff(table["start_s"]) >= 0.0).all()
    plain = vermilion.run(vermilion.parse_scenario(TEXT))
    assert plain.data["flows"] == result.data["flows"]
    assert plain.transfers is None


def test_percentiles_by_size_count_those_under_way(table):
    classes = table.by_size((10_000, 40_000))
    assert [(each["above_bytes"], each["up_to_bytes"]) for each in classes] == [
        (0, 10_000),
        (10_000, 40_000),
        (40_000, None),
    ]
    assert sum(each["transfers"] for each in classes) == len(table)
    assert sum(each["unfinished"] for each in classes) == table.unfinished
    none, middle, large = classes
    assert (none["transfers"], none["slowdown"]) == (0, None)
    assert (large["transfers"], large["unfinished"], large["completion_time_s"]) == (1, 1, None)
    slowdown = table["slowdown"][(table["bytes"] <= 40_000) & ~np.isnan(table["slowdown"])]
    assert middle["slowdown"]["p50"] == sorted(slowdown)[(len(slowdown) - 1) // 2]
    assert middle["slowdown"]["p50"] <= middle["slowdown"]["p95"] <= middle["slowdown"]["p99"]


def test_files_have_what_the_table_has(table, tmp_path):
    for ending in ("csv", "json"):
        table.write(tmp_path / f"transfers.{ending}")
    with (tmp_path / "transfers.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    objects = json.loads((tmp_path / "transfers.json").read_text(encoding="utf-8"))
    assert list(rows[0]) == [column.name for column in COLUMNS]
    assert len(rows) == len(objects) == len(table)
    for row, found in zip(rows, objects, strict=True):
        assert {name: text for name, text in row.items() if text} == {
            name: str(value) for name, value in found.items()
        }
    [large] = [each for each in objects if each["group"] == "large"]
    assert "completion_time_s" not in large
    parquet = pytest.importorskip("pyarrow.parquet")
    table.write(tmp_path / "transfers.parquet")
    read = parquet.read_table(tmp_path / "transfers.parquet")
    assert read.column("slowdown").null_count == table.unfinished
    assert read.column("start_s").to_pylist() == table["start_s"].tolist()
    assert list(table.to_pandas()["group"]) == [each["group"] for each in objects]


def test_no_transfers_is_an_empty_table(tmp_path):
    text = TEXT[: TEXT.index("[flows.web]")] + TEXT[TEXT.index("[flows.bulk]") :]
    empty = vermilion.run(vermilion.parse_scenario(text), instruments=[Transfers()]).transfers
    assert empty is not None
    assert (len(empty), empty.unfinished, empty.complete) == (0, 0, True)
    empty.write(tmp_path / "none.json")
    assert json.loads((tmp_path / "none.json").read_text(encoding="utf-8")) == []


def test_there_may_be_more_than_are_written_down():
    few = vermilion.run(vermilion.parse_scenario(TEXT), instruments=[Transfers(most=7)]).transfers
    assert few is not None
    assert (len(few), few.complete) == (7, False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda table: table.by_size((5, 5)), "positive numbers that ascend"),
        (lambda table: table.write("table.txt"), r"ending in \.csv, \.parquet or \.json"),
        (lambda table: table.of("nobody"), "no group 'nobody'"),
    ],
)
def test_what_cannot_be_is_refused(table, call, message):
    with pytest.raises((ValueError, KeyError), match=message):
        call(table)


def test_most_is_a_number_of_transfers():
    with pytest.raises(vermilion.ScenarioError, match="most: 0 is not accepted"):
        vermilion.run(vermilion.parse_scenario(TEXT), instruments=[Transfers(most=0)])
