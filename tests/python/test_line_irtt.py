"""A server of IRTT as a probe of a line: packets, sessions, what is heard of them."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vermilion.cli.endings import UserError
from vermilion.cli.online_line import LineRequest, online_line
from vermilion.line import irtt
from vermilion.line.probes import SECOND, Heard, Prober, parse_irtt, parse_packet
from vermilion.line.sockets import ProbeSockets

MS = 1_000_000
LEFT, ANSWER = False, True
SERVER = "irtt://192.0.2.9:2112"
ADDRESS = socket.inet_aton("192.0.2.9")
NAMES = ("version", "duration", "interval", "length", "statistics", "stamp_at", "clock")
BOTH, MIDPOINT, NOWHERE = 3, 4, 0

# Said by irtt 0.9.0, as Debian has it.
OPENED = bytes.fromhex("14a75b032033b606fc70e6fb0102028080f89492a5270380e1eb17044006060704")
ECHOED = bytes.fromhex("14a75b022033b606fc70e6fb460000007ae4192a0000000024fa192a00000000")
TOKEN = 0xFBE670FC06B63320


def varint(value):
    value = value << 1 if value >= 0 else ~value << 1 | 1
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def read_varints(data):
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


class Server:
    """A server of IRTT, after its documentation."""

    def __init__(self, *, stamp_at=BOTH, least_interval=10 * MS, longest=None):
        self.stamp_at = stamp_at
        self.least_interval = least_interval
        self.longest = longest
        self.version = 1
        self.is_up = True
        self.started = 5 * SECOND
        self.count = 0
        self.sessions = {}
        self.came = []

    def restart(self, now):
        self.started = now - MS
        self.sessions.clear()

    def answer(self, payload, now):
        magic, flags = payload[:3], payload[3]
        assert magic == b"\x14\xa7\x5b"
        assert not flags & 10  # neither an answer nor with a key
        if not self.is_up:
            return None
        if flags & 1:
            return self._open(payload)
        token = struct.unpack_from("<Q", payload, 4)[0]
        if token not in self.sessions:
            return None
        if flags & 4:
            del self.sessions[token]
            return None
        first = self.sessions[token] = self.sessions[token] or now
        self.came.append(now)
        assert len(payload) == 32
        end = 4 if self.longest is not None and now - first > self.longest else 0
        if end:
            del self.sessions[token]
        times = {BOTH: 2, NOWHERE: 0}.get(self.stamp_at, 1) * struct.pack("<q", now - self.started)
        return (magic + bytes([2 | end]) + payload[4:16] + times).ljust(32, b"i")

    def _open(self, payload):
        numbers = read_varints(payload[4:])
        asked = {
            NAMES[name - 1]: value >> 1
            for name, value in zip(numbers[::2], numbers[1::2], strict=True)
        }
        assert (asked["version"], asked["stamp_at"], asked["clock"]) == (1, BOTH, 2)
        asked |= {"version": self.version, "stamp_at": self.stamp_at}
        asked["interval"] = max(asked["interval"], self.least_interval)
        said = b"".join(
            bytes([1 + NAMES.index(name)]) + varint(value) for name, value in asked.items() if value
        )
        if self.version != 1:
            return payload[:3] + b"\x07" + bytes(8) + said
        self.count += 1
        self.sessions[self.count] = None
        return payload[:3] + b"\x03" + struct.pack("<Q", self.count) + said


class Line:
    """Hosts and a server behind a line."""

    def __init__(self, *hosts, server=None):
        self.server = server or Server()
        self.prober = Prober([SERVER, *hosts])
        self.now = 100 * SECOND
        self.there_ms, self.back_ms = 10, 10
        self.is_cut = False
        self.answers = []
        self.sent = []
        self._pending = []

    def go(self, seconds):
        end = self.now + round(seconds * SECOND)
        while self.now < end:
            self.now += 5 * MS
            probe = self.prober.due(self.now)
            if probe is not None:
                self.sent.append(probe)
                self.prober.left(Heard(probe.sequence, LEFT, probe.kind, ""), self.now)
                if probe.payload:
                    self._post(probe.payload)
                elif not self.is_cut:
                    heard = Heard(probe.sequence, ANSWER, probe.kind, probe.address)
                    self._pending.append((self.now + 20 * MS, heard))
            for address, letter in self.prober.letters:
                assert address == SERVER
                self._post(letter)
            self.prober.letters.clear()
            for at, heard in [each for each in self._pending if each[0] <= self.now]:
                self._pending.remove((at, heard))
                answer = self.prober.take(heard, at, 77 * SECOND)
                if answer is not None:
                    self.answers.append(answer)
            self.prober.expire(self.now)
            if self.now % SECOND < 5 * MS:
                self.prober.check_reflectors(self.now)

    def _post(self, payload):
        there = self.now + round(self.there_ms * MS)
        said = None if self.is_cut else self.server.answer(payload, there)
        if said is not None:
            heard = parse_irtt(said, ADDRESS, 2112)
            self._pending.append((there + round(self.back_ms * MS), heard))

    @property
    def of_server(self):
        return [each for each in self.answers if each.up is not None]


def test_packets_are_those_of_irtt():
    assert irtt.opening().hex() == "14a75b010102028080f89492a5270380e1eb17044006060704"
    session = irtt.Session()
    assert session.opened(irtt.parse(OPENED)) == (None, "")
    assert session.token is None  # nobody had asked
    session.open(0)
    assert session.opened(irtt.parse(OPENED)) == (None, "")
    assert session.token == TOKEN
    assert session.echo(70, 0).hex() == "14a75b002033b606fc70e6fb46000000" + 16 * "00"
    echoed = irtt.parse(ECHOED)
    assert (echoed.sequence, session.knows(echoed)) == (70, True)
    assert session.times(echoed) == (706_339_962, 706_345_508)
    assert irtt.end(TOKEN).hex() == "14a75b042033b606fc70e6fb"
    keyed = bytes([*ECHOED[:3], ECHOED[3] | 8, *ECHOED[4:]])
    assert irtt.parse(keyed) is None


@pytest.mark.parametrize("stamp_at", [BOTH, MIDPOINT])
def test_a_server_tells_the_directions_apart(stamp_at):
    line = Line(server=Server(stamp_at=stamp_at))
    line.go(5)
    assert line.prober.answered == pytest.approx(5 * SECOND / line.prober.interval, abs=4)
    before = line.of_server[-1]
    line.there_ms += 40
    line.go(5)
    after = line.of_server[-1]
    assert (after.up - before.up, after.down - before.down) == (40 * MS, 0)
    assert after.wait == 40 * MS
    assert after.reflector == before.reflector == 1
    line.prober.close()
    line.go(0.1)
    assert line.server.sessions.keys() == {2}  # the end, and the line was asked again
    assert line.prober.said == []


def test_without_times_of_the_server_there_are_round_trips():
    line = Line(server=Server(stamp_at=NOWHERE))
    line.go(5)
    assert line.answers[-1].up is None
    assert line.answers[-1].received - line.answers[-1].sent == 20 * MS
    assert {each.reflector for each in line.answers} == {0}


def test_the_wait_before_the_interface_is_taken_off():
    prober, server = Prober([SERVER]), Server()
    assert prober.due(SECOND) is None
    opened = server.answer(prober.letters.pop()[1], SECOND)
    assert prober.take(parse_irtt(opened, ADDRESS, 2112), SECOND + 20 * MS, 0) is None
    probe = prober.due(2 * SECOND)
    left = 2 * SECOND + 30 * MS
    echo = parse_irtt(probe.payload, ADDRESS, 2112)
    assert not echo.is_answer
    assert prober.left(echo, left) == left
    heard = parse_irtt(server.answer(probe.payload, left + 5 * MS), ADDRESS, 2112)
    answer = prober.take(heard, left + 10 * MS, 0)
    assert (answer.sent, answer.here) == (left, 30 * MS)
    assert answer.up + answer.down == 10 * MS


def test_a_server_that_forgets_is_opened_again_and_its_new_clock_is_no_wait():
    line = Line("192.0.2.1")
    line.go(20)
    old = line.of_server[-1].reflector
    line.server.restart(line.now)
    line.go(5)
    assert line.prober.said == []
    assert SERVER in line.prober.asked
    new = line.of_server[-1]
    assert new.received > line.now - SECOND
    assert new.reflector not in {old, 0, 2}  # a law would take the other clock for a wait
    assert line.server.sessions.keys() == {2}


def test_an_outage_is_not_the_servers_fault_and_leaves_no_sessions_behind():
    line = Line("192.0.2.1")
    line.go(20)
    line.is_cut = True
    line.go(30)
    line.is_cut = False
    line.go(5)
    assert line.prober.said == []
    assert line.of_server[-1].received > line.now - SECOND
    assert len(line.server.sessions) == 1


def test_surplus_sessions_are_ended_where_answers_come_late():
    line = Line()
    line.there_ms = 3500
    line.go(3)
    line.there_ms = 10
    line.go(5)
    assert line.server.count >= 3
    assert len(line.server.sessions) == 1
    assert line.of_server[-1].received > line.now - SECOND


def test_a_server_that_ends_sessions_is_opened_again():
    line = Line(server=Server(longest=2 * SECOND))
    line.go(10)
    assert line.server.count == 5
    assert line.prober.said == []
    assert line.prober.answered > 9 * SECOND / line.prober.interval
    assert {each.reflector for each in line.answers} == {1}


def test_a_server_gets_no_more_than_it_allows():
    line = Line("192.0.2.1", server=Server(least_interval=400 * MS))
    line.go(10)
    came = line.server.came
    assert len(came) == pytest.approx(10 / 0.4, abs=2)
    assert min(b - a for a, b in pairwise(came)) >= 400 * MS
    line = Line(server=Server(least_interval=2 * SECOND))
    line.go(10)
    assert line.prober.said == [
        f"{SERVER} does not allow a packet each second, and is not asked any more"
    ]
    assert line.server.sessions == {}


def test_who_opens_nothing_is_dropped_and_alone_is_named_once():
    line = Line("192.0.2.1")
    line.server.is_up = False
    line.go(10)
    assert line.prober.asked == ["192.0.2.1"]
    alone = Line()
    alone.server.is_up = False
    alone.go(30)
    for each in (line, alone):
        assert len(each.prober.said) == 1
        assert "no IRTT server is there, or it wants a key" in each.prober.said[0]
    alone.server.is_up = True
    alone.go(3)
    assert alone.of_server[-1].received > alone.now - SECOND


def test_another_version_of_the_protocol_is_named_once():
    line = Line()
    line.server.version = 2
    line.go(10)
    assert len(line.prober.said) == 1
    assert "another version" in line.prober.said[0]


def test_who_does_not_know_the_token_is_not_heard():
    line = Line()
    line.go(2)
    answered = line.prober.answered
    for sequence in range(200):
        forged = ECHOED[:12] + struct.pack("<I", sequence) + ECHOED[16:]
        heard = parse_irtt(forged, ADDRESS, 2112)
        assert line.prober.take(heard, line.now, 0) is None
    line.go(3)
    assert line.prober.said == []
    assert line.prober.answered > answered + 40


@given(st.lists(st.binary(max_size=256), max_size=20), st.binary(max_size=200))
def test_no_bytes_make_it_raise_or_grow(packets, terms):
    line = Line()
    line.go(0.5)
    token = struct.pack("<Q", 1)
    said = [b"\x14\xa7\x5b" + bytes([flags]) + token + terms for flags in range(16)]
    for payload in [*packets, *said, *(OPENED[:12] + each for each in packets)]:
        parse_packet(payload, 1, 2)
        heard = parse_irtt(payload, ADDRESS, 2112)
        if heard is not None and heard.is_answer:
            line.prober.take(heard, line.now, 0)
    assert len(line.prober.letters) <= 1
    assert len(line.prober.said) <= 1
    line.go(5)
    assert len(line.server.sessions) <= 2


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_times_that_lie_stay_within_a_day(came, went):
    line = Line()
    line.go(0.5)
    probe = None
    while probe is None:
        line.now += 5 * MS
        probe = line.prober.due(line.now)
    said = probe.payload[:3] + b"\x02" + probe.payload[4:16] + struct.pack("<qq", came, went)
    answer = line.prober.take(parse_irtt(said, ADDRESS, 2112), line.now + MS, 0)
    assert abs(answer.up) <= 43_200 * SECOND
    assert abs(answer.down) <= 43_200 * SECOND


@pytest.mark.parametrize("text", ["irtt://", "irtt://host", "irtt://192.0.2.1:0", "192.0.2.300"])
def test_an_address_that_is_none_is_refused(text):
    request = SimpleNamespace(json=None, addresses=["linux:eth0"])
    with pytest.raises(UserError, match="expected an IPv4 address or irtt://"):
        online_line(request, LineRequest("up", 0.01, (text,)))
    assert irtt.server_of("irtt://192.0.2.1") == ("192.0.2.1", 2112)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may listen to an interface")
def test_departures_and_answers_are_heard_at_the_interface():
    server, there = Server(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    there.bind(("127.0.0.1", 0))
    address = f"irtt://127.0.0.1:{there.getsockname()[1]}"

    def serve():
        for _ in range(2):
            payload, client = there.recvfrom(2000)
            there.sendto(server.answer(payload, time.monotonic_ns()), client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    sockets, prober = ProbeSockets("lo"), Prober([address])

    def events(count):
        found, until = [], time.monotonic() + 10
        while len(found) < count and time.monotonic() < until:
            found += sockets.wait(0.1)
        return found

    assert prober.due(time.monotonic_ns()) is None
    assert sockets.post(*prober.letters.pop()) == ""
    (opened,) = events(1)
    assert prober.take(opened.heard, opened.at, opened.wall_offset) is None
    probe = None
    while probe is None:
        time.sleep(0.01)
        probe = prober.due(time.monotonic_ns())
    assert sockets.send(probe) == ""
    left, came = events(2)
    assert prober.left(left.heard, left.at) == left.at
    answer = prober.take(came.heard, came.at, came.wall_offset)
    assert answer.sent == left.at
    assert answer.up + answer.down == answer.received - left.at
    thread.join()
    there.close()
    sockets.close()
