"""Applications over one connection: requests, queries of which all answers are awaited, videos."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import vermilion
from own_classes import numbers
from vermilion.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REQUESTS = 'kind = "requests", size = "5000 bytes", think = "100 ms"'
VIDEO = (
    'kind = "video", rates = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"], segment = "4 s", buffer = "40 s"'
)


def network(traffic: str, count: int = 1, rate: str = "8 Mbit/s", duration: str = "30 s") -> Any:
    """22.5 ms to the receiver and 17.5 ms back; a packet takes 1 ms at 8 Mbit/s."""
    return vermilion.parse_scenario(f"""
        duration = "{duration}"
        [links.l]
        rate = "{rate}"
        delay = "5 ms"
        queue = {{ discipline = "drop-tail", limit = "1000 packets" }}
        [flows.f]
        count = {count}
        path = ["l"]
        rtt = "40 ms"
        sender = {{ congestion_control = "newreno", initial_window = "2 packets" }}
        traffic = {{ {traffic} }}
    """)


def total(scenario: Any) -> Mapping[str, Any]:
    return vermilion.run(scenario, seed=1).flows("f").total


def test_later_requests_need_no_handshake_and_find_the_window_as_it_was():
    measured = total(network(REQUESTS))
    # 22.5 ms on the way and 5 packets one after the other, once the window has grown to that.
    assert measured["completion_time_s"]["p50"] == pytest.approx(0.0275, rel=0.004)
    assert measured["completion_time_s"]["max"] > 0.06
    # The acknowledgement takes the other 17.5 ms, and the next request comes 100 ms later.
    assert measured["completed"] == pytest.approx(30 / 0.145, abs=2)
    delivered = measured["goodput_bit_per_s"]["total"] * 30 / 8
    assert 0 <= delivered - 5000 * measured["completed"] < 5000


def test_a_query_is_over_when_all_have_answered():
    workers = 10
    measured = total(
        network('kind = "requests", size = "1 kB", think = "50 ms", barrier = true', workers)
    )
    assert measured["completion_time_s"]["p50"] == pytest.approx(
        0.0225 + workers * 0.001, rel=0.004
    )
    assert measured["completed"] == pytest.approx(30 / (0.0325 + 0.0175 + 0.05), abs=3)
    assert 0 <= measured["transfers_begun"] - workers * measured["completed"] <= workers


def test_without_the_barrier_each_goes_on_by_itself():
    apart = total(network('kind = "requests", size = "1 kB", think = "50 ms"', 10))
    assert apart["completed"] == pytest.approx(10 * 30 / (0.04 + 0.05), rel=0.05)


def test_a_query_that_fills_the_buffer_waits_for_timeouts():
    scenario = network(
        'kind = "requests", size = "30 kB", think = "50 ms", barrier = true', 20
    ).with_values({"links.l.queue.limit": 20})
    measured = total(scenario)
    assert measured["timeouts"] > 0
    assert measured["completion_time_s"]["mean"] > 2 * 20 * 30e3 * 8 / 8e6 / 2


def test_a_connection_that_is_kept_goes_on_in_forks():
    scenario = network(REQUESTS, duration="4 s")
    whole = vermilion.run(scenario, seed=1)
    kept = vermilion.Simulation(scenario, seed=1).extend(1.5)
    assert numbers(kept.fork().extend(2.5).result())["flows"] == numbers(whole)["flows"]


@pytest.mark.parametrize("rule", ["buffer", "throughput"])
def test_a_video_on_a_fast_line_ends_at_its_highest_rate_and_never_stalls(rule):
    measured = total(network(f'{VIDEO}, rule = "{rule}"', rate="20 Mbit/s", duration="400 s"))
    video = measured["video"]
    assert video["stalls"] == 0
    assert video["mean_rate_bit_per_s"] > 3.5e6
    # What is not yet played fits into the buffer.
    assert 400 / 4 <= video["segments"] <= (400 + 40) / 4
    assert video["segments"] == measured["completed"]


@pytest.mark.parametrize("rule", ["buffer", "throughput"])
def test_a_video_on_a_slow_line_stalls_for_the_time_that_is_missing(rule):
    measured = total(network(f'{VIDEO}, rule = "{rule}"', rate="0.8 Mbit/s", duration="400 s"))
    video = measured["video"]
    assert video["mean_rate_bit_per_s"] == 1e6
    # Playing and stalling take all the time from the first segment on.
    assert 4 * video["segments"] + video["stalled_s"] == pytest.approx(400, abs=10)
    assert video["stalls"] >= video["segments"] - 2


def test_rules_differ_between_two_rates():
    # On 3 Mbit/s the buffer's rule goes up and down between 2 and 4, the other one stays at 2.
    buffer, throughput = (
        total(network(f'{VIDEO}, rule = "{rule}"', rate="3 Mbit/s", duration="400 s"))["video"]
        for rule in ("buffer", "throughput")
    )
    assert 2.3e6 < buffer["mean_rate_bit_per_s"] < 3e6
    assert 1.9e6 < throughput["mean_rate_bit_per_s"] <= 2e6
    assert buffer["stalls"] == throughput["stalls"] == 0


@pytest.mark.parametrize(
    ("traffic", "field"),
    [
        ('kind = "requests", size = "1 kB"', "think"),
        ('kind = "requests", size = "1 kB", think = "1 s", barrier = 1', "barrier"),
        ('kind = "web", size = "1 kB", mean_gap = "1 s", barrier = true', "barrier"),
        (
            'kind = "video", rates = ["2 Mbit/s", "1 Mbit/s"], segment = "4 s", buffer = "8 s"',
            "rates",
        ),
        ('kind = "video", rates = ["1 Mbit/s"], segment = "4 s", buffer = "2 s"', "buffer"),
        (
            'kind = "video", rates = ["1 Mbit/s"], segment = "4 s", buffer = "8 s", rule = "x"',
            "rule",
        ),
    ],
)
def test_what_no_application_is_is_refused(traffic, field):
    with pytest.raises(vermilion.ScenarioError, match=rf"flows\.f\.traffic\.{field}"):
        network(traffic)


def test_a_run_shows_what_a_viewer_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "film.toml"
    path.write_text("""
        duration = "20 s"
        links.l = { rate = "10 Mbit/s", delay = "5 ms", queue = "drop-tail" }
        [flows.film]
        path = ["l"]
        rtt = "30 ms"
        sender = "cubic"
        traffic = { kind = "video", rates = ["1 Mbit/s"], segment = "2 s", buffer = "10 s" }
    """)
    assert main(["run", str(path)]) == 0
    said = capsys.readouterr().out
    rows = dict(line.rsplit(None, 1) for line in said.splitlines() if "video" in line)
    assert float(rows["  video, mean rate (Mbit/s)"]) == 1.0
    assert float(rows["  video, stalled (s)"]) == 0.0
