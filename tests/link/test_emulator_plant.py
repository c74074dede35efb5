"""Scenarios through an emulated link: the same tables, and a queue for the controller."""

from __future__ import annotations

import json
import subprocess
import sys

from vermilion import parse_scenario
from vermilion_lab.emulator_plant import EmulatorPlant, run_on_emulator

NETWORK = """
duration = "5 s"
warm_up = "1 s"
settle = "500 ms"
[links.bottleneck]
rate = "8 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", limit = "60 packets" }
[flows.near]
count = 2
path = ["bottleneck"]
rtt = "30 ms"
sender = { congestion_control = "sack", option_set = "linux" }
packet_size = "1500 bytes"
header_size = "52 bytes"
start = "0 s"
[flows.far]
count = 1
path = ["bottleneck"]
rtt = "200 ms"
sender = { congestion_control = "sack", option_set = "linux" }
packet_size = "1500 bytes"
header_size = "52 bytes"
start = "0 s"
[flows.datagrams]
count = 1
path = ["bottleneck"]
rtt = "30 ms"
packet_size = "500 bytes"
traffic = { kind = "constant-rate", rate = "1 Mbit/s" }
start = "0 s"
[[changes]]
at = "3 s"
link = "bottleneck"
rate = "4 Mbit/s"
"""


def scenario():
    return parse_scenario(NETWORK, "test_emulator_plant.py")


def test_a_result_has_what_the_simulators_has():
    parts = []
    result = run_on_emulator(scenario(), 3, 0.1, progress=parts.append)
    link = result.link("bottleneck")
    assert [(each["start_s"], each["end_s"]) for each in link.phases] == [(1, 3), (3.5, 5)]
    ledger = link.ledger
    assert ledger["arrivals"] == ledger["forwarded"] + ledger["drops"] + ledger["queued"]
    assert len(result.series("bottleneck")["time_s"]) == 51
    assert result.groups == ["near", "far", "datagrams"]
    near, far, datagrams = (result.flows(name).total for name in result.groups)
    assert near["flows"] == 2
    # Three flows of TCP take turns of what is left; nobody gets more than the link carries.
    total = sum(each["goodput_bit_per_s"]["total"] for each in (near, far, datagrams))
    assert 1e6 < total < 8e6
    assert 0.5e6 < datagrams["goodput_bit_per_s"]["total"] <= 1.1e6
    assert far["goodput_bit_per_s"]["total"] > 0
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


def test_the_command_prints_the_same_table(tmp_path):
    file, written = tmp_path / "network.toml", tmp_path / "result.json"
    file.write_text(NETWORK)
    command = [sys.executable, "-m", "vermilion", "run", str(file), "--plant"]
    outcome = subprocess.run(
        [*command, "emulator", "--json", str(written), "--series", str(tmp_path / "series.csv")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    simulated = subprocess.run(
        [*command, "simulator"], capture_output=True, text=True, timeout=100, check=True
    )

    def labels(text):
        return [line.split("  ")[0] for line in text.splitlines() if line.startswith("link ")]

    assert labels(outcome.stdout) == labels(simulated.stdout) == ["link bottleneck (red)"]
    assert "timing_error_us" in json.loads(written.read_text())["links"]["bottleneck"]["emulator"]
    refused = subprocess.run(
        [*command, "emulator", "--packets", str(tmp_path / "packets.csv")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert refused.returncode == 2
    assert "expected --plant simulator" in refused.stderr


def test_a_controller_gets_its_queue():
    plant = EmulatorPlant(0.1)
    with plant.under_control(scenario(), ["bottleneck"], 1, "full") as network:
        router = network.router
        assert router.configuration.link == "bottleneck"
        assert router.configuration.discipline == "red"
        router.observe()
        router.wait(2.0)
        seen = router.observe()
        assert seen.active_flows == 4
        router.apply({"max_probability": 0.5})
        assert router.parameters()["max_probability"] == 0.5
        router.wait(5.0)
        result = network.result(0.1)
    assert result.link("bottleneck").ledger["forwarded"] > 500
    assert len(result.series("bottleneck")["time_s"]) == 51
    # What leaves late is waited for as much shorter.
    late_s = result.data["links"]["bottleneck"]["emulator"]["timing_error_us"]["max"] / 1e6
    assert seen.round_trips.seconds.min() >= 0.030 - late_s


def test_a_network_that_is_left_before_its_end_leaves_nothing():
    with EmulatorPlant(0.1).under_control(scenario(), ["bottleneck"], 1, "counters") as network:
        network.router.wait(0.5)
        assert network.router.read().time_s >= 0.5


def test_a_network_is_kept_tuned_while_its_packets_go_on(tmp_path):
    file, written = tmp_path / "network.toml", tmp_path / "online.json"
    objective = 'name = "queue-deviation", link = "bottleneck", target = "15 packets"'
    tuning = f"""
    [tuning]
    parameters = ["links.bottleneck.queue.max_probability"]
    objective = {{ {objective} }}
    """
    file.write_text(NETWORK + tuning)
    command = [sys.executable, "-m", "vermilion", "online", str(file), "--plant", "emulator"]
    outcome = subprocess.run(
        [*command, "--json", str(written)], capture_output=True, text=True, timeout=200, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    [told] = json.loads(written.read_text())["runs"]
    kinds = [each["kind"] for each in told["decisions"]]
    assert (kinds[0], kinds[-1]) == ("start", "end")
    # The time of its decisions is the network's, which waits for no search.
    assert 5.0 <= told["decisions"][-1]["time_s"] < 35.0
