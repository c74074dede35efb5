"""What a scenario says is what the core gets."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from test_scenario_errors import GOOD
from vermilion.scenario import (
    ScenarioError,
    load_scenario,
    parse_scenario,
    scenario_from_document,
    scenario_names,
)
from vermilion.scenario.structure import search_box


def core(text: str) -> dict:
    return json.loads(parse_scenario(text).core_json())


def test_a_scenario_is_lowered_to_integers_in_ns_bit_per_s_and_bytes():
    assert core(GOOD) == {
        "duration_ns": 80_000_000_000,
        "warm_up_ns": 5_000_000_000,
        "settle_ns": 5_000_000_000,
        "probe_interval_ns": None,
        "links": [
            {
                "name": "bottleneck",
                "rate_bit_per_s": 10_000_000,
                "delay_ns": 10_000_000,
                "queue": {
                    "discipline": "red",
                    "parameters": {
                        "limit": 100,
                        "min_threshold": 15.0,
                        "max_threshold": 45.0,
                        "max_probability": 0.1,
                        "weight": 0.002,
                    },
                },
                "loss": None,
            }
        ],
        "flows": [
            {
                "name": "early",
                "count": 16,
                "path": ["bottleneck"],
                "return_path": [],
                "rtt_ns": 28_000_000,
                "access_rate_bit_per_s": None,
                "sender": {"congestion_control": "reno", "parameters": {}},
                "packet_size_bytes": 1000,
                "header_size_bytes": 0,
                "ack_size_bytes": 40,
                "colour": "green",
                "traffic": {"kind": "bulk"},
                "start_ns": [0, 1_000_000_000],
                "stop_ns": None,
            },
            {
                "name": "late",
                "count": 48,
                "path": ["bottleneck"],
                "return_path": [],
                "rtt_ns": 28_000_000,
                "access_rate_bit_per_s": None,
                "sender": {"congestion_control": "newreno", "parameters": {"ecn": True}},
                "packet_size_bytes": 1000,
                "header_size_bytes": 0,
                "ack_size_bytes": 40,
                "colour": "green",
                "traffic": {"kind": "bulk"},
                "start_ns": [20_000_000_000, 21_000_000_000],
                "stop_ns": None,
            },
        ],
        "changes": [
            {
                "at_ns": 60_000_000_000,
                "link": "bottleneck",
                "rate_bit_per_s": 8_000_000,
                "delay_ns": None,
                "queue": {"limit": 60},
                "loss": None,
            }
        ],
    }


def test_settle_follows_warm_up_unless_it_is_given():
    assert core(GOOD)["settle_ns"] == 5_000_000_000
    assert core(f'settle = "2 s"\n{GOOD}')["settle_ns"] == 2_000_000_000
    bare = GOOD.replace('warm_up = "5 s"', "")
    assert core(bare)["warm_up_ns"] == core(bare)["settle_ns"] == 0


def test_open_loop_traffic_has_a_rate_and_no_sender():
    rate = 'traffic = { kind = "%s", rate = "1 Mbit/s"%s }'
    constant = GOOD.replace('sender = "reno"', rate % ("constant-rate", ""), 1)
    assert core(constant)["flows"][0]["traffic"] == {
        "kind": "constant-rate",
        "rate_bit_per_s": 1_000_000,
    }
    assert core(constant)["flows"][0]["sender"] is None
    poisson = GOOD.replace('sender = "reno"', rate % ("poisson", ""), 1)
    assert core(poisson)["flows"][0]["traffic"]["packet_size"] == "constant"
    mixed = GOOD.replace('sender = "reno"', rate % ("poisson", ', packet_size = "exponential"'), 1)
    assert core(mixed)["flows"][0]["traffic"]["packet_size"] == "exponential"
    without_rtt = constant.replace('rtt = "28 ms"', "", 1)
    assert core(without_rtt)["flows"][0]["rtt_ns"] == 10_000_000


def test_automatic_is_how_a_scenario_leaves_a_value_to_the_algorithm():
    text = GOOD.replace('"red"', '"ns2-red"').replace("0.002", '"automatic"')
    assert core(text)["links"][0]["queue"]["parameters"]["weight"] is None


def test_a_probe_interval_is_bounded():
    scenario = parse_scenario(GOOD)
    assert json.loads(scenario.core_json(0.1))["probe_interval_ns"] == 100_000_000
    for wrong in (0.0, -1.0, 1e-9, 81.0, float("nan")):
        with pytest.raises(ScenarioError, match=r"probe_interval_s: .* from 8e-06 to 80, the dur"):
            scenario.core_json(wrong)


def test_a_path_leads_to_a_value_in_si_units():
    scenario = parse_scenario(GOOD)
    assert scenario.get("duration") == 80.0
    assert scenario.get("links.bottleneck.rate") == 1e7
    assert scenario.get("links.bottleneck.queue.weight") == 0.002
    assert scenario.get("links.bottleneck.queue.gentle") is False  # the table's default
    assert scenario.get("flows.early.start") == (0.0, 1.0)
    assert scenario.get("flows.late.sender.ecn") is True
    assert scenario.get("changes.0.rate") == 8e6
    for wrong in ("", "x", "links.x.rate", "links.bottleneck.queue.x", "changes.1", "links..rate"):
        with pytest.raises(ScenarioError, match="a path that exists"):
            scenario.get(wrong)


def test_a_parameter_comes_with_its_table():
    scenario = parse_scenario(GOOD)
    weight = scenario.parameter("links.bottleneck.queue.weight")
    assert (weight.kind, weight.unit, weight.minimum_excluded) == ("number", "1", True)
    assert scenario.parameter("flows.late.sender.ecn").kind == "switch"
    for wrong in ("duration", "links.bottleneck.rate", "links.bottleneck.queue.discipline"):
        with pytest.raises(ScenarioError):
            scenario.parameter(wrong)


def test_the_scenarios_own_box_comes_before_the_tables():
    scenario = parse_scenario(GOOD)
    weight, threshold = (f"links.bottleneck.queue.{name}" for name in ("weight", "min_threshold"))
    assert search_box(scenario, weight) == (1e-4, 1e-1)
    assert search_box(scenario, threshold) == scenario.parameter(threshold).search


def test_a_link_that_nobody_crosses_is_remarked_on():
    extra = '\n[links.idle]\nrate = "1 Mbit/s"\ndelay = "0 s"\nqueue = { discipline = "red" }\n'
    assert parse_scenario(GOOD).notes == []
    assert parse_scenario(GOOD + extra).notes == ["links.idle is crossed by no flow"]


def test_a_document_is_not_changed_by_making_a_scenario_of_it():
    scenario = parse_scenario(GOOD)
    document = dict(scenario.document)
    again = scenario_from_document(document, "again")
    assert again.core_json() == scenario.core_json()
    assert document == scenario.document


TO_BE_TUNED = {
    "varying-load",
    "varying-round-trip-time",
    "four-red-queues",
    "oscillating-red",
    "papers/ye-2002-varying-load",
    "papers/ye-2002-varying-round-trip-time",
}


def test_every_shipped_scenario_loads_and_is_found_at_the_root_too():
    root = Path(__file__).parents[2] / "scenarios"
    for name in scenario_names():
        scenario = load_scenario(name)
        assert scenario.title
        assert scenario.description
        assert (scenario.tuning is not None) == (name in TO_BE_TUNED)
        assert load_scenario(root / f"{name}.toml").core_json() == scenario.core_json()


def test_loading_takes_milliseconds_and_does_not_need_pint():
    load_scenario("varying-load")
    begin = time.perf_counter()
    for _ in range(10):
        load_scenario("varying-load")
    assert (time.perf_counter() - begin) / 10 < 0.05
    program = (
        "import sys, vermilion; vermilion.load_scenario('varying-load'); "
        "print('pint' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
