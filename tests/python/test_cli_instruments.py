"""Flow series, packet traces and raw distributions from the command line."""

import csv
from itertools import pairwise

import pytest

from capture_parser import read_pcapng
from test_cli import refused, vermilion
from vermilion.scenario import load_scenario
from vermilion.simulate import run
from vermilion.simulate.instruments import FlowSeries, PacketTrace

__all__ = ["vermilion"]

SHORT = ("varying-load", "--set", "duration=6 s", "--set", "flows.late.start=3 s")


def lines(file):
    with file.open(encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def test_every_instrument_writes_its_file(vermilion, tmp_path):
    files = {
        name: tmp_path / name for name in ("series.csv", "trace.pcapng", "waits.csv", "run.svg")
    }
    code, _, err = vermilion(
        "run", *SHORT, "--flow-series", files["series.csv"], "--record-flows", "early:every 8",
        "--packets", files["trace.pcapng"], "--packets-time", "1 s .. 2 s",
        "--distributions", files["waits.csv"], "--figure", files["run.svg"], "--windows",
    )  # fmt: skip
    assert (code, err) == (0, "")
    scenario = load_scenario("varying-load", ["duration=6 s", "flows.late.start=3 s"])
    chosen = (
        FlowSeries("early:every 8"),
        PacketTrace(at="senders", flows="early:every 8", time_s=(1.0, 2.0)),
    )
    result = run(scenario, 1, instruments=chosen)
    rows = lines(files["series.csv"])
    windows = result.flow_series["window_packets"].tolist()
    assert [float(row["window_packets"]) for row in rows] == windows
    interfaces, packets = read_pcapng(files["trace.pcapng"].read_bytes())
    assert interfaces == ["early sender"]
    assert [packet.time_ns for packet in packets] == result.packets["time_ns"].tolist()
    waits = lines(files["waits.csv"])
    assert {row["of"] for row in waits} == {"sojourn", "delay", "drop_gap"}
    assert sum(int(row["count"]) for row in waits if row["of"] == "sojourn") > 1000
    assert "<svg" in files["run.svg"].read_text(encoding="utf-8")


def test_changes_and_the_number_of_records(vermilion, tmp_path):
    series, trace = tmp_path / "series.csv", tmp_path / "trace.csv"
    code, _, err = vermilion(
        "run", *SHORT, "--flow-series", series, "--flows", "early:0", "--flow-probe", "changes",
        "--packets", trace, "--packets-at", "bottleneck", "--most-packets", "50",
    )  # fmt: skip
    assert code == 0, err
    assert "note: --packets ended after 50 records" in err
    assert len(lines(trace)) == 50
    assert {row["place"] for row in lines(trace)} == {"bottleneck"}
    states = [
        (row["window_packets"], row["threshold_packets"], row["state"]) for row in lines(series)
    ]
    assert all(one != other for one, other in pairwise(states))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--flows", "early"),
            "--record-flows needs --flow-series, --packets, --figure or --flent",
        ),
        (("--flow-probe", "1s"), "--flow-probe needs --flow-series FILE"),
        (("--packets-at", "links"), "--packets-at needs --packets FILE"),
        (("--packets-time", "1s .. 2s"), "--packets-time needs --packets FILE"),
        (("--most-packets", "3"), "--most-packets needs --packets FILE"),
        (("--windows",), "--windows needs --figure FILE"),
        (("--packets", "x.pcap"), "expected a name ending in .pcapng, .parquet or .csv"),
        (("--packets", "-"), "is not accepted; expected a file name"),
        (("--packets", "x.csv", "--packets-at", "nowhere"), '"nowhere" is not accepted'),
        (("--packets", "x.csv", "--packets-time", "2 s .. 1 s"), "--packets-time: "),
        (
            ("--packets", "x.csv", "--packets-time", "90 s .. 95 s"),
            '--packets-time: "90 s .. 95 s" is not accepted; expected a range that begins within',
        ),
        (("--flow-series", "x.csv", "--flows", "lat"), '"lat" is not accepted'),
        (("--flow-series", "x.csv", "--flow-probe", "often"), "--flow-probe"),
        (
            ("--flow-series", "x.csv", "--flow-probe", "0"),
            'expected an interval, a time from 1 µs to 80 s (the duration), like "100 ms"',
        ),
        (("--flow-series", "x.csv", "--flow-probe", "0 s"), '--flow-probe: "0 s" is not'),
        (("--flow-series", "x.csv", "--flow-probe", "81 s"), '--flow-probe: "81 s" is not'),
        (
            ("--trace", "x.csv", "--probe", "81 s"),
            'expected an interval, a time from 8 µs to 80 s (the duration), like "100 ms"',
        ),
        (("--trace", "no/such/x.csv"), "--series/--trace: "),
        (("--flow-series", "x.txt"), "expected a name ending in .csv or .parquet"),
        (("--flow-series", "-", "--json", "-"), 'cannot both be "-"'),
        (("--packets", "no/such/folder/x.csv"), "cannot be written"),
        (("--plant", "kernel", "--packets", "x.csv"), "expected --plant simulator"),
    ],
)
def test_a_mistake_is_one_line(vermilion, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    assert words in refused(vermilion("run", "varying-load", *options))


DATA_CENTRE = """
duration = "50 ms"
[links.rack]
rate = "1 Gbit/s"
delay = "10 us"
queue = { discipline = "codel" }
[flows.bulk]
path = ["rack"]
rtt = "100 us"
sender = "cubic"
"""


def test_a_run_of_milliseconds_has_its_series_without_an_interval_being_named(vermilion, tmp_path):
    scenario, trace, series, figure = (
        tmp_path / name for name in ("rack.toml", "trace.csv", "series.csv", "run.svg")
    )
    scenario.write_text(DATA_CENTRE, encoding="utf-8")
    outputs = ("--trace", trace, "--flow-series", series, "--figure", figure, "--windows")
    code, _, err = vermilion("run", scenario, *outputs)
    assert (code, err) == (0, "")
    for file in (trace, series):
        times = [float(row["time_s"]) for row in lines(file)]
        assert times[1] - times[0] == pytest.approx(0.0005)
