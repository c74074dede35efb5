"""A queue of an emulated link as a managed queue: read, changed, kept tuned."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from vermilion.routers import RouterError
from vermilion.routers.conformance import RouterConformance
from vermilion.routers.emulated import EmulatedRouter, parse_address, socket_address

PROGRAMS = str(Path(__file__).with_name("programs.py"))
SINK = f"{sys.executable} {PROGRAMS} sink"


@contextmanager
def a_link(name, *options, seconds=60):
    """A link that carries four flows of TCP, as long as it is looked at."""
    command = [
        *(sys.executable, "-m", "vermilion", "link", "--isolated", "--peer", SINK),
        *("--rate", "4Mbit/s", "--delay", "10ms", "--control", name, *options),
        *("--", sys.executable, PROGRAMS, "flows", "4", str(seconds), "reno", "0.05"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.terminate()
            running.communicate(timeout=30)


def opened(address):
    """The queue, once the link is there."""
    end = time.monotonic() + 30
    while True:
        try:
            return EmulatedRouter(address)
        except RouterError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


class TestEmulatedRouter(RouterConformance):
    """What every managed queue promises."""

    @pytest.fixture(autouse=True, scope="class")
    @staticmethod
    def _link():
        with a_link("conformance", "--discipline", "red", seconds=300):
            router = opened("link:conformance")
            router.wait(router.read().time_s + 2.0)
            router.close()
            yield

    @pytest.fixture(autouse=True)
    def _closes(self):
        self.routers = []
        yield
        for each in self.routers:
            each.close()

    def make(self):
        self.routers.append(opened("link:conformance"))
        return self.routers[-1]

    def acceptable(self):
        in_force = self.make().parameters()["max_probability"]
        return {"max_probability": 0.05 if in_force > 0.1 else 0.3}

    def unacceptable(self):
        return {"max_probability": 0.2, "min_threshold": 50.0, "max_threshold": 20.0}

    # Real traffic goes on between two calls: the second gives what has passed since, and less of it
    # than half of the second before.

    def test_round_trips_are_given_once(self):
        router = self.make()
        router.rtt_samples()
        router.wait(router.read().time_s + 1.0)
        trips, again = router.rtt_samples(), router.rtt_samples()
        assert len(trips.flows) == len(trips.seconds) > 10
        assert (trips.seconds > 0.0).all()
        assert len(again.flows) < len(trips.flows) / 2

    def test_the_traffic_of_flows_is_given_once_and_each_flow_at_most_once(self):
        router = self.make()
        router.flow_traffic()
        router.wait(router.read().time_s + 1.0)
        traffic, again = router.flow_traffic(), router.flow_traffic()
        assert len(set(traffic.flows)) == len(traffic.flows) == len(traffic.packets)
        assert (traffic.bytes >= traffic.packets).all()
        assert traffic.packets.sum() > 100
        assert again.packets.sum() < traffic.packets.sum() / 2


def test_a_setting_acts_on_the_packets_of_real_flows():
    with a_link("acts", "--discipline", "drop-tail", "--set", "queue.limit='100 packets'"):
        router = opened("link:acts/uplink")
        router.wait(5.0)
        assert router.read().backlog_packets > 40
        router.apply({"limit": 10.0})
        assert router.parameters()["limit"] == 10.0
        router.wait(router.now_s() + 3.0)
        backlogs = []
        for _ in range(20):
            router.wait(router.now_s() + 0.05)
            backlogs.append(router.read().backlog_packets)
        assert max(backlogs) <= 10
        down = EmulatedRouter("link:acts/downlink")
        assert down.parameters()["limit"] == 100.0
        assert down.read().forwarded_packets > 100
        down.close()
        router.close()


def test_the_controller_runs_on_it(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'rate = "4 Mbit/s"\n[tuning]\n'
        'objective = { name = "queue-deviation", target = "20 packets" }\n'
    )
    with a_link("online", "--discipline", "red"):
        router = opened("link:online")
        before = router.parameters()
        report = tmp_path / "report.json"
        command = [
            *(sys.executable, "-m", "vermilion", "online", "--router", "link:online"),
            *("--policy", str(policy), "--mode", "observe", "--for", "8 s"),
            *("--journal", str(tmp_path / "journal.sqlite"), "--json", str(report)),
        ]
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        in_force = router.parameters()
        router.close()
    assert outcome.returncode == 0, outcome.stderr
    assert "watching link uplink (red)" in outcome.stdout
    assert in_force == before
    assert json.loads(report.read_text())


def test_what_is_no_name_of_a_link_is_refused():
    assert str(parse_address("link:here")) == "link:here/uplink"
    for wrong in ("link:", "link:a b", "link:here/sideways", "link:" + 65 * "x"):
        with pytest.raises(RouterError, match="expected"):
            parse_address(wrong)
    with pytest.raises(RouterError, match="vermilion link --control nobody"):
        EmulatedRouter("link:nobody")


def test_questions_that_make_no_sense_are_refused_and_harm_nothing():
    with a_link("nonsense"):
        router = opened("link:nonsense")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
            stranger.bind("")
            stranger.settimeout(10)
            for text in (b"", b"\xff", b"[" * 5000, b"{}", b'{"number": 1, "way": "up"}', b"[1]"):
                stranger.sendto(text, socket_address("nonsense"))
                assert "refused" in json.loads(stranger.recv(1 << 16))
            wrong = {"number": 1, "way": "uplink", "ask": "apply", "parameters": {"limit": "x"}}
            stranger.sendto(json.dumps(wrong).encode(), socket_address("nonsense"))
            assert "refused" in json.loads(stranger.recv(1 << 16))
        before = router.read().forwarded_packets
        router.wait(router.now_s() + 2.0)
        assert router.read().forwarded_packets > before
        router.close()
