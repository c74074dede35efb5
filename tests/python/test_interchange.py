"""Files of other tools: what is read means what they mean, and what is written reads back."""

from __future__ import annotations

import gzip
import json
import math
from itertools import pairwise

import numpy as np
import pytest

import vermilion
from vermilion.cli import main
from vermilion_lab.interchange import (
    RateTrace,
    flent_flows,
    read_mahimahi,
    read_rattan,
    write_flent,
    write_mahimahi,
    write_rattan,
)

MBIT = 1e6


def one_link(**link) -> vermilion.Network:
    net = vermilion.Network("Radio", duration="8 s")
    net.link(
        "radio", delay="10 ms", queue={"discipline": "drop-tail", "limit": "50 packets"}, **link
    )
    return net.flows("all", count=2, path="radio", rtt="40 ms", sender="cubic")


# As rattan's own examples are written (assets/, and the documentation of netem-trace).
HUMAN = """
[RepeatedBwPatternConfig]
count = 0

[[RepeatedBwPatternConfig.pattern]]
[RepeatedBwPatternConfig.pattern.StaticBwConfig]
bw = "32Mbps"
duration = "1s"

[[RepeatedBwPatternConfig.pattern]]
[RepeatedBwPatternConfig.pattern.RepeatedBwPatternConfig]
count = 3
[[RepeatedBwPatternConfig.pattern.RepeatedBwPatternConfig.pattern]]
[RepeatedBwPatternConfig.pattern.RepeatedBwPatternConfig.pattern.TraceBwConfig]
pattern = [["100ms", ["16Mbps", "48.5Mbps"]]]
"""
MACHINE = {
    "RepeatedBwPatternConfig": {
        "pattern": [
            {
                "StaticBwConfig": {
                    "bw": {"gbps": 1, "bps": 12_000_000},
                    "duration": {"secs": 1, "nanos": 500_000_000},
                }
            },
            {"StaticBwConfig": {"bw": {"gbps": 0, "bps": 0}, "duration": {"secs": 1, "nanos": 0}}},
        ],
        "count": 2,
    }
}


def test_rattans_patterns_are_unfolded(tmp_path):
    path = tmp_path / "a.trace.toml"
    path.write_text(HUMAN, encoding="utf-8")
    trace = read_rattan(path)
    assert trace.repeats
    assert trace.steps == ((1.0, 32 * MBIT), *(((0.1, 16 * MBIT), (0.1, 48.5 * MBIT)) * 3))
    assert trace.length_s == pytest.approx(1.6)
    assert trace.mean_bit_per_s == pytest.approx((32 + 0.3 * 64.5) / 1.6 * MBIT)
    path = tmp_path / "b.json"
    path.write_text(json.dumps(MACHINE), encoding="utf-8")
    trace = read_rattan(path)
    assert not trace.repeats
    assert trace.steps == ((1.5, 1012 * MBIT), (1.0, 0.0)) * 2
    path.write_text('{"TraceBwConfig": [[25, [2, 4.5]]]}', encoding="utf-8")
    assert read_rattan(path).steps == ((0.025, 2 * MBIT), (0.025, 4.5 * MBIT))


@pytest.mark.parametrize("suffix", [".json", ".toml"])
@pytest.mark.parametrize("repeats", [True, False])
def test_what_is_written_for_rattan_reads_back_as_the_same_link(tmp_path, suffix, repeats):
    trace = RateTrace(((0.3, 10 * MBIT), (1e-9, 7.0), (2.25, 0.0), (0.1, 1e9)), repeats=repeats)
    path = tmp_path / f"trace{suffix}"
    write_rattan(path, trace)
    assert read_rattan(path) == trace
    net = one_link(**trace.link())
    again = one_link(**read_rattan(path).link())
    assert net.scenario().core_json() == again.scenario().core_json()


def test_a_link_and_its_trace_are_the_same_rates():
    net = one_link(rate_schedule=[["0 s", "10 Mbit/s"], ["3 s", "4 Mbit/s"]], repeat="5 s")
    trace = RateTrace.of_link(net.scenario(), "radio")
    assert trace == RateTrace(((3.0, 10 * MBIT), (2.0, 4 * MBIT)), repeats=True)
    assert one_link(**trace.link()).scenario().core_json() == net.scenario().core_json()
    constant = one_link(rate="8 Mbit/s")
    constant.change(at="2 s", link="radio", rate="2 Mbit/s")
    trace = RateTrace.of_link(constant.scenario(), "radio")
    assert trace == RateTrace(((2.0, 8 * MBIT), (6.0, 2 * MBIT)), repeats=False)
    with pytest.raises(vermilion.ScenarioError, match=r'link: "wire".*radio'):
        RateTrace.of_link(net.scenario(), "wire")


def test_mahimahis_trace_delivers_what_the_rates_do(tmp_path):
    """The link that follows the file sends what one with the schedule sends, to half a per cent."""
    steps = ((2.0, 12 * MBIT), (1.0, 2.4 * MBIT), (1.0, 0.0))
    trace = RateTrace(steps)
    path = tmp_path / "cell.mahimahi"
    write_mahimahi(path, trace)
    times = [int(line) for line in path.read_text(encoding="ascii").split()]
    assert times == sorted(times)
    # One opportunity of 1500 bytes in a millisecond is 12 Mbit/s; the last says how long it is.
    assert times[:3] == [1, 2, 3]
    assert times[-1] == 4000
    assert len(times) == 2000 + 200 + 1
    read = read_mahimahi(path, 1.0)
    assert [rate / MBIT for _, rate in read.steps] == pytest.approx([12, 12, 2.4, 0.012])
    assert read.length_s == pytest.approx(4)
    size = {"packet_size": "1500 bytes"}
    sent = []
    for link in ({"trace": str(path)}, trace.link()):
        net = vermilion.Network("Radio", duration="40 s").link("radio", delay="10 ms", **link)
        net.flows(
            "all",
            count=1,
            path="radio",
            traffic={"kind": "constant-rate", "rate": "15 Mbit/s"},
            **size,
        )
        sent.append(vermilion.run(net.scenario()).link("radio").total["packets_forwarded"])
    assert sent[0] == pytest.approx(sent[1], rel=0.005)


BAD_RATTAN = {
    "not json": ("{", "a bandwidth trace in JSON or TOML"),
    "a list": ("[]", 'one of "StaticBwConfig"'),
    "random bandwidths": ('{"NormalizedBwConfig": {}}', 'one of "StaticBwConfig"'),
    "two kinds": ('{"StaticBwConfig": {}, "TraceBwConfig": {}}', 'one of "StaticBwConfig"'),
    "no duration": ('{"StaticBwConfig": {"bw": "1Mbps"}}', "StaticBwConfig.duration"),
    "no unit": ('{"StaticBwConfig": {"bw": "1", "duration": "1s"}}', 'StaticBwConfig.bw: "1"'),
    "a wrong unit": ('{"StaticBwConfig": {"bw": "1Mb", "duration": "1s"}}', 'like "12Mbps"'),
    "a negative number": ('{"TraceBwConfig": [[-1, [2]]]}', "TraceBwConfig.pattern.0.0"),
    "no number": ('{"TraceBwConfig": [[1, [NaN]]]}', "TraceBwConfig.pattern.0.1.0"),
    "a huge number": ('{"TraceBwConfig": [[1, [1e300]]]}', "up to 10 Tbps"),
    "a huge whole number": (f'{{"TraceBwConfig": [[1, [{"9" * 400}]]]}}', "up to 10 Tbps"),
    "a huge time": (f'{{"TraceBwConfig": [[{"9" * 400}, [1]]]}}', "from 1 ns to 1,000,000 s"),
    "no list": ('{"TraceBwConfig": [[1, 2]]}', "a duration and a list of bandwidths"),
    "nothing": ('{"TraceBwConfig": []}', "from one bandwidth"),
    "no pattern": ('{"RepeatedBwPatternConfig": {"count": 2}}', "pattern: none"),
    "too many": (
        '{"RepeatedBwPatternConfig":{"count":600000,"pattern":[{"TraceBwConfig":[[1,[1,2]]]}]}}',
        "at most 1,000,000 steps",
    ),
    "without end inside": (
        '{"RepeatedBwPatternConfig": {"pattern": [{"RepeatedBwPatternConfig": {"pattern": []}}]}}',
        "without end",
    ),
    "too deep": (
        '{"RepeatedBwPatternConfig": {"count": 1, "pattern": [' * 50 + "1" + "]}}" * 50,
        "patterns in each other",
    ),
    "much too deep": ("[" * 100_000, "a bandwidth trace in JSON or TOML"),
    "a bomb": (
        '{"RepeatedBwPatternConfig": {"count": 999999, "pattern": [' * 12
        + '{"TraceBwConfig": [[1, [1]]]}'
        + "]}}" * 12,
        "at most 1,000,000 steps",
    ),
}


@pytest.mark.parametrize("mistake", BAD_RATTAN)
def test_a_bad_trace_of_rattan_is_refused_in_a_line(tmp_path, mistake):
    text, words = BAD_RATTAN[mistake]
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(vermilion.ScenarioError) as caught:
        read_rattan(path)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "times in ms"), ("5\n4\n", "line 2"), ("a\n", "line 1"), ("0\n", "times in ms")],
)
def test_a_bad_trace_of_mahimahi_is_refused_in_a_line(tmp_path, content, words):
    path = tmp_path / "bad.mahimahi"
    path.write_text(content, encoding="ascii")
    with pytest.raises(vermilion.ScenarioError, match=words):
        read_mahimahi(path)


def test_what_no_file_can_hold_is_refused(tmp_path):
    for read in (read_mahimahi, read_rattan):
        with pytest.raises(vermilion.ScenarioError, match="a file that can be read"):
            read(tmp_path / "nothing")
    for no_time in (math.nan, math.inf, 0.0, -math.inf):
        with pytest.raises(vermilion.ScenarioError, match=rf"interval_s: {no_time} is not"):
            read_mahimahi(tmp_path / "nothing", no_time)
    for steps in (((1.0, 0.0),), ((1.0, 1e13),)):
        with pytest.raises(vermilion.ScenarioError, match="packets of 1500 bytes"):
            write_mahimahi(tmp_path / "x", RateTrace(steps))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("interval_s", [0.004, 1e7, 1e308])
def test_an_interval_that_a_trace_does_not_fill_is_as_long_as_the_trace(tmp_path, interval_s):
    path = tmp_path / "short.mahimahi"
    path.write_text("1\n2\n3\n", encoding="ascii")
    # Three packets of 1500 bytes in 3 ms.
    assert read_mahimahi(path, interval_s).steps == ((0.003, pytest.approx(12 * MBIT)),)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "steps: [] is not accepted; expected at least one"),
        (((1.0, 5.0), (math.inf, 5.0)), "steps.1.0: inf is not accepted; expected a duration"),
        (((math.nan, 5.0),), "steps.0.0: nan"),
        (((0.0, 5.0),), "steps.0.0: 0.0"),
        (((1.0, math.inf),), "steps.0.1: inf is not accepted; expected a rate"),
        (((1.0, math.nan),), "steps.0.1: nan"),
        (((1.0, -1.0),), "steps.0.1: -1.0"),
    ],
)
def test_rates_that_no_link_can_have_make_no_trace(steps, words):
    with pytest.raises(vermilion.ScenarioError) as refusal:
        RateTrace(steps)
    assert words in str(refusal.value)


def flent_of(path) -> dict:
    """A file as flent's own reader takes it (resultset.py, format version 4)."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    assert document["version"] == 4
    count = len(document["x_values"])
    assert all(len(values) == count for values in document["results"].values())
    assert {*document["results"]} == {*document["raw_values"]}
    assert {*document["results"]} == {*document["metadata"]["SERIES_META"]}
    assert document["metadata"]["NAME"] == "tcp_nup"
    return document


def test_a_run_in_flents_format_is_the_run(tmp_path):
    net = one_link(rate="8 Mbit/s")
    net.change(at="4 s", link="radio", rate="2 Mbit/s")
    scenario = net.scenario()
    result = vermilion.run(scenario, 3, probe_interval_s=0.1)
    path = tmp_path / "run.flent.gz"
    write_flent(path, result, scenario)
    document = flent_of(path)
    series = result.series("radio")
    assert document["x_values"] == series["time_s"].tolist()
    results = document["results"]
    assert results["TCP upload sum"] == (series["throughput_bit_per_s"] / 1e6).tolist()
    assert results["qdisc-stats::backlog_pkts"] == series["queue_packets"].tolist()
    waiting = series["queue_bytes"] * 8e3
    assert results["Ping (ms) ICMP"][10] == pytest.approx(40 + waiting[10] / 8e6)
    assert results["Ping (ms) ICMP"][60] == pytest.approx(40 + waiting[60] / 2e6)
    assert waiting[60] > 0
    again = tmp_path / "again.flent.gz"
    write_flent(again, vermilion.run(scenario, 3, probe_interval_s=0.1), scenario, "radio")
    assert gzip.decompress(again.read_bytes()) == gzip.decompress(path.read_bytes()).replace(
        b"run.flent.gz", b"again.flent.gz"
    )


def test_what_cannot_be_written_for_flent_is_refused(tmp_path):
    scenario = one_link(rate="8 Mbit/s").scenario()
    result = vermilion.run(scenario, probe_interval_s=1.0)
    with pytest.raises(vermilion.ScenarioError, match=r"ends in \.flent\.gz"):
        write_flent(tmp_path / "run.json", result, scenario)
    with pytest.raises(vermilion.ScenarioError, match='link: "wire"'):
        write_flent(tmp_path / "run.flent", result, scenario, "wire")
    with pytest.raises(vermilion.ScenarioError, match="a run with probe_interval_s"):
        write_flent(tmp_path / "run.flent", vermilion.run(scenario), scenario)
    assert not [*tmp_path.iterdir()]


def test_flows_that_were_read_are_flents_streams(tmp_path):
    net = one_link(rate="8 Mbit/s")
    net.flows("late", count=1, path="radio", rtt="60 ms", sender="sack", start="3.25 s")
    scenario = net.scenario()
    series = vermilion.FlowSeries(interval_s=0.1)
    result = vermilion.run(scenario, 3, probe_interval_s=0.5, instruments=[series])
    path = tmp_path / "run.flent.gz"
    assert write_flent(path, result, scenario) == 0
    document = flent_of(path)
    results, times = document["results"], document["x_values"]
    assert document["metadata"]["TEST_PARAMETERS"] == {"upload_streams": "3"}
    described = document["metadata"]["SERIES_META"]
    flows = {name: meta["FLOW"] for name, meta in described.items() if "FLOW" in meta}
    assert flows == {"TCP upload::1": "all:0", "TCP upload::2": "all:1", "TCP upload::3": "late:0"}
    for number, (group, flow) in enumerate((("all", 0), ("all", 1), ("late", 0)), 1):
        rows = result.flow_series.of(group, flow)
        first, last = rows["time_s"][0], rows["time_s"][-1]
        rates = results[f"TCP upload::{number}"]
        assert all(
            (rate is None) == (time <= first) for time, rate in zip(times, rates, strict=True)
        )
        # What came in all the intervals is what the series has from its first row to its last.
        spans = [
            min(time, last) - max(before, first)
            for before, time in pairwise([0.0, *times])
            if time > first
        ]
        known = [rate for rate in rates if rate is not None]
        megabits = sum(rate * span for rate, span in zip(known, spans, strict=True))
        steps = np.diff(rows["time_s"]) * rows["goodput_bit_per_s"][1:]
        assert megabits == pytest.approx(steps.sum() / 1e6, rel=1e-9)
        raw = document["raw_values"][f"TCP upload::{number}"]
        readings = np.isfinite(rows["goodput_bit_per_s"])
        assert [one["val"] for one in raw] == pytest.approx(
            (rows["goodput_bit_per_s"][readings] / 1e6).tolist()
        )
        assert [one["tcp_cwnd"] for one in raw] == rows["window_packets"][readings].tolist()
    each = [results[f"TCP upload::{number}"][-1] for number in (1, 2, 3)]
    assert results["TCP upload avg"][-1] == pytest.approx(sum(each) / 3)
    fairness = sum(each) ** 2 / (3 * sum(rate**2 for rate in each))
    assert results["TCP upload fairness"][-1] == pytest.approx(fairness)
    # Headers aside, the flows make up the link.
    assert 0.9 < sum(each) / results["TCP upload sum"][-1] <= 1.05


def test_flows_of_other_links_and_flows_beyond_the_most_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(flent_flows, "MOST_STREAMS", 1)
    net = one_link(rate="8 Mbit/s")
    net.link("other", rate="8 Mbit/s", delay="10 ms")
    net.flows("elsewhere", count=4, path="other", rtt="40 ms", sender="cubic")
    scenario = net.scenario()
    chosen = [vermilion.FlowSeries()]
    result = vermilion.run(scenario, probe_interval_s=1.0, instruments=chosen)
    path = tmp_path / "run.flent.gz"
    assert write_flent(path, result, scenario, "radio") == 1
    assert [name for name in flent_of(path)["results"] if "::1" in name or "::2" in name] == [
        "TCP upload::1"
    ]


def test_the_command_line_writes_what_python_writes(tmp_path, capsys):
    scenario = tmp_path / "radio.toml"
    scenario.write_text(one_link(rate="8 Mbit/s").to_toml(), encoding="utf-8")
    file, same = tmp_path / "one" / "run.flent.gz", tmp_path / "two" / "run.flent.gz"
    file.parent.mkdir()
    same.parent.mkdir()
    assert main(["run", str(scenario), "--flent", str(file), "--flows", "all:1"]) == 0
    loaded = vermilion.load_scenario(scenario)
    result = vermilion.run(
        loaded, 1, 0.1, flow_delays=True, instruments=[vermilion.FlowSeries("all:1")]
    )
    write_flent(same, result, loaded)
    assert file.read_bytes() == same.read_bytes()
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--flent", "run.json"],
            "--flent: run.json is not accepted; expected a name that ends in",
        ),
        (["--flent", "-"], '--flent: "-" is not accepted; expected a file name'),
        (["--flent", "run.flent"], "--link (of --flent): none is not accepted; expected a link"),
        (["--flent", "run.flent", "--link", "no"], "--link (of --flent): no is not accepted"),
        (["--flent", "run.flent", "--link", "radio", "--plant", "kernel"], "--plant simulator"),
        (["--probe", "1 s"], "--probe needs --series FILE or --flent FILE"),
        (["--flent", "no/such/run.flent", "--link", "radio"], "--flent: "),
    ],
)
def test_what_flent_cannot_be_given_is_refused_by_the_command_line(
    tmp_path, monkeypatch, capsys, options, words
):
    monkeypatch.chdir(tmp_path)
    net = one_link(rate="8 Mbit/s").link("other", rate="8 Mbit/s", delay="10 ms")
    (tmp_path / "two.toml").write_text(net.to_toml(), encoding="utf-8")
    assert main(["run", "two.toml", *options]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert [path.name for path in tmp_path.iterdir()] == ["two.toml"]
