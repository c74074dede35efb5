"""Twins of captures whose truth is known."""

import io
import json
import math
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from packet_captures import Transfer, capture_of, web_transfers
from test_cli import refused, vermilion
from test_monitor_interface import BENCH, ENVIRONMENT, namespaces_or_skip
from vermilion.scenario import load_scenario
from vermilion.twin import TwinError, compare_with, read_evidence, twin_of
from vermilion.twin.evidence import directions
from vermilion.twin.fitting import fit_arrivals, fit_sizes, fitting_depth

__all__ = ["vermilion"]

CAPTURES = Path(__file__).parents[1] / "reference" / "captures"


def evidence_of(*args, **kwargs):
    return read_evidence(io.BytesIO(capture_of(*args, **kwargs)))


@pytest.fixture(scope="module")
def web():
    """400 downloads, one every 50 ms, 20 kB in the median, over 20 or 80 ms; and UDP."""
    transfers = web_transfers(
        400, mean_gap_s=0.05, median=20_000, sigma=1.2, round_trips_s=(0.02, 0.08), ecn=True
    )
    return evidence_of(transfers, udp=[(0.01 * n, 972) for n in range(2000)])


@pytest.fixture(scope="module")
def web_twin(web):
    return twin_of(web, link_rate_bit_per_s=20e6)


def test_sizes_and_arrivals_of_web_traffic_come_back(web_twin):
    group = web_twin.scenario.flows["short"]
    traffic = group.traffic.model_dump()
    text = web_twin.text
    assert 'distribution = "lognormal"' in text
    sizes = fit_sizes(
        [
            each.size
            for each in web_transfers(
                400, mean_gap_s=0.05, median=20_000, sigma=1.2, round_trips_s=(0.02, 0.08)
            )
        ]
    )
    assert sizes.table["sigma"] == pytest.approx(1.2, rel=0.1)
    assert sizes.table["median"] in text
    assert traffic["kind"] == "web"
    # 400 gaps of a Poisson process: within four standard errors.
    gap_ms = float(str(text.split("mean_gap = ")[1]).split('"')[1].split()[0])
    assert gap_ms == pytest.approx(50.0, rel=4.0 / math.sqrt(400))


def test_round_trips_ecn_and_udp_come_back(web, web_twin):
    trips = [each.base_rtt_s for each in web.flows if each.traffic == "tcp"]
    assert {round(each, 3) for each in trips} == {0.02, 0.08}
    assert "ecn = true" in web_twin.text
    # 100 packets a second of 1000 bytes: 0.8 Mbit/s.
    [stream] = [each for each in web.flows if each.traffic == "udp"]
    assert 8.0 * stream.bytes / stream.lasted_s == pytest.approx(0.8e6, rel=0.01)
    rate = web_twin.text.split('kind = "constant-rate", rate = "')[1].split()[0]
    assert float(rate) == pytest.approx(0.8e6, rel=0.02)
    assert any("whether that UDP answers to losses" in each for each in web_twin.unknown)


def test_the_twin_carries_what_the_capture_carried(web, web_twin):
    sides = {each.name: each for each in compare_with(web, web_twin, [1, 2, 3])}
    carried = sides["throughput"]
    # Other sizes are drawn than were seen: 400 lognormal ones of sigma 1.2 vary by 9 %.
    assert carried.twin == pytest.approx(carried.capture, rel=0.3)
    assert sides["lost packets"].capture == 0.0


def test_a_rate_that_was_never_reached_is_said_not_to_be_known(web):
    made = twin_of(web)
    assert any("the link's rate: it was seldom full" in each for each in made.unknown)


def test_the_text_is_the_scenario(web_twin, tmp_path):
    path = tmp_path / "twin.toml"
    path.write_text(web_twin.text, encoding="utf-8")
    assert load_scenario(str(path)).core_json() == web_twin.scenario.core_json()


@pytest.mark.parametrize("discipline", ["red", "codel", "pie", "fq-codel"])
def test_a_discipline_that_is_known_stands_there_and_can_be_tuned(web, discipline):
    made = twin_of(web, link_rate_bit_per_s=20e6, discipline=discipline)
    assert made.scenario.links["bottleneck"].queue.discipline == discipline
    assert made.scenario.tuning.parameters


def test_long_flows_that_come_and_go_are_told_apart_from_short_ones():
    long = [Transfer(n, 0.0, 3_000_000, 0.2) for n in range(3)]
    late = [Transfer(10, 0.3, 3_000_000, 0.2)]
    made = twin_of(evidence_of([*long, *late]))
    assert made.scenario.warm_up == 0.0  # their first packets were seen
    assert made.scenario.flows["long"].count == 3
    assert made.scenario.flows["later"].count == 1


def test_what_is_no_capture_of_traffic_makes_no_twin():
    with pytest.raises(TwinError, match="the capture has 0 flows with data in 0 s; expected"):
        twin_of(evidence_of())
    with pytest.raises(TwinError, match="expected at least one flow and one second"):
        twin_of(evidence_of([Transfer(1, 0.0, 1000, 0.01)]))


class TestSizes:
    def test_an_exponential_law_is_recognised(self):
        coins = random.Random(7)
        fitted = fit_sizes([round(coins.expovariate(1e-4)) + 1 for _ in range(2000)])
        assert fitted.name == "exponential"
        assert fitted.mean_bytes == pytest.approx(1e4, rel=0.1)

    def test_a_heavy_tail_is_recognised(self):
        coins = random.Random(7)
        fitted = fit_sizes([round(5000 * coins.paretovariate(1.5)) for _ in range(2000)])
        assert (fitted.name, fitted.table["shape"]) == ("pareto", pytest.approx(1.5, rel=0.1))
        # The law's own mean is what the scenario draws with; that of a sample wanders.
        assert fitted.law_mean_bytes == pytest.approx(
            float(fitted.table["mean"].split()[0]), rel=1e-3
        )

    def test_what_fits_no_law_is_a_table_of_itself(self):
        fitted = fit_sizes([1000] * 50 + [1_000_000] * 50)
        assert fitted.name == "empirical"
        assert fitted.table["table"][-1] == ["1000000 bytes", 1]
        assert fitted.law_mean_bytes == fitted.mean_bytes
        assert fitted.table["table"][0] == ["1000 bytes", 0.5]

    def test_a_few_are_not_fitted(self):
        assert fit_sizes([10, 20, 30]).table["table"] == [
            ["10 bytes", pytest.approx(1 / 3, abs=1e-6)],
            ["20 bytes", pytest.approx(2 / 3, abs=1e-6)],
            ["30 bytes", 1],
        ]

    def test_one_size_is_one_size(self):
        assert fit_sizes([700] * 9).table == {"distribution": "constant", "value": "700 bytes"}


def test_bursts_are_no_poisson_process():
    coins = random.Random(3)
    even = [coins.uniform(0.0, 100.0) for _ in range(1000)]
    assert 0.7 < fit_arrivals(even, 100.0).dispersion < 1.4
    bursts = [10.0 * n + coins.uniform(0.0, 0.1) for n in range(10) for _ in range(100)]
    assert fit_arrivals(bursts, 100.0).dispersion > 10.0


class TestSides:
    def test_the_heavy_way_is_one_way_for_all(self):
        flows = [("a", "x", 10, 900), ("y", "a", 500, 10), ("a", "z", 300, 5), ("b", "x", 1, 2)]
        assert directions(flows) == ([False, True, False, False], 0)

    def test_hosts_that_are_on_both_sides_are_counted(self):
        flows = [("a", "b", 9, 1), ("b", "c", 9, 1), ("c", "a", 9, 1)]
        assert directions(flows)[1] == 1

    def test_many_hosts_need_no_depth(self):
        flows = [(f"h{n}", f"h{n + 1}", 2, 1) for n in range(5000)]
        answers, contradictions = directions(flows)
        assert contradictions == 0
        assert answers[::2] == [answers[0]] * 2500


@pytest.mark.parametrize(("wait_ms", "expected"), [(25.0, 25), (1.0, 2), (1e6, 400)])
def test_the_depth_that_waits_as_long_is_found(wait_ms, expected):
    assert fitting_depth(wait_ms, 400, float) == expected


class TestCommand:
    def test_the_scenario_it_writes_runs(self, vermilion, tmp_path):
        capture, scenario = tmp_path / "web.pcap", tmp_path / "web.toml"
        transfers = web_transfers(
            100, mean_gap_s=0.05, median=20_000, sigma=1.0, round_trips_s=(0.03,)
        )
        capture.write_bytes(capture_of(transfers))
        code, out, err = vermilion(
            "twin", capture, "--link-rate=20 Mbit/s", "--seeds=1", "-o", scenario
        )
        assert (code, err) == (0, "")
        assert "Not known:" in out
        assert "congestion control, which no header shows" in out
        assert vermilion("run", scenario)[0] == 0
        code, out, _ = vermilion("twin", capture, "--seeds=0", "--json=-")
        told = json.loads(out)
        assert code == 0
        assert {"link_rate_bit_per_s", "fitted", "unknown", "comparison", "scenario"} <= set(told)

    def test_a_twin_in_which_hardly_anything_happens_is_compared_all_the_same(self, vermilion):
        # One transfer in a third of a second: with some seeds none begins, and nothing is measured.
        code, out, err = vermilion("twin", CAPTURES / "both-sides.pcapng", "--json=-")
        assert (code, err) == (0, "")
        assert {each["name"] for each in json.loads(out)["comparison"]} >= {"throughput"}

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["/nowhere.pcap"], '"/nowhere.pcap" cannot be read'),
            ([CAPTURES / "bulk.pcap"], "expected at least one flow and one second"),
            ([CAPTURES / "bulk.pcap", "--link-rate=fast"], '--link-rate: "fast" is not accepted'),
            ([CAPTURES / "README.md"], "expected a capture file"),
        ],
    )
    def test_a_mistake_is_one_line(self, vermilion, arguments, words):
        assert words in refused(vermilion("twin", *arguments))


def test_a_real_queue_comes_back_from_the_captures_of_a_real_tool(tmp_path):
    """Real TCP through a token bucket of 10 Mbit/s, in a pcapng from the first packet on."""
    namespaces_or_skip()
    for tool in ("dumpcap", "tc"):
        if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")
    capture = tmp_path / "real.pcapng"
    options = ["--seconds", "5", "--flows", "4", "--round-trips", "40", "--tool", "dumpcap"]
    done = subprocess.run(
        [sys.executable, BENCH, *options, "--capture", capture, "--from-start"],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=60,
    )
    if done.returncode or not capture.exists():
        pytest.skip(f"no such network on this machine, or no listening: {done.stderr}")
    evidence = read_evidence(capture)
    made = twin_of(evidence)
    assert made.rate_bit_per_s == pytest.approx(10e6, rel=0.03)
    assert sum(each.count for each in made.scenario.flows.values()) == 4
    assert min(each.base_rtt_s for each in evidence.flows) == pytest.approx(0.04, abs=0.005)
    sides = {each.name: each for each in compare_with(evidence, made, [1, 2])}
    assert sides["throughput"].twin == pytest.approx(sides["throughput"].capture, rel=0.1)


def test_ctrl_c_keeps_the_seeds_that_are_done(web, web_twin, monkeypatch):
    from vermilion import simulate

    run = simulate.run
    seeds = []

    def until_pressed(scenario, *, seed):
        if seed == 3:
            raise KeyboardInterrupt
        seeds.append(seed)
        return run(scenario, seed=seed)

    monkeypatch.setattr(simulate, "run", until_pressed)
    kept = compare_with(web, web_twin, [1, 2, 3, 4], keeps_at_interrupt=True)
    assert seeds == [1, 2]
    assert kept == compare_with(web, web_twin, [1, 2])
    with pytest.raises(KeyboardInterrupt):
        compare_with(web, web_twin, [3])
