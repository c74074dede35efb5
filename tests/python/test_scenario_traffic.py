"""Kinds of traffic: what a scenario says of them, what the core gets, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vermilion
from test_scenario_errors import GOOD
from test_scenario_properties import VALUES, accepted_or_refused
from vermilion.scenario import (
    ScenarioError,
    load_scenario,
    parse_scenario,
    scenario_from_document,
)
from vermilion.scenario.distributions import DISTRIBUTIONS, SizeDistribution, TimeDistribution
from vermilion.scenario.traffic import TRAFFIC_KINDS, Traffic
from vermilion.simulate import run

SMALL = """
duration = "10 s"
[links.link]
rate = "8 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "1000 packets" }
[flows.some]
path = ["link"]
rtt = "60 ms"
sender = "newreno"
traffic = TRAFFIC
"""


def with_traffic(traffic: str) -> str:
    text = SMALL if "sender" not in traffic else SMALL.replace('sender = "newreno"', "")
    return text.replace("TRAFFIC", traffic.removeprefix("no sender: "))


def lowered(traffic: str) -> dict:
    document = json.loads(parse_scenario(with_traffic(traffic)).core_json())
    return document["flows"][0]["traffic"]


def test_a_transfer_is_a_number_of_bytes():
    assert lowered('{ kind = "transfer", size = "1 MB" }') == {
        "kind": "transfer",
        "size_bytes": 1_000_000,
    }


@pytest.mark.parametrize(
    ("written", "core"),
    [
        ('"30 kB"', {"distribution": "constant", "value": 30_000.0}),
        (
            '{ distribution = "exponential", mean = "30 kB" }',
            {"distribution": "exponential", "mean": 30_000.0},
        ),
        (
            '{ distribution = "pareto", mean = "30 kB", shape = 1.3 }',
            {"distribution": "pareto", "mean": 30_000.0, "shape": 1.3},
        ),
        (
            '{ distribution = "bounded-pareto", shape = 1, minimum = "1 B", maximum = "1 MiB" }',
            {
                "distribution": "bounded-pareto",
                "minimum": 1.0,
                "maximum": 1_048_576.0,
                "shape": 1.0,
            },
        ),
        (
            '{ distribution = "lognormal", median = "10 kB", sigma = 1.5 }',
            {"distribution": "lognormal", "median": 10_000.0, "sigma": 1.5},
        ),
        (
            (
                '{ distribution = "empirical", table = [["1 kB", 0.5], ["1 MB", "100 %"]], '
                'interpolation = "logarithmic" }'
            ),
            {
                "distribution": "empirical",
                "values": [1000.0, 1e6],
                "probabilities": [0.5, 1.0],
                "interpolation": "logarithmic",
            },
        ),
    ],
)
def test_sizes_of_web_transfers_have_distributions(written, core):
    traffic = f'{{ kind = "web", mean_gap = "50 ms", size = {written} }}'
    assert lowered(traffic) == {"kind": "web", "mean_gap_ns": 5e7, "size": core}


def test_on_off_traffic_is_a_rate_without_or_bursts_with_a_sender():
    constant = {"distribution": "constant", "value": 5e8}
    rated = 'no sender: { kind = "on-off", rate = "1 Mbit/s", on = "500 ms", off = "0.5 s" }'
    assert lowered(rated) == {
        "kind": "on-off",
        "rate_bit_per_s": 1_000_000,
        "on_ns": constant,
        "off_ns": constant,
    }
    assert lowered('{ kind = "on-off", size = "100 kB", off = "500 ms" }') == {
        "kind": "bursts",
        "size": {"distribution": "constant", "value": 1e5},
        "off_ns": constant,
    }


TABLE = 'size = { distribution = "empirical", table = %s }'

MISTAKES = {
    "no size at all": ('{ kind = "transfer" }', "", 'size = "1 MB"'),
    "a size of nothing": ('{ kind = "transfer", size = "0 bytes" }', "size", "from 1 byte"),
    "a negative size": ('{ kind = "transfer", size = "-1 kB" }', "size", "from 1 byte"),
    "a size without unit": ('{ kind = "transfer", size = 1000 }', "size", "a size"),
    "a transfer of many sizes": (
        '{ kind = "transfer", size = { distribution = "exponential", mean = "1 kB" } }',
        "size",
        "a size",
    ),
    "no arrivals": ('{ kind = "web", size = "1 kB" }', "mean_gap", 'mean_gap = "50 ms"'),
    "arrivals without end": (
        '{ kind = "web", size = "1 kB", mean_gap = "1 ns" }',
        "",
        "at most 10000000",
    ),
    "arrivals at once": ('{ kind = "web", size = "1 kB", mean_gap = "0 s" }', "mean_gap", "a time"),
    "an unknown distribution": (
        '{ kind = "web", mean_gap = "1 s", size = { distribution = "paretto" } }',
        "size.distribution",
        'did you mean "pareto"?',
    ),
    "a distribution without name": (
        '{ kind = "web", mean_gap = "1 s", size = { mean = "1 kB" } }',
        "size.distribution",
        '"exponential"',
    ),
    "a shape of nothing": (
        (
            '{ kind = "web", mean_gap = "1 s", size = { distribution = "bounded-pareto", '
            'minimum = "1 kB", maximum = "2 kB", shape = 0 } }'
        ),
        "size.shape",
        "above 0",
    ),
    "a shape without mean": (
        (
            '{ kind = "web", mean_gap = "1 s", size = { distribution = "pareto", mean = "1 kB", '
            "shape = 1.0 } }"
        ),
        "size.shape",
        "above 1",
    ),
    "bounds the wrong way round": (
        (
            '{ kind = "web", mean_gap = "1 s", size = { distribution = "bounded-pareto", '
            'minimum = "3 kB", maximum = "2 kB", shape = 1.1 } }'
        ),
        "size.maximum",
        "at least the minimum, 3000 bytes",
    ),
    "a key of another distribution": (
        (
            '{ kind = "web", mean_gap = "1 s", size = { distribution = "exponential", '
            'mean = "1 kB", sigma = 1 } }'
        ),
        "size.sigma",
        "only mean with exponential",
    ),
    "a parameter too few": (
        '{ kind = "web", mean_gap = "1 s", size = { distribution = "lognormal", sigma = 1 } }',
        "size.median",
        "median and sigma",
    ),
    "an empty table": (
        f'{{ kind = "web", mean_gap = "1 s", {TABLE % "[]"} }}',
        "size.table",
        "a list",
    ),
    "a table that descends": (
        f'{{ kind = "web", mean_gap = "1 s", {TABLE % """[["2 kB", 0.5], ["1 kB", 1]]"""} }}',
        "size.table.1",
        "ascend",
    ),
    "probabilities that descend": (
        f'{{ kind = "web", mean_gap = "1 s", {TABLE % """[["1 kB", 0.5], ["2 kB", 0.5]]"""} }}',
        "size.table.1",
        "ascend",
    ),
    "a table that ends early": (
        f'{{ kind = "web", mean_gap = "1 s", {TABLE % """[["1 kB", 0.5], ["2 kB", 0.9]]"""} }}',
        "size.table.1",
        "the probability 1",
    ),
    "a table of numbers": (
        f'{{ kind = "web", mean_gap = "1 s", {TABLE % "[1, 2]"} }}',
        "size.table.0",
        "a list of values",
    ),
    "a rate with a sender": (
        '{ kind = "on-off", rate = "1 Mbit/s", on = "1 s", off = "1 s" }',
        "sender",
        "no sender",
    ),
    "an off time of nothing": (
        '{ kind = "on-off", size = "1 kB", off = "0 s" }',
        "off",
        "a time from 1 ns",
    ),
    "on times too short for a packet": (
        'no sender: { kind = "on-off", rate = "1 bit/s", on = "1 ms", off = "1 s" }',
        "on",
        "a thousandth",
    ),
    "a key of another kind": (
        '{ kind = "transfer", size = "1 kB", mean_gap = "1 s" }',
        "mean_gap",
        "no mean_gap here",
    ),
    "a trace without a file": ('{ kind = "trace" }', "", 'file = "flows.csv"'),
    "a trace without its file": ('{ kind = "trace", file = "none.csv" }', "file", "a CSV file"),
    "a trace that is a directory": ('{ kind = "trace", file = "." }', "file", "a CSV file"),
    "a trace that is no name": ('{ kind = "trace", file = "\\u0000" }', "file", "a CSV file"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_what_would_be_accepted(mistake):
    traffic, field, accepted = MISTAKES[mistake]
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(with_traffic(traffic), "mine.toml")
    place = f"flows.some.traffic.{field}".rstrip(".")
    assert caught.value.field == ("flows.some.sender" if field == "sender" else place)
    assert accepted in caught.value.accepted
    assert len(str(caught.value).splitlines()) == 1


def test_a_distribution_has_paths_like_any_other_table():
    text = with_traffic(
        '{ kind = "web", mean_gap = "1 s", size = { distribution = "exponential", mean = "1 kB" } }'
    )
    scenario = parse_scenario(text)
    assert scenario.get("flows.some.traffic.size.mean") == 1000.0
    changed = scenario.with_values({"flows.some.traffic.size.mean": 2000.0})
    assert changed.get("flows.some.traffic.size.mean") == 2000.0
    constant = scenario.with_values({"flows.some.traffic.size": 500})
    assert constant.get("flows.some.traffic.size.value") == 500.0


def traced(tmp_path, rows: str, groups: str = ""):
    (tmp_path / "flows.csv").write_text(rows)
    path = tmp_path / "mine.toml"
    path.write_text(with_traffic('{ kind = "trace", file = "flows.csv" }') + groups)
    return load_scenario(path)


def test_a_trace_is_found_beside_its_scenario_and_sorted(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    scenario = traced(tmp_path, "size_bytes,start_s\r\n300,2.5\r\n\r\n100,0.000000001\r\n200,1\r\n")
    assert json.loads(scenario.core_json())["flows"][0]["traffic"] == {
        "kind": "trace",
        "starts_ns": [1, 1_000_000_000, 2_500_000_000],
        "sizes_bytes": [100, 200, 300],
    }
    # A changed copy, and a changed file.
    again = scenario.with_values({"links.link.rate": 4e6})
    assert json.loads(again.core_json())["flows"] == json.loads(scenario.core_json())["flows"]
    (tmp_path / "flows.csv").write_text("start_s,size_bytes\n7,70\n8,80\n9,90\n1,1\n")
    changed = load_scenario(tmp_path / "mine.toml")
    assert json.loads(changed.core_json())["flows"][0]["traffic"]["sizes_bytes"] == [1, 70, 80, 90]


def test_the_rows_of_a_trace_choose_their_path(tmp_path):
    other = """
[flows.other]
path = ["link"]
rtt = "30 ms"
sender = "reno"
traffic = { kind = "trace", file = "flows.csv" }
"""
    rows = "start_s,size_bytes,path\n0,1,some\n1,2,other\n2,3, some\n"
    flows = json.loads(traced(tmp_path, rows, other).core_json())["flows"]
    assert [group["traffic"]["sizes_bytes"] for group in flows] == [[1, 3], [2]]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ("start_s,size_bytes\n1,5\n\nx,5\n", "line 4"),
        ("start_s,size_bytes\n1,5\n-1,5\n", "line 3"),
        ("start_s,size_bytes\nnan,5\n", "line 2"),
        ("start_s,size_bytes\n1e30,5\n", "line 2"),
        ("start_s,size_bytes\n1,0\n", "line 2"),
        ("start_s,size_bytes\n1,1.5\n", "line 2"),
        ("start_s,size_bytes\n1,inf\n", "line 2"),
        ("start_s,size_bytes\n1,5,some\n", "line 2"),
        ("start_s,size_bytes,path\n1,5,some\n1,5,nowhere\n", "line 3"),
        ("start_s,size_bytes,path\n1,5\n", "line 2"),
        ("start_s,size_bytes\n1_0,5\n", "flows.csv"),
        ("time,bytes\n1,5\n", "line 1"),
        ("start_s,start\n1,5\n", "line 1"),
        ("", "line 1"),
        ("start_s,size_bytes\n", "no rows"),
        ("start_s,size_bytes\n\n \n", "no rows"),
    ],
)
def test_a_bad_row_is_refused_by_file_and_line(tmp_path, rows, line):
    with pytest.raises(ScenarioError) as caught:
        traced(tmp_path, rows)
    assert caught.value.field == "flows.some.traffic.file"
    assert "flows.csv" in str(caught.value)
    assert line in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "flows.csv").write_bytes(b"start_s,size_bytes\n\xff,1\n")
    path = tmp_path / "mine.toml"
    path.write_text(with_traffic('{ kind = "trace", file = "flows.csv" }'))
    with pytest.raises(ScenarioError, match="UTF-8"):
        load_scenario(path)


def test_a_long_trace_is_read_quickly_enough_to_be_used(tmp_path):
    count = 20_000
    starts = np.random.default_rng(1).uniform(0, 10, count)
    lines = "\n".join(f"{start:.9f},{1000 + index}" for index, start in enumerate(starts))
    scenario = traced(tmp_path, f"start_s,size_bytes\n{lines}\n")
    traffic = json.loads(scenario.core_json())["flows"][0]["traffic"]
    order = np.argsort(starts.round(9), kind="stable")
    assert traffic["sizes_bytes"] == (1000 + order).tolist()


def test_a_lone_transfer_takes_the_time_that_a_hand_calculation_gives():
    # Rounds of 60 ms: the handshake (0.04 ms of transmission), two segments, four; then the way
    # there (35 ms) and four transmissions of a millisecond.
    result = run(parse_scenario(with_traffic('{ kind = "transfer", size = "10 kB" }')))
    total = result.flows("some").total
    assert total["completion_time_s"]["count"] == total["completed"] == 1
    assert total["completion_time_s"]["p50"] == pytest.approx(0.22104, rel=1e-9)
    assert [each["goodput_bit_per_s"] for each in total["each"]] == [8000.0]


def test_flows_that_come_and_go_have_totals_and_no_statistics_of_each():
    web = '{ kind = "web", mean_gap = "100 ms", size = "10 kB" }'
    total = run(parse_scenario(with_traffic(web))).flows("some").total
    assert set(total["goodput_bit_per_s"]) == {"total"}
    assert "each" not in total
    assert "jain_index" not in total
    assert 50 < total["transfers_begun"] < 150
    assert total["completed"] <= total["transfers_begun"] == total["flows"]


def test_bulk_flows_report_no_completion():
    total = vermilion.run(parse_scenario(GOOD)).flows("early").total
    assert not {"completion_time_s", "completed", "transfers_begun"} & set(total)


KEYS = ["kind", "size", "mean_gap", "on", "off", "rate", "file", "packet_size", "more"]
SIZES = st.one_of(VALUES, st.sampled_from(["1 kB", "1 s", "1 Mbit/s", "web", "trace", "on-off"]))
TRAFFIC = st.dictionaries(
    st.sampled_from(KEYS),
    st.one_of(
        SIZES,
        st.dictionaries(
            st.sampled_from(["distribution", "mean", "shape", "minimum", "table", "value"]),
            st.one_of(SIZES, st.sampled_from(["pareto", "empirical"]), st.just([["1 kB", 1]])),
            max_size=3,
        ),
    ),
    max_size=4,
)


@given(st.one_of(TRAFFIC, VALUES), st.sampled_from(["newreno", None]))
def test_any_traffic_is_accepted_or_refused(traffic, sender):
    document = dict(parse_scenario(with_traffic('"bulk"')).document)
    group = {**document["flows"]["some"], "traffic": traffic}
    if sender is None:
        del group["sender"]
    document["flows"] = {"some": group}
    accepted_or_refused(lambda: scenario_from_document(document))


def test_the_scenario_page_names_every_key_of_traffic_and_of_a_distribution():
    page = (Path(__file__).parents[2] / "docs" / "scenario-language.md").read_text("utf-8")
    for table in (Traffic, SizeDistribution, TimeDistribution):
        for key in table.model_fields:
            assert f"`{key}`" in page or f"`{key} " in page, f"{table.__name__}.{key}"
    for name in (*TRAFFIC_KINDS, *DISTRIBUTIONS):
        assert f'`"{name}"`' in page, name
