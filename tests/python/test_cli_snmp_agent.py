"""``vermilion snmp-agent``: what it says when it cannot, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import threading

import pytest

from netlink_reference import FakeKernel, answered
from test_cli import refused, vermilion
from vermilion import monitor
from vermilion.monitor import InterfaceError
from vermilion.routers.linux import route_socket, router

__all__ = ["vermilion"]

WAIT_S = 20.0
"""Longest wait for a thread; a failure, not a measurement."""


@pytest.fixture
def kernel(monkeypatch):
    """A stand-in for the kernel of this machine."""

    class Open(FakeKernel):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

    stand_in = Open(answered("codel"))
    monkeypatch.setattr(route_socket, "RouteSocket", lambda: stand_in)
    return stand_in


@pytest.fixture
def master(tmp_path):
    """A master's socket; what it is told first ends the agent."""
    path = str(tmp_path / "master")
    heard = []

    def listen(server, number):
        connection, _ = server.accept()
        with connection:
            heard.append(connection.recv(4096))
            os.kill(os.getpid(), number)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        server.settimeout(WAIT_S)

        def end_with(number):
            threading.Thread(target=listen, args=(server, number), daemon=True).start()
            return path

        end_with.heard = heard
        yield end_with


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(vermilion, kernel, master, number):
    before = signal.getsignal(number)
    code, out, _ = vermilion("snmp-agent", f"--socket={master(number)}")
    assert (code, out) == (0, "")
    [said] = master.heard
    assert said[:2] == b"\x01\x01"  # RFC 2741, 6.1: version 1, an agentx-Open-PDU
    assert kernel.is_closed
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("kernel")
def test_a_master_that_is_not_there_is_said_with_what_helps(vermilion, tmp_path):
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    code, _, err = vermilion("snmp-agent", f"--socket={tmp_path}/nowhere")
    timer.join()
    assert code == 0
    assert err.count("\n") == 1
    assert 'expected "master agentx" in snmpd.conf' in err


@pytest.mark.usefixtures("kernel")
def test_without_the_capability_nothing_is_allowed_and_the_message_says_how(vermilion, monkeypatch):
    monkeypatch.setattr(router, "may_change_queues", lambda _: False)
    message = refused(vermilion("snmp-agent", "--allow=all"))
    for word in ("--allow", "CAP_NET_ADMIN", "setpriv"):
        assert word in message


@pytest.mark.usefixtures("kernel")
def test_a_queue_to_allow_that_is_no_name_is_refused(vermilion, monkeypatch):
    monkeypatch.setattr(router, "may_change_queues", lambda _: True)
    assert 'expected "linux:INTERFACE"' in refused(vermilion("snmp-agent", "--allow=eth0"))


@pytest.mark.usefixtures("kernel")
def test_an_interface_that_cannot_be_listened_to_is_refused(vermilion, monkeypatch):
    def refuse(name, **_):
        message = f'there is no interface "{name}"; expected one of: lo'
        raise InterfaceError(message)

    monkeypatch.setattr(monitor, "InterfaceWatch", refuse)
    line = refused(vermilion("snmp-agent", "--monitor", "nope0"))
    assert line == 'vermilion: --monitor: there is no interface "nope0"; expected one of: lo\n'
