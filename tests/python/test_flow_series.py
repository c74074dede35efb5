"""Series of single flows: chosen, read at an interval or at each change, in every form."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import vermilion
from vermilion import FlowSeries, PacketTrace, _core
from vermilion.scenario import ScenarioError

NETWORK = """
duration = "10 s"
[links.bottleneck]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "30 packets" }
[flows.early]
count = 20
path = ["bottleneck"]
rtt = "40 ms"
sender = "reno"
[flows.paced]
path = ["bottleneck"]
rtt = "60 ms"
start = "3 s"
sender = { congestion_control = "cubic", option_set = "linux", pacing = true }
[flows.web]
path = ["bottleneck"]
rtt = "50 ms"
sender = "newreno"
traffic = { kind = "web", mean_gap = "500 ms", size = "20 kB" }
"""


def network():
    return vermilion.parse_scenario(NETWORK)


def what_happened(result):
    # How many events that took depends on what is written down.
    return {
        key: value for key, value in result.data.items() if key not in {"wall_s", "cpu_s", "events"}
    }


# Every way a packet can take: two queues, one for acknowledgements that watches departures, links
# of the hosts' own, calls, and a receiver that delays its acknowledgements.
WINDING = """
duration = "10 s"
[links.first]
rate = "6 Mbit/s"
delay = "3 ms"
queue = { discipline = "codel", limit = "60 packets" }
[links.bottleneck]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", limit = "60 packets" }
[links.back]
rate = "100 kbit/s"
delay = "5 ms"
queue = { discipline = "pie", limit = "30 packets" }
[flows.far]
count = 6
path = ["first", "bottleneck"]
return_path = ["back"]
rtt = "60 ms .. 90 ms"
access_rate = "10 Mbit/s"
sender = { congestion_control = "cubic", option_set = "linux" }
[flows.calls]
count = 3
path = ["bottleneck"]
rtt = "40 ms"
traffic = { kind = "constant-rate", rate = "64 kbit/s" }
packet_size = "200 bytes"
[flows.web]
path = ["bottleneck"]
rtt = "50 ms"
sender = "newreno"
traffic = { kind = "web", mean_gap = "500 ms", size = "20 kB" }
"""


@pytest.mark.parametrize("text", [NETWORK, WINDING])
def test_readings_are_the_same_whether_or_not_packets_are_written_down(text):
    # Packets of which nothing is written down take shorter ways through the core.
    scenario = vermilion.parse_scenario(text)
    series = FlowSeries(interval_s=0.05)
    alone = vermilion.run(scenario, seed=3, instruments=[series])
    beside = vermilion.run(scenario, seed=3, instruments=[series, PacketTrace(most=10)])
    assert what_happened(alone) == what_happened(beside)
    assert len(alone.flow_series) > 1000
    for column, values in alone.flow_series.columns.items():
        assert np.array_equal(
            values, beside.flow_series[column], equal_nan=values.dtype.kind == "f"
        )


@pytest.mark.parametrize("interval", [0.05, None])
def test_series_change_nothing_and_add_up(interval):
    bare = vermilion.run(network(), seed=4)
    result = vermilion.run(network(), seed=4, instruments=[FlowSeries(interval_s=interval)])
    assert what_happened(bare) == what_happened(result)
    series = result.flow_series
    assert series.complete
    assert np.all(np.diff(series["time_s"]) >= 0)
    each = bare.flows("early").total["each"]
    for flow in range(20):
        columns = series.of("early", flow)
        assert columns["retransmissions"][-1] <= each[flow]["retransmissions"]
        if interval is not None:
            assert (
                columns["retransmissions"][-1] >= each[flow]["retransmissions"] - 5
            )  # until the end
            goodput = columns["goodput_bit_per_s"]
            carried = np.nansum(goodput[1:] * np.diff(columns["time_s"]))
            delivered = each[flow]["goodput_bit_per_s"] * 10.0
            # A hole that is filled after the last reading delivers a window at once.
            assert carried == pytest.approx(delivered, abs=20 * 8000)


def test_readings_are_at_the_multiples_of_the_interval_by_the_senders_clock():
    series = vermilion.run(
        network(), instruments=[FlowSeries(["early", "paced"], interval_s=0.25)]
    ).flow_series
    steps = series["time_s"] / 0.25
    assert np.array_equal(steps, np.round(steps))
    assert series.of("paced")["time_s"].min() >= 3.0
    assert series.of("early", 3)["time_s"].max() == pytest.approx(9.75, abs=0.26)


def test_a_row_at_each_change_is_a_sawtooth():
    columns = vermilion.run(
        network(), instruments=[FlowSeries("early:2", interval_s=None)]
    ).flow_series.of("early", 2)
    window, state = columns["window_packets"], columns["state"]
    keys = np.stack([window, columns["threshold_packets"], state], axis=1)
    changed = np.any(
        np.nan_to_num(keys[1:], nan=-1.0) != np.nan_to_num(keys[:-1], nan=-1.0), axis=1
    )
    assert changed.all()
    grown = np.diff(window)
    # Reno: at most one packet for each acknowledgement, or down.
    assert np.all(grown <= 3.0 + 1e-9)
    assert (grown < 0).sum() > 3
    threshold = columns["threshold_packets"]
    assert np.isnan(threshold[0]) or threshold[0] > 0
    assert set(np.unique(state)) >= {0, 3}  # open and recovery


def test_what_paces_has_a_rate_and_what_does_not_has_none():
    result = vermilion.run(network(), instruments=[FlowSeries(interval_s=0.1)])
    series = result.flow_series
    assert np.isnan(series.of("early", 0)["pacing_rate_bit_per_s"]).all()
    paced = series.of("paced")["pacing_rate_bit_per_s"]
    timed = np.isfinite(series.of("paced")["smoothed_rtt_ms"])  # not yet, or no longer
    assert (np.isfinite(paced) == timed).all()
    assert timed.sum() > 20
    assert 1e4 < np.nanmedian(paced) < 1e8
    rtt = series.of("early", 0)["smoothed_rtt_ms"]
    assert 40.0 <= np.nanmedian(rtt) <= 140.0


@pytest.mark.parametrize(
    ("choice", "flows"),
    [
        ("early:every 10", [("early", 0), ("early", 10)]),
        (["early:3", "paced"], [("early", 3), ("paced", 0)]),
        ("early:0..2", [("early", 0), ("early", 1), ("early", 2)]),
        (20, [("paced", 0)]),
        ("20", [("paced", 0)]),
        ("ear*:5..9 every 4", [("early", 5), ("early", 9)]),
    ],
)
def test_flows_are_chosen(choice, flows):
    series = vermilion.run(network(), instruments=[FlowSeries(choice)]).flow_series
    assert series.flows() == flows


def test_transfers_are_chosen_in_the_order_in_which_they_begin():
    series = vermilion.run(network(), instruments=[FlowSeries("web:every 5", 0.01)]).flow_series
    numbers = [flow for _, flow in series.flows()]
    assert len(numbers) >= 2
    assert all(number % 5 == 0 for number in numbers)


def test_every_form_holds_the_same(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    series = vermilion.run(network(), instruments=[FlowSeries("early:every 10")]).flow_series
    frame = series.to_pandas()
    assert list(frame.columns) == list(series.columns)
    assert set(frame["group"]) == {"early"}
    series.write(tmp_path / "series.csv")
    series.write(tmp_path / "series.parquet")
    table = pq.read_table(tmp_path / "series.parquet")
    assert table.equals(series.to_arrow())
    with (tmp_path / "series.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["window_packets"]) for line in lines] == series["window_packets"].tolist()
    assert [line["state"] for line in lines] == frame["state"].tolist()
    assert {line["pacing_rate_bit_per_s"] for line in lines} == {""}


def test_series_end_where_they_are_told_to():
    series = vermilion.run(network(), instruments=[FlowSeries(most=50)]).flow_series
    assert (len(series), series.complete) == (50, False)


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (FlowSeries("late"), 'flows: "late" is not accepted; expected a group of the scenario'),
        (FlowSeries("early:20"), 'flows: "early:20" is not accepted; expected a flow of "early"'),
        (FlowSeries("early:every 0"), "expected the name of a group"),
        (FlowSeries(22), "expected a flow's number from 0 to 21"),
        (FlowSeries(interval_s=0.0), "interval_s: 0.0 is not accepted; expected seconds"),
        (
            FlowSeries(interval_s=100.0),
            "interval_s: 100.0 is not accepted; expected seconds from 1e-06 to 10, the duration",
        ),
        (FlowSeries(interval_s="often"), 'interval_s: "often" is not accepted; expected seconds'),
    ],
)
def test_what_cannot_be_is_refused(series, words):
    with pytest.raises(ScenarioError) as refused:
        vermilion.run(network(), instruments=[series])
    assert words in str(refused.value)


def lasting(duration_s):
    """A network with a flow and a round trip of 100 us."""
    return vermilion.parse_scenario(f"""
duration = "{duration_s} s"
warm_up = "0 s"
[links.rack]
rate = "1 Gbit/s"
delay = "10 us"
queue = {{ discipline = "codel" }}
[flows.bulk]
path = ["rack"]
rtt = "100 us"
sender = "cubic"
""")


@pytest.mark.parametrize(
    ("duration_s", "apart_s"), [(3600, 0.1), (10, 0.1), (0.05, 0.0005), (0.001, 1e-5)]
)
def test_an_interval_that_nobody_chose_fits_the_duration(duration_s, apart_s):
    assert FlowSeries().to_core(lasting(duration_s))["interval_ns"] == round(apart_s * 1e9)


def test_a_run_of_a_few_milliseconds_has_series():
    times = vermilion.run(lasting(0.05), instruments=[FlowSeries()]).flow_series["time_s"]
    assert len(times) == 100
    assert times[1] - times[0] == pytest.approx(0.0005)


def test_a_run_whose_rows_nobody_takes_stops_for_them():
    # Between two readings there are few events: that is no reason not to look up.
    simulation = _core.Simulation(network().core_json(), 1, round_trips=False)
    simulation.observe(json.dumps({"windows": FlowSeries(interval_s=1e-4).to_core(network())}))
    simulation.advance(10_000_000_000)
    assert simulation.paused
    assert 0 < simulation.now_ns < 10_000_000_000
