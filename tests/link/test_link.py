"""Real programs behind emulated links."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leaks import network_namespaces, settled
from vermilion.link.device import LinkError, open_device

PROGRAMS = str(Path(__file__).with_name("programs.py"))
DIGESTS = f"{sys.executable} {PROGRAMS} serve_digests"
SINK = f"{sys.executable} {PROGRAMS} sink"
LINK = [sys.executable, "-m", "vermilion", "link"]


def program(*words):
    return ["--", sys.executable, PROGRAMS, *map(str, words)]


def run(*options, isolated=True, peer=DIGESTS, prefix=(), seconds=100, **more):
    """Runs the command: what it printed, and the outcome."""
    where = ["--isolated", *(["--peer", peer] if peer else [])] if isolated else []
    before = options[: options.index("--")]
    behind = options[options.index("--") :]
    arguments = [*prefix, *LINK, *where, *map(str, before), *behind]
    return subprocess.run(
        arguments, capture_output=True, text=True, timeout=seconds, check=False, **more
    )


def measured(tmp_path, *options, **more):
    """The same with ``--json``: what was measured too."""
    file = tmp_path / "measured.json"
    outcome = run("--json", file, *options, **more)
    assert outcome.returncode == 0, outcome.stderr
    return outcome, json.loads(file.read_text())


@pytest.mark.parametrize("version", ["4", "6"])
@pytest.mark.parametrize("offload", [[], ["--no-offload"]])
def test_what_is_sent_arrives_as_it_was_and_takes_its_time(tmp_path, version, offload):
    options = ["--rate", "8Mbit/s", "--delay", "20ms", "--set", "queue.limit='1000 packets'"]
    outcome, data = measured(tmp_path, *options, *offload, *program("send", 1_000_000, version))
    told = json.loads(outcome.stdout)
    assert told["right"]
    # 1 MB at 8 Mbit/s takes a second, and 40 ms there and back; with headers somewhat more, and on
    # a machine that has other things to do more still.
    assert 1.04 < told["seconds"] < 4
    up = data["links"]["uplink"]
    assert up["ledger"]["drops"] == 0
    assert up["ledger"]["forwarded"] >= 1_000_000 / 1448
    emulator = up["emulator"]
    assert emulator["delivered"] + emulator["on_the_wire"] == up["ledger"]["forwarded"]
    assert up["emulator"]["interface"]["sent"] > 0
    assert (
        up["queue_packets"] if "queue_packets" in up else up["total"]["queue_packets"]["max"] > 50
    )


def test_round_trips_are_those_of_the_delays(tmp_path):
    options = ["--rate", "1Gbit/s", "--delay", "15ms", "--downlink", "delay=25ms"]
    outcome, data = measured(tmp_path, *options, *program("round_trips", 20))
    told = json.loads(outcome.stdout)
    assert 0.040 <= told["least"] < 0.06
    assert data["links"]["downlink"]["total"]["utilization"] < 0.01


def test_the_exit_code_is_the_commands():
    quick = ["--rate", "1Gbit/s"]
    codes = {
        "exit 0": 0,
        "exit 3": 3,
        "kill -TERM $$": 128 + signal.SIGTERM,
        "exec no-such-program": 127,
    }
    for words, code in codes.items():
        assert run(*quick, "--", "sh", "-c", words, peer=None).returncode == code
    missing = run(*quick, "--", "no-such-program", peer=None)
    assert missing.returncode == 127
    assert missing.stderr.strip() == 'vermilion: there is no command "no-such-program"'


def test_the_command_sees_the_link_and_its_own_processes():
    told = json.loads(run("--rate", "1Gbit/s", *program("see"), peer=None).stdout)
    assert told["interfaces"] == ["link0", "lo"]
    assert told["processes"] < 5


def test_packets_are_marked_and_not_dropped_where_both_ends_know_ecn(tmp_path):
    ecn = "echo 1 > /proc/sys/net/ipv4/tcp_ecn; "
    # Linux gives up ECN for a connection whose first packet is lost, so all begin at once, at an
    # empty queue. RED drops above its upper threshold, ECN or not, so that is far away.
    thresholds = {"min_threshold": "'10 packets'", "max_threshold": "'300 packets'"}
    settings = {"ecn": "true", "weight": 0.02, "max_probability": 0.5, "limit": "'1000 packets'"}
    queue = ["--discipline", "red"]
    for name, value in (settings | thresholds).items():
        queue += ["--set", f"queue.{name}={value}"]
    flows = f"{ecn} exec {sys.executable} {PROGRAMS} flows 4 4 reno 0"
    _, data = measured(
        tmp_path,
        "--rate",
        "8Mbit/s",
        "--delay",
        "10ms",
        *queue,
        "--",
        "sh",
        "-c",
        flows,
        peer=f"sh -c '{ecn} exec {SINK}'",
    )
    up = data["links"]["uplink"]["ledger"]
    assert up["marks"] > 20
    assert up["drops"] < up["marks"] / 4


def test_a_discipline_in_python_decides_over_real_packets(tmp_path):
    own = Path(__file__).parents[2] / "docs" / "examples" / "proportional_early_drop.py"
    options = ["--plugin", own, "--discipline", "proportional-early-drop", "--rate", "8Mbit/s"]
    _, data = measured(
        *(tmp_path, *options, "--delay", "10ms"), *program("flows", 4, 4, "reno"), peer=SINK
    )
    up = data["links"]["uplink"]
    assert up["ledger"]["drops"] > 10
    # Half of what passes in the four seconds in which all four send; programs begin when they can.
    assert up["ledger"]["forwarded"] > 0.5 * 4 * 8e6 / (8 * 1500)


def test_a_discipline_in_python_that_fails_ends_the_link_with_its_reason(tmp_path):
    own = tmp_path / "failing.py"
    own.write_text(
        "import vermilion\n"
        "class Failing(vermilion.Discipline):\n"
        '    """Fails at its tenth packet."""\n'
        "    name = 'failing'\n"
        "    def __init__(self): self.count = 0\n"
        "    def on_arrival(self, packet, queue, coin):\n"
        "        self.count += 1\n"
        "        if self.count == 10: raise RuntimeError('that was the tenth')\n"
        "        return vermilion.Verdict.ACCEPT\n"
        "vermilion.register_discipline(Failing)\n"
    )
    outcome = run(
        *("--plugin", own, "--discipline", "failing", "--rate", "8Mbit/s"),
        *program("send", 100_000),
    )
    assert outcome.returncode == 2
    assert "that was the tenth" in outcome.stderr


def test_nonsense_harms_nobody(tmp_path):
    options = ["--rate", "100Mbit/s", "--discipline", "fq-codel"]
    outcome, data = measured(tmp_path, *options, *program("nonsense", 2000))
    taken, right = map(json.loads, outcome.stdout.splitlines())
    assert taken["taken"] > 500
    assert right["right"]
    up = data["links"]["uplink"]
    emulator, books = up["emulator"], up["ledger"]
    assert emulator["refused"] > 100, "what is no IP is carried, and the kernel does not take it"
    handed = emulator["delivered"] + emulator["refused"] + emulator["on_the_wire"]
    assert books["forwarded"] == handed


def test_an_interface_that_goes_down_and_up_carries_as_before(tmp_path):
    outcome, data = measured(tmp_path, "--rate", "20Mbit/s", *program("down_and_up"))
    assert json.loads(outcome.stdout)["right"]
    assert not data["links"]["uplink"]["emulator"]["interface_removed"]


def test_an_interface_that_is_removed_ends_nothing_and_is_told(tmp_path):
    _, data = measured(tmp_path, "--rate", "20Mbit/s", *program("remove"))
    assert data["links"]["uplink"]["emulator"]["interface_removed"]
    assert data["cpu_s"] < 0.5 * data["wall_s"]


def started(*options):
    arguments = [*LINK, "--isolated", "--rate", "1Mbit/s", *options]
    running = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    return running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_for_the_command(number):
    running = started(*program("wait_and_tell"))
    running.send_signal(number)
    output, _ = running.communicate(timeout=20)
    assert output == f"{number.name}\n"
    assert running.returncode == 7


def test_a_second_interruption_ends_a_command_that_does_not_listen():
    running = started("--", "sh", "-c", "trap '' INT; echo ready; sleep 60; sleep 60")
    running.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode == 130


def test_nothing_outlives_a_killed_emulator():
    before = network_namespaces()
    running = started(*program("leave_children"))
    assert network_namespaces() - before
    running.kill()
    running.wait(timeout=20)
    running.stdout.close()
    # The namespaces go with the last process in them: there is none.
    assert settled(lambda: network_namespaces() - before, set()) == set()


def test_what_a_command_leaves_behind_ends_with_it():
    before = network_namespaces()
    words = "setsid sh -c 'trap \"\" TERM HUP; sleep 100' & exit 0"
    assert run("--rate", "1Mbit/s", "--", "sh", "-c", words, peer=None).returncode == 0
    assert settled(lambda: network_namespaces() - before, set()) == set()


def test_links_stand_within_links(tmp_path):
    """A link in a link that leads out: by the inner one's masquerade, to the outer one's peer."""
    inner = [*LINK, "--rate", "1Gbit/s", "--delay", "30ms"]
    address = "VERMILION_LINK_PEER=100.64.1.1"
    command = [*inner, "--", "env", address, sys.executable, PROGRAMS, "round_trips", "10"]
    outcome, _ = measured(tmp_path, "--rate", "1Gbit/s", "--delay", "10ms", "--", *command)
    told = json.loads(outcome.stdout)
    assert 0.080 <= told["least"] < 0.12


@pytest.mark.parametrize(("rate", "where"), [("8Mbit/s", "modem"), ("3Mbit/s", "shaper")])
def test_a_shaper_before_a_modem_has_the_queue_where_its_rate_is_the_lower_one(
    tmp_path, rate, where
):
    inner = tmp_path / "inner.json"
    shaper = [*LINK, "--rate", rate, "--delay", "1ms", "--json", inner]
    address = "VERMILION_LINK_PEER=100.64.1.1"
    upload = ["env", address, sys.executable, PROGRAMS, "send", 2_000_000, "4"]
    modem = ["--rate", "4Mbit/s", "--delay", "5ms", "--set", "queue.limit='1000 packets'"]
    _, outer = measured(tmp_path, *modem, "--", *map(str, [*shaper, "--", *upload]))
    found = {"modem": outer, "shaper": json.loads(inner.read_text())}
    waits = {
        name: data["links"]["uplink"]["total"]["sojourn_ms"]["p95"] for name, data in found.items()
    }
    other = "shaper" if where == "modem" else "modem"
    assert waits[where] > max(20.0, 4.0 * waits[other])


NOBODY = [
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    # Only to read the interpreter, wherever it lies; it means nothing within the link.
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
]


def with_tun_device_for_all(folder):
    """What runs a command where everybody may open the device: nothing, unless root keeps it."""
    if Path("/dev/net/tun").stat().st_mode & 0o006 == 0o006:
        return []
    make = 'mknod -m 666 "$0" c 10 200 && mount --bind "$0" /dev/net/tun && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", make, str(folder / "tun")]


@pytest.mark.skipif(os.geteuid() != 0, reason="who is no root tests this with every other test")
def test_it_needs_no_root_where_users_may_have_namespaces(tmp_path):
    look = "test $(cat /sys/class/net/link0/mtu) = 1400 && grep -q link0 /proc/net/route"
    nobody = [*with_tun_device_for_all(tmp_path), *NOBODY]
    outcome = run(
        *("--rate", "8Mbit/s", "--mtu", "1400", "--", "sh", "-c", look), peer=None, prefix=nobody
    )
    assert outcome.returncode == 0, outcome.stderr
    refused = run("--rate", "8Mbit/s", "--", "true", isolated=False, prefix=NOBODY)
    assert refused.returncode == 2
    assert "CAP_NET_ADMIN" in refused.stderr
    assert "--isolated" in refused.stderr


def test_who_may_not_open_the_device_is_told_who_can_let_them(monkeypatch):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        with pytest.raises(LinkError, match="chmod 666 /dev/net/tun"):
            open_device("link%d", offload=False)


def test_a_machine_that_forwards_nothing_is_told_how_it_would():
    shut = ["unshare", "-n"]
    refused = run("--rate", "8Mbit/s", "--", "true", isolated=False, prefix=shut)
    assert refused.returncode == 2
    assert "sysctl -w net.ipv4.ip_forward=1" in refused.stderr


def test_a_cellular_trace_is_a_link(tmp_path):
    trace = tmp_path / "cellular.trace"
    # About 6 Mbit/s on average, in bursts, with an outage of 200 ms in every second.
    times = [
        at
        for at in range(1, 1001)
        if at % 1000 < 800
        for _ in range((at // 50) % 2 + (at % 3 == 0))
    ]
    trace.write_text("".join(f"{at}\n" for at in [*times, 1000]))
    server = f"{sys.executable} -m http.server 8000 --directory {tmp_path}"
    (tmp_path / "page").write_bytes(bytes(range(256)) * 2000)
    fetch = (
        "import os, time, urllib.request\n"
        "url = f\"http://{os.environ['VERMILION_LINK_PEER']}:8000/page\"\n"
        "for attempt in range(100):\n"
        "    try: data = urllib.request.urlopen(url, timeout=30).read(); break\n"
        "    except urllib.error.URLError: time.sleep(0.1)\n"
        "assert data == bytes(range(256)) * 2000\n"
    )
    _, data = measured(
        tmp_path,
        "--trace",
        trace,
        "--delay",
        "20ms",
        "--",
        sys.executable,
        "-c",
        fetch,
        peer=server,
    )
    down = data["links"]["downlink"]
    assert down["ledger"]["forwarded"] > 350
    assert down["total"]["sojourn_ms"]["max"] > 100
