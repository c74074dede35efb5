"""The queues of the machine that runs the tests, and the command that lists them."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from netlink_reference import FakeKernel, answered
from vermilion.cli import main
from vermilion.routers import RouterError
from vermilion.routers.linux import RouteSocket
from vermilion.routers.linux.state import Interface

ROOT = Path(__file__).parents[2]

IN_A_NAMESPACE = """
import json, socket
from vermilion.routers import RouterError
from vermilion.routers.linux import LinuxRouter, RouteSocket
from vermilion.routers.linux.fifo import PacketFifoOptions
from vermilion.routers.linux.message import CREATE, NEW_QUEUE, REPLACE, ROOT
from vermilion.routers.linux.message import queue_body, queue_settings

kernel = RouteSocket()
body = queue_body(socket.if_nametoindex("lo"), 1 << 16, ROOT)
body += queue_settings("pfifo", PacketFifoOptions(limit=77).encode())
kernel.tell(NEW_QUEUE, CREATE | REPLACE, body)
router = LinuxRouter("linux:lo")
seen = [router.parameters()["limit"]]
router.apply({"limit": 33})
seen.append(router.parameters()["limit"])
try:
    router.apply({"limit": 0})
except RouterError as error:
    seen.append(str(error))
seen.append(router.parameters()["limit"])
print(json.dumps(seen))
"""


GONE_AND_BACK = """
import json, socket, subprocess
from vermilion.routers import RouterError
from vermilion.routers.linux import LinuxRouter

def ip(*words):
    subprocess.run(["ip", "link", *words], check=True)

def come():
    ip("add", "ppp0", "type", "veth", "peer", "name", "other")
    queue = "tc qdisc add dev ppp0 root pfifo limit 77"
    subprocess.run(queue.split(), check=True)
    return socket.if_nametoindex("ppp0")

first = come()
router = LinuxRouter("linux:ppp0")
router.read()
ip("del", "ppp0")
try:
    router.read()
except RouterError as error:
    said = str(error)
ip("add", "between", "type", "veth", "peer", "name", "them")
second = come()
router.read()
router.apply({"limit": 33})
print(json.dumps([first, second, said, router.parameters()["limit"]]))
"""


def kernel_or_skip():
    try:
        return RouteSocket()
    except RouterError as error:
        pytest.skip(str(error))


def test_the_machines_own_interfaces_are_read_without_privileges():
    with kernel_or_skip() as kernel:
        found = {each.index: each.name for each in kernel.interfaces()}
        queues = kernel.queues()
    assert found == dict(socket.if_nameindex())
    assert {each.interface for each in queues} <= set(found)


def run_in_a_namespace(program):
    """What a program says in a network of its own; skips where there is none."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare of util-linux is not installed")
    namespace = [unshare, "--user", "--map-root-user", "--net"]
    probe = subprocess.run([*namespace, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip(f"this machine allows no namespaces: {probe.stderr.strip()}")
    done = subprocess.run(
        [*namespace, sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    if "kind is unknown" in done.stderr or "Unknown device type" in done.stderr:
        pytest.skip("this machine's kernel has no pfifo or no veth")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_queue_is_changed_in_a_namespace_of_its_own():
    first, second, refusal, third = run_in_a_namespace(IN_A_NAMESPACE)
    assert (first, second, third) == (77, 33, 33)
    assert refusal.startswith("linux:lo: limit: ")


def test_a_queue_is_found_again_when_its_interface_comes_back_under_another_number():
    for tool in ("ip", "tc"):
        if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            pytest.skip(f"{tool} of iproute2 is not installed")
    first, second, said, limit = run_in_a_namespace(GONE_AND_BACK)
    assert first != second
    assert said == ('linux:ppp0: the interface "ppp0" is gone; expected it with a pfifo')
    assert limit == 33


class Listed(FakeKernel):
    """One queue, behind the command."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.fixture
def listed(monkeypatch):
    """Has the command list one queue that a kernel has described once."""

    def put(queue, name="dummy0"):
        kernel = Listed(answered(queue))
        own = Interface(2, name, up=True, mtu=1500, maximum_packet_bytes=1514)
        monkeypatch.setattr(kernel, "interfaces", lambda: [own])
        monkeypatch.setattr("vermilion.routers.linux.route_socket.RouteSocket", lambda: kernel)

    return put


def test_the_list_says_what_there_is_and_what_can_be_controlled(listed, capsys):
    listed("pie limit 1234 target 15001us tupdate 31ms alpha 3 beta 21 ecn bytemode")
    assert main(["routers"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "dummy0 (up, MTU 1500 bytes)"
    assert lines[1] == "root: pie 1:"
    assert lines[2] == (
        "target 15 ms, update every 40 ms, alpha 0.1875, beta 1.3125, at most 1234 packets, "
        "ECN marks, probability by size"
    )
    assert lines[3].startswith("sent ")
    assert lines[4].startswith("can be controlled as linux:dummy0 (pie): limit, target, interval")


def test_the_list_is_also_for_a_machine(listed, capsys):
    listed("codel")
    assert main(["routers", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    [interface] = document["interfaces"]
    [queue] = interface["queues"]
    assert interface["name"] == "dummy0"
    assert queue["router"] == "linux:dummy0"
    assert queue["can_be_controlled"] is True
    assert queue["discipline"] == "codel"
    assert queue["parameters"]["target"] == 0.005
    assert "ce_threshold" not in queue["parameters"]
    assert queue["options"]["target_us"] == 4999
    assert "null" not in json.dumps(document)


def test_one_interface_alone_is_listed(listed, capsys):
    listed("codel")
    assert main(["routers", "dummy0"]) == 0
    assert "codel" in capsys.readouterr().out
    assert main(["routers", "eth9"]) == 2
    refusal = capsys.readouterr().err
    assert refusal == ('vermilion: interface: "eth9" is not accepted; expected "dummy0"\n')


def test_a_name_that_would_colour_a_terminal_does_not(listed, capsys):
    listed("htb default 1", name="e\x1b[31mth")
    assert main(["routers"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_kernel_that_cannot_be_asked_is_one_line(monkeypatch, capsys):
    def refuse():
        message = "linux: no netlink socket can be opened"
        raise RouterError(message)

    monkeypatch.setattr("vermilion.routers.linux.route_socket.RouteSocket", refuse)
    assert main(["routers"]) == 2
    assert capsys.readouterr().err == "vermilion: linux: no netlink socket can be opened\n"
