"""What is written down of a link, what changes of it, and what a monitor beside its queue tells."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

from test_link import PROGRAMS, SINK, measured, program, run
from test_link_control import a_link, opened
from vermilion.link.recorder import MOST_AT_ONCE
from vermilion.monitor import read_capture
from vermilion.routers.emulated import EmulatedRouter

FLOWS = ["--", sys.executable, PROGRAMS, "flows", "3", "3", "reno", "0.05"]


def test_series_figure_and_packets_are_written(tmp_path):
    files = {name: tmp_path / name for name in ("series.csv", "figure.svg", "packets.pcapng")}
    _, data = measured(
        tmp_path,
        *("--rate", "4Mbit/s", "--delay", "5ms", "--discipline", "red", "--no-offload"),
        *("--series", files["series.csv"], "--probe", "50ms", "--figure", files["figure.svg"]),
        *("--packets", files["packets.pcapng"]),
        *FLOWS,
        peer=SINK,
    )
    up = data["links"]["uplink"]
    table = csv.DictReader(files["series.csv"].read_text().splitlines())
    rows = [each for each in table if each["link"] == "uplink"]
    times = [float(each["time_s"]) for each in rows]
    assert np.allclose(np.diff(times), 0.05)
    assert times[-1] > up["total"]["end_s"] - 0.1
    # Every point has what has happened since the one before: with what came after, that is all.
    arrived = sum(float(each["arrivals"]) for each in rows)
    assert 0.8 * up["ledger"]["arrivals"] < arrived <= up["ledger"]["arrivals"]
    assert max(float(each["queue_packets"]) for each in rows) > 3
    assert "Queue of uplink (red)" in files["figure.svg"].read_text()
    assert up["emulator"]["not_seen"] == 0
    assert "notes_thrown_away" not in data
    seen = read_capture(files["packets.pcapng"])
    down = data["links"]["downlink"]["ledger"]
    ledger = up["ledger"]
    expected = ledger["arrivals"] + ledger["forwarded"] + ledger["drops"]
    expected += down["arrivals"] + down["forwarded"] + down["drops"]
    assert seen.packets == expected


def test_no_more_packets_are_written_than_are_wanted(tmp_path):
    file = tmp_path / "packets.pcapng"
    _, data = measured(
        tmp_path,
        *("--rate", "8Mbit/s", "--packets", file, "--most-packets", "100"),
        *program("send", 300_000),
    )
    assert data["links"]["uplink"]["ledger"]["arrivals"] > 200
    assert read_capture(file).packets == 100


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--packets", "packets.csv"], "--packets: packets.csv is not accepted"),
        (["--series", "-"], "is the command's output"),
        (["--probe", "1s"], "--probe needs --series FILE or --figure FILE"),
        (["--most-packets", "5"], "--most-packets needs --packets FILE"),
        (["--series", "a.csv", "--probe", "0s"], "--probe"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_runs(tmp_path, options, words):
    refused = run("--rate", "8Mbit/s", *options, "--", "touch", tmp_path / "ran", cwd=tmp_path)
    assert refused.returncode == 2
    assert words in refused.stderr
    assert not (tmp_path / "ran").exists()


def test_the_changes_of_a_scenario_are_carried_out(tmp_path):
    scenario = tmp_path / "changing.toml"
    scenario.write_text(
        'title = "half as fast"\nduration = "4 s"\nwarm_up = "1 s"\nsettle = "200 ms"\n'
        '[links.bottleneck]\nrate = "8 Mbit/s"\ndelay = "5 ms"\n'
        'queue = { discipline = "drop-tail", limit = "20 packets" }\n'
        "[flows.all]\ncount = 3\n"
        'path = ["bottleneck"]\nrtt = "20 ms"\nsender = "sack"\n'
        '[[changes]]\nat = "2 s"\nlink = "bottleneck"\nrate = "4 Mbit/s"\n'
        'queue = { limit = "8 packets" }\n'
    )
    command = ["--", sys.executable, PROGRAMS, "flows", "3", "5", "reno", "0.05"]
    outcome, data = measured(tmp_path, scenario, *command, peer=SINK)
    up = data["links"]["uplink"]
    assert [(each["start_s"], each["end_s"]) for each in up["phases"]] == [(1, 2), (2.2, 4)]
    assert up["emulator"]["changes_refused"] == 0
    first, second = up["phases"]
    # What a link of 4 Mbit/s carries in 1.8 s at most, and what one of 8 Mbit/s does in a second.
    assert second["packets_forwarded"] <= 1.8 * 4e6 / (8 * 1500) * 1.1
    assert first["packets_forwarded"] > 100
    assert second["queue_packets"]["max"] <= 8
    assert "left out" not in outcome.stderr


def test_the_monitor_tells_flows_and_round_trips():
    options = ("--discipline", "red", "--no-offload")
    with a_link("monitored", *options):
        router = opened("link:monitored")
        router.observe()  # which has the monitor begin
        router.wait(router.now_s() + 4.0)
        seen = router.observe()
        # Both ways take 10 ms, and a packet of 1500 bytes takes 3 ms of its own.
        assert seen.active_flows == 4
        assert len(seen.round_trips.seconds) > 50
        assert seen.round_trips.seconds.min() >= 0.020
        data = seen.traffic.flows >= 0
        assert seen.traffic.responsive[data].all()
        assert seen.traffic.bytes[data].sum() > 100_000
        # A flow that RED has sent into a timeout is timed again some seconds later.
        timed = set(seen.round_trips.flows.tolist())
        patience = router.now_s() + 30.0
        while len(timed) < 4 and router.now_s() < patience:
            router.wait(router.now_s() + 1.0)
            later = router.observe().round_trips
            timed.update([] if later is None else later.flows.tolist())
        assert len(timed) == 4
        down = EmulatedRouter("link:monitored/downlink", "flow count")
        down.observe()
        router.wait(router.now_s() + 1.0)
        told = down.observe()
        # Nothing but acknowledgements goes back.
        assert (told.active_flows, told.round_trips, told.traffic) == (0, None, None)
        counters = EmulatedRouter("link:monitored", "counters")
        assert counters.observe().active_flows is None
        for each in (router, down, counters):
            each.close()


def test_round_trips_that_do_not_fit_into_one_answer_come_in_several():
    with a_link("many", "--rate", "200Mbit/s", "--no-offload"):
        router = opened("link:many")
        router.observe()
        router.wait(router.now_s() + 6.0)
        seen = router.observe()
        assert len(seen.round_trips.seconds) > MOST_AT_ONCE
        assert len(router.observe().round_trips.seconds) < len(seen.round_trips.seconds)
        router.close()


def test_a_file_of_packets_that_cannot_be_written_ends_in_a_message():
    outcome = run(
        *("--rate", "8Mbit/s", "--packets", "/nowhere/packets.pcapng"), *program("send", 1000)
    )
    assert outcome.returncode == 2
    assert "--packets" in outcome.stderr
    assert "Traceback" not in outcome.stderr
